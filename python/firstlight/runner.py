"""The runner: answers the parent's requests about one workload, on the channel of the hooks.

Started as ``python -c "from firstlight.runner import main; main()"`` in the suite's folder. All
requests of a cold start are already on the descriptor, so the runner never waits in between.
"""

import sys
from time import monotonic_ns, sleep

import firstlight

from . import _imports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ._channel import Channel

TRACEBACK_CHARACTERS = 4000
# The number of calls whose waiting time is negligible.
LONG = 100_000_000
# The number of calls in one message.
BLOCK = 4096


def main() -> None:
    """Serve requests until there are no more, then exit."""
    channel = firstlight._current
    if channel is None:
        sys.exit("firstlight.runner is started by `firstlight run`, not by hand")
    sys.exit(serve(channel))


def serve(channel: "Channel") -> int:
    """Answer all requests; the exit code is non-zero if any failed."""
    parse = _parser()
    session = _Session(channel)
    try:
        for request in _requests(channel, parse):
            if request["type"] == "finish":
                break
            session.answer(request)
    except BaseException as error:
        [traceback] = _imports.unwatched(["traceback"])
        tail = traceback.format_exc()[-TRACEBACK_CHARACTERS:]
        channel.send("failed", at=monotonic_ns(), error=describe(error), traceback=tail)
        traceback.print_exc()
        return 1
    return 0


def describe(error: BaseException) -> str:
    text = str(error)
    if len(text) > TRACEBACK_CHARACTERS:
        text = "%s… (%d characters)" % (text[:TRACEBACK_CHARACTERS], len(text))
    return "%s: %s" % (type(error).__name__, text) if text else type(error).__name__


class _Json:
    """The attributes that the interpreter's own JSON scanner needs; importing ``json`` costs far
    more.
    """

    strict = True
    object_hook = object_pairs_hook = parse_constant = None
    parse_float = float
    parse_int = int
    memo: "dict[str, str]" = {}  # noqa: RUF012


def _parser() -> "Callable[[str], Any]":
    try:
        [accelerator] = _imports.unwatched(["_json"])
        scan = accelerator.make_scanner(_Json)
    except (ImportError, AttributeError):
        [json] = _imports.unwatched(["json"])
        return json.loads  # type: ignore[no-any-return]
    return lambda text: scan(text, 0)[0]


def _requests(channel: "Channel", parse: "Callable[[str], Any]") -> "Iterator[dict[str, Any]]":
    buffer = channel.pending
    while True:
        line, newline, rest = buffer.partition(b"\n")
        if newline:
            buffer = rest
            yield parse(line.decode())
            continue
        more = channel.read()
        if not more:
            return
        buffer += more


class _Session:
    """One workload and its requests so far."""

    def __init__(self, channel: "Channel") -> None:
        self.channel = channel
        self.workload: "firstlight.Workload | None" = None
        self.has_counted = False

    def answer(self, request: "dict[str, Any]") -> None:
        kind = request["type"]
        if kind == "prepare":
            self.prepare(request)
        elif kind == "first":
            self.first()
        elif kind == "warm-up":
            self.warm_up(request["count"], request.get("within-ns"))
        elif kind == "iterate":
            self.iterate(request["count"], request.get("within-ns"), request.get("at-least", 1))
        elif kind == "settle":
            self.settle(request["count"], request.get("within-ns"), request.get("at-least", 1))
        # Requests of a newer minor version are skipped.

    def prepare(self, request: "dict[str, Any]") -> None:
        channel = self.channel
        channel.begin("setup")
        case = firstlight.Case(
            request["case"], request["parameters"], request["arm"], request["options"]
        )
        workload = load(request["workload"]).setup(case)
        if not isinstance(workload, firstlight.Workload):
            raise TypeError(
                "setup returned %s, not a firstlight.Workload" % type(workload).__name__
            )
        self.workload = workload
        channel.end("setup")
        channel.send("ready", at=monotonic_ns())

    def ready(self) -> "firstlight.Workload":
        if self.workload is None:
            raise RuntimeError("asked to run before prepare")
        return self.workload

    def first(self) -> None:
        channel = self.channel
        workload = self.ready()
        channel.begin("first-run")
        start = monotonic_ns()
        result = workload.step(*workload.args, **workload.kwargs)
        if workload.sync is not None:
            workload.sync(result)
        end = monotonic_ns()
        channel.end("first-run", at=end)
        channel.mark("first-result", end)
        channel.send("iterations", part="first", last=True, spans=[[start, end]])
        self.check(result)

    def warm_up(self, count: int, within: "int | None") -> None:
        """Run the workload's own warm-up, or the requested number of calls."""
        # Imported now, so that no window includes it.
        _imports.unwatched(["firstlight._arrays", "firstlight._outputs", "firstlight._window"])
        channel, workload = self.channel, self.ready()
        channel.keeps_programs = True
        channel.begin("warm-up")
        if workload.warmup is None:
            self.calls("warm-up", count, within)
        else:
            start = monotonic_ns()
            result = workload.warmup()
            if workload.sync is not None:
                workload.sync(result)
            spans = [[start, monotonic_ns()]]
            channel.send("iterations", part="warm-up", last=True, spans=spans)
            if workload.baseline is not None:
                workload.baseline()
        channel.end("warm-up")

    def iterate(self, count: int, within: "int | None", at_least: int) -> None:
        """Make the measured calls, and report any changes during them."""
        [window] = _imports.unwatched(["firstlight._window"])
        channel = self.channel
        watch = window.Watch(channel)
        channel.begin("window")
        result = self.calls("window", count, within, at_least)
        channel.end("window")
        watch.close()
        self.check(result)
        for tell in channel.programs:
            tell(channel)

    def calls(self, part: str, count: int, within: "int | None", at_least: int = 1) -> "Any":
        """Call the step; readings are sent in blocks, between two calls. Returns the last
        result.
        """
        workload, channel, clock = self.ready(), self.channel, monotonic_ns
        step, args, kwargs, sync = workload.step, workload.args, workload.kwargs, workload.sync
        baseline = workload.baseline
        # Plain numbers, because the garbage collector tracks tuples.
        moments: "list[int]" = []
        others: "list[int]" = []
        result: "Any" = None
        deadline = _deadline(within)
        try:
            for made in range(1, count + 1):
                # The last result is freed before the clock starts, not while it runs.
                result = None
                start = clock()
                result = step(*args, **kwargs)
                if sync is not None:
                    sync(result)
                end = clock()
                moments.append(start)
                moments.append(end)
                if baseline is not None:
                    start = clock()
                    baseline()
                    others.append(start)
                    others.append(clock())
                if end > deadline and made >= at_least:
                    break
                if len(moments) == 2 * BLOCK and made < count:
                    self.tell_baseline(part, others)
                    channel.send("iterations", part=part, last=False, spans=_pairs(moments))
                    moments.clear()
        finally:
            # Measurements before an error are kept.
            self.tell_baseline(part, others)
            channel.send("iterations", part=part, last=True, spans=_pairs(moments))
        return result

    def tell_baseline(self, part: str, moments: "list[int]") -> None:
        """Never the last block of an answer: the window's own readings follow."""
        if part == "window" and moments:
            self.channel.send("iterations", part="baseline", last=False, spans=_pairs(moments))
        moments.clear()

    def settle(self, count: int, within: "int | None", at_least: int) -> None:
        """Check whether calls had finished when they returned."""
        [window] = _imports.unwatched(["firstlight._window"])
        workload, wait = self.ready(), window.wait_for_everything
        spans = []
        result: "Any" = None
        deadline = _deadline(within)
        for made in range(1, count + 1):
            result = None
            start = monotonic_ns()
            result = workload.step(*workload.args, **workload.kwargs)
            if workload.sync is not None:
                workload.sync(result)
            end = monotonic_ns()
            wait(result)
            settled = monotonic_ns()
            if settled - start < LONG:
                # Waiting for a new result takes longer than for one that was waited for before,
                # finished or not. The cost of waiting is therefore measured on new results, after
                # enough time for them to finish.
                result = None
                result = workload.step(*workload.args, **workload.kwargs)
                if workload.sync is not None:
                    workload.sync(result)
                sleep((settled - start) / 1e9)
            before = monotonic_ns()
            wait(result)
            again = monotonic_ns()
            spans.append((start, end, settled, settled + again - before))
            if again > deadline and made >= at_least:
                break
        self.channel.send("settled", spans=spans)

    def check(self, result: "Any") -> None:
        """Run the workload's own check of its result, after the clock has stopped."""
        workload = self.ready()
        verdict, error = "not-given", None
        if workload.check is not None:
            verdict = "passed"
            try:
                if workload.check(result) is False:
                    verdict, error = "failed", "the workload's check refused its result"
            except Exception as problem:
                verdict, error = "failed", describe(problem)
        [outputs] = _imports.unwatched(["firstlight._outputs"])
        try:
            compared = result if workload.output is None else workload.output(result)
            digest, leaves, unread = outputs.describe(compared)
        except Exception as problem:
            verdict, error = "failed", "output: " + describe(problem)
            digest, leaves, unread = None, [], 0
        described = {"check": verdict, "error": error, "digest": digest, "leaves": leaves}
        self.channel.send("output", **described, unread=unread, **self.counts())

    def counts(self) -> "dict[str, Any]":
        """Count arrays that the step uses, by element type: with the first answer of a process
        only.
        """
        if self.has_counted:
            return {}
        self.has_counted = True
        [arrays] = _imports.unwatched(["firstlight._arrays"])
        return arrays.count(self.ready())  # type: ignore[no-any-return]


def _deadline(within: "int | None") -> int:
    return 1 << 63 if within is None else monotonic_ns() + within


def _pairs(moments: "list[int]") -> "list[tuple[int, int]]":
    return list(zip(moments[::2], moments[1::2]))


def load(path: str) -> "Any":
    """Import a workload's file as a module of its own name; neighbouring files can be imported
    too.
    """
    # The same as in importlib.util, without importing it.
    bootstrap: "Any" = sys.modules["_frozen_importlib"]
    external: "Any" = sys.modules["_frozen_importlib_external"]
    name = path.rpartition("/")[2].partition(".")[0]
    spec = external.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("cannot load the workload `%s`" % path)
    module = bootstrap.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    if not hasattr(module, "setup"):
        raise AttributeError("the workload `%s` has no function `setup`" % path)
    return module
