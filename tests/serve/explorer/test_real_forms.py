"""The forms of an example as the page shows them: every one, with its links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.sampling import one_in

import tileir
from tileir.analyze.forms.forms import Representations
from tileir.dialect.ops import MMAF
from tileir.serve.explorer.opening import forms_part
from tileir.serve.explorer.questions import Explorer

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("part", one_in(2, range(2)))
def test_every_form_of_matmul_is_shown_and_linked(part: int, page_for: Any) -> None:
    forms = Representations(tileir.load(EXAMPLES / "matmul.mlir"))
    operations = [operation for operation in forms.entry.walk() if operation is not forms.entry]
    product = next(number for number, operation in enumerate(operations) if operation.declaration is MMAF)
    explorer = Explorer([forms_part(forms)])
    titles = [title for title in forms.list() if title.reason is None]
    assert {"source", "tile", "loops"} < {title.id for title in titles}
    page = page_for(explorer, view="forms")
    first, second = [page.get_by_role("region", name=f"Stages, pane {number}") for number in (1, 2)]
    first.get_by_role("combobox").select_option("tile")
    for title in titles[part::2]:
        second.get_by_role("combobox").select_option(title.id)
        second.get_by_role("listbox", name=title.title).wait_for()
        form = forms.get(title.id)
        row = second.locator(".row:not(.is-removed)").first
        line = int(row.locator(".row-number").inner_text()) - 1
        assert row.locator("code").inner_text().expandtabs() == form.lines[line].expandtabs(), title.id
        first.locator(".row").get_by_text("mmaf").hover()
        expected = [line for line, links in enumerate(form.links) if product in links]
        if not expected:
            assert second.locator(".is-lit").count() == 0, title.id
            continue
        first.locator(".row").get_by_text("mmaf").click()
        lit = second.locator(".is-lit .row-number")
        lit.first.wait_for()
        numbers = [int(text) - 1 for text in lit.all_inner_texts()]
        assert set(numbers) <= set(expected), title.id
        # Those that are too far down to be drawn are lit once they are.
        assert min(numbers) == min(expected), title.id
