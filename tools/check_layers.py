#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a file includes a later layer, a face, or the profiler where it must not, or when headers form a cycle.

The order is REGROW_LAYERS in cmake/Layers.cmake. Usage: check_layers.py [ROOT]
"""
import pathlib
import re
import sys

FACES = {"cli", "python"}  # may include every layer; nobody includes them
PROFILER_READERS = {"profiler", "engine"} | FACES
WHOLE = "regrow/regrow.h"  # every layer in one include, for users and faces
GENERATED = {"regrow/ops.h": "frontend"}  # printed by opgen when building


def layer_order(root):
    text = (root / "cmake/Layers.cmake").read_text()
    found = re.search(r"^set\(REGROW_LAYERS ([^)]*)\)", text, re.M)
    if not found:
        sys.exit("cmake/Layers.cmake: no line set(REGROW_LAYERS ...)")
    return found[1].split()


def sources(root):
    for top in ("regrow", "python"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix in (".h", ".cc", ".inc"):
                yield file.relative_to(root).as_posix()


def layer_of(name):
    if name in GENERATED:
        return GENERATED[name]
    parts = name.split("/")
    return parts[0] if parts[0] in FACES else parts[1]


def complaint(root, layers, name, included):
    """What is wrong with `name` including `included`; None if nothing is."""
    if included not in GENERATED and not (root / included).exists():
        return f"{name}: includes {included}, which does not exist"
    if name == WHOLE:
        return None
    here, there = layer_of(name), layer_of(included)
    if included == WHOLE:
        return None if here in FACES else f"{name}: may not include {included}: a layer names what it uses"
    if here in FACES:
        return f"{name}: may not include {included}: a face is included by nobody" if there in FACES - {here} else None
    if there in FACES:
        return f"{name}: may not include {included}: a face is included by nobody"
    if here not in layers:
        return f"{name}: '{here}' is not in REGROW_LAYERS"
    if there not in layers:
        return f"{name}: includes {included}, and '{there}' is not in REGROW_LAYERS"
    if layers.index(there) > layers.index(here):
        return f"{name}: may not include {included}: layer '{there}' comes after '{here}'"
    if there == "profiler" and here not in PROFILER_READERS:
        return f"{name}: may not include {included}: only engine and the faces know the profiler"
    return None


def cycles(graph):
    """Depth first with an explicit path, each node once."""
    found, done = [], set()
    for start in graph:
        path, work = [], [(start, iter(graph[start]))]
        if start in done:
            continue
        path.append(start)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                done.add(path.pop())
            elif following in path:
                found.append("cycle: " + " -> ".join(path[path.index(following):] + [following]))
            elif following not in done:
                path.append(following)
                work.append((following, iter(graph.get(following, []))))
    return found


def check(root):
    layers = layer_order(root)
    graph, bad = {}, []
    for name in sources(root):
        text = (root / name).read_text()
        quoted = re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M)
        ours = [i for i in quoted if i.startswith("regrow/")] + re.findall(r"^\s*#\s*include\s+<(regrow/[^>]+)>", text, re.M)
        beside = (root / name).parent
        bad += [f'{name}: write "{i}" as a path from the root' for i in quoted if (beside / i).exists()]
        bad += filter(None, (complaint(root, layers, name, i) for i in ours))
        graph[name] = [i for i in ours if (root / i).exists()]
    return bad + cycles(graph), len(graph), len(layers)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    bad, files, layers = check(root)
    if files == 0:
        bad.append("no source files found")
    print("\n".join(bad) or f"{files} files, {layers} layers: one direction, no cycles")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
