"""Time the stages of one training step by JAX's own ahead-of-time API, while firstlight watches.

Usage: aot.py MODEL FILE. Appends a line of JSON to FILE: trace, lower and compile in nanoseconds.
"""

import json
import sys
import time

import jax
import models

import firstlight


def main(model: str, path: str) -> None:
    workload = models.workload(model)
    jax.devices()
    stages = {}
    start = time.monotonic_ns()
    traced = workload.step.trace(*workload.args)
    stages["trace"], start = time.monotonic_ns() - start, time.monotonic_ns()
    lowered = traced.lower()
    stages["lower"], start = time.monotonic_ns() - start, time.monotonic_ns()
    compiled = lowered.compile()
    stages["compile"] = time.monotonic_ns() - start
    jax.block_until_ready(compiled(*workload.args))
    firstlight.mark("first-result")
    with open(path, "a") as file:
        file.write(json.dumps(stages) + "\n")


main(*sys.argv[1:])
