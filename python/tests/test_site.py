"""The site over many snapshots in a real browser: its charts, its links, its accessibility."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pages
import pytest
from browser import Browser
from conftest import start

SUITE = """
name = "naps"
environment = "as-found"
regimes = ["cold-clean", "warm"]
cache = { bytecode = "as-found" }
sampling = { timeout = "60s", processes = 6 }
comparison = { control = false, outputs = "unchecked" }
warm = { processes = 6, most-processes = 6, iterations = 12, warm-up = 1 }
case = [{ name = "sleep" }]
arm = [
  { name = "nap", workload = "w.py", options = { ms = 2 } },
  { name = "long-nap", workload = "w.py", options = { ms = 4 } },
]
"""

WORKLOAD = """
import pathlib, time, firstlight

def setup(case):
    slower = float(pathlib.Path(PACE).read_text())
    return firstlight.Workload(lambda: time.sleep(case["ms"] * slower / 1000))
"""
PACES = ("1", "1", "8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of one suite, the last one slower, and a broken copy of the first."""
    folder = tmp_path_factory.mktemp("site")
    suite = folder / "suite"
    suite.mkdir()
    (suite / "suite.toml").write_text(SUITE)
    pace = folder / "pace"
    (suite / "w.py").write_text(WORKLOAD.replace("PACE", repr(str(pace))))
    for number, slower in enumerate(PACES):
        pace.write_text(slower)
        finished = start(folder, "run", "suite", "--quiet", "--output", f"snapshots/{number}")
        assert finished.returncode == 0, finished.stderr
    shutil.copytree(folder / "snapshots" / "0", folder / "snapshots" / "broken")
    (folder / "snapshots" / "broken" / "raw.jsonl").unlink()
    finished = start(folder, "publish", "snapshots", "--format", "json")
    assert finished.returncode == 6, finished.stderr
    assert json.loads(finished.stdout)["regressions"] >= 1
    return folder / "site"


def all_pages(site: Path) -> list[Path]:
    [case] = (site / "cases").iterdir()
    kinds = [site / name for name in ("index.html", "table.html", "compare.html")]
    return [*kinds, case, *sorted((site / "snapshots").iterdir())]


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_every_page_opens_without_a_complaint_and_fits(
    browser: Browser, site: Path, width: int, dark: bool
) -> None:
    for page in all_pages(site):
        browser.open(page, width=width, dark=dark)
        assert browser.complaints() == []
        assert browser.requests() == [page.resolve().as_uri()]
        pages.assert_fits(browser)
        pages.assert_stands_out(browser)


def test_every_page_is_in_order_and_named(browser: Browser, site: Path) -> None:
    for page in all_pages(site):
        browser.open(page)
        pages.assert_in_order(browser)
        pages.assert_named(browser)


def test_every_link_leads_to_a_page_that_is_there(browser: Browser, site: Path) -> None:
    for page in all_pages(site):
        browser.open(page)
        links = browser.run("[...document.links].map(link => link.href.split('#')[0])")
        assert links
        for link in links:
            path = Path(link.removeprefix("file://"))
            assert path.is_file(), (page, link)
            assert site in path.parents
        anchors = (
            "[...document.links].map(link => link.getAttribute('href'))"
            ".filter(href => href.startsWith('#') && !document.getElementById(href.slice(1)))"
        )
        assert browser.run(anchors) == []


def test_the_history_has_a_point_for_every_snapshot_and_tells_what_it_is(
    browser: Browser, site: Path
) -> None:
    browser.open(all_pages(site)[3])
    charts = browser.run(
        "[...document.querySelectorAll('svg.history')]"
        ".map(chart => chart.querySelectorAll('.point').length)"
    )
    # Two arms in two regimes.
    assert charts == [2 * len(PACES)] * 2
    browser.run(
        "[...document.querySelectorAll('svg.history')].pop()"
        ".scrollIntoView({block: 'center', behavior: 'instant'})"
    )
    # Points of two arms may overlap; the mouse finds the one on top.
    place = (
        "[...document.querySelectorAll('svg.history .point')].map(point => {"
        "const box = point.getBoundingClientRect();"
        "return [point, box.x + box.width / 2, box.y + box.height / 2]; })"
        ".filter(([point, x, y]) => document.elementFromPoint(x, y) === point)"
        ".map(([_, x, y]) => [x, y]).pop()"
    )
    browser.run("new Promise(done => setTimeout(done, 100))")
    x, y = browser.run(place)
    browser.move(x, y)
    assert "nap" in browser.run("document.getElementById('tip').textContent")


def test_the_regression_is_listed_and_the_table_can_be_sorted(browser: Browser, site: Path) -> None:
    browser.open(site / "table.html")
    listed = browser.run(
        "[...document.querySelectorAll('section[aria-labelledby=regressions] tbody tr')]"
        ".map(row => row.textContent)"
    )
    assert any("warm" in row and "sleep" in row for row in listed), listed
    table = (
        "[...document.querySelectorAll('table.sortable')]"
        ".find(table => table.caption.textContent.startsWith('The newest'))"
    )
    button = f"[...{table}.tHead.rows[0].cells].find(c => c.textContent == 'time')"
    place = browser.run(f"{button}.cellIndex")
    for reverse in (False, True):
        browser.run(f"{button}.querySelector('button').click()")
        keys = browser.run(
            f"[...{table}.tBodies[0].rows].map(row => Number(row.cells[{place}].dataset.key))"
        )
        assert len(keys) == 4
        assert keys == sorted(keys, reverse=reverse)


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_on_any_page(browser: Browser, site: Path, axe: str, dark: bool) -> None:
    for page in all_pages(site)[:5]:
        browser.open(page, dark=dark)
        pages.assert_accessible(browser, axe)


def test_the_filter_hides_cards_and_its_choice_is_in_the_address(
    browser: Browser, site: Path
) -> None:
    browser.open(site / "index.html")
    shown = "[...document.querySelectorAll('.tile')].filter(one => !one.hidden).length"
    assert browser.run(shown) == 1
    search = "document.querySelector('#filter [name=text]')"
    for text, expected in (("no such suite", 0), ("naps", 1)):
        browser.run(f"{search}.value = '{text}'")
        browser.run(f"{search}.dispatchEvent(new Event('input', {{bubbles: true}}))")
        assert browser.run(shown) == expected
        assert browser.run("document.getElementById('found').textContent") == f"{expected} of 1"
    assert browser.run("location.hash") == "#text=naps"
    arms = browser.run("[...document.querySelector('[name=arms]').options].map(one => one.value)")
    assert arms == ["", "long-nap", "nap"]


def test_two_snapshots_are_compared_as_the_program_does(browser: Browser, site: Path) -> None:
    browser.open(site / "compare.html")
    rows = "[...document.querySelectorAll('#changes tr')].map(row => row.textContent)"
    last = browser.run(rows)
    # The last run was slower in both arms of the warm regime.
    assert sum("warm" in row and "slower" in row for row in last) == 2
    made = browser.run(
        "[...document.querySelectorAll('section[aria-labelledby=newest] tbody tr')]"
        ".map(row => [...row.cells].map(cell => cell.textContent))"
    )
    own = browser.run(
        "[...document.querySelectorAll('#changes tr')]"
        ".map(row => [...row.cells].map(cell => cell.textContent))"
    )
    numbers = re.compile(r"[+−]?[\d.]+")
    compared = 0
    for case, arm, regime, _, _, change, verdict in own:
        [theirs] = [row for row in made if row[:3] == [case, arm, regime]]
        assert theirs[4] == verdict
        for mine, other in zip(numbers.findall(change), numbers.findall(theirs[3])):
            one, two = (float(text.replace("−", "-")) for text in (mine, other))
            # Ratios of times: the tolerance of one per cent is larger than the error of the
            # expansion.
            assert abs(one - two) < 0.02 * (100 + abs(two)), (change, theirs[3])
            compared += 1
    assert compared >= 6
    browser.run("document.querySelector('#chooser [name=all]').click()")
    assert len(browser.run(rows)) == 4
    first = "[...document.querySelector('[name=before]').options].map(one => one.value).pop()"
    browser.run(f"document.querySelector('[name=after]').value = {first}")
    browser.run(f"document.querySelector('[name=before]').value = {first}")
    browser.run("document.querySelector('#chooser form').dispatchEvent(new Event('input'))")
    assert all("equivalent" in row or "inconclusive" in row for row in browser.run(rows))
    assert "before=" in browser.run("location.hash")


def test_without_scripts_the_pages_say_it_all(browser: Browser, site: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    for page, words in (("index.html", "nap"), ("compare.html", "relevant change")):
        browser.open(site / page)
        text = browser.call("Runtime.evaluate", expression="document.body.innerText")
        assert words in text["result"]["value"]
        assert "Search" not in text["result"]["value"]
    browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_rejected_snapshots_are_named_without_a_number(browser: Browser, site: Path) -> None:
    browser.open(site / "index.html")
    refused = browser.run("document.querySelector('section[aria-labelledby=rejected]').textContent")
    assert "broken" in refused
    assert "raw.jsonl" in refused
