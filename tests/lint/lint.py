#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what a compiler does not: the layers of docs/architecture.md, lengths of files, licence lines, links, words that do not belong here.

lint.py rules ROOT             all rules but the headers; prints every finding, exits 1 when there is one
lint.py headers ROOT SCRATCH COMPILER...  every header compiles alone; SCRATCH is a folder for what that makes
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

SOURCES = {".cpp", ".hpp"}
CODE = SOURCES | {".py", ".sh"}
LONGEST_FILE = 600
SKIPPED_FOLDERS = {".git", ".deps", "build", "__pycache__", "shared"}
# Paths of one machine have no place in files that everybody gets.
MACHINE_PATHS = re.compile(r"(?<![\w.$}/])/(?:home|root|work|Users)/\w")


def files(root):
    for folder, names, leaves in os.walk(root):
        names[:] = sorted(n for n in names if n not in SKIPPED_FOLDERS and not n.startswith("build"))
        for leaf in sorted(leaves):
            path = pathlib.Path(folder, leaf)
            if not path.is_symlink():
                yield path.relative_to(root)


def text_of(path):
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def table(page, name):
    """The rows of the table between <!-- name:begin --> and <!-- name:end -->, each a list of lists of `words`."""
    match = re.search(rf"<!-- {name}:begin -->(.*?)<!-- {name}:end -->", page, re.S)
    if not match:
        sys.exit(f"docs/architecture.md: the table '{name}' is not there")
    rows = []
    for line in match.group(1).strip().splitlines()[2:]:
        cells = line.strip().strip("|").split("|")
        rows.append([re.findall(r"`([^`]+)`", cell) or cell.split() for cell in cells])
    return rows


class Layers:
    def __init__(self, page):
        self.allowed = {row[0][0]: set(row[1]) for row in table(page, "layers")}
        self.reserved = [(header, row[1]) for row in table(page, "libraries") for header in row[0]]
        for folder, others in self.allowed.items():
            for other in others - {"everything"}:
                if other not in self.allowed:
                    sys.exit(f"docs/architecture.md: {folder} may include {other}, which has no row of its own")

    def layer_of(self, path):
        """The deepest folder with a row that holds `path`."""
        for folder in [*pathlib.PurePosixPath(path).parents]:
            if str(folder) in self.allowed:
                return str(folder)
        return None

    def problem(self, path, header, quoted):
        layer = self.layer_of(path)
        if layer is None:
            return f"{path.parent} has no row in docs/architecture.md"
        target = self.layer_of(pathlib.PurePosixPath(header))
        if quoted and target is None:
            return f'"{header}" is not a path from the root of the repository'
        if target is not None and target != layer:
            allowed = self.allowed[layer]
            if "everything" not in allowed and target not in allowed:
                return f"{layer} may not include {target} (\"{header}\")"
        if target is None:
            for reserved, places in self.reserved:
                hit = header.startswith(reserved) if reserved.endswith("/") else header == reserved
                if hit and not any(str(path) == p or str(path).startswith(p + "/") for p in places):
                    return f"<{header}> belongs only into {' '.join(places)}"
        return None


INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.M)


def include_problems(root, path, text, layers):
    for match in INCLUDE.finditer(text):
        header = match.group(1) or match.group(2)
        if path.parts[0] == "tests" and match.group(1) and (root / path.parent / header).is_file():
            continue  # a helper beside the tests that use it
        line = text.count("\n", 0, match.start()) + 1
        found = layers.problem(path, header, match.group(1) is not None)
        if found is None and match.group(1) and not (root / header).is_file():
            found = f'"{header}" is not there'
        if found:
            yield f"{path}:{line}: {found}"


def form_problems(path, text):
    lines = text.splitlines()
    if len(lines) > LONGEST_FILE:
        yield f"{path}: {len(lines)} lines; {LONGEST_FILE} is the most, cut it where it is two things"
    licence = [line for line in lines[:2] if "SPDX-License-Identifier: Apache-2.0" in line]
    if not licence or (path.suffix in SOURCES and licence[0] != lines[0]):
        yield f"{path}: the SPDX line is not first"
    if path.suffix == ".hpp" and text.count("#pragma once") != 1:
        yield f"{path}: a header needs #pragma once"


def word_problems(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE_PATHS.search(line):
            yield f"{path}:{number}: a path of one machine: {line.strip()[:100]}"


def link_problems(root, path, text):
    for match in re.finditer(r"\]\(([^)#:]+)\)", text):
        if not (root / path.parent / match.group(1)).exists():
            yield f"{path}: a link to {match.group(1)}, which is not there"


def rules(root):
    layers = Layers((root / "docs/architecture.md").read_text(encoding="utf-8"))
    problems, seen = [], 0
    for path in files(root):
        text = text_of(root / path)
        if text is None:
            continue
        problems += word_problems(path, text)
        if path.suffix == ".md":
            problems += link_problems(root, path, text)
        if path.suffix in CODE or path.parent.name == "scripts" and text.startswith("#!"):
            problems += form_problems(path, text)
        if path.suffix in SOURCES:
            seen += 1
            problems += include_problems(root, path, text, layers)
    if seen == 0:
        problems.append(f"{root}: no source file found: the lint itself is broken")
    return problems, f"{seen} source files"


def headers(root, scratch, compiler):
    """Compiles each header alone, included twice: what a header needs it must include itself."""
    # A whole compilation, not only a look at the syntax: so that ccache answers the second time.
    command = [*compiler, "-std=c++20", "-w", "-O0", "-c", f"-I{root}"]
    # The headers of the training program need LibTorch, which this check does without: their own build compiles them.
    chosen = [p for p in files(root) if p.suffix == ".hpp" and not str(p).startswith(("worker/train", "tests"))]

    def check(path):
        unit = scratch / (str(path).replace("/", "_") + ".cpp")
        unit.write_text(f'#include "{path}"\n#include "{path}"\n', encoding="utf-8")
        done = subprocess.run([*command, str(unit), "-o", f"{unit}.o"], capture_output=True, text=True, check=False)
        return None if done.returncode == 0 else f"{path} does not compile alone:\n{done.stderr[:2000]}"

    scratch.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [p for p in pool.map(check, chosen) if p]
    if not chosen:
        problems.append(f"{root}: no header found: the lint itself is broken")
    return problems, f"{len(chosen)} headers"


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "rules":
        problems, what = rules(pathlib.Path(arguments[1]).resolve())
    elif len(arguments) >= 4 and arguments[0] == "headers":
        problems, what = headers(pathlib.Path(arguments[1]).resolve(), pathlib.Path(arguments[2]), arguments[3:])
    else:
        sys.exit(__doc__)
    for problem in problems:
        print(problem)
    print(f"lint {arguments[0]}: {what}, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
