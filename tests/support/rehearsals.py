# SPDX-License-Identifier: Apache-2.0
"""Sweep files of rehearsals, for tests that need rows rather than a particular file."""


def toml(value):
    """A TOML value: text, number, list or inline table."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def table(header, keys):
    return "".join([f"{header}\n", *(f"{key} = {toml(value)}\n" for key, value in keys.items())])


def rehearsal(name, grid, rules, memory, trial=None, mode="simulated", nodes=()):
    """`memory`: of each cpu device that is declared, by its name; `rules` and `nodes`: tables of [rehearsal]."""
    devices = [{"name": device, "kind": "cpu", "memory": size} for device, size in memory.items()]
    return "\n".join([
        table("[sweep]", {"name": name}), table("[grid]", grid), table("[trial]", trial or {}),
        *(table("[[device]]", device) for device in devices), table("[rehearsal]", {"mode": mode}),
        *(table("[[rehearsal.node]]", node) for node in nodes), *(table("[[rehearsal.rule]]", rule) for rule in rules)])
