"""GPT-2: its weights from a seed or from a file, and its layers as functions of a tree of arrays.

The tree has the published shapes. Matrices from the seed lie on a grid of integers times a scale
per column, so storing them in eight bits loses nothing and all arms must generate the same tokens.
Real weights are rounded by the arm that stores them in eight bits; then its tokens may differ.
"""

import convert
import numpy as np


def build(case):
    """Return the weights as NumPy arrays: from the file that `weights` names, otherwise from the
    seed.
    """
    if case["weights"]:
        return convert.load(case["weights"])
    random = np.random.default_rng(case["seed"])
    width = case["width"]
    return {
        "wte": _normal(random, case["vocabulary"], width, 0.02),
        "wpe": _normal(random, case["positions"], width, 0.01),
        "blocks": [_block(random, width, case["layers"]) for _ in range(case["layers"])],
        "ln_f": _norm(width),
    }


def _block(random, width, layers):
    # As published: the initial values of residual outputs decrease with the depth of the model.
    residual = 0.02 / np.sqrt(2 * layers)
    return {
        "ln_1": _norm(width),
        "qkv": _linear(random, width, 3 * width, 0.02),
        "out": _linear(random, width, width, residual),
        "ln_2": _norm(width),
        "up": _linear(random, width, 4 * width, 0.02),
        "down": _linear(random, 4 * width, width, residual),
    }


def _norm(width):
    return {"scale": np.ones(width, np.float32), "bias": np.zeros(width, np.float32)}


def _normal(random, rows, columns, deviation):
    values = random.standard_normal((rows, columns), np.float32)
    return values * np.float32(deviation)


def _linear(random, rows, columns, deviation):
    whole = np.clip(np.rint(32 * random.standard_normal((rows, columns), np.float32)), -127, 127)
    whole[0] = 127
    scale = (deviation / 32 * random.uniform(0.8, 1.2, columns)).astype(np.float32)
    return {"w": whole * scale, "b": np.zeros(columns, np.float32)}


def parameters(tree):
    """Return the number of parameters of the model."""
    if isinstance(tree, dict):
        return sum(parameters(value) for value in tree.values())
    if isinstance(tree, list):
        return sum(parameters(value) for value in tree)
    return tree.size


def prompt(case):
    random = np.random.default_rng(case["seed"] + 1)
    return random.integers(0, case["vocabulary"], case["prompt"]).astype(np.int32)


def normalised(xp, layer, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * layer["scale"] + layer["bias"]


def linear(layer, x):
    if "whole" in layer:  # eight-bit weights, widened as they are used
        return (x @ layer["whole"].astype(x.dtype)) * layer["scale"] + layer["b"]
    return x @ layer["w"] + layer["b"]


def gelu(xp, x):
    return 0.5 * x * (1 + xp.tanh(np.float32(np.sqrt(2 / np.pi)) * (x + 0.044715 * x * x * x)))


def heads(x, count):
    """From (length, width) to (heads, length, width of a head)."""
    length, width = x.shape
    return x.reshape(length, count, width // count).transpose(1, 0, 2)


def attend(xp, query, key, value, visible):
    """Attention of (heads, queries, d) over (heads, keys, d); `visible` is (queries, keys)."""
    scores = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(query.shape[-1]))
    scores = xp.where(visible, scores, np.float32(-1e9))
    scores = xp.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
    return mixed.transpose(1, 0, 2).reshape(query.shape[1], -1)


def block(xp, layer, x, attention):
    """One layer; `attention` mixes queries, keys and values."""
    query, key, value = xp.split(linear(layer["qkv"], normalised(xp, layer["ln_1"], x)), 3, axis=-1)
    x = x + linear(layer["out"], attention(query, key, value))
    hidden = gelu(xp, linear(layer["up"], normalised(xp, layer["ln_2"], x)))
    return x + linear(layer["down"], hidden)


def logits(xp, weights, tokens, count):
    """Return the logits of every position, (length, vocabulary), without any cache; `count`
    heads.
    """
    length = tokens.shape[0]
    x = weights["wte"][tokens] + weights["wpe"][:length]
    visible = np.tril(np.ones((length, length), bool))

    def attention(query, key, value):
        return attend(xp, heads(query, count), heads(key, count), heads(value, count), visible)

    for layer in weights["blocks"]:
        x = block(xp, layer, x, attention)
    return normalised(xp, weights["ln_f"], x) @ weights["wte"].T


def check_against(case):
    """Return a check that rejects tokens which the reference, the same model in NumPy, would not
    choose.

    The model is built again for it, after the clock has stopped, so that no arm holds a second
    copy.
    """

    def check(tokens):
        tokens = np.asarray(tokens)
        if tokens.shape != (case["tokens"],):
            raise AssertionError(f"{tokens.shape[0]} tokens, not {case['tokens']}")
        start = prompt(case)
        sequence = np.concatenate([start, tokens])
        found = logits(np, build(case), sequence[:-1], case["heads"])[len(start) - 1 :]
        short = found.max(axis=-1) - found[np.arange(len(tokens)), tokens]
        if short.max() > 1e-3 * np.abs(found).max():
            worst = int(short.argmax())
            raise AssertionError(
                f"token {worst} is {tokens[worst]}, the reference has {found[worst].argmax()}"
            )

    return check


def workload(case, generate):
    """The common part of all arms; `generate(count)` generates `count` tokens."""
    import firstlight

    tokens = case["tokens"]
    warm = case.parameters.get("warm-up")
    return firstlight.Workload(
        lambda: generate(tokens),
        check=check_against(case),
        # The planted mistake: a warm-up that generates fewer tokens than the test.
        warmup=None if warm is None else lambda: generate(warm),
    )
