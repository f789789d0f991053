# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check from a copied build: what it needs to find, and what it says where that is missing."""
import importlib.machinery
import importlib.util
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["BATCHSWEEP_BIN"])
SCRIPT = os.environ["BATCHSWEEP_SCRIPT"]
TORCH = os.environ["BATCHSWEEP_TORCH"]
HAS_GPU = os.path.exists("/dev/nvidiactl")
CUDA = os.environ["BATCHSWEEP_CUDA"] == "1"


def script():
    loader = importlib.machinery.SourceFileLoader("gpu_check", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
    loader.exec_module(module)
    return module


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.build = pathlib.Path(tempfile.mkdtemp(prefix="batchsweep-gpu-check-"))
        self.addCleanup(shutil.rmtree, self.build)
        (self.build / "bin").mkdir()
        for program in ("batchsweep", "batchsweep-trial"):
            shutil.copy2(BIN / program, self.build / "bin")

    def check(self, *arguments):
        done = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, timeout=250)
        return done.returncode, done.stdout, done.stderr

    @unittest.skipIf(HAS_GPU or not CUDA, "needs a build with CUDA and no GPU")
    def test_without_a_gpu_it_says_so_and_fails(self):
        code, out, err = self.check(self.build, "--torch", TORCH)
        self.assertEqual((code, out), (1, ""), err)
        self.assertIn("no GPU", err)

    @unittest.skipIf(not CUDA, "needs a build with CUDA")
    def test_the_copied_programs_take_libtorch_from_the_link(self):
        self.check(self.build, "--torch", TORCH)
        link = self.build / "lib" / "batchsweep-torch"
        self.assertEqual(link.resolve(), (pathlib.Path(TORCH) / "torch" / "lib").resolve())
        libraries = subprocess.run(["ldd", self.build / "bin" / "batchsweep-trial"], capture_output=True, text=True, check=True).stdout
        found = next(line for line in libraries.splitlines() if "libtorch_cpu.so" in line)
        self.assertIn(f"=> {self.build}/bin/../lib/batchsweep-torch/libtorch_cpu.so", found)

    @unittest.skipIf(CUDA, "needs a build without CUDA")
    def test_a_build_without_cuda_is_refused(self):
        code, _, err = self.check(self.build, "--torch", TORCH)
        self.assertEqual(code, 2)
        self.assertIn("built without CUDA", err)

    def test_without_a_build_or_libtorch_it_says_what_to_do(self):
        code, _, err = self.check("/no/such/build")
        self.assertEqual(code, 1)
        self.assertIn("scripts/setup --cuda", err)
        code, _, err = self.check(self.build, "--torch", "/no/such/torch")
        self.assertIn("no LibTorch in /no/such/torch", err)

    def test_its_checks_hold_on_the_cpu_too(self):
        """The judging code, with a CPU in the GPU's place: what needs no card must pass."""
        gpu_check = script()
        machine = gpu_check.Machine(self.build, gpu_check.time.monotonic() + 200)
        machine.gpus = [("cpu", "a CPU")]
        gpu_check.link_torch(self.build, TORCH)
        as_gpu = machine.run

        def as_cpu(program, *arguments, **options):
            if "input" in options:
                options["input"] = options["input"].replace('"kind": "cuda"', '"kind": "cpu", "threads": 2')
            return as_gpu(program, *arguments, **options)

        machine.run = as_cpu
        self.assertIn("samples/s", gpu_check.training("lenet", 32, "fp32")(machine))
        with self.assertRaisesRegex(gpu_check.Skipped, "tf32"):
            gpu_check.CHECKS["bert-tiny tf32"](machine)
        with self.assertRaisesRegex(gpu_check.Skipped, "one GPU"):
            gpu_check.CHECKS["ranks"](machine)
        seen = machine.trained("lenet", 8, network={"address": "127.0.0.1", "interface": "lo"})
        self.assertEqual(seen["comm_bytes_per_step"], 4 * seen["num_parameters"])


if __name__ == "__main__":
    unittest.main()
