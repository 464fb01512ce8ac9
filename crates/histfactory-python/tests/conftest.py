"""Workspaces for the tests of the Python package."""

from __future__ import annotations

import copy
import json
from math import log
from pathlib import Path
from typing import Any

import pytest

import histfactory

DATA = Path(__file__).parents[2] / "histfactory" / "tests" / "data"


def document(name: str) -> dict[str, Any]:
    return dict(json.loads((DATA / f"{name}.json").read_text()))


@pytest.fixture
def two_bins() -> histfactory.Model:
    return histfactory.Model.from_workspace(DATA / "two_bins.json")


@pytest.fixture
def every_modifier() -> histfactory.Model:
    return histfactory.Model.from_workspace(DATA / "every_modifier.json")


@pytest.fixture
def at_bounds() -> histfactory.Model:
    """The small twin with data and bounds that hold two parameters at their ends in every fit."""
    workspace = copy.deepcopy(histfactory.synthetic_workspace("small"))
    [measurement] = workspace["measurements"]
    measurement["config"]["parameters"] += [
        {"name": "background_shape", "bounds": [[-0.02, 0.02]]},
        {"name": "signal_theory", "bounds": [[-5.0, -0.1]], "inits": [-0.2]},
    ]
    for observation in workspace["observations"]:
        if observation["name"] == "SR":
            observation["data"] = [1.35 * observation["data"][0], 1.02 * observation["data"][1]]
    return histfactory.Model.from_workspace(workspace)


# Two bins: signal, background, and its uncertainty in each bin separately.
COUNTS = ((5.0, 50.0, 5.0), (10.0, 60.0, 6.0))

# q0 on Asimov data when the signal is multiplied, to as many digits as are printed.
SCALED = {0.5: 0.33243, 1.0: 1.28800, 2.0: 4.85350, 3.0: 10.33562}


def counting() -> dict[str, Any]:
    """A workspace of two bins whose q0 has a closed form."""
    signal, background, uncertainty = (list(column) for column in zip(*COUNTS, strict=True))
    samples = [
        {
            "name": "signal",
            "data": signal,
            "modifiers": [{"name": "mu", "type": "normfactor", "data": None}],
        },
        {
            "name": "background",
            "data": background,
            "modifiers": [{"name": "uncorrelated", "type": "shapesys", "data": uncertainty}],
        },
    ]
    return {
        "channels": [{"name": "SR", "samples": samples}],
        "observations": [{"name": "SR", "data": [52.0, 63.0]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    }


def discovery(factor: float) -> tuple[float, float]:
    """q0 of that workspace on Asimov data for a multiplied signal, and its slope in the factor.

    Without signal, a bin's factor g is fitted by n - g b + t - g t = 0, t being the auxiliary
    count.
    """
    q0 = slope = 0.0
    for signal, background, uncertainty in COUNTS:
        n, t = background + factor * signal, (background / uncertainty) ** 2
        g = (n + t) / (background + t)
        q0 += 2 * (n * log(n / (g * background)) - n + g * background)
        q0 += 2 * (-t * log(g) - t + g * t)
        slope += 2 * signal * log(n / (g * background))
    return q0, slope
