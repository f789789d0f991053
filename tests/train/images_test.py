# SPDX-License-Identifier: Apache-2.0
"""Folders of real JPEG files: decoded as Pillow decodes them, resampled as Pillow resamples, trained on from the sweep file to the record."""
import gzip
import io
import os
import pathlib
import subprocess
import unittest

import numpy as np
from harness import BIN, Sandbox
from PIL import Image

FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
LEVELS = 2  # of 255: what a decoded pixel may differ from Pillow's

SWEEP = """
[sweep]
name = "photos"
[grid]
gpu = "cpu"
model = ["resnet18", "lenet"]
batch_size = 8
[trial]
data = "images:photos"
image_size = 32
warmup_steps = 1
timed_steps = 6
"""


def fashion_images(count):
    """The first images and labels of the training set."""
    with gzip.open(FASHION / "train-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(16 + count * 784), np.uint8, offset=16).reshape(count, 28, 28)
    with gzip.open(FASHION / "train-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(8 + count), np.uint8, offset=8)
    return images, labels


def picture(seed=0, width=317, height=203):
    """A mosaic of real images in three colours, smooth and sharp parts in it, of a size that is no multiple of anything."""
    images, _ = fashion_images(300)
    random = np.random.default_rng(seed)
    planes = []
    for _ in range(3):
        rows = [np.hstack([images[i] for i in random.integers(0, 300, width // 28 + 1)]) for _ in range(height // 28 + 1)]
        planes.append(np.vstack(rows)[:height, :width])
    return Image.fromarray(np.dstack(planes))


def decode(*arguments):
    """The picture as the training program sees it, or the sentence why it is skipped."""
    done = subprocess.run([BIN / "decode_jpeg", *map(str, arguments)], capture_output=True, check=False)
    if done.returncode == 1:
        return done.stdout.decode().strip()
    head, _, pixels = done.stdout.partition(b"\n")
    width, height = map(int, head.split())
    return np.frombuffer(pixels, np.uint8).reshape(height, width, 3)


class Pixels(Sandbox):
    def save(self, image, **options):
        path = self.folder / f"{len(list(self.folder.iterdir()))}.jpg"
        image.save(path, "JPEG", **options)
        return path

    def worst(self, ours, theirs):
        self.assertEqual(ours.shape, theirs.shape)
        return int(np.abs(ours.astype(int) - theirs.astype(int)).max())

    def test_every_kind_of_jpeg_decodes_as_with_pillow(self):
        rgb = picture()
        kinds = {f"{q} {s} {'progressive' if p else 'baseline'}": self.save(rgb, quality=q, subsampling=s, progressive=p)
                 for q in (30, 75, 95) for s in ("4:4:4", "4:2:2", "4:2:0") for p in (False, True)}
        kinds["grey"] = self.save(rgb.convert("L"))
        kinds["cmyk"] = self.save(rgb.convert("CMYK"))
        kinds["one pixel"] = self.save(rgb.crop((0, 0, 1, 1)))
        for kind, path in kinds.items():
            with self.subTest(kind):
                self.assertLessEqual(self.worst(decode(path), np.asarray(Image.open(path).convert("RGB"))), LEVELS)

    def test_parts_are_the_same_pixels_as_of_the_whole(self):
        """Any part of any kind of file: its borders fall anywhere in the blocks, and smooth chroma looks across them."""
        rgb = picture(width=101, height=83)
        kinds = {f"{s} {'progressive' if p else 'baseline'}": self.save(rgb, quality=85, subsampling=s, progressive=p)
                 for s in ("4:4:4", "4:2:2", "4:2:0") for p in (False, True)}
        kinds |= {"grey": self.save(rgb.convert("L")), "cmyk": self.save(rgb.convert("CMYK"), subsampling="4:2:0")}
        kinds["restarts"] = self.save(rgb, restart_marker_rows=1)
        random = np.random.default_rng(3)
        for kind, path in kinds.items():
            whole = decode(path)
            for _ in range(40):
                top, left = int(random.integers(0, 83)), int(random.integers(0, 101))
                height, width = int(random.integers(1, 84 - top)), int(random.integers(1, 102 - left))
                with self.subTest(kind, top=top, left=left, height=height, width=width):
                    part = decode(path, top, left, height, width)
                    self.assertEqual(self.worst(part, whole[top : top + height, left : left + width]), 0)

    def test_parts_are_resampled_as_with_pillow(self):
        path = self.save(picture(), quality=95)
        whole = Image.open(path).convert("RGB")
        for top, left, height, width, to in [(0, 0, 203, 317, 224), (10, 20, 150, 200, 64), (3, 5, 30, 20, 224), (50, 60, 100, 100, 100)]:
            part = whole.crop((left, top, left + width, top + height)).resize((to, to), Image.BILINEAR)
            for mirrored in (0, 1):
                with self.subTest(top=top, to=to, mirrored=mirrored):
                    expected = np.asarray(part)[:, ::-1] if mirrored else np.asarray(part)
                    self.assertEqual(self.worst(decode(path, top, left, height, width, to, to, mirrored), expected), 0)

    def test_the_view_in_evaluation_is_resize_and_center_crop(self):
        for size in ((317, 203), (203, 317)):
            path = self.save(picture(width=size[0], height=size[1]), quality=95)
            whole = Image.open(path).convert("RGB")
            shorter = min(whole.size)
            scaled = whole.resize(tuple(256 if side == shorter else int(256 * side / shorter) for side in whole.size), Image.BILINEAR)
            left, top = (round((side - 224) / 2) for side in scaled.size)
            expected = np.asarray(scaled.crop((left, top, left + 224, top + 224)))
            self.assertEqual(self.worst(decode(path, 224, 224), expected), 0)

    def test_files_cut_anywhere_are_told_from_whole_ones(self):
        buffer = io.BytesIO()
        picture(width=64, height=64).save(buffer, "JPEG", quality=90)
        whole = buffer.getvalue()
        path = self.folder / "cut.jpg"
        for length in [0, 1, 2, 20, 200, len(whole) // 2, len(whole) - 100]:
            path.write_bytes(whole[:length])
            self.assertIsInstance(decode(path), str, length)
        path.write_bytes(whole)
        self.assertEqual(decode(path).shape, (64, 64, 3))


class Training(Sandbox):
    def write_photos(self, count):
        images, labels = fashion_images(count)
        for i, (image, label) in enumerate(zip(images, labels)):
            folder = self.folder / "photos" / f"class {label}"
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).convert("RGB").save(folder / f"{i}.jpg", quality=95)

    def test_a_folder_trains_from_the_sweep_file_to_the_record(self):
        self.write_photos(120)
        (self.folder / "photos" / "class 0" / "broken.jpg").write_bytes(b"\xff\xd8\xff no more")
        self.write("photos.toml", SWEEP)
        code, _, err = self.run_program("run", "photos.toml", timeout=300)
        self.assertEqual(code, 0, err[-3000:])
        rows = self.rows("photos.h5")
        self.assertEqual(sorted(row["model"] for row in rows), ["lenet", "resnet18"])
        for row in rows:
            self.assertEqual(row["outcome"], "completed", row["message"])
            self.assertEqual(row["data"], f"images:{self.folder / 'photos'}")
            self.assertEqual(row["samples"], 6 * 8)
            self.assertTrue(np.isnan(row["tokens"]))
            self.assertGreaterEqual(row["data_wait_s"], 0)
            self.assertLess(row["data_wait_s"], row["window_s"])
            self.assertTrue(np.isfinite(row["loss_last"]))

    def test_what_is_wrong_with_a_folder_is_said_before_anything_starts(self):
        (self.folder / "photos").mkdir()
        self.write("photos.toml", SWEEP)
        code, _, err = self.run_program("run", "photos.toml")
        self.assertEqual(code, 2)
        self.assertIn("photos.toml: line 9, column 8: trial.data: ", err)
        self.assertIn("photos holds no class: expected one folder a class", err)
        (self.folder / "photos" / "only").mkdir()
        self.assertIn("holds one class only (only)", self.run_program("run", "photos.toml")[2])

    def test_too_many_bad_files_fail_the_trial_and_are_named(self):
        self.write_photos(20)
        for i in range(5):
            (self.folder / "photos" / "class 0" / f"bad{i}.jpg").write_bytes(b"")
        self.write("photos.toml", SWEEP)
        code, _, _ = self.run_program("run", "photos.toml", timeout=300)
        self.assertEqual(code, 3)
        for row in self.rows("photos.h5"):
            self.assertEqual(row["outcome"], "failed")
            self.assertIn("had to be skipped, more than one in 10; mend or remove them, the first are: ", row["message"])
            self.assertIn(".jpg: it is empty", row["message"])


if __name__ == "__main__":
    os.environ["OMP_WAIT_POLICY"] = "passive"
    unittest.main()
