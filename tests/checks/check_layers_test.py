#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_layers.py complains about each kind of broken tree in these very words, and so does regrow_layer() in CMake."""
import subprocess
import unittest

from tree import ROOT, run_check, tree

ORDER = {"cmake/Layers.cmake": "set(REGROW_LAYERS base tensor runtime profiler engine frontend)\n"}


def file(*includes):
    return "".join(f'#include "{i}"\n' for i in includes)


class Layers(unittest.TestCase):
    def complaints(self, files):
        status, lines = run_check("check_layers.py", {**ORDER, **files})
        self.assertEqual(status, 1)
        return lines

    def accepts(self, files):
        status, lines = run_check("check_layers.py", {**ORDER, **files})
        self.assertEqual((status, len(lines)), (0, 1), lines)

    def test_own_and_earlier_layers_are_allowed(self):
        self.accepts({"regrow/base/a.h": "", "regrow/base/b.h": file("regrow/base/a.h"), "regrow/tensor/t.cc": file("regrow/base/b.h")})

    def test_a_later_layer_is_refused(self):
        self.assertEqual(self.complaints({"regrow/base/a.h": file("regrow/tensor/t.h"), "regrow/tensor/t.h": ""}),
                         ["regrow/base/a.h: may not include regrow/tensor/t.h: layer 'tensor' comes after 'base'"])

    def test_angle_brackets_do_not_hide_an_include(self):
        self.assertEqual(self.complaints({"regrow/base/a.h": "#include <regrow/tensor/t.h>\n", "regrow/tensor/t.h": ""}),
                         ["regrow/base/a.h: may not include regrow/tensor/t.h: layer 'tensor' comes after 'base'"])

    def test_the_generated_front_door_belongs_to_the_frontend(self):
        self.accepts({"regrow/frontend/f.h": file("regrow/ops.h")})
        self.assertEqual(self.complaints({"regrow/engine/e.h": file("regrow/ops.h")}),
                         ["regrow/engine/e.h: may not include regrow/ops.h: layer 'frontend' comes after 'engine'"])

    def test_a_cycle_is_refused(self):
        self.assertEqual(self.complaints({"regrow/base/a.h": file("regrow/base/b.h"), "regrow/base/b.h": file("regrow/base/a.h")}),
                         ["cycle: regrow/base/a.h -> regrow/base/b.h -> regrow/base/a.h"])

    def test_faces_include_anything_and_are_included_by_nobody(self):
        self.accepts({"regrow/cli/main.cc": file("regrow/frontend/f.h", "regrow/profiler/p.h", "regrow/regrow.h"),
                      "regrow/frontend/f.h": "", "regrow/profiler/p.h": "", "regrow/regrow.h": file("regrow/frontend/f.h")})
        self.assertEqual(self.complaints({"regrow/frontend/f.h": file("regrow/cli/c.h"), "regrow/cli/c.h": ""}),
                         ["regrow/frontend/f.h: may not include regrow/cli/c.h: a face is included by nobody"])

    def test_the_profiler_is_known_by_engine_and_faces_only(self):
        profiler = {"regrow/profiler/p.h": ""}
        self.accepts({**profiler, "regrow/engine/e.cc": file("regrow/profiler/p.h")})
        self.assertEqual(self.complaints({**profiler, "regrow/frontend/f.cc": file("regrow/profiler/p.h")}),
                         ["regrow/frontend/f.cc: may not include regrow/profiler/p.h: only engine and the faces know the profiler"])

    def test_the_whole_is_for_users(self):
        self.assertEqual(self.complaints({"regrow/regrow.h": "", "regrow/base/a.cc": file("regrow/regrow.h")}),
                         ["regrow/base/a.cc: may not include regrow/regrow.h: a layer names what it uses"])

    def test_unknown_layers_files_and_short_paths_are_refused(self):
        self.assertEqual(self.complaints({"regrow/extra/a.h": file("regrow/base/b.h"), "regrow/base/b.h": ""}),
                         ["regrow/extra/a.h: 'extra' is not in REGROW_LAYERS"])
        self.assertEqual(self.complaints({"regrow/base/a.h": file("regrow/base/gone.h")}),
                         ["regrow/base/a.h: includes regrow/base/gone.h, which does not exist"])
        self.assertEqual(self.complaints({"regrow/base/a.h": file("b.h"), "regrow/base/b.h": ""}),
                         ['regrow/base/a.h: write "b.h" as a path from the root'])

    def test_an_empty_tree_is_no_success(self):
        self.assertEqual(self.complaints({}), ["no source files found"])


class CMakeLayers(unittest.TestCase):
    def refused(self, call):
        with tree({"try.cmake": f"include({ROOT}/cmake/Layers.cmake)\n{call}\n"}) as folder:
            done = subprocess.run(["cmake", "-P", "try.cmake"], cwd=folder, capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        return " ".join(done.stderr.split())

    def test_a_layer_may_not_use_a_later_one(self):
        self.assertIn("layer 'base' may not use 'tensor': it is not before it in REGROW_LAYERS",
                      self.refused("regrow_layer(base USES tensor)"))

    def test_what_a_layer_uses_is_declared_before_it(self):
        self.assertIn("layer 'tensor' uses 'base', which no regrow_layer() before this one declares",
                      self.refused("regrow_layer(tensor USES base)"))

    def test_a_layer_is_in_the_list(self):
        self.assertIn("layer 'extra' is not in REGROW_LAYERS", self.refused("regrow_layer(extra)"))


if __name__ == "__main__":
    unittest.main()
