"""Watching a launch: the interface of the sanitizer, the trace and the watches."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from tests.execute.test_pointer_operations import INDEX, copy_kernel

import tileir
from tileir.execute.observing.observer import Access, TileBlock

ADD = """cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %q = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %v, %t = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
  %w = addi %v, %x : tile<i32>
  %u = store_ptr_tko weak %q, %w token=%t : tile<ptr<i32>>, tile<i32> -> token
  return } }"""


class Journal(tileir.observers.Observer):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def launch_started(self, grid: Any, memory: Any) -> None:
        self.lines.append(f"launch {grid}")

    def launch_finished(self) -> None:
        self.lines.append("end")

    def block_started(self, block: TileBlock) -> None:
        self.lines.append(f"block {block.id}")

    def before(self, operation: tileir.Operation, block: TileBlock, operands: list[Any]) -> None:
        if operation.name == "cuda_tile.addi":
            self.lines.append(f"addi {[int(value) for value in operands]}")

    def after(self, operation: tileir.Operation, block: TileBlock, results: list[Any]) -> None:
        if operation.name == "cuda_tile.addi":
            self.lines.append(f"-> {[int(value) for value in results]}")

    def access(self, access: Access) -> None:
        self.lines.append(f"{access.kind} {access.size} bytes of {access.operation.name}")


def test_an_observer_sees_blocks_values_and_accesses_in_order() -> None:
    journal = Journal()
    memory = numpy.array([10, 20], "i4")
    tileir.compile(tileir.parse(ADD)).launch(2, (memory,), observer=journal)
    assert memory.tolist() == [10, 21]
    assert journal.lines == [
        "launch (2, 1, 1)",
        "block (0, 0, 0)",
        "read 4 bytes of cuda_tile.load_ptr_tko",
        "addi [10, 0]",
        "-> [10]",
        "write 4 bytes of cuda_tile.store_ptr_tko",
        "block (1, 0, 0)",
        "read 4 bytes of cuda_tile.load_ptr_tko",
        "addi [20, 1]",
        "-> [21]",
        "write 4 bytes of cuda_tile.store_ptr_tko",
        "end",
    ]


def test_an_observer_is_told_of_the_end_when_the_launch_fails() -> None:
    journal = Journal()
    with pytest.raises(tileir.ExecutionError):
        tileir.compile(tileir.parse(ADD)).launch(3, (numpy.zeros(2, "i4"),), observer=journal)
    assert journal.lines[-1] == "end"


def test_an_observer_sees_addresses_and_may_leave_elements_out() -> None:
    class Guard(tileir.observers.Observer):
        def __init__(self, low: int, high: int) -> None:
            self.low, self.high = low, high
            self.wrong: list[Any] = []

        def access(self, access: Access) -> Any:
            if access.kind != "read" or access.size != 4 or access.operation.operands[0].type.text.count("i32"):
                return None
            inside = (access.addresses >= self.low) & (access.addresses < self.high)
            self.wrong += numpy.flatnonzero(~inside).tolist()
            return inside

    a, b = numpy.arange(5, dtype="f4"), numpy.full(8, -1, "f4")
    guard = Guard(a.ctypes.data, a.ctypes.data + a.nbytes)
    copy_kernel("f32").launch(1, (a, b, INDEX), observer=guard)
    assert guard.wrong == [4, 5, 7]
    assert b.tolist() == [3, 1, 4, 1, 0, 0, 2, 0]


VIEW = """cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %n: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %s = make_tensor_view %a, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %t = make_tensor_view %b, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %v = make_partition_view %s : partition_view<tile=(4), tensor_view<?xf32, strides=[1]>>
  %w = make_partition_view %t : partition_view<tile=(4), tensor_view<?xf32, strides=[1]>>
  %r, %t0 = load_view_tko weak %v[%x] : partition_view<tile=(4), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<4xf32>, token
  %t1 = store_view_tko weak %r, %w[%x] : tile<4xf32>, partition_view<tile=(4), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return } }"""


def test_accesses_through_views_have_addresses_and_a_mask() -> None:
    seen: list[tuple[str, list[int]]] = []
    a, b = numpy.arange(6, dtype="f4"), numpy.zeros(6, "f4")
    origin = {"read": a.ctypes.data, "write": b.ctypes.data}

    class Places(tileir.observers.Observer):
        def access(self, access: Access) -> None:
            seen.append((access.kind, ((access.touched - numpy.uint64(origin[access.kind])) // 4).tolist()))

    tileir.compile(tileir.parse(VIEW)).launch(2, (a, b, 6), observer=Places())
    assert b.tolist() == a.tolist()
    assert seen == [("read", [0, 1, 2, 3]), ("write", [0, 1, 2, 3]), ("read", [4, 5]), ("write", [4, 5])]


def test_accesses_through_views_have_a_box_of_what_lies_in_the_tensor() -> None:
    boxes: list[object] = []
    a, b = numpy.arange(6, dtype="f4"), numpy.zeros(6, "f4")

    class Boxes(tileir.observers.Observer):
        def access(self, access: Access) -> None:
            assert access.box is not None
            address, counts, strides = access.box
            origin = a if access.kind == "read" else b
            boxes.append(((address - origin.ctypes.data) // 4, counts, strides))

    tileir.compile(tileir.parse(VIEW)).launch(3, (a, b, 6), observer=Boxes())
    whole, part, nothing = (0, (4,), (4,)), (4, (2,), (4,)), (8, (0,), (4,))
    assert boxes == [whole, whole, part, part, nothing, nothing]


def test_an_observer_may_leave_elements_of_a_view_out() -> None:
    class Odd(tileir.observers.Observer):
        def access(self, access: Access) -> Any:
            return numpy.array([False, True, False, True])

    a, b = numpy.arange(1, 7, dtype="f4"), numpy.zeros(6, "f4")
    tileir.compile(tileir.parse(VIEW)).launch(2, (a, b, 6), observer=Odd())
    assert b.tolist() == [0, 2, 0, 4, 0, 6]


def test_an_observer_that_watches_nothing_changes_nothing() -> None:
    a, b = numpy.arange(10, dtype="f4"), numpy.zeros(8, "f4")
    copy_kernel("f32").launch(1, (a, b, INDEX), observer=tileir.observers.Observer())
    assert b.tolist() == INDEX.tolist()
