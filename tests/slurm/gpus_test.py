# SPDX-License-Identifier: Apache-2.0
"""Typed GPU requests: each trial runs on the device that Slurm gave its job. Jobs side by side, each with its own results file, one report."""
import os
import unittest

from slurm_case import SlurmCase, main

# The cards are those of a fake NVML, named by node; trials are a script that notes which device it sees.
TRIAL = """
import json, os, sys
spec = json.loads(sys.stdin.readline())
events = os.fdopen(int(os.environ["BATCHSWEEP_EVENT_FD"]), "w")
for event in [{"event": "hello", "protocol": 1, "software": {"program": "script 1"}, "execution": "eager"},
              {"event": "result", "measured": {}, "steps": {"warmup_steps": 0, "time_s": [0.1]}}]:
    print(json.dumps(event), file=events)
with open("FOLDER/seen.txt", "a") as seen:
    seen.write(os.environ["CUDA_VISIBLE_DEVICES"] + "\\n")
"""
WRAP = """
[ "$2" = plan ] && exec "$@"
export FAKE_NVML_CARD="NVIDIA $SLURMD_NODENAME"
while [ ! -e go ]; do sleep 0.1; done  # all jobs have their devices before the first ends
exec "$@"
"""
SWEEP = """
[sweep]
name = "s"
[grid]
model = "lenet"
batch_size = [1, 2, 3]
runtime = "script"
[[exclude]]
gpu = "cpu"
[[runtime]]
name = "script"
command = ["/usr/bin/python3", "FOLDER/trial.py"]
"""
JOB = """
[[slurm]]
job = "{name}"
gres = "gpu:{type}:1"
time = "2 h"
wrap = ["sh", "FOLDER/wrap.sh"]
"""


class Gpus(SlurmCase):
    def test_each_job_has_its_devices_and_one_report_shows_all(self):
        (self.folder / "libnvidia-ml.so.1").symlink_to(os.environ["FAKE_NVML_LIBRARY"])
        self.write("trial.py", TRIAL.replace("FOLDER", str(self.folder)))
        self.write("wrap.sh", WRAP)
        text = SWEEP + JOB.format(name="first", type="a100") + JOB.format(name="second", type="a100") + JOB.format(name="third", type="v100")
        self.write("s.toml", text.replace("FOLDER", str(self.folder)))
        jobs = {name: ids[0] for name, ids in self.submit(LD_LIBRARY_PATH=str(self.folder)).items()}
        for job in jobs.values():
            self.slurm.wait_for_state(job, "RUNNING")
        self.write("go", "")
        rows = {}
        for name, job in jobs.items():
            self.finish(job, name)
            rows[name] = self.assert_complete(3, name)
        # The fake's cards in PCI order: GPU-1, named by the node, and GPU-0.
        self.assertEqual({name: {row["hostname"] for row in rows[name]} for name in rows},
                         {"first": {"n1"}, "second": {"n1"}, "third": {"n2"}})
        devices = {name: {row["device_uuid"] for row in self.rows(f"s.{name}.h5", "ranks")} for name in rows}
        self.assertEqual(devices["first"] | devices["second"], {"GPU-0", "GPU-1"}, "side by side on one node, one card each")
        self.assertEqual([len(devices[name]) for name in ("first", "second", "third")], [1, 1, 1])
        self.assertEqual(devices["third"], {"GPU-1"})
        self.assertEqual({row["gpu"] for row in rows["third"]}, {"NVIDIA n2"})
        seen = sorted((self.folder / "seen.txt").read_text().split())
        self.assertEqual(seen, sorted(uuid for name in rows for uuid in devices[name] for _ in range(3)))
        code, out, err = self.run_program("report", "s.first.h5", "s.second.h5", "s.third.h5")
        self.assertEqual(code, 0, err)
        for word in ("NVIDIA n1", "NVIDIA Test Card", "NVIDIA n2", "completed"):
            self.assertIn(word, out)


if __name__ == "__main__":
    main()
