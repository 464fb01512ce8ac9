"""The runner's answers, over a real socket."""

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

import firstlight
from firstlight import runner
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


def test_iterations_come_in_one_block(tmp_path: Path) -> None:
    requests = [prepare(tmp_path), {"type": "iterate", "count": 5}, FINISH]
    _, messages = serve(tmp_path, WORKLOAD, requests)
    [iterations] = [message for message in messages if message["type"] == "iterations"]
    assert len(iterations["spans"]) == 5
    flat = [moment for span in iterations["spans"] for moment in span]
    assert flat == sorted(flat)


def test_a_refused_result_is_told(tmp_path: Path) -> None:
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

    one = {"a": Array([1, 2], "f4"), "b": [1, "x"]}
    assert runner.digest(one) == runner.digest({"b": [1, "x"], "a": Array([1, 2], "f4")})
    assert runner.digest(one) != runner.digest({"a": Array([1, 3], "f4"), "b": [1, "x"]})
    assert runner.digest(Array([1, 2], "f4")) != runner.digest(Array([1, 2], "f8"))


def test_a_mark_outside_firstlight_does_nothing() -> None:
    assert firstlight._current is None
    firstlight.mark("first-result")


def test_the_runner_is_not_started_by_hand() -> None:
    with pytest.raises(SystemExit, match="started by `firstlight run`"):
        runner.main()
