"""Recordings of a program that does not know firstlight, and their documents."""

import json
import sys
from pathlib import Path
from typing import Any

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


TORCH_STEPS = """
import torch

model = torch.nn.Linear(8, 8)
{before}
for index in range(8):
    loss = model(torch.ones(4, 8)).sum()
    loss.backward()
    {after}
"""
OPTIMIZER = "optimizer = torch.optim.SGD(model.parameters())", "optimizer.step()"
PROFILE = "p = torch.profiler.profile(); p.start()", "p.step(); p.key_averages().table()"


@pytest.mark.parametrize(("before", "after"), [OPTIMIZER, PROFILE])
def test_a_torch_program_is_recorded_too(
    tmp_path: Path, torch_python: Path, before: str, after: str
) -> None:
    python = str(torch_python)
    script = tmp_path / "train.py"
    script.write_text(TORCH_STEPS.format(before=before, after=after))
    finished = start(tmp_path, "trace", "--record", "--format", "json", "--", python, str(script))
    assert finished.returncode == 0, finished.stderr
    document = json.loads(finished.stdout)
    validate(document, "trace")
    # From one end of the optimizer's step to the next, or from one `step()` to the next.
    steps = 7 if "optimizer" in after else 8
    assert [step["number"] for step in document["steps"]] == list(range(steps))
    for step in document["steps"]:
        assert sum(part["ns"] for part in step["parts"]) == step["duration-ns"]
    runs = document["inflation"]["runs"]
    assert [run["tracing"] for run in runs] == ["untraced", "host-only", "python"]
    assert [run["step"]["n"] for run in runs] == [steps] * 3
    assert any(frame["kind"] == "python" for frame in document["frames"])


SUITE = """
name = "wrapped"
environment = "as-found"
regimes = ["warm"]
reference = "plain"
trace = true
cache = { bytecode = "as-found" }
comparison = { control = false, outputs = "unchecked", verdicts = false }
warm = { processes = 1, most-processes = 1, iterations = 20, warm-up = 2 }

[[case]]
name = "step"
[[case]]
name = "other"

[[arm]]
name = "plain"
workload = "w.py"
options = { wrapped = false }
[[arm]]
name = "filter"
workload = "w.py"
options = { wrapped = true }
[[arm]]
name = "broken"
workload = "broken.py"
"""

WORKLOAD = """
import equinox as eqx
import firstlight
import jax
import jax.numpy as jnp

def setup(case):
    leaves = {str(i): jnp.ones((4, 4)) for i in range(120)}
    def function(tree):
        return jax.tree_util.tree_map(lambda leaf: leaf @ leaf, tree)
    step = (eqx.filter_jit if case["wrapped"] else jax.jit)(function)
    bare = jax.jit(lambda x: x @ x)
    one = jnp.ones((4, 4))
    return firstlight.Workload(
        step, (leaves,), sync=jax.block_until_ready, baseline=lambda: bare(one).block_until_ready()
    )
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The snapshot of a suite that says ``trace = true``, and what it printed."""
    folder = tmp_path_factory.mktemp("traced")
    (folder / "suite.toml").write_text(SUITE)
    (folder / "w.py").write_text(WORKLOAD)
    (folder / "broken.py").write_text("def setup(case):\n    raise ValueError('no data')\n")
    finished = start(folder, "run", str(folder), "--python", sys.executable)
    assert finished.returncode == 5, finished.stderr
    [snapshot] = (folder / "runs").iterdir()
    return snapshot, finished.stdout


def test_a_suite_records_its_first_case_and_prints_what_that_costs(
    traced: tuple[Path, str], tmp_path: Path
) -> None:
    snapshot, printed = traced
    document = json.loads((snapshot / "trace.json").read_text())
    validate(document, "suite-trace")
    assert (document["suite"], document["case"]) == ("wrapped", "step")
    plain, wrapped, broken = document["arms"]
    assert (plain["arm"], wrapped["arm"], broken["arm"]) == ("plain", "filter", "broken")
    assert "ValueError: no data" in broken["failed"]
    assert broken["trace"] is None
    assert [of["beyond"] for of in plain["overheads"]] == ["baseline"]
    assert [of["beyond"] for of in wrapped["overheads"]] == ["baseline", "reference"]
    for of in [*plain["overheads"], *wrapped["overheads"]]:
        assert [run["tracing"] for run in of["runs"]] == ["untraced", "host-only", "python"]
        assert of["findings"] == []
    # Times come from the recording without Python frames, names from the one with frames.
    assert wrapped["trace"]["recording"]["tracer"]["python"] == 0
    assert any(frame["kind"] == "python" for frame in wrapped["trace"]["frames"])
    assert "tracer-inflated" not in json.dumps(wrapped["trace"]["findings"])
    for words in ("cost of recording", "beyond its baseline", "beyond plain", "factor"):
        assert words in printed, words
    checked = start(tmp_path, "verify", str(snapshot))
    assert "trace.json" not in checked.stdout, checked.stdout


def test_the_phases_of_filter_jit_are_told_by_their_frames(traced: tuple[Path, str]) -> None:
    snapshot, printed = traced
    plain, wrapped, _ = json.loads((snapshot / "trace.json").read_text())["arms"]
    assert plain["trace"]["wrappers"] == []
    [wrapper] = wrapped["trace"]["wrappers"]
    assert wrapper["name"] == "equinox.filter_jit"
    phases = {phase["name"]: phase for phase in wrapper["phases"]}
    assert list(phases) == ["preprocess", "partition", "postprocess", "combine"]
    assert phases["combine"]["within"] == "postprocess"
    for inner, outer in (("partition", "preprocess"), ("combine", "postprocess")):
        assert 0 < phases[inner]["host-ns"] <= phases[outer]["host-ns"]
    own = phases["preprocess"]["share-of-wrapper"] + phases["postprocess"]["share-of-wrapper"]
    assert 0 < own <= 1
    assert "equinox.filter_jit" in printed


def test_one_arm_of_a_suite_is_recorded_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text(SUITE)
    (tmp_path / "w.py").write_text(WORKLOAD)
    options = ["--arm", "filter", "--python", sys.executable, "--format", "json"]
    finished = start(tmp_path, "trace", "--suite", ".", *options, "--html", "page.html")
    assert finished.returncode == 0, finished.stderr
    document = json.loads(finished.stdout)
    validate(document, "suite-trace")
    [arm] = document["arms"]
    assert len(arm["trace"]["steps"]) >= 6
    assert "preprocess" in (tmp_path / "page.html").read_text()
