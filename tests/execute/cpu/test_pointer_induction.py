"""Tiles of pointers that loops carry: places in an array where they are, tiles of addresses where not."""

from __future__ import annotations

import numpy
import pytest

import tileir
from tileir.execute.cpu.lowering import pointer_induction
from tileir.ir.core import Block

POINTERS = "tile<8x16xptr<f32>>"
PART = "tile<8x16xf32>"
INDEX = "tile<8x16xi32>"


def program(body: str, step: str, before: str = "", after: str = "", start: str = "%rows.pointers") -> str:
    """Adds up tiles of 8 rows and 16 columns that pointers go through, `%count` of them, from the second row on."""
    return f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<f32>>, %c: tile<ptr<f32>>, %count: tile<i32>, %pitch: tile<i32>) {{
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %empty = constant <f32: 0.0> : {PART}
      %lane = iota : tile<16xi32>
      %lane.2 = reshape %lane : tile<16xi32> -> tile<1x16xi32>
      %lanes = broadcast %lane.2 : tile<1x16xi32> -> {INDEX}
      %row = iota : tile<8xi32>
      %row.2 = reshape %row : tile<8xi32> -> tile<8x1xi32>
      %pitch.2 = reshape %pitch : tile<i32> -> tile<1x1xi32>
      %pitch.8 = broadcast %pitch.2 : tile<1x1xi32> -> tile<8x1xi32>
      %pitches = broadcast %pitch.2 : tile<1x1xi32> -> {INDEX}
      %down = muli %row.2, %pitch.8 : tile<8x1xi32>
      %a.moved = offset %a, %pitch : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %a.2 = reshape %a.moved : tile<ptr<f32>> -> tile<1x1xptr<f32>>
      %a.8 = broadcast %a.2 : tile<1x1xptr<f32>> -> tile<8x1xptr<f32>>
      %rows.1 = offset %a.8, %down : tile<8x1xptr<f32>>, tile<8x1xi32> -> tile<8x1xptr<f32>>
      %rows = broadcast %rows.1 : tile<8x1xptr<f32>> -> {POINTERS}
      %rows.pointers = offset %rows, %lanes : {POINTERS}, {INDEX} -> {POINTERS}
      {before}
      %last, %sum = for %i in (%zero to %count, step %one) : tile<i32>
          iter_values(%p = {start}, %acc = %empty) -> ({POINTERS}, {PART}) {{
        %x, %t = load_ptr_tko weak %p : {POINTERS} -> {PART}, token
        %more = addf %acc, %x : {PART}
        {body}
        %next = offset %p, {step} : {POINTERS}, {INDEX} -> {POINTERS}
        continue %next, %more : {POINTERS}, {PART}
      }}
      {after}
      %c.2 = reshape %c : tile<ptr<f32>> -> tile<1x1xptr<f32>>
      %c.8 = broadcast %c.2 : tile<1x1xptr<f32>> -> {POINTERS}
      %wide = constant <i32: 16> : {INDEX}
      %row.16 = broadcast %row.2 : tile<8x1xi32> -> {INDEX}
      %across = muli %row.16, %wide : {INDEX}
      %place = addi %across, %lanes : {INDEX}
      %targets = offset %c.8, %place : {POINTERS}, {INDEX} -> {POINTERS}
      %k = store_ptr_tko weak %targets, %sum : {POINTERS}, {PART} -> token
      return
    }} }}"""


CONSTANT = f"%step = constant <i32: 16> : {INDEX}"
PRODUCT = f"""%nine = constant <i32: 9> : {INDEX}
  %less = constant <i32: 1> : {INDEX}
  %eight = subi %nine, %less : {INDEX}
  %step = muli %pitches, %eight : {INDEX}"""
BACKWARDS = f"""%step = constant <i32: -3> : {INDEX}
  %far = constant <i32: 40> : {INDEX}
  %start = offset %rows.pointers, %far : {POINTERS}, {INDEX} -> {POINTERS}"""
SKEWED = "%step = addi %lanes, %pitches : " + INDEX
REWRITTEN = {
    "a constant": program("", "%step", CONSTANT),
    "a product": program("", "%step", PRODUCT),
    "backwards": program("", "%step", BACKWARDS, start="%start"),
    "used afterwards": program(
        "",
        "%step",
        CONSTANT,
        f"""%y, %ty = load_ptr_tko weak %last : {POINTERS} -> {PART}, token
        %half = constant <f32: 0.5> : {PART}
        %scaled = mulf %y, %half : {PART}
        %u = store_ptr_tko weak %rows.pointers, %scaled : {POINTERS}, {PART} -> token""",
    ),
    "stored to on the way": program(
        f"%u = store_ptr_tko weak %p, %more : {POINTERS}, {PART} -> token", "%step", CONSTANT
    ),
}
LEFT = {
    "another step in each element": program("", "%step", SKEWED),
    "a step of the loop": program(
        f"%i.2 = reshape %i : tile<i32> -> tile<1x1xi32>\n%step = broadcast %i.2 : tile<1x1xi32> -> {INDEX}", "%step"
    ),
    "a turn that may end early": program(
        f"""%one.more = constant <i32: 16> : {INDEX}
        %odd = remi %i, %two signed : tile<i32>
        %is.odd = cmpi equal %odd, %one, signed : tile<i32> -> tile<i1>
        if %is.odd {{
          %q = offset %p, %one.more : {POINTERS}, {INDEX} -> {POINTERS}
          continue %q, %acc : {POINTERS}, {PART}
        }}""",
        "%step",
        CONSTANT + "\n%two = constant <i32: 2> : tile<i32>",
    ),
}


def both(text: str, count: int, rows: int = 40, pitch: int = 100) -> tuple[bytes, bytes]:
    """What the two engines leave in both arrays."""
    found = []
    for backend in ("interpreter", "cpu"):
        kernel = tileir.compile(tileir.parse(text), backend=backend, exact=True)
        a = numpy.random.default_rng(3).standard_normal((rows, pitch)).astype(numpy.float32)
        c = numpy.zeros((8, 16), numpy.float32)
        kernel.launch(1, (a, c, count, pitch))
        found.append(a.tobytes() + c.tobytes())
    return found[0], found[1]


def carries_tiles(text: str) -> bool:
    dumped = tileir.compile(tileir.parse(text), backend="cpu").dump("tiles")
    (head,) = [line for line in dumped.splitlines() if " = for " in line]
    return POINTERS in head


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", REWRITTEN)
@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_carried_distance(name: str, count: int) -> None:
    assert not carries_tiles(REWRITTEN[name])
    first, second = both(REWRITTEN[name], count)
    assert first == second


@pytest.mark.parametrize("name", LEFT)
def test_what_stays_a_carried_tile(name: str) -> None:
    assert carries_tiles(LEFT[name])
    first, second = both(LEFT[name], 3)
    assert first == second


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_the_turn_that_leaves_the_array_fails(backend: str) -> None:
    kernel = tileir.compile(tileir.parse(REWRITTEN["a constant"]), backend=backend)
    a, c = numpy.zeros((9, 64), numpy.float32), numpy.zeros((8, 16), numpy.float32)
    kernel.launch(1, (a, c, 4, 64))
    with pytest.raises(tileir.ExecutionError, match="which is in no array of the launch"):
        kernel.launch(1, (a, c, 5, 64))


@pytest.mark.parametrize(("count", "element", "step"), [(4, "i32", -1), (8, "i64", -1), (2, "i64", 0x3_0000_0003)])
def test_a_step_whose_bytes_look_like_several_elements(count: int, element: str, step: int) -> None:
    """A constant of one value holds the bytes of one element, whatever they are."""
    pointers, index = f"tile<{count}xptr<i64>>", f"tile<{count}x{element}>"
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<i64>>) {{
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %two = constant <i32: 2> : tile<i32>
      %step = constant <{element}: {step}> : {index}
      %lanes = iota : tile<{count}xi32>
      %a.1 = reshape %a : tile<ptr<i64>> -> tile<1xptr<i64>>
      %all = broadcast %a.1 : tile<1xptr<i64>> -> {pointers}
      %start = offset %all, %lanes : {pointers}, tile<{count}xi32> -> {pointers}
      %last = for %i in (%zero to %two, step %one) : tile<i32> iter_values(%p = %start) -> ({pointers}) {{
        %next = offset %p, %step : {pointers}, {index} -> {pointers}
        continue %next : {pointers}
      }}
      %place = ptr_to_int %last : {pointers} -> tile<{count}xi64>
      %k = store_ptr_tko weak %start, %place : {pointers}, tile<{count}xi64> -> token
      return }} }}"""
    a = numpy.zeros(count, numpy.int64)
    tileir.compile(tileir.parse(text), backend="cpu").launch(1, (a,))
    numpy.testing.assert_array_equal((a - a.ctypes.data) // 8, numpy.arange(count) + 2 * step)


def test_a_body_is_looked_through_once_however_many_pointers_it_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Block] = []
    plain = pointer_induction.may_end_early

    def look(body: Block) -> bool:
        looked.append(body)
        return plain(body)

    monkeypatch.setattr(pointer_induction, "may_end_early", look)
    count, pointers = 20, "tile<8xptr<f32>>"
    bodies = "\n".join(
        f"%x{n}, %t{n} = load_ptr_tko weak %p{n} : {pointers} -> tile<8xf32>, token\n"
        f"%s{n} = store_ptr_tko weak %p{n}, %x{n} : {pointers}, tile<8xf32> -> token\n"
        f"%n{n} = offset %p{n}, %step : {pointers}, tile<8xi32> -> {pointers}"
        for n in range(count)
    )
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<f32>>, %count: tile<i32>) {{
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %step = constant <i32: 8> : tile<8xi32>
      %a.1 = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
      %all = broadcast %a.1 : tile<1xptr<f32>> -> {pointers}
      {", ".join(f"%r{n}" for n in range(count))} = for %i in (%zero to %count, step %one) : tile<i32>
          iter_values({", ".join(f"%p{n} = %all" for n in range(count))}) -> ({", ".join([pointers] * count)}) {{
        {bodies}
        continue {", ".join(f"%n{n}" for n in range(count))} : {", ".join([pointers] * count)}
      }}
      return }} }}"""
    dumped = tileir.compile(tileir.parse(text), backend="cpu").dump("tiles")
    (head,) = [line for line in dumped.splitlines() if " = for " in line]
    assert pointers not in head and len(looked) == 1
