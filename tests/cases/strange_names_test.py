# SPDX-License-Identifier: Apache-2.0
"""D30: names with a slash, dots, quotes, commas or letters of other alphabets are data: they come back byte for byte, also from a folder
with such a name and without a locale."""
import csv
import unittest

from harness import Sandbox
from rehearsals import rehearsal

NAMES = ["org/bert-base", "a.b", "..", "m" * 300, "comma, and \"quote\"", "Größe", "模型", "Model", "model", "a/b", "a_b"]


class StrangeNames(Sandbox):
    def test_come_back_byte_for_byte(self):
        place = self.folder / "été 数据"
        place.mkdir()
        text = rehearsal("g", {"gpu": "dev", "model": ["NAMES"], "batch_size": 1}, [{"memory": {"fixed": "1 MiB"}, "step": {"fixed": "1 ms"}}],
                         {"dev": "1 GiB"})
        quoted = ", ".join("'''%s'''" % name for name in NAMES)
        (place / "s.toml").write_text(text.replace('["NAMES"]', f"[{quoted}]"), encoding="utf-8")
        code, _, err = self.run_program("run", str(place / "s.toml"), "--results", str(place / "g.h5"), LANG="C", LC_ALL="C")
        self.assertEqual(code, 0, err)
        rows = self.rows(place / "g.h5")
        self.assertEqual(sorted(row["model"] for row in rows), sorted(NAMES))
        self.assertEqual(len({row["trial_id"] for row in rows}), len(NAMES))
        code, out, err = self.run_program("export", str(place / "g.h5"), "--csv", "-", LANG="C", LC_ALL="C")
        self.assertEqual(code, 0, err)
        self.assertEqual(sorted(row["model"] for row in csv.DictReader(out.splitlines())), sorted(NAMES))

    def test_impossible_ones_are_refused_when_the_file_is_read(self):
        for name in ('""', r'"a\nb"'):
            self.write("s.toml", f'[sweep]\nname = "g"\n[grid]\nmodel = {name}\nbatch_size = 1\n[rehearsal]\n[[rehearsal.rule]]\nmemory = {{ fixed = "1 MiB" }}\n')
            code, _, err = self.run_program("run", "s.toml")
            self.assertEqual(code, 2, err)
            self.assertIn("model", err)


if __name__ == "__main__":
    unittest.main()
