"""Control flow: loops of every counter type, early ends, nests, branches, with tiles and tokens carried along."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy
from tests.hardware.agreement.program import Number, Program, simple

BOUNDS = ((0, 5, 1), (0, 0, 1), (5, 0, 1), (-3, 4, 2), (0, 100, 7), (3, 4, 10), (-5, -1, 1))
"""From, to and step."""


def programs() -> Iterator[Program]:
    for width, (low, high, step), unsigned in product((8, 16, 32, 64), BOUNDS, (False, True)):
        if not (unsigned and low < 0):
            yield counted(f"i{width}", low, high, step, unsigned)
    for count, end in product((0, 1, 5), ("break", "continue", "both")):
        yield endless(count, end)
    for first, second in product((0, 1), (0, 1)):
        yield branches(first, second)
    for carried in ("f32", "i64", "f16", "i1"):
        for size in (4, 256):
            yield carried_tiles(carried, size)
    yield from nests()
    yield from grids()


def counted(element: str, low: int, high: int, step: int, unsigned: bool) -> Program:
    """Count the turns and add up the counter."""
    width = int(element[1:])
    text = f"""cuda_tile.module @m {{ entry @k(%low: tile<{element}>, %high: tile<{element}>, %step: tile<{element}>, %out: tile<ptr<{element}>>) {{
%zero = constant <{element}: 0> : tile<{element}>
%one = constant <{element}: 1> : tile<{element}>
%sum, %turns = for {"unsigned " if unsigned else ""}%i in (%low to %high, step %step) : tile<{element}> iter_values(%s = %zero, %n = %zero) -> (tile<{element}>, tile<{element}>) {{
  %s1 = addi %s, %i : tile<{element}>
  %n1 = addi %n, %one : tile<{element}>
  continue %s1, %n1 : tile<{element}>, tile<{element}>
}}
%t0 = store_ptr_tko weak %out, %sum : tile<ptr<{element}>>, tile<{element}> -> token
%next = offset %out, %one : tile<ptr<{element}>>, tile<{element}> -> tile<ptr<{element}>>
%t1 = store_ptr_tko weak %next, %turns : tile<ptr<{element}>>, tile<{element}> -> token
return }} }}"""
    numbers = [Number(element, value % (1 << width)) for value in (low, high, step)]
    zeros = numpy.zeros(2, f"i{width // 8}")
    name = f"control: for {element} {low} to {high} step {step}{' unsigned' if unsigned else ''}"
    return simple(name, text, [*numbers, (element, zeros)], details={"operation": "for"})


def endless(count: int, end: str) -> Program:
    skip = """  %odd = andi %i, %one : tile<i32>
  %is_odd = cmpi equal %odd, %one, signed : tile<i32> -> tile<i1>
  if %is_odd {
    continue %i1, %s : tile<i32>, tile<i32>
  }
"""
    text = f"""cuda_tile.module @m {{ entry @k(%n: tile<i32>, %out: tile<ptr<i32>>) {{
%zero = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
%three = constant <i32: 3> : tile<i32>
%r = loop iter_values(%i = %zero, %s = %zero) : tile<i32>, tile<i32> -> tile<i32> {{
  %done = cmpi greater_than_or_equal %i, %n, signed : tile<i32> -> tile<i1>
  if %done {{
    break %s : tile<i32>
  }}
  %i1 = addi %i, %one : tile<i32>
{skip if end != "break" else ""}  %m = muli %s, %three : tile<i32>
  %s1 = addi %m, %i1 : tile<i32>
{"  %large = cmpi greater_than %s1, %three, signed : tile<i32> -> tile<i1>" if end == "both" else ""}
{"  if %large { break %s1 : tile<i32> }" if end == "both" else ""}
  continue %i1, %s1 : tile<i32>, tile<i32>
}}
%t = store_ptr_tko weak %out, %r : tile<ptr<i32>>, tile<i32> -> token
return }} }}"""
    return simple(
        f"control: loop {end} {count}",
        text,
        [Number("i32", count), ("i32", numpy.zeros(1, "i4"))],
        details={"operation": "loop"},
    )


def branches(first: int, second: int) -> Program:
    text = """cuda_tile.module @m { entry @k(%a: tile<i32>, %b: tile<i32>, %out: tile<ptr<i32>>) {
%zero = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
%x = cmpi not_equal %a, %zero, signed : tile<i32> -> tile<i1>
%y = cmpi not_equal %b, %zero, signed : tile<i32> -> tile<i1>
%r, %s = if %x -> (tile<i32>, tile<i32>) {
  %u = if %y -> (tile<i32>) { yield %a : tile<i32> } else { %v = subi %zero, %a : tile<i32>
    yield %v : tile<i32> }
  yield %u, %one : tile<i32>, tile<i32>
} else {
  if %y { %t = store_ptr_tko weak %out, %one : tile<ptr<i32>>, tile<i32> -> token
    yield }
  yield %b, %zero : tile<i32>, tile<i32>
}
%sum = addi %r, %s : tile<i32>
%next = offset %out, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
%t1 = store_ptr_tko weak %next, %sum : tile<ptr<i32>>, tile<i32> -> token
return } }"""
    given: list[Any] = [Number("i32", first * 7), Number("i32", second * 9), ("i32", numpy.zeros(2, "i4"))]
    return simple(f"control: if {first} {second}", text, given, details={"operation": "if"})


def carried_tiles(element: str, size: int) -> Program:
    """A tile that takes turns with another, and is rolled around by its halves."""
    kind, half = f"tile<{size}x{element}>", f"tile<{size // 2}x{element}>"
    point = f"ptr<{element}>"
    text = f"""cuda_tile.module @m {{ entry @k(%p: tile<{point}>, %n: tile<i32>) {{
%zero = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
%i = iota : tile<{size}xi32>
%p1 = reshape %p : tile<{point}> -> tile<1x{point}>
%pn = broadcast %p1 : tile<1x{point}> -> tile<{size}x{point}>
%q = offset %pn, %i : tile<{size}x{point}>, tile<{size}xi32> -> tile<{size}x{point}>
%x, %t = load_ptr_tko weak %q : tile<{size}x{point}> -> {kind}, token
%r, %s, %u = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%a = %x, %b = %x, %w = %t) -> ({kind}, {kind}, token) {{
  %low = extract %a[%zero] : {kind} -> {half}
  %high = extract %a[%one] : {kind} -> {half}
  %c = cat %high, %low dim = 0 : {half}, {half} -> {kind}
  %w1 = store_ptr_tko weak %q, %b token=%w : tile<{size}x{point}>, {kind} -> token
  continue %b, %c, %w1 : {kind}, {kind}, token
}}
%v = store_ptr_tko weak %q, %s token=%u : tile<{size}x{point}>, {kind} -> token
return }} }}"""
    from tests.hardware.agreement.writing import patterns

    given: list[Any] = [(element, patterns(element, size, "x")), Number("i32", 5)]
    return simple(f"control: carried {element} {size}", text, given, details={"operation": "for", "moves": True})


def nests() -> Iterator[Program]:
    """Loops in loops that end each other early."""
    for rows, columns in product((0, 1, 4), (0, 3)):
        text = """cuda_tile.module @m { entry @k(%m: tile<i32>, %n: tile<i32>, %out: tile<ptr<i32>>) {
%zero = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
%five = constant <i32: 5> : tile<i32>
%r = for %i in (%zero to %m, step %one) : tile<i32> iter_values(%s = %zero) -> (tile<i32>) {
  %u = for %j in (%i to %n, step %one) : tile<i32> iter_values(%v = %s) -> (tile<i32>) {
    %e = cmpi equal %i, %j, signed : tile<i32> -> tile<i1>
    if %e { continue %v : tile<i32> }
    %w = loop iter_values(%x = %v) : tile<i32> -> tile<i32> {
      %y = addi %x, %j : tile<i32>
      %z = remi %y, %five signed : tile<i32>
      %stop = cmpi equal %z, %zero, signed : tile<i32> -> tile<i1>
      if %stop { break %y : tile<i32> }
      %far = cmpi greater_than %y, %five, signed : tile<i32> -> tile<i1>
      if %far { %q = addi %y, %one : tile<i32>
        break %q : tile<i32> }
      %f = addi %y, %one : tile<i32>
      continue %f : tile<i32>
    }
    continue %w : tile<i32>
  }
  %more = addi %u, %i : tile<i32>
  continue %more : tile<i32>
}
%t = store_ptr_tko weak %out, %r : tile<ptr<i32>>, tile<i32> -> token
return } }"""
        given: list[Any] = [Number("i32", rows), Number("i32", columns), ("i32", numpy.zeros(1, "i4"))]
        yield simple(f"control: nest {rows} {columns}", text, given, details={"operation": "for"})


def grids() -> Iterator[Program]:
    """Numbers of tile blocks, in grids of every rank."""
    for grid in ((1, 1, 1), (5, 1, 1), (2, 3, 1), (2, 3, 4), (1, 7, 1), (1, 1, 9)):
        text = """cuda_tile.module @m { entry @k(%out: tile<ptr<i32>>) {
%x, %y, %z = get_tile_block_id : tile<i32>
%gx, %gy, %gz = get_num_tile_blocks : tile<i32>
%a = muli %z, %gy : tile<i32>
%b = addi %a, %y : tile<i32>
%c = muli %b, %gx : tile<i32>
%n = addi %c, %x : tile<i32>
%hundred = constant <i32: 100> : tile<i32>
%d = muli %z, %hundred : tile<i32>
%e = addi %d, %y : tile<i32>
%f = muli %e, %hundred : tile<i32>
%v = addi %f, %x : tile<i32>
%p = offset %out, %n : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
%t = store_ptr_tko weak %p, %v : tile<ptr<i32>>, tile<i32> -> token
return } }"""
        x, y, z = grid
        yield simple(
            f"control: grid {x}x{y}x{z}",
            text,
            [("i32", numpy.zeros(x * y * z, "i4"))],
            grid,
            {"operation": "get_tile_block_id"},
        )
