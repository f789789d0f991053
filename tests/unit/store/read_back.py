# SPDX-License-Identifier: Apache-2.0
"""Reads a results file as its /README says, with stock h5py and pandas, and prints what the test compares."""
import subprocess
import sys

import h5py
import pandas as pd

path = sys.argv[1]
f = h5py.File(path, "r")
df = pd.DataFrame(f["trials"][:])
for c in df.select_dtypes(object): df[c] = df[c].str.decode("utf-8")
print("rows", len(df), "columns", len(df.columns))
print("models", "|".join(df["model"]))
print("flags", df["emulated"].dtype, list(df["emulated"]), len(df[~df["emulated"]]))
print("numbers", df["samples_per_s"].dtype, list(df["samples_per_s"]), int(df["mfu"].isna().sum()))
print("batch", df["batch_size"].dtype, list(df["batch_size"]))
row = df.iloc[0]
steps = pd.DataFrame(f["steps"][int(row.steps_offset):int(row.steps_offset + row.steps_count)])
print("steps", list(steps["step"]), list(steps["warmup"]), list(steps["time_s"]), list(steps["loss"]))
print("log", f["text"][int(df.iloc[1].log_text_row)].decode(), "| empty", repr(f["text"][0]))
runs = pd.DataFrame(f["runs"][:])
print("sweep", f["text"][runs.iloc[-1].sweep_text_row].decode().strip())
print("tables", sorted(f.keys()))
print("attributes", f.attrs["schema_version"], f.attrs["origin"].decode(), len(f.attrs["file_id"]))
fields = pd.DataFrame(f["fields"][:])
documented = set(zip(fields["table"].str.decode("utf-8"), fields["name"].str.decode("utf-8")))
for name in f:
    if f[name].dtype.names:
        print("undocumented in", name, [c for c in f[name].dtype.names if (name, c) not in documented])
        d = f[name]
        chunk = d.chunks[0] * d.dtype.itemsize
        assert d.compression == "gzip" and d.compression_opts == 1 and d.shuffle and chunk <= 2**20, (name, chunk)
print("readme", "pd.DataFrame" in f["README"][()].decode())
f.close()
dump = subprocess.run(["h5dump", "-d", "/trials", path], capture_output=True, text=True)
print("h5dump", dump.returncode, '"completed\\000' in dump.stdout or '"completed"' in dump.stdout)
