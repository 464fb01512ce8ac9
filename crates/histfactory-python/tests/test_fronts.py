"""PyTorch and JAX give the same numbers to the last bit.

They may use separate environments: `HISTFACTORY_JAX_PYTHON` is the interpreter with JAX.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Answers = tuple[dict[str, Any], dict[str, Any]]


def ask(interpreter: str, front: str) -> dict[str, Any]:
    finished = subprocess.run(
        [interpreter, str(Path(__file__).with_name("answers.py")), front],
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    return dict(json.loads(finished.stdout))


@pytest.fixture(scope="module")
def fronts() -> Answers:
    other = os.environ.get("HISTFACTORY_JAX_PYTHON")
    if other is None and importlib.util.find_spec("jax") is None:
        pytest.skip("no JAX here: HISTFACTORY_JAX_PYTHON names an interpreter that has it")
    return ask(sys.executable, "torch"), ask(other or sys.executable, "jax")


def test_values_and_gradients_are_the_same_bits(fronts: Answers) -> None:
    torch, jax = (answers["losses"] for answers in fronts)
    assert torch and set(torch) == set(jax)
    for what, parts in torch.items():
        assert any(any(float.fromhex(number) for number in part) for part in parts[1:]), what
        assert parts == jax[what], what


def test_histograms_are_the_same_up_to_the_rounding_of_sums(fronts: Answers) -> None:
    torch, jax = (answers["histograms"] for answers in fronts)
    assert torch and set(torch) == set(jax)
    for what, numbers in torch.items():
        np.testing.assert_allclose(numbers, jax[what], rtol=1e-13, err_msg=what)
