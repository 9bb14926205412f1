"""The trace, the callback."""

from __future__ import annotations

from typing import Any

import numpy

import tileir

LOOP = """cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %a = constant <i32: 0> : tile<i32>
  %b = constant <i32: 2> : tile<i32>
  %c = constant <i32: 1> : tile<i32>
  %i = iota : tile<8xi32>
  %f = itof %i signed : tile<8xi32> -> tile<8xf32>
  %r = for %k in (%a to %b, step %c) : tile<i32> iter_values(%s = %f) -> (tile<8xf32>) {
    %n = addf %s, %s : tile<8xf32>
    continue %n : tile<8xf32>
  }
  %m = reduce %r dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
  (%e: tile<f32>, %g: tile<f32>) {
    %h = addf %e, %g : tile<f32>
    yield %h : tile<f32>
  }
  %q = offset %p, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %t = store_ptr_tko weak %q, %m : tile<ptr<f32>>, tile<f32> -> token
  return
} }"""


def test_a_trace_shows_each_value_of_one_block() -> None:
    data = numpy.zeros(2, "f4")
    lines: list[str] = []
    tileir.compile(tileir.parse(LOOP)).launch(2, (data,), observer=tileir.observers.Trace((1, 0, 0), lines.append))
    assert "".join(lines).splitlines() == [
        "tile block (1, 0, 0)",
        "  %x = get_tile_block_id  tile<i32>  1",
        "  %y = get_tile_block_id  tile<i32>  0",
        "  %z = get_tile_block_id  tile<i32>  0",
        "  %a = constant  tile<i32>  0",
        "  %b = constant  tile<i32>  2",
        "  %c = constant  tile<i32>  1",
        "  %i = iota  tile<8xi32>  min 0, max 7, mean 3.5  [0, 1, 2, 3, 4, 5, ..]",
        "  %f = itof  tile<8xf32>  min 0, max 7, mean 3.5  [0, 1, 2, 3, 4, 5, ..]",
        "  %r = for %k in (%a to %b, step %c) : tile<i32> iter_values(%s = %f) -> (tile<8xf32>) {",
        "    %n = addf  tile<8xf32>  min 0, max 14, mean 7  [0, 2, 4, 6, 8, 10, ..]",
        "    continue %n : tile<8xf32>",
        "    %n = addf  tile<8xf32>  min 0, max 28, mean 14  [0, 4, 8, 12, 16, 20, ..]",
        "    continue %n : tile<8xf32>",
        "  %r = for  tile<8xf32>  min 0, max 28, mean 14  [0, 4, 8, 12, 16, 20, ..]",
        "  %m = reduce  tile<f32>  112",
        f"  %q = offset  tile<ptr<f32>>  {data.ctypes.data + 4:#x}",
        "  %t = store_ptr_tko weak %q, %m : tile<ptr<f32>>, tile<f32> -> token",
        "  return",
    ]


def test_a_trace_of_bytecode_has_the_printed_names() -> None:
    module = tileir.from_bytecode(tileir.to_bytecode(tileir.parse(LOOP)))
    lines: list[str] = []
    tileir.compile(module).launch(1, (numpy.zeros(1, "f4"),), observer=tileir.observers.Trace((0, 0, 0), lines.append))
    assert "  %blockId_x = get_tile_block_id  tile<i32>  0\n" in lines
    assert "  %3 = store_ptr_tko weak %2, %reduce : tile<ptr<f32>>, tile<f32> -> token\n" in lines


def test_a_callback_gets_operands_and_results_of_each_operation() -> None:
    seen: list[tuple[str, int, list[float], list[float]]] = []

    def look(operation: tileir.Operation, block: Any, operands: list[Any], results: list[Any]) -> None:
        if operation.name == "cuda_tile.addf" and operands[0].ndim and operands[0].size == 8:
            seen.append((operation.name, block.number, operands[0].tolist()[:3], results[0].tolist()[:3]))

    tileir.compile(tileir.parse(LOOP)).launch(
        1, (numpy.zeros(1, "f4"),), observer=tileir.observers.ObserverCallback(look)
    )
    assert seen[:2] == [
        ("cuda_tile.addf", 0, [0.0, 1.0, 2.0], [0.0, 2.0, 4.0]),
        ("cuda_tile.addf", 0, [0.0, 2.0, 4.0], [0.0, 4.0, 8.0]),
    ]
