"""The view of the program's forms: linked lines, long listings, search, changes, keys."""

from __future__ import annotations

from typing import Any

from tests.serve.explorer.made_answers import made_explorer, operation, packed

TILE = [
    "cuda_tile.module @m {",
    "  entry @made() {",
    "    %x = load_view_tko weak %v",
    "    store_view_tko weak %x, %v",
]
TILE += ["    return", "  }", "}"]
HOSTILE = "<img src=x onerror=\"document.title='broken'\">"


def form(identity: str, lines: list[str], links: list[list[int]], **rest: Any) -> dict[str, Any]:
    whole = {
        "id": identity,
        "title": identity.capitalize(),
        "language": "tile",
        "lines": lines,
        "links": links,
        "changed": None,
        "removed": None,
        "notes": [],
    }
    return {**whole, **rest}


FORMS = {
    "tile": form("tile", TILE, [[], [], [0], [1], [2], [], []]),
    "pass-1": form(
        "pass-1",
        [*TILE[:2], "    %x = load_view_tko weak %other", *TILE[3:]],
        [[], [], [0], [1], [2], [], []],
        changed=[0, 0, 1, 0, 0, 0, 0],
        removed=[{"line": 2, "text": "    %x = load_view_tko weak %v"}],
    ),
    # Every operation becomes many lines.
    "loops": form(
        "loops",
        [f"line {number} of {HOSTILE}" for number in range(100_000)],
        [[number * 3 // 100_000] for number in range(100_000)],
        language="loops",
        notes=["only the first 100,000 lines"],
    ),
}
LISTED = [{"id": name, "title": one["title"], "reason": None} for name, one in FORMS.items()]
LISTED.append({"id": "sass", "title": "SASS", "reason": "no assembler is installed: pip install nvidia-cuda-tileiras"})
STEPS = {"block": 0, "id": [0, 0, 0], "operation": packed([0, 1, 2], "uint32")}


def explorer(**rest: Any) -> Any:
    return made_explorer({"forms": LISTED}, form=lambda id: FORMS[id], steps=lambda block: STEPS, **rest)


def pane(page: Any, number: int) -> Any:
    found = page.get_by_role("region", name=f"Stages, pane {number}")
    found.locator(".row").first.wait_for()
    return found


def choose(page: Any, number: int, identity: str) -> Any:
    found = page.get_by_role("region", name=f"Stages, pane {number}")
    found.get_by_role("combobox").select_option(identity)
    return found


def texts(found: Any) -> list[str]:
    return [text.strip() for text in found.locator("code").all_inner_texts()]


def test_two_forms_stand_side_by_side(page_for: Any) -> None:
    page = page_for(explorer(), view="forms")
    assert texts(pane(page, 1)) == [line.strip() for line in TILE]
    assert pane(page, 2).get_by_role("combobox").input_value() == "pass-1"
    page.get_by_role("button", name="Add a pane").click()
    assert pane(page, 3).get_by_role("combobox").input_value() == "loops"
    assert page.get_by_role("button", name="Add a pane").is_disabled()
    page.get_by_role("button", name="Remove the last").click()
    assert page.get_by_role("region", name="Stages, pane 3").count() == 0


def test_pointing_lights_the_same_operation_in_every_pane(page_for: Any) -> None:
    page = page_for(explorer(), view="forms")
    pane(page, 1).get_by_text("store_view_tko").hover()
    for number in (1, 2):
        assert texts(pane(page, number).locator(".is-lit")) == ["store_view_tko weak %x, %v"]
    pane(page, 1).get_by_text("entry").hover()
    assert page.locator(".is-lit").count() == 0


def test_a_click_selects_the_operation_and_scrolls_the_others(page_for: Any) -> None:
    page = page_for(explorer(), view="forms")
    pane(page, 1)
    choose(page, 2, "loops").get_by_text("line 0 of").wait_for()
    pane(page, 1).get_by_text("return").click()
    lit = pane(page, 2).get_by_text("line 66667 of")
    lit.wait_for()
    assert pane(page, 2).get_by_role("listbox").get_by_role("option", selected=True).count() > 5
    page.wait_for_url("**operation=2**")
    assert "Loops: 33,333 lines" in page.locator("#announcements").inner_text()
    about = page.get_by_role("region", name="The chosen operation")
    assert "return" in about.inner_text() and "runs 1 time in tile block (0)" in about.inner_text()


def test_a_hundred_thousand_lines_are_few_elements_and_show_hostile_text(page_for: Any) -> None:
    page = page_for(explorer(), view="forms")
    pane(page, 1)
    long = choose(page, 2, "loops")
    long.get_by_text("line 0 of").wait_for()
    assert long.locator(".row").count() < 120
    long.get_by_role("listbox").focus()
    page.keyboard.press("End")
    last = long.get_by_text("line 99999 of")
    last.wait_for()
    assert last.inner_text() == f"line 99999 of {HOSTILE}"
    assert page.locator("img").count() == 0
    assert long.locator(".row").count() < 120
    assert long.get_by_text("only the first 100,000 lines").is_visible()


def test_keys_move_follow_and_go_from_pane_to_pane(page_for: Any) -> None:
    page = page_for(explorer(), view="forms")
    first, second = pane(page, 1), pane(page, 2)
    first.get_by_role("listbox").focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    current = first.get_by_role("listbox").get_attribute("aria-activedescendant")
    assert texts(page.locator(f"#{current}")) == ["store_view_tko weak %x, %v"]
    assert texts(second.locator(".is-lit")) == ["store_view_tko weak %x, %v"]
    page.keyboard.press("Enter")
    page.wait_for_url("**operation=1**")
    page.keyboard.press("Tab")
    assert second.get_by_role("combobox").evaluate("node => node === document.activeElement")


def test_search_finds_beyond_what_is_drawn(page_for: Any) -> None:
    page = page_for(explorer(), view="forms")
    pane(page, 1)
    long = choose(page, 2, "loops")
    long.get_by_text("line 0 of").wait_for()
    long.get_by_role("listbox").focus()
    page.keyboard.press("Control+f")
    page.keyboard.type("LINE 5000")
    long.get_by_text("1 of 11 lines").wait_for()
    assert "".join(long.locator(".row.is-cursor mark").all_inner_texts()) == "line 5000"
    page.keyboard.press("Enter")
    long.get_by_text("2 of 11 lines").wait_for()
    long.get_by_text("line 50000 of").wait_for()
    page.keyboard.press("Shift+Enter")
    long.get_by_text("1 of 11 lines").wait_for()
    page.keyboard.press("Escape")
    assert long.locator("mark").count() == 0
    assert long.get_by_role("listbox").evaluate("node => node === document.activeElement")


def test_long_lines_are_reached_by_keys_and_by_search(page_for: Any) -> None:
    long = form("tile", ["x" * 300 + " the end", "y" * 100_000], [[0], []])
    page = page_for(made_explorer({"forms": LISTED[:1]}, form=lambda id: long), view="forms")
    listing = pane(page, 1).get_by_role("listbox")
    listing.focus()
    left = "node => node.scrollLeft"
    page.keyboard.press("ArrowRight")
    moved = listing.evaluate(left)
    page.keyboard.press("Shift+ArrowRight")
    assert 0 < moved < listing.evaluate(left)
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    assert listing.evaluate(left) == 0
    page.keyboard.press("/")
    page.keyboard.type("the end")
    pane(page, 1).get_by_text("1 of 1 line").wait_for()
    box, pane_box = pane(page, 1).locator("mark").bounding_box(), listing.bounding_box()
    assert pane_box["x"] < box["x"] and box["x"] + box["width"] < pane_box["x"] + pane_box["width"]
    # Of a line that nobody reads, the rest is told.
    assert pane(page, 1).get_by_text("96,000 more characters").count() == 1


def test_what_a_step_of_the_optimizer_changed_is_shown(page_for: Any) -> None:
    page = page_for(explorer(), view="forms")
    changed = pane(page, 2)
    assert texts(changed.locator(".is-removed")) == ["%x = load_view_tko weak %v"]
    assert texts(changed.locator(".is-new")) == ["%x = load_view_tko weak %other"]
    assert changed.get_by_role("option", name="removed: %x = load_view_tko weak %v").count() == 1
    assert changed.locator(".pane-changes").inner_text().split()[:2] == ["+1", "−1"]
    # The removed line stands before the one that replaced it, and has no number of its own.
    numbers = changed.locator(".row-number").all_inner_texts()
    assert numbers == ["1", "2", "", "3", "4", "5", "6", "7"]
    changed.get_by_role("button", name="Next change").click()
    cursor = changed.get_by_role("listbox").get_attribute("aria-activedescendant")
    assert texts(page.locator(f"#{cursor}")) == ["%x = load_view_tko weak %v"]


def test_a_form_that_is_not_here_says_why(page_for: Any) -> None:
    page = page_for(explorer(), view="forms")
    pane(page, 1)
    assert "pip install nvidia-cuda-tileiras" in choose(page, 2, "sass").inner_text()


def test_the_operation_of_the_moment_is_marked(page_for: Any) -> None:
    page = page_for(explorer(), view="forms&step=2&operation=0")
    first = pane(page, 1)
    first.locator(".is-moment").wait_for()
    assert texts(first.locator(".is-moment")) == ["store_view_tko weak %x, %v"]
    assert texts(first.locator(".is-chosen")) == ["%x = load_view_tko weak %v"]
    page.get_by_role("button", name="Previous run").click()
    page.wait_for_url("**step=1**")
    first.locator(".is-moment.is-chosen").wait_for()


def test_coloring_keeps_every_character(page_for: Any) -> None:
    lines = [
        '%x = "a \\" b" // c # d ; e',
        "\tldr q0, [x8, #16] /* 10 */",
        "'''",
        '"',
        "@!P0 LDG.E R2 0x1f 1e-5",
        "",
        " " * 3000,
    ]
    script = """async ([lines, languages]) => {
        const { coloredLine } = await import("explorer/highlighting.js");
        const { element } = await import("page/elements.js");
        const shown = (line, language) => element("p", {}, ...coloredLine(line, language, "l")).textContent;
        return languages.map((language) => lines.map((line) => shown(line, language)));
    }"""
    page = page_for(explorer())
    languages = ["python", "cpp", "tile", "bytecode", "loops", "llvm", "assembly", "unknown"]
    assert page.evaluate(script, [lines, languages]) == [lines] * len(languages)


def test_no_operation_is_chosen_at_first(page_for: Any) -> None:
    summary = {"forms": [], "operations": [operation(0, "return")]}
    page = page_for(made_explorer(summary, steps=lambda block: STEPS), view="forms")
    page.get_by_text("No operation is chosen.").wait_for()
    assert page.get_by_text("There is no form to show.").count() == 2


def test_the_chosen_form_stands_in_the_address(page_for: Any) -> None:
    page = page_for(explorer(), view="forms&form=loops")
    assert pane(page, 2).get_by_role("combobox").input_value() == "loops"
    choose(page, 1, "pass-1")
    page.wait_for_url("**form=pass-1**")
    page.reload()
    assert pane(page, 2).get_by_role("combobox").input_value() == "pass-1"
    # A pane that is put away does not come back in the place of another.
    page.get_by_role("button", name="Add a pane").click()
    choose(page, 3, "loops")
    page.wait_for_url("**form=loops**")
    page.get_by_role("button", name="Remove the last").click()
    page.wait_for_url("**#view=forms")
    assert pane(page, 2).get_by_role("combobox").input_value() == "pass-1"
