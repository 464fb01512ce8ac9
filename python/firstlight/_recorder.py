"""Record the frameworks' compilations in this process, for tests and notebooks.

The adapters are those of measured processes. Here they write to memory, and only while a recording
is open. They are attached at the first use and stay: they are called for compilations, never for
calls of a compiled function.
"""

from __future__ import annotations

import json
import os
import sys

from ._channel import Channel, Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

# The module that indicates a framework, and its adapter.
ADAPTERS = (
    ("jax", "jax"),
    ("torch", "torch"),
    ("torch._dynamo.utils", "dynamo"),
    ("numba", "numba"),
)
COMPILING = ("trace", "lower", "compile", "cache-read", "cache-write")
SHOWN_PROGRAMS = 8


class Recompiled(AssertionError):
    """Something was compiled where this is not allowed; ``programs`` lists it."""

    def __init__(self, message: str, programs: list[Program]) -> None:
        super().__init__(message)
        self.programs = programs


Recompiled.__module__ = "firstlight"


class _NoMemory(Memory):
    """Reads no memory, because a test must not reset the kernel's peak."""

    def __init__(self) -> None:
        self.devices = []

    def enter(self) -> None:
        pass

    def leave(self, phase: str, at: int) -> str:
        return ""


class Recorder(Channel):
    """A channel that writes its lines to every open recording."""

    __slots__ = ("attached", "attaching", "failures", "gaps", "recordings")

    def __init__(self) -> None:
        super().__init__(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC))
        if self.memory._status >= 0:
            os.close(self.memory._status)
        self.memory = _NoMemory()
        self.recordings: list[list[str]] = []
        self.attached: set[str] = set()
        self.attaching = False
        # Adapters that cannot see their framework's compilations.
        self.failures: list[str] = []
        # Adapters that see them, but not all of their details in this version of the framework.
        self.gaps: list[str] = []
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        self.recordings = []

    def write(self, lines: str) -> None:
        for recording in self.recordings:
            recording.append(lines)

    def event(self, kind: str, at: int | None = None, **fields: object) -> None:
        if kind == "adapter-failed":
            problems = self.gaps if self.attaching else self.failures
            problems.append("%s: %s" % (fields["adapter"], fields["error"]))
        super().event(kind, at, **fields)

    def attach(self) -> list[str]:
        """Attach the adapters of newly imported frameworks; return their modules."""
        arrived = [pair for pair in ADAPTERS if pair[0] in sys.modules]
        arrived = [pair for pair in arrived if pair[1] not in self.attached]
        for _, name in arrived:
            self.attached.add(name)
            self.attaching = True
            try:
                adapter: Any = __import__("firstlight.adapters." + name, fromlist=["install"])
                adapter.install(self)
            except Exception as error:  # another version of the framework
                self.failures.append("%s: %r" % (name, error))
            finally:
                self.attaching = False
        return [module for module, _ in arrived]


_recorder: Recorder | None = None


def recorder() -> Recorder:
    """Return the recorder of this process, with an adapter for every imported framework."""
    global _recorder
    if _recorder is None:
        _recorder = Recorder()
    _recorder.attach()
    return _recorder


class Recording:
    """The messages between its beginning and its end."""

    def __init__(self) -> None:
        self.recorder = recorder()
        self._lines: list[str] = []
        self.recorder.recordings.append(self._lines)

    def stop(self) -> None:
        # By identity, because another recording may have equal lines.
        left = [lines for lines in self.recorder.recordings if lines is not self._lines]
        self.recorder.recordings = left

    def messages(self) -> Iterator[dict[str, Any]]:
        for lines in list(self._lines):
            for line in lines.splitlines():
                yield json.loads(line)


class Program:
    """One compiled program: its function, the shapes and the cause."""

    def __init__(self, label: str | None, detail: dict[str, Any], end: int) -> None:
        name = str(detail.get("function") or label or "?")
        # JAX's name for the program of a function.
        self.function = name[4:-1] if name.startswith("jit(") and name.endswith(")") else name
        self.framework = detail.get("framework")
        self.signature: str | None = detail.get("signature")
        self.cause: str | None = detail.get("cause")
        self.cache: str | None = detail.get("cache")
        self.end = end
        source: str | None = detail.get("source")
        # If our own loop calls the function itself, the line is not the user's code.
        ours = source is not None and source.partition(":")[0].rpartition("/")[2] in OWN_FILES
        self.source = None if ours else source

    def lines(self) -> list[str]:
        """Return the function with its shapes, the cause, and the line that calls or defines it."""
        lines = ["%s(%s)" % (self.function, self.signature or "")]
        lines.append("  cause: " + (self.cause or "no earlier program of it was recorded"))
        if self.source:
            place = "called from" if self.framework == "jax" else "defined in"
            lines.append("  %s %s" % (place, self.source))
        return lines


OWN_FILES = ("runner.py", "_measure.py", "_recorder.py")


def programs(messages: Iterable[dict[str, Any]]) -> list[Program]:
    """Return the programs whose compilation ended in these messages, in order."""
    return [
        Program(message.get("label"), message["detail"], message["at"])
        for message in messages
        if message["type"] == "phase" and message["edge"] == "end" and message.get("detail")
    ]


def stretches(messages: Iterable[dict[str, Any]]) -> list[tuple[str, int, int]]:
    """Return the intervals of tracing, lowering and compiling: label, begin and end."""
    found = []
    open_: dict[int, list[tuple[str, str, int]]] = {}
    for message in messages:
        if message["type"] != "phase" or message["name"] not in COMPILING:
            continue
        name, thread = message["name"], open_.setdefault(message["thread"], [])
        if message["edge"] == "begin":
            thread.append((name, message.get("label") or name, message["at"]))
            continue
        while thread:
            begun, label, at = thread.pop()
            if begun == name:
                found.append((label, at, message["at"]))
                break
    return found


def covered(spans: Iterable[tuple[str, int, int]]) -> int:
    """Return the total nanoseconds of intervals, which may nest and overlap."""
    total, until = 0, 0
    for _, begin, end in sorted(spans, key=lambda span: span[1]):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


def listed(found: list[Program]) -> str:
    """List the programs with shapes and causes; equal ones are shown once."""
    groups: dict[tuple[str, ...], int] = {}
    for program in found:
        key = tuple(program.lines())
        groups[key] = groups.get(key, 0) + 1
    lines = []
    for (head, *rest), count in list(groups.items())[:SHOWN_PROGRAMS]:
        times = ", %d times" % count if count > 1 else ""
        lines += ["  %s%s" % (head, times), *("  " + line for line in rest)]
    if len(groups) > SHOWN_PROGRAMS:
        lines.append("  … %d more" % (len(groups) - SHOWN_PROGRAMS))
    return "\n".join(lines)


def counted(count: int, noun: str) -> str:
    return "%d %s%s" % (count, noun, "" if count == 1 else "s")
