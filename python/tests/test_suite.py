"""The built-in quickstart, and every document against its schema."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest
from conftest import ROOT, start


def validate(document: Any, name: str) -> None:
    schema = json.loads((ROOT / "schemas" / f"{name}.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the quickstart once, with the tests' own environment, and return its folder."""
    folder = tmp_path_factory.mktemp("quickstart")
    arguments = ["run", "quickstart", "--processes", "1", "--python", sys.executable]
    finished = start(folder, *arguments, "--format", "json", "--export-json", "run.json")
    assert finished.returncode == 0, finished.stderr
    return folder


def test_every_arm_of_the_quickstart_is_valid_in_all_regimes(quickstart: Path) -> None:
    document = json.loads((quickstart / "run.json").read_text())
    assert document["complete"]
    assert document["environment"]["kind"] == "as-found"
    assert "jax" in document["environment"]["packages"]
    arms = [(case["name"], arm) for case in document["cases"] for arm in case["arms"]]
    assert [(case, arm["name"]) for case, arm in arms] == [
        ("mlp", "jax"),
        ("mlp", "numpy"),
        ("transformer", "jax"),
    ]
    for _, arm in arms:
        assert [regime["regime"] for regime in arm["regimes"]] == [
            "cold-clean",
            "cold-primed",
            "warm",
        ]
        for regime in arm["regimes"]:
            [sample] = regime["samples"]
            assert sample["valid"], sample["reasons"]
            output = [m for m in sample["raw"]["messages"] if m["type"] == "output"]
            assert output[0]["check"] == "passed"


def test_primed_replaces_compiling_by_reading(quickstart: Path) -> None:
    document = json.loads((quickstart / "run.json").read_text())
    for case in document["cases"]:
        jax = case["arms"][0]
        clean, primed = (regime["samples"][0] for regime in jax["regimes"][:2])
        phases = [{row["name"] for row in sample["phases"]} for sample in (clean, primed)]
        assert "compile" in phases[0]
        assert "cache-read" not in phases[0]
        assert "compile" not in phases[1]
        assert "cache-read" in phases[1]


def test_the_documents_fit_their_schemas(quickstart: Path, tmp_path: Path) -> None:
    validate(json.loads((quickstart / "run.json").read_text()), "run")
    [folder] = (quickstart / "runs").iterdir()
    records = [json.loads(line) for line in (folder / "raw.jsonl").read_text().splitlines()]
    assert len(records) == 16
    for record in records:
        validate(record, "raw-record")
        for message in record["sample"]["messages"]:
            validate(message, "protocol-message")
    finished = start(tmp_path, "cold", "--runs", "2", "--control", "--format", "json", "--", "true")
    validate(json.loads(finished.stdout), "run")


def test_the_python_package_reads_nothing_but_the_standard_library() -> None:
    """Importing it must not import anything that a measured process would pay for."""
    code = (
        "import sys; before = set(sys.modules); import firstlight, firstlight._hooks; "
        "print(sorted(m for m in set(sys.modules) - before if not m.startswith('firstlight')))"
    )
    finished = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); {code}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stdout.strip() in ("[]", "['atexit']")


def test_the_quickstarts_step_is_well_conditioned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both arms agree with double precision, far below the 1e-4 that the comparison allows."""
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    for folder in (ROOT / "suites" / "quickstart", ROOT / "python"):
        monkeypatch.syspath_prepend(str(folder))
    names = ("model", "in_numpy", "in_jax")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    model, in_numpy, in_jax = (importlib.import_module(name) for name in names)
    case = SimpleNamespace(name="mlp")
    numbers = {"width": 256, "batch": 128}
    monkeypatch.setattr(model, "make", lambda _: model._make_mlp(random(), **numbers))
    arms = [arm.setup(case) for arm in (in_numpy, in_jax)]
    found = [arm.step(*arm.args) for arm in arms]
    monkeypatch.setattr(model, "make", lambda _: double(model._make_mlp(random(), **numbers)))
    exact = in_numpy.setup(case)
    expected = exact.step(*exact.args)
    for result in found:
        for leaf, truth in zip(leaves(result), leaves(expected), strict=True):
            assert np.abs(leaf - truth).max() <= 2e-5 * np.abs(truth).max()


def random() -> np.random.Generator:
    return np.random.default_rng(0)


def double(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: double(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [double(part) for part in value]
    return value.astype(np.float64) if value.dtype == np.float32 else value


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for name in sorted(value) for leaf in leaves(value[name])]
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [np.asarray(value, np.float64)]
