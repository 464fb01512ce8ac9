"""The HTML report in a real browser: charts, sorting, words on points, injection, accessibility."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterator

import pages
import pytest
from browser import Browser
from conftest import Document, start

SUITE = """
name = "small"
environment = "as-found"
regimes = ["cold-clean", "warm"]
cache = { bytecode = "as-found" }
sampling = { timeout = "60s", processes = 6 }
comparison = { control = false, outputs = "unchecked" }
warm = { processes = 6, most-processes = 6, iterations = 40, warm-up = 2 }
case = [
  { name = "sum", sweep = { parameter = "count", values = [2000, 20000] } },
]
arm = [
  { name = "loop", workload = "w.py", options = { way = "loop" } },
  { name = "builtin", workload = "w.py", options = { way = "builtin" } },
  { name = "fails", workload = "w.py", options = { way = "fails" } },
]
"""

WORKLOAD = """
import firstlight

def loop(count):
    total = 0
    for i in range(count):
        total += i
    return total

def setup(case):
    if case["way"] == "fails":
        print("about to fail")
        raise ValueError("no data")
    add = loop if case["way"] == "loop" else lambda count: sum(range(count))
    return firstlight.Workload(lambda: add(case["count"]))
"""

HOSTILE = "\"'><img src=x onerror=alert(1)><script>alert(2)</script>]]></svg></title>"
LONG = "long-name-" * 60


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """A measured run, in which one warm process was then made to have compiled in its window."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "suite.toml").write_text(SUITE)
    (folder / "w.py").write_text(WORKLOAD)
    finished = start(folder, "run", str(folder), "--format", "json", "--quiet")
    assert finished.returncode == 5, finished.stderr
    made: Document = json.loads(finished.stdout)
    sample = made["cases"][0]["arms"][0]["regimes"][1]["samples"][0]
    messages = sample["raw"]["messages"]
    [window] = [m for m in messages if m["type"] == "iterations" and m["part"] == "window"]
    edge = {"type": "phase", "name": "compile", "label": "late", "thread": 0}
    begin, end = window["spans"][20]
    messages.append({**edge, "edge": "begin", "at": begin + 1})
    messages.append({**edge, "edge": "end", "at": end - 1})
    sample["valid"] = False
    sample["reasons"] = [{"finding": "compiled-in-window", "text": "late was compiled"}]
    return made


def made(folder: Path, document: Document) -> Path:
    """Return the page of a document."""
    (folder / "result.json").write_text(json.dumps(document))
    finished = start(folder, "report", "result.json")
    assert finished.returncode == 0, finished.stderr
    return folder / "report.html"


@pytest.fixture(scope="module")
def page(document: Document, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("page"), document)


def renamed(document: Any, text: str) -> Any:
    """Return the document with a text added to every name and message of a suite or a workload."""
    names = ("case", "arm", "against", "reference", "suite", "parameter", "unit", "cpu", "python")
    words = ("text", "how", "why", "stdout-tail", "stderr-tail", "label", "error", "traceback")
    if isinstance(document, list):
        return [renamed(one, text) for one in document]
    if not isinstance(document, dict):
        return document
    changed = {}
    for key, value in document.items():
        named = key == "name" and ({"arms", "regimes", "workload"} & document.keys())
        if isinstance(value, str) and (named or key in names or key in words):
            changed[key] = value + text
        elif key in ("reasons", "notices") and value:
            changed[key] = [{**reason, "text": reason["text"] + text} for reason in value]
        elif key == "parameters" and isinstance(value, dict):
            changed[key] = {**value, text: text}
        else:
            changed[key] = renamed(value, text)
    return changed


def samples(document: Document) -> Iterator[tuple[str, list[Document]]]:
    """The samples of each regime and arm, in the order of the page."""
    for case in document["cases"]:
        for name in ("cold-clean", "cold-primed", "warm"):
            for arm in case["arms"]:
                for regime in arm["regimes"]:
                    if regime["regime"] == name and regime["samples"]:
                        yield name, regime["samples"]


def value(regime: str, sample: Document) -> Any:
    if regime != "warm":
        return sample["first-result"] or not sample["valid"]
    return (sample.get("window") or {}).get("steady")


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_opens_without_a_complaint(
    browser: Browser, page: Path, width: int, dark: bool
) -> None:
    browser.open(page, width=width, dark=dark)
    assert browser.complaints() == []
    assert browser.requests() == [page.resolve().as_uri()]
    assert browser.run("document.querySelectorAll('svg.chart').length") > 10


def test_every_chart_has_as_many_points_as_there_are_samples(
    browser: Browser, page: Path, document: Document
) -> None:
    browser.open(page)
    drawn = browser.run(
        "[...document.querySelectorAll('svg.points')].map(chart => ["
        "chart.querySelectorAll('.point').length, chart.querySelectorAll('.cross').length])"
    )
    expected = []
    for regime, taken in samples(document):
        with_value = [sample for sample in taken if value(regime, sample)]
        valid = sum(sample["valid"] for sample in with_value)
        expected.append([valid, len(with_value) - valid])
    with_charts = [counts for counts in expected if counts != [0, 0]]
    assert [counts for counts in drawn if counts != [0, 0]] == with_charts


def test_every_call_is_drawn_and_the_compilation_is_marked(
    browser: Browser, page: Path, document: Document
) -> None:
    browser.open(page)
    drawn = browser.run(
        "[...document.querySelectorAll('svg.series .dots')]"
        ".map(path => path.getAttribute('d').split('h0').length - 1)"
    )
    [calls] = {
        sample["window"]["calls"]
        for regime, taken in samples(document)
        if regime == "warm"
        for sample in taken
        if sample.get("window")
    }
    # The typical process of each arm, and those that stand out, such as the one that compiled.
    assert 2 < len(drawn) < 12
    assert set(drawn) == {calls}
    marks = browser.run("document.querySelectorAll('svg.series .event').length")
    assert marks == 1
    assert browser.run("document.querySelector('svg.series .event').closest('.invalid') !== null")


def test_tables_are_sorted_up_and_down(browser: Browser, page: Path) -> None:
    browser.open(page)
    table = (
        "[...document.querySelectorAll('table.sortable')]"
        ".find(table => table.caption.textContent.startsWith('Time of'))"
    )
    keys = f"[...{table}.tBodies[0].rows].map(row => row.cells[2].dataset.key)"
    button = f"{table}.tHead.rows[0].cells[2].querySelector('button')"
    before = browser.run(keys)
    for direction, reverse in (("ascending", False), ("descending", True)):
        browser.run(f"{button}.click()")
        # A row without a number counts as the largest.
        numbers = [float(key) if key else float("inf") for key in browser.run(keys)]
        assert numbers == sorted(numbers, reverse=reverse)
        assert browser.run(f"{button}.parentNode.getAttribute('aria-sort')") == direction
    assert sorted(browser.run(keys)) == sorted(before)


def test_a_point_tells_what_it_is_to_the_mouse_and_to_the_keyboard(
    browser: Browser, page: Path
) -> None:
    browser.open(page)
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    tip = "document.getElementById('tip').textContent"
    place = (
        "(() => { const point = document.querySelector('svg.points .point');"
        "point.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const box = point.getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    x, y = browser.run(place)
    browser.run("new Promise(done => setTimeout(done, 100))")
    assert browser.run(tip) == ""
    browser.move(x, y)
    assert browser.run(tip).startswith("process ")
    browser.move(1, 1)
    assert browser.run(tip) == ""
    browser.press("Tab")
    browser.run("document.querySelector('svg.points').focus()")
    first = browser.run(tip)
    browser.press("ArrowRight")
    second = browser.run(tip)
    assert first.startswith("process ")
    assert second.startswith("process ")
    assert first != second
    browser.press("Escape")
    assert browser.run(tip) == ""


def test_a_tap_shows_words_that_stay_until_the_next_tap(browser: Browser, page: Path) -> None:
    browser.open(page, width=390, height=800)
    tip = "document.getElementById('tip').textContent"
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    place = (
        "(() => { const point = document.querySelector('svg.points .point');"
        "point.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const box = point.getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    x, y = browser.run(place)
    browser.run("new Promise(done => setTimeout(done, 100))")
    browser.tap(x + 6, y + 6)
    assert browser.run(tip).startswith("process ")
    browser.run("new Promise(done => setTimeout(done, 100))")
    assert browser.run(tip).startswith("process ")
    browser.tap(2, 2)
    assert browser.run(tip) == ""


def test_a_heading_is_not_hidden_below_the_contents(browser: Browser, page: Path) -> None:
    for width in (390, 1280):
        browser.open(page, width=width, height=700)
        for anchor in browser.run("[...document.querySelectorAll('nav a')].map(a => a.hash)"):
            hidden = (
                f"(() => {{ const one = document.getElementById('{anchor[1:]}');"
                "one.scrollIntoView({behavior: 'instant'});"
                "return one.getBoundingClientRect().top"
                " - document.querySelector('nav').getBoundingClientRect().bottom; })()"
            )
            assert browser.run(hidden) >= 0, anchor
        bar = browser.run("document.querySelector('nav').getBoundingClientRect().height")
        assert bar < 60, width


def test_facts_on_paper_keep_a_gap_between_name_and_value(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.call("Emulation.setEmulatedMedia", media="print")
    glued = (
        "[...document.querySelectorAll('dl.facts dd')].filter(dd => {"
        "const [a, b] = [dd.previousElementSibling, dd].map(one => {"
        "const range = document.createRange(); range.selectNodeContents(one);"
        "return range.getBoundingClientRect(); });"
        "return a.width && b.width && b.top < a.bottom && b.left - a.right < 4; })"
        ".map(dd => dd.previousElementSibling.textContent)"
    )
    found = browser.run(glued)
    assert browser.run("document.querySelectorAll('dl.facts dd').length") > 10
    browser.call("Emulation.setEmulatedMedia", media="")
    assert found == []


def test_without_its_script_the_page_is_complete(browser: Browser, page: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.run("document.querySelectorAll('svg.points .point title').length") > 10
    assert browser.run("document.querySelectorAll('th button').length") == 0


def test_injection_attempts_stay_text(browser: Browser, document: Document, tmp_path: Path) -> None:
    browser.open(made(tmp_path, renamed(document, HOSTILE)))
    assert browser.complaints() == []
    assert browser.run("document.scripts.length") == 1
    assert browser.run("document.querySelectorAll('img, iframe, object, embed').length") == 0
    for place in ("h1", "h2:not(#verdicts)", "nav", "table", "figcaption", ".finding", "pre"):
        texts = browser.run(
            f"[...document.querySelectorAll('{place}')].map(one => one.textContent).join()"
        )
        assert "<script>alert(2)</script>" in texts, place
    assert "onerror" in browser.run("document.title") or "<img" in browser.run("document.title")


@pytest.mark.parametrize("width", [320, 360, 768])
@pytest.mark.parametrize("text", ["", LONG, " \u202eעברית عربى", HOSTILE])
def test_nothing_is_wider_than_the_screen(
    browser: Browser, document: Document, tmp_path: Path, width: int, text: str
) -> None:
    browser.open(made(tmp_path, renamed(document, text)), width=width)
    pages.assert_fits(browser)


def test_headings_tables_and_controls_are_named_and_in_order(browser: Browser, page: Path) -> None:
    browser.open(page)
    pages.assert_in_order(browser)


def test_the_accessibility_tree_names_every_picture_and_control(
    browser: Browser, page: Path
) -> None:
    browser.open(page)
    roles = pages.assert_named(browser)
    assert roles.count("image") + roles.count("img") > 10


@pytest.mark.parametrize("dark", [False, True])
def test_text_and_marks_stand_out_from_what_is_behind_them(
    browser: Browser, page: Path, dark: bool
) -> None:
    browser.open(page, dark=dark)
    pages.assert_stands_out(browser)


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_on_a_report(browser: Browser, page: Path, axe: str, dark: bool) -> None:
    browser.open(page, dark=dark)
    pages.assert_accessible(browser, axe)


def test_an_arm_looks_the_same_in_every_chart(browser: Browser, page: Path) -> None:
    browser.open(page)
    looks = browser.run(
        "[...document.querySelectorAll('.swatch')]"
        ".filter(one => one.querySelector('.mark')).map(one => {"
        "const style = getComputedStyle(one.querySelector('.curve'));"
        "return [one.parentNode.textContent.split(/[,:]/)[0], style.stroke, style.strokeDasharray,"
        " one.querySelector('.mark').getAttribute('d')]; })"
    )
    named = {name: look for name, *look in looks}
    assert {"loop", "builtin"} <= named.keys()
    assert all(named[name] == look for name, *look in looks)
    assert named["loop"][0] != named["builtin"][0]
    assert named["loop"][2] != named["builtin"][2]


def test_paper_shows_what_is_folded_on_the_screen(browser: Browser, page: Path) -> None:
    browser.open(page)
    height = "document.querySelector('details:not([open]) table').getBoundingClientRect().height"
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.run(height) > 0
    assert browser.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    browser.call("Emulation.setEmulatedMedia", media="")
