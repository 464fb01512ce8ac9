"""A BERT-shaped encoder with a masked-token loss: its weights from a seed, its parts as functions.

Every arm builds its own modules from these weights. `leaves` sets the number of arrays that store
the model, with the same numbers in them: matrices are split into pieces, which are joined where
they are used. So the structure can grow while the computation stays the same.
"""

import numpy as np

LINEARS = ("query", "key", "value", "out", "up", "down")
NORMS = ("norm_attention", "norm_feed_forward")
SMALL = 1e-12


def initial(case):
    """Return the weights as nested dicts of NumPy arrays, matrices as lists of pieces."""
    random = np.random.default_rng(0)
    width, vocabulary = case["width"], case["vocabulary"]
    sizes = {"up": (width, 4 * width), "down": (4 * width, width)}
    pieces = iter(_pieces(case))

    def linear(rows, columns):
        matrix = (0.02 * random.standard_normal((rows, columns))).astype(np.float32)
        return {"pieces": np.array_split(matrix, next(pieces)), "bias": _zeros(columns)}

    def layer():
        linears = {name: linear(*sizes.get(name, (width, width))) for name in LINEARS}
        return {**linears, **{name: _norm(width) for name in NORMS}}

    return {
        "tokens": (0.02 * random.standard_normal((vocabulary, width))).astype(np.float32),
        "positions": (0.02 * random.standard_normal((case["length"], width))).astype(np.float32),
        "norm": _norm(width),
        "layers": [layer() for _ in range(case["layers"])],
        "head": linear(width, vocabulary),
    }


def _pieces(case):
    """Return the number of pieces of each matrix, so that the model has `leaves` arrays in
    total.
    """
    matrices = len(LINEARS) * case["layers"] + 1
    natural = 2 * matrices + 2 * len(NORMS) * case["layers"] + 4
    further = max(0, case["leaves"] - natural)
    if case["leaves"] and case["leaves"] < natural:
        raise ValueError(f"{case['leaves']} leaves are fewer than the model has: {natural}")
    return [1 + further // matrices + (at < further % matrices) for at in range(matrices)]


def _norm(width):
    return {"scale": np.ones(width, np.float32), "bias": _zeros(width)}


def _zeros(size):
    return np.zeros(size, np.float32)


def batch(case):
    """Return tokens and their labels."""
    random = np.random.default_rng(1)
    shape = (case["batch"], case["length"])
    tokens = random.integers(0, case["vocabulary"], shape).astype(np.int32)
    return tokens, random.integers(0, case["vocabulary"], shape).astype(np.int32)


def joined(xp, pieces):
    return pieces[0] if len(pieces) == 1 else xp.concatenate(pieces)


def normalised(xp, x, scale, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / xp.sqrt(variance + SMALL) * scale + bias


def gelu(xp, x):
    return 0.5 * x * (1 + xp.tanh(np.float32(np.sqrt(2 / np.pi)) * (x + 0.044715 * x * x * x)))


def attention(xp, kind, heads, query, key, value):
    """Attention of every position to every position. `kind` is "manual", or "library" for JAX's own
    function.
    """
    shape = (*query.shape[:-1], heads, query.shape[-1] // heads)
    query, key, value = (part.reshape(shape) for part in (query, key, value))
    if kind == "library":
        import jax

        mixed = jax.nn.dot_product_attention(query, key, value)
    else:
        scores = xp.einsum("bqhd,bkhd->bhqk", query, key) / np.float32(np.sqrt(shape[-1]))
        scores = xp.exp(scores - scores.max(axis=-1, keepdims=True))
        shares = scores / scores.sum(axis=-1, keepdims=True)
        mixed = xp.einsum("bhqk,bkhd->bqhd", shares, value)
    return mixed.reshape(*mixed.shape[:-2], -1)


def cross_entropy(xp, logits, labels):
    logits = logits - logits.max(axis=-1, keepdims=True)
    found = xp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return (xp.log(xp.exp(logits).sum(axis=-1)) - found).mean()


def keep(x, rate, key):
    """Hand-written dropout."""
    import jax
    import jax.numpy as jnp

    return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)


def logits(xp, case, weights, tokens, key=None):
    """The model as a function of nested dicts; dropout with a key."""
    rate, heads = case["dropout"], case["heads"]

    def linear(layer, x):
        return x @ joined(xp, layer["pieces"]) + layer["bias"]

    def dropped(x, number):
        if key is None or not rate:
            return x
        import jax

        return keep(x, rate, jax.random.fold_in(key, number))

    x = weights["tokens"][tokens] + weights["positions"]
    x = dropped(normalised(xp, x, **weights["norm"]), 0)
    for number, layer in enumerate(weights["layers"]):
        parts = (linear(layer[name], x) for name in ("query", "key", "value"))
        mixed = linear(layer["out"], attention(xp, case["attention"], heads, *parts))
        x = normalised(xp, x + dropped(mixed, 2 * number + 1), **layer["norm_attention"])
        hidden = linear(layer["down"], gelu(xp, linear(layer["up"], x)))
        x = normalised(xp, x + dropped(hidden, 2 * number + 2), **layer["norm_feed_forward"])
    return linear(weights["head"], x)


def reference_loss(case):
    """Return the first loss, without dropout, in NumPy."""
    tokens, labels = batch(case)
    plain = {**case.parameters, "attention": "manual", "dropout": 0.0}
    return float(cross_entropy(np, logits(np, plain, initial(case), tokens), labels))
