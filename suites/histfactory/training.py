"""The training loop: find the best distribution of a fixed amount of signal over its bins.

The weights are one number per bin, the yields their softmax times the amount; gradient descent on
minus the expected significance. The loop is written in Python by the user, with one compiled step
at a time.
"""

import problem


def in_jax(case, loss, yields):
    """Return all losses of one run."""
    step = _step(loss, yields)
    return lambda: _run(step, yields, case["rate"], case["steps"])


def sweep_in_jax(case, loss, yields):
    """Return the last loss of a run for each rate, with one compiled step for all of them."""
    import jax
    import jax.numpy as jnp

    rates = jnp.array(problem.numbers(case["rates"]))
    step = jax.jit(jax.vmap(_step(loss, yields)))

    def call():
        weights = jnp.zeros((len(rates), *yields.shape))
        for _ in range(case["steps"]):
            weights, value = step(weights, rates)
        return value

    return call


def _step(loss, yields):
    import jax

    amount = yields.sum()

    @jax.jit
    def step(weights, rate):
        value, slope = jax.value_and_grad(lambda w: loss(amount * jax.nn.softmax(w)))(weights)
        return weights - rate * slope, value

    return step


def _run(step, yields, rate, steps):
    weights, values = 0.0 * yields, []
    for _ in range(steps):
        weights, value = step(weights, rate)
        values.append(value)
    return values
