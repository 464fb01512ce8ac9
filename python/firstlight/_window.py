"""Detect changes while calls are measured: settings, tracers, file reads.

Imported by the runner in the warm regime only, before the warm-up.
"""

from __future__ import annotations

import gc
import os
import sys
from time import monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ._channel import Channel


# The largest number of listed collections.
MOST_COLLECTIONS = 20_000


class Watch:
    """Readings at the opening of the window, compared with those at its end."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.settings = dict(settings())
        self.tracers = set(tracers())
        self.read = _bytes_read()
        self.collections = Collections()

    def close(self) -> None:
        self.collections.close(self.channel)
        read = _bytes_read()
        if self.read is not None and read is not None:
            self.channel.event("window-reads", bytes=max(0, read - self.read))
        for name in sorted(self.tracers.union(tracers())):
            self.channel.event("tracer", name=name)
        after = dict(settings())
        for name in sorted(self.settings.keys() | after.keys()):
            before, now = self.settings.get(name), after.get(name)
            if before != now:
                was, is_ = _readable(name, before, now)
                self.channel.event("config-changed", name=name, before=was, after=is_)


class Collections:
    """The garbage collector's work while the window is open.

    Plain numbers in one list, because tuples would be tracked by the collector itself.
    """

    def __init__(self) -> None:
        self.readings: list[int] = []
        self.unlisted = 0
        self._began = 0
        gc.callbacks.append(self._collected)

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = monotonic_ns()
        elif len(self.readings) < 3 * MOST_COLLECTIONS:
            self.readings += (info["generation"], self._began, monotonic_ns())
        else:
            self.unlisted += 1

    def close(self, channel: Channel) -> None:
        gc.callbacks.remove(self._collected)
        spans = list(zip(self.readings[::3], self.readings[1::3], self.readings[2::3]))
        channel.event("collections", spans=spans, unlisted=self.unlisted)


def _readable(name: str, before: str | None, after: str | None) -> tuple[str, str]:
    if name.startswith("environment "):
        # A value may be a secret; that it changed is enough.
        new = "set to another value" if before is not None else "set"
        return ("unset" if before is None else "set"), ("unset" if after is None else new)
    return ("absent" if before is None else before), ("absent" if after is None else after)


def settings() -> Iterator[tuple[str, str]]:
    """Iterate over settings that may change the speed or the result of a call."""
    for name, value in os.environ.items():
        yield "environment " + name, value
    try:
        yield "working directory", os.getcwd()
    except OSError:  # it no longer exists
        yield "working directory", "gone"
    yield "garbage collection", "%s %s" % (gc.isenabled(), gc.get_threshold())
    yield "switch interval", str(sys.getswitchinterval())
    if hasattr(os, "sched_getaffinity"):
        yield "CPU affinity", str(sorted(os.sched_getaffinity(0)))
        yield "niceness", str(os.getpriority(os.PRIO_PROCESS, 0))
    for framework, read in (("jax", _jax), ("torch", _torch)):
        module = sys.modules.get(framework)
        if module is not None:
            try:
                yield from read(module)
            except Exception:  # another version has its settings elsewhere
                continue


def _jax(jax: Any) -> Iterator[tuple[str, str]]:
    for name, value in dict(jax.config.values).items():
        yield "jax " + name, str(value)


def _torch(torch: Any) -> Iterator[tuple[str, str]]:
    yield "torch threads", str(torch.get_num_threads())
    yield "torch default type", str(torch.get_default_dtype())
    yield "torch gradients", str(torch.is_grad_enabled())
    yield "torch matmul precision", str(torch.get_float32_matmul_precision())
    yield "torch deterministic", str(torch.are_deterministic_algorithms_enabled())
    yield "torch cudnn.benchmark", str(torch.backends.cudnn.benchmark)


def tracers() -> Iterator[str]:
    """Iterate over active profilers and debuggers."""
    if sys.gettrace() is not None:
        yield "sys.settrace"
    if sys.getprofile() is not None:
        yield "sys.setprofile"
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:
        for tool in range(6):
            name = monitoring.get_tool(tool)
            if name is not None and monitoring.get_events(tool):
                yield "sys.monitoring (%s)" % name
    state = getattr(sys.modules.get("jax._src.profiler"), "_profile_state", None)
    if getattr(state, "profile_session", None) is not None:
        yield "jax.profiler"
    if getattr(sys.modules.get("torch.autograd.profiler"), "_is_profiler_enabled", False):
        yield "torch.profiler"


def wait_for_everything(result: Any) -> None:
    """Wait until no framework has any outstanding work."""
    jax = sys.modules.get("jax")
    if jax is not None:
        jax.block_until_ready(result)
        for array in jax.live_arrays():
            try:
                array.block_until_ready()
            except RuntimeError:  # donated to a computation since
                continue
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _bytes_read() -> int | None:
    try:
        with open("/proc/self/io", "rb") as file:
            return int(file.readline().split()[1])
    except (OSError, ValueError, IndexError):
        return None
