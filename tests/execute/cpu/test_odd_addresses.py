"""Atomic operations at addresses that are not multiples of the element's size: as the interpreter does them.

Machines have no instruction for these, and some end the process where one is tried.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import tileir

MODES = {
    "i32": ("add", "and", "or", "xor", "max", "min", "umax", "umin", "xchg"),
    "i64": ("add", "max", "umin", "xchg"),
    "f32": ("addf", "xchg"),
    "f16": ("addf",),
}
DTYPES = {"i32": "i4", "i64": "i8", "f32": "f4", "f16": "f2"}


def program(element: str, body: str) -> str:
    pointers, part = f"tile<8xptr<{element}>>", f"tile<8x{element}>"
    value = f"{3 if element[0] == 'i' else 1.5}"
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<ELEMENT>>, %b: tile<ptr<ELEMENT>>) {{
      %x, %y, %z = get_tile_block_id : tile<i32>
      %zero = constant <i32: 0> : tile<i32>
      %lane = iota : tile<8xi32>
      %a1 = reshape %a : tile<ptr<ELEMENT>> -> tile<1xptr<ELEMENT>>
      %a8 = broadcast %a1 : tile<1xptr<ELEMENT>> -> POINTERS
      %p = offset %a8, %lane : POINTERS, tile<8xi32> -> POINTERS
      %b1 = reshape %b : tile<ptr<ELEMENT>> -> tile<1xptr<ELEMENT>>
      %b8 = broadcast %b1 : tile<1xptr<ELEMENT>> -> POINTERS
      %q = offset %b8, %lane : POINTERS, tile<8xi32> -> POINTERS
      %v = constant <ELEMENT: {value}> : PART
      {body}
      return }} }}"""
    return text.replace("POINTERS", pointers).replace("PART", part).replace("ELEMENT", element)


def bodies() -> dict[str, tuple[str, str]]:
    """By name: the type of the elements, and what is done to them."""
    kept = "%s = store_ptr_tko weak %q, %r : POINTERS, PART -> token"
    found: dict[str, tuple[str, str]] = {}
    for element, modes in MODES.items():
        for mode in modes:
            text = f"%r, %k = atomic_rmw_tko relaxed device %p, {mode}, %v : POINTERS, PART -> PART, token\n{kept}"
            found[f"{mode} {element}"] = element, text
    for element in ("i32", "i64"):
        view = "partition_view<tile=(8), tensor_view<8xELEMENT, strides=[1]>>"
        text = f"""%t = make_tensor_view %a, shape = [8], strides = [1] : tensor_view<8xELEMENT, strides=[1]>
          %w = make_partition_view %t : {view}
          %k = atomic_red_view_tko relaxed device %w[%zero], add, %v : PART, {view}, tile<i32> -> token"""
        found[f"view {element}"] = element, text
        text = f"%r, %k = atomic_cas_tko acq_rel device %p, %v, %v : POINTERS, PART -> PART, token\n{kept}"
        found[f"cas {element}"] = element, text
        text = f"%r, %k = load_ptr_tko acquire device %p : POINTERS -> PART, token\n{kept}"
        found[f"acquire {element}"] = element, text
        text = "%k = store_ptr_tko release device %p, %v : POINTERS, PART -> token"
        found[f"release {element}"] = element, text
    return found


BODIES = bodies()


def launched(module: Any, backend: str, element: str, odd: int, grid: int, **options: Any) -> list[bytes]:
    dtype = numpy.dtype(DTYPES[element])
    raw = numpy.arange(128, dtype=numpy.uint8) % 60
    array = raw[8 + odd : 8 + odd + 8 * dtype.itemsize].view(dtype)
    other = numpy.zeros(8, dtype)
    tileir.compile(module, backend=backend).launch(grid, (array, other), **options)
    # What several tile blocks saw before depends on which was first.
    return [raw.tobytes(), other.tobytes() if grid == 1 else b""]


@pytest.mark.parametrize("name", BODIES)
def test_atomic_operations_at_odd_addresses(name: str) -> None:
    element, body = BODIES[name]
    module = tileir.parse(program(element, body))
    for odd in (0, 1, numpy.dtype(DTYPES[element]).itemsize // 2):
        wanted = launched(module, "interpreter", element, odd, 1)
        assert launched(module, "cpu", element, odd, 1, threads=1) == wanted


def test_no_update_at_an_odd_address_is_lost() -> None:
    element, body = BODIES["add i32"]
    module = tileir.parse(program(element, body))
    wanted = launched(module, "interpreter", element, 1, 500)
    for threads in (1, 2, 4):
        assert launched(module, "cpu", element, 1, 500, threads=threads) == wanted


def test_the_sanitizer_tells_of_odd_addresses() -> None:
    element, body = BODIES["add i32"]
    module = tileir.parse(program(element, body))
    for backend in ("interpreter", "cpu"):
        raw = numpy.zeros(64, numpy.uint8)
        with pytest.raises(tileir.SanitizerError, match="misaligned: atomic_rmw_tko updates 4-byte elements"):
            tileir.compile(module, backend=backend).launch(
                1, (raw[1:33].view(numpy.int32), numpy.zeros(8, numpy.int32)), sanitize=True
            )
