"""The end of a pytest session: further processes, the stored run, its comparison and the table.

A session is stored in pyperf's format, which ``firstlight import`` reads. The command line then
shows, reports and compares it like any other run.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time

import pytest

from . import _binary, _numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .pytest_plugin import Record, Session

# The smallest number of processes on each side for a verdict.
FEWEST_PROCESSES = 5


class Comparison:
    """The verdicts of ``firstlight compare``, one for each test."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.rows: list[dict[str, Any]] = document["comparisons"]
        self.differences: list[str] = [
            text for text in document["differences"] if not text.startswith("suite: ")
        ]

    def with_verdict(self, *verdicts: str) -> int:
        return sum(row["verdict"] in verdicts for row in self.rows)


def finish(session: Session, pytest_session: pytest.Session) -> None:
    """Measure in further processes, store and compare; problems are shown in the summary."""
    try:
        if pytest_session.exitstatus != pytest.ExitCode.INTERRUPTED:
            _measure_again(session)
    except KeyboardInterrupt:
        session.problems.append("interrupted: fewer processes were measured than requested")
    if session.save is None and session.against is None:
        return
    try:
        _store(session)
    except _binary.BinaryError as error:
        session.problems.append(str(error))
        pytest_session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
    if session.comparison is not None and session.comparison.with_verdict("slower"):
        pytest_session.exitstatus = pytest_session.exitstatus or pytest.ExitCode.TESTS_FAILED


def _measure_again(session: Session) -> None:
    """Measure the same tests in further processes, because differences between processes count
    too.
    """
    config = session.config
    tests = [record["test"] for record in session.records if record["regime"] == "warm"]
    if not tests or int(session.processes) == 1:
        return
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
    command += [
        "--rootdir=%s" % config.rootpath,
        "--import-mode=%s" % config.getoption("importmode"),
    ]
    if config.inipath is not None:
        command += ["-c", str(config.inipath)]
    for plugin in config.getoption("plugins") or ():
        command += ["-p", plugin]
    for setting in config.getoption("override_ini") or ():
        command += ["-o", setting]
    command += ["%s/%s" % (config.rootpath, test) for test in dict.fromkeys(tests)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTEST_ADDOPTS"}
    with tempfile.TemporaryDirectory(prefix="firstlight-") as folder:
        _say(session, "")  # after the line of progress
        for process in range(2, int(session.processes) + 1):
            readings = os.path.join(folder, "%d.jsonl" % process)
            _say(session, "firstlight: process %d of %s" % (process, session.processes))
            output = b""
            try:
                output = subprocess.run(
                    [*command, "--firstlight-readings=" + readings],
                    env=environment,
                    cwd=config.invocation_params.dir,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    check=False,
                ).stdout
            finally:
                _take(session, readings, process, output.decode(errors="replace"))


def _say(session: Session, text: str) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(text)


def _take(session: Session, readings: str, process: int, output: str) -> None:
    if not os.path.exists(readings):
        last = output.strip().rpartition("\n")[2] or "no output"
        session.problems.append("process %d measured nothing: %s" % (process, last))
        return
    with open(readings, encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                session.records.append({**json.loads(line), "process": process})


def _is_valid(record: Record) -> bool:
    return bool(record["calls"]) and all(notice for _, _, notice in record["findings"])


def document(records: list[Record]) -> dict[str, Any]:
    """Return the valid measurements in pyperf's format: a benchmark for each test, a run for each
    process.
    """
    benchmarks: dict[str, dict[str, Any]] = {}
    for record in filter(_is_valid, records):
        metadata = {
            "name": record["name"],
            "unit": "second",
            "firstlight_regime": record["regime"],
        }
        benchmark = benchmarks.setdefault(record["name"], {"metadata": metadata, "runs": []})
        date = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(record["started"]))
        run = {
            "metadata": {"date": date, "loops": 1},
            "warmups": [[1, ns / 1e9] for ns in record["warm-up"]],
            "values": [ns / 1e9 for ns in record["calls"]],
        }
        benchmark["runs"].append({key: value for key, value in run.items() if value})
    return {
        "version": "1.0",
        "metadata": {
            "cpu_model_name": _processor(),
            "cpu_count": os.cpu_count() or 1,
            "platform": "%s-%s-%s" % (platform.system(), platform.release(), platform.machine()),
            "python_implementation": platform.python_implementation().lower(),
            "python_version": platform.python_version(),
        },
        "benchmarks": list(benchmarks.values()),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def _store(session: Session) -> None:
    content = document(session.records)
    if not content["benchmarks"]:
        session.problems.append("no test has a valid measurement, so no run was stored")
        return
    with tempfile.TemporaryDirectory(prefix="firstlight-") as folder:
        file = os.path.join(folder, "pytest.json")
        with open(file, "w", encoding="utf-8") as stream:
            json.dump(content, stream)
        target = session.save or os.path.join(folder, "run")
        _binary.run(["import", file, "--from", "pyperf", "--output", target])
        session.stored = session.save
        if session.against is not None:
            arguments = ["compare", session.against, target, "--margin", session.margin]
            finished = _binary.run([*arguments, "--format", "json"])
            session.comparison = Comparison(json.loads(finished.stdout))


def summary(session: Session, width: int) -> list[str]:
    """Return the session's table and verdicts, at most ``width`` columns wide."""
    lines = _numbers.table([HEADER, *_rows(session.records)], width)
    lines += _details(session.records, width)
    processes = len({record["process"] for record in session.records})
    if any(record["regime"] == "warm" for record in session.records):
        note = "Warm times are per call."
        if processes == 1:
            note += " The intervals cover one process, not the differences between processes."
        lines += ["", *_numbers.wrapped(note, width)]
    if session.stored is not None:
        lines += ["", *_numbers.wrapped("run: %s" % session.stored, width)]
        lines += _numbers.wrapped("next: firstlight show %s" % session.stored, width)
    if session.comparison is not None:
        lines += ["", *_verdicts(session, session.comparison, width)]
    for problem in session.problems:
        for line in problem.splitlines():
            lines += _numbers.wrapped(line, width) if line else [""]
    return lines


HEADER = ("test", "median", "95 % interval", "calls", "findings")


def _by_name(records: list[Record]) -> dict[str, list[Record]]:
    tests: dict[str, list[Record]] = {}
    for record in records:
        tests.setdefault(record["name"], []).append(record)
    return tests


def _rows(records: list[Record]) -> list[tuple[str, str, str, str, str]]:
    rows = []
    for name, of_test in _by_name(records).items():
        counted = [record for record in of_test if _is_valid(record)] or of_test
        medians = [_numbers.median(record["calls"]) for record in counted if record["calls"]]
        # The interval of several processes is that of their medians.
        values = medians if len(counted) > 1 else counted[0]["calls"]
        bounds = counted[0].get("interval") or _numbers.interval(values)
        calls = str(sum(len(record["calls"]) for record in counted))
        if counted[0]["regime"] == "cold":
            calls += " cold"
        middle = _numbers.duration(_numbers.median(medians)) if medians else ""
        found = str(len(_findings(of_test)) or "none")
        rows.append((name, middle, _numbers.span(bounds), calls, found))
    return rows


def _findings(records: list[Record]) -> list[str]:
    """Return the findings about one test, each with its name."""
    texts = []
    if not all(record["complete"] for record in records):
        texts.append("the measurement was not completed")
    found: dict[str, list[str]] = {}
    for record in records:
        for name in dict.fromkeys(name for name, _, _ in record["findings"]):
            texts_of_name = [text for other, text, _ in record["findings"] if other == name]
            found.setdefault(name, []).append("; ".join(texts_of_name))
    for name, of_name in found.items():
        where = " in %d of %d processes" % (len(of_name), len(records)) if len(records) > 1 else ""
        texts.append("%s (%s%s)" % (of_name[0], name, where))
    return texts


def _details(records: list[Record], width: int) -> list[str]:
    """Return the findings of all tests, to be printed below the table."""
    lines = []
    for name, of_test in _by_name(records).items():
        for text in _findings(of_test):
            head, *rest = _numbers.wrapped("%s: %s" % (name, text), width - 2)
            lines += [head, *("  " + line for line in rest)]
    return ["", *lines] if lines else []


def _verdicts(session: Session, comparison: Comparison, width: int) -> list[str]:
    rows = [("test", "ratio", "95 % interval", "verdict")]
    for row in comparison.rows:
        ratio, bounds = row.get("ratio"), None
        if ratio is not None:
            bounds = ratio.get("interval")
        rows.append(
            (
                row["case"],
                "" if ratio is None else "%.3g×" % ratio["point"],
                "" if bounds is None else "%.3g–%.3g×" % (bounds["low"], bounds["high"]),
                row["verdict"].replace("-", " "),
            )
        )
    lines = ["time per call against %s, margin %s" % (session.against, session.margin)]
    lines = _numbers.wrapped(lines[0], width)
    lines += _numbers.table(rows, width) if comparison.rows else ["no test is in both runs"]
    for text in comparison.differences:
        lines += _numbers.wrapped("differs: " + text, width)
    slower = comparison.with_verdict("slower")
    if slower:
        verb = "test is" if slower == 1 else "tests are"
        lines += ["", "%d %s slower by more than the margin" % (slower, verb)]
    if comparison.with_verdict("too-few"):
        hint = "hint: a verdict needs %d processes of each run: pass --firstlight-processes=%d"
        lines += ["", *_numbers.wrapped(hint % (FEWEST_PROCESSES, FEWEST_PROCESSES + 1), width)]
    return lines
