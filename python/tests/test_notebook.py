"""The cell magics, in a real IPython with the real binary."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from IPython.core.interactiveshell import InteractiveShell

import firstlight
from firstlight import _notebook_html, notebook, protocol


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An IPython with the extension loaded, and the program on its path."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("FIRSTLIGHT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(ROOT / "target" / "tmp" / "python-cache"))
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    (tmp_path / "bin").mkdir()
    binary = os.environ.get("FIRSTLIGHT_BINARY", ROOT / "target" / "debug" / "firstlight")
    (tmp_path / "bin" / "firstlight").symlink_to(binary)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "firstlight")
    yield shell
    InteractiveShell.clear_instance()


class Page(HTMLParser):
    """The tags and texts of a page whose tags must all be closed, in order."""

    VOID = ("rect", "polyline")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "code", "caption", "strong"):
            self.cells.append(data.strip())


JAX_CELL = """%%cold --runs 2 --cache clean
import jax, numpy, firstlight
import beside

@jax.jit
def step(x):
    return x * beside.FACTOR

step(numpy.ones(3, numpy.float32))
step(numpy.ones(4, numpy.float32)).block_until_ready()
firstlight.mark("first-result")
"""


def test_a_cold_cell_shows_its_ledger_and_programs(shell: Any, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("FACTOR = 2\n")
    done = shell.run_cell(JAX_CELL)
    assert done.success, done.error_in_exec
    html = done.result._repr_html_()
    page = Page(html)
    assert {"svg", "rect", "table", "caption"} <= set(page.tags)
    assert {"import", "compile", "trace"} <= set(page.cells)
    assert "Where the time goes" in page.cells
    assert "jit(step)" in page.cells
    assert "argument 0 (x) changed from f32[3] to f32[4]" in page.cells
    assert "to the first result, median of 2 fresh processes" in html
    assert "to the first result" in repr(done.result)
    assert "<script" not in html and "http" not in html


def test_a_cell_is_a_script_with_its_own_arguments(shell: Any) -> None:
    cell = "%%cold --runs 1 -- alpha\nimport sys\nassert sys.argv[1:] == ['alpha']\n"
    assert shell.run_cell(cell).success


def test_a_warm_cell_shows_its_window(shell: Any) -> None:
    shell.run_cell("values = list(range(100))")
    done = shell.run_cell("%%warm --calls 30 --warm-up=2\ntotal = sum(values)\ntotal + 1")
    assert done.success
    html = done.result._repr_html_()
    page = Page(html)
    assert "polyline" in page.tags
    assert "30 after 2 of warm-up" in page.cells
    assert "not valid" not in html
    assert "total" not in shell.user_ns, "names of the cell stay in the cell"


def test_a_warm_cell_that_compiles_says_so(shell: Any) -> None:
    shell.run_cell(
        "import jax, numpy\nfrom itertools import count\nsizes = count(1)\n"
        "double = jax.jit(lambda x: x * 2)"
    )
    done = shell.run_cell(
        '%%warm --calls 3 --warm-up 2\ndouble(numpy.ones(next(sizes), "float32"))'
    )
    html = done.result._repr_html_()
    assert "(not valid, see below)" in html
    assert "3 programs were compiled while the window was open" in html
    assert "argument 0 (x) changed from f32[2] to f32[3]" in html
    assert "compiled-in-window" in repr(done.result)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%%cold --format json\n1", "%%cold does not accept --format"),
        ("%%cold\n%time 1", "line 1 of the %%cold cell"),
        ("%%cold --runs 1\nraise ValueError('planted')", "ValueError: planted"),
        ("%%cold --runs none\n1", "none"),
        ("%%warm --callz 3\n1", "got `--callz`"),
        ("%%warm --calls none\n1", "`calls` expects a number of calls above zero, got `none`"),
        ("%%warm --calls 3\nif", "line 1 of the %%warm cell"),
    ],
)
def test_mistakes_are_reported_without_a_traceback(shell: Any, cell: str, words: str) -> None:
    done = shell.run_cell(cell)
    assert isinstance(done.error_in_exec, notebook.CellError)
    assert words in str(done.error_in_exec)
    assert done.error_in_exec._render_traceback_() == [f"error: {done.error_in_exec}"]


def test_a_missing_program_is_told_with_a_hint(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    done = shell.run_cell("%%cold\n1")
    assert "cannot find the program `firstlight`" in str(done.error_in_exec)
    assert "hint: " in str(done.error_in_exec)


def luminance(colour: str) -> float:
    """Relative luminance, after WCAG 2."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_colour_can_be_seen_on_a_light_and_on_a_dark_page() -> None:
    def contrast(one: str, other: str) -> float:
        dark, light = sorted((luminance(one), luminance(other)))
        return (light + 0.05) / (dark + 0.05)

    assert set(_notebook_html.COLOURS) == set(protocol.PHASES)
    for colour in {*_notebook_html.COLOURS.values(), _notebook_html.BAD}:
        assert contrast(colour, "#ffffff") >= 3 and contrast(colour, "#111111") >= 3, colour


def test_text_has_the_colour_of_the_page_and_is_escaped() -> None:
    note = [("finding", "<b>&")]
    html = _notebook_html._findings(note)
    assert "&lt;b&gt;&amp;" in html
    rows = [{"name": "import", "mean-ns": 2e6, "share": 1.0}]
    ledger = _notebook_html._box(_notebook_html._bar(rows) + _notebook_html._ledger(rows))
    coloured = re.findall(r"(?<!border-)color:([^;\"]+)", ledger)
    assert set(coloured) == {"inherit", _notebook_html.COLOURS["import"]}


def test_loading_the_extension_is_all_that_imports_it() -> None:
    assert callable(firstlight.load_ipython_extension)
    assert set(notebook.WARM_OPTIONS.values()) <= {"calls", "warm_up", "within"}
