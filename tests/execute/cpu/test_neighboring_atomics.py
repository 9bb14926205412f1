"""Atomic updates of neighbors are made together: memory is what it is if each is made by itself."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy
import pytest
from tests.execute.cpu.native import cpu_kernel

import tileir

pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite")

from tileir.execute.cpu.ir.expressions import BufferRead
from tileir.execute.cpu.ir.statements import AtomicUpdate, LoopNest
from tileir.execute.cpu.kernel import CpuKernel, Options

DTYPES = {"f32": "f4", "f64": "f8", "f16": "f2", "bf16": ml_dtypes.bfloat16, "i32": "i4", "i64": "i8"}
MODES = [
    *[(mode, element) for mode in ("addf",) for element in ("f32", "f64", "f16", "bf16")],
    *[(mode, element) for mode in ("add", "max", "umin", "xor", "xchg") for element in ("i32", "i64")],
    ("xchg", "f32"),
]
PLACES = {
    "neighbors": "%lanes",
    "one": "%zeros",
    "pairs": "%halves",
    "backwards": "%back",
    "apart": "%threes",
}


def program(mode: str, element: str, place: str = "%lanes", masked: bool = False, size: int = 64) -> str:
    """Tile blocks that lie side by side, or on top of each other where the step is 0."""
    tile = f"tile<{size}xi32>"
    value = f"tile<{size}x{element}>"
    mask = f", %mask : tile<{size}xptr<{element}>>, {value}, tile<{size}xi1>"
    plain = f" : tile<{size}xptr<{element}>>, {value}"
    return f"""
    cuda_tile.module @m {{ entry @kernel(%p: tile<ptr<{element}>>, %q: tile<ptr<{element}>>, %step: tile<i32>,
        %first: tile<i32>, %limit: tile<i32>) {{
      %x, %y, %z = get_tile_block_id : tile<i32>
      %lanes = iota : {tile}
      %zeros = constant <i32: 0> : {tile}
      %two = constant <i32: 2> : {tile}
      %three = constant <i32: 3> : {tile}
      %last = constant <i32: {size - 1}> : {tile}
      %halves = divi %lanes, %two signed : {tile}
      %back = subi %last, %lanes : {tile}
      %threes = muli %lanes, %three : {tile}
      %start = muli %x, %step : tile<i32>
      %moved = addi %start, %first : tile<i32>
      %m1 = reshape %moved : tile<i32> -> tile<1xi32>
      %m = broadcast %m1 : tile<1xi32> -> {tile}
      %at = addi {place}, %m : {tile}
      %l1 = reshape %limit : tile<i32> -> tile<1xi32>
      %l = broadcast %l1 : tile<1xi32> -> {tile}
      %mask = cmpi less_than %at, %l, signed : {tile} -> tile<{size}xi1>
      %p1 = reshape %p : tile<ptr<{element}>> -> tile<1xptr<{element}>>
      %pb = broadcast %p1 : tile<1xptr<{element}>> -> tile<{size}xptr<{element}>>
      %goals = offset %pb, %at : tile<{size}xptr<{element}>>, {tile} -> tile<{size}xptr<{element}>>
      %q1 = reshape %q : tile<ptr<{element}>> -> tile<1xptr<{element}>>
      %qb = broadcast %q1 : tile<1xptr<{element}>> -> tile<{size}xptr<{element}>>
      %from = offset %qb, %lanes : tile<{size}xptr<{element}>>, {tile} -> tile<{size}xptr<{element}>>
      %v, %t = load_ptr_tko weak %from : tile<{size}xptr<{element}>> -> {value}, token
      %old, %u = atomic_rmw_tko relaxed device %goals, {mode}, %v{mask if masked else plain} -> {value}, token
      return }} }}"""


def run(text: str, backend: str, element: str, numbers: tuple[int, int, int], grid: int = 3, threads: int = 1) -> bytes:
    random = numpy.random.default_rng(5)
    target, given = (random.integers(-99, 99, size).astype(DTYPES[element]) for size in (1024, 64))
    options: dict[str, Any] = {"threads": threads} if backend == "cpu" else {}
    tileir.compile(tileir.parse(text), backend=backend).launch(grid, (target, given, *numbers), **options)
    return target.tobytes()


def agree(text: str, element: str, numbers: tuple[int, int, int]) -> None:
    assert run(text, "cpu", element, numbers) == run(text, "interpreter", element, numbers)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("mode", "element"), MODES)
def test_updates_of_every_kind(mode: str, element: str) -> None:
    for first in (0, 1, 3):
        agree(program(mode, element), element, (64, first, 0))
        agree(program(mode, element, masked=True), element, (64, first, 100 + first))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("element", ["f32", "f16"])
def test_elements_in_any_place(place: str, element: str) -> None:
    for masked in (False, True):
        agree(program("addf", element, PLACES[place], masked), element, (64, 2, 150))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_short_tiles(size: int) -> None:
    for first in (0, 1):
        agree(program("addf", "f32", size=size), "f32", (size, first, 0))


def updates(text: str) -> list[AtomicUpdate]:
    entry = next(operation for operation in tileir.parse(text).walk() if operation.name == "cuda_tile.entry")
    body = CpuKernel(entry, {}).lower(Options()).program.body
    return [
        sink for each in body if isinstance(each, LoopNest) for sink in each.stores if isinstance(sink, AtomicUpdate)
    ]


def exchanges_pairs(text: str) -> bool:
    """Eight bytes are compared and exchanged for elements that are not aligned, too, but not as a vector of two."""
    code = cpu_kernel(tileir.compile(tileir.parse(text), backend="cpu")).dump("llvm")
    return re.search(r"bitcast i64 \S+ to <2 x float>", code) is not None


def test_two_elements_of_four_bytes_are_exchanged_at_once() -> None:
    assert exchanges_pairs(program("addf", "f32"))


COMPUTED = "%numbers = itof %lanes signed : tile<64xi32> -> tile<64xf32>\n%v = exp2 %numbers : tile<64xf32>"


def computed(place: str = "%lanes", read: str = "") -> str:
    """Adds what is computed from nothing that was read."""
    before, after = program("addf", "f32", place).split("%v, %t = load_ptr_tko", 1)
    return f"{before.replace('%at = addi', f'{read}%at = addi')}{COMPUTED}\n%unused, %t = load_ptr_tko{after}"


def test_what_is_wanted_elsewhere_too_is_kept_on_the_way() -> None:
    text = computed().replace("return }", "%s = store_ptr_tko weak %from, %v : PLACES, tile<64xf32> -> token\nreturn }")
    text = text.replace("PLACES", "tile<64xptr<f32>>")
    assert exchanges_pairs(text)
    agree(text, "f32", (64, 1, 0))


def test_elements_in_places_from_memory_are_computed_as_vectors_before() -> None:
    """Their updates go one by one, which is no way to compute a function."""
    read = """%sums = scan %lanes dim=0 reverse=false identities=[0 : i32] : tile<64xi32> -> tile<64xi32>
          (%a: tile<i32>, %b: tile<i32>) {
        %s = maxi %a, %b signed : tile<i32>
        yield %s : tile<i32>
      }
      """
    text = computed("%sums", read)
    assert not exchanges_pairs(text)
    (update,) = updates(text)
    assert isinstance(update.expression, BufferRead)
    agree(text, "f32", (64, 1, 0))


@pytest.mark.parametrize("element", ["f32", "f16", "i32"])
@pytest.mark.parametrize("first", [0, 1])
def test_no_update_is_lost(element: str, first: int) -> None:
    """Two threads in the same elements, half of them a pair of one and the other."""
    text = program("add" if element == "i32" else "addf", element, size=64)
    target, ones = numpy.zeros(200, DTYPES[element]), numpy.ones(64, DTYPES[element])
    kernel = tileir.compile(tileir.parse(text), backend="cpu")
    for _ in range(20):
        kernel.launch(100, (target, ones, 1, first, 0), threads=2)
        wanted = numpy.zeros(200)
        for block in range(100):
            wanted[first + block : first + block + 64] += 1
        assert (target.astype("f8") == wanted).all()
        target[:] = 0


def test_an_element_outside_is_an_error() -> None:
    kernel = tileir.compile(tileir.parse(program("addf", "f32")), backend="cpu")
    with pytest.raises(tileir.ExecutionError, match="right past the end of argument 0"):
        kernel.launch(1, (numpy.zeros(60, "f4"), numpy.ones(64, "f4"), 0, 0, 0))
