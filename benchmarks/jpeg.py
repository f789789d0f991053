# SPDX-License-Identifier: Apache-2.0
"""The JPEG pipeline: images a second and core beside a plain loop over libjpeg-turbo, and the time that a trial bound by compute waits
for its images. Needs Debian's python3-pil and the program jpeg_pipeline: cmake ... -DBATCHSWEEP_BENCHMARKS=ON && ninja -C BUILD
jpeg_pipeline batchsweep batchsweep-trial.

The files are mosaics of Fashion-MNIST in three colours, 500 x 375 pixels, quality 90, chroma halved: the size of most of ImageNet's."""
import gzip
import json
import pathlib
import statistics
import subprocess

import numpy as np
from PIL import Image

from bench import BIN, PROGRAM, drop, folder, keep, spread, timed

FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")
FILES, IMAGES, TURNS = 200, 960, 9

SWEEP = """
[sweep]
name = "wait"
[grid]
gpu = "cpu"
model = "resnet50"
batch_size = 16
[trial]
data = "images:photos"
warmup_steps = 3
timed_steps = 8
time_limit = "30 min"
stall_limit = "10 min"
repeats = 3
"""


def write_photos(path):
    with gzip.open(FASHION) as file:
        images = np.frombuffer(file.read(16 + 5000 * 784), np.uint8, offset=16).reshape(5000, 28, 28)
    random = np.random.default_rng(1)
    for i in range(FILES):
        planes = [np.vstack([np.hstack([images[k] for k in random.integers(0, 5000, 9)]) for _ in range(7)]) for _ in range(3)]
        # Twice as large and smooth in between, as photographs are.
        picture = Image.fromarray(np.dstack(planes)).resize((504, 392), Image.BICUBIC).crop((0, 0, 500, 375))
        place = path / f"class{i % 4}"
        place.mkdir(parents=True, exist_ok=True)
        picture.save(place / f"{i}.jpg", quality=90, subsampling="4:2:0")


def turns(photos):
    done = subprocess.run([BIN / "jpeg_pipeline", photos, str(IMAGES), str(TURNS)], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def waits(here):
    """Share of the timed window in which each trial waited for its images."""
    (here / "s.toml").write_text(SWEEP)
    timed([PROGRAM, "run", "s.toml"], here)
    done = subprocess.run([PROGRAM, "export", "wait.h5", "--json", "-"], cwd=here, check=True, capture_output=True)
    return [row["data_wait_s"] / row["window_s"] for row in json.loads(done.stdout)]


def main():
    here = folder()
    write_photos(here / "photos")
    pairs = turns(here / "photos")
    ratios, of_work = ([pair["pipeline_per_s"] / pair[other] for pair in pairs] for other in ("plain_per_s", "views_per_s"))
    rows = [
        {"what": "plain loop over libjpeg-turbo (read, decode), 500 x 375: images/s a core", "target": "",
         "measured": spread([pair["plain_per_s"] for pair in pairs]), "met": None},
        {"what": "images:DIR, the same files (read, decode, crop, mirror, resize to 224, normalise): images/s a core", "target": "",
         "measured": spread([pair["pipeline_per_s"] for pair in pairs]), "met": None},
        {"what": "ratio of the two, in turns", "target": "at least 0.9", "measured": spread(ratios), "met": statistics.median(ratios) >= 0.9},
        {"what": "ratio to a plain loop that crops and resizes as well", "target": "", "measured": spread(of_work), "met": None},
    ]
    keep("jpeg", rows)
    shares = waits(here)
    rows.append({"what": "resnet50, batch 16 on the CPU: share of its time that the trial waits for images", "target": "below 2 %",
                 "measured": spread(shares, 100) + " %", "met": max(shares) < 0.02})
    keep("jpeg", rows, shown=4)
    drop(here)


if __name__ == "__main__":
    main()
