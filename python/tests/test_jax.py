"""Real JAX, unchanged scripts: phases, programs, caches and their proof."""

import sys
from pathlib import Path
from typing import Any, Callable

import pytest
from conftest import layer, ns

Cold = Callable[..., dict[str, Any]]

STEP = """
import jax, jax.numpy as jnp, numpy as np
import firstlight

@jax.jit
def inner(x):
    return jnp.tanh(x) * 2

@jax.jit
def step(w, x):
    return jax.value_and_grad(lambda w: (inner(x @ w) ** 2).mean())(w)

w, x = np.ones((64, 32), np.float32), np.ones((8, 64), np.float32)
jax.block_until_ready(step(w, x))
firstlight.mark("first-result")
"""


def test_a_clean_start_traces_lowers_and_compiles_and_hits_nothing(cold: Cold) -> None:
    document = cold(STEP, "--runs", "2", "--cache", "clean")
    for sample in document["samples"]:
        assert sample["valid"], sample["reasons"]
        for phase in ("import", "device-init", "trace", "lower", "compile", "run", "teardown"):
            assert ns(sample, phase) > 0, phase
        assert ns(sample, "cache-read") == 0
        jax = layer(sample, "jax")
        assert jax["before"]["entries"] == 0
        assert jax["hits"] == 0
        assert jax["requests"] == len(sample["compiles"]) == jax["after"]["entries"]
        assert sample["first-result"]["ns"] < sample["wall-ns"]
        names = {package["name"] for package in sample["packages"]}
        assert {"jax", "jaxlib", "numpy"} <= names


def test_a_program_is_listed_with_its_shapes_and_its_stages(cold: Cold) -> None:
    [sample] = cold(STEP, "--runs", "1", "--cache", "clean")["samples"]
    # The inner function is part of the outer program, not a program of its own.
    [program] = [row for row in sample["compiles"] if row["function"] == "jit(step)"]
    assert not [row for row in sample["compiles"] if "inner" in row["function"]]
    assert program["signature"] == "f32[64,32], f32[8,64]"
    assert program["cache"] == "miss"
    assert program["framework"] == "jax"
    for stage in ("trace-ns", "lower-ns", "compile-ns"):
        assert program[stage] > 0
    assert program["trace-ns"] + program["lower-ns"] + program["compile-ns"] < sample["wall-ns"]


def test_a_primed_cache_serves_every_program_and_nothing_compiles(cold: Cold) -> None:
    document = cold(STEP, "--runs", "2", "--cache", "primed")
    assert len(document["priming"]) == 1
    for sample in document["samples"]:
        assert sample["valid"], sample["reasons"]
        assert ns(sample, "compile") == 0
        assert ns(sample, "cache-read") > 0
        jax = layer(sample, "jax")
        assert jax["hits"] == jax["requests"] == len(sample["compiles"]) > 0
        assert jax["before"] == jax["after"]


def test_a_disabled_cache_is_not_asked_and_stays_empty(cold: Cold) -> None:
    [sample] = cold(STEP, "--runs", "1", "--cache", "disabled")["samples"]
    assert sample["valid"], sample["reasons"]
    jax = layer(sample, "jax")
    assert (jax["requests"], jax["after"]["entries"]) == (0, 0)
    assert {program["cache"] for program in sample["compiles"]} == {"off"}


def test_caches_as_found_are_reported_and_nothing_is_claimed(cold: Cold) -> None:
    [sample] = cold(STEP, "--runs", "1", "--cache", "as-found")["samples"]
    assert sample["valid"]
    assert {program["cache"] for program in sample["compiles"]} == {"off"}


def test_a_script_with_a_cache_of_its_own_is_refused_as_clean(cold: Cold, tmp_path: Path) -> None:
    left = tmp_path / "left"
    own = STEP.replace(
        "import firstlight\n",
        f"import firstlight\njax.config.update('jax_compilation_cache_dir', {str(left)!r})\n",
    )
    document = cold(own, "--runs", "5", code=5)
    assert document["summary"] is None
    # Every process would show the same, so none is started after the first.
    [sample] = document["samples"]
    assert not sample["valid"]
    [reason] = sample["reasons"]
    assert reason["finding"] == "cache-not-clean"
    assert reason["text"].startswith("the program keeps its jax cache in")
    assert str(left) in reason["text"]
    assert "`--cache as-found`" in reason["text"]
    # What was seen is shown all the same, and marked.
    assert document["invalid-summary"]["invalid"] == 1
    assert document["diagnosis"]
    assert cold(own, "--runs", "1", "--cache", "as-found")["summary"] is not None


def test_a_program_that_changes_each_time_is_refused_as_primed(cold: Cold) -> None:
    changing = STEP.replace("* 2", "* (2 + os.getpid())").replace("import jax,", "import os, jax,")
    document = cold(changing, "--runs", "1", "--cache", "primed", code=5)
    [sample] = document["samples"]
    text = "1 of 1 programs missed the primed jax cache: jit(step)"
    assert sample["reasons"] == [{"finding": "cache-never-hit", "text": text}]


def test_a_shape_that_changes_is_a_program_of_its_own(cold: Cold) -> None:
    again = STEP + "for n in (3, 5):\n    step(w, np.ones((n, 64), np.float32))\n"
    [sample] = cold(again, "--runs", "1")["samples"]
    shapes = [row["signature"] for row in sample["compiles"] if row["function"] == "jit(step)"]
    assert shapes == [f"f32[64,32], f32[{n},64]" for n in (8, 3, 5)]


def test_a_program_compiled_inside_a_trace_is_not_counted_twice(cold: Cold) -> None:
    nested = """
import jax, jax.numpy as jnp, numpy as np
@jax.jit
def outer(x):
    with jax.ensure_compile_time_eval():
        table = jnp.cumsum(jnp.arange(1000.0))
    return x + table.sum()
outer(np.float32(1)).block_until_ready()
"""
    [sample] = cold(nested, "--runs", "1")["samples"]
    names = [row["function"] for row in sample["compiles"]]
    assert "jit(outer)" in names
    assert len(names) > 1
    # The trace of `outer` holds the compilations inside it; each instant counts once.
    for stage in ("trace", "lower", "compile"):
        own = sum(row[f"{stage}-ns"] or 0 for row in sample["compiles"])
        assert own <= ns(sample, stage), stage


def test_a_start_without_a_configured_cache_pays_for_none(cold: Cold) -> None:
    document = cold(STEP, "--runs", "1")
    [sample] = document["samples"]
    assert sample["valid"], sample["reasons"]
    assert ns(sample, "cache-write") == 0
    assert layer(sample, "jax")["enabled"] is False
    assert {row["cache"] for row in sample["compiles"]} == {"off"}
    assert "compilation-cache-unused" in {line["finding"] for line in document["diagnosis"]}


def test_a_cache_that_the_environment_configures_is_on_private_and_empty(
    cold: Cold, tmp_path: Path
) -> None:
    variables = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "mine"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    [sample] = cold(STEP, "--runs", "1", **variables)["samples"]
    assert sample["valid"], sample["reasons"]
    assert layer(sample, "jax")["enabled"] is True
    assert layer(sample, "jax")["after"]["entries"] > 0
    assert not (tmp_path / "mine").exists()


CAUSES = {
    "f(jnp.ones(3)); f(jnp.ones(4))": "argument 0 (x) changed from f32[3] to f32[4]",
    "f(jnp.ones(())); f(1.0)": "argument 0 (x) changed from f32[] to f32[] (weak type)",
    "g(jnp.ones(3), 2); g(jnp.ones(3), 3)": "static argument 1 changed from 2 to 3",
    "f({'a': jnp.ones(3)}); f({'b': jnp.ones(3)})": "the structure of its arguments changed",
    "for n in (1, 2): jax.jit(lambda x: x)(jnp.ones(3))": (
        "a new function object was jitted, with the same types"
    ),
    "f(jnp.ones(3))\nwith jax.default_matmul_precision('highest'): f(jnp.ones(3))": (
        "the types are the same: a setting, a captured value or a device changed"
    ),
}


@pytest.mark.parametrize("calls", CAUSES)
def test_a_recompilation_has_its_cause(cold: Cold, calls: str) -> None:
    script = (
        "import jax, jax.numpy as jnp\n"
        "f = jax.jit(lambda x: jax.tree.map(jnp.tanh, x))\n"
        "g = jax.jit(lambda x, n: x * n, static_argnums=1)\n"
    )
    [sample] = cold(script + calls + "\n", "--runs", "1")["samples"]
    causes = [
        row["cause"] for row in sample["compiles"] if row.get("cause") and not row.get("op-by-op")
    ]
    assert causes == [CAUSES[calls]]


def test_operations_outside_any_jit_are_listed_apart_with_their_line(cold: Cold) -> None:
    script = """
import jax, jax.numpy as jnp

def init():
    return [jnp.ones((n, n)) @ jnp.ones((n, n)) for n in range(2, 9)]

init()
jax.jit(lambda x: x + 1)(jnp.float32(1))
"""
    document = cold(script, "--runs", "1")
    programs = document["samples"][0]["compiles"]
    eager = [row for row in programs if row.get("op-by-op")]
    assert len(eager) >= 7
    # From Python 3.12 on, a comprehension is part of the function around it.
    place = "init" if sys.version_info >= (3, 12) else "init.<locals>.<listcomp>"
    assert any(row["source"].endswith(f":5 ({place})") for row in eager)
    assert [row["function"] for row in programs if not row.get("op-by-op")] == ["jit(<lambda>)"]


def test_the_body_of_an_eager_scan_is_traced_and_not_run(cold: Cold) -> None:
    script = """
import time, jax, jax.numpy as jnp

def body(carry, x):
    time.sleep(0.2)
    return carry + x, carry

jax.lax.scan(body, jnp.float32(0), jnp.ones(5))
"""
    [sample] = cold(script, "--runs", "1")["samples"]
    assert ns(sample, "trace") >= 200_000_000
    assert ns(sample, "run") < 200_000_000


def test_a_framework_first_imported_on_a_thread_is_seen(cold: Cold) -> None:
    script = """
import threading

def load():
    import jax, numpy as np
    jax.jit(lambda x: x * 3)(np.float32(1)).block_until_ready()

thread = threading.Thread(target=load)
thread.start()
thread.join()
"""
    [sample] = cold(script, "--runs", "1")["samples"]
    assert [row["function"] for row in sample["compiles"]] == ["jit(<lambda>)"]
    assert {"import", "compile"} <= {row["phase"] for row in sample["background"]}


def test_compiling_on_another_thread_is_shown_and_not_summed(cold: Cold) -> None:
    threaded = """
import threading, jax, numpy as np
jax.devices()
def work():
    jax.jit(lambda x: x * 3)(np.float32(1)).block_until_ready()
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    [sample] = cold(threaded, "--runs", "1")["samples"]
    assert ns(sample, "compile") == 0
    assert {row["phase"] for row in sample["background"]} >= {"trace", "lower", "compile"}
    assert any(program["thread"] != 0 for program in sample["compiles"])


def test_an_exception_while_tracing_leaves_the_ledger_closed(cold: Cold) -> None:
    failing = """
import jax
@jax.jit
def f(x):
    raise ValueError("in the middle of a trace")
f(1.0)
"""
    [sample] = cold(failing, "--runs", "1", code=5)["samples"]
    assert not sample["valid"]
    assert "ValueError: in the middle of a trace" in sample["raw"]["streams"]["stderr-tail"]
    assert ns(sample, "trace") > 0


def test_compiling_and_running_have_their_own_peaks(cold: Cold) -> None:
    [sample] = cold(STEP, "--runs", "1")["samples"]
    peaks = {row["phase"]: row["peak-rss-bytes"] for row in sample["memory"]}
    assert peaks["compile"] > peaks["import"] > 0
    assert peaks["run"] > 0
    assert sample["peak-rss-bytes"] >= max(peaks.values())


def test_the_first_run_of_a_program_is_told_apart_and_later_ones_are_not_touched(
    cold: Cold,
) -> None:
    many = STEP + "for _ in range(200):\n    step(w, x)\n"
    [sample] = cold(many, "--runs", "1")["samples"]
    [row] = [row for row in sample["phases"] if row["name"] == "first-run"]
    assert [part["name"] for part in row["parts"]] == ["jit(step)"]
    begins = [
        message
        for message in sample["raw"]["messages"]
        if message["type"] == "phase" and message["name"] == "first-run"
    ]
    assert len(begins) == 2
