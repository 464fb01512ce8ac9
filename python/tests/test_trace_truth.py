"""`firstlight trace` on recordings with a known truth."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import start
from test_suite import validate

PROGRAMS = Path(__file__).with_name("trace_programs.py")
PLANTED = 3
STEPS = 6
ATTEMPTS = 3
TOLERANCE = 0.05
# A step without compilation and sleep consists only of these.
RUNNING = ("execute", "callback", "transfer", "dispatch", "wait")
BUCKETS = {
    "execute": ("compiled", "eager"),
    "callback": ("callback",),
    "transfer": ("transfer",),
    "dispatch": ("call", "guards", "prologue"),
    "wait": ("blocked", "fetch"),
    "host": ("before", "between", "after"),
}


class OffTruthError(AssertionError):
    """The times of a recording differ too much from the truth."""


def record(folder: Path, name: str, python: str) -> tuple[Any, Any]:
    """Return the document of a program's recording, and the truth."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("JAX_")}
    environment["JAX_PLATFORMS"] = "cpu"
    command = [python, str(PROGRAMS), name, str(folder)]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=600)
    finished = start(folder, "trace", str(folder / "profile"), "--format", "json")
    assert finished.returncode == 0, finished.stderr
    document = json.loads(finished.stdout)
    validate(document, "trace")
    for step in document["steps"]:
        assert sum(part["ns"] for part in step["parts"]) == step["duration-ns"]
    return document, json.loads((folder / "truth.json").read_text())["steps"]


Check = Callable[[Any, Any], None]


def recorded(folder: Path, name: str, check: Check, python: str = sys.executable) -> Any:
    """Return the document of a recording with the true times.

    Another process can take the core from a program for most of its steps. Such a recording is
    repeated, at most twice, and the output reports it. Wrongly attributed time would fail in all
    three.
    """
    for attempt in range(1, ATTEMPTS + 1):
        document, truth = record(folder / f"{name}-{attempt}", name, python)
        try:
            check(document, truth)
        except OffTruthError as off:
            if attempt == ATTEMPTS:
                raise
            print(f"{name}: recording {attempt} differs from the truth and is repeated: {off}")
        else:
            return document
    raise AssertionError("the last attempt returns or raises")


def bucket(step: Any, name: str) -> int:
    return sum(part["ns"] for part in step["parts"] if part["part"] in BUCKETS[name])


def assert_near(what: str, pairs: list[tuple[float, float]]) -> None:
    """The median step is within 5 % of the truth."""
    apart = statistics.median(abs(value - true) / true for value, true in pairs)
    if apart >= TOLERANCE:
        raise OffTruthError(f"{what}: the median step is off by {apart:.1%}: {pairs}")


def assert_true(document: Any, truth: Any) -> None:
    """Execution, host, and all time except the host's are right in steady steps."""
    steady = [
        (step, true)
        for step, true in zip(document["steps"], truth)
        if not step["compiled"] and step["left-out"] is None
    ]
    assert len(steady) >= STEPS - 2
    assert_near("execute", [(bucket(s, "execute"), t["run"] - t["callback"]) for s, t in steady])
    assert_near("host", [(bucket(step, "host"), true["asleep"]) for step, true in steady])
    running = [(sum(bucket(s, name) for name in RUNNING), t["run"]) for s, t in steady]
    assert_near("all but the host", running)


def assert_host_true(document: Any, truth: Any) -> None:
    """The host's time is right in every step, whatever was compiled in it."""
    pairs = [(bucket(s, "host"), t["asleep"]) for s, t in zip(document["steps"], truth)]
    assert_near("host", pairs)


def assert_walls_true(document: Any, truth: Any) -> None:
    """Guessed steps have the true lengths, and the last one has no end."""
    left_out = [step["left-out"] for step in document["steps"]]
    assert left_out == [None] * (STEPS - 1) + ["unended"]
    pairs = [(s["duration-ns"], t["wall"]) for s, t in zip(document["steps"][:-1], truth)]
    assert_near("wall", pairs)
    assert_true(document, truth)


def planted(document: Any) -> Any:
    """Return the only compilation, in the step with the change."""
    [one] = [one for one in document["compilations"] if one["turn"] == "again"]
    assert one["step"] == PLANTED
    assert [step["number"] for step in document["steps"] if step["compiled"]] == [PLANTED]
    return one["cause"]


@pytest.mark.parametrize("name", ["matmul", "scan", "three", "donation", "pmap", "eager"])
def test_execution_and_host_of_jax_are_what_they_were(tmp_path: Path, name: str) -> None:
    document = recorded(tmp_path, name, assert_true)
    assert [step["number"] for step in document["steps"]] == list(range(STEPS))
    assert document["findings"] == []
    assert not document["compilations"]
    devices = [len(step["devices"]) for step in document["steps"]]
    assert devices == [4 if name == "pmap" else 0] * STEPS
    assert (document["skew"] is not None) == (name == "pmap")
    # The matrix product takes most of the time, in whichever operator it ends up.
    assert document["programs"][0]["operators"][0]["share"] > 0.5


def test_host_code_that_is_called_back_is_a_bucket_of_its_own(tmp_path: Path) -> None:
    def check(document: Any, truth: Any) -> None:
        assert_true(document, truth)
        pairs = [(bucket(s, "callback"), t["callback"]) for s, t in zip(document["steps"], truth)]
        assert_near("callback", pairs)

    recorded(tmp_path, "callback", check)


def test_steps_that_nobody_marked_are_those_of_the_program(tmp_path: Path) -> None:
    document = recorded(tmp_path, "unmarked", assert_walls_true)
    assert (document["steps-by"], len(document["steps"])) == ("repeated-call", STEPS)


def test_a_lambda_has_a_cause_like_any_function(tmp_path: Path) -> None:
    cause = planted(recorded(tmp_path, "nameless", assert_true))
    assert (cause["kind"], cause["changes"][0]["after"]) == ("shape", "f32[1204,1204]")


@pytest.mark.parametrize(
    ("name", "kind", "possible"),
    [
        ("weak", "same-signature", "a weak type"),
        ("static", "same-signature", "a static argument"),
        ("unused", "same-signature", "an argument that the code does not use"),
        ("flag", "argument-count", "a static argument"),
    ],
)
def test_what_a_recording_alone_cannot_show_is_listed(
    tmp_path: Path, name: str, kind: str, possible: str
) -> None:
    cause = planted(recorded(tmp_path, name, assert_true))
    assert (cause["kind"], cause["changes"]) == (kind, [])
    assert possible in cause["text"]
    assert "`firstlight trace --record` names which" in cause["text"]
    assert "the arguments have the same types" not in cause["text"]
    if name == "flag":
        # The caller passed as many arguments as before: the code uses one less.
        assert "uses 1 argument instead of 2; it no longer uses `bias` f32[1200]" in cause["text"]


def test_a_function_that_is_made_again_is_among_the_possible_causes(tmp_path: Path) -> None:
    document = recorded(tmp_path, "closure", assert_host_true)
    first, *others = document["compilations"]
    assert (first["turn"], len(others)) == ("first", STEPS - 1)
    for one in others:
        assert "a new function object" in one["cause"]["text"]
    assert [one["step"] for one in document["compilations"]] == list(range(STEPS))


def test_eager_operators_of_torch_are_execution(tmp_path: Path, torch_python: Path) -> None:
    document = recorded(tmp_path, "torch-eager", assert_true, str(torch_python))
    assert document["steps-by"] == "annotation"
    # The profiler's last step is empty, and in no median.
    assert [step["left-out"] for step in document["steps"]] == [None] * STEPS + ["empty"]
    assert document["steady"][0]["median"]["n"] == STEPS
    # The matrix products of both directions are the longest operators, without those around them.
    [eager] = document["programs"]
    assert eager["module"] == "eager"
    assert {row["name"] for row in eager["operators"][:2]} == {"aten::addmm", "aten::mm"}
    assert sum(row["share"] for row in eager["operators"]) <= 1


@pytest.mark.parametrize("marked", ["", "-unmarked"])
@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("dynamic", "shape", "float[512,1024] → float[768,1024]"),
        ("dtype", "type", "float[1024,1024] → double[1024,1024]"),
        ("attribute", "same-signature", "possible are an attribute"),
        ("weights", "argument-count", "possible are an attribute"),
    ],
)
def test_torch_names_what_changed(
    tmp_path: Path, torch_python: Path, name: str, kind: str, words: str, marked: str
) -> None:
    check = assert_walls_true if marked else assert_true
    document = recorded(tmp_path, f"torch-{name}{marked}", check, str(torch_python))
    steps = [step for step in document["steps"] if step["left-out"] != "empty"]
    assert [step["number"] for step in steps] == list(range(STEPS))
    cause = planted(document)
    assert cause["kind"] == kind
    assert words in cause["text"]
    if name == "weights":
        assert cause["changes"] == []


TORCH_RECORDED = """
import sys
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 64)
        self.flag = True

    def forward(self, x):
        y = self.layer(x)
        if self.flag:
            y = y * 2
        return y.sum()

def broken(x):
    y = x @ x
    print("a graph break", file=sys.stderr)
    return y + 1

model = Model()
compiled = torch.compile(model, backend="aot_eager")
other = torch.compile(broken, backend="aot_eager")
profile = torch.profiler.profile()
profile.start()
for i in range(8):
    model.flag = i < 4
    compiled(torch.ones(48 if i == 2 else 32, 64))
    other(torch.ones(8, 8, dtype=torch.float64 if i == 6 else torch.float32))
    profile.step()
"""


@pytest.mark.parametrize("own", [False, True])
def test_a_recorded_torch_program_names_guards_and_graph_breaks(
    tmp_path: Path, torch_python: Path, own: bool
) -> None:
    script = tmp_path / "train.py"
    script.write_text(TORCH_RECORDED)
    command = ["trace", "--record", "--format", "json", "--", str(torch_python), str(script)]
    # A log that the user asked for is written where it was asked for, and read there.
    variables = {"TORCH_TRACE": str(tmp_path / "theirs")} if own else {}
    finished = start(tmp_path, *command, **variables)
    assert any((tmp_path / "theirs").glob("*.log")) == own
    assert finished.returncode == 0, finished.stderr
    document = json.loads(finished.stdout)
    validate(document, "trace")
    again = {
        (one["step"], one["function"]): one["cause"]["text"]
        for one in document["compilations"]
        if one["turn"] == "again"
    }
    assert "expected 32, actual 48" in again[2, "forward"]
    assert "self.flag == True" in again[4, "forward"]
    assert "dtype mismatch" in again[6, "broken"]
    line = 1 + TORCH_RECORDED.splitlines().index('    print("a graph break", file=sys.stderr)')
    assert any(one["place"].endswith(f"train.py:{line}") for one in document["graph-breaks"])
