# SPDX-License-Identifier: Apache-2.0
"""benchmarks/figures/*.json -> docs/performance.md. No figure in that page is typed by hand."""
import json

from bench import FIGURES, ROOT

TITLES = {"trials": "Cost of a trial", "scale": "Large sweeps and idle processes", "start": "Start of a trial",
          "allocator": "The CPU allocator", "against_pytorch": "Training against PyTorch", "ddp": "Several ranks against PyTorch", "jpeg": "JPEG images",
          "from_nothing": "From nothing", "schedule": "Scheduling"}

HEAD = """# Performance

Written by `benchmarks/render.py` from `benchmarks/figures/*.json`, which the scripts under `benchmarks/` leave (each says in its first
lines what it runs). Figures are the median with the smallest and the largest run; comparisons are made in one run, in turns.
A target that was missed stays here as missed.
"""


def section(title, path):
    if not path.exists():
        return f"\n## {title}\n\nNot run.\n"
    data = json.loads(path.read_text())
    text = f"\n## {title}\n\nMachine: {data['machine']}.\n\n| what | target | measured | |\n|---|---|---|---|\n"
    for row in data["rows"]:
        mark = {True: "met", False: "**missed**", None: ""}[row["met"]]
        text += f"| {row['what']} | {row['target'] or ''} | {row['measured']} | {mark} |\n"
    return text + "".join(f"\n{note}\n" for note in data.get("notes", []))


def main():
    page = HEAD + "".join(section(title, FIGURES / f"{name}.json") for name, title in TITLES.items())
    (ROOT / "docs" / "performance.md").write_text(page)


if __name__ == "__main__":
    main()
