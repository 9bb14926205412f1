"""Programs that try to break the page: names that are markup, shapes beyond any array, very many operations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir

MARKUP = "</script><img src=x onerror=document.title='broken'>{{title}}"
NAMED = f"""
cuda_tile.module @m {{
  entry @"{MARKUP}"(%p: tile<ptr<f32>>) {{
    %tensor = make_tensor_view %p, shape = [4], strides = [1] : tensor_view<4xf32, strides=[1]>
    %parts = make_partition_view %tensor : partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>
    %zero = constant <i32: 0> : tile<i32>
    %x, %token = load_view_tko weak %parts[%zero] : partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>, tile<i32> -> tile<4xf32>, token
    print_tko "{MARKUP} %f", %x : tile<4xf32> -> token
    return
  }}
}}
"""


def visited(page: Any) -> None:
    """Go through all views, and wait until each has asked what it asks."""
    for tab in page.get_by_role("tab").all():
        tab.click()
        page.wait_for_load_state("networkidle")


def test_names_are_text_in_every_view(open_page: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = numpy.array([numpy.nan, numpy.inf, -numpy.inf, -0.0], "float32")
    with tileir.explore(tileir.parse(NAMED, name=MARKUP), 1, (values,), target=["h200"], open=False) as explored:
        file = tmp_path / "page.html"
        explored.export(file)
        for address in (explored.url, file):
            page = open_page(address)
            visited(page)
            assert page.locator("#title").inner_text() == MARKUP
            assert page.locator("img").count() == 0
            assert page.title() == f"{MARKUP}: tileir explorer"


HUGE = """
cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>) {
    %size = constant <i64: 1099511627776> : tile<i64>
    %tensor = make_tensor_view %p, shape = [%size, %size], strides = [%size, 1] : tile<i64> -> tensor_view<?x?xf32, strides=[?,1]>
    %parts = make_partition_view %tensor : partition_view<tile=(2x2), tensor_view<?x?xf32, strides=[?,1]>>
    %zero = constant <i32: 0> : tile<i32>
    %x, %token = load_view_tko weak %parts[%zero, %zero] : partition_view<tile=(2x2), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<2x2xf32>, token
    return
  }
}
"""


def test_shapes_beyond_any_array_are_shown(open_page: Any) -> None:
    """The launch fails, or has findings; the page says so, and shows what there is."""
    with tileir.explore(tileir.parse(HUGE), 1, (numpy.ones(16, "float32"),), target=["h200"], open=False) as explored:
        summary = explored.answer("summary")
        assert summary["failure"] is not None or summary["findings"]
        visited(open_page(explored.url))


def long_program(operations: int) -> str:
    lines = ["%x0 = constant <f32: 1.0> : tile<4xf32>"]
    lines += [f"%x{number + 1} = addf %x{number}, %x{number} : tile<4xf32>" for number in range(operations)]
    body = "\n".join(lines)
    return f"cuda_tile.module @m {{ entry @k(%p: tile<ptr<f32>>) {{\n{body}\nreturn }} }}"


@pytest.mark.parametrize("operations", [2_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_many_operations_are_shown(operations: int, open_page: Any) -> None:
    module = tileir.parse(long_program(operations))
    with tileir.explore(module, 1, (numpy.ones(4, "float32"),), target=["h200"], open=False) as explored:
        explored.answer("summary")
        page = open_page(f"{explored.url}#view=forms&step={operations // 2}")
        page.set_default_timeout(300_000)
        visited(page)
        # A page has as many elements as a window shows, not as many as a program has operations.
        assert page.evaluate("document.querySelectorAll('*').length") < 20_000
