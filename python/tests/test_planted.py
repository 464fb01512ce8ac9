"""Mistakes that people publish, planted in real workloads: each is found, its absence is not.

Each test runs a suite with the real binary and this environment's own interpreter.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import start

SUITE = """
name = "planted"
environment = "as-found"
regimes = [{regimes}]

[sampling]
timeout = "120s"

[warm]
warm-up = 3
iterations = 60
within = "1s"

[comparison]
control = false
{comparison}

[[case]]
name = "case"

{arms}
"""


def run(
    folder: Path,
    workloads: dict[str, str],
    *,
    regimes: str = '"warm"',
    processes: int = 1,
    comparison: str = "",
    code: int = 0,
) -> dict[str, Any]:
    """Measures the workloads, an arm each, and returns the case's arms by name."""
    suite = folder / "suite"
    suite.mkdir()
    for name, text in workloads.items():
        (suite / f"{name}.py").write_text(text)
    arms = "".join(f'[[arm]]\nname = "{n}"\nworkload = "{n}.py"\n' for n in workloads)
    text = SUITE.format(regimes=regimes, comparison=comparison, arms=arms)
    (suite / "suite.toml").write_text(text)
    arguments = ["run", "suite", "--python", sys.executable, "--format", "json"]
    arguments += ["--processes", str(processes)]
    finished = start(folder, *arguments)
    assert finished.returncode == code, finished.stderr
    [case] = json.loads(finished.stdout)["cases"]
    return {**{arm["name"]: arm for arm in case["arms"]}, "comparisons": case["comparisons"]}


def reasons(arm: dict[str, Any]) -> dict[str, str]:
    """What makes the arm's samples invalid: the first text of each finding."""
    found: dict[str, str] = {}
    for regime in arm["regimes"]:
        for sample in regime["samples"]:
            for reason in sample["reasons"]:
                found.setdefault(reason["finding"], reason["text"])
    return found


GENERATE = """
import firstlight, jax, jax.numpy as jnp

def setup(case):
    table = jnp.ones((64, 64))

    @jax.jit
    def next_token(tokens):
        return jnp.argmax((jax.nn.one_hot(tokens, 64) @ table).sum(0))

    def generate(count):
        tokens = jnp.zeros(1, int)
        for _ in range(count):
            token = next_token(tokens)
            tokens = jax.lax.concatenate([tokens, token[None]], 0)
        return tokens

    return firstlight.Workload(
        lambda: generate(15), sync=jax.block_until_ready, warmup=lambda: generate(WARM)
    )
"""


def test_a_warm_up_of_5_tokens_before_a_test_of_15_is_refused_and_names_the_ten_shapes(
    tmp_path: Path,
) -> None:
    workload = GENERATE.replace("WARM", "5")
    found = reasons(run(tmp_path, {"growing": workload}, code=5)["growing"])
    text = found["warmup-shorter-than-test"]
    assert "the warm-up called jit(next_token) with 5 shapes, the window with 10 more" in text
    for length in range(6, 16):
        assert f"i32[{length}]" in text, text
    assert "programs were compiled" in found["compiled-in-window"]
    assert found["compiled-in-window"].endswith(" ms")


def test_a_warm_up_that_makes_the_measured_calls_is_accepted(tmp_path: Path) -> None:
    arm = run(tmp_path, {"growing": GENERATE.replace("WARM", "15")})["growing"]
    assert reasons(arm) == {}


MATMUL = """
import firstlight, jax, jax.numpy as jnp

def setup(case):
    x = jnp.ones((1500, 1500))
    step = jax.jit(lambda x: x @ x)
    return firstlight.Workload(step, (x,)SYNC)
"""


def test_a_workload_without_synchronisation_is_caught(tmp_path: Path) -> None:
    workloads = {
        "loose": MATMUL.replace("SYNC", ""),
        "tight": MATMUL.replace("SYNC", ", sync=jax.block_until_ready"),
    }
    arms = run(tmp_path, workloads, code=5)
    text = reasons(arms["loose"])["async-not-synchronised"]
    assert "of a call's work was still running when it returned" in text
    assert reasons(arms["tight"]) == {}


def test_work_that_the_result_does_not_show_is_caught_too(tmp_path: Path) -> None:
    hidden = """
import firstlight, jax, jax.numpy as jnp

def setup(case):
    kept = [jnp.ones((1500, 1500))]
    work = jax.jit(lambda x: jnp.tanh(x @ x))

    def step():
        kept[0] = work(kept[0])

    return firstlight.Workload(step, sync=jax.block_until_ready)
"""
    arms = run(tmp_path, {"hidden": hidden}, code=5)
    assert "async-not-synchronised" in reasons(arms["hidden"])


LEFT_IN_PLACE = """
import firstlight, jax, jax.numpy as jnp
DIRECTORY

def setup(case):
    step = jax.jit(lambda x: jnp.tanh(x @ x).sum())
    return firstlight.Workload(step, (jnp.ones((32, 32)),), sync=jax.block_until_ready)
"""


def test_a_cache_left_in_place_is_refused_as_cold(tmp_path: Path) -> None:
    own = f'jax.config.update("jax_compilation_cache_dir", {str(tmp_path / "mine")!r})'
    workloads = {
        "kept": LEFT_IN_PLACE.replace("DIRECTORY", own),
        "given": LEFT_IN_PLACE.replace("DIRECTORY", ""),
    }
    arms = run(tmp_path, workloads, regimes='"cold-clean"', code=5)
    assert (
        "not in the directory that firstlight provided" in reasons(arms["kept"])["cache-not-clean"]
    )
    assert reasons(arms["given"]) == {}


CHANGES = """
import firstlight, jax, jax.numpy as jnp

def setup(case):
    inner = jax.jit(lambda x: jnp.tanh(x).sum())
    calls = 0

    def step(x):
        nonlocal calls
        calls += 1
        if calls == AT:
            jax.config.update("jax_log_compiles", False)
            jax.config.update("jax_debug_nans", True)
        return inner(x)

    return firstlight.Workload(step, (jnp.ones(8),), sync=jax.block_until_ready)
"""


def test_a_setting_of_jax_that_changes_after_the_warm_up_is_refused(tmp_path: Path) -> None:
    workloads = {"late": CHANGES.replace("AT", "9"), "early": CHANGES.replace("AT", "1")}
    arms = run(tmp_path, workloads, code=5)
    text = reasons(arms["late"])["config-changed-after-warmup"]
    assert text == "jax jax_debug_nans was False, then True"
    assert "config-changed-after-warmup" not in reasons(arms["early"])


NUMBA = """
import firstlight, numba, numpy

def setup(case):
    @numba.njit
    def total(x):
        return (x * x).sum()

    calls = 0

    def step():
        nonlocal calls
        calls += 1
        return total(numpy.ones(8, numpy.float32 if calls == AT else numpy.float64))

    return firstlight.Workload(step)
"""


def test_a_numba_function_that_meets_a_new_type_in_the_window_is_refused(tmp_path: Path) -> None:
    workloads = {"late": NUMBA.replace("AT", "9"), "early": NUMBA.replace("AT", "2")}
    arms = run(tmp_path, workloads, code=5)
    found = reasons(arms["late"])
    assert "array(float32" in found["warmup-shorter-than-test"], found
    assert "compiled-in-window" in found
    assert reasons(arms["early"]) == {}


LOADS = """
import firstlight

def setup(case):
    calls = 0

    def step():
        nonlocal calls
        calls += 1
        if calls == AT:
            import decimal, fractions, wave
        return 1

    return firstlight.Workload(step)
"""


def test_a_module_that_is_loaded_in_the_window_is_refused(tmp_path: Path) -> None:
    workloads = {"late": LOADS.replace("AT", "9"), "early": LOADS.replace("AT", "1")}
    arms = run(tmp_path, workloads, code=5)
    assert "was loaded while the window was open" in reasons(arms["late"])["load-inside-window"]
    assert reasons(arms["early"]) == {}


TRACED = """
import firstlight, sys

def setup(case):
    def step():
        return sum(range(1000))

    if ON:
        sys.setprofile(lambda *_: None)
    return firstlight.Workload(step)
"""


def test_a_profiler_in_the_window_is_refused(tmp_path: Path) -> None:
    workloads = {"on": TRACED.replace("ON", "True"), "off": TRACED.replace("ON", "False")}
    arms = run(tmp_path, workloads, code=5)
    assert reasons(arms["on"])["tracer-inflated"].startswith("sys.setprofile was on")
    assert reasons(arms["off"]) == {}


SINGLE = """
import firstlight, jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", WIDE)

def setup(case):
    step = jax.jit(lambda x: jnp.sin(x).sum() * FACTOR)
    return firstlight.Workload(step, (jnp.arange(8.0),), sync=jax.block_until_ready)
"""


def single(wide: str, factor: str = "1.0") -> str:
    return SINGLE.replace("WIDE", wide).replace("FACTOR", factor)


def findings(arm: dict[str, Any]) -> dict[str, str]:
    return {finding["finding"]: finding["text"] for finding in arm["findings"]}


def test_float64_asked_for_and_float32_run_is_a_finding(tmp_path: Path) -> None:
    workloads = {"wide": single("True"), "narrow": single("False")}
    arms = run(tmp_path, workloads, comparison='precision = "float64"')
    text = findings(arms["narrow"])["precision-differs"]
    assert text == "float64 was requested, the result is float32"
    assert findings(arms["wide"]) == {}
    [comparison] = arms["comparisons"]
    assert comparison["verdict"] == "invalid"


def test_an_arm_whose_result_differs_has_no_verdict(tmp_path: Path) -> None:
    workloads = {
        "right": single("False"),
        "same": single("False"),
        "wrong": single("False", "1.01"),
    }
    arms = run(tmp_path, workloads)
    assert arms["right"]["agreement"] == {"kind": "reference"}
    assert arms["same"]["agreement"] == {"kind": "equal"}
    assert arms["wrong"]["agreement"]["kind"] == "differs"
    assert "output-differs" in findings(arms["wrong"])
    verdicts = {one["arm"]: one["verdict"] for one in arms["comparisons"]}
    assert verdicts["wrong"] == "invalid"
    assert verdicts["same"] != "invalid", (arms["comparisons"], findings(arms["same"]))


CHANCE = """
import firstlight, os, jax, jax.numpy as jnp

def setup(case):
    # It stands for whatever makes a compiler take another road in another process.
    constant = float(os.getpid()) if CHANCE else 1.0
    step = jax.jit(lambda x: jnp.tanh(x + constant).sum())
    return firstlight.Workload(step, (jnp.arange(8.0),), sync=jax.block_until_ready)
"""


def test_programs_that_differ_from_process_to_process_are_revealed(tmp_path: Path) -> None:
    workloads = {
        "chance": CHANCE.replace("CHANCE", "True"),
        "fixed": CHANCE.replace("CHANCE", "False"),
    }
    arms = run(tmp_path, workloads, processes=2, comparison='outputs = "unchecked"')
    text = findings(arms["chance"])["nondeterministic-compile"]
    assert text == "jit(<lambda>) became 2 different programs in 2 processes"
    assert findings(arms["fixed"]) == {}


@pytest.mark.parametrize(("body", "state"), [("grow", "no-steady-state"), ("flat", None)])
def test_calls_that_never_settle_are_reported(tmp_path: Path, body: str, state: str | None) -> None:
    workload = f"""
import firstlight, time

def setup(case):
    calls = 0

    def step():
        nonlocal calls
        calls += 1
        time.sleep(0.001 * 1.1**calls if {body!r} == "grow" else 0.02)

    return firstlight.Workload(step)
"""
    arm = run(tmp_path, {"arm": workload})["arm"]
    [regime] = arm["regimes"]
    names = [notice["finding"] for notice in regime["notices"]]
    assert ("no-steady-state" in names) == (state is not None), regime["notices"]
    assert ("warm" in regime) == (state is None)


COLLECTED = """
import gc, firstlight

class Node:
    def __init__(self):
        self.self = self

kept = [[n] for n in range(300_000)]

def setup(case):
    def step():
        for _ in range(2000):
            Node()
        return 1

    def baseline():
        return 1

    return firstlight.Workload(step, baseline=baseline)
"""


def test_garbage_collections_are_recorded_and_shown_apart(tmp_path: Path) -> None:
    arm = run(tmp_path, {"collected": COLLECTED})["collected"]
    [sample] = arm["regimes"][0]["samples"]
    window = sample["window"]
    collector, overhead = window["collector"], window["overhead"]
    assert sum(collector["collections"]) > 0
    assert 0 < collector["per-call-ns"] < window["steady"]["mean-ns"]
    # Several collections may fall into one call.
    inside = collector["per-call-ns"] * window["steady"]["calls"]
    assert collector["longest-ns"] * sum(collector["collections"]) >= inside
    # The baseline makes no garbage, so all of it belongs to the overhead.
    assert 0 < overhead["collector-ns"] <= overhead["mean-ns"]
    assert overhead["median-ns"] > 0


def test_a_window_without_garbage_has_no_collections(tmp_path: Path) -> None:
    quiet = "import firstlight\ndef setup(case):\n    return firstlight.Workload(lambda: 1)\n"
    arm = run(tmp_path, {"quiet": quiet})["quiet"]
    [sample] = arm["regimes"][0]["samples"]
    assert sample["window"]["collector"]["per-call-ns"] == 0
