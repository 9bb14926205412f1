"""The page's frame: tabs, the address, dark and light, keys, problems; and names that try to be markup."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.serve.explorer.made_answers import made_explorer, operation

from tileir.browser import one_file

HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">{{embedded}}"


def page_text(title: str, embedded: Any = None) -> str:
    return one_file.page("tileir.serve.explorer", title, embedded)


def test_page_shows_the_launch(page_for: Any) -> None:
    page = page_for(made_explorer())
    assert page.title() == "made in made.mlir: tileir explorer"
    assert page.locator("#title").inner_text() == "made"
    assert "grid 4 x 1 x 1" in page.locator("#facts").inner_text()
    assert "4 tile blocks, 8 accesses" in page.locator("#status").inner_text()


def test_overview_lists_parameters_and_arrays(page_for: Any) -> None:
    page = page_for(made_explorer())
    arrays = page.get_by_role("region", name="Arrays")
    arrays.get_by_role("row").nth(1).wait_for()
    assert arrays.get_by_role("row").nth(1).inner_text().split("\t") == [
        "a", "64 f32", "read, written", "0.0, 0.0, 0.0 ..",
    ]  # fmt: skip


def test_hostile_names_are_text(page_for: Any) -> None:
    summary = {
        "title": HOSTILE,
        "kernel": HOSTILE,
        "parameters": [{"name": HOSTILE, "type": HOSTILE, "array": None, "value": HOSTILE}],
        "operations": [operation(number, HOSTILE) for number in range(3)],
        "recording": {**made_explorer().summary["recording"], "notes": [HOSTILE]},
        "failure": HOSTILE,
    }
    page = page_for(made_explorer(summary))
    assert page.locator("#title").inner_text() == HOSTILE
    assert page.title().startswith(HOSTILE[:20])
    assert page.locator("img").count() == 0
    assert page.get_by_text(f"The launch failed: {HOSTILE}").count() == 1


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_colors_follow_the_system_and_the_switch(page_for: Any, scheme: str) -> None:
    other = "light" if scheme == "dark" else "dark"
    page = page_for(made_explorer(), color_scheme=scheme)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    page.get_by_role("button", name=other.capitalize(), exact=True).click()
    assert page.evaluate("document.documentElement.dataset.theme") == other
    page.reload()
    page.get_by_role("tab", selected=True).wait_for()
    assert page.evaluate("document.documentElement.dataset.theme") == other


def test_help_opens_and_closes_by_key(page_for: Any) -> None:
    page = page_for(made_explorer())
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Help")
    assert dialog.is_visible()
    page.keyboard.press("Escape")
    assert not dialog.is_visible()


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_hints_are_shown_once_and_again_from_the_help(page_for: Any, size: tuple[int, int]) -> None:
    width, height = size
    page = page_for(made_explorer(), hints=True, viewport={"width": width, "height": height})
    titles = []
    for number in range(1, 6):
        card = page.get_by_role("dialog", name=f"Hint {number} of 5")
        card.get_by_role("heading").wait_for()
        page.wait_for_timeout(100)
        titles.append(card.get_by_role("heading").inner_text())
        box = card.bounding_box()
        assert box["x"] >= 0 and box["y"] >= 0
        assert box["x"] + box["width"] <= width and box["y"] + box["height"] <= height
        assert page.locator(".is-hinted").count() == 1
        if number < 5:
            # The button for the next one has the focus.
            page.keyboard.press("Enter")
    assert len(set(titles)) == 5
    page.get_by_role("button", name="Back", exact=True).click()
    page.get_by_role("dialog", name="Hint 4 of 5").wait_for()
    page.keyboard.press("Escape")
    assert page.locator(".hint, .is-hinted").count() == 0
    # Neither when it is opened again, nor at the port of another launch.
    page.reload()
    page.get_by_role("tab", selected=True).wait_for()
    assert page.locator(".hint").count() == 0
    page.evaluate("localStorage.clear()")
    page.reload()
    page.get_by_role("tab", selected=True).wait_for()
    assert page.locator(".hint").count() == 0
    page.get_by_role("button", name="Help").click()
    page.get_by_role("button", name="Show the hints").click()
    page.get_by_role("dialog", name="Hint 1 of 5").get_by_role("button", name="Close").click()
    assert page.locator(".hint").count() == 0


def test_skip_link_is_first_and_goes_to_the_view(page_for: Any) -> None:
    page = page_for(made_explorer())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_address_with_nonsense_opens_the_first_view(page_for: Any, open_page: Any) -> None:
    page = page_for(made_explorer(), view="nowhere&place=99999999&step=-1&operation=x&marked=,,1e9,3,99")
    assert page.get_by_role("tab", selected=True).inner_text() == "Overview"
    page.wait_for_url("**#view=overview&place=3&marked=3")


def test_a_question_that_fails_is_told_in_words(page_for: Any) -> None:
    page = page_for(made_explorer(), expected="400")
    words = page.evaluate(
        """async () => {
            const { answersOfServer, cached } = await import("explorer/data.js");
            try { await cached(answersOfServer)("tile", { block: 0, step: 0, value: 0 }); } catch (error) { return error.message; }
        }"""
    )
    assert words == "there is no 'tile' for this launch"


def test_assets_fit_into_the_wheel() -> None:
    from importlib import resources

    folder = resources.files("tileir.serve.explorer") / "assets"
    sizes = {entry.name: len(entry.read_bytes()) for entry in folder.iterdir()}
    assert {"explorer.css", "main.js"} <= set(sizes)
    assert sum(sizes.values()) <= 1_000_000, sizes


def test_page_loads_nothing_from_outside() -> None:
    text = page_text("title")
    assert "http:" not in text.replace("http://www.w3.org", "")
    assert "https:" not in text
    assert re.findall(r'(?:src|href)="([^"]*)"', text) == ["data:,", "#content"]


def test_carried_text_cannot_end_its_script() -> None:
    text = page_text(HOSTILE, {"bundles": {HOSTILE: HOSTILE}})
    assert text.count("</script>") == page_text("title").count("</script>")
    assert text.count("<img") == 0
    carried = re.search(r'id="embedded">(.*?)</script>', text, re.DOTALL)[1]
    assert json.loads(carried) == {"bundles": {HOSTILE: HOSTILE}}
