"""What kernels print, and asserts that fail, read from memory of the GPU; `sites.py` says how it is written there."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy

from tileir.execute.dtypes import bits_dtype, value_dtype
from tileir.execute.errors import AssertionFailedError
from tileir.execute.gpu.output import Speech, asserted
from tileir.execute.gpu.triton.sites import FAILURE_WORDS, POINTER, AssertSite, PrintSite
from tileir.ir.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    FNV8E5M3FNU,
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    TF32,
    Type,
)

_FLOATS: Final = (F16, BF16, F32, TF32, F64, F8E4M3FN, F8E5M2, F8E8M0FNU, F4E2M1FN, FNV8E5M3FNU)
_TYPES: Final[dict[str, Type]] = {POINTER: I64, **{each.text: each for each in (*_FLOATS, I1, I4, I8, I16, I32, I64)}}
_HEAD: Final = 4
_LOST: Final = "(what else this launch printed does not fit into the memory for it)\n"


def failure(words: Any, sites: Sequence[AssertSite], speech: Speech) -> AssertionFailedError | None:
    """The assert that failed, if one did."""
    is_there, number, x, y, z, element = [int(word) for word in words[:FAILURE_WORDS]]
    if not is_there:
        return None
    site = sites[number]
    position = ", ".join([str(int(each)) for each in numpy.unravel_index(element, site.shape)]) if site.shape else ""
    where = f" (at element [{position}])" if site.shape else ""
    return AssertionFailedError(f"failed: {site.words}{where}", asserted(site.words, speech), (x, y, z))


def printed(words: Any, sites: Sequence[PrintSite]) -> str:
    """What was printed, tile block by tile block: `words` is all that was written, the first word included."""
    # Imported here: few kernels print.
    from tileir.execute.interpreter.printing import nested, parts_of

    used = int(words[0])
    found: list[tuple[tuple[int, int, int], str]] = []
    place = 1
    is_whole = True
    while place <= used:
        if place + _HEAD > len(words) or not words[place]:
            is_whole = False
            break
        number, x, y, z = [int(word) for word in words[place : place + _HEAD]]
        site = sites[number - 1]
        place += _HEAD
        texts: list[str] = []
        tiles = iter(site.tiles)
        for part in parts_of(site.text, [_TYPES[element] for element, _ in site.tiles]):
            if isinstance(part, str):
                texts.append(part)
                continue
            element, shape = next(tiles)
            count = prod(shape)
            texts.append(nested(_elements(words[place : place + count], element), shape, part))
            place += count
        found.append(((z, y, x), "".join(texts)))
    # Those of a tile block are in order; tile blocks run in any order.
    found.sort(key=lambda each: each[0])
    return "".join([text for _, text in found]) + ("" if is_whole else _LOST)


def _elements(words: Any, element: str) -> Any:
    """Elements of which the bits are given."""
    if element == POINTER:
        return words
    type = _TYPES[element]
    if type is I4:
        # A value is a number of 8 bits, with its sign.
        return (words.astype(numpy.int8) & 15 ^ 8) - 8
    return words.astype(bits_dtype(type)).view(value_dtype(type))
