#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_style.py complains about each broken rule in these very words, and about nothing else."""
import unittest

from tree import run_check

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
HEADER = LICENCE + "// What it is, in one sentence. Any thread.\n#pragma once\n"


class Style(unittest.TestCase):
    def complaints(self, files):
        status, lines = run_check("check_style.py", files)
        self.assertEqual(status, 1, lines)
        return lines

    def accepts(self, files):
        status, lines = run_check("check_style.py", files)
        self.assertEqual(status, 0, lines)

    def source(self, body, name="regrow/ops/a.cc"):
        return self.complaints({name: LICENCE + body})

    def test_a_good_tree_passes(self):
        self.accepts({"regrow/base/a.h": HEADER + "void go();\n", "regrow/base/a.cc": LICENCE + '#include "regrow/base/a.h"\n',
                      "tools/t.py": "#!/usr/bin/python3\n# SPDX-License-Identifier: Apache-2.0\n",
                      "scripts/test": "#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\n"})

    def test_licence_line(self):
        self.assertEqual(self.complaints({"regrow/base/a.cc": "int x;\n"}),
                         ["regrow/base/a.cc:1: does not begin with '// SPDX-License-Identifier: Apache-2.0'"])
        self.assertEqual(self.complaints({"cmake/A.cmake": "set(x 1)\n"}),
                         ["cmake/A.cmake:1: does not begin with '# SPDX-License-Identifier: Apache-2.0'"])
        self.assertEqual(self.complaints({"scripts/go": "#!/bin/bash\ntrue\n"}),
                         ["scripts/go:2: does not begin with '# SPDX-License-Identifier: Apache-2.0'"])

    def test_headers_open_with_a_sentence_and_a_guard(self):
        self.assertEqual(self.complaints({"regrow/base/a.h": LICENCE + "#pragma once\n"}),
                         ["regrow/base/a.h:2: does not open with a sentence on what it is"])
        self.assertEqual(self.complaints({"regrow/base/a.h": LICENCE + "// What it is. Any thread.\n"}),
                         ["regrow/base/a.h: no '#pragma once'"])

    def test_length(self):
        self.accepts({"regrow/base/a.cc": LICENCE + "int x;\n" * 699})
        self.assertEqual(self.complaints({"regrow/base/a.cc": LICENCE + "int x;\n" * 700}),
                         ["regrow/base/a.cc: 701 lines: more than 700: split it along its ideas"])
        self.assertEqual(self.source("//" + "x" * 139 + "\n"), ["regrow/ops/a.cc:2: 141 columns: more than 140"])
        self.assertEqual(self.source("int x; \n"), ["regrow/ops/a.cc:2: blanks at the end of the line"])

    def test_vague_names(self):
        self.assertEqual(self.complaints({"regrow/base/string_utils.h": HEADER}),
                         ["regrow/base/string_utils.h: a name says what a thing is: 'utils' does not"])
        self.assertEqual(self.complaints({"docs/misc/a.md": "", "regrow/base/a.h": HEADER}),
                         ["docs/misc/a.md: a name says what a thing is: 'misc' does not"])
        self.assertEqual(self.source("class MemoryManager {\n};\n"),
                         ["regrow/ops/a.cc:2: MemoryManager: a name says what a thing is: 'manager' does not"])

    def test_unfinished_work(self):
        for word in ("TO" + "DO", "FIX" + "ME"):
            self.assertEqual(self.source(f"// {word}: later\n"), [f"regrow/ops/a.cc:2: {word}: finish it, or file an issue"])

    def test_macros(self):
        for layer in ("ops", "machine", "remat", "runtime", "autograd"):
            self.assertEqual(self.source("#define REGROW_GO 1\n", f"regrow/{layer}/a.cc"),
                             [f"regrow/{layer}/a.cc:2: macro REGROW_GO: there are none in {layer}"])
        self.assertEqual(self.source("#define GO 1\n", "regrow/base/a.cc"),
                         ["regrow/base/a.cc:2: macro GO: its name does not begin with REGROW_"])
        self.accepts({"regrow/kernels/a.cc": LICENCE + "#define HWY_TARGET_INCLUDE \"a.cc\"\n",
                      "regrow/base/a.cc": LICENCE + "#ifndef MAP_NEW  // older system headers\n#define MAP_NEW 4\n#endif\n"})

    def test_what_one_compiler_lacks(self):
        self.assertEqual(self.source("for (int i : std::views::iota(0, 3)) {}\n"),
                         ["regrow/ops/a.cc:2: std::views: gcc 12 and clang 14 do not both have it"])
        self.assertEqual(self.source("#include <source_location>\n"),
                         ["regrow/ops/a.cc:2: source_location: gcc 12 and clang 14 do not both have it"])

    def test_printing_and_ending_the_process(self):
        for code, word in (("std::cout << 1;", "std::cout"), ('std::fprintf(f, "x");', "fprintf("), ("std::abort();", "std::abort("),
                           ("exit(1);", "exit("), ("::_exit(1);", "::_exit("), ('fmt::print("x");', "fmt::print(")):
            self.assertEqual(self.source(code + "\n"), [f"regrow/ops/a.cc:2: {word}: the library neither prints nor ends the process"])
        self.accepts({"regrow/cli/a.cc": LICENCE + "std::exit(1);\n", "tests/ops/a.cc": LICENCE + "std::exit(1);\n"})

    def test_comments_and_strings_are_not_code(self):
        self.accepts({"regrow/ops/a.cc": LICENCE + '// never calls exit(1) or std::views\nauto s = "abort() \\" exit(";\n'
                                         'auto r = R"(exit(1) ")";\nvoid on_exit(int); void f() { loop.exit(1); log_exit(2); }\n'})

    def test_generated_files(self):
        for name in ("docs/ops.md", "regrow/ops.h", "build-x/a.txt", "tools/a.pyc"):
            self.assertEqual(self.complaints({name: "", "regrow/base/a.h": HEADER}),
                             [f"{name}: is generated: it does not belong in the repository"])

    def test_an_empty_tree_is_no_success(self):
        self.assertEqual(self.complaints({}), ["no source files found"])


if __name__ == "__main__":
    unittest.main()
