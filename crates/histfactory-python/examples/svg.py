"""Curves and histograms as SVG, for the figures of the guide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 420, 280, 56, 14, 34, 44
COLOURS = {"blue": "#1f6fb2", "orange": "#d9822b", "grey": "#8a8f98", "ink": "#333333"}
ON_DARK = {"blue": "#5aa9e6", "orange": "#f0a040", "grey": "#9aa3ad", "ink": "#e6edf3"}


class Panel:
    """Axes and their contents."""

    def __init__(
        self,
        title: str,
        x: tuple[float, float, str],
        y: tuple[float, float, str],
    ) -> None:
        self.x, self.y = x, (y[0], _round(y[1]), y[2])
        self.parts = [_text(WIDTH / 2, 20, title, anchor="middle", bold=True)]
        self._axes()
        self._keys = 0

    def _at(self, x: float, y: float) -> tuple[float, float]:
        across = LEFT + (x - self.x[0]) / (self.x[1] - self.x[0]) * (WIDTH - LEFT - RIGHT)
        up = HEIGHT - BOTTOM - (y - self.y[0]) / (self.y[1] - self.y[0]) * (HEIGHT - TOP - BOTTOM)
        return across, up

    def _axes(self) -> None:
        low, high = self._at(self.x[0], self.y[0]), self._at(self.x[1], self.y[1])
        frame = f"M{low[0]:.1f} {high[1]:.1f}V{low[1]:.1f}H{high[0]:.1f}"
        self.parts.append(f'<path d="{frame}" fill="none" stroke="{COLOURS["ink"]}"/>')
        for part in range(5):
            x = self.x[0] + (self.x[1] - self.x[0]) * part / 4
            y = self.y[0] + (self.y[1] - self.y[0]) * part / 4
            across, up = self._at(x, self.y[0])[0], self._at(self.x[0], y)[1]
            self.parts.append(_text(across, HEIGHT - BOTTOM + 16, f"{x:g}", anchor="middle"))
            self.parts.append(_text(LEFT - 6, up + 4, f"{y:.3g}", anchor="end"))
        self.parts.append(_text(WIDTH / 2, HEIGHT - 8, self.x[2], anchor="middle"))
        turned = f'transform="rotate(-90 14 {HEIGHT / 2:.0f})"'
        self.parts.append(_text(14, HEIGHT / 2, self.y[2], anchor="middle", more=turned))

    def _key(self, name: str, colour: str, dashes: str) -> None:
        y = TOP + 8 + 15 * self._keys
        self._keys += 1
        self.parts.append(_path(f"M{WIDTH - 150} {y}h22", colour, dashes))
        self.parts.append(_text(WIDTH - 122, y + 4, name))

    def curve(
        self, name: str, x: Sequence[float], y: Sequence[float], colour: str, dashes: str = ""
    ) -> None:
        points = [self._at(*point) for point in zip(x, y, strict=True)]
        self.parts.append(
            _path("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), colour, dashes)
        )
        self._key(name, colour, dashes)

    def steps(
        self,
        name: str,
        edges: Sequence[float],
        contents: Sequence[float],
        colour: str,
        dashes: str = "",
    ) -> None:
        x = [edge for edge in edges for _ in range(2)][1:-1]
        y = [value for value in contents for _ in range(2)]
        self.curve(name, x, y, colour, dashes)


def _round(most: float) -> float:
    """Four steps of a round size, with room for the key above."""
    power = 10.0 ** math.floor(math.log10(1.35 * most / 4))
    return next(4 * power * step for step in (1, 2, 2.5, 5, 10) if 4 * power * step > 1.35 * most)


def _path(d: str, colour: str, dashes: str) -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path d="{d}" fill="none" stroke="{COLOURS[colour]}" stroke-width="1.8"{dashed}/>'


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", bold: bool = False, more: str = ""
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{COLOURS["ink"]}"{weight} '
        f"{more}>{escape(text)}</text>"
    )


def write(path: Path, panels: Sequence[Panel]) -> None:
    """Panels side by side."""
    whole = WIDTH * len(panels)
    inner = "".join(
        f'<g transform="translate({WIDTH * index} 0)">{"".join(panel.parts)}</g>'
        for index, panel in enumerate(panels)
    )
    on_dark = [("#ffffff", "#0f1318"), *((COLOURS[name], ON_DARK[name]) for name in COLOURS)]
    rules = "".join(
        f'.plot [{kind}="{light}"]{{{kind}:{dark}}}'
        for light, dark in on_dark
        for kind in ("fill", "stroke")
        if f'{kind}="{light}"' in inner or light == "#ffffff"
    )
    path.write_text(
        f'<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {HEIGHT}" '
        f'width="{whole}" '
        f'height="{HEIGHT}" font-family="system-ui, sans-serif" font-size="11">'
        f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
        f'<rect width="100%" height="100%" fill="#ffffff"/>{inner}</svg>\n'
    )
