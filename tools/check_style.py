#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on what CONTRIBUTING.md rules out and a machine can see: licence lines, lengths, names, macros, printing.

Usage: check_style.py [--advice] [ROOT]; --advice also lists functions that are longer than we aim at.
"""
import pathlib
import re
import shutil
import subprocess
import sys

LICENCE = "SPDX-License-Identifier: Apache-2.0"
FILE_LINES = 700
COLUMNS = 140  # aim at 130
FUNCTION_LINES = 60
VAGUE = {"util", "utils", "helper", "helpers", "common", "misc", "manager"}
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"]) + r")\b")
MACRO_FREE = ("ops", "machine", "remat", "runtime", "autograd")
# One of our two compilers refuses these (gcc 12, clang 14, both with libstdc++ 12).
UNPORTABLE = re.compile(r"std::(ranges::)?views\b|\bsource_location\b|std::format\b|\b_Float16\b")
SPEAKS = re.compile(
    r"std::(cout|cerr|clog)\b|\b(printf|fprintf|puts|fputs|perror|putchar)\s*\(|\bfmt::print\s*\("
    r"|(?<![\w.>:])(std::|::)?(abort|exit|_exit|quick_exit|terminate)\s*\(")
# The library is silent and never ends the process; these may, for the reason given.
MAY_SPEAK = {
    "regrow/cli/": "a program talks to its user",
    "regrow/machine/placement.cc": "a broken ledger would hand out bytes that belong to somebody else",
    "regrow/memory/arena.cc": "committed pages beyond the budget, or lost ones: the guarantee is broken",
}
SOURCE = {".h", ".cc", ".inc"}
SCRIPT = {".py", ".cmake", ".sh"}
USERS_PROGRAMS = "tests/contract/"  # copied as users write them
GENERATED = re.compile(r"(^|/)(op_table\.cc|CMakeCache\.txt|__pycache__|compile_commands\.json)(/|$)|^build[-/]"
                       r"|^regrow/ops\.h$|^docs/ops\.md$|\.(o|a|so|pyc)$")


def tracked(root):
    """What git knows of or would add; without git, every file outside build folders."""
    names = None
    if (root / ".git").exists() and shutil.which("git"):
        listing = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                 capture_output=True, text=True)
        if listing.returncode == 0:
            names = [n for n in listing.stdout.split("\0") if n and (root / n).is_file()]
    if names is None:
        names = [f.relative_to(root).as_posix() for f in root.rglob("*") if f.is_file()]
        names = [n for n in names if not n.startswith((".git/", "build/")) and "__pycache__" not in n]
    return sorted(names)


def code_only(text):
    """The text with comments and string contents blanked, so that words in them do not count; lines stay."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
    return token.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def words(name):
    """Parts of a path, file or type name: memory_manager, MemoryManager -> memory, manager."""
    return {w.lower() for w in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)}


def check_name(name):
    for vague in sorted(words(name) & VAGUE):
        yield f"{name}: a name says what a thing is: '{vague}' does not"


def check_text(name, lines):
    if len(lines) > FILE_LINES:
        yield f"{name}: {len(lines)} lines: more than {FILE_LINES}: split it along its ideas"
    for number, line in enumerate(lines, 1):
        if UNFINISHED.search(line):
            yield f"{name}:{number}: {UNFINISHED.search(line)[0]}: finish it, or file an issue"
        if len(line) > COLUMNS:
            yield f"{name}:{number}: {len(line)} columns: more than {COLUMNS}"
        if line.rstrip("\r\n") != line.rstrip():
            yield f"{name}:{number}: blanks at the end of the line"


def check_opening(name, lines):
    if name.startswith(USERS_PROGRAMS):
        return
    first = 1 if lines and lines[0].startswith("#!") else 0
    comment = "//" if pathlib.PurePath(name).suffix in SOURCE else "#"
    if len(lines) <= first or lines[first] != f"{comment} {LICENCE}":
        yield f"{name}:{first + 1}: does not begin with '{comment} {LICENCE}'"
        return
    if name.endswith(".h"):
        if len(lines) < 2 or not re.match(r'// ["`A-Za-z0-9]', lines[1]):
            yield f"{name}:2: does not open with a sentence on what it is"
        if "#pragma once" not in lines:
            yield f"{name}: no '#pragma once'"


def check_library(name, code):
    """Rules for regrow/ alone."""
    layer = name.split("/")[1]
    before = ""
    for number, line in enumerate(code.split("\n"), 1):
        where = f"{name}:{number}"
        macro = re.match(r"\s*#\s*define\s+(\w+)", line)
        if macro and layer in MACRO_FREE:
            yield f"{where}: macro {macro[1]}: there are none in {layer}"
        elif macro and not macro[1].startswith(("REGROW_", "HWY_")) and before.split() != ["#ifndef", macro[1]]:
            yield f"{where}: macro {macro[1]}: its name does not begin with REGROW_"
        speaks = SPEAKS.search(line)
        if speaks and not name.startswith(tuple(MAY_SPEAK)):
            yield f"{where}: {speaks[0].strip()}: the library neither prints nor ends the process"
        before = line


def check_code(name, code):
    for number, line in enumerate(code.split("\n"), 1):
        found = UNPORTABLE.search(line)
        if found:
            yield f"{name}:{number}: {found[0]}: gcc 12 and clang 14 do not both have it"
        named = re.match(r"\s*(?:class|struct|enum class|enum)\s+(\w+)\b(?!.*;\s*$)", line)
        for vague in sorted(words(named[1]) & VAGUE) if named else []:
            yield f"{name}:{number}: {named[1]}: a name says what a thing is: '{vague}' does not"


def long_functions(name, code):
    """Function bodies longer than we aim at, found by their braces: good enough for advice."""
    stack = []
    start_of = re.compile(r"\)\s*(const|noexcept|override|final|->\s*[\w:<>&*,\s]+|\s)*$")
    for number, line in enumerate(code.split("\n"), 1):
        for at, letter in enumerate(line):
            if letter == "{":
                stack.append((number, bool(start_of.search(line[:at]))))
            elif letter == "}" and stack:
                begin, function = stack.pop()
                inside = any(outer for _, outer in stack)
                if function and not inside and number - begin > FUNCTION_LINES:
                    yield f"{name}:{begin}: a function of {number - begin} lines"


def check(root, advice=False):
    bad, hints, count = [], [], 0
    for name in tracked(root):
        if GENERATED.search(name):
            bad.append(f"{name}: is generated: it does not belong in the repository")
            continue
        bad += check_name(name)
        path = pathlib.PurePath(name)
        script = path.suffix in SCRIPT or path.name == "CMakeLists.txt" or (name.startswith(("scripts/", ".ci/")) and not path.suffix)
        if path.suffix not in SOURCE and not script:
            continue
        count += 1
        text = (root / name).read_text()
        lines = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")
        bad += check_text(name, lines)
        bad += check_opening(name, lines)
        if path.suffix in SOURCE:
            code = code_only(text)
            bad += check_code(name, code)
            if name.startswith("regrow/"):
                bad += check_library(name, code)
            hints += long_functions(name, code)
    return bad, hints if advice else [], count


def main():
    arguments = sys.argv[1:]
    advice = "--advice" in arguments
    paths = [a for a in arguments if a != "--advice"]
    root = pathlib.Path(paths[0] if paths else pathlib.Path(__file__).resolve().parent.parent)
    bad, hints, count = check(root, advice)
    if count == 0:
        bad.append("no source files found")
    for hint in hints:
        print("advice:", hint)
    print("\n".join(bad) or f"{count} files: style holds")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
