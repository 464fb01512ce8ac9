"""Values and gradients of every loss from one front, as JSON: `python answers.py torch|jax`.

Numbers are written to their last bit. `test_fronts.py` compares the answers of both fronts, which
may come from two environments.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import histfactory

Array = np.ndarray[Any, Any]
# A loss of named yields, at some values: its value and its slopes.
Evaluate = Callable[[str, histfactory.Model, Sequence[str], Sequence[Array], str], list[Array]]

SMALL = [
    "signal",
    "background",
    "SR/background/background_shape:hi",
    "SR/background/background_shape:lo",
    "SR/background/staterror_SR",
]
LOSSES = ("significance", "smoothed", "q0", "sigma_mu", "upper_limit")
DATA = ("asimov", "observed", "profiled-asimov")
EDGES = [-1.0, -0.3, 0.1, 1.5]


def in_torch(
    kind: str, model: histfactory.Model, names: Sequence[str], values: Sequence[Array], data: str
) -> list[Array]:
    import torch

    import histfactory.torch as losses

    tensors = [torch.tensor(value, requires_grad=True) for value in values]
    loss = _loss(losses, kind, model, names, data)(*tensors)
    slopes = torch.autograd.grad(loss.sum(), tensors)
    return [loss.detach().numpy(), *(slope.numpy() for slope in slopes)]


def in_jax(
    kind: str, model: histfactory.Model, names: Sequence[str], values: Sequence[Array], data: str
) -> list[Array]:
    import jax
    import jax.numpy as jnp

    import histfactory.jax as losses

    function = jax.value_and_grad(
        _loss(losses, kind, model, names, data), argnums=tuple(range(len(names)))
    )
    if values[0].ndim > 1:
        function = jax.vmap(function)
    value, slopes = jax.jit(function)(*(jnp.asarray(value) for value in values))
    return [np.asarray(value), *(np.asarray(slope) for slope in slopes)]


def _loss(losses: Any, kind: str, model: histfactory.Model, names: Any, data: str) -> Any:
    """The same call for both fronts, which have the same functions."""
    if kind in ("significance", "smoothed"):
        smooth = 1e-3 if kind == "smoothed" else 0.0
        return losses.SignificanceLoss(model, yields=names, data=data, smooth=smooth)
    if kind == "nll":
        return lambda theta: losses.nll_loss(model, theta)
    function = getattr(losses, f"{kind}_loss")
    return lambda *yields: function(model, dict(zip(names, yields, strict=True)), data=data)


def answers(evaluate: Evaluate) -> dict[str, list[list[str]]]:
    found = {}

    def ask(what: str, *arguments: Any) -> None:
        parts = evaluate(*arguments)
        found[what] = [[number.hex() for number in np.ravel(part).tolist()] for part in parts]

    small = histfactory.Model.synthetic("small")
    yields = _current(small, SMALL)
    for kind in LOSSES:
        for data in DATA:
            ask(f"{kind}, {data}, 8 parameters", kind, small, SMALL, yields, data)
    rows = [np.outer(1 + 0.01 * np.arange(64), part) for part in yields[:2]]
    ask("significance, 64 rows", "significance", small, SMALL[:2], rows, "asimov")
    large = histfactory.Model.synthetic("combination")
    for data in ("asimov", "profiled-asimov"):
        current = _current(large, large.samples)
        ask(
            f"significance, {data}, 184 parameters",
            "significance",
            large,
            large.samples,
            current,
            data,
        )
    for model in (small, large):
        theta = [model.init + 0.03]
        ask(f"nll, {len(model.init)} parameters", "nll", model, ["theta"], theta, "observed")
    return found


def _current(model: histfactory.Model, names: Sequence[str]) -> list[Array]:
    objective = histfactory.Objective(model, "nll", list(names))
    return list(np.split(objective.current, np.cumsum(objective.lengths)[:-1]))


def histograms(front: str) -> dict[str, list[float]]:
    """Contents and uncertainties of soft and plain histograms, with and without weights."""
    random = np.random.default_rng(3)
    values, weights = random.normal(size=500), random.uniform(0.5, 2.0, 500)
    if front == "torch":
        import torch

        from histfactory.torch import SoftHistogram

        given: Any = (torch.tensor(values), torch.tensor(weights))
    else:
        from histfactory.jax import SoftHistogram

        given = (values, weights)
    found = {}
    for flow in ("drop", "merge", "keep"):
        histogram = SoftHistogram(EDGES, 0.2, flow=flow)
        contents, errors = histogram.with_errors(*given)
        parts = {"contents": contents, "errors": errors}
        parts |= {"unweighted": histogram(given[0]), "plain": histogram.hard(*given)}
        for name, part in parts.items():
            found[f"{name}, {flow}"] = np.asarray(part).tolist()
    return found


def main(front: str) -> None:
    if front == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
    evaluate = {"torch": in_torch, "jax": in_jax}[front]
    result = {"losses": answers(evaluate), "histograms": histograms(front)}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
