"""Exported results in other tools: pyperf itself, pandas, an XML parser."""

import csv
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pandas
import pyperf
import pytest
from conftest import ROOT, start

SUITE = """
name = "small"
environment = "as-found"
regimes = ["cold-clean", "warm"]
cache = { bytecode = "as-found" }
sampling = { timeout = "60s", processes = 5 }
comparison = { control = true }
warm = { processes = 5, most-processes = 5, iterations = 15, warm-up = 2 }
[[case]]
name = "nap"
[[arm]]
name = "short"
workload = "w.py"
options = { ms = 1 }
[[arm]]
name = "long"
workload = "w.py"
options = { ms = 5 }
"""

WORKLOAD = """
import time, firstlight
def setup(case):
    return firstlight.Workload(lambda: time.sleep(case["ms"] / 1000))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a small suite was run, once, into ``result``."""
    folder = tmp_path_factory.mktemp("exchange")
    (folder / "suite").mkdir()
    (folder / "suite" / "suite.toml").write_text(SUITE)
    (folder / "suite" / "w.py").write_text(WORKLOAD)
    finished = start(folder, "run", "suite", "--python", sys.executable, "--output", "result")
    assert finished.returncode == 0, finished.stderr
    return folder


def export(folder: Path, form: str) -> Path:
    path = folder / f"out.{form}"
    finished = start(folder, "export", "result", "--to", form, "--output", str(path))
    assert finished.returncode == 0, finished.stderr
    return path


def document(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "result" / "result.json").read_text())
    return found


def test_pyperf_itself_reads_the_export(folder: Path) -> None:
    path = export(folder, "pyperf")
    suite = pyperf.BenchmarkSuite.load(str(path))
    regimes = {
        f"{case['name']}/{arm['name']}/{regime['regime']}": regime
        for case in document(folder)["cases"]
        for arm in case["arms"]
        for regime in arm["regimes"]
    }
    assert suite.get_benchmark_names()
    for benchmark in suite:
        regime = regimes[benchmark.get_name()]
        if regime["regime"] == "cold-clean":
            times = [sample["first-result"]["ns"] for sample in regime["samples"]]
            assert [round(value * 1e9) for value in benchmark.get_values()] == times
        else:
            steady = [s["window"]["steady"] for s in regime["samples"] if s["window"]["steady"]]
            assert benchmark.get_nrun() == len(steady)
            assert len(benchmark.get_values()) == sum(part["calls"] for part in steady)
    command = [sys.executable, "-m", "pyperf", "stats", str(path)]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Number of benchmarks:" in finished.stdout


def test_parquet_opens_in_pandas_and_is_the_table_of_the_csv(folder: Path) -> None:
    table = pandas.read_parquet(export(folder, "parquet"))
    with export(folder, "csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(table.columns) == list(rows[0])
    assert len(table) == len(rows)
    assert list(table["duration_ns"]) == [int(row["duration_ns"]) for row in rows]
    assert list(table["begin_ns"]) == [int(row["begin_ns"]) for row in rows]
    assert list(table["case"] + table["arm"]) == [row["case"] + row["arm"] for row in rows]
    assert [str(value).lower() for value in table["valid"]] == [row["valid"] for row in rows]
    assert table["call"].isna().sum() == sum(row["call"] == "" for row in rows)
    warm = table[(table["regime"] == "warm") & (table["part"] == "window")]
    # Two arms, and the reference once more as a control.
    assert len(warm) == 3 * 5 * 15


def test_the_gate_is_well_formed_xml(folder: Path) -> None:
    root = ET.parse(export(folder, "junit")).getroot()
    cases = root.findall("./testsuite/testcase")
    assert len(cases) == int(root.attrib["tests"])
    assert len(root.findall(".//failure")) == int(root.attrib["failures"])


def test_bencher_and_the_action_have_the_numbers_of_the_document(folder: Path) -> None:
    bencher = json.loads(export(folder, "bencher").read_text())
    entries = json.loads(export(folder, "github-action-benchmark").read_text())
    assert sorted(entry["name"] for entry in entries) == sorted(bencher)
    regime = document(folder)["cases"][0]["arms"][0]["regimes"][0]
    assert bencher["nap/short/cold-clean"]["latency"] == {
        "value": regime["summary"]["first-result"]["point"]
    }
    assert "range" not in entries[0]


def test_an_import_fits_the_schema(folder: Path) -> None:
    import jsonschema

    schema = json.loads((ROOT / "schemas" / "run.json").read_text())
    for path in sorted((ROOT / "fixtures" / "exchange").glob("*.json")):
        finished = start(folder, "import", str(path), "--format", "json")
        assert finished.returncode == 0, finished.stderr
        jsonschema.Draft202012Validator(schema).validate(json.loads(finished.stdout))
