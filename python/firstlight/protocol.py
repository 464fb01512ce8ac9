"""Check conversations of the runner protocol: type, sender and order of messages.

The measured process never imports this; tests and other implementations do. Its verdicts equal
those of the Rust side on every conversation in ``fixtures/protocol``.
"""

from __future__ import annotations

import json
from typing import Any, Callable

from ._channel import PROTOCOL

LONGEST_LINE = 4 << 20

PHASES = (
    "spawn launcher interpreter probe import device-init setup trace lower compile cache-read "
    "cache-write first-run warm-up window run children teardown unattributed"
).split()
LAYERS = (
    "jax xla-autotune inductor inductor-fx-graph inductor-aot-autograd triton cuda numba bytecode "
    "page-cache"
).split()


class ProtocolError(ValueError):
    """A line that breaks the protocol."""


Check = Callable[[Any], bool]


def _integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64


def _count(value: Any) -> bool:
    return _integer(value) and value < 1 << 32


def _signed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _one_of(*known: str) -> Check:
    return lambda value: value in known


def _optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _row(*checks: Check) -> Check:
    return lambda value: (
        isinstance(value, list)
        and len(value) == len(checks)
        and all(check(item) for check, item in zip(checks, value))
    )


def _map_of(check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _record(**fields: Check) -> Check:
    """An object; a field whose name ends in an underscore is optional."""

    def check(value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        for name, field in fields.items():
            key = name.rstrip("_").replace("_", "-")
            if key in value:
                if not field(value[key]):
                    return False
            elif not name.endswith("_"):
                return False
        return True

    return check


def _scalar(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str))


_VERSION = _record(major=_integer, minor=_integer)
_DETAIL = _record(
    framework_=_optional(_text),
    function_=_optional(_text),
    signature_=_optional(_text),
    digest_=_optional(_text),
    changed_=_optional(_text),
    cause_=_optional(_text),
    source_=_optional(_text),
    op_by_op_=_optional(_flag),
    cache_=_optional(_one_of("hit", "miss", "off")),
)
_EVENTS = {
    "mark": _record(name=_text),
    "framework": _record(name=_text, version=_text),
    "device": _record(platform=_text, devices=_list_of(_text)),
    "cache-config": _record(
        layer=_one_of(*LAYERS),
        directory_=_optional(_text),
        enabled=_flag,
        min_compile_seconds_=_optional(_number),
        min_entry_bytes_=_optional(_signed),
    ),
    "cache-counts": _record(layer=_one_of(*LAYERS), hits=_integer, misses=_integer),
    "adapter-failed": _record(adapter=_text, error=_text),
    "config-changed": _record(name=_text, before=_text, after=_text),
    "window-reads": _record(bytes=_integer),
    "tracer": _record(name=_text),
    "program-hash": _record(function=_text, digest_=_optional(_text), hash=_text),
    "exec": _record(command=_text),
    "no-bytecode": _record(why=_text),
    "collections": _record(spans=_list_of(_row(_count, _integer, _integer)), unlisted_=_integer),
}


def _event(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    check = _EVENTS.get(str(value.get("kind")))
    return check is not None and check(value)


_DEVICE_MEMORY = _record(
    device=_text, in_use_bytes_=_optional(_integer), peak_bytes_=_optional(_integer)
)
_LEAF = _record(
    dtype=_text,
    digest_=_optional(_text),
    shape=_list_of(_integer),
    norm_=_optional(_number),
    values=_list_of(_optional(_number)),
    path_=_optional(_text),
    sketch_=_optional(_record(sums=_list_of(_number))),
    not_finite_=_optional(
        _record(nan=_integer, positive=_integer, negative=_integer, digest=_text)
    ),
)
_ARRAYS = _list_of(_record(dtype=_text, arrays=_integer, elements=_integer))
MESSAGES: dict[str, Check] = {
    "hello": _record(
        protocol=_VERSION,
        role=_one_of("hooks", "runner"),
        pid=_integer,
        language=_text,
        runtime=_text,
        executable_=_optional(_text),
        started_=_optional(_integer),
        at=_integer,
    ),
    "phase": _record(
        edge=_one_of("begin", "end"),
        name=_one_of(*PHASES),
        label_=_optional(_text),
        at=_integer,
        thread=_integer,
        detail_=_optional(_DETAIL),
    ),
    "imports": _record(
        thread=_integer,
        segments=_list_of(_row(_text, _integer, _integer)),
        cumulative=_map_of(_integer),
        sources=_integer,
        sources_ns=_integer,
    ),
    "event": _record(at=_integer, event=_event),
    "memory": _record(
        at=_integer,
        phase=_one_of(*PHASES),
        rss_bytes=_integer,
        peak_rss_bytes=_integer,
        devices_=_list_of(_DEVICE_MEMORY),
    ),
    "ready": _record(at=_integer),
    "iterations": _record(
        part_=_one_of("first", "warm-up", "window", "baseline"),
        last_=_flag,
        spans=_list_of(_row(_integer, _integer)),
    ),
    "settled": _record(spans=_list_of(_row(_integer, _integer, _integer, _integer))),
    "output": _record(
        check=_one_of("passed", "failed", "not-given"),
        error_=_optional(_text),
        digest_=_optional(_text),
        leaves_=_list_of(_LEAF),
        unread_=_integer,
        parameters_=_ARRAYS,
        inputs_=_ARRAYS,
    ),
    "failed": _record(at=_integer, error=_text, traceback=_text),
    "bye": _record(at=_integer),
}
REQUESTS: dict[str, Check] = {
    "watch": _record(),
    "prepare": _record(
        workload_=_optional(_text),
        case=_text,
        parameters=_map_of(_scalar),
        arm=_text,
        options=_map_of(_scalar),
    ),
    "first": _record(),
    "warm-up": _record(count=_count, within_ns_=_optional(_integer)),
    "iterate": _record(count=_count, within_ns_=_optional(_integer), at_least_=_count),
    "settle": _record(count=_count, within_ns_=_optional(_integer), at_least_=_count),
    "finish": _record(),
}


class Conversation:
    """The state of one conversation. Pass it requests and messages in order."""

    def __init__(self) -> None:
        self._hello: dict[str, Any] | None = None
        self._gone = False
        self._replaced = False
        self._open: list[tuple[int, str, int]] = []
        self._owed = {"ready": 0, "iterations": 0, "settled": 0, "output": 0}
        # The number of calls of each request, the number made so far, and the end of the last one.
        self._counts: dict[str, list[int]] = {"iterations": [], "settled": []}
        self._made = {"window": 0, "baseline": 0}
        self._last = {"window": 0, "baseline": 0}

    def asked(self, line: bytes) -> None:
        """Check a request; an unknown or malformed one is rejected."""
        request = _parse(line, REQUESTS)
        kind = request["type"]
        count = max(int(request.get("count", 1)), 1)
        if kind == "prepare":
            self._owed["ready"] += 1
        elif kind in ("first", "warm-up", "iterate"):
            self._owed["iterations"] += 1
            self._counts["iterations"].append(count)
        elif kind == "settle":
            self._owed["settled"] += 1
            self._counts["settled"].append(count)

    def said(self, line: bytes) -> None:
        """Check a message of the measured process, or reject it."""
        if len(line) > LONGEST_LINE:
            raise ProtocolError("a line of %d bytes is longer than allowed" % len(line))
        newer = self._hello is not None and self._hello["protocol"]["minor"] > PROTOCOL[1]
        try:
            message = _parse(line, MESSAGES)
        except ProtocolError:
            if newer and _is_tagged(line):
                return
            raise
        kind = message["type"]
        if kind == "hello":
            self._greet(message)
            return
        self._replaced = kind == "event" and message["event"]["kind"] == "exec"
        if self._hello is None:
            raise ProtocolError("`%s` came before hello" % kind)
        if self._gone:
            raise ProtocolError("`%s` came after bye" % kind)
        self._check(kind, message, self._hello["role"])

    def _greet(self, hello: dict[str, Any]) -> None:
        if hello["protocol"]["major"] != PROTOCOL[0]:
            raise ProtocolError("another major version")
        left = self._gone or self._replaced
        if self._hello is not None and not (left and hello["role"] == "hooks"):
            raise ProtocolError("a second hello")
        self._hello, self._gone, self._open = hello, False, []
        self._owed["output"] = 0

    def _check(self, kind: str, message: dict[str, Any], role: str) -> None:
        if kind == "phase":
            self._step(message)
        elif kind == "imports":
            if any(end < begin for _, begin, end in message["segments"]):
                raise ProtocolError("an import ends before it begins")
        elif kind == "bye":
            self._gone = True
        elif kind in self._owed:
            self._answer(kind, message, role)

    def _answer(self, kind: str, message: dict[str, Any], role: str) -> None:
        if any(list(span) != sorted(span) for span in message.get("spans", ())):
            raise ProtocolError("an iteration ends before it begins")
        if role == "hooks":
            raise ProtocolError("`%s` is for runners" % kind)
        if self._owed[kind] == 0:
            raise ProtocolError("`%s` was not requested" % kind)
        if kind in self._counts:
            self._count(kind, message)
        if kind == "iterations":
            if not message.get("last", True):
                return
            self._owed["output"] += 1
        self._owed[kind] -= 1

    def _count(self, kind: str, message: dict[str, Any]) -> None:
        """Reject more calls than requested, and calls before the end of the previous one."""
        stream = "baseline" if message.get("part") == "baseline" else "window"
        for span in message["spans"]:
            if span[0] < self._last[stream]:
                raise ProtocolError("a call begins before the last one ended")
            self._last[stream] = span[-1]
        made = len(message["spans"]) * int(message.get("calls-per-span", 1))
        if kind == "settled":
            allowed = self._counts[kind].pop(0)
        else:
            made += self._made[stream]
            allowed = self._counts[kind][0]
            self._made[stream] = made
            if message.get("last", True):
                self._counts[kind].pop(0)
                self._made = dict.fromkeys(self._made, 0)
        if made > allowed:
            raise ProtocolError("%d calls were made, %d were requested" % (made, allowed))

    def _step(self, edge: dict[str, Any]) -> None:
        thread, name, at = edge["thread"], edge["name"], edge["at"]
        if edge["edge"] == "begin":
            self._open.append((thread, name, at))
            return
        for index in reversed(range(len(self._open))):
            if self._open[index][:2] == (thread, name):
                if at < self._open.pop(index)[2]:
                    raise ProtocolError("phase %s ends before it begins" % name)
                return
        raise ProtocolError("phase %s ends where it was not begun" % name)


def _parse(line: bytes, known: dict[str, Check]) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError as error:
        raise ProtocolError("not a message: %s" % error) from None
    kind = message.get("type") if isinstance(message, dict) else None
    if kind not in known:
        raise ProtocolError("not a message: unknown type %r" % kind)
    if not known[kind](message):
        raise ProtocolError("not a message: a malformed `%s`" % kind)
    return dict(message)


def _is_tagged(line: bytes) -> bool:
    try:
        message = json.loads(line)
    except ValueError:
        return False
    return isinstance(message, dict) and isinstance(message.get("type"), str)
