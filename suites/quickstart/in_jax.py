"""One training step with Adam, compiled by JAX in the usual way: a single `jax.jit`."""

import jax
import jax.numpy as jnp
import model

import firstlight

RATE, DECAY, DECAY_SQUARED, SMALL = 1e-3, 0.9, 0.999, 1e-8


def setup(case):
    weights, inputs, labels = model.make(case)

    def loss(weights):
        return model.loss(jnp, case.name, weights, inputs, labels)

    @jax.jit
    def step(weights, mean, square, count):
        value, gradient = jax.value_and_grad(loss)(weights)
        count = count + 1
        mean = jax.tree.map(lambda m, g: DECAY * m + (1 - DECAY) * g, mean, gradient)
        square = jax.tree.map(
            lambda s, g: DECAY_SQUARED * s + (1 - DECAY_SQUARED) * g * g, square, gradient
        )
        weights = jax.tree.map(
            lambda w, m, s: (
                w
                - RATE
                * (m / (1 - DECAY**count))
                / (jnp.sqrt(s / (1 - DECAY_SQUARED**count)) + SMALL)
            ),
            weights,
            mean,
            square,
        )
        return weights, mean, square, count, value

    mean, square = (jax.tree.map(moment, weights) for moment in (model.mean, model.square))
    return firstlight.Workload(
        step,
        (weights, mean, square, model.STEPS_DONE),
        sync=jax.block_until_ready,
        check=model.check_against(case.name, weights, inputs, labels),
    )
