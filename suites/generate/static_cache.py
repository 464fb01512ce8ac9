"""Keys and values are stored in arrays of their final size, so that one program serves every token.

With `weights-in = "int8"` the matrices are stored in eight bits, with a scale for each column.
"""

import gpt2
import jax
import jax.numpy as jnp
import numpy as np


def setup(case):
    weights = gpt2.build(case)
    if case["weights-in"] == "int8":
        weights["blocks"] = [
            {name: quantised(layer) for name, layer in block.items()} for block in weights["blocks"]
        ]
    weights = jax.device_put(weights)
    prompt = jax.device_put(gpt2.prompt(case))
    count_of_heads, length = case["heads"], case["prompt"] + case["tokens"]
    layers, width = len(weights["blocks"]), weights["wte"].shape[1]
    shape = (layers, 2, count_of_heads, length, width // count_of_heads)

    def forward(weights, tokens, cache, start):
        """Return the next token after `tokens`, the first of which is at position `start`."""
        places = start + jnp.arange(tokens.shape[0])
        x = weights["wte"][tokens] + weights["wpe"][places]
        visible = jnp.arange(length)[None, :] <= places[:, None]
        for number, layer in enumerate(weights["blocks"]):

            def attention(query, key, value, number=number):
                nonlocal cache
                new = jnp.stack([gpt2.heads(part, count_of_heads) for part in (key, value)])
                cache = jax.lax.dynamic_update_slice(cache, new[None], (number, 0, 0, start, 0))
                query = gpt2.heads(query, count_of_heads)
                return gpt2.attend(jnp, query, cache[number, 0], cache[number, 1], visible)

            x = gpt2.block(jnp, layer, x, attention)
        last = gpt2.normalised(jnp, weights["ln_f"], x[-1:]) @ weights["wte"].T
        return jnp.argmax(last, axis=-1).astype(tokens.dtype), cache

    @jax.jit
    def prefill(weights, tokens):
        return forward(weights, tokens, jnp.zeros(shape, jnp.float32), 0)

    @jax.jit
    def next_token(weights, token, cache, place):
        return forward(weights, token, cache, place)

    def generate(count):
        token, cache = prefill(weights, prompt)
        tokens = [token]
        for place in range(len(prompt), len(prompt) + count - 1):
            token, cache = next_token(weights, token, cache, np.int32(place))
            tokens.append(token)
        return np.concatenate(jax.device_get(tokens))

    return gpt2.workload(case, generate)


def quantised(layer):
    """Return the layer with its matrix in eight bits and a scale for each column; other layers are
    unchanged.
    """
    if "w" not in layer:
        return layer
    scale = np.abs(layer["w"]).max(axis=0) / 127
    scale = np.where(scale == 0, 1, scale).astype(np.float32)
    return {"whole": np.rint(layer["w"] / scale).astype(np.int8), "scale": scale, "b": layer["b"]}
