"""One cold training step of the quickstart's MLP in JAX, as a script without firstlight."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "suites" / "quickstart"))

import jax
import jax.numpy as jnp
import model


class Case(dict[str, int]):
    name = "mlp"


weights, inputs, labels = model.make(Case(width=256, batch=128))


@jax.jit
def step(weights):
    def loss(weights):
        return model.loss(jnp, "mlp", weights, inputs, labels)

    value, gradient = jax.value_and_grad(loss)(weights)
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradient), value


jax.block_until_ready(step(weights))
