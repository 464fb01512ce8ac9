"""What all arms have in common: a loop that keeps its state, what is checked, and the baseline.

The baseline is the arm's own compiled program, given arrays directly: what a call takes beyond it
is spent on the host, before and after the compiled region.
"""

import re

import bert
import jax
import numpy as np

import firstlight

TYPES = {"f32": np.float32, "s32": np.int32, "u32": np.uint32, "pred": np.bool_, "s8": np.int8}


def workload(case, step, compiled):
    """`step()` makes one step and returns loss and gradient norm; `compiled()` is its program."""
    first = []

    def call():
        result = step()
        if not first:
            first.append(result)
        return result

    def check(_):
        found, expected = float(first[0][0]), bert.reference_loss(case)
        allowed = 0.05 if case["dropout"] else 1e-4
        if not abs(found - expected) <= allowed * abs(expected):
            raise AssertionError(f"loss {found:.6f}, the reference has {expected:.6f}")

    bare = []

    def baseline():
        if not bare:
            bare.append(bare_call(compiled()))
        bare[0]()

    def warmup():
        result = None
        for _ in range(3):
            result = call()
            baseline()
        if case["traced"]:
            # The planted mistake: the profiler and its Python tracer are on while steps are timed.
            import tempfile

            jax.profiler.start_trace(tempfile.mkdtemp())
        return result

    return firstlight.Workload(
        call,
        sync=lambda result: result[0].block_until_ready(),
        check=check,
        # Masks differ from framework to framework; without dropout the numbers must agree.
        output=lambda _: None if case["dropout"] else [float(value) for value in first[0]],
        warmup=warmup,
        baseline=baseline,
    )


def bare_call(compiled):
    """Calls a compiled program with arrays of the right shapes, past everything in Python."""
    layout = re.search(r"entry_computation_layout=\{\((.*?)\)->", compiled.as_text()).group(1)
    layout = re.sub(r"/\*.*?\*/", "", layout)
    random = np.random.default_rng(2)
    arguments = []
    for kind, shape in re.findall(r"(\w+)\[([\d,]*)\]", layout):
        size = tuple(int(length) for length in shape.split(",") if length)
        if kind == "f32":
            # Like weights, and positive, because some of them stand for squares.
            value = np.abs(0.02 * random.standard_normal(size)).astype(np.float32)
        else:
            value = np.zeros(size, TYPES[kind])
        arguments.append(jax.device_put(value))
    executable = compiled.runtime_executable()

    def call():
        results = executable.execute_sharded(arguments)
        # All are there when one is. To make Python arrays of the others, one by one, takes longer
        # than `jax.jit` takes for all its work, and is no part of the program.
        results.disassemble_prefix_into_single_device_arrays(1)[0][0].block_until_ready()

    return call
