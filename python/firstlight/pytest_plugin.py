"""The pytest plug-in: the fixture ``firstlight``, the mark ``cold`` and a table at the end.

pytest loads this file in every session, so it imports neither a framework nor the measuring code.
The first test that requests a measurement imports them.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING, Any, Callable

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from _pytest.terminal import TerminalReporter

    from ._measure import Measurement
    from ._pytest_runs import Comparison

FIXTURE = "firstlight"
# The attribute of a report that transfers a worker's measurements to the main process.
CARRIED = "firstlight_records"
OPTIONS = ("calls", "warm_up", "within", "sync")
# A parametrised test may have any name; `firstlight import` accepts four times this length.
LONGEST_NAME = 1000
Record = dict[str, Any]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("firstlight", "measure calls, and fail tests that recompile")
    group.addoption(
        "--firstlight-save",
        metavar="FOLDER",
        help="store this session's measurements as a run in this new folder",
    )
    group.addoption(
        "--firstlight-compare",
        metavar="RUN",
        help="compare with a stored run; fail if a test is slower by more than the margin",
    )
    group.addoption(
        "--firstlight-margin",
        metavar="MARGIN",
        help="largest difference that does not matter, such as 2%%",
    )
    group.addoption(
        "--firstlight-processes",
        metavar="N",
        help="measure every test in this many processes; a verdict needs at least five",
    )
    # The file through which further processes of a session return their measurements.
    group.addoption("--firstlight-readings", metavar="FILE", help=argparse.SUPPRESS)
    parser.addini("firstlight_calls", "most calls of a window", default="1000")
    parser.addini("firstlight_warm_up", "calls before a window", default="10")
    parser.addini("firstlight_within", "time limit of a window, such as 1s", default="1s")
    parser.addini("firstlight_margin", "largest difference that does not matter", default="2%")
    parser.addini("firstlight_processes", "processes to measure every test in", default="1")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "firstlight(calls, warm_up, within, sync): how the fixture `firstlight` measures this test",
    )
    config.addinivalue_line(
        "markers",
        "cold(runs, cache, timeout, at_most): measure this test in fresh processes",
    )
    session = Session(config)
    session.check_options()
    config.pluginmanager.register(session, "firstlight-session")


@pytest.fixture
def firstlight(request: pytest.FixtureRequest) -> Measure:
    """Measure warm calls: ``firstlight(step, x)`` returns the result of the last call.

    The test fails if anything is compiled between the first and the last measured call.
    """
    from . import _recorder

    # Attached now, so that programs compiled by the test before the window are known as earlier
    # ones.
    _recorder.recorder()
    session = request.config.pluginmanager.get_plugin("firstlight-session")
    assert isinstance(session, Session)
    options = {name: request.config.getini("firstlight_" + name) for name in OPTIONS[:3]}
    for mark in request.node.iter_markers("firstlight"):
        options.update(_known(mark.kwargs))
        break
    return Measure(session, request.node.nodeid, options)


def _known(options: dict[str, Any]) -> dict[str, Any]:
    for name in options:
        if name not in OPTIONS:
            raise pytest.UsageError(
                "firstlight: unknown option `%s`; the options are %s" % (name, ", ".join(OPTIONS))
            )
    return options


class Measure:
    """The fixture's value: called with a function and its arguments."""

    def __init__(self, session: Session, test: str, options: dict[str, Any]) -> None:
        self._session = session
        self._test = test
        self._options = options

    def with_options(self, **options: Any) -> Measure:
        """Return the same with other ``calls``, ``warm_up``, ``within`` or ``sync``."""
        return Measure(self._session, self._test, {**self._options, **_known(options)})

    def __call__(self, step: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        from . import _measure, _recorder

        options = _measure.Options(**self._options)
        measured = _measure.Measurement()
        try:
            _measure.measure(step, args, kwargs, options, measured)
        finally:
            # Measurements before an error or Ctrl-C are kept.
            self._session.add(_record(self._test, measured))
        compiled = measured.compiled()
        if compiled is not None:
            raise _recorder.Recompiled("%s\n\n%s" % (compiled, HINT), measured.programs)
        return measured.result


HINT = (
    "hint: every call must use shapes, static arguments and functions that the warm-up has used;\n"
    "      the fixture makes `warm_up` calls before it measures"
)


def _record(test: str, measured: Measurement) -> Record:
    return {
        "test": test,
        "regime": "warm",
        "started": measured.started,
        "warm-up": measured.warm_up,
        "calls": measured.calls,
        "complete": measured.complete,
        "findings": [[found.name, found.text, found.notice] for found in measured.findings],
    }


def _is_margin(text: str) -> bool:
    percent = text.strip().endswith("%")
    try:
        value = float(text.strip().rstrip("%"))
    except ValueError:
        return False
    return 0 < value < (100 if percent else 1)


class Session:
    """The measurements of one pytest session, which are stored, compared and shown at its end."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.records: list[Record] = []
        self.is_worker = hasattr(config, "workerinput")
        self.readings: str | None = config.getoption("--firstlight-readings")
        self.save: str | None = config.getoption("--firstlight-save")
        self.against: str | None = config.getoption("--firstlight-compare")
        self.margin = str(
            config.getoption("--firstlight-margin") or config.getini("firstlight_margin")
        )
        processes = config.getoption("--firstlight-processes")
        self.processes = str(processes or config.getini("firstlight_processes"))
        # Measurements of the running test, before they are sent to the main process.
        self._unsent: list[Record] = []
        self.comparison: Comparison | None = None
        self.stored: str | None = None
        self.problems: list[str] = []

    def check_options(self) -> None:
        """Reject invalid options now, not after the measurements."""
        if not self.processes.isdigit() or int(self.processes) < 1:
            raise pytest.UsageError(
                "--firstlight-processes expects a number above zero, got `%s`" % self.processes
            )
        if not _is_margin(self.margin):
            raise pytest.UsageError(
                "invalid margin `%s`: expected a fraction such as 2%% or 0.02" % self.margin
            )
        if self.is_worker or self.readings is not None:
            self.save = self.against = None
            return
        if self.save is not None and os.path.exists(self.save):
            raise pytest.UsageError("--firstlight-save: `%s` already exists" % self.save)
        if self.against is not None and not os.path.exists(self.against):
            raise pytest.UsageError("--firstlight-compare: no run at `%s`" % self.against)
        if self.save is not None or self.against is not None:
            from . import _binary

            try:
                _binary.find()
            except _binary.BinaryError as error:
                raise pytest.UsageError(str(error)) from None

    def add(self, record: Record) -> None:
        record.setdefault("process", 1)
        earlier = sum(known["test"] == record["test"] for known in self.records)
        suffix = " #%d" % (earlier + 1) if earlier else ""
        record.setdefault("name", " ".join(record["test"].split())[:LONGEST_NAME] + suffix)
        self.records.append(record)
        if self.is_worker:
            self._unsent.append(record)
        if self.readings is not None:
            with open(self.readings, "a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        if self.readings is None:
            return
        wanted = [item for item in items if FIXTURE in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
        items[:] = wanted

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> object | None:
        mark = pyfuncitem.get_closest_marker("cold")
        if mark is None:
            return None
        from . import _pytest_cold

        _pytest_cold.run(self, pyfuncitem, mark)
        return True

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, None]:
        outcome = yield
        if self._unsent and call.when == "call":
            setattr(outcome.get_result(), CARRIED, self._unsent)
            self._unsent = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not self.is_worker:
            self.records += getattr(report, CARRIED, [])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.is_worker or self.readings is not None or not self.records:
            return
        from . import _pytest_runs

        _pytest_runs.finish(self, session)

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        if self.readings is None and self.records:
            from . import _pytest_runs

            width = self.config.get_terminal_writer().fullwidth
            terminalreporter.write_sep("=", "firstlight")
            for line in _pytest_runs.summary(self, width):
                terminalreporter.write_line(line)
