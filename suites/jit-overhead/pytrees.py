"""Plain nested dicts and one `jax.jit`: nothing between the caller and JAX."""

import bert
import jax
import jax.numpy as jnp
import optax
import training


def setup(case):
    weights = jax.device_put(bert.initial(case))
    optimizer = optax.adamw(1e-4)
    state = jax.jit(optimizer.init)(weights)
    tokens, labels = jax.device_put(bert.batch(case))
    key = jax.random.PRNGKey(0) if case["dropout"] else None

    def loss(weights, tokens, labels, key):
        return bert.cross_entropy(jnp, bert.logits(jnp, case, weights, tokens, key), labels)

    @jax.jit
    def train(weights, state, tokens, labels, key):
        value, gradient = jax.value_and_grad(loss)(weights, tokens, labels, key)
        updates, state = optimizer.update(gradient, state, weights)
        return optax.apply_updates(weights, updates), state, value, optax.global_norm(gradient)

    kept = [weights, state]

    def step():
        kept[0], kept[1], value, norm = train(*kept, tokens, labels, key)
        return value, norm

    return training.workload(case, step, lambda: train.lower(*kept, tokens, labels, key).compile())
