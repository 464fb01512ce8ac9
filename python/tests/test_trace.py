"""Recording a program that knows nothing of it, and what the documents say."""

import json
import sys
from pathlib import Path

import pytest
from conftest import ROOT, start
from test_suite import validate

STEPS = """
import jax
import jax.numpy as jnp

@jax.jit
def double(x):
    return (x @ x.T).sum() * 2

jax.profiler.start_trace("theirs")  # left out: one profiler runs at a time
for index in range(8):
    with jax.profiler.StepTraceAnnotation("train", step_num=index):
        rows = 9 if index == 5 else 8
        jax.block_until_ready(double(jnp.ones((rows, 4))))
"""


@pytest.mark.filterwarnings("ignore")
def test_a_program_is_recorded_with_the_cost_of_recording(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(STEPS)
    options = ["trace", "--record", "--keep", "kept", "--format", "json", "--html", "page.html"]
    finished = start(tmp_path, *options, "--", sys.executable, str(script))
    assert finished.returncode == 0, finished.stderr
    document = json.loads(finished.stdout)
    validate(document, "trace")
    assert [step["number"] for step in document["steps"]] == list(range(8))
    for step in document["steps"]:
        assert sum(part["ns"] for part in step["parts"]) == step["duration-ns"]
    again = [
        one
        for one in document["compilations"]
        if one["function"] == "double" and one["turn"] == "again"
    ]
    [planted] = again
    assert planted["step"] == 5
    assert "f32[8,4] → f32[9,4]" in planted["cause"]["text"]
    runs = document["inflation"]["runs"]
    assert [run["tracing"] for run in runs] == ["untraced", "host-only", "python"]
    assert all(run["step"]["n"] >= 5 for run in runs)
    assert any(frame["kind"] == "python" for frame in document["frames"])
    assert not (tmp_path / "theirs").exists()

    kept = [str(tmp_path / "kept" / level / "profile") for level in ("python", "host")]
    compared = start(tmp_path, "trace", kept[0], "--against", kept[1], "--format", "json")
    assert compared.returncode == 0, compared.stderr
    comparison = json.loads(compared.stdout)
    validate(comparison, "trace-comparison")
    assert any("tracer levels" in reason for reason in comparison["not-comparable"])
    falls = sum(fall["by-ns"] for fall in comparison["waterfall"])
    wall = comparison["wall"]
    assert abs(falls - (wall["second-ns"] - wall["first-ns"])) < 1


def test_the_documents_of_the_fixtures_follow_their_schema(tmp_path: Path) -> None:
    for recording in sorted((ROOT / "fixtures" / "traces").glob("*.gz")):
        finished = start(tmp_path, "trace", str(recording), "--format", "json")
        assert finished.returncode == 0, finished.stderr
        validate(json.loads(finished.stdout), "trace")
