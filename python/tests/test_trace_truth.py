"""What `firstlight trace` says about recordings whose truth stands beside them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import start
from test_suite import validate

PROGRAMS = Path(__file__).with_name("trace_programs.py")
PLANTED = 3
STEPS = 6
# A step in which nothing is compiled and nothing sleeps is nothing but these.
RUNNING = ("execute", "callback", "transfer", "dispatch", "wait")
BUCKETS = {
    "execute": ("compiled", "eager"),
    "callback": ("callback",),
    "transfer": ("transfer",),
    "dispatch": ("call", "guards", "prologue"),
    "wait": ("blocked", "fetch"),
    "host": ("before", "between", "after"),
}


def told(folder: Path, name: str, python: str = sys.executable) -> tuple[Any, Any]:
    """The document of a program's recording, and the truth."""
    out = folder / name
    environment = {key: value for key, value in os.environ.items() if not key.startswith("JAX_")}
    environment["JAX_PLATFORMS"] = "cpu"
    command = [python, str(PROGRAMS), name, str(out)]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=600)
    recording = out / "worker.pt.trace.json"
    path = recording if recording.exists() else out
    finished = start(folder, "trace", str(path), "--format", "json")
    assert finished.returncode == 0, finished.stderr
    document = json.loads(finished.stdout)
    validate(document, "trace")
    for step in document["steps"]:
        assert sum(part["ns"] for part in step["parts"]) == step["duration-ns"]
    return document, json.loads((out / "truth.json").read_text())


def bucket(step: Any, name: str) -> int:
    return sum(part["ns"] for part in step["parts"] if part["part"] in BUCKETS[name])


def apart(pairs: list[tuple[float, float]]) -> float:
    """How far what is told is from the truth, as a share of it, in the two steps that are closest.

    A process that loses its core between two operators has that in its truth and not in its
    recording, so some steps may be off on a busy machine. Time that is booked wrongly is off in
    every step.
    """
    return sorted(abs(value - true) / true for value, true in pairs)[1]


def assert_true(document: Any, truth: Any, only: tuple[str, ...] = ("execute", "host")) -> None:
    """Execution and host of steady steps are within a twentieth of the truth."""
    steady = [
        (step, true)
        for step, true in zip(document["steps"], truth)
        if not step["compiled"] and step["left-out"] is None
    ]
    assert len(steady) >= STEPS - 2
    if "execute" in only:
        pairs = [(bucket(s, "execute"), t["run"] - t["callback"]) for s, t in steady]
        assert apart(pairs) < 0.05, pairs
    if "host" in only:
        pairs = [(bucket(step, "host"), true["asleep"]) for step, true in steady]
        assert apart(pairs) < 0.05, pairs
    pairs = [(sum(bucket(s, name) for name in RUNNING), t["run"]) for s, t in steady]
    assert apart(pairs) < 0.05, pairs


def planted(document: Any) -> Any:
    """The one thing that was compiled, in the step in which something changed."""
    [one] = [one for one in document["compilations"] if one["turn"] == "again"]
    assert one["step"] == PLANTED
    assert [step["number"] for step in document["steps"] if step["compiled"]] == [PLANTED]
    return one["cause"]


@pytest.mark.parametrize("name", ["matmul", "scan", "three", "donation", "pmap", "eager"])
def test_execution_and_host_of_jax_are_what_they_were(tmp_path: Path, name: str) -> None:
    document, truth = told(tmp_path, name)
    assert [step["number"] for step in document["steps"]] == list(range(STEPS))
    assert document["findings"] == []
    only = ("execute", "host")
    # The devices share the processor's cores, and what waits for one of them runs on no other.
    assert_true(document, truth, only if name != "pmap" else ("host",))
    for step, true in zip(document["steps"], truth):
        assert bucket(step, "execute") > 0.5 * true["run"]
    assert not document["compilations"]
    devices = [len(step["devices"]) for step in document["steps"]]
    assert devices == [4 if name == "pmap" else 0] * STEPS
    assert (document["skew"] is not None) == (name == "pmap")
    # The matrix product is what takes the time, in whatever operator it ends up.
    assert document["programs"][0]["operators"][0]["share"] > 0.5


def test_host_code_that_is_called_back_is_a_bucket_of_its_own(tmp_path: Path) -> None:
    document, truth = told(tmp_path, "callback")
    assert_true(document, truth)
    pairs = [(bucket(s, "callback"), t["callback"]) for s, t in zip(document["steps"], truth)]
    assert apart(pairs) < 0.05, pairs


def test_steps_that_nobody_marked_are_those_of_the_program(tmp_path: Path) -> None:
    document, truth = told(tmp_path, "unmarked")
    assert (document["steps-by"], len(document["steps"])) == ("repeated-call", STEPS)
    assert [step["left-out"] for step in document["steps"]] == [None] * (STEPS - 1) + ["unended"]
    pairs = [(s["duration-ns"], t["wall"]) for s, t in zip(document["steps"][:-1], truth)]
    assert apart(pairs) < 0.05, pairs
    assert_true(document, truth)


def test_a_lambda_has_a_cause_like_any_function(tmp_path: Path) -> None:
    document, truth = told(tmp_path, "nameless")
    cause = planted(document)
    assert (cause["kind"], cause["changes"][0]["after"]) == ("shape", "f32[1204,1204]")
    assert_true(document, truth)


@pytest.mark.parametrize(
    ("name", "possible"),
    [
        ("weak", "a weak type"),
        ("static", "a static argument"),
        ("unused", "an argument that the code does not use"),
    ],
)
def test_what_a_recording_alone_cannot_tell_is_listed(
    tmp_path: Path, name: str, possible: str
) -> None:
    document, _ = told(tmp_path, name)
    cause = planted(document)
    assert cause["kind"] == "same-signature"
    assert possible in cause["text"]
    assert "the arguments have the same types" not in cause["text"]


def test_a_function_that_is_made_again_is_among_the_possible_causes(tmp_path: Path) -> None:
    document, _ = told(tmp_path, "closure")
    first, *others = document["compilations"]
    assert (first["turn"], len(others)) == ("first", STEPS - 1)
    for one in others:
        assert "a new function object" in one["cause"]["text"]
    assert [one["step"] for one in document["compilations"]] == list(range(STEPS))


RECORDED = """
import functools
import jax
import jax.numpy as jnp
import numpy as np

x = jnp.ones((64, 64))

@jax.jit
def ignoring(x, extra):
    return x @ x

@jax.jit
def scaled(x, scale):
    return x @ x * scale

@functools.partial(jax.jit, static_argnames="n")
def power(x, n):
    return x @ x * n

@jax.jit
def plain(x):
    return x @ x + 1

def shifted(by, x):
    return x @ x + by

def made():
    def inner(x):
        return x @ x + 2
    return jax.jit(inner)

for i in range(9):
    with jax.profiler.StepTraceAnnotation("train", step_num=i):
        if i == 7:
            jax.config.update("jax_default_matmul_precision", "float32")
        if i == 8:
            jax.clear_caches()
        ignoring(x, np.zeros(5 if i == 2 else 4, np.float32))
        scaled(x, 2.0 if i == 3 else np.float32(2))
        power(x, n=3 if i == 4 else 2)
        if i in (1, 5):
            made()(x)
        if i in (1, 6):
            jax.jit(functools.partial(shifted, 3.0))(x)
        jax.block_until_ready(plain(x))
"""


def test_a_recorded_program_names_every_cause(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(RECORDED)
    command = ["trace", "--record", "--format", "json", "--", sys.executable, str(script)]
    finished = start(tmp_path, *command)
    assert finished.returncode == 0, finished.stderr
    assert "CACHE MISS" not in finished.stderr
    document = json.loads(finished.stdout)
    validate(document, "trace")
    causes: dict[int, dict[str, Any]] = {}
    for one in document["compilations"]:
        if one["turn"] == "again":
            causes.setdefault(one["step"], {})[one["function"]] = one["cause"]
    expected = {
        2: ("ignoring", "shape", "argument `extra`: f32[4] → f32[5]"),
        3: ("scaled", "weak-type", "argument `scale`"),
        4: ("power", "static-argument", "static argument `n`: 2 → 3"),
        5: ("inner", "new-function", "train.py"),
        6: ("shifted", "new-function", "train.py"),
        7: ("plain", "setting", "`jax_default_matmul_precision`: None → float32"),
        8: ("plain", "cleared-cache", "jax.clear_caches"),
    }
    for step, (function, kind, words) in expected.items():
        cause = causes[step][function]
        assert cause["kind"] == kind, (step, cause)
        assert words in cause["text"]
    assert "does not use" in causes[2]["ignoring"]["text"]


def test_eager_operators_of_torch_are_execution(tmp_path: Path, torch_python: Path) -> None:
    document, truth = told(tmp_path, "torch-eager", str(torch_python))
    assert document["steps-by"] == "annotation"
    assert_true(document, truth)
    # The profiler's last step is empty, and in no median.
    assert [step["left-out"] for step in document["steps"]] == [None] * STEPS + ["empty"]
    assert document["steady"][0]["median"]["n"] == STEPS


@pytest.mark.parametrize("marked", ["", "-unmarked"])
@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("dynamic", "shape", "float[512,1024] → float[768,1024]"),
        ("dtype", "type", "float[1024,1024] → double[1024,1024]"),
        ("attribute", "same-signature", "possible are an attribute"),
    ],
)
def test_torch_names_what_changed(
    tmp_path: Path, torch_python: Path, name: str, kind: str, words: str, marked: str
) -> None:
    document, truth = told(tmp_path, f"torch-{name}{marked}", str(torch_python))
    steps = [step for step in document["steps"] if step["left-out"] != "empty"]
    assert [step["number"] for step in steps] == list(range(STEPS))
    cause = planted(document)
    assert cause["kind"] == kind
    assert words in cause["text"]
    if not marked:
        assert_true(document, truth)


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


def test_a_recorded_torch_program_names_guards_and_graph_breaks(
    tmp_path: Path, torch_python: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text(TORCH_RECORDED)
    command = ["trace", "--record", "--format", "json", "--", str(torch_python), str(script)]
    finished = start(tmp_path, *command)
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
