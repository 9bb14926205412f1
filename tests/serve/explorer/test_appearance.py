"""How the page looks, on desktops and a phone, light and dark: nothing is cut, covered, broken or hard to read."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from tests.serve.explorer import recorded
from tests.serve.explorer.test_opening import arrays, script
from tests.serve.explorer.test_shown import script as pictures

import tileir

__all__ = ["script"]

SIZES = {
    "1440": {"width": 1440, "height": 900},
    "1600": {"width": 1600, "height": 1000},
    "phone": {"width": 390, "height": 844},
}
VIEWS = ("Overview", "Stages", "Memory", "Values", "Findings", "Cost")
# What each view shows on a desktop without scrolling.
PANES = {
    "Overview": (".source", "[aria-label=Findings]", "[aria-label=Variables]", "[aria-label=Arrays]"),
    "Stages": (".pane >> nth=0", ".pane >> nth=1"),
    "Memory": (".array-card >> nth=0", ".array-card >> nth=1", "[aria-label='Marked accesses']"),
    "Values": (".value-list", ".heat-maps", ".spread", ".tile-cells"),
    "Findings": (".finding >> nth=0",),
    "Cost": ("[aria-label='Estimated time']", "[aria-label=Waves]", "[aria-label=Occupancy]"),
}
# The least ratio of luminance that the Web Content Accessibility Guidelines ask of text (1.4.3, AA).
LEAST_CONTRAST = 4.5

# What can be seen of an element: its box without what the parts around it that scroll hide.
_SEEN = """
const hides = (node) => getComputedStyle(node).overflowX !== "visible";
const seen = (node, box = node.getBoundingClientRect()) => {
    let { left, top, right, bottom } = box;
    for (let around = node.parentElement; around !== null; around = around.parentElement) {
        if (!hides(around)) continue;
        const limit = around.getBoundingClientRect();
        [left, top] = [Math.max(left, limit.left), Math.max(top, limit.top)];
        [right, bottom] = [Math.min(right, limit.right), Math.min(bottom, limit.bottom)];
    }
    [left, top, right, bottom] = [Math.max(left, 0), Math.max(top, 0), Math.min(right, innerWidth), Math.min(bottom, innerHeight)];
    return right - left < 1 || bottom - top < 1 ? null : { left, top, right, bottom };
};
const name = (node) => node.outerHTML.slice(0, 100);
const texts = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
    const node = walker.currentNode;
    const hidden = node.parentElement.closest("script, style, noscript, option, .unseen, .skip");
    if (node.data.trim() !== "" && !hidden && node.parentElement.checkVisibility()) texts.push(node);
}
"""
# Parts past the edge of the window, also of a part that does not scroll by itself.
_OUTSIDE = """
const scrolls = (node) => node !== document.body && node.id !== "content"
    && (["auto", "scroll"].includes(getComputedStyle(node).overflowX) || scrolls(node.parentElement));
return [...document.querySelectorAll("body *:not(.unseen, .skip)")].filter((node) => node.getClientRects().length
    && node.getBoundingClientRect().right > innerWidth + 1 && !scrolls(node)).map(name);
"""
# Panes and controls that cover each other.
_OVERLAPS = """
const parts = [...document.querySelectorAll(".panel, .boxed, .pane, .array-card, button, select, input, h1, h2, h3, canvas")]
    .filter((node) => node.checkVisibility()).map((node) => [node, seen(node)]).filter(([, box]) => box !== null);
const found = [];
parts.forEach(([one, a], number) => {
    for (const [other, b] of parts.slice(number + 1)) {
        if (one.contains(other) || other.contains(one)) continue;
        const [width, height] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
        if (width > 1 && height > 1) found.push(`${name(one)} and ${name(other)}`);
    }
});
return found;
"""
# Words of up to 14 characters that stand in two lines.
_BROKEN = """
const found = [];
for (const node of texts) {
    for (const { 0: word, index } of node.data.matchAll(/(?<!\\S)\\S{2,14}(?!\\S)/g)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        if (new Set([...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top))).size > 1)
            found.push(`${word} in ${name(node.parentElement)}`);
    }
}
return found;
"""
# Text that ends at the edge of its part, without three dots and without a way to scroll.
_CUT = """
return texts.map((node) => node.parentElement).flatMap((node) => {
    for (let around = node; around !== null; around = around.parentElement) {
        const { overflowX, textOverflow } = getComputedStyle(around);
        if (["auto", "scroll"].includes(overflowX) || textOverflow === "ellipsis") return [];
        if (["hidden", "clip"].includes(overflowX) && around.scrollWidth > around.clientWidth + 1) return [name(around)];
    }
    return [];
});
"""
# Each text that can be read: its box, its color, and its name.
_TEXTS = """
return texts.flatMap((node) => {
    const around = node.parentElement;
    if (around.closest(":disabled")) return [];
    const { color, fill } = getComputedStyle(around);
    let opacity = 1;
    for (let each = around; each !== null; each = each.parentElement) opacity *= getComputedStyle(each).opacity;
    const range = document.createRange();
    range.selectNodeContents(node);
    return [...range.getClientRects()].map((box) => seen(around, box)).filter((box) => box !== null)
        .map(({ left, top, right, bottom }) => [left, top, right, bottom, around instanceof SVGElement ? fill : color, opacity, name(around)]);
});
"""
_WITHOUT_TEXTS = "body * { color: transparent !important } text { fill: transparent !important }"
RULES = {"outside": _OUTSIDE, "overlapping": _OVERLAPS, "broken": _BROKEN, "cut": _CUT}


def found(page: Any, rule: str) -> list[Any]:
    return list(page.evaluate(f"() => {{ {_SEEN} {rule} }}"))


def luminance(colors: Any) -> Any:
    """The relative luminance of sRGB colors of 0 to 255, as the guidelines define it."""
    linear = numpy.where(colors <= 10.31, colors / 3294.6, ((colors / 255 + 0.055) / 1.055) ** 2.4)
    return linear @ numpy.array([0.2126, 0.7152, 0.0722])


def contrast(one: Any, other: Any) -> Any:
    high, low = numpy.maximum(one, other), numpy.minimum(one, other)
    return (high + 0.05) / (low + 0.05)


def hard_to_read(browser: Any, page: Any) -> list[str]:
    """Texts with too little contrast to what is behind most of them in a screenshot without texts."""
    listed = found(page, _TEXTS)
    page.evaluate(
        f"() => {{ const sheet = new CSSStyleSheet(); sheet.replaceSync({_WITHOUT_TEXTS!r});"
        " document.adoptedStyleSheets = [sheet]; }"
    )
    behind = pictures.pixels(browser, page.screenshot())
    page.evaluate("() => { document.adoptedStyleSheets = []; }")
    bad = []
    for left, top, right, bottom, color, opacity, name in listed:
        numbers = [float(number) for number in re.findall(r"[\d.]+", color)]
        area = behind[int(top) : int(bottom) + 1, int(left) : int(right) + 1, :3].reshape(-1, 3).astype(float)
        shown = numpy.array(numbers[:3]) * (255 if color.startswith("color(") else 1)
        shown = opacity * shown + (1 - opacity) * area
        ratio = float(numpy.median(contrast(luminance(shown), luminance(area))))
        if ratio < LEAST_CONTRAST:
            bad.append(f"{ratio:.2f}: {color} of {name}")
    return bad


def check_look(browser: Any, page: Any, size: str) -> None:
    """Every view in light and dark."""
    wrong: list[str] = []
    for theme in ("light", "dark"):
        if page.evaluate("document.documentElement.dataset.theme") != theme:
            page.get_by_role("button", name=theme.capitalize(), exact=True).click()
        for view in VIEWS:
            page.get_by_role("tab", name=view).click()
            page.get_by_role("tabpanel", name=view).wait_for()
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(200)
            for part in ("document.documentElement", "document.querySelector('#content')"):
                wide = page.evaluate(f"{part}.scrollWidth") - SIZES[size]["width"]
                wrong += [f"{view}: {part} is {wide} pixels too wide"] if wide > 0 else []
            for name, rule in RULES.items():
                wrong += [f"{view}, {name}: {one}" for one in found(page, rule)]
            wrong += [f"{view}, {theme}: {one}" for one in hard_to_read(browser, page)]
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module")
def wrong(script: Any) -> Any:
    """The page of a launch of a cuTile script with long names, long lines and findings."""
    with tileir.explore(script["row_sums"], 8, (*arrays(), 2.0, 64), open=False) as explored:
        yield explored.url


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", SIZES)
def test_a_script_looks_right(browser: Any, open_page: Callable[..., Any], wrong: str, size: str) -> None:
    check_look(browser, open_page(wrong, viewport=SIZES[size]), size)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", ["1440", "phone"])
@pytest.mark.parametrize("name", ["racy", "boxes", "matmul", "vector_add"])
def test_programs_look_right(browser: Any, page_for: Callable[..., Any], name: str, size: str) -> None:
    launch = recorded.vector_add(128 * 200) if name == "vector_add" else getattr(recorded, name)()
    page = page_for(recorded.explorer_of(launch.recording()), viewport=SIZES[size])
    check_look(browser, page, size)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_a_screenshot_shows_every_pane(
    browser: Any, open_page: Callable[..., Any], wrong: str, size: str, scheme: str
) -> None:
    """Each pane is on the window (on a phone: below the others), and something is painted in it that can be read."""
    page = open_page(wrong, viewport=SIZES[size], color_scheme=scheme)
    for view, panes in PANES.items():
        page.get_by_role("tab", name=view).click()
        parts = [page.get_by_role("tabpanel", name=view).locator(pane) for pane in panes]
        for part in parts:
            part.wait_for()
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(200)
        shown = pictures.pixels(browser, page.screenshot())
        for pane, part in zip(panes, parts, strict=True):
            if size == "phone":
                part.scroll_into_view_if_needed()
                shown = pictures.pixels(browser, page.screenshot())
            box, edge = part.bounding_box(), page.locator("#content").bounding_box()
            left, top = max(box["x"], edge["x"]), max(box["y"], edge["y"])
            right = min(box["x"] + box["width"], edge["x"] + edge["width"])
            bottom = min(box["y"] + box["height"], edge["y"] + edge["height"])
            assert bottom - top >= min(box["height"], 100) and right - left >= min(box["width"], 150), (view, pane)
            area = shown[int(top) : int(bottom), int(left) : int(right)].copy()
            colors, counts = numpy.unique(area.view("<u4"), return_counts=True)
            brightness = luminance(colors.view(numpy.uint8).reshape(-1, 4)[:, :3].astype(float))
            behind = brightness[counts.argmax()]
            assert (behind > 0.5) == (scheme == "light"), (view, pane)
            assert counts[contrast(brightness, behind) >= LEAST_CONTRAST].sum() >= 50, (view, pane)


@pytest.mark.parametrize("size", ["1440", "1600"])
def test_tables_of_the_first_view_need_no_sideways_scrolling(
    open_page: Callable[..., Any], wrong: str, size: str
) -> None:
    page = open_page(wrong, viewport=SIZES[size])
    page.locator(".overview tbody tr").first.wait_for()
    page.wait_for_load_state("networkidle")
    wide = "nodes => nodes.filter((node) => node.scrollWidth > node.clientWidth).map((node) => node.textContent)"
    assert page.locator(".overview .scrolled").evaluate_all(wide) == []
