"""Windows measured in the test's own process, and blocks in which compilation is an error."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy
import pytest

import firstlight
from firstlight import _binary, _measure, _numbers, _recorder
from firstlight._pytest_cold import is_literal

OPTIONS = _measure.Options(calls=12, warm_up=2, within=5)


@pytest.fixture(autouse=True)
def no_collections() -> Iterator[None]:
    """Switch collections off: one in a window of a few microseconds would be a finding."""
    gc.disable()
    yield
    gc.enable()


def measured(step: Callable[[], Any], options: _measure.Options = OPTIONS) -> Any:
    return _measure.measure(step, (), {}, options)


def found(step: Callable[[], Any]) -> dict[str, str]:
    return {finding.name: finding.text for finding in measured(step).findings}


def test_a_window_has_its_calls_and_the_last_result() -> None:
    counter = count()
    window = measured(lambda: next(counter))
    assert (len(window.warm_up), len(window.calls)) == (2, 12)
    assert window.result == 13
    assert window.complete and window.valid()


def test_what_invalidates_a_window_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FIRSTLIGHT_TEST_SETTING", "0")
    numbers = count()
    changing = found(lambda: os.environ.update(FIRSTLIGHT_TEST_SETTING=str(next(numbers))))
    assert "config-changed-after-warmup" in changing

    (tmp_path / "late_module.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    calls = count()
    loading = found(lambda: next(calls) == 5 and __import__("late_module"))
    assert loading["load-inside-window"] == "late_module was imported while the window was open"

    before = sys.getprofile()
    try:
        tracing = found(lambda: sys.setprofile(lambda *_: None))
    finally:
        sys.setprofile(before)
    assert "tracer-inflated" in tracing


def test_collections_are_noted_and_do_not_invalidate() -> None:
    window = measured(gc.collect)
    assert [finding.name for finding in window.findings] == ["garbage-collection"]
    assert window.valid()


def test_calls_before_an_error_are_kept() -> None:
    calls = count()
    kept = _measure.Measurement()

    def step() -> None:
        assert next(calls) < 6

    with pytest.raises(AssertionError):
        _measure.measure(step, (), {}, OPTIONS, kept)
    assert len(kept.calls) == 4 and not kept.complete


def test_a_call_that_returns_too_early_is_found() -> None:
    import jax

    @jax.jit
    def work(x: Any) -> Any:
        return jax.lax.fori_loop(0, 60, lambda _, y: jax.numpy.tanh(y @ y), x)

    x = numpy.full((300, 300), 0.01, numpy.float32)
    unwaited = _measure.Options(calls=12, warm_up=2, within=20, sync=lambda result: None)
    early = _measure.measure(work, (x,), {}, unwaited)
    assert [finding.name for finding in early.findings if not finding.notice] == [
        "async-not-synchronised"
    ]
    waited = _measure.Options(calls=12, warm_up=2, within=20)
    assert _measure.measure(work, (x,), {}, waited).valid()


def test_a_window_that_compiles_is_not_followed_by_further_calls() -> None:
    import jax

    sizes = count(1)
    double = jax.jit(lambda x: x * 2)
    options = _measure.Options(calls=3, warm_up=2)
    window = measured(lambda: double(numpy.ones(next(sizes), numpy.float32)), options)
    assert [program.signature for program in window.programs] == ["f32[3]", "f32[4]", "f32[5]"]
    assert next(sizes) == 6
    assert not window.valid() and window.complete


def test_a_recompilation_raises_with_function_shapes_and_cause() -> None:
    import jax

    @jax.jit
    def double(x: Any) -> Any:
        return x * 2

    double(numpy.ones(3, numpy.float32))
    with firstlight.assert_no_recompile():
        double(numpy.ones(3, numpy.float32))
    with firstlight.assert_no_recompile("another"):
        double(numpy.ones(4, numpy.float32))
    with pytest.raises(firstlight.Recompiled) as raised, firstlight.assert_no_recompile("double"):
        double(numpy.ones(5, numpy.float32))
    [program] = raised.value.programs
    assert (program.function, program.signature) == ("double", "f32[5]")
    assert program.cause == "argument 0 (x) changed from f32[4] to f32[5]"
    assert str(program.source).startswith("test_warm_in_process.py:")
    assert "1 program was compiled in this block" in str(raised.value)
    assert isinstance(raised.value, AssertionError)


def test_numba_is_watched_too() -> None:
    import numba

    @numba.njit  # type: ignore[untyped-decorator]
    def triple(x: Any) -> Any:
        return x * 3

    triple(1)
    with firstlight.assert_no_recompile():
        triple(2)
    with pytest.raises(firstlight.Recompiled) as raised, firstlight.assert_no_recompile():
        triple(2.0)
    [program] = raised.value.programs
    assert (program.function, program.signature) == ("triple", "float64")


def test_an_error_in_the_block_is_not_hidden_by_a_recompilation() -> None:
    import jax

    with pytest.raises(KeyError), firstlight.assert_no_recompile():
        jax.jit(lambda x: x + 3)(numpy.ones(3))
        raise KeyError("mine")
    assert _recorder.recorder().recordings == []


def test_an_adapter_that_sees_nothing_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_recorder, "ADAPTERS", (("json", "missing"),))
    blind = _recorder.Recorder()
    monkeypatch.setattr(_recorder, "_recorder", blind)
    unseen = pytest.raises(RuntimeError, match="cannot see what is compiled: missing: ")
    with unseen, firstlight.assert_no_recompile():
        pass
    window = measured(lambda: None)
    assert [finding.name for finding in window.findings] == ["adapter-failed"]
    assert not window.valid()


def test_a_detail_that_a_version_does_not_have_is_only_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_recorder, "ADAPTERS", ())
    partial = _recorder.Recorder()
    monkeypatch.setattr(_recorder, "_recorder", partial)
    partial.attaching = True
    partial.event("adapter-failed", adapter="jax", error="no module x")
    partial.attaching = False
    with firstlight.assert_no_recompile():
        pass
    window = measured(lambda: None)
    assert [finding.text for finding in window.findings] == ["jax: no module x"]
    assert window.valid()
    partial.event("adapter-failed", adapter="jax", error="a listener broke")
    assert not measured(lambda: None).valid()


def test_blocks_nest_and_threads_are_seen() -> None:
    import jax

    outer = firstlight.assert_no_recompile()
    outer.__enter__()
    with pytest.raises(firstlight.Recompiled), firstlight.assert_no_recompile():
        function = jax.jit(lambda x: x + 5)
        thread = threading.Thread(target=function, args=(numpy.ones(2),))
        thread.start()
        thread.join()
    with pytest.raises(firstlight.Recompiled):
        outer.__exit__(None, None, None)


def test_a_framework_imported_in_the_block_is_no_proof() -> None:
    script = (
        "import firstlight, sys\n"
        "with firstlight.assert_no_recompile():\n    pass\n"
        "assert not {'jax', 'numpy', 'torch'} & set(sys.modules)\n"
        "try:\n"
        "    with firstlight.assert_no_recompile():\n"
        "        import jax\n"
        "        jax.jit(lambda x: x + 1)(1.0)\n"
        "except RuntimeError as error:\n    print(error)\n"
    )
    assert "jax was imported in this block" in run(sys.executable, script)


def test_the_first_use_of_torch_compile_in_the_block_is_seen(torch_python: Path) -> None:
    script = (
        "import firstlight, sys, torch\n"
        "assert 'torch._dynamo.utils' not in sys.modules\n"
        "try:\n"
        "    with firstlight.assert_no_recompile():\n"
        "        step = torch.compile(lambda x: x + 1, backend='eager')\n"
        "        step(torch.ones(3))\n"
        "except firstlight.Recompiled as error:\n    print(error)\n"
        "with firstlight.assert_no_recompile():\n"
        "    step(torch.ones(3))\n"
        "print('and no more')\n"
    )
    printed = run(str(torch_python), script)
    assert "compiled in this block: 1 graph of torch.compile" in printed
    assert printed.endswith("and no more\n")


def run(python: str, script: str) -> str:
    package = str(Path(firstlight.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": package, "JAX_PLATFORMS": "cpu"}
    command = [python, "-c", script]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_intervals_cover_the_median_with_95_percent() -> None:
    for blocks in range(1, _numbers.BLOCKS + 1):
        rank = _numbers.RANKS.get(blocks)
        tails = [
            2 * sum(math.comb(blocks, k) for k in range(r)) / 2**blocks
            for r in range(1, blocks // 2 + 1)
        ]
        allowed = [place for place, tail in enumerate(tails, start=1) if tail <= 0.05]
        assert rank == (allowed[-1] if allowed else None), blocks
    assert _numbers.interval([5.0] * 5) is None
    assert _numbers.interval(list(range(2000))) == (549.5, 1449.5)


def test_numbers_have_three_digits_and_tables_fit() -> None:
    shown = [_numbers.duration(ns) for ns in (7, 999.6, 12_345, 999_400, 1_234_567, 61e9)]
    assert shown == ["7.00 ns", "1.00 µs", "12.3 µs", "999 µs", "1.23 ms", "61.0 s"]
    rows = [("test", "median", "findings"), ("a" * 90, "1 ms", "word " * 30)]
    lines = _numbers.table(rows, 60)
    assert max(map(len, lines)) <= 60
    assert "".join(lines).count("word") == 30


def test_literals_are_values_that_python_source_can_hold() -> None:
    plain = [None, 1, 2.5, "µ", b"x", (1, [2]), {"a": {3}}, True, 1j]
    assert all(map(is_literal, plain))
    assert [value for value in plain if eval(repr(value)) != value] == []
    assert not any(map(is_literal, [float("nan"), object(), set(), numpy.float64(1), [object()]]))


FAKE = """#!{python}
import signal, sys, time
def stop(*_):
    open({kept!r}, "w").write("kept")
    sys.exit(130)
signal.signal(signal.SIGINT, stop)
open({ready!r}, "w").close()
time.sleep(600)
"""


def test_ctrl_c_reaches_the_program_and_waits_until_it_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, ready = tmp_path / "kept", tmp_path / "ready"
    program = tmp_path / "firstlight"
    program.write_text(FAKE.format(python=sys.executable, kept=str(kept), ready=str(ready)))
    program.chmod(0o755)
    monkeypatch.setattr(_binary, "find", lambda: str(program))

    def interrupt() -> None:
        while not ready.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), 2)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        _binary.run(["cold"])
    thread.join()
    assert kept.read_text() == "kept"


def test_the_program_beside_the_interpreter_comes_before_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("environment", "path"):
        (tmp_path / name).mkdir()
        program = tmp_path / name / "firstlight"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "environment" / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / "none"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert _binary.find() == str(tmp_path / "environment" / "firstlight")
    (tmp_path / "environment" / "firstlight").unlink()
    assert _binary.find() == str(tmp_path / "path" / "firstlight")
    (tmp_path / "path" / "firstlight").unlink()
    with pytest.raises(_binary.BinaryError, match="cannot find the program `firstlight`"):
        _binary.find()
