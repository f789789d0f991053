# SPDX-License-Identifier: Apache-2.0
"""The table of README.md names 40 cases, each once, and only tests that exist; so does docs/failures.md."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
CPP = re.compile(r"`(tests/[\w/]+\.cpp): (\w+)\.(\w+)`")


class Map(unittest.TestCase):
    def named_in(self, page):
        text = (ROOT / page).read_text(encoding="utf-8")
        named = 0
        for file, test in PYTHON.findall(text):
            named += 1
            self.assertIn(f"def {test}(", (ROOT / file).read_text(encoding="utf-8"), page)
        for file, suite, test in CPP.findall(text):
            named += 1
            self.assertRegex((ROOT / file).read_text(encoding="utf-8"), rf"TEST(_F|_P)?\({suite},\s*{test}\)", page)
        self.assertEqual(named, len(re.findall(r"`tests/[\w/]+\.(?:py|cpp)\b[^`]", text)), "a test whose form nobody understands")
        return named

    def test_each_case_stands_once_and_names_tests_that_exist(self):
        rows = re.findall(r"^\| ([DS]\d+) \|.*\| (.*) \|$", (ROOT / "tests/cases/README.md").read_text(encoding="utf-8"), re.M)
        self.assertEqual([case for case, _ in rows], [f"D{n:02}" for n in range(1, 34)] + [f"S{n}" for n in range(1, 8)])
        self.assertEqual([case for case, test in rows if "`tests/" not in test and not test.startswith("not here")], [])
        self.assertGreater(self.named_in("tests/cases/README.md"), 40)

    def test_each_way_to_die_names_a_test_that_exists(self):
        self.assertGreater(self.named_in("docs/failures.md"), 40)


if __name__ == "__main__":
    unittest.main()
