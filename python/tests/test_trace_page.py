"""Pages of recordings in a browser: the answer, the steps, navigation, two recordings side by
side.
"""

import json
from pathlib import Path
from typing import Any

import pages
import pytest
from browser import Browser
from conftest import ROOT, start

ANSWER = "Step 5 took 2.52 s: step recompiled because x changed from f32[512,1024] to f32[520,1024]"
STEPS = 8
PLANTED = 5


RECORDINGS = {
    "one": ("jax-gpu",),
    "two": ("jax-cpu-filter-jit", "jax-cpu-manual-python"),
}


def drawn(folder: Path, *names: str) -> tuple[Path, Any]:
    """Return the page of one recording or of two, and the document behind it."""
    files = [str(ROOT / "fixtures" / "traces" / f"{name}.xplane.pb.gz") for name in names]
    both = [files[0], *(part for other in files[1:] for part in ("--against", other))]
    finished = start(folder, "trace", *both, "--html", "page.html", "--format", "json")
    assert finished.returncode == 0, finished.stderr
    return folder / "page.html", json.loads(finished.stdout)


@pytest.fixture(scope="module")
def all_pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Any]]:
    return {kind: drawn(tmp_path_factory.mktemp(kind), *RECORDINGS[kind]) for kind in RECORDINGS}


@pytest.fixture(scope="module")
def traced(all_pages: dict[str, tuple[Path, Any]]) -> tuple[Path, Any]:
    """A recording with a planted recompilation."""
    return all_pages["one"]


@pytest.fixture(scope="module")
def difference(all_pages: dict[str, tuple[Path, Any]]) -> tuple[Path, Any]:
    return all_pages["two"]


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", RECORDINGS)
def test_pages_of_recordings_are_like_the_others(
    browser: Browser, all_pages: dict[str, tuple[Path, Any]], kind: str, width: int, dark: bool
) -> None:
    page, _ = all_pages[kind]
    browser.open(page, width=width, dark=dark)
    assert browser.complaints() == []
    assert browser.requests() == [page.resolve().as_uri()]
    pages.assert_fits(browser)
    pages.assert_in_order(browser)
    pages.assert_named(browser)
    pages.assert_stands_out(browser)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", RECORDINGS)
def test_axe_finds_nothing_on_the_pages_of_recordings(
    browser: Browser, all_pages: dict[str, tuple[Path, Any]], kind: str, dark: bool, axe: str
) -> None:
    browser.open(all_pages[kind][0], dark=dark)
    pages.assert_accessible(browser, axe)


def test_the_answer_is_the_title(browser: Browser, traced: tuple[Path, Any]) -> None:
    browser.open(traced[0])
    assert browser.run("document.querySelector('h1').textContent") == ANSWER + "."
    assert browser.run("document.title") == ANSWER
    # The steps are on the first screen, and the ledger of that step follows.
    assert browser.run("document.querySelector('svg.columns').getBoundingClientRect().bottom") < 900
    heading = "document.querySelector('#steps ~ h3').textContent"
    assert browser.run(heading) == f"Step {PLANTED} beside a steady step"


def test_columns_are_as_tall_as_their_steps_are_long(
    browser: Browser, traced: tuple[Path, Any]
) -> None:
    page, document = traced
    browser.open(page)
    drawn = browser.run(
        "[...document.querySelectorAll('svg.columns .column')].map(column =>"
        "[...column.querySelectorAll('rect:not(.behind)')]"
        ".reduce((sum, rect) => sum + rect.height.baseVal.value, 0))"
    )
    lengths = [step["duration-ns"] for step in document["steps"]]
    assert len(drawn) == len(lengths) == STEPS
    # Short ones are still visible.
    expected = [max(ns / max(lengths) * max(drawn), 2) for ns in lengths]
    assert drawn == pytest.approx(expected, abs=0.2)


# Sort keys have few digits.
KEY = 1e-4


def test_the_ledger_shows_the_parts_of_both_steps(
    browser: Browser, traced: tuple[Path, Any]
) -> None:
    page, document = traced
    browser.open(page)
    rows = browser.run(
        "[...[...document.querySelectorAll('caption')].find(one => one.textContent.startsWith("
        "'The parts of both')).closest('table').tBodies[0].rows]"
        ".map(row => [...row.cells].map((cell, i) => i ? +cell.dataset.key : cell.innerText))"
    )
    heads = browser.run(
        "[...[...document.querySelectorAll('caption')].find(one => one.textContent.startsWith("
        "'The parts of both')).closest('table').tHead.rows[0].cells].map(one => one.textContent)"
    )
    numbers = [PLANTED, int(heads[2].split()[1])]
    one, other = (
        next(step for step in document["steps"] if step["number"] == number) for number in numbers
    )
    assert not other["compiled"]
    times = [{part["part"]: part["ns"] for part in step["parts"]} for step in (one, other)]
    for step, own in zip((one, other), times):
        own["wall"] = step["duration-ns"]
    names = [row[0].split(", ")[-1] for row in rows]
    assert set(names) == set(times[0]) | set(times[1])
    for name, (_, first, second, difference) in zip(names, rows):
        expected = [own.get(name, 0) for own in times]
        assert [first, second] == pytest.approx(expected, rel=KEY)
        assert difference == pytest.approx(expected[0] - expected[1], rel=KEY)


ZOOM = """
(() => {
  const view = document.querySelector('.zoomable .scroll');
  return [view.scrollWidth / view.clientWidth, view.scrollLeft / view.scrollWidth,
    ...[...view.querySelectorAll('svg')].map(one => one.getBoundingClientRect().width)];
})()
"""


def click(browser: Browser, text: str) -> None:
    browser.run(
        f"[...document.querySelectorAll('.controls button')].find(b => b.textContent === '{text}')"
        ".click()"
    )


def test_the_timeline_is_zoomed_with_the_memory_below_it(
    browser: Browser, traced: tuple[Path, Any]
) -> None:
    browser.open(traced[0])
    whole, _, strip, memory = browser.run(ZOOM)
    assert whole == pytest.approx(1, abs=0.01)
    assert strip == memory
    for times in (2, 4):
        click(browser, "Zoom in")
        zoomed, _, strip, memory = browser.run(ZOOM)
        assert zoomed == pytest.approx(times, abs=0.02)
        assert strip == memory
    click(browser, "Zoom out")
    assert browser.run(ZOOM)[0] == pytest.approx(2, abs=0.02)
    click(browser, "Whole recording")
    assert browser.run(ZOOM)[0] == pytest.approx(1, abs=0.01)


def search(browser: Browser, text: str) -> list[int]:
    """The steps that are shown when this is searched for."""
    browser.run(
        "(() => { const find = document.querySelector('.controls input');"
        f"find.value = {json.dumps(text)}; find.dispatchEvent(new Event('input')); }})()"
    )
    shown = browser.run(
        "[...document.querySelectorAll('li[data-number]')].filter(one => one.offsetHeight > 0)"
        ".map(one => Number(one.dataset.number))"
    )
    return sorted(shown)


@pytest.mark.parametrize("text", [str(PLANTED), "compiled", "f32[520,1024]", "STEP argument 8"])
def test_a_search_finds_the_step_and_goes_to_it(
    browser: Browser, traced: tuple[Path, Any], text: str
) -> None:
    page, _ = traced
    browser.open(page)
    assert search(browser, text) == [PLANTED]
    found = "[...document.querySelectorAll('.lane.found')].map(one => Number(one.dataset.step))"
    assert browser.run(found) == [PLANTED]
    assert browser.run("document.querySelector('.controls [role=status]').textContent") == (
        f"1 of {STEPS} steps"
    )
    assert browser.complaints() == []
    assert search(browser, "") == list(range(STEPS))
    assert browser.run(found) == []


def test_a_short_step_that_is_found_is_zoomed_into_view(
    browser: Browser, traced: tuple[Path, Any]
) -> None:
    browser.open(traced[0])
    assert search(browser, "2") == [2]
    zoomed, *_ = browser.run(ZOOM)
    # Two of 2,530 ms would be one pixel.
    assert zoomed > 100
    inside = browser.run(
        "(() => { const view = document.querySelector('.zoomable .scroll').getBoundingClientRect();"
        "const box = document.querySelector('.lane.found .outline').getBoundingClientRect();"
        "return view.left <= box.left && box.right <= view.right && box.width > 100; })()"
    )
    assert inside


def test_without_its_script_the_page_shows_every_step(
    browser: Browser, traced: tuple[Path, Any]
) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(traced[0])
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.run("document.querySelectorAll('.controls').length") == 0
    assert browser.run("document.querySelectorAll('svg.strip .lane title').length") == STEPS
    shown = (
        "[...document.querySelectorAll('li[data-number]')].filter(o => o.offsetHeight > 0).length"
    )
    assert browser.run(shown) == STEPS
    peaks = browser.run("document.body.textContent.includes('180 MB')")
    assert peaks


def test_memory_is_drawn_up_to_its_peak_and_listed_by_program(
    browser: Browser, traced: tuple[Path, Any]
) -> None:
    page, document = traced
    browser.open(page)
    [device, _] = document["memory"]
    heights = browser.run(
        "[...document.querySelectorAll('svg.memory .in-use')].map(o => o.height.baseVal.value)"
    )
    assert len(heights) > 10
    assert max(heights) == pytest.approx(60, abs=0.1)
    assert device["peak-bytes"] == max(point["bytes"] for point in device["timeline"])
    totals = browser.run(
        "[...[...document.querySelectorAll('caption')].find(one => one.textContent.startsWith("
        "'Memory that each program')).closest('table').tBodies[0].rows]"
        ".map(row => Number(row.cells[5].dataset.key))"
    )
    expected = [
        sum(program["memory"].values()) for program in document["programs"] if program["memory"]
    ]
    assert sorted(totals) == pytest.approx(sorted(expected), rel=KEY)


def test_the_drawn_waterfall_ends_where_the_second_recording_does(
    browser: Browser, difference: tuple[Path, Any]
) -> None:
    page, document = difference
    browser.open(page)
    drawn = browser.run(
        "[...document.querySelectorAll('svg.waterfall')].map(chart => {"
        "const wide = chart.getBoundingClientRect(), bar = chart.querySelector('.part');"
        "const box = bar.getBBox();"
        "const end = chart.querySelector('.estimate').x1.baseVal.value;"
        "return [box.x / wide.width, (box.x + box.width) / wide.width, end / wide.width]; })"
    )
    assert len(drawn) == len(document["waterfall"]) + 2
    wall = document["wall"]
    ends = [fall["from-ns"] + fall["by-ns"] for fall in document["waterfall"]]
    most = max(wall["first-ns"], wall["second-ns"], *ends)
    levels = [wall["first-ns"], *ends, wall["second-ns"]]
    for (_, _, end), expected in zip(drawn, levels):
        assert end == pytest.approx(expected / most, abs=1e-3)
    # Each bar begins at the end of the one above it.
    for (low, high, _), (_, _, before) in zip(drawn[1:-1], drawn):
        assert min(abs(low - before), abs(high - before)) < 2e-3
    assert ends[-1] == pytest.approx(wall["second-ns"], abs=1)
