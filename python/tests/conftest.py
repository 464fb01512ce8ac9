"""The firstlight binary, started with the interpreter that runs the tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from browser import Browser, find

ROOT = Path(__file__).parents[2]

Document = dict[str, Any]


def start(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run firstlight in a separate folder, in which its files stay."""
    binary = os.environ.get("FIRSTLIGHT_BINARY", str(ROOT / "target" / "debug" / "firstlight"))
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JAX_", "XLA_", "NUMBA_", "PYTHON"))
    }
    environment["FIRSTLIGHT_RUNS"] = str(folder / "runs")
    environment["FIRSTLIGHT_CACHE"] = str(ROOT / "target" / "tmp" / "python-cache")
    environment["JAX_PLATFORMS"] = "cpu"
    environment |= variables
    return subprocess.run(
        [binary, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = find()
    if program is None:
        pytest.fail("no Chromium on the path: no page was looked at; install chromium")
    browser = Browser(program)
    yield browser
    browser.close()


AXE = "axe-core@4.10.3"


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core, which finds elements that a screen reader or a keyboard cannot use; installed by
    npm.
    """
    folder = ROOT / "target" / "axe"
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.fail(f"no npm on the path: {AXE} cannot be installed")
        install = [npm, "install", "--silent", "--no-save", "--prefix", str(folder), AXE]
        subprocess.run(install, check=True, capture_output=True, timeout=300)
    return script.read_text()


@pytest.fixture(scope="session")
def torch_python() -> Path:
    """The interpreter of an environment with PyTorch, which `cargo xtask test` makes."""
    named = os.environ.get("FIRSTLIGHT_TORCH_PYTHON")
    found = Path(named) if named else ROOT / "target" / "python-torch" / "bin" / "python"
    if not found.exists():
        pytest.fail("no interpreter with PyTorch: FIRSTLIGHT_TORCH_PYTHON names one")
    return found


@pytest.fixture
def cold(tmp_path: Path) -> Callable[..., Document]:
    """Run ``cold`` on a script, given as text, in one regime."""

    def run(
        script: str,
        *arguments: str,
        code: int = 0,
        python: str = sys.executable,
        **variables: str,
    ) -> Document:
        path = tmp_path / "script.py"
        path.write_text(script)
        options = ["cold", "--format", "json", *arguments]
        finished = start(tmp_path, *options, "--", python, str(path), **variables)
        assert finished.returncode == code, finished.stderr
        document: Document = json.loads(finished.stdout)
        [case] = document["cases"]
        [arm] = case["arms"]
        [regime] = arm["regimes"]
        for sample in regime["samples"]:
            assert_closes(sample)
        return {
            **document,
            **regime,
            "priming": arm["priming"],
            "stopped": arm["stopped"],
            "control": regime.get("hooks"),
        }

    return run


def assert_closes(sample: Document) -> None:
    assert sum(row["ns"] for row in sample["phases"]) == sample["wall-ns"]
    if sample["first-result"] is not None:
        first = sample["first-result"]
        assert sum(row["ns"] for row in first["phases"]) == first["ns"]


def ns(sample: Document, phase: str) -> int:
    """Return a phase's time in a sample's ledger."""
    return sum(row["ns"] for row in sample["phases"] if row["name"] == phase)


def layer(sample: Document, name: str) -> Document:
    """Return a sample's evidence about one cache."""
    [found] = [known for known in sample["caches"] if known["layer"] == name]
    return dict(found)
