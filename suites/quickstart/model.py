"""The two models, written once for any array library, with data generated from a seed.

Both arms import this. `reference_loss` is the expected loss of the first step: the same forward
pass in NumPy, in double precision.
"""

import numpy as np

VOCABULARY = 256
HEADS = 4

# The measured step continues a training. Adam's very first step divides each gradient by its own
# size. An element whose gradient is below float32's resolution then moves by its rounding error,
# and no two libraries agree.
STEPS_DONE = 100


def make(case):
    """Return weights and one batch of the case's model."""
    random = np.random.default_rng(0)
    if case.name == "mlp":
        return _make_mlp(random, case["width"], case["batch"])
    return _make_transformer(random, case["layers"], case["width"], case["length"], case["batch"])


def loss(xp, name, weights, inputs, labels):
    """Mean cross-entropy of the model's predictions; `xp` is numpy or jax.numpy."""
    logits = _mlp(xp, weights, inputs) if name == "mlp" else _transformer(xp, weights, inputs)
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probabilities = shifted - xp.log(xp.exp(shifted).sum(axis=-1, keepdims=True))
    return -xp.take_along_axis(log_probabilities, labels[..., None], axis=-1).mean()


def reference_loss(name, weights, inputs, labels):
    return float(loss(np, name, _double(weights), _double(inputs), labels))


def mean(weight):
    """Adam's running mean of the gradient after `STEPS_DONE` steps."""
    return np.zeros_like(weight)


def square(weight):
    """Adam's running mean of the squared gradient after `STEPS_DONE` steps."""
    return np.full_like(weight, 1e-5)


def check_against(name, weights, inputs, labels):
    """Return a check that rejects a first step whose loss differs from the reference's."""

    def check(result):
        found, expected = float(result[-1]), reference_loss(name, weights, inputs, labels)
        if abs(found - expected) > 1e-4 * abs(expected):
            raise AssertionError(f"loss {found:.6f}, the reference has {expected:.6f}")

    return check


def _make_mlp(random, width, batch):
    sizes = [784, width, width, 10]
    weights = [
        {"w": _normal(random, rows, columns), "b": np.zeros(columns, np.float32)}
        for rows, columns in zip(sizes, sizes[1:])
    ]
    inputs = random.normal(size=(batch, 784)).astype(np.float32)
    return weights, inputs, random.integers(0, 10, batch)


def _mlp(xp, weights, x):
    for layer in weights[:-1]:
        x = xp.maximum(x @ layer["w"] + layer["b"], 0)
    return x @ weights[-1]["w"] + weights[-1]["b"]


def _make_transformer(random, layers, width, length, batch):
    def block():
        return {
            "query-key-value": _normal(random, width, 3 * width),
            "out": _normal(random, width, width),
            "up": _normal(random, width, 4 * width),
            "down": _normal(random, 4 * width, width),
            "scale": np.ones((2, width), np.float32),
        }

    weights = {
        "embedding": _normal(random, VOCABULARY, width),
        "position": _normal(random, length, width),
        "blocks": [block() for _ in range(layers)],
    }
    tokens = random.integers(0, VOCABULARY, (batch, length + 1))
    return weights, tokens[:, :-1], tokens[:, 1:]


def _transformer(xp, weights, tokens):
    x = weights["embedding"][tokens] + weights["position"]
    for block in weights["blocks"]:
        x = x + _attention(xp, block, _normalised(xp, x, block["scale"][0]))
        hidden = _normalised(xp, x, block["scale"][1]) @ block["up"]
        x = x + xp.maximum(hidden, 0) @ block["down"]
    return x @ weights["embedding"].T


def _attention(xp, block, x):
    batch, length, width = x.shape
    query, key, value = xp.split(x @ block["query-key-value"], 3, axis=-1)

    def heads(y):
        return y.reshape(batch, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)

    scores = heads(query) @ heads(key).transpose(0, 1, 3, 2) / np.sqrt(width // HEADS)
    future = np.triu(np.ones((length, length), bool), 1)
    scores = xp.where(future, -1e9, scores)
    scores = xp.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ heads(value)
    return mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ block["out"]


def _normalised(xp, x, scale):
    return x / xp.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6) * scale


def _normal(random, rows, columns):
    return (random.normal(size=(rows, columns)) / np.sqrt(rows)).astype(np.float32)


def _double(tree):
    if isinstance(tree, dict):
        return {name: _double(value) for name, value in tree.items()}
    if isinstance(tree, list):
        return [_double(value) for value in tree]
    return tree.astype(np.float64) if tree.dtype == np.float32 else tree
