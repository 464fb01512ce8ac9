"""The common part of all arms: a loop that keeps its state, the checks, and the baseline.

The baseline is the arm's own compiled program, called with arrays directly: the additional time of
a call is spent on the host, before and after the compiled region.
"""

import bert
import jax
import numpy as np

import firstlight


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
            bare.append(bare_call(case, compiled()))
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
        # Masks differ between frameworks; without dropout the numbers must agree.
        output=lambda _: None if case["dropout"] else [float(value) for value in first[0]],
        warmup=warmup,
        baseline=baseline,
    )


def bare_call(case, compiled):
    """Call a compiled program like `jax.jit` does, in C++, with a flat list of arrays."""
    random = np.random.default_rng(2)

    def array(of):
        if jax.dtypes.issubdtype(of.dtype, jax.dtypes.prng_key):
            return jax.random.split(jax.random.key(0), of.shape)
        if of.dtype == np.float32:
            # Similar to weights, and positive, because some of them are squares.
            value = np.abs(0.02 * random.standard_normal(of.shape))
        elif of.shape == (case["batch"], case["length"]):
            # Tokens: looking up and summing identical ones would have another speed.
            value = random.integers(0, case["vocabulary"], of.shape)
        else:
            value = np.zeros(of.shape)
        return jax.device_put(value.astype(of.dtype))

    infos = tuple(jax.tree.leaves(compiled.args_info))
    results = jax.tree.structure([0] * compiled.out_tree.num_leaves)
    # The same executable, called without flattening and rebuilding a model.
    flat = jax.stages.Compiled(compiled._executable, [], (infos, {}), results, no_kwargs=True)
    arguments = [array(info) for info in infos]
    kept = []

    def call():
        # As in a step: the result of the previous call is freed while this one runs.
        kept[:] = flat(*arguments)
        kept[-1].block_until_ready()

    return call
