"""``@pytest.mark.cold``: measures the body of a test in fresh processes, with ``firstlight
cold``.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time

import pytest

from . import _binary, _measure, _numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .pytest_plugin import Record, Session

OPTIONS = ("runs", "cache", "timeout", "at_most")
# Exit codes of `firstlight cold` that come with a result: success, and a failed process.
TELLING = (0, 5)
LITERALS = (bool, int, complex, str, bytes, type(None))
SHOWN_LINES = 20


def run(session: Session, item: pytest.Function, mark: pytest.Mark) -> None:
    """Measure the test, and fail it if a process failed or the limit is exceeded."""
    for name in mark.kwargs:
        if name not in OPTIONS:
            raise pytest.UsageError(
                "cold: unknown option `%s`; the options are %s" % (name, ", ".join(OPTIONS))
            )
    started = time.time()
    with tempfile.TemporaryDirectory(prefix="firstlight-") as folder:
        script = os.path.join(folder, "cold_test.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(program(item))
        exported = os.path.join(folder, "cold.json")
        arguments = ["cold", "--export-json", exported]
        for option in ("runs", "cache", "timeout"):
            if option in mark.kwargs:
                arguments += ["--%s" % option, str(mark.kwargs[option])]
        try:
            finished = _binary.run(
                [*arguments, "--", sys.executable, script],
                TELLING,
                str(item.config.invocation_params.dir),
            )
        except _binary.BinaryError as error:
            pytest.fail(str(error), pytrace=False)
        with open(exported, encoding="utf-8") as file:
            document = json.load(file)
    item.add_report_section("call", "firstlight cold", finished.stdout)
    regimes = document["cases"][0]["arms"][0]["regimes"]
    for regime in regimes:
        record = _record(item, regime, started)
        if len(regimes) > 1:
            record["name"] = "%s (%s)" % (item.nodeid, regime["regime"])
        session.add(record)
        _judge(record, regime, mark.kwargs.get("at_most"))


def program(item: pytest.Function) -> str:
    """Return a script that only imports the test's module and calls the test."""
    values = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    asked = [name for name in item._fixtureinfo.argnames if name not in values]
    if asked:
        raise pytest.UsageError(
            "cold: the test asks for the fixture `%s`, which a fresh process does not have\n\n"
            "hint: a cold test takes parametrised values only" % asked[0]
        )
    for name, value in values.items():
        if not is_literal(value):
            raise pytest.UsageError(
                "cold: the parameter `%s` is a %s, which cannot be written as a literal"
                % (name, type(value).__name__)
            )
    path, module = str(item.path), item.module.__name__
    target = item.function.__qualname__
    if item.cls is not None:
        target = "%s().%s" % (item.cls.__qualname__, item.function.__name__)
    if item.config.getoption("importmode") == "importlib":
        load = IMPORT_FILE % {"module": module, "path": path}
    else:
        load = "import importlib\nmodule = importlib.import_module(%r)\n" % module
    arguments = ", ".join("%s=%r" % pair for pair in values.items())
    return PROGRAM % {
        "paths": [entry for entry in sys.path if entry],
        "load": load,
        "call": "module.%s(%s)" % (target, arguments),
    }


PROGRAM = """import sys
sys.path[:0] = [path for path in %(paths)r if path not in sys.path]
%(load)s%(call)s
import firstlight
firstlight.mark("first-result")
"""
IMPORT_FILE = """import importlib.util
spec = importlib.util.spec_from_file_location(%(module)r, %(path)r)
module = importlib.util.module_from_spec(spec)
sys.modules[%(module)r] = module
spec.loader.exec_module(module)
"""


def is_literal(value: object) -> bool:
    """Whether ``repr`` of the value is Python source for the same value."""
    if type(value) is float:
        return value - value == 0.0
    if isinstance(value, (list, tuple, set)) and type(value) in (list, tuple, set):
        return bool(value or type(value) is not set) and all(map(is_literal, value))
    if type(value) is dict:
        return all(map(is_literal, value)) and all(map(is_literal, value.values()))
    return type(value) in LITERALS


def _record(item: pytest.Function, regime: dict[str, Any], started: float) -> Record:
    samples = [sample for sample in regime["samples"] if sample["valid"]]
    summary = regime["summary"] or {}
    estimate = summary.get("first-result") or {}
    bounds = estimate.get("interval")
    findings = [
        [reason["finding"], reason["text"], False]
        for sample in regime["samples"]
        for reason in sample["reasons"]
    ]
    findings = [found for place, found in enumerate(findings) if found not in findings[:place]]
    if samples:  # a failed process does not affect the others
        findings = [[name, text, True] for name, text, _ in findings]
    findings += [[notice["finding"], notice["text"], True] for notice in regime["notices"]]
    return {
        "test": item.nodeid,
        "regime": "cold",
        "started": started,
        "warm-up": [],
        "calls": [sample["first-result"]["ns"] for sample in samples if sample["first-result"]],
        "interval": [bounds["low"], bounds["high"]] if bounds else None,
        "complete": True,
        "findings": findings,
    }


def _judge(record: Record, regime: dict[str, Any], at_most: float | str | None) -> None:
    for sample in regime["samples"]:
        outcome = sample["raw"]["outcome"]
        if outcome["kind"] != "completed":
            lines = sample["raw"]["streams"]["stderr-tail"].splitlines()[-SHOWN_LINES:]
            pytest.fail("\n".join(["a fresh process failed: %s" % _reason(outcome), *lines]), False)
    if not record["calls"]:
        texts = "; ".join(text for _, text, _ in record["findings"])
        pytest.fail("no fresh process has a valid measurement: %s" % texts, pytrace=False)
    if at_most is None:
        return
    limit = _measure.seconds("at_most", at_most) * 1e9
    middle = _numbers.median(record["calls"])
    least = record["interval"][0] if record["interval"] else min(record["calls"])
    if least > limit:
        pytest.fail(
            "the first result took %s (%s), the limit is %s"
            % (
                _numbers.duration(middle),
                _numbers.span(tuple(record["interval"])) if record["interval"] else "no interval",
                _numbers.duration(limit),
            ),
            pytrace=False,
        )


def _reason(outcome: dict[str, Any]) -> str:
    rest = ", ".join("%s %s" % pair for pair in outcome.items() if pair[0] != "kind")
    return "%s%s" % (outcome["kind"], " (%s)" % rest if rest else "")
