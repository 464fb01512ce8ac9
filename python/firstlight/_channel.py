"""Write protocol messages to the inherited descriptor, one JSON line each, as they happen.

Lines are formatted by hand: importing ``json`` would cost the measured process more than all the
messages of a typical run. A broken descriptor closes the channel and never affects the workload.
"""

import os
from _thread import RLock, get_ident
from time import monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    # Device, bytes in use, peak of bytes in use.
    DeviceMemory = tuple[str, int | None, int | None]

PROTOCOL = (1, 1)
# The number of waits for children that are reported individually; later consecutive ones are
# merged.
SINGLE_WAITS = 2000
MERGED_GAP = 10_000_000
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quote(text: str) -> str:
    """Return a JSON string in ASCII."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return '"%s"' % text
    return '"%s"' % "".join(ESCAPES.get(c) or (c if " " <= c <= "~" else _unicode(c)) for c in text)


def _unicode(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join("\\u%02x%02x" % (units[i], units[i + 1]) for i in range(0, len(units), 2))


def encode(value: object) -> str:
    """Return the JSON text of a plain value: None, bool, int, float, str, list, tuple or dict."""
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
        # JSON has no infinities; the protocol uses null for values that are not finite.
        return repr(float(value)) if value - value == 0.0 else "null"
    if isinstance(value, dict):
        return "{%s}" % ",".join(quote(str(k)) + ":" + encode(v) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return "[%s]" % ",".join(map(encode, value))
    return quote(str(value))


class Channel:
    """Phases, events and readings of this process, on the parent's clock."""

    __slots__ = (
        "_fd",
        "_inode",
        "_lock",
        "_threads",
        "_waited",
        "_waits_seen",
        "farewells",
        "keeps_programs",
        "main",
        "memory",
        "pending",
        "phases",
        "programs",
        "waits",
    )

    def __init__(self, fd: int, pending: bytes = b"") -> None:
        self._fd = fd
        self._inode = os.fstat(fd).st_ino
        self._lock = RLock()
        self.main = get_ident()
        self._threads = {self.main: 0}
        # Open phases of the main thread, innermost last.
        self.phases: "list[str]" = []
        # Whether the main thread waits for a child; the label and end of a wait not reported yet.
        self.waits = False
        self._waited: "tuple[str, int] | None" = None
        self._waits_seen = 0
        self.pending = pending
        self.memory = Memory()
        # Functions that send the adapters' remaining data at exit, such as cache counters.
        self.farewells: "list[Callable[[Channel], None]]" = []
        # Functions that send details of the compiled programs that adapters keep.
        self.keeps_programs = False
        self.programs: "list[Callable[[Channel], None]]" = []

    def send(self, kind: str, **fields: object) -> None:
        """Send one message with the given fields; an underscore in a name stands for a hyphen."""
        self.write(message(kind, **fields))

    def write(self, lines: str) -> None:
        data = lines.encode("ascii")
        with self._lock:
            try:
                # A program that closes all descriptors may reuse our number for its own file.
                if self._fd >= 0 and os.fstat(self._fd).st_ino != self._inode:
                    self._fd = -1
                while data and self._fd >= 0:
                    data = data[os.write(self._fd, data) :]
            except OSError:
                self._fd = -1

    def read(self) -> bytes:
        """Return the parent's next request; empty if the parent has exited."""
        try:
            return os.read(self._fd, 65536) if self._fd >= 0 else b""
        except OSError:
            return b""

    def close(self) -> None:
        self._fd = -1

    def descriptor(self) -> "int | None":
        return self._fd if self._fd >= 0 else None

    def phase(self) -> "str | None":
        """Return the innermost open phase of the main thread; None once the channel is closed."""
        return self.phases[-1] if self.phases and self._fd >= 0 else None

    def begin_wait(self, label: str) -> None:
        """Begin a wait of the main thread for a child. No memory is read, because this may happen
        often.
        """
        now = monotonic_ns()
        self.waits = True
        waited, self._waited = self._waited, None
        if waited is not None:
            if waited[0] == label and now - waited[1] < MERGED_GAP:
                self._waited = label, -1
                return
            self.write(_edge("end", "children", waited[0], waited[1], 0, ""))
        self._waits_seen += 1
        self.write(_edge("begin", "children", label, now, 0, ""))
        self._waited = label, -1

    def end_wait(self) -> None:
        now = monotonic_ns()
        self.waits = False
        if self._waited is not None:
            self._waited = self._waited[0], now
            if self._waits_seen < SINGLE_WAITS:
                self.write(self._waited_out())

    def _waited_out(self) -> str:
        """Return the message for the end of a wait that was not reported yet."""
        waited = self._waited
        if waited is None or waited[1] < 0:
            return ""
        self._waited = None
        return _edge("end", "children", waited[0], waited[1], 0, "")

    def thread(self) -> int:
        """Return 0 for the main thread, then 1, 2, … in order of appearance."""
        ident = get_ident()
        number = self._threads.get(ident)
        if number is None:
            with self._lock:
                number = self._threads.setdefault(ident, len(self._threads))
        return number

    def begin(self, phase: str, label: "str | None" = None, at: "int | None" = None) -> None:
        """Open a phase. Phases may nest; each instant counts for the innermost one."""
        self.write(self.beginning(phase, label, at))

    def beginning(self, phase: str, label: "str | None" = None, at: "int | None" = None) -> str:
        if at is None:
            at = monotonic_ns()
        thread = self.thread()
        before = ""
        if thread == 0:
            self.memory.enter()
            self.phases.append(phase)
            before = self._waited_out()
        return before + _edge("begin", phase, label, at, thread, "")

    def end(
        self,
        phase: str,
        label: "str | None" = None,
        detail: "Mapping[str, object] | None" = None,
        at: "int | None" = None,
    ) -> None:
        """Close the innermost open phase of that name on this thread."""
        self.write(self.ending(phase, label, detail, at))

    def ending(
        self,
        phase: str,
        label: "str | None" = None,
        detail: "Mapping[str, object] | None" = None,
        at: "int | None" = None,
    ) -> str:
        if at is None:
            at = monotonic_ns()
        thread = self.thread()
        line = _edge(
            "end", phase, label, at, thread, ',"detail":' + encode(detail) if detail else ""
        )
        if thread != 0:
            return line
        if phase in self.phases:
            while self.phases.pop() != phase:
                pass
        return self._waited_out() + line + self.memory.leave(phase, at)

    def event(self, kind: str, at: "int | None" = None, **fields: object) -> None:
        """Send a point event; see ``docs/guide/runner-protocol.md`` for the kinds."""
        event = {"kind": kind, **{k.replace("_", "-"): v for k, v in fields.items()}}
        self.send("event", at=monotonic_ns() if at is None else at, event=event)

    def mark(self, name: str, at: "int | None" = None) -> None:
        self.event("mark", at, name=name)


def guarded(channel: Channel, adapter: str, function: "Callable[..., Any]") -> "Callable[..., Any]":
    """Wrap a function so that its errors are reported once and not raised.

    Frameworks call our listeners inside the user's program, which must not be affected.
    """
    broken = False

    def call(*args: "Any", **kwargs: "Any") -> "Any":
        nonlocal broken
        if broken:
            return None
        try:
            return function(*args, **kwargs)
        except Exception as error:
            broken = True
            channel.event("adapter-failed", adapter=adapter, error=repr(error))

    return call


def message(kind: str, **fields: object) -> str:
    body = "".join(
        ',"%s":%s' % (name.replace("_", "-"), encode(value)) for name, value in fields.items()
    )
    return '{"type":"%s"%s}\n' % (kind, body)


def imports(
    thread: int,
    segments: "Iterable[tuple[str, int, int]]",
    cumulative: "Mapping[str, int]",
    sources: int,
    sources_ns: int,
) -> str:
    """Send one finished outermost import, split where the running top-level package changed."""
    cuts = ",".join("[%s,%d,%d]" % (quote(name), a, b) for name, a, b in segments)
    return (
        '{"type":"imports","thread":%d,"segments":[%s],"cumulative":%s,"sources":%d,'
        '"sources-ns":%d}\n' % (thread, cuts, encode(cumulative), sources, sources_ns)
    )


def _edge(edge: str, phase: str, label: "str | None", at: int, thread: int, rest: str) -> str:
    return '{"type":"phase","edge":"%s","name":"%s","label":%s,"at":%d,"thread":%d%s}\n' % (
        edge,
        phase,
        "null" if label is None else quote(label),
        at,
        thread,
        rest,
    )


class Memory:
    """Resident memory per phase: the kernel's high-water mark, reset at each phase's edge.

    A phase's peak is the maximum while it was the innermost one, so that the memory of compiling
    and of running can be distinguished.
    """

    __slots__ = ("_buffer", "_peaks", "_status", "devices")

    def __init__(self) -> None:
        # Readers of device memory, added by adapters.
        self.devices: "list[Callable[[], list[DeviceMemory]]]" = []
        self._peaks: "list[int]" = []
        # One buffer for all readings: allocating and freeing one of this size makes the C library
        # consolidate its heap, which costs more than all the rest.
        self._buffer = bytearray(4096)
        self._status = -1
        try:
            self._status = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            pass

    def _cut(self) -> int:
        """Return the resident bytes. Assigns the peak so far to the innermost phase and resets
        it.
        """
        try:
            length = os.preadv(self._status, [self._buffer], 0)
            # Opened each time: a descriptor kept for writing could become a file of the workload.
            reset = os.open("/proc/self/clear_refs", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(reset, b"5")
            finally:
                os.close(reset)
        except OSError:
            length = 0
        peak = _field(self._buffer, length, b"VmHWM:")
        if self._peaks and peak > self._peaks[-1]:
            self._peaks[-1] = peak
        return _field(self._buffer, length, b"VmRSS:")

    def enter(self) -> None:
        resident = self._cut()
        self._peaks.append(resident)

    def leave(self, phase: str, at: int) -> str:
        """Return the message about the phase that closes."""
        resident = self._cut()
        peak = self._peaks.pop() if self._peaks else resident
        devices = ""
        if self.devices:
            readings = [reading for reader in self.devices for reading in _safely(reader)]
            devices = ',"devices":[%s]' % ",".join(
                '{"device":"%s","in-use-bytes":%s,"peak-bytes":%s}'
                % (name, encode(used), encode(high))
                for name, used, high in readings
            )
        return '{"type":"memory","at":%d,"phase":"%s","rss-bytes":%d,"peak-rss-bytes":%d%s}\n' % (
            at,
            phase,
            resident,
            peak,
            devices,
        )


def _field(text: bytearray, length: int, name: bytes) -> int:
    start = text.find(name, 0, length)
    if start < 0:
        return 0
    return int(text[start + len(name) : text.index(b"kB", start)]) * 1024


def _safely(reader: "Callable[[], list[Any]]") -> "list[Any]":
    try:
        return reader()
    except Exception:  # a framework that cannot report its memory must not fail the workload
        return []
