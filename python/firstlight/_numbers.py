"""Medians with intervals, and formatted numbers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# The number of blocks of a window's calls, because neighbouring calls are not independent.
BLOCKS = 20
# The ranks, from either end, between which the median lies with 95 % confidence.
RANKS = {
    n: rank
    for rank, least in enumerate((6, 9, 12, 15, 17, 20), start=1)
    for n in range(least, BLOCKS + 1)
}


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return a 95 % interval of the median, from order statistics of the medians of blocks.

    With fewer than six blocks there is none.
    """
    count = min(BLOCKS, len(values))
    rank = RANKS.get(count)
    if rank is None:
        return None
    edges = [len(values) * block // count for block in range(count + 1)]
    medians = sorted(median(values[a:b]) for a, b in zip(edges, edges[1:]))
    return medians[rank - 1], medians[-rank]


def duration(ns: float) -> str:
    """Format with three digits: ``1.23 ms``."""
    for unit, size in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6)):
        if ns < 999.5 * size:
            return "%s %s" % (_digits(ns / size), unit)
    return "%s s" % _digits(ns / 1e9)


def _digits(value: float) -> str:
    if value >= 99.95:
        return "%.0f" % value
    return "%.1f" % value if value >= 9.995 else "%.2f" % value


def span(bounds: tuple[float, float] | None) -> str:
    return "" if bounds is None else "%s–%s" % (duration(bounds[0]), duration(bounds[1]))


def table(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Format columns with two spaces between; the first is shortened and the last wrapped to the
    width.
    """
    columns = len(rows[0])
    sizes = [max(len(row[place]) for row in rows) for place in range(columns)]
    middle = sum(sizes[1:-1]) + 2 * (columns - 1)
    last = min(sizes[-1], max(len(rows[0][-1]), (width - middle) * 2 // 5))
    first = min(sizes[0], max(8, width - middle - last))
    last = max(8, width - middle - first)
    lines = []
    for row in rows:
        parts = [_shortened(row[0], first).ljust(first)]
        parts += [row[place].rjust(sizes[place]) for place in range(1, columns - 1)]
        head, *rest = wrapped(row[-1], last)
        lines.append("  ".join([*parts, head]).rstrip())
        lines += [" " * (first + middle) + more for more in rest]
    return lines


def _shortened(text: str, size: int) -> str:
    """Shorten a test's name at its beginning, because the end is more specific."""
    return text if len(text) <= size else "…" + text[len(text) - size + 1 :]


def wrapped(text: str, size: int) -> list[str]:
    """Wrap a text into lines of at most this size."""
    lines = [""]
    words = [
        word[start : start + size] for word in text.split() for start in range(0, len(word), size)
    ]
    for word in words:
        joined = (lines[-1] + " " + word).strip()
        if len(joined) <= size:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines if lines[0] or len(lines) == 1 else lines[1:]
