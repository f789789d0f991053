# SPDX-License-Identifier: Apache-2.0
"""A trial program of a few lines that reports what a test wants: a rehearsal whose trials are run by it, one process a rank."""
from rehearsals import rehearsal, table

PROGRAM = """
import json, os, sys
trial = json.loads(sys.stdin.readline())
spec, rank = trial["spec"], trial["rank"]
events = os.fdopen(int(os.environ["BATCHSWEEP_EVENT_FD"]), "w")
def say(**event):
    print(json.dumps(event), file=events, flush=True)
def result(steps, warmup=0, **measured):
    say(event="result", measured=measured, steps={"warmup_steps": warmup, "time_s": steps})
    sys.exit()
def end(event, **evidence):
    say(event=event, evidence={"phase": "timed", "message": "as wanted", **evidence})
    sys.exit()
say(event="hello", protocol=1, software={"program": "script 1", "switches": "tf32=0"}, execution="eager")
say(event="phase", phase="timed")
"""


def scripted(sandbox, name, body, grid, count=4, trial=None):
    """Writes program and sweep file of a sweep whose trials end with `body` (it sees spec, rank, result(), end(), say()); its path."""
    program = sandbox.write(f"{name}.py", PROGRAM + body)
    text = rehearsal(name, {"gpu": "dev", "batch_size": 1, "model": "m", "runtime": "script", **grid},
                     [{"memory": {"fixed": "1 MiB"}}], {"dev": "8 GiB"}, trial, mode="process")
    text = text.replace('memory = "8 GiB"\n', f'memory = "8 GiB"\nthreads = 1\ncount = {count}\n')
    text += table("[[runtime]]", {"name": "script", "command": ["/usr/bin/python3", program]})
    return sandbox.write(f"{name}.toml", text)
