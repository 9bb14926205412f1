"""What the page opens at."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir

# The loop runs once too often, and the store goes one element too far.
SCRIPT = """import cuda.tile as ct

T = 16


@ct.kernel
def row_sums(x, out, a_parameter_with_a_name_that_is_much_longer_than_anybody_would_like, COLS: ct.Constant[int]):
    row = ct.bid(0)
    total = ct.zeros((T,), dtype=ct.float32)
    steps = COLS // T + 1
    for step in range(steps):
        tile = ct.gather(x, (row, step * T + ct.arange(T, dtype=ct.int32)), check_bounds=False, padding_value=0) * 1.0 * a_parameter_with_a_name_that_is_much_longer_than_anybody_would_like
        total = total + tile
    ct.scatter(out, row + 1, ct.sum(total), check_bounds=False)


@ct.kernel
def fine(x, out):
    row = ct.bid(0)
    tile = ct.load(x, (row, 0), (1, 64))
    total = ct.sum(tile)
    ct.scatter(out, row, total)
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: Any) -> Any:
    pytest.importorskip("cuda.tile", reason="the kernels are written in cuTile")
    path = tmp_path_factory.mktemp("script") / "a_script_with_a_name_that_is_long_enough_to_be_too_wide_for_a_phone.py"
    path.write_text(SCRIPT)
    return runpy.run_path(str(path))


def arrays() -> tuple[Any, Any]:
    x = numpy.random.default_rng(0).standard_normal((8, 64)).astype("float32")
    return x, numpy.zeros(8, "float32")


@pytest.fixture(scope="module")
def wrong(script: Any, tmp_path_factory: Any) -> Any:
    """The page of a launch with findings, from a server and from a file."""
    file = tmp_path_factory.mktemp("wrong") / "page.html"
    with tileir.explore(script["row_sums"], 8, (*arrays(), 2.0, 64), target=["h200"], open=False) as explored:
        explored.export(file)
        yield {"server": explored.url, "file": file}


def table(page: Any, panel: str) -> dict[str, list[str]]:
    """The rows of a table in the overview, by their first cell."""
    place = page.get_by_role("region", name=panel, exact=True)
    place.get_by_role("row").nth(1).wait_for()
    rows = [one.inner_text().split("\t") for one in place.get_by_role("row").all()]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows[1:]}


@pytest.mark.parametrize("place", ["server", "file"])
def test_a_launch_with_findings_opens_at_the_first(open_page: Callable[..., Any], wrong: Any, place: str) -> None:
    page = open_page(wrong[place])
    finding = page.get_by_role("region", name="Findings", exact=True)
    finding.get_by_text("ct.gather reads outside of x").wait_for()
    assert "The first of 2 findings" in finding.inner_text()
    assert "right past the end of x" in finding.inner_text()
    # Its line is lit, and the script's variables stand there as Python has them, without words of the tile program.
    page.locator(".code-lines .is-chosen", has_text="ct.gather(x").wait_for()
    variables = table(page, "Variables")
    assert list(variables)[:5] == ["row", "steps", "total", "step", "tile"]
    assert [variables[name][0] for name in ("row", "steps", "step", "COLS")] == ["7", "5", "4", "64"]
    assert variables["x"][:2] == ["array", "8 x 64 f32"]
    assert not [name for name in variables if name.startswith(("arg", "%"))]
    assert list(table(page, "Arrays")) == ["out", "x"]
    assert not page.get_by_role("region", name="Parameters").is_visible()
    # What to do next: to the step that computed a value, back, and to the access.
    place = page.get_by_role("region", name="Variables", exact=True)
    opened = page.evaluate("location.hash")
    step = variables["row"][2].removeprefix("step ")
    place.get_by_role("button", name=f"step {step}", exact=True).first.click()
    page.wait_for_url(lambda url: f"&step={step}&" in url)
    finding.get_by_role("button", name="Back to its step").click()
    page.wait_for_url(lambda url: opened.split("&marked")[0] in url)
    finding.get_by_role("button", name="Show the access").click()
    page.get_by_role("list", name="Marked accesses").get_by_text("out of bounds: 1 to 16 elements past").wait_for()


@pytest.mark.parametrize("place", ["server", "file"])
def test_variables_come_before_the_values_of_the_program(open_page: Callable[..., Any], wrong: Any, place: str) -> None:
    page = open_page(wrong[place])
    page.get_by_role("tab", name="Values").click()
    page.locator(".value-list [role=option]").first.wait_for()
    assert page.locator(".value-list .heading").all_inner_texts()[:2] == ["Variables of the script", "Arrays"]
    names = page.locator(".value-list .name")
    assert names.all_text_contents()[0] == "row"
    listed = names.count()
    page.get_by_label("parameters of the tile program").check()
    assert names.count() >= listed + 8
    page.locator(".value-list [role=option]", has_text="total").first.click()
    page.locator(".tile-shown h2", has_text="total").wait_for()


def test_a_launch_without_findings_opens_at_the_end_of_the_first_tile_block(
    open_page: Callable[..., Any], script: Any
) -> None:
    x, out = arrays()
    with tileir.explore(script["fine"], 8, (x, out), target=["h200"], open=False) as explored:
        steps = len(explored.recording.steps(0))
        page = open_page(explored.url)
        page.get_by_role("heading", name="No findings").wait_for()
        page.wait_for_url(lambda url: url.endswith(f"#view=overview&step={steps}"))
        variables = table(page, "Variables")
        assert list(variables) == ["row", "tile", "total", "x", "out"]
        assert variables["total"][0] == str(x[0].sum()) or float(variables["total"][0]) == pytest.approx(x[0].sum())
        contents = table(page, "Arrays")
        assert next(iter(contents)) == "out" and contents["out"][-1].startswith(variables["total"][0])
        # The whole launch is there to look at, until the moment moves.
        page.get_by_role("tab", name="Memory").click()
        page.get_by_label("Accesses").wait_for()
        assert page.get_by_label("Accesses").input_value() == "launch"
        page.keyboard.press(",")
        page.locator("#view-memory select").nth(1).locator("option:checked[value=moment]").wait_for(state="attached")


def test_a_program_of_its_own_lists_its_values(open_page: Callable[..., Any]) -> None:
    program = Path(__file__).parents[3] / "examples" / "racy.mlir"
    given = (numpy.ones(512, "int32"), numpy.zeros(1, "int32"), 512)
    with tileir.explore(program, 4, given, target=["h200"], open=False) as explored:
        assert explored.title == "racy in racy.mlir: tileir explorer"
        page = open_page(explored.url)
        assert page.title() == explored.title
        page.get_by_role("region", name="Findings", exact=True).get_by_text("race", exact=True).first.wait_for()
        assert "old" in table(page, "Variables")
        page.locator(".source .is-chosen", has_text="%old").wait_for()
        # A click on a line goes to the step that runs it.
        page.locator(".source .row", has_text="%sum = reduce").click()
        page.locator(".source .is-chosen", has_text="%sum = reduce").wait_for()
        assert table(page, "Variables")["sum"][2] == f"step {page.url.partition('step=')[2].partition('&')[0]}"
        assert "old" not in table(page, "Variables")
