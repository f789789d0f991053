# SPDX-License-Identifier: Apache-2.0
"""Time of a training step of two ranks beside PyTorch's DistributedDataParallel over gloo: same LibTorch, threads, model, batch, buckets
(25 MiB) and fused optimizer, on one machine's CPU.
Needs: cmake ... -DBATCHSWEEP_BENCHMARKS=ON && ninja -C BUILD ddp_steps, and in PYTHONPATH the torch that the build uses and torchvision.

    python3 benchmarks/ddp.py                          all
    python3 benchmarks/ddp.py --pytorch JSON           one rank of PyTorch's

All ranks live at once. A step is taken by both ranks of one side, then by both of another; its time is that of the slower rank, and what
slows the machine slows the neighbouring steps as well. Three sides: our two ranks, PyTorch's, and two of our processes that train each
alone, which is the same work without communication."""
import json
import os
import socket
import statistics
import subprocess
import sys

from bench import BIN, keep

RANKS, THREADS = 2, 1
STEPS, WARMUP, TURNS = 20, 10, 3
SPEC = {"model": "resnet18", "batch_size": 8, "image_height": 224, "image_width": 224, "optimizer": "sgd", "learning_rate": 1e-6, "momentum": 0.9}
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": str(THREADS), "MKL_NUM_THREADS": str(THREADS), "OMP_WAIT_POLICY": "passive",
               "MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo"}


def pytorch_rank(given):
    import time

    import torch
    import torchvision
    torch.set_num_threads(THREADS)
    torch.set_num_interop_threads(1)
    spec = given["spec"]
    torch.distributed.init_process_group("gloo", rank=given["rank"], world_size=RANKS)
    torch.manual_seed(1 + given["rank"])
    model = torch.nn.parallel.DistributedDataParallel(getattr(torchvision.models, spec["model"])(weights=None))
    optimizer = torch.optim.SGD(model.parameters(), spec["learning_rate"], momentum=spec["momentum"], fused=True)
    images = torch.randn(spec["batch_size"], 3, spec["image_height"], spec["image_width"])
    classes = torch.randint(1000, (spec["batch_size"],))
    for _ in sys.stdin:
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), classes)
        loss.backward()
        optimizer.step()
        loss.item()
        print(time.perf_counter() - start, flush=True)
    print(json.dumps({"loss": loss.item()}), flush=True)
    torch.distributed.destroy_process_group()


class Side:
    """Processes that train, a step whenever they are asked."""

    def __init__(self, commands, environment=ENVIRONMENT):
        self.ranks = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) for command in commands]

    def tell(self, line, ranks=None):
        for rank in ranks or self.ranks:
            rank.stdin.write(line + "\n")
            rank.stdin.flush()

    def step(self):
        """The slower rank's time in seconds."""
        self.tell("step")
        return max(float(rank.stdout.readline()) for rank in self.ranks)

    def end(self):
        for rank in self.ranks:
            rank.stdin.close()
        said = [rank.stdout.read() for rank in self.ranks]
        for rank in self.ranks:
            if rank.wait() != 0:
                raise SystemExit(f"{rank.args} ended with {rank.returncode}")
        return [json.loads(last) for last in said]


def ours(world_size):
    spec = {**SPEC, "world_size": world_size}
    side = Side([[str(BIN / "ddp_steps"), json.dumps({"spec": spec, "threads": THREADS, "rank": rank if world_size > 1 else 0})] for rank in range(RANKS)])
    if world_size > 1:
        side.tell(side.ranks[0].stdout.readline().strip(), side.ranks[1:])
    return side


def theirs():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    commands = [[sys.executable, __file__, "--pytorch", json.dumps({"spec": SPEC, "rank": rank})] for rank in range(RANKS)]
    return Side(commands, {**ENVIRONMENT, "MASTER_PORT": str(port)})


def turn():
    """Per step (ours, theirs, ours without communication) in seconds; what the Logger of our slower rank says."""
    sides = ours(RANKS), theirs(), ours(1)
    steps = []
    for i in range(WARMUP + STEPS):
        order = list(range(3))[i % 3:] + list(range(3))[:i % 3]
        times = {which: sides[which].step() for which in order}
        steps.append(tuple(times[which] for which in range(3)))
    ended = [side.end() for side in sides]
    return steps[WARMUP:], max(ended[0], key=lambda rank: rank["exposed_s"])


def milliseconds(values):
    return f"{1000 * statistics.median(values):.4g} ms"


def main():
    turns, loggers = zip(*(turn() for _ in range(TURNS)))
    steps = [step for steps in turns for step in steps]
    our, their, alone = (list(times) for times in zip(*steps))
    each = sorted(statistics.median(b / a for a, b, _ in steps) for steps in turns)
    ratio = statistics.median(b / a for a, b in zip(our, their))
    exposed = [a - c for a, c in zip(our, alone)]
    logged = [rank["exposed_s"] for rank in loggers]
    name = f"{SPEC['model']}, {RANKS} ranks x batch {SPEC['batch_size']}, {THREADS} thread each"
    load = os.getloadavg()[2]
    keep("ddp", [
        {"what": f"{name}: the step time of PyTorch's DistributedDataParallel (gloo) over ours", "target": "at least 0.97",
         "measured": f"{ratio:.3f} ({each[0]:.3f} to {each[-1]:.3f}, {TURNS} x {STEPS} steps in turns; ours and theirs {milliseconds(our)} and {milliseconds(their)})",
         "met": ratio >= 0.97},
        {"what": f"{name}: what communication adds to a step (with it minus without)", "target": "",
         "measured": f"{milliseconds(exposed)} (a step without: {milliseconds(alone)})", "met": None},
        {"what": f"{name}: the exposed communication that c10d::Logger tells", "target": "",
         "measured": f"{milliseconds(logged)} ({1000 * min(logged):.4g} to {1000 * max(logged):.4g}, {TURNS} runs)", "met": None}],
         notes=[f"The machine's load average over 15 minutes was {load:.1f} at the end; the four or six processes of this benchmark count into it.",
                "The first number contains what the Logger does not see: gradients copied into buckets and back, the broadcast of batch "
                "normalisation's buffers before each step, and waiting for the slower rank."])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--pytorch"]:
        pytorch_rank(json.loads(sys.argv[2]))
    else:
        main()
