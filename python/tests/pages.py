"""Requirements on all pages: ordered, named, legible, and no wider than the screen."""

from __future__ import annotations

from browser import Browser

UNFOLD = "document.querySelectorAll('details').forEach(one => one.open = true)"
NAMED = {
    "DisclosureTriangle",
    "button",
    "graphics-document",
    "heading",
    "image",
    "img",
    "link",
    "navigation",
    "region",
    "table",
}

CONTRAST = """
(() => {
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return { rgb: [r, g, b], a };
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => {
      v /= 255;
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { rgb, a } = parse(getComputedStyle(at).backgroundColor);
      if (a > 0) return rgb;
    }
    return [255, 255, 255];
  };
  const poor = new Set();
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || element.closest('script, title, desc')) continue;
    const style = getComputedStyle(element);
    let back = behind(element.closest('svg') || element);
    if (element.matches('.letter')) {
      back = parse(getComputedStyle(element.previousElementSibling).fill).rgb;
    }
    const front = parse(element.closest('svg') ? style.fill : style.color).rgb;
    if (ratio(front, back) < 4.5) {
      poor.add(`${element.tagName}.${element.getAttribute('class')} ${front} on ${back}`);
    }
  }
  const lines = '.curve, .ecdf, .event, .interval, .estimate, .fitted, .joined';
  const marks = `.point, .dots, .cross, ${lines}`;
  for (const mark of document.querySelectorAll(marks)) {
    const style = getComputedStyle(mark);
    const colour = mark.matches('.point:not(.elsewhere), .cross') ? style.fill : style.stroke;
    const back = behind(mark.closest('svg'));
    if (colour === 'none') {
      poor.add(`not drawn: ${mark.outerHTML.slice(0, 80)}`);
      continue;
    }
    const share = Number(style.opacity);
    const shown = parse(colour).rgb.map((v, i) => v * share + back[i] * (1 - share));
    if (ratio(shown, back) < 3) poor.add(mark.outerHTML.slice(0, 80));
  }
  for (const area of document.querySelectorAll('.spread, .band, .margin, .steady')) {
    const fill = getComputedStyle(area).fill;
    if (fill === 'none') poor.add(`not filled: ${area.outerHTML.slice(0, 80)}`);
  }
  return [...poor];
})()
"""


def assert_fits(browser: Browser) -> None:
    """Nothing sticks out but what scrolls by itself."""
    browser.run(UNFOLD)
    wide = browser.run(
        "[...document.body.querySelectorAll('*')]"
        ".filter(one => !one.closest('.scroll, nav ul, svg, #tip, .skip'))"
        ".filter(one => one.getBoundingClientRect().right > innerWidth + 1)"
        ".map(one => one.outerHTML.slice(0, 200))"
    )
    assert wide == []
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")


def assert_in_order(browser: Browser) -> None:
    """Headings descend step by step, tables have titles, and names are unique."""
    assert browser.run("document.documentElement.lang") == "en"
    levels = browser.run(
        "[...document.querySelectorAll('h1, h2, h3, h4, h5')].map(one => Number(one.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in zip(levels, levels[1:]))
    unnamed = (
        "[...document.querySelectorAll('table')].filter(t => !t.caption?.textContent.trim()"
        " || [...t.querySelectorAll('th')].some(th => !th.scope)).length"
    )
    assert browser.run(unnamed) == 0
    unlabelled = "document.querySelectorAll('.scroll[tabindex]:not([aria-label])').length"
    assert browser.run(unlabelled) == 0
    ids = browser.run("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))


def assert_named(browser: Browser) -> list[str]:
    """Every element that a screen reader stops at has a name; returns the roles present."""
    browser.run(UNFOLD)
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    kept = [node for node in nodes if not node["ignored"]]
    for node in kept:
        if node["role"]["value"] in NAMED:
            assert node.get("name", {}).get("value", "").strip(), node
    roles = [str(node["role"]["value"]) for node in kept]
    assert "main" in roles
    assert "navigation" in roles
    return roles


def assert_accessible(browser: Browser, axe: str) -> None:
    """axe-core finds no violation, folded or not."""
    browser.run(UNFOLD)
    browser.run(axe + ";undefined")
    found = browser.run(
        "axe.run(document, {resultTypes: ['violations']}).then(result => result.violations"
        ".map(one => [one.id, one.nodes.length, one.nodes[0].html.slice(0, 200)]))"
    )
    assert not found, found[:5]


def assert_stands_out(browser: Browser) -> None:
    """Text and marks have enough contrast with their background."""
    browser.run(UNFOLD)
    poor = browser.run(CONTRAST)
    assert not poor, poor[:5]
