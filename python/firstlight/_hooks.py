"""Install the hooks in a measured process: the channel, the import clock, the adapters, the exit.

A parent that wants one process watched sends one ``watch`` request on the descriptor. The first
interpreter that inherits the descriptor receives it; others receive nothing and are unaffected.
"""

import atexit
import os
import sys
from time import monotonic_ns

import firstlight

from . import _imports
from ._channel import PROTOCOL, Channel, message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

WATCH = b'{"type":"watch"}\n'


def install(entered: int, load: "Callable[[str], Any] | None" = None) -> None:
    """Send ``hello`` and start to record; ``entered`` is the time of firstlight's first line.

    ``load`` returns our modules that are not loaded yet; without it they are imported.
    """
    fd = int(os.environ["FIRSTLIGHT_FD"])
    requests = _take(fd)
    if requests is None:
        return
    os.set_inheritable(fd, False)
    watched = requests.startswith(WATCH)
    channel = Channel(fd, requests[len(WATCH) :] if watched else requests)
    firstlight._current = channel
    opening = _hello("hooks" if watched else "runner", entered)
    opening += channel.beginning("probe", "hooks", entered)
    exit_ = _Exit(channel, "run" if watched else "probe")
    load = load or own_module
    handover = _handover(fd)

    watched_children: "list[Any]" = []

    def children() -> "Any":
        if not watched_children:
            restore()
            watched_children.append(load("firstlight._children").Children(channel, handover))
        return watched_children[0]

    restore = _watch_starts(children)
    _imports.install(channel, _arrivals(exit_, load, children))
    if "threading" in sys.modules:
        exit_.watch_shutdown()
    os.register_at_fork(after_in_child=channel.close)
    atexit.register(exit_.bye)
    now = monotonic_ns()
    opening += channel.ending("probe", "hooks", at=now)
    channel.write(opening + channel.beginning(exit_.base, None if watched else "runner", now))
    if sys.dont_write_bytecode:
        variable = os.environ.get("PYTHONDONTWRITEBYTECODE")
        why = "PYTHONDONTWRITEBYTECODE is set" if variable else "python runs with -B"
        channel.event("no-bytecode", why=why)


def _take(fd: int) -> "bytes | None":
    """Return the pending requests on the descriptor, or None if another process received them."""
    os.set_blocking(fd, False)
    try:
        return os.read(fd, 65536) or None
    except BlockingIOError:
        return None
    finally:
        os.set_blocking(fd, True)


def _hello(role: str, entered: int) -> str:
    launched = os.environ.get("FIRSTLIGHT_PARENT") != str(os.getppid())
    return message(
        "hello",
        protocol={"major": PROTOCOL[0], "minor": PROTOCOL[1]},
        role=role,
        pid=os.getpid(),
        language="python",
        runtime="%s %d.%d.%d" % (sys.implementation.name, *sys.version_info[:3]),
        executable=sys.executable or None,
        started=_process_start() if launched else None,
        at=entered,
    )


def _process_start() -> "int | None":
    """Return the creation time of this process, to the kernel's tick, if it has a launcher in front
    of it.
    """
    import time

    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - monotonic_ns()
        return ticks * (1_000_000_000 // os.sysconf("SC_CLK_TCK")) - boot
    except (OSError, ValueError, AttributeError):
        return None


def own_module(name: str) -> "Any":
    """Import one of firstlight's modules with its own byte code, whatever the user's settings
    are.
    """
    settings = sys.dont_write_bytecode, sys.pycache_prefix
    sys.dont_write_bytecode, sys.pycache_prefix = False, None
    try:
        return __import__(name, fromlist=["*"])
    finally:
        sys.dont_write_bytecode, sys.pycache_prefix = settings


def _handover(fd: int) -> "dict[str, str]":
    """Return the variables that load the hooks in a program that this process becomes."""
    bootstrap = os.environ.get("PYTHONPATH", "").partition(":")[0]
    return {
        "FIRSTLIGHT_FD": str(fd),
        "FIRSTLIGHT_PARENT": os.environ.get("FIRSTLIGHT_PARENT", ""),
        "PYTHONPATH": bootstrap,
    }


# Functions of ``os`` that start a process or become another one.
STARTS = ("fork", "posix_spawn", "posix_spawnp", "system", "execv", "execve")


def _watch_starts(children: "Callable[[], Any]") -> "Callable[[], None]":
    """Load the watcher of children on the first start, because most programs start no process.

    Returns a function that restores the original ones.
    """

    def later(name: str, original: "Any") -> "Any":
        def start(*args: "Any", **kwargs: "Any") -> "Any":
            children()
            return getattr(os, name)(*args, **kwargs)

        start.__name__ = name
        start.__doc__ = original.__doc__
        return start

    originals = {name: getattr(os, name) for name in STARTS if hasattr(os, name)}
    stand_ins = {name: later(name, original) for name, original in originals.items()}

    def restore() -> None:
        for name, stand_in in stand_ins.items():
            if getattr(os, name) is stand_in:
                setattr(os, name, originals[name])

    for name, stand_in in stand_ins.items():
        setattr(os, name, stand_in)
    return restore


def _arrivals(
    exit_: "_Exit", load: "Callable[[str], Any]", children: "Callable[[], Any]"
) -> "dict[str, Any]":
    def adapter(name: str) -> "Any":
        return lambda channel: load("firstlight.adapters." + name).install(channel)

    return {
        "jax": adapter("jax"),
        "torch": adapter("torch"),
        "torch._dynamo.utils": adapter("dynamo"),
        "numba": adapter("numba"),
        "threading": lambda channel: exit_.watch_shutdown(),
        "subprocess": lambda channel: children().watch_subprocess(channel),
        "multiprocessing.process": lambda channel: children().watch_multiprocessing(channel),
    }


class _Exit:
    """Detect the end of the program's own code and send ``bye``."""

    def __init__(self, channel: Channel, base: str) -> None:
        self.channel = channel
        self.base = base
        self.left = False

    def watch_shutdown(self) -> None:
        """The interpreter's shutdown starts with ``threading``, before any exit handler."""
        register = getattr(sys.modules["threading"], "_register_atexit", None)
        if register is not None:
            register(self.leave_main)

    def leave_main(self) -> None:
        if not self.left:
            self.left = True
            now = monotonic_ns()
            ending = self.channel.ending(self.base, at=now)
            self.channel.write(ending + self.channel.beginning("teardown", "exit handlers", now))

    def bye(self) -> None:
        self.leave_main()
        channel = self.channel
        for tell in channel.farewells:
            try:
                tell(channel)
            except Exception:  # a partially finalised framework may not answer
                continue
        now = monotonic_ns()
        closing = channel.ending("teardown", "exit handlers", at=now)
        closing += channel.beginning("teardown", "interpreter exit", now)
        channel.write(closing + message("bye", at=now))
