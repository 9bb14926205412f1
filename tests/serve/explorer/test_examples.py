"""Every view of every example, as `tileir.explore` opens it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tileir
from tileir.execute.arguments.argument_text import argument

EXAMPLES = Path(__file__).parents[3] / "examples"
LAUNCHES = {
    "attention": ((2,), "rand:f16:96x64 rand:f16:96x64:1 rand:f16:96x64:2 zeros:f32:96x64 96 0.125"),
    "histogram": ((4,), "iota:i32:512 zeros:i32:512 512"),
    "layer_norm": ((3,), "rand:f32:3x600 rand:f32:600 rand:f32:600:1 zeros:f32:3x600 3 600 0.00001"),
    "matmul": ((2, 2), "rand:f16:100x72 rand:f16:72x88 zeros:f32:100x88 100 88 72"),
    "racy": ((4,), "ones:i32:512 zeros:i32:1 512"),
    "softmax": ((3,), "rand:f32:3x1000 zeros:f32:3x1000 3 1000"),
    "vector_add": ((8,), "rand:f32:1000 rand:f32:1000:1 zeros:f32:1000 1000"),
}
# What each view shows once it has come.
SHOWN = {
    "Overview": ".panel",
    "Stages": ".pane .row.is-linked",
    "Memory": "canvas",
    "Values": "canvas, table",
    "Findings": "h2",
    "Cost": "svg.roofline",
}


def look(page: Any, findings: int) -> None:
    """Go through all views."""
    names = [name.partition(" (")[0] for name in page.get_by_role("tab").all_inner_texts()]
    assert names == list(SHOWN)
    for name, parts in SHOWN.items():
        page.get_by_role("tab", name=name).click()
        page.get_by_role("tabpanel", name=name).locator(parts).first.wait_for()
    assert page.locator(".findings article").count() == findings


def test_every_example_is_launched() -> None:
    # `broken.mlir` is wrong on purpose: there is nothing to launch.
    assert sorted([path.stem for path in EXAMPLES.glob("*.mlir") if path.stem != "broken"]) == sorted(LAUNCHES)


# A race is looked at each time, with all that there is to see of it; the others take a minute together.
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name == "racy" else [pytest.mark.long]) for name in LAUNCHES],
)
def test_views_of_an_example(name: str, open_page: Any, tmp_path: Path) -> None:
    grid, texts = LAUNCHES[name]
    values = tuple([argument(text, None) for text in texts.split()])
    with tileir.explore(EXAMPLES / f"{name}.mlir", grid, values, open=False) as explored:
        findings = len(explored.answer("findings")["findings"])
        assert findings == (2 if name == "racy" else 0)
        look(open_page(f"{explored.url}#view=overview&place=1&step=9"), findings)
        # The same page from its file, without the server.
        file = tmp_path / f"{name}.html"
        assert explored.export(file) == []
    page = open_page(file)
    page.wait_for_url(lambda url: "step=" in url)
    page.keyboard.press(",")
    look(page, findings)


def test_views_of_a_kernel_that_was_not_run(open_page: Any, tmp_path: Path) -> None:
    file = tmp_path / "softmax.html"
    with tileir.explore(EXAMPLES / "softmax.mlir", target=["h200"], open=False) as explored:
        explored.export(file)
        for place in (explored.url, file):
            page = open_page(place)
            overview = page.get_by_role("tabpanel", name="Overview")
            overview.get_by_text("The kernel was not run").wait_for()
            # Nothing was looked at, so nothing is said to be free of findings.
            assert "no findings" not in overview.inner_text()
            for name in ("Memory", "Values", "Findings"):
                page.get_by_role("tab", name=name).click()
                page.get_by_role("tabpanel", name=name).get_by_text("The kernel was not run").wait_for()
            for name in ("Stages", "Cost"):
                page.get_by_role("tab", name=name).click()
                page.get_by_role("tabpanel", name=name).locator(SHOWN[name].removesuffix(".is-linked")).first.wait_for()
