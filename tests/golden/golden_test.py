#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What users read, kept word by word: help texts, the list of trials, the report of a simulated rehearsal.

golden_test.py BATCHSWEEP            compares with the files beside this one
golden_test.py BATCHSWEEP --write    writes them anew; read the difference before you commit it
"""
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
COMMANDS = ["init", "plan", "run", "submit", "cancel", "watch", "report", "export", "explain", "doctor", "models", "gpus"]
# What differs from one run to the next, or from one place to another.
MASKS = [
    (re.compile(r"\b[0-9a-f]{16}\b"), "<16 hex digits>"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<utc>"),
]


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = str(pathlib.Path(path).resolve()), folder

    def __call__(self, *arguments, masks=MASKS):
        done = subprocess.run([self.path, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        text = f"$ batchsweep {' '.join(arguments)}\n{done.stdout}"
        if done.returncode != 0:
            text += f"exit code {done.returncode}\n"
        text = text.replace(self.path, "batchsweep").replace(str(HERE), "tests/golden")
        for pattern, word in masks:
            text = pattern.sub(word, text)
        return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def answers(batchsweep):
    sweep = str(HERE / "cards.toml")
    yield "help.txt", "\n".join([batchsweep("--help"), *(batchsweep(command, "--help") for command in COMMANDS)])
    # The trial ids stand here unmasked: a changed id would void what users have recorded.
    yield "plan.txt", batchsweep("plan", sweep, "--all", masks=[])
    batchsweep("run", sweep)
    yield "report.txt", batchsweep("report", "cards.h5")


def main(arguments):
    if not arguments or arguments[1:] not in ([], ["--write"]):
        sys.exit(__doc__)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in answers(Program(arguments[0], folder)):
            file = HERE / name
            if arguments[1:]:
                file.write_text(text, encoding="utf-8")
                continue
            wanted = file.read_text(encoding="utf-8") if file.is_file() else ""
            difference = list(difflib.unified_diff(wanted.splitlines(), text.splitlines(), f"tests/golden/{name}", "now", lineterm=""))
            wrong += bool(difference)
            print("\n".join(difference) if difference else f"{name}: as it was")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
