# SPDX-License-Identifier: Apache-2.0
"""How long scripts/quickstart and scripts/test take in a new Debian 12 that holds git and the base system only, and when repeated.

    sudo python3 benchmarks/from_nothing.py [--base FOLDER] [--scratch FOLDER] [--certificates FILE]

--base: a root made before with `debootstrap --include=git,ca-certificates bookworm FOLDER`; without it, debootstrap makes one. A copy of it is
used and left in the scratch folder. --certificates: what pip shall trust, where the network has an authority of its own. What is tested is
the last commit of this checkout, cloned inside."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from bench import ROOT, keep

MOUNTS = """mount -t proc proc "$R/proc"; mount --rbind /sys "$R/sys" 2>/dev/null || mount -t sysfs sysfs "$R/sys"
mount --rbind /dev "$R/dev"; exec chroot "$R" "$@" """
PASSED_ON = re.compile("^(PIP_(?!CERT)|(http|https|no)_proxy$)", re.IGNORECASE)
CERTIFICATES = "srv/certificates.pem"
CLONE = "/srv/a clone"  # a folder with a space is a folder too


def in_root(root, command, **how):
    """Runs it in a mount and process namespace of its own, so that nothing stays mounted or alive."""
    env = ["HOME=/root", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"]
    env += [f"{k}={v}" for k, v in os.environ.items() if PASSED_ON.match(k)]
    if (root / CERTIFICATES).exists():
        env += [f"PIP_CERT=/{CERTIFICATES}"]
    return subprocess.run(["unshare", "-m", "-p", "-f", "--kill-child", "sh", "-c", MOUNTS, "sh", "env", "-i", *env, "sh", "-c", command],
                          env={**os.environ, "R": str(root)}, **how)


def make_root(base, scratch, certificates):
    root = scratch / "root"
    if base is None:
        subprocess.run(["debootstrap", "--include=git,ca-certificates", "bookworm", root], check=True, stdout=subprocess.DEVNULL)
    else:
        subprocess.run(["cp", "-a", base, root], check=True)
    if certificates:
        shutil.copy(certificates, root / CERTIFICATES)
    bundle = root / "srv" / "batchsweep.bundle"
    subprocess.run(["git", "-C", ROOT, "bundle", "create", "-q", bundle, "HEAD"], check=True)
    in_root(root, f"git clone -q /srv/batchsweep.bundle '{CLONE}'", check=True)
    return root


def run_timed(root, what, log):
    start = time.monotonic()
    with open(log, "ab") as out:
        done = in_root(root, f"cd '{CLONE}' && {what}", stdout=out, stderr=out, stdin=subprocess.DEVNULL)
    took = time.monotonic() - start
    print(f"{what}: exit code {done.returncode} after {took:.1f} s (output: {log})", flush=True)
    return took, done.returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--base")
    parser.add_argument("--scratch")
    parser.add_argument("--certificates")
    asked = parser.parse_args()
    scratch = pathlib.Path(asked.scratch or tempfile.mkdtemp(prefix="batchsweep-from-nothing-"))
    scratch.mkdir(parents=True, exist_ok=True)
    root = make_root(asked.base, scratch, asked.certificates)
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    rows = []
    for what in ("scripts/quickstart", "scripts/test"):
        for when in ("from nothing" if what == "scripts/quickstart" else "after it", "repeated"):
            took, code = run_timed(root, what, scratch / "log")
            rows.append({"what": f"{what}, {when}: s", "target": "exit code 0", "measured": f"{took:.3g} (exit code {code})", "met": code == 0})
            keep("from_nothing", rows, notes=[f"Commit {commit}, in a new Debian 12 root (debootstrap) with git and the base system only."],
                 shown=len(rows) - 1)


if __name__ == "__main__":
    main()
