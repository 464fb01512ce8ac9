"""The suite `histfactory` in its smallest form, with the packages of the tests' environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
BUILT = ROOT / "target" / "debug"
ARMS = ("histfactory", "histfactory-python", "histfactory-jax", "plain-jax", "pyhf-jax")


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("suite")
    programs = folder / "bin"
    programs.mkdir()
    runner = programs / "histfactory-runner"
    runner.symlink_to(BUILT / "histfactory-runner")
    subprocess.run([str(runner), "workspaces", str(BUILT)], check=True)
    for name in ("small", "combination"):
        (programs / f"{name}.json").symlink_to(BUILT / f"{name}.json")
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    environment["FIRSTLIGHT_RUNS"] = str(folder / "runs")
    environment["FIRSTLIGHT_CACHE"] = str(ROOT / "target" / "tmp" / "python-cache")
    chosen = [word for arm in ARMS for word in ("--arm", arm)]
    options = ["--profile", "tiny", "--python", sys.executable, "--format", "json"]
    binary = os.environ.get("FIRSTLIGHT_BINARY", str(BUILT / "firstlight"))
    finished = subprocess.run(
        [binary, "run", str(ROOT / "suites/histfactory"), *chosen, *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert finished.stdout, finished.stderr
    document: dict[str, Any] = json.loads(finished.stdout)
    assert finished.returncode == 0, refusals(document)
    return document


def refusals(document: dict[str, Any]) -> list[tuple[str, str, Any, Any]]:
    """The abandoned arms and the rejected samples, each with its reasons."""
    found = []
    for case in document["cases"]:
        for arm in case["arms"]:
            reasons = [sample["reasons"] for sample in samples(arm) if not sample["valid"]]
            if arm.get("stopped") or reasons:
                found.append((case["name"], arm["name"], arm.get("stopped"), reasons))
    return found


def arms(document: dict[str, Any], name: str) -> dict[str, Any]:
    [case] = [case for case in document["cases"] if case["name"] == name]
    return {arm["name"]: arm for arm in case["arms"]}


def samples(arm: dict[str, Any]) -> list[dict[str, Any]]:
    return [sample for regime in arm["regimes"] for sample in regime["samples"]]


def test_every_arm_completes_its_cases_and_all_agree(document: dict[str, Any]) -> None:
    jobs = {
        "small-nll-gradient": set(ARMS),
        "small-fit": set(ARMS) - {"histfactory-jax"},
        "small-loss-gradient": {"histfactory", "histfactory-jax", "plain-jax"},
        "small-training": {"histfactory", "histfactory-jax", "plain-jax"},
    }
    assert {case["name"] for case in document["cases"]} == set(jobs)
    for name, expected in jobs.items():
        found = arms(document, name)
        assert set(found) == expected
        for arm in found.values():
            assert arm["findings"] == []
            assert all(sample["valid"] for sample in samples(arm))
            agreement = arm["agreement"]
            assert agreement["kind"] == "reference" or agreement["difference"] < 1e-6


def test_nothing_is_compiled_for_the_native_arms(document: dict[str, Any]) -> None:
    compiled = {}
    for name, arm in arms(document, "small-fit").items():
        compiled[name] = sum(len(sample["compiles"]) for sample in samples(arm))
    assert not compiled["histfactory"]
    assert not compiled["histfactory-python"]
    assert compiled["plain-jax"]
