"""The cases of an analysis step, their data generated from a seed, and the checks of results.

An arm is an object with the methods `stepper`, `train`, `fit` and, if supported, `ablate`; each of
them returns the final losses of the case. Their arguments are NumPy arrays.
"""

import numpy as np

import firstlight

FEATURES = 16
VOCABULARY = 32
HEADS = 2
VARIANTS = ("full", "no-attention", "no-feed-forward", "no-norm", "no-positions")


def workload(case, arm):
    """Return the case's workload with this arm."""
    make = {"step": _step, "train": _train, "sweep": _sweep, "fits": _fits, "ablation": _ablation}
    return make[case["job"]](case, arm)


def table(rows, seed=0):
    """Return tabular data: features, and a value that depends on some of them."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((rows, FEATURES)).astype(np.float32)
    y = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * random.standard_normal(rows)
    return x, y.astype(np.float32)


def perceptron(width, seed=0):
    """Weights and biases of two hidden layers."""
    random = np.random.default_rng(seed)
    sizes = (FEATURES, width, width, 1)
    return [
        ((random.standard_normal(pair) / np.sqrt(pair[0])).astype(np.float32), _zeros(pair[1]))
        for pair in zip(sizes, sizes[1:])
    ]


def scaled(rate, width):
    """Return a learning rate for this width: the rate for 32 units is too large for 512."""
    return rate * 32 / width


def datasets(case):
    """Return small fits of different sizes: features and a class for each row."""
    random = np.random.default_rng(2)
    for rows in numbers(case["rows"]):
        x = random.standard_normal((rows, FEATURES)).astype(np.float32)
        y = x @ random.standard_normal(FEATURES) + 0.5 * random.standard_normal(rows) > 0
        yield x, y.astype(np.float32)


def transformer(case):
    """Return weights of one layer, and a batch of sequences to predict."""
    random = np.random.default_rng(3)
    width, length = case["embedding"], case["length"]

    def matrix(rows, columns):
        return (random.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)

    weights = {
        "embedding": matrix(VOCABULARY, width),
        "positions": matrix(length, width),
        "qkv": matrix(width, 3 * width),
        "out": matrix(width, width),
        "up": matrix(width, 4 * width),
        "down": matrix(4 * width, width),
    }
    starts = random.integers(0, VOCABULARY, (case["batch"], 1))
    tokens = (starts + 3 * np.arange(length + 1)) % VOCABULARY
    return weights, tokens.astype(np.int32)


def numbers(text):
    """Parse a list from a parameter of a case: `"16 32"`."""
    return [float(word) if "." in word or "e" in word else int(word) for word in text.split()]


def _zeros(size):
    return np.zeros(size, np.float32)


def _step(case, arm):
    x, y = table(case["examples"])
    width = case["width"]
    step = arm.stepper(perceptron(width), x, y, scaled(case["rate"], width))
    first = []

    def call():
        loss = step()
        if not first:
            first.append(loss)
        return loss

    # Each step continues from the previous one, so the first one's loss is compared.
    return firstlight.Workload(
        call, sync=arm.wait, check=lambda _: finite(first[:1]), output=lambda _: float(first[0])
    )


def _train(case, arm):
    x, y = table(case["examples"])
    width = case["width"]
    configurations = [(perceptron(width), scaled(case["rate"], width))]
    return _whole(arm, lambda: arm.train(configurations, x, y, case["steps"]))


def _sweep(case, arm):
    x, y = table(case["examples"])
    configurations = [
        (perceptron(width), scaled(rate, width))
        for width in numbers(case["widths"])
        for rate in numbers(case["rates"])
    ]
    return _whole(arm, lambda: arm.train(configurations, x, y, case["steps"]))


def _fits(case, arm):
    data = list(datasets(case))
    return _whole(arm, lambda: arm.fit(data, case["rate"], case["steps"]))


def _ablation(case, arm):
    weights, tokens = transformer(case)
    return _whole(arm, lambda: arm.ablate(VARIANTS, weights, tokens, case["rate"], case["steps"]))


def _whole(arm, job):
    """A case that runs from beginning to end in every call."""
    return firstlight.Workload(
        job,
        sync=arm.wait,
        check=finite,
        output=lambda losses: np.array([float(loss) for loss in losses], np.float32),
    )


def finite(losses):
    values = np.array([float(loss) for loss in losses])
    if not np.isfinite(values).all() or (values < 0).any():
        raise AssertionError(f"losses {values}")
