"""The view of values in a browser, against what the recording says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.analyze.comparing.sample_launches import kinds_recording, sum_recording
from tests.serve.explorer.made_answers import made_explorer
from tests.serve.explorer.recorded_launches import explorer_of

from tileir.execute.recording.recording import Recording
from tileir.execute.recording.tiles import tile_answer
from tileir.ir.types import F32
from tileir.serve.explorer.export import exported

END = 16


@pytest.fixture(scope="module")
def kinds() -> Recording:
    return kinds_recording()


@pytest.fixture(scope="module")
def sums() -> Recording:
    return sum_recording(rows=400)


def number_of(recording: Recording, name: str) -> int:
    program = recording.program
    return next(number for number in range(len(program.values)) if program.script_name(number) == name)


def shown(page: Any, name: str) -> None:
    """Choose a value in the list, by its name in the program."""
    page.locator("[role=option]").filter(has=page.locator(".name", has_text=re.compile(f"^{name}$"))).click()
    page.locator(".tile-shown h2").filter(has_text=re.compile(rf"^{name}\b")).wait_for()
    page.locator(".tile-grid[aria-busy=false]").wait_for()


def cells(page: Any) -> dict[tuple[int, int], str]:
    found = page.locator(".tile-cells td[data-row]").evaluate_all(
        "cells => cells.map(cell => [cell.dataset.row, cell.dataset.column, cell.textContent])"
    )
    return {(int(row), int(column)): text for row, column, text in found}


def active(page: Any) -> tuple[int, int, str]:
    cell = page.locator("#active-cell")
    row, column = (int(cell.get_attribute(f"data-{name}")) for name in ("row", "column"))
    return row, column, cell.text_content()


def test_the_table_has_the_numbers_of_the_recording(page_for: Callable[..., Any], kinds: Recording) -> None:
    page = page_for(explorer_of(kinds), f"values&step={END}")
    shown(page, "log")
    log = kinds.tile(0, END, number_of(kinds, "log"))
    found = cells(page)
    assert len(found) > 20
    for (row, column), text in found.items():
        assert numpy.array_equal(numpy.float32(text), log[row, column], equal_nan=True), (row, column)
    statistics = page.locator(".statistics").inner_text()
    assert "4,096" in statistics and str(int(numpy.isnan(log).sum())) in statistics
    assert page.locator(".histogram .bar").count() > 3


def test_keys_move_the_active_element_and_scroll(page_for: Callable[..., Any], kinds: Recording) -> None:
    page = page_for(explorer_of(kinds), f"values&step={END}")
    shown(page, "x")
    grid = page.get_by_role("grid")
    grid.focus()
    for key, place in [
        ("ArrowRight", (0, 1)), ("ArrowDown", (1, 1)), ("End", (1, 63)), ("ArrowLeft", (1, 62)), ("Home", (1, 0)),
        ("Control+End", (63, 63)), ("ArrowDown", (63, 63)), ("PageUp", None), ("Control+Home", (0, 0)),
    ]:  # fmt: skip
        grid.press(key)
        if place is not None:
            page.locator(f"#active-cell[data-row='{place[0]}'][data-column='{place[1]}']").wait_for()
        row, column, text = active(page)
        expected = kinds.tile(0, END, number_of(kinds, "x"))[row, column]
        assert numpy.float32(text) == expected
        assert grid.get_attribute("aria-activedescendant") == "active-cell"
    assert grid.get_attribute("aria-rowcount") == "65"
    assert page.locator(".tile-cells th[role=columnheader]").first.text_content() == "0"


def test_a_large_tile_is_asked_for_in_parts(page_for: Callable[..., Any], kinds: Recording) -> None:
    page = page_for(explorer_of(kinds), f"values&step={END}")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    shown(page, "large")
    assert "mean of" in page.locator(".heat-under").first.text_content()
    page.get_by_role("grid").evaluate("grid => { grid.scrollTop = 24 * 2000 }")
    page.locator(".tile-cells td[data-row='2005']").first.wait_for()
    page.locator(".tile-grid[aria-busy=false]").wait_for()
    large = kinds.tile(0, END, number_of(kinds, "large"))
    found = cells(page)
    assert min(row for row, _ in found) >= 1990
    for (row, column), text in found.items():
        assert numpy.array_equal(numpy.float32(text), large[row, column], equal_nan=True)
    assert any("start=" in url for url in asked)


def test_the_next_nan_is_found(page_for: Callable[..., Any], kinds: Recording) -> None:
    page = page_for(explorer_of(kinds), f"values&step={END}")
    # Of a tile that is drawn in bins, here of 4 x 1, one bin after another.
    for name, places in (("log", [(0, 1), (0, 2), (0, 3)]), ("large", [(1, 0), (2, 0), (3, 0), (0, 1)])):
        shown(page, name)
        page.get_by_role("grid").press("Control+Home")
        for row, column in places:
            page.get_by_role("button", name="Next NaN or infinity").click()
            page.locator("output.cell", has_text=re.compile(rf"^\[{row}, {column}\]")).wait_for()
            page.locator(f"#active-cell.nan[data-row='{row}'][data-column='{column}']").wait_for()
    shown(page, "x")
    assert page.get_by_role("button", name="Next NaN or infinity").is_disabled()


def test_tiles_of_three_dimensions_are_slices(page_for: Callable[..., Any], kinds: Recording) -> None:
    page = page_for(explorer_of(kinds), f"values&step={END}")
    shown(page, "boxes")
    page.get_by_label("dimension 0 (0 .. 3)").fill("2")
    page.get_by_label("dimension 0 (0 .. 3)").press("Enter")
    boxes = kinds.tile(0, END, number_of(kinds, "boxes"))
    page.locator("output.cell", has_text="[2, 0, 0]").wait_for()
    page.locator(".tile-grid[aria-busy=false]").wait_for()
    for (row, column), text in cells(page).items():
        assert numpy.float32(text) == boxes[2, row, column]


def test_all_kinds_of_elements_are_shown(page_for: Callable[..., Any], kinds: Recording) -> None:
    page = page_for(explorer_of(kinds), f"values&step={END}")
    shown(page, "positive")
    assert cells(page)[0, 0] == "false"
    shown(page, "eight")
    eight = kinds.tile(0, END, number_of(kinds, "eight"))
    assert float(cells(page)[3, 2]) == pytest.approx(float(eight[3, 2]), rel=0.01)
    shown(page, "whole")
    assert cells(page)[5, 1] == str(kinds.tile(0, END, number_of(kinds, "whole"))[5, 1])
    shown(page, "places")
    places = kinds.tile(0, END, number_of(kinds, "places"))
    assert cells(page)[0, 1] == hex(int(places[1]))
    shown(page, "zero")
    assert cells(page) == {(0, 0): "0"}


def test_arrays_are_shown_as_they_are_at_the_moment(page_for: Callable[..., Any], sums: Recording) -> None:
    last = len(sums.steps(1))
    page = page_for(explorer_of(sums), f"values&place=1&step={last}&array=1")
    page.locator(".tile-shown h2", has_text=sums.arrays[1].name).wait_for()
    page.locator(".tile-grid[aria-busy=false]").wait_for()
    assert cells(page)[0, 0] == "inf"
    assert sums.array(1, 0, 0)[0] == 0
    page.locator("[role=option]", has_text=sums.arrays[0].name).last.click()
    page.locator(".tile-shown h2", has_text=sums.arrays[0].name).wait_for()


def test_values_follow_the_moment_and_can_be_filtered(page_for: Callable[..., Any], sums: Recording) -> None:
    page = page_for(explorer_of(sums), "values&step=0")
    names = page.locator("[role=option] .name")
    page.locator("[role=option]").first.wait_for()
    assert "zero" not in names.all_text_contents()
    # Nothing is computed yet: the first array is shown, rather than an address or an extent that was given.
    page.locator(".tile-shown h2", has_text=sums.arrays[0].name).wait_for()
    assert page.locator("[role=option][aria-selected=true] .name").all_text_contents() == [sums.arrays[0].name]
    page.locator("[role=option]").first.click()
    page.locator(".tile-shown", has_text=", given").wait_for()
    page.evaluate("location.hash = '#view=values&step=0'")
    page.evaluate("location.hash = '#view=values&step=30'")
    names.filter(has_text=re.compile("^next$")).wait_for()
    page.get_by_label("Filter values by name").fill("next")
    names.filter(has_text=re.compile("^zero$")).wait_for(state="detached")
    assert names.all_text_contents() == ["next"]
    listed = page.get_by_role("listbox", name="Values and arrays")
    page.get_by_label("Filter values by name").fill("")
    listed.focus()
    listed.press("End")
    page.locator(".tile-shown h2", has_text=sums.arrays[-1].name).wait_for()
    listed.press("Home")
    page.locator("#listed-0[aria-selected=true]").wait_for()


def test_a_comparison_chosen_while_a_tile_is_fetched_is_shown(page_for: Callable[..., Any], sums: Recording) -> None:
    page = page_for(explorer_of(sums), "values&step=300")
    page.locator(".tile-grid[aria-busy=false]").wait_for()
    page.evaluate("""async () => {
        const grid = document.querySelector(".tile-grid");
        const fetching = new Promise((done) => {
            new MutationObserver(() => grid.getAttribute("aria-busy") === "true" && done())
                .observe(grid, { attributes: true });
        });
        location.hash = "#view=values&step=303";
        await fetching;
        const select = document.querySelector("[aria-label='Compare with']");
        select.value = "f64";
        select.dispatchEvent(new Event("change"));
    }""")
    page.locator(".heat-maps.three").wait_for()


def test_a_comparison_shows_both_runs_and_leads_to_the_first_wrong_value(
    page_for: Callable[..., Any], sums: Recording
) -> None:
    page = page_for(explorer_of(sums), "values&step=300", viewport={"width": 1440, "height": 900})
    page.get_by_label("Compare with").select_option("f64")
    page.locator(".heat-maps.three").wait_for()
    assert page.locator(".heat:visible canvas").count() == 3
    page.locator(".moments li.wrong").wait_for()
    assert page.locator(".moments li.wrong").count() == 1
    page.get_by_role("button", name="Difference", exact=True).click()
    page.locator(".sides button[aria-pressed=true]", has_text="Difference").wait_for()
    next_number = number_of(sums, "next")
    from tileir.analyze.comparing.compare import compare

    _, left, _, right = compare(sums, "f64").pair(0, 300, next_number)
    page.locator(".tile-grid[aria-busy=false]").wait_for()
    expected = left.astype(numpy.float64) - right
    for (row, column), text in cells(page).items():
        assert float(text) == pytest.approx(expected[row * 16 + column], abs=1e-6)
    page.locator(".note.bad button").click()
    page.locator(".tile-shown h2", has_text="square").wait_for()
    step = compare(sums, "f64").first
    assert step is not None and f"step={step.step}" in page.url
    page.get_by_label("Compare with").select_option("cpu")
    page.locator(".differences", has_text="All values are the same.").wait_for()
    page.get_by_label("Compare with").select_option("")
    page.locator(".heat-maps.three").wait_for(state="detached")


def test_a_table_is_busy_until_it_shows_what_was_asked_for(page_for: Callable[..., Any], sums: Recording) -> None:
    """Also where the tile of before is drawn once more meanwhile: a frame asked for earlier, a scroll."""
    page = page_for(explorer_of(sums), "values&step=300", viewport={"width": 1440, "height": 900})
    page.locator(".tile-grid[aria-busy=false]").wait_for()
    page.evaluate(
        """() => {
          const real = window.fetch;
          const held = new Promise((resolve) => { window.release = resolve; });
          window.fetch = async (address, options) => {
            if (String(address).includes("answer/compared")) await held;
            return real(address, options);
          };
        }"""
    )
    page.get_by_label("Compare with").select_option("f64")
    grid = page.locator(".tile-grid")
    page.locator(".tile-grid[aria-busy=true]").wait_for()
    frames = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    grid.dispatch_event("scroll")
    page.evaluate(frames)
    assert grid.get_attribute("aria-busy") == "true"
    page.evaluate("() => window.release()")
    page.locator(".heat-maps.three").wait_for()
    page.locator(".tile-grid[aria-busy=false]").wait_for()


def test_the_picture_is_saved_as_svg(page_for: Callable[..., Any], kinds: Recording) -> None:
    page = page_for(explorer_of(kinds), f"values&step={END}")
    for name in ("log", "large"):
        shown(page, name)
        with page.expect_download() as saving:
            page.get_by_role("button", name="SVG").click()
        text = saving.value.path().read_text()
        assert text.startswith("<svg") and name in text
        assert "<rect" in text


def test_a_closer_look_has_single_elements(page_for: Callable[..., Any], kinds: Recording) -> None:
    page = page_for(explorer_of(kinds), f"values&step={END}")
    shown(page, "large")
    for _ in range(2):
        page.get_by_role("button", name="Closer").click()
    page.locator(".heat-under", has_text=re.compile(r"^\[0, 0\]: NaN$")).wait_for()
    page.get_by_role("button", name="Whole").click()
    page.locator(".heat-under", has_text="mean").first.wait_for()


def test_a_click_into_the_picture_chooses_the_element(page_for: Callable[..., Any], kinds: Recording) -> None:
    page = page_for(explorer_of(kinds), f"values&step={END}")
    shown(page, "x")
    canvas = page.locator(".heat:visible canvas")
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] * 0.5, "y": box["height"] * 0.5})
    page.locator("#active-cell:not([data-row='0'])").wait_for()
    row, column, text = active(page)
    assert row > 10 and column > 10
    assert numpy.float32(text) == kinds.tile(0, END, number_of(kinds, "x"))[row, column]


def test_an_exported_page_has_values_slices_and_comparisons(
    open_page: Callable[..., Any], kinds: Recording, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    path.write_text(exported(explorer_of(kinds)).text, encoding="utf-8")
    page = open_page(path)
    page.get_by_role("tab", name="Values").click()
    page.evaluate(f"location.hash = '#view=values&step={END}'")
    shown(page, "boxes")
    page.get_by_label("dimension 0 (0 .. 3)").fill("3")
    page.get_by_label("dimension 0 (0 .. 3)").press("Enter")
    page.locator("output.cell", has_text="[3, 0, 0]").wait_for()
    page.locator(".tile-grid[aria-busy=false]").wait_for()
    boxes = kinds.tile(0, END, number_of(kinds, "boxes"))
    for (row, column), text in cells(page).items():
        assert numpy.float32(text) == boxes[3, row, column]
    page.get_by_label("Compare with").select_option("f64")
    page.locator(".differences h3", has_text="0 different values in tile block (0)").wait_for()


def test_names_are_text(page_for: Callable[..., Any]) -> None:
    name = "<img src=x onerror=\"document.title='broken'\">"
    value = {
        "id": 0, "name": "%x", "script": name, "type": "tile<2xf32>", "element": "f32", "shape": [2], "operation": 0,
    }  # fmt: skip
    tile = tile_answer(F32, numpy.array([1.5, 2.5], numpy.float32))
    explorer = made_explorer(
        {"values": [value], "comparisons": [{"id": "x", "title": name, "reason": name}]},
        values={"block": 0, "step": 1, "values": [{"value": 0, "step": 1, "text": name}]},
        tile=tile,
    )
    page = page_for(explorer, "values&step=1")
    page.locator(".tile-shown h2", has_text=name).wait_for()
    assert page.locator("[role=option] .name").first.text_content() == name
    assert page.locator("img").count() == 0 and page.title() != "broken"
