# SPDX-License-Identifier: Apache-2.0
"""The quickstart's sweep file, really trained, with fewer steps: read by pandas and h5dump as the README says."""
import json
import os
import pathlib
import subprocess
import unittest

import h5py
import pandas as pd
from harness import Sandbox

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What other people's notebooks may rely on.
COLUMNS = """
run_id trial_id repeat attempt sequence origin site outcome reason message
gpu gpu_requested device_name device_memory_bytes memory_cap_bytes reserve_bytes emulated compute_capability hostname host_id software_id
slurm_job_id model precision precision_native batch_size global_batch_size world_size num_nodes placement optimizer memory_format
sequence_length image_height image_width gradient_accumulation_steps activation_checkpointing env seed data runtime parallelism execution
cpu_threads torch_version cuda_version cudnn_version nccl_version driver_version num_parameters warmup_steps timed_steps applied_steps
skipped_steps samples tokens window_s samples_per_s samples_per_s_per_gpu samples_per_s_ci_low samples_per_s_ci_high tokens_per_s
step_time_median_s step_time_p95_s step_time_std_s mfu scaling_efficiency data_wait_s comm_exposed_s comm_overlapped_s comm_bytes_per_step
neighbours_max peak_allocated_bytes peak_reserved_bytes peak_device_used_bytes steady_peak_allocated_bytes steady_peak_reserved_bytes
rss_peak_bytes oom_requested_bytes oom_allocated_bytes oom_reserved_bytes oom_limit_bytes guilty_rank exit_code signal phase energy_j
power_mean_w sm_clock_median_mhz temperature_max_c throttle_reasons loss_first loss_last started_utc duration_s setup_s steps_offset
steps_count""".split()
DATASETS = ["trials", "attempts", "ranks", "steps", "hosts", "software", "runs", "searches", "fields", "text", "README"]
MIB = 2**20


def read_with_pandas(path):
    """The README's lines."""
    df = pd.DataFrame(h5py.File(path)["trials"][:])
    for c in df.select_dtypes(object): df[c] = df[c].str.decode("utf-8")  # noqa: E701
    return df


class Quickstart(Sandbox):
    def setUp(self):
        super().setUp()
        bible = subprocess.run(["bible", "-f", "gen1:1-rev22:21"], env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/games"},
                               stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout
        (self.folder / "king-james.txt").write_bytes(bible)
        code, _, err = self.run_program("run", str(ROOT / "sweeps/examples/quickstart.toml"), "--set", "trial.timed_steps=8",
                                        "--set", 'trial.min_time="0.5 s"', "--set",
                                        'model.bert-tiny.data="text:king-james.txt"', timeout=600)
        self.assertEqual(code, 0, err[-3000:])
        self.df = read_with_pandas(self.folder / "quickstart.h5")

    def test_it_shows_the_boundary_and_learns(self):
        df = self.df
        self.assertEqual([c for c in COLUMNS if c not in df.columns], [])
        self.assertEqual(len(df), 40)
        self.assertFalse(df.duplicated(["run_id", "trial_id", "repeat"]).any())
        self.assertEqual(sorted(df.outcome.unique()), ["completed", "out_of_memory"])

        # Both devices run out of memory for both models in both precisions, and every such row says by how much.
        oom = df[df.outcome == "out_of_memory"]
        self.assertEqual(len(oom.groupby(["gpu", "model", "precision"])), 8)
        self.assertEqual(dict(oom.groupby("gpu").oom_limit_bytes.unique().map(list)),
                         {"cpu-small": [144 * MIB], "cpu-large": [208 * MIB]})
        self.assertTrue((oom.oom_requested_bytes > 0).all())
        self.assertTrue((oom.oom_allocated_bytes + oom.oom_requested_bytes > oom.oom_limit_bytes).all())

        completed = df[df.outcome == "completed"]
        self.assertTrue((completed.peak_allocated_bytes <= completed.memory_cap_bytes).all())
        self.assertTrue((completed.loss_last < completed.loss_first).all(),
                        completed[["model", "precision", "batch_size", "loss_first", "loss_last"]].to_string())

        # A seed's losses do not depend on the device's cap: each trial that both devices completed is a repetition, step by step.
        with h5py.File(self.folder / "quickstart.h5") as file:
            steps = file["steps"][:]
        twice = 0
        for what, pair in completed.groupby(["model", "precision", "batch_size"]):
            losses = [steps["loss"][int(row.steps_offset):int(row.steps_offset + row.steps_count)] for row in pair.itertuples()]
            common = min(map(len, losses))  # the window may have lasted longer on one of them
            self.assertGreaterEqual(common, 11, what)
            for other in losses[1:]:
                self.assertEqual(list(losses[0][:common]), list(other[:common]), what)
            twice += len(losses) == 2
        self.assertGreater(twice, 4)

        report = json.loads(self.run_program("report", "quickstart.h5", "--format", "json")[1])
        self.assertEqual(len(report["largest_batch"]), 8)
        for row in report["largest_batch"]:
            self.assertLess(row["max_batch_fit"], row["min_batch_oom"])
        self.assertEqual(len(report["verdicts"]), 8)

        with h5py.File(self.folder / "quickstart.h5") as file:
            self.assertEqual([d for d in DATASETS if d not in file], [])
        dump = subprocess.run(["h5dump", "-H", "quickstart.h5"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(dump.returncode, 0, dump.stderr)
        self.assertIn('DATASET "trials"', dump.stdout)


if __name__ == "__main__":
    unittest.main()
