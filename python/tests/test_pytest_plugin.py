"""The pytest plug-in, in sessions of its own: real JAX, real PyTorch, the real binary."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
from conftest import ROOT, start

if sys.version_info >= (3, 11):
    import tomllib

SAMPLE = ROOT / "examples" / "pytest"
Session = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Runs pytest in a project, with the plug-in installed by its entry point."""
    site = tmp_path / "site" / "firstlight-0.1.0.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: firstlight\nVersion: 0.1.0\n")
    project = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())["project"]
    plugins = project["entry-points"]["pytest11"]
    listed = "".join(f"{name} = {place}\n" for name, place in plugins.items())
    (site / "entry_points.txt").write_text("[pytest11]\n" + listed)
    program = tmp_path / "bin" / "firstlight"
    program.parent.mkdir()
    binary = os.environ.get("FIRSTLIGHT_BINARY", ROOT / "target" / "debug" / "firstlight")
    program.symlink_to(binary)

    def run(
        folder: Path, *arguments: str, python: Path | str = sys.executable, path: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        kept = ("HOME", "LANG", "TMPDIR", "XDG_CACHE_HOME")
        environment = {name: os.environ[name] for name in kept if name in os.environ}
        environment |= {
            "PATH": f"{program.parent}:{os.environ['PATH']}" if path is None else path,
            "PYTHONPATH": f"{ROOT / 'python'}:{site.parent}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "JAX_PLATFORMS": "cpu",
            "COLUMNS": "100",
            "FIRSTLIGHT_RUNS": str(tmp_path / "runs"),
            "FIRSTLIGHT_CACHE": str(ROOT / "target" / "tmp" / "python-cache"),
        }
        return subprocess.run(
            [str(python), "-m", "pytest", "-p", "no:cacheprovider", *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    return run


@pytest.fixture
def project(tmp_path: Path) -> Callable[[str], Path]:
    """A project with one file of tests and short windows."""

    def write(tests: str) -> Path:
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        (folder / "test_it.py").write_text(tests)
        settings = "[pytest]\nfirstlight_calls = 20\nfirstlight_warm_up = 3\n"
        (folder / "pytest.ini").write_text(settings)
        return folder

    return write


def sample(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, tmp_path / "sample"))


# A collection in a window of some microseconds would be a finding.
PLAIN = """
import gc
gc.disable()

def test_sum(firstlight):
    assert firstlight(sum, range(100)) == 4950

def test_nothing():
    pass
"""


def test_the_sample_project_passes_and_fails_where_a_recompilation_is_planted(
    session: Session, tmp_path: Path
) -> None:
    done = session(sample(tmp_path), "test_model.py", "test_cold.py")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 3 passed" in done.stdout
    assert "FAILED test_model.py::test_a_last_batch_that_is_smaller_recompiles" in done.stdout
    assert "firstlight.Recompiled: 1 program was compiled while the window was open" in done.stdout
    assert "step(f32[8], f32[48,8])" in done.stdout
    assert "cause: argument 1 (batch) changed from f32[64,8] to f32[48,8]" in done.stdout
    assert "called from test_model.py:" in done.stdout
    [row] = [line for line in done.stdout.splitlines() if "test_the_first_step  " in line]
    assert "6 cold" in row


def test_the_torch_sample_passes_and_fails_where_a_recompilation_is_planted(
    session: Session, tmp_path: Path, torch_python: Path
) -> None:
    done = session(sample(tmp_path), "test_torch_model.py", python=torch_python)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    assert "3 programs were compiled while the window was open" in done.stdout
    assert "forward(float32[66,8])" in done.stdout
    assert "size mismatch at index 0. expected 65, actual 66" in done.stdout
    assert "defined in test_torch_model.py:" in done.stdout


def test_the_table_fits_the_terminal_and_names_every_measured_test(
    session: Session, project: Callable[[str], Path]
) -> None:
    done = session(project(PLAIN))
    assert done.returncode == 0, done.stdout
    table = done.stdout[done.stdout.index(" firstlight =") :].splitlines()
    assert table[1].split() == ["test", "median", "95", "%", "interval", "calls", "findings"]
    assert table[2].startswith("test_it.py::test_sum") and table[2].endswith("20  none")
    assert all(len(line) <= 100 for line in table)
    assert "test_nothing" not in done.stdout


MODULES = """
import sys
MEASURING = ("firstlight._measure", "firstlight._recorder", "firstlight._window")
FRAMEWORKS = ("jax", "torch", "numba", "numpy")

def test_first():
    assert "firstlight.pytest_plugin" in sys.modules
    assert [name for name in (*MEASURING, *FRAMEWORKS) if name in sys.modules] == []

def test_second(firstlight):
    firstlight(len, "abc")
    assert [name for name in MEASURING if name not in sys.modules] == []
    assert [name for name in FRAMEWORKS if name in sys.modules] == []
"""


def test_nothing_is_imported_unless_it_is_used_and_no_framework_ever(
    session: Session, project: Callable[[str], Path]
) -> None:
    done = session(project(MODULES), "-p", "no:jaxtyping")
    assert done.returncode == 0, done.stdout


SLEEP = """
import time

def test_sleep(firstlight):
    firstlight(time.sleep, %s)
"""


def test_a_test_that_became_slower_fails_the_session_and_the_same_one_does_not(
    session: Session, project: Callable[[str], Path], tmp_path: Path
) -> None:
    stored = tmp_path / "before"
    processes = ("--firstlight-processes=5", "--firstlight-margin=50%")
    done = session(project(SLEEP % 0.02), *processes, f"--firstlight-save={stored}")
    assert done.returncode == 0, done.stdout
    assert f"run: {stored}" in done.stdout
    assert "100  none" in done.stdout, "five processes with twenty calls each"
    shown = start(tmp_path, "show", str(stored), "--format", "json")
    [case] = json.loads(shown.stdout)["cases"]
    assert case["name"] == "test_it.py::test_sleep"
    [regime] = case["arms"][0]["regimes"]
    assert regime["regime"] == "warm" and len(regime["samples"]) == 5

    compare = f"--firstlight-compare={stored}"
    done = session(project(SLEEP % 0.08), *processes, compare)
    assert done.returncode == 1, done.stdout
    assert "1 test is slower by more than the margin" in done.stdout
    done = session(project(SLEEP % 0.02), *processes, compare)
    assert done.returncode == 0, done.stdout
    assert "equivalent" in done.stdout or "faster" in done.stdout, done.stdout


def test_one_process_has_no_verdict_and_the_session_says_what_is_missing(
    session: Session, project: Callable[[str], Path], tmp_path: Path
) -> None:
    stored = tmp_path / "before"
    folder = project(PLAIN)
    assert session(folder, f"--firstlight-save={stored}").returncode == 0
    done = session(folder, f"--firstlight-compare={stored}")
    assert done.returncode == 0, done.stdout
    assert "too few" in done.stdout
    assert "hint: a verdict needs 5 processes of each run" in done.stdout


def test_a_missing_program_is_told_before_anything_is_measured(
    session: Session, project: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = project(PLAIN)
    done = session(folder, f"--firstlight-save={tmp_path / 'run'}", path="/nonexistent")
    assert done.returncode == 4
    assert "cannot find the program `firstlight`" in done.stderr
    assert "hint: install its wheel into this environment" in done.stderr
    assert session(folder, path="/nonexistent").returncode == 0, "the fixture needs no program"


def test_wrong_options_are_refused_with_their_values(
    session: Session, project: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = project(PLAIN)
    for option, message in (
        ("--firstlight-compare=missing", "--firstlight-compare: no run at `missing`"),
        (f"--firstlight-save={tmp_path}", f"--firstlight-save: `{tmp_path}` already exists"),
        ("--firstlight-processes=no", "expects a number above zero, got `no`"),
        ("--firstlight-margin=100%", "invalid margin `100%`"),
    ):
        done = session(folder, option)
        assert done.returncode == 4
        assert message in done.stderr
    mark = "import pytest\n@pytest.mark.firstlight(call=3)\ndef test_sum"
    wrong = PLAIN.replace("def test_sum", mark)
    assert "unknown option `call`" in session(project(wrong)).stdout
    wrong = wrong.replace("call=3", "within='soon'")
    assert (
        "`within` expects a time such as 2s or 300ms, got `soon`" in session(project(wrong)).stdout
    )


INTERRUPTED = """
import os, signal
made = 0

def test_before(firstlight):
    firstlight(len, "abc")

def test_interrupted(firstlight):
    def step():
        global made
        made += 1
        if made == 10:
            os.kill(os.getpid(), signal.SIGINT)
    firstlight(step)

def test_after(firstlight):
    firstlight(len, "abc")
"""


def test_ctrl_c_loses_no_reading(
    session: Session, project: Callable[[str], Path], tmp_path: Path
) -> None:
    stored = tmp_path / "run"
    options = ("--firstlight-processes=3", f"--firstlight-save={stored}")
    done = session(project(INTERRUPTED), *options)
    assert done.returncode == 2, done.stdout
    assert "test_it.py::test_interrupted: the measurement was not completed" in done.stdout
    shown = start(tmp_path, "show", str(stored), "--format", "json")
    document = json.loads(shown.stdout)
    assert [case["name"].rpartition("::")[2] for case in document["cases"]] == [
        "test_before",
        "test_interrupted",
    ]
    original = json.loads((stored / "imported.json").read_text())
    lengths = [len(one["runs"][0]["values"]) for one in original["benchmarks"]]
    assert lengths == [20, 6], "three calls of warm-up, then six before the interrupted one"


def test_workers_of_xdist_send_what_they_measured(
    session: Session, project: Callable[[str], Path], tmp_path: Path
) -> None:
    many = "".join(PLAIN.replace("test_sum", f"test_{n}") for n in range(4))
    stored = tmp_path / "run"
    done = session(project(many), "-n", "2", f"--firstlight-save={stored}")
    assert done.returncode == 0, done.stdout
    original = json.loads((stored / "imported.json").read_text())
    names = sorted(one["metadata"]["name"] for one in original["benchmarks"])
    assert names == [f"test_it.py::test_{n}" for n in range(4)]
    assert all(len(one["runs"]) == 1 for one in original["benchmarks"])


def test_the_plug_in_can_be_switched_off(session: Session, project: Callable[[str], Path]) -> None:
    done = session(project(PLAIN), "-p", "no:firstlight")
    assert "1 passed" in done.stdout and "1 error" in done.stdout
    assert "fixture 'firstlight' not found" in done.stdout


COLD = """
import pytest

@pytest.mark.cold(runs=2)
@pytest.mark.parametrize("values", [[1, 2.5, None], {"a": (b"x", True)}])
def test_values(values):
    assert values

class TestMethods:
    @pytest.mark.cold(runs=2, at_most="10m")
    def test_method(self):
        assert self is not None

@pytest.mark.cold(runs=2, at_most="1ms")
def test_too_slow():
    pass

@pytest.mark.cold(runs=2)
def test_wrong():
    assert "this" == "that"

@pytest.mark.cold
def test_fixture(tmp_path):
    pass

@pytest.mark.cold
@pytest.mark.parametrize("thing", [object()])
def test_object(thing):
    pass
"""


def test_cold_tests_run_in_fresh_processes(
    session: Session, project: Callable[[str], Path]
) -> None:
    done = session(project(COLD))
    assert "4 failed, 3 passed" in done.stdout, done.stdout
    assert "the first result took" in done.stdout and "the limit is 1.00 ms" in done.stdout
    assert "a fresh process failed: exited (code 1)" in done.stdout
    assert 'assert "this" == "that"' in done.stdout
    assert "the test asks for the fixture `tmp_path`" in done.stdout
    assert "the parameter `thing` is a object" in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.endswith(("none", "1", "2"))]
    assert sum("2 cold" in row for row in rows) == 4


def test_cold_tests_without_the_program_fail_with_a_hint(
    session: Session, project: Callable[[str], Path]
) -> None:
    done = session(project(COLD), "-k", "values", path="/nonexistent")
    assert "2 failed" in done.stdout
    assert "cannot find the program `firstlight`" in done.stdout


def test_several_measurements_of_a_test_have_names_of_their_own(
    session: Session, project: Callable[[str], Path]
) -> None:
    twice = (
        "import gc\n"
        "def test_two(firstlight):\n"
        "    gc.disable()\n"
        "    firstlight(len, 'a')\n"
        "    firstlight.with_options(calls=7)(len, 'a')\n"
    )
    lines = session(project(twice)).stdout.splitlines()
    rows: list[Any] = [line.split() for line in lines if line.startswith("test_it.py::test_two")]
    assert [row[-2] for row in rows if row[-1] == "none"] == ["20", "7"]
    assert rows[1][1] == "#2"
