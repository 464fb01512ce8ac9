"""Every new token processes the whole text again: simple, and a new shape each time."""

import gpt2
import jax
import jax.numpy as jnp


def setup(case):
    weights = jax.device_put(gpt2.build(case))
    prompt = jax.device_put(gpt2.prompt(case))

    @jax.jit
    def append_token(weights, tokens):
        logits = gpt2.logits(jnp, weights, tokens, case["heads"])
        return jnp.append(tokens, jnp.argmax(logits[-1]).astype(tokens.dtype))

    def generate(count):
        tokens = prompt
        for _ in range(count):
            tokens = append_token(weights, tokens)
        return jax.device_get(tokens)[len(prompt) :]

    return gpt2.workload(case, generate)
