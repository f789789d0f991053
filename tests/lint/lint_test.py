#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lint must find what it is for: each test plants one wrong file in a small tree and expects exactly that finding."""
import pathlib
import shutil
import sys
import tempfile
import unittest

import lint

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "g++"


class Planted(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
        self.plant("docs/architecture.md", page.replace("](", "] ("))  # the pages it links to are not in this tree
        for header in ("base/error", "sweeps/grid", "results/store/reader", "worker/agent/agent", "worker/protocol/codec",
                       "orchestrator/core", "orchestrator/transport/transports"):
            self.plant(f"{header}.hpp", SPDX + "#pragma once\n")

    def plant(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def findings(self):
        return lint.rules(self.root)[0]

    def expect(self, *parts):
        found = self.findings()
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_a_clean_tree_has_no_finding(self):
        self.plant("cli/main.cpp", SPDX + '#include "orchestrator/core.hpp"\n#include <vector>\n')
        self.plant("scripts/go", "#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\n")
        self.assertEqual(self.findings(), [])

    def test_every_include_that_points_to_the_left_is_found(self):
        for path, header in (("base/a.cpp", "sweeps/grid.hpp"), ("sweeps/a.cpp", "results/store/reader.hpp"),
                             ("worker/agent/a.cpp", "orchestrator/core.hpp"), ("worker/agent/a.cpp", "results/store/reader.hpp"),
                             ("orchestrator/a.cpp", "worker/agent/agent.hpp"), ("worker/train/a.cpp", "worker/agent/agent.hpp"),
                             ("orchestrator/a.cpp", "orchestrator/transport/transports.hpp"),
                             ("results/report/a.cpp", "worker/protocol/codec.hpp"), ("slurm/a.cpp", "orchestrator/core.hpp")):
            with self.subTest(path=path, header=header):
                self.plant(path, SPDX + f'\n#include "{header}"\n')
                self.expect(f"{path}:3:", "may not include")
                (self.root / path).unlink()

    def test_every_library_outside_its_place_is_found(self):
        for path, header in (("cli/a.cpp", "hdf5.h"), ("results/report/a.cpp", "hdf5.h"), ("orchestrator/a.cpp", "mpi.h"),
                             ("worker/agent/a.cpp", "torch/torch.h"), ("cli/a.cpp", "ATen/ATen.h"), ("worker/agent/a.cpp", "nccl.h"),
                             ("cli/verb_run.cpp", "CLI/CLI.hpp"), ("results/record/a.cpp", "nlohmann/json.hpp"), ("cli/a.cpp", "toml++/toml.h"),
                             ("worker/play/a.cpp", "cuda_runtime_api.h"), ("base/a.cpp", "gtest/gtest.h")):
            with self.subTest(path=path, header=header):
                self.plant(path, SPDX + f"#  include <{header}>\n")
                self.expect(f"{path}:2:", f"<{header}> belongs only into")
                (self.root / path).unlink()

    def test_libraries_are_allowed_in_their_place(self):
        for path, header in (("results/store/a.cpp", "hdf5.h"), ("orchestrator/transport/a.cpp", "mpi.h"), ("worker/train/models/a.cpp", "torch/torch.h"),
                             ("cli/command_line.cpp", "CLI/CLI.hpp"), ("base/json.hpp", "nlohmann/json.hpp"), ("tests/unit/x/a.cpp", "gtest/gtest.h")):
            pragma = "#pragma once\n" if path.endswith(".hpp") else ""
            self.plant(path, SPDX + pragma + f"#include <{header}>\n")
        self.assertEqual(self.findings(), [])

    def test_an_include_that_is_not_from_the_root_or_not_there_is_found(self):
        self.plant("base/a.cpp", SPDX + '#include "error.hpp"\n')
        self.expect("base/a.cpp:2:", "not a path from the root")
        self.plant("base/a.cpp", SPDX + '#include "base/gone.hpp"\n')
        self.expect("base/a.cpp:2:", "is not there")

    def test_a_helper_beside_its_tests_may_be_included_by_its_bare_name(self):
        self.plant("tests/unit/x/helper.hpp", SPDX + "#pragma once\n")
        self.plant("tests/unit/x/a_test.cpp", SPDX + '#include "helper.hpp"\n')
        self.assertEqual(self.findings(), [])
        self.plant("tests/unit/y/a_test.cpp", SPDX + '#include "helper.hpp"\n')
        self.expect("tests/unit/y/a_test.cpp:2:", "not a path from the root")

    def test_a_folder_without_a_row_is_found(self):
        self.plant("extra/a.cpp", SPDX + "#include <vector>\n")
        self.expect("extra has no row")

    def test_long_files_missing_licences_and_missing_pragmas_are_found(self):
        self.plant("base/a.cpp", SPDX + "\n" * 600)
        self.expect("601 lines")
        self.plant("base/a.cpp", "#include <vector>\n" + SPDX)
        self.expect("SPDX")
        (self.root / "base/a.cpp").unlink()
        self.plant("base/a.hpp", SPDX)
        self.expect("#pragma once")
        (self.root / "base/a.hpp").unlink()
        self.plant("scripts/go", "#!/bin/bash\necho\n")
        self.expect("scripts/go", "SPDX")

    def test_a_path_of_one_machine_is_found_in_any_file(self):
        for path in ("docs/a.md", "cmake/a.cmake", "sweeps/examples/a.toml"):
            with self.subTest(path=path):
                self.plant(path, 'data = "text:/' + 'home/me/book.txt"\n')
                self.expect(path + ":1:", "a path of one machine")
                (self.root / path).unlink()

    def test_a_link_to_nowhere_is_found(self):
        self.plant("docs/a.md", "See [there](architecture.md), [here](gone.md) and [the web](https://example.org/x).\n")
        self.expect("docs/a.md", "a link to gone.md")

    def test_an_empty_tree_is_not_called_clean(self):
        for header in list(self.root.rglob("*.hpp")):
            header.unlink()
        self.expect("no source file found")

    def test_a_header_that_leans_on_its_includer_is_found(self):
        self.plant("base/error.hpp", SPDX + "#pragma once\ninline std::string text;\n")
        found, what = lint.headers(self.root, self.root / "build", [COMPILER])
        self.assertEqual(len(found), 1, found)
        self.assertIn("base/error.hpp does not compile alone", found[0])
        self.assertEqual(what, "7 headers")


if __name__ == "__main__":
    unittest.main()
