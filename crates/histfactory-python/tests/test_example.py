"""The example of the guide."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

EXAMPLE = Path(__file__).parents[1] / "examples" / "two_blobs.py"


def run(folder: Path, *options: str) -> dict[str, float]:
    found = subprocess.run(
        [sys.executable, str(EXAMPLE), "--output", str(folder), *options],
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


def test_the_example_is_the_same_for_a_seed(tmp_path: Path) -> None:
    short = ["--steps", "20", "--events", "300"]
    assert run(tmp_path, *short) == run(tmp_path, *short)
