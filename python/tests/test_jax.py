"""Real JAX, unchanged scripts: phases, programs, caches and their proof."""

from pathlib import Path
from typing import Any, Callable

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
    document = cold(STEP, "--runs", "2")
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
    [sample] = cold(STEP, "--runs", "1")["samples"]
    # The inner function is part of the outer program and is no program of its own.
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
    document = cold(own, "--runs", "2", code=5)
    assert document["summary"] is None
    for sample in document["samples"]:
        assert not sample["valid"]
        [reason] = sample["reasons"]
        assert reason.startswith("cache-not-clean: the program keeps its jax cache in")
        assert str(left) in reason
    # The second process was served from what the first one left.
    assert layer(document["samples"][1], "jax")["hits"] > 0


def test_a_program_that_changes_each_time_is_refused_as_primed(cold: Cold) -> None:
    changing = STEP.replace("* 2", "* (2 + os.getpid())").replace("import jax,", "import os, jax,")
    document = cold(changing, "--runs", "1", "--cache", "primed", code=5)
    [sample] = document["samples"]
    assert sample["reasons"] == [
        "cache-never-hit: 1 of 1 programs missed the primed jax cache: jit(step)"
    ]


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
    # The trace of `outer` holds the compilations inside it; the ledger books them once.
    [outer] = [row for row in sample["compiles"] if row["function"] == "jit(outer)"]
    assert ns(sample, "trace") < outer["trace-ns"]


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
