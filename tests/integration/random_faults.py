# SPDX-License-Identifier: Apache-2.0
"""A rehearsal drawn from a seed - faults of every kind that a rank of a process can have, at random ranks and steps, world sizes 1 to 4 -
and what each of its rows must then be, worked out from the rules alone."""
import math

STEPS, MEMORY_MIB, HOSTS = 5, 512, 3  # steps: the first is warm-up
FAULTS = ("hang", "stop", "segfault", "kill", "exit:3", "half_line", "garbage", "nan_loss", "oom", "host_oom", "bus_error", "grandchild")
OUTCOMES = {"hang": ("timed_out",), "stop": ("timed_out",), "garbage": ("failed",), "nan_loss": ("diverged",), "oom": ("out_of_memory",),
            "host_oom": ("host_out_of_memory", "crashed"), "grandchild": ("completed",)}

HEAD = """
[sweep]
name = "{name}"
seed = {seed}
order = "{order}"
[grid]
gpu = "dev"
model = [{models}]
world_size = {worlds}
batch_size = {batches}
[trial]
warmup_steps = 1
timed_steps = 4
setup_limit = "3 s"
stall_limit = "500 ms"
retries = {retries}
exclusive = "{exclusive}"
[[device]]
name = "dev"
kind = "cpu"
memory = "512 MiB"
threads = 1
count = {count}
[rehearsal]
"""
RULE = """
[[rehearsal.rule]]
when = {{ model = "{model}" }}
memory = {{ fixed = "{fixed} MiB", per_sample = "20 MiB" }}
step = {{ fixed = "{step_ms} ms", noise = 0.1 }}
"""


class RandomSweep:
    def __init__(self, rng, name):
        self.retries, self.count = rng.choice((0, 1, 2)), rng.choice((1, 2))
        self.worlds = sorted(rng.sample((1, 2, 3, 4), rng.choice((2, 3))))
        self.batches = rng.choice(([1, 2], [4, 30]))
        self.rules = {}
        for number in range(rng.choice((2, 3))):
            fault = rng.choice(FAULTS)
            self.rules[f"m{number}"] = {
                "fixed": rng.choice((50, 100)), "step_ms": rng.choice((1, 5, 20)), "fault": fault, "fault_rank": rng.randrange(4),
                "fault_step": rng.randrange(1, STEPS + 2), "fault_attempts": rng.choice((None, None, 1, 2))}
        self.rules["none"] = {"fixed": 50, "step_ms": 2, "fault": None}
        exclusive = rng.choice(("device", "device", "host"))
        order = rng.choice(("auto", "grid", "shuffled"))
        self.text = HEAD.format(name=name, seed=rng.randrange(1, 1000), order=order, models=", ".join(f'"{m}"' for m in self.rules),
                                worlds=self.worlds, batches=self.batches, retries=self.retries, exclusive=exclusive, count=self.count)
        for model, rule in self.rules.items():
            self.text += RULE.format(model=model, **rule)
            if rule["fault"]:
                self.text += "".join(f"{key} = {value!r}\n".replace("'", '"') for key, value in rule.items()
                                     if key.startswith("fault") and value is not None)
        self.trials = len(self.rules) * len(self.worlds) * len(self.batches)

    def expected(self, row):
        """The outcomes that are right for this attempt of this trial, if nothing from outside touched it."""
        rule = self.rules[row["model"]]
        if row["world_size"] > HOSTS * self.count:
            return ("skipped",)
        if rule["fixed"] + 20 * row["batch_size"] > MEMORY_MIB:
            return ("out_of_memory",)
        without = (not rule["fault"] or rule["fault_step"] > STEPS or rule["fault_rank"] >= row["world_size"] or
                   row["attempt"] > (rule["fault_attempts"] or math.inf))
        return ("completed",) if without else OUTCOMES.get(rule["fault"], ("crashed",))

    def wrong(self, rows):
        return [f"{row['model']} {self.rules[row['model']]} x {row['world_size']} batch {row['batch_size']}, attempt {row['attempt']}: "
                f"{row['outcome']} ({row['message']})" for row in rows if row["outcome"] not in self.expected(row)]
