"""Programs that were run on a GPU, with its bits and ours side by side.

The bits are facts: NVIDIA's assembler (tileiras) 13.4.92 for sm_90, an H200, driver 580.  Arrays are bit patterns.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy

import tileir
from tileir.execute.dtypes import memory_dtype
from tileir.ir.types import FLOAT_TYPES, Type, integer_type

PAGE = Path(__file__).parents[2] / "docs" / "internals" / "nvidia.md"
FOLDER = Path(__file__).parent / "programs"

Bits = list[int]


class Measured(NamedTuple):
    """A program, what it was given, and what memory held afterwards."""

    name: str
    text: str
    arguments: list[Any]
    """Arrays of patterns as `patterns` makes them, and numbers, in the order of the parameters."""
    output: int
    """Which argument to look at."""
    ours: Bits
    """Patterns from the first element on, of both engines; there may be more elements."""
    hardware: Bits
    start: int = 0
    """The element that `ours` and `hardware` begin at."""


def element_of(name: str) -> Type:
    return FLOAT_TYPES[name] if name in FLOAT_TYPES else integer_type(int(name[1:]))


def patterns(element: str, bits: list[int]) -> Any:
    """An array of elements with these patterns in memory."""
    dtype = memory_dtype(element_of(element))
    return numpy.array(bits, f"u{dtype.itemsize}").view(dtype)


def found(case: Measured, backend: str, *, optimized: bool = False) -> Bits:
    """The patterns that an engine gives, as many as were measured: those that are defined, of products too."""
    arguments = [value.copy() if isinstance(value, numpy.ndarray) else value for value in case.arguments]
    module = tileir.parse(case.text)
    if optimized:
        tileir.optimize(module, 3, rules="full")
    tileir.compile(module, backend=backend, exact=True).launch(1, arguments)
    output = arguments[case.output].reshape(-1)
    bits = output.view(f"u{output.dtype.itemsize}")[case.start : case.start + len(case.ours)]
    return [int(pattern) for pattern in bits]


def page_programs() -> dict[str, list[str]]:
    """The complete programs of docs/internals/nvidia.md by the anchors of their sections."""
    programs: dict[str, list[str]] = {}
    for anchor in page_sections():
        name = anchor.replace("-", "_")
        paths = [FOLDER / f"{name}.mlir", *sorted(FOLDER.glob(f"{name}_[0-9].mlir"))]
        programs[anchor] = [path.read_text(encoding="utf-8") for path in paths]
    return programs


def page_sections() -> dict[str, list[str]]:
    """The blocks of the page, which show the lines that matter, by the anchors of their sections."""
    sections: dict[str, list[str]] = {}
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        anchor = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        sections[anchor] = re.findall(r"^```mlir\n(.*?)^```$", body, re.MULTILINE | re.DOTALL)
    return sections
