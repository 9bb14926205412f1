"""The page in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.judging.report.made_results import (
    PLAN,
    crashed,
    fine,
    invalid,
    judged,
    passed,
    program,
    several,
    written,
    wrong,
)

from tileir.judging.model import JudgeStage
from tileir.judging.results.store import Finished, Store
from tileir.tools.main import run

HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">{{embedded}}"


@pytest.fixture
def page_of(open_page: Any, tmp_path: Path) -> Callable[..., Any]:
    """Writes verdicts and opens their page; further options are those of `open_page`."""

    def opened(finished: Iterable[Finished], *arguments: str, hash: str = "", **options: Any) -> Any:
        path = tmp_path / "results.sqlite"
        if not path.exists():
            written(path, finished)
        target = tmp_path / "page.html"
        assert run(["report", str(path), "--html", str(target), *arguments]) in (0, 1)
        return open_page(target.resolve().as_uri() + hash, **options)

    return opened


def shows(locator: Any, text: str | list[str] | re.Pattern[str]) -> None:
    """The page follows a click or a key with the next frame."""
    from playwright.sync_api import expect

    expect(locator).to_have_text(text, timeout=60_000)


def shows_tab(page: Any, title: str) -> None:
    shows(page.get_by_role("tab", selected=True), title)


def shows_programs(page: Any, names: list[str]) -> None:
    shows(page.locator(".row .name"), names)


def test_kinds_are_listed_and_the_first_is_open(page_of: Any) -> None:
    page = page_of(several())
    assert page.title() == "results.sqlite: tileir report"
    assert page.locator("#facts").inner_text().split("\n") == ["5 passed", "4 failed", "1 crashed"]
    options = page.get_by_role("option")
    assert options.count() == 3
    assert options.nth(1).inner_text().split("\n")[0].startswith("2")
    assert page.locator(".detail pre.message").first.inner_text() == "program:3:5: error: expected ':'"


def test_a_kind_is_chosen_by_key_and_leads_to_its_programs(page_of: Any) -> None:
    page = page_of(several())
    page.get_by_role("listbox").press("ArrowDown")
    shows(page.get_by_role("option", selected=True), re.compile("results differ$"))
    shows(page.locator(".source pre"), re.compile("// wrong/one.mlir"))
    page.get_by_role("button", name="Show its programs").click()
    shows_tab(page, "Programs (10)")
    page.get_by_text("2 of 10 programs").first.wait_for()
    shows_programs(page, ["wrong/one.mlir", "wrong/two.mlir"])
    page.go_back()
    shows_tab(page, "Kinds of failures (3)")


def test_programs_are_searched_filtered_and_sorted(page_of: Any) -> None:
    page = page_of(several(), hash="#view=programs")
    page.get_by_text("10 programs").first.wait_for()
    page.get_by_label("Search").fill("MLIR wrong")
    page.get_by_text("2 of 10 programs").first.wait_for()
    page.get_by_role("button", name="Bytes").click()
    page.get_by_role("button", name="Bytes").click()
    shows_programs(page, ["wrong/two.mlir", "wrong/one.mlir"])
    assert page.get_by_role("columnheader", name="Bytes").get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("search").get_by_label("Outcome").select_option("crashed")
    shows_programs(page, ["crash.mlir"])
    page.get_by_role("search").get_by_label("Outcome").select_option("")
    page.get_by_role("search").get_by_label("Step").select_option("check")
    shows_programs(page, ["bad/a.mlir", "bad/long name.mlir"])
    # The address has all of it.
    again = page.context.new_page()
    again.goto(page.url)
    again.locator(".row").first.wait_for()
    shows_programs(again, ["bad/a.mlir", "bad/long name.mlir"])


def test_a_program_is_chosen_and_says_what_is_known(page_of: Any) -> None:
    page = page_of(several(), hash="#view=programs&search=crash")
    page.locator(".row").click()
    region = page.get_by_role("region", name="The chosen program")
    shows(region, re.compile("the process died: SIGSEGV"))
    assert re.search(r"tileir report results\.sqlite --show [0-9a-f]{32}", region.inner_text())
    region.get_by_role("button", name="Kind: SIGSEGV").click()
    shows_tab(page, "Kinds of failures (3)")
    shows(page.get_by_role("option", selected=True), re.compile("^1"))


def test_many_rows_scroll_and_few_are_in_the_page(page_of: Any) -> None:
    page = page_of([fine(f"p{number}") for number in range(5_000)], hash="#view=programs")
    grid = page.get_by_role("grid")
    assert grid.get_attribute("aria-rowcount") == "5001"
    assert page.locator(".row").count() < 100
    grid.focus()
    grid.press("End")
    page.get_by_text("p4999", exact=True).first.wait_for()
    assert page.locator(".row").count() < 100
    last = page.locator(f"#{grid.get_attribute('aria-activedescendant')}")
    assert last.get_attribute("aria-rowindex") == "5001" and last.get_attribute("aria-selected") == "true"
    grid.press("Home")
    page.get_by_text("p0", exact=True).first.wait_for()


def test_hostile_names_are_text(page_of: Any) -> None:
    steps = [JudgeStage(HOSTILE, "failed", HOSTILE, HOSTILE, {HOSTILE: HOSTILE})]
    page = page_of([judged(program(HOSTILE, HOSTILE), *steps), *[wrong(f"{HOSTILE}{n}") for n in range(3)]])
    assert page.locator("img").count() == 0 and "broken" not in page.title()
    assert page.get_by_text(HOSTILE).count() > 2
    page.get_by_role("tab", name="Programs").click()
    page.locator(".row").first.click()
    page.get_by_role("tab", name="Steps").click()
    assert page.locator("img").count() == 0 and "broken" not in page.title()


def test_reproducers_are_shown_before_the_program(page_of: Any, tmp_path: Path) -> None:
    found = several()
    path = written(tmp_path / "results.sqlite", found)
    with Store(path) as store:
        store.begin(PLAN)
        store.add_reproducer(program("crash.mlir").digest, b"cuda_tile.module @tiny { }", "1 of 9 operations")
    page = page_of([], hash="#view=kinds")
    page.get_by_role("listbox").press("End")
    assert page.locator(".source h3").all_text_contents() == ["Reproducer", "Smallest program"]
    assert page.locator(".source pre").first.inner_text() == "cuda_tile.module @tiny { }"
    assert page.locator(".detail .note").inner_text() == "1 of 9 operations"


def test_changes_come_first(page_of: Any, tmp_path: Path) -> None:
    old = written(tmp_path / "old.sqlite", [fine("a"), wrong("b")])
    page = page_of([crashed("a"), fine("b")], "--compare", old)
    shows_tab(page, "Changes")
    assert page.get_by_role("heading", level=2).all_inner_texts() == [
        "New kinds of failures (1)",
        "Broken (1)",
        "Fixed (1)",
        "Kinds of failures that are gone (1)",
    ]


def test_kernels_have_their_speed(page_of: Any) -> None:
    steps = [
        JudgeStage("time cpu", "passed", measured={"seconds": 0.5, "baseline_seconds": 1.0, "speedup": 2.0}),
        JudgeStage("cost h200", "passed", details={"seconds": 0.5, "baseline_seconds": 0.125, "speedup": 0.25}),
    ]
    page = page_of([judged(program("k.py", kind="kernels"), *steps)], hash="#view=kernels")
    assert page.locator("tbody tr").first.inner_text().split("\t") == ["k.py", "passed", "2.00x", "0.25x"]
    assert page.get_by_text("2.00x").get_attribute("title") == "500 ms against 1 s"


def test_nothing_failed(page_of: Any) -> None:
    page = page_of([fine("a")])
    assert page.get_by_text("Nothing failed.").is_visible()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("width", [360, 1600])
def test_nothing_is_outside_of_the_window(page_of: Any, scheme: str, width: int) -> None:
    long = "word" * 60
    page = page_of(
        [*several(), invalid(long, long, long)], color_scheme=scheme, viewport={"width": width, "height": 700}
    )
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    for tab in page.get_by_role("tab").all():
        tab.click()
        shows_tab(page, tab.inner_text())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.get_by_role("tabpanel").count() == 1


def test_keys_lead_to_views_and_the_search(page_of: Any) -> None:
    page = page_of(several())
    page.keyboard.press("3")
    shows_tab(page, "Steps and plan")
    page.keyboard.press("/")
    page.locator("#search:focus").wait_for()
    page.keyboard.type("3")
    page.wait_for_function("document.activeElement.value === '3'")


def test_an_address_with_nonsense_opens_the_first_view(page_of: Any) -> None:
    page = page_of(several(), hash="#view=nowhere&program=99999999&kind=zz&sort=-evil&outcome=x")
    shows_tab(page, "Kinds of failures (3)")


def test_page_loads_nothing_and_cannot_be_ended_by_what_it_carries(tmp_path: Path) -> None:
    path = written(tmp_path / "r.sqlite", [wrong(HOSTILE)])
    assert run(["report", path, "--html", str(tmp_path / "page.html")]) == 0
    text = (tmp_path / "page.html").read_text()
    assert "https:" not in text and "http:" not in text.replace("http://www.w3.org", "")
    assert text.count("</script>") == 3 and "<img" not in text
    assert "default-src &#x27;none&#x27;" in text


def test_the_same_results_give_the_same_page(tmp_path: Path) -> None:
    for name in ("1", "2"):
        (tmp_path / name).mkdir()
        path = written(tmp_path / name / "r.sqlite", several() if name == "1" else reversed(several()))
        assert run(["report", path, "--html", str(tmp_path / name / "page.html")]) == 0
    assert (tmp_path / "1" / "page.html").read_bytes() == (tmp_path / "2" / "page.html").read_bytes()


def test_a_step_without_a_name_is_the_start(page_of: Any) -> None:
    page = page_of(
        [judged(program("a"), *passed("check")), judged(program("b"), JudgeStage("", "crashed", "died", "SIGKILL"))]
    )
    assert "start" in page.get_by_role("option").inner_text()
