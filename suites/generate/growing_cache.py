"""Keys and values are kept and one token's are appended each time: less to compute, and still a new
shape for every token."""

import gpt2
import jax
import jax.numpy as jnp
import numpy as np


def setup(case):
    weights = jax.device_put(gpt2.build(case))
    prompt = jax.device_put(gpt2.prompt(case))
    count_of_heads = case["heads"]

    def forward(weights, tokens, cache):
        """Return the next token, and all keys and values so far; `cache` has those before
        `tokens`.
        """
        before = cache[0][0].shape[1] if cache else 0
        length = tokens.shape[0]
        x = weights["wte"][tokens] + weights["wpe"][before : before + length]
        visible = np.tril(np.ones((length, before + length), bool), before)
        grown = []
        for layer, kept in zip(weights["blocks"], cache or [None] * len(weights["blocks"])):

            def attention(query, key, value, kept=kept):
                key, value = gpt2.heads(key, count_of_heads), gpt2.heads(value, count_of_heads)
                if kept is not None:
                    key = jnp.concatenate([kept[0], key], axis=1)
                    value = jnp.concatenate([kept[1], value], axis=1)
                grown.append((key, value))
                return gpt2.attend(jnp, gpt2.heads(query, count_of_heads), key, value, visible)

            x = gpt2.block(jnp, layer, x, attention)
        last = gpt2.normalised(jnp, weights["ln_f"], x[-1:]) @ weights["wte"].T
        return jnp.argmax(last, axis=-1).astype(tokens.dtype), grown

    @jax.jit
    def prefill(weights, tokens):
        return forward(weights, tokens, [])

    @jax.jit
    def next_token(weights, token, cache):
        return forward(weights, token, cache)

    def generate(count):
        token, cache = prefill(weights, prompt)
        tokens = [token]
        for _ in range(count - 1):
            token, cache = next_token(weights, token, cache)
            tokens.append(token)
        return np.concatenate(jax.device_get(tokens))

    return gpt2.workload(case, generate)
