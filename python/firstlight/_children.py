"""Attribute the time in which the program waits for its child processes, and follow an ``exec``.

Loaded when the program first starts a process. A child's own work is invisible, but the program's
waits are not: for its exit, for data from its pipes, and any blocking wait of the main thread while
a child is alive. Processes that a framework starts for itself, inside another phase, are not the
program's children.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ._channel import Channel

# Phases of the program's own code: a wait inside another phase belongs to that phase.
OWN = ("run", "setup", "first-run")
LONGEST_LABEL = 60
# Blocking waits by module and owner, patched when their module is loaded.
WAITS = (
    ("os", None, ("waitpid", "wait", "wait3", "wait4", "waitid")),
    ("time", None, ("sleep",)),
    ("select", None, ("select",)),
    ("selectors", "SelectSelector", ("select",)),
    ("selectors", "_PollLikeSelector", ("select",)),
    ("selectors", "EpollSelector", ("select",)),
    ("threading", "Condition", ("wait",)),
    ("threading", "Thread", ("join",)),
    ("multiprocessing.connection", "_ConnectionBase", ("recv", "recv_bytes", "poll")),
    ("multiprocessing.connection", None, ("wait",)),
    ("multiprocessing.queues", "Queue", ("get",)),
    ("multiprocessing.queues", "SimpleQueue", ("get",)),
    ("multiprocessing.synchronize", "Condition", ("wait",)),
    ("subprocess", "Popen", ("wait", "communicate")),
)


class Children:
    """The living children of this process, and the waits for them.

    ``handover`` are the environment variables that load the hooks in a program that this process
    becomes.
    """

    def __init__(self, channel: Channel, handover: Mapping[str, str]) -> None:
        self.channel = channel
        self.handover = dict(handover)
        self.alive: list[tuple[Callable[[], bool], str]] = []
        self._patched: set[tuple[str, str | None, str]] = set()
        self._replace(os, "fork", lambda pid: self.started(pid, "forked process"))
        for name in ("posix_spawn", "posix_spawnp"):
            self._replace(os, name, self.started, from_arguments=1)
        _wrap(os, "system", self._system)
        _wrap(os, "execv", lambda original, path, args: self._exec(path, args, None))
        self._execve = os.execve
        _wrap(os, "execve", lambda original, path, args, env: self._exec(path, args, env))

    def _replace(self, owner: Any, name: str, after: Callable[..., None], **how: int) -> None:
        """Call ``after`` with the process id that a function returned to the parent."""
        place = how.get("from_arguments")

        def call(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            pid = original(*args, **kwargs)
            if pid:
                after(pid, shown(args[place])) if place is not None else after(pid)
            return pid

        if hasattr(owner, name):
            _wrap(owner, name, call)

    def watch_subprocess(self, channel: Channel) -> None:
        """Watch processes started by ``subprocess``, and reads from their pipes."""
        subprocess: Any = sys.modules["subprocess"]

        def begin(original: Callable[..., Any], popen: Any, *args: Any, **kwargs: Any) -> None:
            original(popen, *args, **kwargs)
            self.started(popen.pid, shown(popen.args))

        _wrap(subprocess.Popen, "__init__", begin)
        subprocess.io = _Pipes(subprocess.io, self)

    def watch_multiprocessing(self, channel: Channel) -> None:
        """Watch processes started by ``multiprocessing``, forked or not."""
        base: Any = sys.modules["multiprocessing.process"].BaseProcess

        def start(original: Callable[..., Any], process: Any) -> None:
            known = len(self.alive)
            original(process)
            del self.alive[known:]  # the fork below it is the same process
            target = getattr(getattr(process, "_target", None), "__qualname__", None)
            self._add(lambda: _is_silent(process.sentinel), target or process.name)

        _wrap(base, "start", start)

    def started(self, pid: int, command: str) -> None:
        self._add(lambda: _is_alive(pid), command)

    def _add(self, is_alive: Callable[[], bool], command: str) -> None:
        if self.channel.phase() not in OWN:
            return
        self.alive.append((is_alive, command))
        self._watch_waits()

    def label(self) -> str | None:
        """The most recently started child that is still alive."""
        self.alive = [child for child in self.alive if child[0]()]
        return self.alive[-1][1] if self.alive else None

    def _watch_waits(self) -> None:
        """Patch the waits of all modules loaded so far."""
        for name, owner_name, functions in WAITS:
            module = sys.modules.get(name)
            owner = getattr(module, owner_name, None) if owner_name else module
            for function in functions:
                key = (name, owner_name, function)
                if key not in self._patched and hasattr(owner, function):
                    self._patched.add(key)
                    _wrap(owner, function, self._wait_for_exit if name == "os" else self.wait)

    def _wait_for_exit(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(flags, int) and flags & os.WNOHANG for flags in args[1:]):
            return original(*args, **kwargs)
        return self.wait(original, *args, **kwargs)

    def wait(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function that may block; the time counts as waiting if a child is alive."""
        channel = self.channel
        if channel.waits or get_ident() != channel.main or channel.phase() not in OWN:
            return original(*args, **kwargs)
        label = self.label()
        if label is None:
            return original(*args, **kwargs)
        channel.begin_wait(label)
        try:
            return original(*args, **kwargs)
        finally:
            channel.end_wait()

    def _system(self, original: Callable[..., Any], command: Any) -> Any:
        channel = self.channel
        if get_ident() != channel.main or channel.phase() not in OWN:
            return original(command)
        channel.begin_wait(shown(command))
        try:
            return original(command)
        finally:
            channel.end_wait()

    def _exec(self, path: Any, args: Any, env: Any) -> Any:
        """Hand the channel over to the program that this process becomes."""
        environment = dict(os.environ if env is None else env)
        fd = self.channel.descriptor()
        if fd is None or not os.access(path, os.X_OK):
            return self._execve(path, args, environment)
        original = environment.get("PYTHONPATH")
        handover = dict(self.handover)
        if original:
            handover["FIRSTLIGHT_PYTHONPATH"] = original
            handover["PYTHONPATH"] += ":" + original
        as_bytes = bool(environment) and isinstance(next(iter(environment)), bytes)
        for name, value in handover.items():
            key = os.fsencode(name) if as_bytes else name
            environment[key] = os.fsencode(value) if as_bytes else value
        self.channel.event("exec", command=shown(args))
        os.set_inheritable(fd, True)
        try:
            return self._execve(path, args, environment)
        finally:  # only if it failed
            os.set_inheritable(fd, False)


def _wrap(owner: Any, name: str, call: Callable[..., Any]) -> None:
    """Replace a function by ``call``, which gets the original as its first argument."""
    original = getattr(owner, name)

    def function(*args: Any, **kwargs: Any) -> Any:
        return call(original, *args, **kwargs)

    function.__name__ = getattr(original, "__name__", name)
    function.__qualname__ = getattr(original, "__qualname__", name)
    function.__doc__ = getattr(original, "__doc__", None)
    function.__module__ = getattr(original, "__module__", None) or "os"
    setattr(owner, name, function)


def shown(command: Any) -> str:
    """Shorten a command to the names of files, without their folders."""
    if isinstance(command, (str, bytes, os.PathLike)):
        words = os.fsdecode(command).split()
    else:
        words = [os.fsdecode(word) for word in command]
    text = " ".join(word.rpartition("/")[2] if word.startswith("/") else word for word in words)
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"


def _is_alive(pid: int) -> bool:
    """Return whether a child has neither exited nor been reaped."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except OSError:
        return False


def _is_silent(sentinel: int) -> bool:
    """Return whether the pipe held by a process is still open."""
    import select

    try:
        poll = select.poll()
        poll.register(sentinel, select.POLLIN)
        return not poll.poll(0)
    except (OSError, ValueError):
        return False


class _Pipes:
    """Replaces ``io`` in ``subprocess``: reads from a child's pipe are waits for the child."""

    def __init__(self, io: Any, children: Children) -> None:
        self._io = io

        class Pipe(io.FileIO):  # type: ignore[misc, name-defined]
            def readinto(self, buffer: Any) -> Any:
                return children.wait(super().readinto, buffer)

            def read(self, size: int = -1) -> Any:
                return children.wait(super().read, size)

            def readall(self) -> Any:
                return children.wait(super().readall)

        self._pipe = Pipe

    def __getattr__(self, name: str) -> Any:
        return getattr(self._io, name)

    def open(self, file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **more: Any) -> Any:
        if mode != "rb" or rest or more:
            return self._io.open(file, mode, buffering, *rest, **more)
        raw = self._pipe(file, "rb")
        if buffering == 0:
            return raw
        size = buffering if buffering > 1 else self._io.DEFAULT_BUFFER_SIZE
        return self._io.BufferedReader(raw, size)
