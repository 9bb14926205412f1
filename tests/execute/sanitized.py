"""Small programs under the sanitizer, and what it says of them."""

from __future__ import annotations

from typing import Any

import numpy

import tileir


def kernel(body: str, parameters: str = "%p: tile<ptr<i32>>", before: str = "") -> Any:
    text = (
        f"cuda_tile.module @m {{ {before}\n  entry @k({parameters}) {{\n"
        f"  %x, %y, %z = get_tile_block_id : tile<i32>\n{body}\n  return\n  }}\n}}\n"
    )
    return tileir.compile(tileir.parse(text, "k.mlir"))


def report(
    body: str, *arguments: object, grid: Any = 1, schedule: str = "forward", **more: str
) -> tileir.sanitizer.SanitizerReport:
    sanitizer = tileir.sanitizer.Sanitizer()
    kernel(body, **more).launch(grid, arguments, observer=sanitizer, schedule=schedule)
    return sanitizer.report


def only(found: tileir.sanitizer.SanitizerReport, kind: str) -> tileir.sanitizer.Finding:
    assert found.kinds == [kind], found.render()
    return found.findings[0]


def zeros(count: int) -> Any:
    return numpy.zeros(count, "i4")


def store(name: str, pointer: str, token: str = "", semantics: str = "weak") -> str:
    return f"  %{name} = store_ptr_tko {semantics} %{pointer}, %x{token} : tile<ptr<i32>>, tile<i32> -> token\n"


def load(name: str, pointer: str, token: str = "", semantics: str = "weak") -> str:
    return f"  %v{name}, %{name} = load_ptr_tko {semantics} %{pointer}{token} : tile<ptr<i32>> -> tile<i32>, token\n"


OWN = "  %o = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>\n"
