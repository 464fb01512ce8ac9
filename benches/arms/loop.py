"""A compiled loop with a given number of rounds: 5 % more rounds are 5 % more work."""

import jax
import jax.numpy as jnp

import firstlight


def setup(case):
    rounds = case["rounds"]

    @jax.jit
    def step(x):
        return jax.lax.fori_loop(0, rounds, lambda _, y: y * 0.999 + 0.001, x)

    return firstlight.Workload(step, (jnp.float32(0.5),), sync=jax.block_until_ready)
