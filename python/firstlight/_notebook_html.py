"""Ledgers and windows as HTML for a notebook: tables and one inline picture, no script.

A notebook has a light or a dark page and does not report which. Text therefore uses the page's own
colour, and every other colour differs from both white and near-black.
"""

from __future__ import annotations

from html import escape

from ._numbers import duration, interval, median, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._measure import Measurement

COLOURS = {
    "spawn": "#8b949e",
    "launcher": "#8b949e",
    "children": "#8b949e",
    "interpreter": "#6e7781",
    "probe": "#6e7781",
    "import": "#1f7fc4",
    "device-init": "#3a96bf",
    "setup": "#3a96bf",
    "trace": "#9a8500",
    "lower": "#b87500",
    "compile": "#d4561c",
    "cache-read": "#b8558f",
    "cache-write": "#b8558f",
    "first-run": "#12896a",
    "warm-up": "#12896a",
    "window": "#12896a",
    "run": "#12896a",
    "teardown": "#7673a8",
    "unattributed": "#7d8791",
}
BAD = "#d4561c"
WIDTH = 1000
SHOWN_PROGRAMS = 8
# The number of points of a window's curve; more would be invisible.
POINTS = 200
CELL = "padding:.15em .8em;border:0;background:none"
NUMBER = CELL + ";text-align:right;font-variant-numeric:tabular-nums"


def cold(document: dict[str, Any]) -> str:
    """Render every regime of a cold start: the answer, the ledger, the programs and the
    findings.
    """
    arm = document["cases"][0]["arms"][0]
    regimes = arm["regimes"]
    return _box("".join(_regime(regime, len(regimes) > 1) for regime in regimes))


def _regime(regime: dict[str, Any], named: bool) -> str:
    summary = regime["summary"]
    name = "%s: " % escape(regime["regime"]) if named else ""
    notes = [(note["finding"], note["text"]) for note in regime["notices"]]
    notes += [
        (reason["finding"], reason["text"])
        for sample in regime["samples"]
        for reason in sample["reasons"]
    ]
    if summary is None:
        return "<p>%sno process has a valid measurement</p>" % name + _findings(notes)
    first = summary["first-result"]
    estimate, what = (first, "to the first result") if first else (summary["wall"], "in all")
    rows = (summary["first-result-phases"] if first else None) or summary["phases"]
    bounds = estimate["interval"]
    shown = " (95 % CI " + span((bounds["low"], bounds["high"])) + ")" if bounds else ""
    parts = [
        "<p>%s<strong>%s</strong>%s %s, median of %d fresh processes</p>"
        % (name, duration(estimate["point"]), shown, what, summary["valid"]),
        _bar(rows),
        _ledger(rows),
        _programs(summary["programs"]),
        _findings(notes),
        _diagnosis(regime["diagnosis"]),
    ]
    return "".join(parts)


def _bar(rows: Sequence[dict[str, Any]]) -> str:
    """Draw the phases one after another, each with its name and time as a tooltip."""
    whole = sum(row["mean-ns"] for row in rows) or 1.0
    place, drawn = 0.0, []
    for row in rows:
        wide = row["mean-ns"] / whole * WIDTH
        if wide > 0:
            drawn.append(
                '<rect x="%.1f" y="0" width="%.1f" height="20" fill="%s">'
                "<title>%s %s</title></rect>"
                % (place, wide, _colour(row["name"]), escape(row["name"]), duration(row["mean-ns"]))
            )
        place += wide
    label = ", ".join("%s %s" % (row["name"], duration(row["mean-ns"])) for row in rows)
    return _svg(label, 20, "".join(drawn))


def _svg(label: str, height: int, content: str) -> str:
    return (
        '<svg role="img" aria-label="%s" viewBox="0 0 %d %d" preserveAspectRatio="none" '
        'style="display:block;width:100%%;height:%dpx">%s</svg>'
        % (escape(label, quote=True), WIDTH, height, height, content)
    )


def _colour(phase: str) -> str:
    return COLOURS.get(phase, COLOURS["unattributed"])


def _ledger(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        (
            '<span aria-hidden="true" style="color:%s">■</span> %s'
            % (_colour(row["name"]), escape(row["name"])),
            duration(row["mean-ns"]),
            "%.0f %%" % (row["share"] * 100),
        )
        for row in rows
        if row["mean-ns"] > 0
    ]
    return _table("Where the time goes", ("phase", "mean", "share"), lines, numbers=(1, 2))


def _programs(programs: Sequence[dict[str, Any]]) -> str:
    if not programs:
        return ""

    def spent(program: dict[str, Any]) -> float:
        return float(program["trace-ns"] + program["lower-ns"] + program["compile-ns"])

    lines = [
        (
            "<code>%s</code>" % escape(program["function"]),
            escape(program.get("signature") or ""),
            "%g" % program["count"],
            duration(spent(program)),
            escape(program.get("cause") or ""),
        )
        for program in sorted(programs, key=spent, reverse=True)[:SHOWN_PROGRAMS]
    ]
    caption = "Compiled programs"
    if len(programs) > SHOWN_PROGRAMS:
        caption += ", the %d most expensive of %d" % (SHOWN_PROGRAMS, len(programs))
    head = ("function", "shapes", "times", "time", "cause of the recompilation")
    return _table(caption, head, lines, numbers=(2, 3))


def _table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()
) -> str:
    def style(place: int) -> str:
        return NUMBER if place in numbers else CELL + ";text-align:left"

    heads = "".join(
        '<th scope="col" style="%s">%s</th>' % (style(place), text)
        for place, text in enumerate(head)
    )
    lines = "".join(
        "<tr>%s</tr>"
        % "".join('<td style="%s">%s</td>' % (style(place), text) for place, text in enumerate(row))
        for row in rows
    )
    return (
        '<table style="border-collapse:collapse;margin:.6em 0;color:inherit">'
        '<caption style="text-align:left;color:inherit;font-weight:bold">%s</caption>'
        "<thead><tr>%s</tr></thead><tbody>%s</tbody></table>" % (caption, heads, lines)
    )


def _findings(notes: Sequence[tuple[str, str]], bad: Sequence[str] = ()) -> str:
    items = [
        '<li%s><code>%s</code>: <span style="white-space:pre-wrap">%s</span></li>'
        % (
            ' style="border-left:4px solid %s;padding-left:.5em"' % BAD if name in bad else "",
            escape(name),
            escape(text),
        )
        for name, text in dict.fromkeys(notes)
    ]
    return "<ul>%s</ul>" % "".join(items) if items else ""


def _diagnosis(rows: Sequence[dict[str, Any]]) -> str:
    items = []
    for row in rows:
        text = "%s, %s (%.0f %%)" % (row["what"], duration(row["cost-ns"]), row["share"] * 100)
        rest = [row[key] for key in ("cause", "action") if row.get(key)]
        items.append("<li>%s</li>" % escape(": ".join([text, "; ".join(rest)] if rest else [text])))
    return "<ul>%s</ul>" % "".join(items) if items else ""


def _box(content: str) -> str:
    return (
        '<div class="firstlight" style="color:inherit;max-width:60rem;overflow-x:auto">%s</div>'
        % content
    )


def _window_rows(measured: Measurement) -> list[tuple[str, str]]:
    return [
        ("first call", duration(measured.warm_up[0])),
        ("median of the window", duration(median(measured.calls))),
        ("95 % interval in this process", span(interval(measured.calls))),
        ("fastest and slowest call", span((min(measured.calls), max(measured.calls)))),
        ("calls", "%d after %d of warm-up" % (len(measured.calls), len(measured.warm_up))),
    ]


def warm(measured: Measurement) -> str:
    """Render the window's numbers, its calls as a curve, and its findings."""
    bad = [finding.name for finding in measured.findings if not finding.notice]
    doubt = "" if measured.valid() else " (not valid, see below)"
    head = "<p><strong>%s</strong> per call, median of %d calls%s</p>" % (
        duration(median(measured.calls)),
        len(measured.calls),
        doubt,
    )
    rows = [row for row in _window_rows(measured) if row[1]]
    notes = [
        (found.name, _compiled_text(measured) if found.name == "compiled-in-window" else found.text)
        for found in measured.findings
    ]
    table = _table("The window", ("", ""), [(escape(a), escape(b)) for a, b in rows], numbers=(1,))
    return _box(head + _curve(measured.calls) + table + _findings(notes, bad))


def _compiled_text(measured: Measurement) -> str:
    return measured.compiled() or ""


def _curve(calls: Sequence[int]) -> str:
    """Draw the time of each call in order; many calls are drawn as medians of blocks."""
    count = min(POINTS, len(calls))
    edges = [len(calls) * place // count for place in range(count + 1)]
    values = [median(calls[a:b]) for a, b in zip(edges, edges[1:])]
    top = max(values)
    step = WIDTH / max(1, count - 1)
    points = " ".join(
        "%.1f,%.1f" % (place * step, 58 - 56 * value / top) for place, value in enumerate(values)
    )
    line = (
        '<polyline points="%s" fill="none" stroke="%s" stroke-width="2" '
        'vector-effect="non-scaling-stroke"/>' % (points, COLOURS["window"])
    )
    label = "time per call from the first to the last, from zero to %s" % duration(top)
    return _svg(label, 60, "<title>%s</title>%s" % (escape(label), line))


def warm_text(measured: Measurement) -> str:
    """Render the same for a terminal."""
    rows = [row for row in _window_rows(measured) if row[1]]
    widest = max(len(name) for name, _ in rows)
    lines = ["%s  %s" % (name.ljust(widest), value) for name, value in rows]
    for found in measured.findings:
        text = _compiled_text(measured) if found.name == "compiled-in-window" else found.text
        lines.append("%s: %s" % (found.name, text))
    return "\n".join(lines)
