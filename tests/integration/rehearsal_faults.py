# SPDX-License-Identifier: Apache-2.0
"""The sweep of 200 trials with every fault that needs one rank: the rules, and the outcome that each must have."""

# fault -> (outcomes that are right, column -> value)
EXPECTED = {
    "none": (("completed",), {}),
    "hang": (("timed_out",), {"reason": "stall"}),
    "stop": (("timed_out",), {"reason": "stall"}),
    "segfault": (("crashed",), {"signal": 11}),
    "kill": (("crashed",), {"signal": 9}),
    "exit:3": (("crashed",), {"exit_code": 3}),
    "half_line": (("crashed",), {}),
    "garbage": (("failed",), {"reason": "protocol"}),
    "nan_loss": (("diverged",), {}),
    "oom": (("out_of_memory",), {"guilty_rank": 0}),
    "host_oom": (("host_out_of_memory", "crashed"), {}),
    "bus_error": (("crashed",), {"signal": 7}),
    "grandchild": (("completed",), {}),
}


def model_of(fault):
    return "play-" + fault.replace(":", "-").replace("_", "-")


def sweep(name, trials=200, slow_s=0.0, stall="1 s"):
    """A rehearsal with `trials` trials spread over all faults; the device "small" runs out of memory above batch 8."""
    faults = list(EXPECTED)
    per_fault = -(-trials // (2 * len(faults)))
    healthy = trials - 2 * per_fault * (len(faults) - 1)
    rules = "".join(f"""
[[rehearsal.rule]]
when = {{ model = "{model_of(fault)}" }}
memory = {{ fixed = "100 MiB", per_sample = "{'50 MiB' if fault == 'none' else '1 MiB'}" }}
step = {{ fixed = "{1 + 1000 * slow_s:g} ms", per_sample = "0 ms" }}
fault = "{fault}"
""" for fault in faults)
    models = ", ".join(f'"{model_of(fault)}"' for fault in faults if fault != "none")
    return f"""
[sweep]
name = "{name}"
[[grid]]
gpu = ["small", "large"]
model = [{models}]
batch_size = {{ from = 1, to = {per_fault}, step = 1 }}
[[grid]]
gpu = ["small", "large"]
model = ["{model_of('none')}"]
batch_size = {{ from = 1, to = {healthy // 2}, step = 1 }}
[trial]
warmup_steps = 1
timed_steps = 4
stall_limit = "{stall}"
retries = 1
[[device]]
name = "small"
kind = "cpu"
memory = "512 MiB"
threads = 1
[[device]]
name = "large"
kind = "cpu"
memory = "64 GiB"
threads = 1
[rehearsal]
mode = "process"
{rules}
"""


def wrong_rows(rows):
    """Rows whose outcome is not what their fault must lead to, as readable lines."""
    faults = {model_of(fault): fault for fault in EXPECTED}
    wrong = []
    for row in rows:
        fault = faults[row["model"]]
        outcomes, columns = EXPECTED[fault]
        if fault == "none" and row["gpu_requested"] == "small" and 100 + 50 * row["batch_size"] > 512:
            outcomes, columns = ("out_of_memory",), {"oom_limit_bytes": 512 * 2**20}
        if row["outcome"] not in outcomes or any(row[c] != v for c, v in columns.items()):
            told = {c: row[c] for c in ("outcome", "reason", "message", "signal", "exit_code", "phase", *columns)}
            wrong.append(f"{fault} batch {row['batch_size']} on {row['gpu_requested']}: {told}")
    return wrong
