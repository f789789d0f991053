# SPDX-License-Identifier: Apache-2.0
"""A trial program around ours, for ranks_test.py: something befalls rank 1.

unlucky_rank.py FAULT TRIAL    FAULT: exit, oom, diverge, kill or stop (in step 3)"""
import json
import os
import signal
import subprocess
import sys


def main(fault, trial):
    given = json.loads(sys.stdin.readline())
    if given["rank"] != 1:
        fault = "none"
    if fault == "exit":
        sys.exit(3)
    if fault == "oom":
        given["device"]["limit_bytes"] = 30_000_000
    if fault == "diverge":
        given["spec"]["learning_rate"] = 1e38
    ours, theirs = os.pipe()
    process = subprocess.Popen([trial], stdin=subprocess.PIPE, pass_fds=[theirs], env={**os.environ, "BATCHSWEEP_EVENT_FD": str(theirs)})
    os.close(theirs)
    process.stdin.write(json.dumps(given).encode() + b"\n")
    process.stdin.flush()
    if given["rank"] != 0:
        process.stdin.write(sys.stdin.readline().encode())
    process.stdin.close()
    with os.fdopen(3, "wb", buffering=0) as events, os.fdopen(ours, "rb") as lines:
        for line in lines:
            event = json.loads(line)
            if event["event"] == "step" and event["step"] == 3 and fault in ("kill", "stop"):
                number = signal.SIGKILL if fault == "kill" else signal.SIGSTOP
                process.send_signal(number)
                os.kill(os.getpid(), number)
            events.write(line)
    sys.exit(process.wait())


if __name__ == "__main__":
    main(*sys.argv[1:])
