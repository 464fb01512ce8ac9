"""The hand-written JSON is valid, and the channel never harms its process."""

import json
import os
import socket

import pytest

from firstlight._channel import Channel, encode, quote


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        'a "quoted" one',
        "back\\slash",
        "line\nbreak\ttab\r",
        "µs → ∞",
        "𝄞",
        "\x00\x1f\x7f",
        "\ud800",
    ],
)
def test_a_quoted_string_is_read_back(text: str) -> None:
    assert json.loads(quote(text)) == text
    assert quote(text).isascii()


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, -5, 2**63, 0.5, 1e-300, "x", [], {}, [1, [2, "a"]], {"a": {"b": None}}],
)
def test_an_encoded_value_is_read_back(value: object) -> None:
    assert json.loads(encode(value)) == value


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_what_is_not_a_number_is_null(value: float) -> None:
    assert encode(value) == "null"


def test_unknown_objects_are_named() -> None:
    assert json.loads(encode({"kind": ValueError("x")})) == {"kind": "x"}


def lines(reader: socket.socket) -> list[dict[str, object]]:
    reader.setblocking(False)
    return [json.loads(line) for line in reader.recv(1 << 20).splitlines()]


def test_phases_come_as_lines_with_the_memory_at_their_end() -> None:
    reader, writer = socket.socketpair()
    channel = Channel(os.dup(writer.fileno()))
    channel.begin("compile", "f")
    channel.end("compile", "f", {"cache": "miss"})
    begin, end, memory = lines(reader)
    assert (begin["edge"], begin["name"], begin["label"]) == ("begin", "compile", "f")
    assert end["detail"] == {"cache": "miss"}
    assert memory["phase"] == "compile"
    assert isinstance(memory["peak-rss-bytes"], int)
    assert memory["peak-rss-bytes"] > 1_000_000


def test_a_parent_that_has_gone_is_no_error() -> None:
    reader, writer = socket.socketpair()
    channel = Channel(os.dup(writer.fileno()))
    reader.close()
    writer.close()
    for _ in range(3):
        channel.begin("run")
    assert channel.read() == b""


def test_a_descriptor_that_became_another_file_is_left_alone(tmp_path: object) -> None:
    _, writer = socket.socketpair()
    fd = os.dup(writer.fileno())
    channel = Channel(fd)
    file = os.open(os.path.join(str(tmp_path), "own"), os.O_RDWR | os.O_CREAT)
    os.dup2(file, fd)
    channel.begin("run")
    assert os.fstat(file).st_size == 0
