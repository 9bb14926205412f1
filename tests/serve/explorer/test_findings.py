"""The view of the sanitizer's findings: the report in its place, one click to the two accesses of a race."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.serve.explorer.made_answers import made_explorer

import tileir
from tileir.execute.recording.recording import Recording, record
from tileir.serve.explorer.opening import recording_part
from tileir.serve.explorer.questions import Explorer

EXAMPLES = Path(__file__).parents[3] / "examples"

NAN = """cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %q = offset %p, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %v, %t = load_ptr_tko weak %q : tile<ptr<f32>> -> tile<f32>, token
  %n = itof %x signed : tile<i32> -> tile<f32>
  %d = divf %v, %n : tile<f32>
  %u = store_ptr_tko weak %q, %d token=%t : tile<ptr<f32>>, tile<f32> -> token
  return
} }"""

CUTILE = """import cuda.tile as ct


@ct.kernel
def everybody(target):
    ct.store(target, (0,), ct.full((8,), 1.0, ct.float32))
"""


def racy() -> Recording:
    kernel = tileir.compile(tileir.load(EXAMPLES / "racy.mlir"))
    return record(kernel, 4, (numpy.ones(512, "i4"), numpy.zeros(1, "i4"), 512))


def explorer(recording: Recording | None = None) -> Explorer:
    known = recording or racy()
    return Explorer([recording_part(known, "racy.mlir")])


def test_findings_of_a_cutile_kernel_are_in_its_words(tmp_path: Path) -> None:
    pytest.importorskip("cuda.tile", reason="the kernel is written in cuTile")
    script = tmp_path / "kernels.py"
    script.write_text(CUTILE)
    kernel = runpy.run_path(str(script))["everybody"]
    target = numpy.zeros(8, "f4")
    with tileir.explore(kernel, 2, (target,), open=False) as explored:
        (finding,) = explored.answer("findings")["findings"]
        operation = explored.answer("summary")["operations"][finding["place"]["operation"]]
    assert finding["details"] == ["both touch target (array float32[8]) at [0]", "one writes, the other wrote"]
    assert finding["help"].endswith("or use an atomic (ct.atomic_add)")
    assert finding["place"]["position"] == finding["other"]["position"] == "kernels.py:6"
    assert operation["script"]["text"].strip() == "ct.store(target, (0,), ct.full((8,), 1.0, ct.float32))"


def test_one_click_leads_to_the_two_accesses_of_a_race(page_for: Any) -> None:
    page = page_for(explorer(), view="findings")
    assert page.get_by_role("tab", selected=True).inner_text() == "Findings (2)"
    cards = page.get_by_role("article")
    cards.nth(1).wait_for()
    assert page.get_by_role("region", name="Findings of kind race").get_by_role("article").count() == 2
    card = cards.first
    places = card.get_by_role("group")
    assert "racy.mlir:29" in places.nth(0).inner_text() and "tile block (1)" in places.nth(0).inner_text()
    assert "racy.mlir:31" in places.nth(1).inner_text() and "tile block (0)" in places.nth(1).inner_text()
    assert "seen 3 times" in card.inner_text() and "Help: which value is read" in card.inner_text()
    card.get_by_role("button", name="Show the two accesses").click()
    page.wait_for_url("**#view=memory**")
    address = page.evaluate("location.hash")
    for words in ("place=1", "step=17", "operation=18", "array=1", "marked=4%2C2"):
        assert words in address
    # What is marked is said in the names of the program, and the keyboard goes on in the view that has come.
    marked = page.get_by_role("list", name="Marked accesses").get_by_role("listitem")
    marked.nth(1).wait_for()
    first, second = [" ".join(text.split()) for text in marked.all_inner_texts()]
    assert first.startswith("A read block (1), step 17") and "load_ptr_tko weak %total" in first
    assert second.startswith("B write block (0), step 19") and "store_ptr_tko weak %total, %new" in second
    assert page.evaluate("document.activeElement.id") == "tab-memory"
    assert "%old, %old_token = load_ptr_tko weak %total" in page.locator("#moment").inner_text()
    # Back, and to the other one.
    page.go_back()
    places.nth(1).get_by_role("button", name="In memory").click()
    page.wait_for_url("**step=19**")
    assert "place=" not in page.evaluate("location.hash") and "operation=20" in page.evaluate("location.hash")


def test_the_report_is_there_as_it_is_printed(page_for: Any) -> None:
    recording = racy()
    page = page_for(explorer(recording), view="findings", color_scheme="dark", viewport={"width": 420, "height": 800})
    page.get_by_text("As the sanitizer prints it").first.click()
    assert page.locator("details pre").first.inner_text() == recording.findings[0].render()
    # Nothing is wider than a narrow window.
    assert page.evaluate("document.querySelector('#content').scrollWidth") <= 420


def test_a_clean_launch_says_what_was_checked(page_for: Any) -> None:
    kernel = tileir.compile(tileir.load(EXAMPLES / "vector_add.mlir"))
    arrays = [numpy.ones(1000, "f4"), numpy.ones(1000, "f4"), numpy.zeros(1000, "f4")]
    page = page_for(explorer(record(kernel, 8, (*arrays, 1000))), view="findings")
    page.get_by_role("heading", name="Nothing found").wait_for()
    assert page.get_by_text("tile blocks that access the same bytes in no order").is_visible()
    assert page.get_by_text("are found with sanitize=").is_visible()


def test_nans_are_looked_for_when_somebody_asks(page_for: Any) -> None:
    kernel = tileir.compile(tileir.parse(NAN))
    page = page_for(explorer(record(kernel, 2, (numpy.zeros(2, "f4"),))), view="findings")
    page.get_by_role("button", name="Look for NaNs and infinities").click()
    region = page.get_by_role("region", name="NaNs and infinities")
    region.get_by_role("heading", name="Where NaNs and infinities begin").wait_for()
    card = region.get_by_role("article", name="divf makes a NaN")
    assert "divf of 0, 0 is nan" in card.inner_text()
    card.get_by_role("button", name="In the program").click()
    page.wait_for_url("**#view=forms**")
    assert "place=" not in page.evaluate("location.hash") and "step=5" in page.evaluate("location.hash")


def test_what_ended_the_launch_is_shown(page_for: Any) -> None:
    hostile = "<b>no</b> index 7"
    page = page_for(
        made_explorer({"failure": hostile}, findings={"findings": [], "checked": [], "notes": ["not sanitized"]}),
        view="findings",
    )
    shown = page.get_by_role("region", name="The launch failed")
    shown.wait_for()
    assert shown.locator("pre").inner_text() == hostile
    assert page.get_by_text("Nothing was checked").is_visible() and page.get_by_text("not sanitized").is_visible()


def test_many_findings_come_in_portions(page_for: Any) -> None:
    count = 250
    place = {
        "operation": None,
        "block": None,
        "step": None,
        "element": None,
        "access": None,
        "array": None,
        "position": "",
    }
    found = [
        {
            "kind": "shift",
            "title": f"finding {number} <i>",
            "text": "",
            "details": [],
            "help": "",
            "count": 1,
            "note": False,
            "place": place,
            "relation": "",
            "other": None,
        }
        for number in range(count)
    ]
    answers = {"findings": found, "checked": [], "notes": []}
    page = page_for(made_explorer({"findings": count}, findings=answers), view="findings")
    page.get_by_text("finding 0 <i>").wait_for()
    assert page.get_by_role("article").count() == 100
    page.get_by_role("button", name="Show more: 150 left").click()
    page.get_by_role("button", name="Show more: 50 left").click()
    assert page.get_by_role("article").count() == count
