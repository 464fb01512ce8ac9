"""The example of the guide."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(folder: Path, *options: str) -> dict[str, float]:
    return finished("two_blobs.py", "--output", str(folder), *options)


def finished(name: str, *options: str) -> dict[str, Any]:
    found = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return dict(json.loads(found.stdout))


def test_training_on_the_significance_discovers_more_than_classifying(tmp_path: Path) -> None:
    found = run(tmp_path)
    assert found["significance"] > 1.1 * found["cross-entropy"] > 0.5
    for name in ("histfactory-training.svg", "histfactory-scores.svg"):
        ElementTree.parse(tmp_path / name)


def test_the_example_gives_the_same_result_for_a_seed(tmp_path: Path) -> None:
    short = ["--steps", "20", "--events", "300"]
    assert run(tmp_path, *short) == run(tmp_path, *short)


def test_minibatches_of_256_train_on_the_significance() -> None:
    found = finished("minibatches.py", "--batch", "256")
    assert found["minibatches"] > 1.1 * found["cross-entropy"] > 0.5
    few, more, all_events = found["loss"].values()
    # The loss of a minibatch is biased and fluctuates, both less with more events.
    spreads = [sizes["standard deviation"] for sizes in (few, more, all_events)]
    assert spreads[0] > 1.5 * spreads[1] > spreads[2]
    assert abs(few["mean"] - all_events["mean"]) > abs(more["mean"] - all_events["mean"])
