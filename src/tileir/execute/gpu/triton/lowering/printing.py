"""Lowering of `print_tko` and `assert`: they write their output to memory, which the launcher reads.

`code.py` defines the format.  An assert that fails ends its tile block, and no others: the GPU can be used as before.
"""

from __future__ import annotations

from math import prod

from tileir.dialect.ops import ASSERT, PRINT_TKO
from tileir.dialect.types import PointerType
from tileir.execute.analysis.values import tile_of
from tileir.execute.gpu.triton.code import OUTPUT_WORDS, POINTER, AssertSite, PrintSite, Slot
from tileir.execute.gpu.triton.lowering.atomics import as_word
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.ttir_values import TtirValue
from tileir.ir.attributes import StringAttribute
from tileir.ir.core import Operation
from tileir.ir.traversal import pre_order
from tileir.ir.values import Value


def lower_print(build: Lowering, operation: Operation) -> None:
    prints = [each for each in pre_order(build.program.entry) if each.declaration is PRINT_TKO]
    sites = [PrintSite(_words(each, "str"), tuple(map(_described, each.args))) for each in prints]
    base = build.parameter(Slot("output", tuple(sites)), "!tt.ptr<i64>")
    tiles = [_bits(build, build.value(value)) for value in operation.args]
    words = 4 + sum([prod(tile.shape) for tile in tiles])
    used = build.atomic("rmw add, relaxed, gpu", base, build.integer(words, "i64"))
    # The number of words in use, including the first, which counts them.
    last = build.apply("arith.addi", used, words + 1)
    fits = build.compare("ule", last, OUTPUT_WORDS)
    pointer = build.advance(base, build.apply("arith.addi", used, 1))
    number = build.integer(1 + prints.index(operation), "i64")
    for word in (number, *_block(build)):
        build.store(pointer, word, fits)
        pointer = build.advance(pointer, build.integer(1, "i64"))
    for tile in tiles:
        shape = (count,) if (count := prod(tile.shape)) > 1 else ()
        at = build.advance(build.splat(pointer, shape), build.range(count)) if shape else pointer
        build.store(at, build.reshape(tile, shape), build.splat(fits, shape))
        pointer = build.advance(pointer, build.integer(count, "i64"))


def _bits(build: Lowering, value: TtirValue) -> TtirValue:
    if value.element.startswith("!tt.ptr"):
        return build.reinterpret("tt.ptr_to_int", value, "i64")
    return build.convert("arith.extui", as_word(build, value), "i64")


def _block(build: Lowering) -> list[TtirValue]:
    places = [build.emit(f"tt.get_program_id {axis} : i32", "i32") for axis in "xyz"]
    return [build.convert("arith.extui", index, "i64") for index in places]


def lower_assert(build: Lowering, operation: Operation) -> None:
    asserts = [each for each in pre_order(build.program.entry) if each.declaration is ASSERT]
    sites = [AssertSite(_words(each, "message"), tile_of(each.operands[0]).shape) for each in asserts]
    base = build.parameter(Slot("failures", tuple(sites)), "!tt.ptr<i64>")
    truth = build.value(operation.operands[0])
    first = _first_false(build, truth)
    count = prod(truth.shape)
    failed = build.compare("slt", first, count)

    def record() -> list[TtirValue]:
        none, one = build.integer(0), build.integer(1, "i64")
        # The lower half of the word: of 64 bits Triton 3.5 swaps none.
        half = build.bitcast(base, "!tt.ptr<i32>")
        before = build.atomic("cas relaxed, gpu", half, none, build.integer(1))
        is_first = build.compare("eq", before, none)
        number = build.integer(asserts.index(operation), "i64")
        pointer = base
        for word in (number, *_block(build), build.convert("arith.extui", first, "i64")):
            pointer = build.advance(pointer, one)
            build.store(pointer, word, is_first)
        # Also keeps loops from being pipelined: what an assert guards must not come before it.
        build.barrier()
        if build.has_ptx and not build.schedule.warp_specialize:
            build.effect("exit; mov.b32 $0, 0;", "=r", [], "i32")
        return []

    build.choose(failed, [], record, list)


def _first_false(build: Lowering, truth: TtirValue) -> TtirValue:
    """The first element that is false, in row-major order, as i32; how many there are if none is."""
    count = prod(truth.shape)
    if not truth.shape:
        return build.select(truth, build.integer(1), build.integer(0))
    flat = build.reshape(truth, (count,))
    places = build.select(flat, count, build.range(count))
    (first,) = build.reduce([places], 0, lambda left, right: [build.apply("arith.minsi", left[0], right[0])])
    return first


def _words(operation: Operation, name: str) -> str:
    attribute = operation.attributes.get(name)
    return attribute.value if isinstance(attribute, StringAttribute) else ""


def _described(value: Value) -> tuple[str, tuple[int, ...]]:
    tile = tile_of(value)
    return POINTER if isinstance(tile.element, PointerType) else tile.element.text, tile.shape
