"""Writes protocol messages to the inherited descriptor, one JSON line each, as they happen.

Lines are formatted by hand: importing ``json`` would cost the measured process more than all the
messages of a typical run. A descriptor that breaks closes the channel and never the workload.
"""

from __future__ import annotations

import os
from _json import encode_basestring_ascii as quote
from _thread import RLock, get_ident
from time import monotonic_ns

from . import _memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PROTOCOL = (1, 0)


def encode(value: object) -> str:
    """The JSON text of a plain value: None, bool, int, float, str, list, tuple or dict."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        # JSON has no infinities; the protocol says null for what is not a number.
        return repr(value) if value - value == 0.0 else "null"
    if isinstance(value, dict):
        return "{%s}" % ",".join(quote(str(k)) + ":" + encode(v) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return "[%s]" % ",".join(map(encode, value))
    return quote(str(value))


class Channel:
    """Phases, events and readings of this process, on the parent's clock."""

    __slots__ = ("_fd", "_inode", "_lock", "_threads", "memory", "pending")

    def __init__(self, fd: int, pending: bytes = b"") -> None:
        self._fd = fd
        self._inode = os.fstat(fd).st_ino
        self._lock = RLock()
        self._threads = {get_ident(): 0}
        self.pending = pending
        self.memory = _memory.Memory()

    def send(self, kind: str, **fields: object) -> None:
        """One message with the given fields; an underscore in a name stands for a hyphen."""
        body = ",".join(
            '"%s":%s' % (name.replace("_", "-"), encode(value)) for name, value in fields.items()
        )
        self.write('{"type":"%s"%s}\n' % (kind, "," + body if body else ""))

    def write(self, text: str) -> None:
        line = text.encode("ascii")
        with self._lock:
            try:
                # A program that closes all descriptors may get our number for a file of its own.
                if self._fd >= 0 and os.fstat(self._fd).st_ino != self._inode:
                    self._fd = -1
                while line and self._fd >= 0:
                    line = line[os.write(self._fd, line) :]
            except OSError:
                self._fd = -1

    def close(self) -> None:
        self._fd = -1

    def thread(self) -> int:
        """0 for the main thread, then 1, 2, … in order of appearance."""
        ident = get_ident()
        number = self._threads.get(ident)
        if number is None:
            with self._lock:
                number = self._threads.setdefault(ident, len(self._threads))
        return number

    def begin(self, phase: str, label: str | None = None, at: int | None = None) -> None:
        """Opens a phase. Phases may nest; each instant counts for the innermost one."""
        if at is None:
            at = monotonic_ns()
        thread = self.thread()
        if thread == 0:
            self.memory.enter()
        self._edge("begin", phase, label, at, thread, "")

    def end(
        self,
        phase: str,
        label: str | None = None,
        detail: Mapping[str, object] | None = None,
        at: int | None = None,
    ) -> None:
        """Closes the innermost open phase of that name on this thread."""
        if at is None:
            at = monotonic_ns()
        thread = self.thread()
        rest = ',"detail":' + encode(detail) if detail else ""
        self._edge("end", phase, label, at, thread, rest)
        if thread == 0:
            self.write(self.memory.leave(phase, at))

    def _edge(
        self, edge: str, phase: str, label: str | None, at: int, thread: int, rest: str
    ) -> None:
        self.write(
            '{"type":"phase","edge":"%s","name":"%s","label":%s,"at":%d,"thread":%d%s}\n'
            % (edge, phase, "null" if label is None else quote(label), at, thread, rest)
        )

    def event(self, kind: str, at: int | None = None, **fields: object) -> None:
        """A point event; see ``docs/reference/protocol.md`` for the kinds."""
        fields = {"kind": kind, **{k.replace("_", "-"): v for k, v in fields.items()}}
        self.send("event", at=monotonic_ns() if at is None else at, event=fields)

    def mark(self, name: str, at: int | None = None) -> None:
        self.event("mark", at, name=name)

    def imports(
        self,
        segments: Iterable[tuple[str, int, int]],
        cumulative: Mapping[str, int],
        sources: int,
        sources_ns: int,
    ) -> None:
        """One finished outermost import, cut where the running top-level package changed."""
        self.write(
            '{"type":"imports","thread":0,"segments":[%s],"cumulative":%s,'
            '"sources":%d,"sources-ns":%d}\n'
            % (
                ",".join("[%s,%d,%d]" % (quote(name), a, b) for name, a, b in segments),
                encode(cumulative),
                sources,
                sources_ns,
            )
        )
