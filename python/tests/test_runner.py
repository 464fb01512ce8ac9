"""The runner's answers, over a real socket."""

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

import firstlight
from firstlight import _outputs, runner
from firstlight._channel import Channel
from firstlight.protocol import Conversation

WORKLOAD = """
import firstlight

def setup(case):
    def step(a, b):
        return {"sum": a + b + case["extra"], "name": case["name"]}
    return firstlight.Workload(step, (1,), {"b": 2}, check=lambda result: result["sum"] == 13)
"""


def serve(folder: Path, workload: str, requests: list[dict[str, Any]]) -> tuple[int, list[Any]]:
    """Answers the requests, and checks the conversation against the protocol."""
    (folder / "work.py").write_text(workload)
    reader, writer = socket.socketpair()
    conversation = Conversation()
    asked = b"".join(json.dumps(request).encode() + b"\n" for request in requests)
    for request in requests:
        conversation.asked(json.dumps(request).encode())
    channel = Channel(os.dup(writer.fileno()), asked)
    hello = {"protocol": {"major": 1, "minor": 0}, "role": "runner", "pid": 1}
    channel.send("hello", language="python", runtime="x", at=1, **hello)
    code = runner.serve(channel)
    channel.send("bye", at=2)
    writer.close()
    channel_fd, channel._fd = channel._fd, -1
    os.close(channel_fd)
    data = b""
    while chunk := reader.recv(1 << 16):
        data += chunk
    for line in data.splitlines():
        conversation.said(line)
    return code, [json.loads(line) for line in data.splitlines()]


def prepare(folder: Path) -> dict[str, Any]:
    return {
        "type": "prepare",
        "workload": str(folder / "work.py"),
        "case": "small",
        "parameters": {"extra": 10, "deep": True},
        "arm": "plain",
        "options": {"name": "µ"},
    }


FIRST = {"type": "first"}
FINISH = {"type": "finish"}


def test_a_cold_start_is_answered(tmp_path: Path) -> None:
    code, messages = serve(tmp_path, WORKLOAD, [prepare(tmp_path), FIRST, FINISH])
    assert code == 0
    kinds = [message["type"] for message in messages if message["type"] not in ("phase", "memory")]
    assert kinds == ["hello", "ready", "event", "iterations", "output", "bye"]
    [mark] = [message for message in messages if message["type"] == "event"]
    [iterations] = [message for message in messages if message["type"] == "iterations"]
    [output] = [message for message in messages if message["type"] == "output"]
    assert mark["event"] == {"kind": "mark", "name": "first-result"}
    assert mark["at"] == iterations["spans"][0][1]
    assert output["check"] == "passed"
    assert output["digest"].startswith("sha256:")


def test_iterations_travel_in_blocks_between_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "BLOCK", 2)
    requests = [prepare(tmp_path), {"type": "iterate", "count": 5}, FINISH]
    _, messages = serve(tmp_path, WORKLOAD, requests)
    blocks = [message for message in messages if message["type"] == "iterations"]
    assert [len(block["spans"]) for block in blocks] == [2, 2, 1]
    assert [block["last"] for block in blocks] == [False, False, True]
    assert {block["part"] for block in blocks} == {"window"}
    flat = [moment for block in blocks for span in block["spans"] for moment in span]
    assert flat == sorted(flat)


def test_the_answer_is_complete_when_the_last_block_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "BLOCK", 2)
    requests = [prepare(tmp_path), {"type": "iterate", "count": 4}, FINISH]
    _, messages = serve(tmp_path, WORKLOAD, requests)
    blocks = [message for message in messages if message["type"] == "iterations"]
    assert [len(block["spans"]) for block in blocks] == [2, 2]
    assert blocks[-1]["last"]


def test_no_call_begins_after_its_time_and_one_is_always_made(tmp_path: Path) -> None:
    requests = [prepare(tmp_path), {"type": "iterate", "count": 5, "within-ns": 0}, FINISH]
    _, messages = serve(tmp_path, WORKLOAD, requests)
    [block] = [message for message in messages if message["type"] == "iterations"]
    assert len(block["spans"]) == 1 and block["last"]


def test_a_warm_up_is_so_many_calls_or_the_workloads_own(tmp_path: Path) -> None:
    requests = [prepare(tmp_path), {"type": "warm-up", "count": 3}, FINISH]
    _, messages = serve(tmp_path, WORKLOAD, requests)
    [block] = [message for message in messages if message["type"] == "iterations"]
    assert block["part"] == "warm-up" and len(block["spans"]) == 3
    own = WORKLOAD.replace("check=", "warmup=lambda: None, check=")
    _, messages = serve(tmp_path, own, requests)
    [block] = [message for message in messages if message["type"] == "iterations"]
    assert len(block["spans"]) == 1


WINDOW = [{"type": "warm-up", "count": 1}, {"type": "iterate", "count": 2}]


def events(folder: Path, workload: str, kind: str) -> list[dict[str, Any]]:
    """Return the events of a workload's window."""
    _, messages = serve(folder, workload, [prepare(folder), *WINDOW, FINISH])
    found = [message["event"] for message in messages if message["type"] == "event"]
    return [event for event in found if event["kind"] == kind]


def step(body: str) -> str:
    return (
        "import gc, os, sys, firstlight\ncount = 0\n"
        "def setup(case):\n"
        "    def step():\n"
        "        global count\n"
        "        count += 1\n"
        f"        {body}\n"
        "    return firstlight.Workload(step)\n"
    )


def test_a_setting_that_changes_after_the_warm_up_is_told_and_no_secret_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRSTLIGHT_TEST_KEY", "old secret")
    body = "count == 2 and os.environ.update(FIRSTLIGHT_TEST_KEY='new secret')"
    [changed] = events(tmp_path, step(body), "config-changed")
    assert changed["name"] == "environment FIRSTLIGHT_TEST_KEY"
    assert (changed["before"], changed["after"]) == ("set", "set to another value")


def test_a_setting_that_changes_in_the_warm_up_is_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRSTLIGHT_TEST_KEY", "old")
    body = "os.environ.update(FIRSTLIGHT_TEST_KEY='new')"
    assert events(tmp_path, step(body), "config-changed") == []


def test_a_tracer_in_the_window_is_reported(tmp_path: Path) -> None:
    before = sys.getprofile()
    try:
        reported = events(tmp_path, step("sys.setprofile(lambda *_: None)"), "tracer")
    finally:
        sys.setprofile(before)
    assert {"kind": "tracer", "name": "sys.setprofile"} in reported


def test_bytes_read_in_the_window_are_counted(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"x" * 3_000_000)
    [reads] = events(
        tmp_path, step(f"open({str(tmp_path / 'data')!r}, 'rb').read()"), "window-reads"
    )
    assert 6_000_000 <= reads["bytes"] < 6_100_000
    [reads] = events(tmp_path, step("pass"), "window-reads")
    assert reads["bytes"] < 100_000


def test_settling_tells_what_was_left_running(tmp_path: Path) -> None:
    requests = [prepare(tmp_path), {"type": "settle", "count": 2}, FINISH]
    _, messages = serve(tmp_path, WORKLOAD, requests)
    [settled] = [message for message in messages if message["type"] == "settled"]
    assert len(settled["spans"]) == 2


def test_settling_ends_with_its_time_but_not_before_the_fewest_calls(tmp_path: Path) -> None:
    settle = {"type": "settle", "count": 9, "within-ns": 0, "at-least": 4}
    _, messages = serve(tmp_path, WORKLOAD, [prepare(tmp_path), settle, FINISH])
    [settled] = [message for message in messages if message["type"] == "settled"]
    assert len(settled["spans"]) == 4


def test_what_is_compared_may_be_a_part_of_the_result(tmp_path: Path) -> None:
    chosen = WORKLOAD.replace("check=", "output=lambda result: result['sum'], check=")
    _, messages = serve(tmp_path, chosen, [prepare(tmp_path), FIRST, FINISH])
    [output] = [message for message in messages if message["type"] == "output"]
    [leaf] = output["leaves"]
    assert (leaf["dtype"], leaf["values"]) == ("python int", [13.0])


def test_an_output_that_raises_is_told_and_the_process_goes_on(tmp_path: Path) -> None:
    raising = WORKLOAD.replace("check=", "output=lambda result: result['no'], check=")
    code, messages = serve(tmp_path, raising, [prepare(tmp_path), FIRST, FINISH])
    [output] = [message for message in messages if message["type"] == "output"]
    assert code == 0
    assert (output["check"], output["error"]) == ("failed", "output: KeyError: 'no'")


def test_calls_before_one_that_raises_are_not_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raising = step("assert count < 4")
    requests = [prepare(tmp_path), {"type": "iterate", "count": 9}, FINISH]
    code, messages = serve(tmp_path, raising, requests)
    [block] = [message for message in messages if message["type"] == "iterations"]
    assert code == 1 and len(block["spans"]) == 3
    assert "AssertionError" in capsys.readouterr().err


def test_a_window_has_at_least_so_many_calls(tmp_path: Path) -> None:
    asked = {"type": "iterate", "count": 9, "within-ns": 0, "at-least": 4}
    _, messages = serve(tmp_path, WORKLOAD, [prepare(tmp_path), asked, FINISH])
    [block] = [message for message in messages if message["type"] == "iterations"]
    assert len(block["spans"]) == 4


def test_what_has_no_value_has_no_digest_and_what_has_one_needs_no_jax() -> None:
    digest, leaves, unread = _outputs.describe([object(), 3.0])
    assert (digest, len(leaves), unread) == (None, 1, 1)
    assert _outputs.describe(None)[0] != _outputs.describe([None])[0] is not None
    assert _outputs.describe("a")[0] != _outputs.describe("b")[0]


def test_a_refused_result_is_reported(tmp_path: Path) -> None:
    wrong = WORKLOAD.replace("== 13", "== 14")
    _, messages = serve(tmp_path, wrong, [prepare(tmp_path), FIRST, FINISH])
    [output] = [message for message in messages if message["type"] == "output"]
    assert output["check"] == "failed"


def test_an_exception_is_told_with_its_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raising = "def setup(case):\n    raise ValueError('no')\n"
    code, messages = serve(tmp_path, raising, [prepare(tmp_path), FIRST, FINISH])
    assert code == 1
    [failed] = [message for message in messages if message["type"] == "failed"]
    assert failed["error"] == "ValueError: no"
    assert "in setup" in failed["traceback"]
    assert "ValueError: no" in capsys.readouterr().err


def test_a_missing_parameter_names_those_there_are(tmp_path: Path) -> None:
    asks = "def setup(case):\n    return case['width']\n"
    _, messages = serve(tmp_path, asks, [prepare(tmp_path), FIRST, FINISH])
    [failed] = [message for message in messages if message["type"] == "failed"]
    assert "the suite gives case small and arm plain only: extra, deep, name" in failed["error"]


def test_equal_results_have_equal_digests_and_others_do_not() -> None:
    class Array:
        """Enough of an array for the digest."""

        def __init__(self, values: list[float], dtype: str) -> None:
            self.values, self.dtype = values, dtype

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            import numpy

            return numpy.array(self.values, self.dtype)

    def digest(result: Any) -> str | None:
        return _outputs.describe(result)[0]

    one = {"a": Array([1, 2], "f4"), "b": [1, "x"]}
    assert digest(one) == digest({"b": [1, "x"], "a": Array([1, 2], "f4")})
    assert digest(one) != digest({"a": Array([1, 3], "f4"), "b": [1, "x"]})
    assert digest(Array([1, 2], "f4")) != digest(Array([1, 2], "f8"))
    _, [leaf], unread = _outputs.describe(Array([3, float("nan"), 4], "f4"))
    assert (leaf["dtype"], leaf["shape"], unread) == ("float32", [3], 0)
    assert leaf["norm"] == 12.5**0.5, "of the finite elements"
    assert str(leaf["values"]) == "[3.0, nan, 4.0]"
    found = leaf["not-finite"]
    assert isinstance(found, dict)
    assert (found["nan"], found["positive"], found["negative"]) == (1, 0, 0)


def test_a_mark_outside_firstlight_does_nothing() -> None:
    assert firstlight._current is None
    firstlight.mark("first-result")


def test_the_runner_is_not_started_by_hand() -> None:
    with pytest.raises(SystemExit, match="started by `firstlight run`"):
        runner.main()


ARRAYS = """
import functools
import numpy
import firstlight

class Arm:
    def __init__(self):
        self.table = numpy.zeros((10, 3))

    def step(self, weights, scale, rows):
        return weights["w"].sum() * scale + self.table.sum()

def setup(case):
    weights = {"w": numpy.zeros((4, 5), "float32"), "b": numpy.zeros(5, "float32")}
    tied = [weights["w"]]
    inner = functools.partial(Arm().step, rows=numpy.arange(7, dtype="int32"))
    def step(weights, scale):
        return inner(weights, scale) + len(tied)
    return firstlight.Workload(step, (weights,), {"scale": 2})
"""


def outputs(messages: list[Any]) -> list[dict[str, Any]]:
    return [message for message in messages if message["type"] == "output"]


def test_arrays_of_arguments_closures_and_the_suites_own_objects_are_counted_once(
    tmp_path: Path,
) -> None:
    again = {"type": "iterate", "count": 2}
    _, messages = serve(tmp_path, ARRAYS, [prepare(tmp_path), FIRST, again, FINISH])
    first, second = outputs(messages)
    assert first["inputs"] == [
        {"dtype": "float32", "arrays": 2, "elements": 25},
        {"dtype": "float64", "arrays": 1, "elements": 30},
        {"dtype": "int32", "arrays": 1, "elements": 7},
    ]
    assert "parameters" not in first, "NumPy does not distinguish them"
    assert "inputs" not in second, "one report per process"


def test_a_step_that_reaches_too_much_has_no_count(tmp_path: Path) -> None:
    endless = ARRAYS.replace("tied = [", "tied = [[] for _ in range(30_000)] + [")
    _, messages = serve(tmp_path, endless, [prepare(tmp_path), FIRST, FINISH])
    [output] = outputs(messages)
    assert "inputs" not in output
    assert output["leaves"], "the result is described nevertheless"


def test_jax_pytrees_and_what_a_jitted_function_closes_over_are_counted(tmp_path: Path) -> None:
    jitted = """
import jax, jax.numpy as jnp
import firstlight

def setup(case):
    inputs = jnp.ones((8, 3), jnp.bfloat16)
    @jax.jit
    def step(weights, key):
        return (inputs @ weights[0]["w"]).sum()
    weights = [{"w": jnp.ones((3, 2), jnp.float32)}]
    return firstlight.Workload(step, (weights, jax.random.key(1)), sync=jax.block_until_ready)
"""
    _, messages = serve(tmp_path, jitted, [prepare(tmp_path), FIRST, FINISH])
    [output] = outputs(messages)
    assert output["inputs"] == [
        {"dtype": "bfloat16", "arrays": 1, "elements": 24},
        {"dtype": "float32", "arrays": 1, "elements": 6},
        {"dtype": "key<fry>", "arrays": 1, "elements": 1},
    ]
