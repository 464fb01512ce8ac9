"""Wrong results that sums, samples and first leaves do not show: each is rejected.

Each test runs a suite with the real binary and this environment's own interpreter.
"""

from pathlib import Path
from typing import Any

import pytest
from test_planted import run

HEAD = "import firstlight\nimport numpy as np\n\n"


def arms(folder: Path, results: dict[str, str], **settings: str) -> dict[str, Any]:
    """Arms that return these results; the first one is the reference."""
    workloads = {
        name: f"{HEAD}def make():\n    {body}\n\ndef setup(case):\n"
        "    result = make()\n    return firstlight.Workload(lambda: result)\n"
        for name, body in results.items()
    }
    comparison = "verdicts = false\n" + settings.get("comparison", "")
    return run(folder, workloads, regimes='"cold-clean"', comparison=comparison)


def agreement(arm: dict[str, Any]) -> str:
    return str(arm["agreement"]["kind"])


# The right result, and a wrong one that the former check accepted.
WRONG = {
    "every other sign flipped": (
        "return np.ones(10_000, np.float32)",
        "return np.where(np.arange(10_000) % 2, 1, -1).astype(np.float32)",
    ),
    "whole numbers in another order": (
        "return np.arange(10_000)",
        "x = np.arange(10_000); x[[700, 701]] = x[[701, 700]]; return x",
    ),
    "a late leaf": (
        "return [np.full(3, n, np.float32) for n in range(80)]",
        "return [np.full(3, -n if n == 71 else n, np.float32) for n in range(80)]",
    ),
    "more leaves": (
        "return [np.zeros(3) for _ in range(70)]",
        "return [np.zeros(3) for _ in range(90)]",
    ),
    "a complex number": ("return 1 + 2j", "return 5 + 7j"),
    "a type of eight bits": (
        "import ml_dtypes; return np.array([1, 2, 4], ml_dtypes.float8_e4m3fn)",
        "import ml_dtypes; return np.array([8, 16, 32], ml_dtypes.float8_e4m3fn)",
    ),
    "many NaN for one": (
        "x = np.ones(10_000); x[5] = np.nan; return x",
        "x = np.ones(10_000); x[5:6005] = np.nan; return x",
    ),
    "infinity for NaN": (
        "x = np.ones(10_000); x[5] = np.nan; return x",
        "x = np.ones(10_000); x[5] = np.inf; return x",
    ),
    "rows exchanged": (
        "return np.random.default_rng(0).normal(size=(64, 4096)).astype(np.float32)",
        "x = np.random.default_rng(0).normal(size=(64, 4096)).astype(np.float32); "
        "x[[3, 9]] = x[[9, 3]]; return x",
    ),
    "another key": ("return {'w': np.ones(3)}", "return {'b': np.ones(3)}"),
    "NaN elsewhere": (
        "x = np.ones(10_000); x[5] = np.nan; return x",
        "x = np.ones(10_000); x[6] = np.nan; return x",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_result_is_refused(tmp_path: Path, name: str) -> None:
    right, wrong = WRONG[name]
    found = arms(tmp_path, {"right": right, "same": right, "wrong": wrong})
    assert agreement(found["same"]) == "equal"
    assert agreement(found["wrong"]) == "differs", found["wrong"]["agreement"]
    assert any(one["finding"] == "output-differs" for one in found["wrong"]["findings"])


MILLION = """
    rng = np.random.default_rng(0)
    leaves = [rng.normal(size=(1000,)).astype(np.float32) for _ in range(200)]
    leaves[117] = rng.normal(size=(1000, 1000)).astype(np.float32)
    noise = np.random.default_rng(SEED)
    rounded = lambda x: x + np.float32(ROUNDING) * noise.normal(size=x.shape).astype(np.float32)
    leaves = [rounded(x) for x in leaves]
    leaves[117][412, 73] += np.float32(WRONG)
    return leaves
"""


def million(seed: int, rounding: float, wrong: float) -> str:
    text = MILLION.replace("SEED", str(seed)).replace("ROUNDING", str(rounding))
    return text.replace("WRONG", str(wrong)).strip()


def test_one_wrong_element_of_a_million_in_one_of_200_leaves_is_refused(tmp_path: Path) -> None:
    """The same numbers but for one; and numbers that differ by rounding, one of them by more."""
    found = arms(
        tmp_path,
        {
            "right": million(1, 0.0, 0.0),
            "one": million(1, 0.0, 1e-3),
            "rounded": million(2, 1e-6, 0.0),
            "rounded-and-one": million(2, 1e-6, 0.1),
        },
    )
    assert agreement(found["one"]) == "differs"
    assert "[117]" in found["one"]["agreement"]["how"]
    assert agreement(found["rounded"]) == "close", found["rounded"]["agreement"]
    assert found["rounded"]["agreement"]["difference"] < 1e-5
    assert agreement(found["rounded-and-one"]) == "differs"


def test_results_that_cannot_be_read_have_no_verdict(tmp_path: Path) -> None:
    thing = "class Thing: pass\n    return Thing()"
    found = arms(tmp_path, {"right": thing, "other": thing})
    assert agreement(found["other"]) == "not-compared"
    assert any(one["finding"] == "output-unread" for one in found["other"]["findings"])


def test_numbers_of_another_width_are_compared_by_value(tmp_path: Path) -> None:
    found = arms(
        tmp_path,
        {
            "narrow": "return np.arange(1000, dtype=np.int32)",
            "wide": "return np.arange(1000, dtype=np.int64)",
            "wrong": "return np.arange(1000, dtype=np.int64)[::-1]",
        },
    )
    assert agreement(found["wide"]) == "close"
    assert agreement(found["wrong"]) == "differs"
