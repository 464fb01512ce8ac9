"""Measure warm calls in this process, as the runner does in a separate one.

Used by the pytest plug-in and the notebook. The rules of ``firstlight run`` apply to a window.
"""

from __future__ import annotations

import sys
import time

import firstlight

from . import _window, runner
from ._recorder import Program, Recording, counted, covered, listed, programs, stretches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

# The limits of `firstlight run`.
FEWEST_CALLS = 10
SETTLE_CALLS = 15
SETTLE_NS = 300_000_000
UNFINISHED_SHARE = 0.1
UNFINISHED_NS = 20_000
# The share of the window above which the garbage collector is reported.
COLLECTOR_SHARE = 0.01
SHOWN_NAMES = 3


class Options:
    """The number of calls, and the function that waits for a result."""

    __slots__ = ("calls", "sync", "warm_up", "within")

    def __init__(
        self,
        calls: int = 1000,
        warm_up: int = 10,
        within: float | str = 1.0,
        sync: Callable[[Any], Any] | None = None,
    ) -> None:
        self.calls = _count("calls", calls)
        self.warm_up = _count("warm_up", warm_up)
        self.within = seconds("within", within)
        self.sync = wait if sync is None else sync


def _count(name: str, value: int | str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError("`%s` expects a number of calls above zero, got `%s`" % (name, value))
    return number


def seconds(name: str, value: float | str) -> float:
    """Return ``2``, ``"2s"`` or ``"300ms"`` in seconds."""
    text = str(value).strip()
    units = {"ms": 1e-3, "s": 1.0, "m": 60.0}
    number, unit = text, "s"
    for known in units:
        if text.endswith(known):
            number, unit = text[: -len(known)], known
            break
    try:
        found = float(number) * units[unit]
    except ValueError:
        found = -1.0
    if not 0.0 < found < float("inf"):
        raise ValueError("`%s` expects a time such as 2s or 300ms, got `%s`" % (name, value))
    return found


def wait(result: Any) -> None:
    """Wait for a result that is computed asynchronously."""
    jax = sys.modules.get("jax")
    if jax is not None:
        jax.block_until_ready(result)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()


class Finding:
    """A reason why the window is invalid or, as a notice, worth reporting."""

    __slots__ = ("name", "notice", "text")

    def __init__(self, name: str, text: str, notice: bool = False) -> None:
        self.name = name
        self.text = text
        self.notice = notice


class Measurement:
    """The readings of one window, in nanoseconds per call."""

    def __init__(self) -> None:
        self.started = time.time()
        self.warm_up: list[int] = []
        self.calls: list[int] = []
        self.findings: list[Finding] = []
        self.programs: list[Program] = []
        self.compiling_ns = 0
        self.complete = False
        self.result: Any = None

    def valid(self) -> bool:
        return bool(self.calls) and all(finding.notice for finding in self.findings)

    def compiled(self) -> str | None:
        """The programs compiled while the window was open, as text; None if there were none."""
        texts = [found.text for found in self.findings if found.name == "compiled-in-window"]
        if not texts:
            return None
        return texts[0] + ("\n\n" + listed(self.programs) if self.programs else "")


class _Session(runner._Session):
    """One workload of this process."""

    def check(self, result: Any) -> None:
        raise NotImplementedError("a test checks its results itself")


def measure(
    step: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    options: Options,
    into: Measurement | None = None,
) -> Measurement:
    """Warm the step up and measure its calls; readings made before an error stay in ``into``."""
    measured = Measurement() if into is None else into
    recording = Recording()
    session = _Session(recording.recorder)
    session.workload = firstlight.Workload(step, args, kwargs, sync=options.sync)
    loaded: list[str] = []
    try:
        session.calls("warm-up", 1, None)
        # The first call may have imported a framework, or its compiler.
        recording.recorder.attach()
        if options.warm_up > 1:
            session.calls("warm-up", options.warm_up - 1, None)
        modules = frozenset(sys.modules)
        inside = Recording()
        watch = _window.Watch(recording.recorder)
        try:
            within = int(options.within * 1e9)
            least = min(FEWEST_CALLS, options.calls)
            measured.result = session.calls("window", options.calls, within, least)
        finally:
            watch.close()
            inside.stop()
            loaded = [name for name in sys.modules if name not in modules]
        # Calls that compile are long, and their window is already invalid.
        if not stretches(inside.messages()):
            session.settle(SETTLE_CALLS, SETTLE_NS, 3)
        measured.complete = True
    finally:
        recording.stop()
        _read(measured, list(recording.messages()), loaded)
        watching = recording.recorder
        measured.findings += [Finding("adapter-failed", text) for text in watching.failures]
        measured.findings += [
            Finding("adapter-failed", text, notice=True) for text in watching.gaps
        ]
    return measured


def _read(measured: Measurement, messages: list[dict[str, Any]], loaded: list[str]) -> None:
    spans: dict[str, list[list[int]]] = {"warm-up": [], "window": []}
    for message in messages:
        if message["type"] == "iterations":
            spans[message["part"]] += message["spans"]
    measured.warm_up = [max(1, end - begin) for begin, end in spans["warm-up"]]
    window = spans["window"]
    measured.calls = [max(1, end - begin) for begin, end in window]
    if not window:
        return
    open_, close = window[0][0], window[-1][1]
    inside = [span for span in stretches(messages) if span[1] <= close and span[2] >= open_]
    measured.programs = [program for program in programs(messages) if open_ <= program.end <= close]
    measured.compiling_ns = covered(inside)
    if inside:
        measured.findings.append(_compiled(measured, [label for label, _, _ in inside]))
    if loaded:
        packages = list(dict.fromkeys(name.partition(".")[0] for name in loaded))
        text = "%s was imported while the window was open" % _some(packages)
        measured.findings.append(Finding("load-inside-window", text))
    for message in messages:
        _event(measured, message, close - open_)


def _compiled(measured: Measurement, labels: list[str]) -> Finding:
    if measured.programs:
        count = len(measured.programs)
        verb = "was" if count == 1 else "were"
        what = "%s %s compiled" % (counted(count, "program"), verb)
    else:
        what = "%s was traced" % _some(list(dict.fromkeys(labels)))
    text = "%s while the window was open, %.1f ms" % (what, measured.compiling_ns / 1e6)
    return Finding("compiled-in-window", text)


def _event(measured: Measurement, message: dict[str, Any], window: int) -> None:
    add = measured.findings.append
    if message["type"] == "settled":
        share, left = _unfinished(message["spans"])
        if share > UNFINISHED_SHARE and left > UNFINISHED_NS:
            text = "%.0f %% of a call's work was still running when it returned, %.3f ms"
            add(Finding("async-not-synchronised", text % (share * 100, left / 1e6)))
    if message["type"] != "event":
        return
    event = message["event"]
    if event["kind"] == "config-changed":
        text = "%s was %s, then %s" % (event["name"], event["before"], event["after"])
        add(Finding("config-changed-after-warmup", text))
    elif event["kind"] == "tracer":
        add(Finding("tracer-inflated", "%s was on while the window was open" % event["name"]))
    elif event["kind"] == "collections" and window > 0:
        share = sum(end - begin for _, begin, end in event["spans"]) / window
        if share > COLLECTOR_SHARE:
            text = "garbage collection took %.0f %% of the window" % (share * 100)
            add(Finding("garbage-collection", text, notice=True))


def _unfinished(spans: list[list[int]]) -> tuple[float, float]:
    """The share of a call's work that was still running when it returned, and that time."""
    shares = []
    for begin, end, settled, again in spans:
        left = max(0, (settled - end) - (again - settled))
        work = end - begin + left
        shares.append((left / work if work else 0.0, float(left)))
    shares.sort()
    return shares[len(shares) // 2] if shares else (0.0, 0.0)


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:SHOWN_NAMES])
    more = len(names) - SHOWN_NAMES
    return "%s, … %d more" % (shown, more) if more > 0 else shown
