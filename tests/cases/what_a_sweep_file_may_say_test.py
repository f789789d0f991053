# SPDX-License-Identifier: Apache-2.0
"""D05, D10, D14, D18, D19: sweep files that ask for what cannot be meant, or for more than can be counted, are refused before anything starts."""
import json
import math
import time
import unittest

from harness import Sandbox

REHEARSED = '[rehearsal]\nmode = "simulated"\n[[rehearsal.rule]]\nmemory = { fixed = "1 MiB" }\n'
DEVICE = '[[device]]\nname = "dev"\nkind = "cpu"\nmemory = MEMORY\ncount = 4\n'


class SweepFiles(Sandbox):
    def plan(self, grid, *arguments, memory='"1 GiB"', rest=""):
        self.write("s.toml", f'[sweep]\nname = "s"\n[grid]\ngpu = "dev"\n{grid}\n' + DEVICE.replace("MEMORY", memory) + rest + REHEARSED)
        code, out, err = self.run_program("plan", "s.toml", *arguments)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["err", "out", "s.toml"], "nothing is written")
        return code, out, err

    def refused(self, words, *arguments, **options):
        code, _, err = self.plan(*arguments, **options)
        self.assertEqual(code, 2, err)
        self.assertIn("s.toml: line", err)
        for word in words:
            self.assertIn(word, err)

    def test_fewer_than_two_applied_steps_say_nothing_of_memory(self):
        self.refused(["must be at least 2"], 'model = "m"\nbatch_size = 1', rest="[trial]\nwarmup_steps = 0\ntimed_steps = 1\n")

    def test_a_size_needs_its_unit_and_gb_is_not_gib(self):
        for memory in ("80", '"80"', '"80 XB"'):
            self.refused(["device.memory"], 'model = "m"\nbatch_size = 1', memory=memory)
        for memory in ('"80GB"', '"80 GB"', '"80GiB"'):
            self.assertEqual(self.plan('model = "m"\nbatch_size = 1', memory=memory)[0], 0)

    def test_a_global_batch_must_divide_and_the_plan_shows_both(self):
        self.refused(["global_batch_size", "does not divide"], 'model = "m"\nglobal_batch_size = 64\nworld_size = [1, 2, 3, 4]')
        code, out, err = self.plan('model = "m"\nglobal_batch_size = 64\nworld_size = [1, 2, 4]', "--format", "json")
        self.assertEqual(code, 0, err)
        self.assertEqual(sorted((t["world_size"], t["batch_size"]) for t in json.loads(out)["trials"]), [(1, 64), (2, 32), (4, 16)])

    def test_misspelt_keys_and_words_are_errors_with_the_nearest_name(self):
        for text, words in (('model = "m"\nbatch_size = 1\nprecison = "fp32"', ["precison", "precision"]),
                            ('model = "m"\nbatchsize = 1', ["batchsize", "batch_size"]),
                            ('model = "m"\nbatch_size = 1\nprecision = "fp31"', ["fp31", "fp32"])):
            self.refused(words, text)
        self.refused(["timed_step", "timed_steps"], 'model = "m"\nbatch_size = 1', rest="[trial]\ntimed_step = 3\n")
        self.refused(["Trial"], 'model = "m"\nbatch_size = 1', rest="[Trial]\ntimed_steps = 3\n")

    def test_a_huge_grid_is_counted_before_it_is_built(self):
        began = time.monotonic()
        code, out, err = self.plan('model = "m"\nbatch_size = { from = 1, to = 100000, step = 1 }')
        self.assertEqual(code, 0, err)
        self.assertIn("100000 trials", out.replace(",", ""))
        for counts in ((1000, 1000, 1000, 1), (10**7, 10**6, 32768, 1000)):  # the second's product does not fit into 64 bits
            names = ("batch_size", "sequence_length", "gradient_accumulation_steps")
            grid = f"model = {[f'm{i}' for i in range(counts[-1])]}\n" + "".join("%s = { from = 1, to = %d, step = 1 }\n" % pair for pair in zip(names, counts))
            code, _, err = self.plan(grid)
            self.assertEqual(code, 2, err)
            self.assertIn(str(math.prod(counts)), err.replace(",", ""))
        self.assertLess(time.monotonic() - began, 90)

    def test_ids_stay_when_a_value_is_added(self):
        ids = lambda batches: {(t["model"], t["batch_size"]): t["trial_id"] for t in
                               json.loads(self.plan(f'model = ["m", "n"]\nbatch_size = {batches}', "--format", "json")[1])["trials"]}
        before, after = ids("[1, 2, 3]"), ids("[3, 1, 2, 4]")
        self.assertEqual(len(set(after.values())), 8)
        self.assertEqual({key: after[key] for key in before}, before)


if __name__ == "__main__":
    unittest.main()
