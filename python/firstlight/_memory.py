"""Resident memory per phase: the kernel's high-water mark, reset at each phase's edge.

Writing 5 to ``clear_refs`` resets ``VmHWM``. Phases nest, so the mark that an inner phase resets
is carried over to the phases around it.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Memory:
    """Peaks of the open phases, innermost last, and readers of device memory."""

    __slots__ = ("_peaks", "_status", "devices")

    def __init__(self) -> None:
        # Adapters add functions that return [(device, bytes in use, peak bytes), …].
        self.devices: list[Callable[[], list[tuple[str, int | None, int | None]]]] = []
        self._peaks: list[int] = []
        self._status = -1
        try:
            self._status = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            pass

    def read(self) -> tuple[int, int]:
        """Resident bytes now, and the most since the last reset; zeros when unknown."""
        try:
            text = os.pread(self._status, 4096, 0)
        except OSError:
            return 0, 0
        return _field(text, b"VmRSS:"), _field(text, b"VmHWM:")

    def _cut(self) -> tuple[int, int]:
        """A reading after which the mark starts anew; the open phases learn the old mark."""
        resident, peak = self.read()
        peaks = self._peaks
        for index, known in enumerate(peaks):
            if peak > known:
                peaks[index] = peak
        # Opened each time: a descriptor kept for writing could become a file of the workload's.
        try:
            reset = os.open("/proc/self/clear_refs", os.O_WRONLY | os.O_CLOEXEC)
            os.write(reset, b"5")
            os.close(reset)
        except OSError:
            pass
        return resident, peak

    def enter(self) -> None:
        resident, _ = self._cut()
        self._peaks.append(resident)

    def leave(self, phase: str, at: int) -> str:
        """The message that reports the phase just closed."""
        resident, peak = self._cut()
        if self._peaks:
            peak = self._peaks.pop()
        text = '{"type":"memory","at":%d,"phase":"%s","rss-bytes":%d,"peak-rss-bytes":%d' % (
            at,
            phase,
            resident,
            peak,
        )
        devices = [reading for reader in self.devices for reading in _safely(reader)]
        if devices:
            text += ',"devices":[%s]' % ",".join(
                '{"device":"%s","in-use-bytes":%s,"peak-bytes":%s}'
                % (name, _number(used), _number(high))
                for name, used, high in devices
            )
        return text + "}\n"


def _field(text: bytes, name: bytes) -> int:
    start = text.find(name)
    if start < 0:
        return 0
    return int(text[start + len(name) : text.index(b"kB", start)]) * 1024


def _number(value: int | None) -> str:
    return "null" if value is None else str(int(value))


def _safely(
    reader: Callable[[], list[tuple[str, int | None, int | None]]],
) -> list[tuple[str, int | None, int | None]]:
    try:
        return reader()
    except Exception:  # a framework that cannot tell is no reason to fail the workload
        return []
