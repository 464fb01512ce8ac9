"""Workspaces for the tests of the Python package."""

from __future__ import annotations

import copy
import json
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
