"""Every new token reads the whole text again, padded to a multiple of `bucket`: a new shape only
when the text outgrows its bucket."""

import gpt2
import jax
import jax.numpy as jnp


def setup(case):
    weights = jax.device_put(gpt2.build(case))
    prompt = gpt2.prompt(case)

    @jax.jit
    def add_token(weights, tokens, length):
        # No earlier position sees anything after `length`.
        logits = gpt2.logits(jnp, weights, tokens, case["heads"])
        return tokens.at[length].set(jnp.argmax(logits[length - 1]).astype(tokens.dtype))

    def generate(count):
        length, padded = len(prompt), jax.device_put(pad(prompt, len(prompt) + 1, case["bucket"]))
        for _ in range(count):
            if length == len(padded):
                padded = jax.device_put(pad(jax.device_get(padded), length + 1, case["bucket"]))
            padded = add_token(weights, padded, length)
            length += 1
        return jax.device_get(padded)[len(prompt) : length]

    return gpt2.workload(case, generate)


def pad(tokens, least, bucket):
    """Pad with zeros to the next multiple of `bucket` that holds at least `least` tokens."""
    import numpy as np

    size = -(-least // bucket) * bucket
    return np.pad(tokens, (0, size - len(tokens)))
