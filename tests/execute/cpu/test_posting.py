"""Launches posted to helpers in native code: what a mailbox nobody comes to does to a launch, slices, and idle helpers."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.execute.cpu.native import count, counting, cpu_kernel

import tileir
from tileir.execute.cpu.native import posting, scratch
from tileir.execute.cpu.native.posting import Mailbox, Post, Table
from tileir.execute.cpu.native.posting_code import PAUSED
from tileir.execute.cpu.native.record import ARGUMENTS, BUDGET, CHUNK, COUNT, LANE, LANES, STRETCHES, Record

ROOT = Path(__file__).parents[3]
NOBODY = 10_000_000


@pytest.fixture
def post() -> Post:
    found = posting.post()
    if found is None:
        pytest.skip("this system has nothing better than Python")
    return found


class Visits:
    """A launch of the counting function of the tests."""

    def __init__(self, blocks: int, turns: int = 1) -> None:
        self.function = counting()
        self.seen = numpy.zeros(blocks, numpy.int64)
        self.launches = numpy.zeros(blocks, numpy.int64)
        self.record = Record(ARGUMENTS + 3)
        self.arena = scratch.Arena(64)
        slots = self.record.slots
        slots[COUNT], slots[CHUNK] = blocks, 1
        slots[ARGUMENTS], slots[ARGUMENTS + 1] = turns, self.seen.ctypes.data
        slots[ARGUMENTS + 2] = self.launches.ctypes.data

    @property
    def head(self) -> tuple[int, int, int, int]:
        return self.function.address, self.record.address, 7, self.arena.address


def unattended(post: Post, number: int) -> tuple[list[Mailbox], list[scratch.Arena]]:
    """Mailboxes that no helper waits at, and the scratch memory they name."""
    boxes = [Mailbox(post) for _ in range(number)]
    arenas = [scratch.Arena(64) for _ in boxes]
    for box, arena in zip(boxes, arenas, strict=True):
        box.give(arena.address)
    return boxes, arenas


def state_of(box: Mailbox) -> int:
    state: int = box._words[0] & 0xFFFFFFFF
    return state


ASLEEP = 1


def test_launch_does_not_wait_for_helpers_that_do_not_come(post: Post) -> None:
    visits = Visits(20)
    boxes, _arenas = unattended(post, 3)
    table = post.table(3)
    assert post.launch(table, visits.head, [box.address for box in boxes], 100, 3, 0) == 0
    assert visits.seen.tolist() == [1] * 20
    # Taken back: a helper that comes late finds nothing, and is woken for the next launch.
    assert [state_of(box) for box in boxes] == [ASLEEP] * 3
    assert post.finish(table) == 0


def test_stretches_of_helpers_that_do_not_come_are_taken_by_others(post: Post) -> None:
    extents = (37, 3, 1)
    kernel = cpu_kernel(tileir.compile(tileir.parse(COUNTING), backend="cpu"))
    visits = numpy.zeros(extents[::-1], numpy.int32)
    binding = kernel._binder((visits, *extents), extents, 4)
    version = kernel.version(binding.overlap, False)
    boxes, _arenas = unattended(post, 4)
    arena = scratch.Arena(version.arena_bytes)
    head = (version.loaded.address, binding.record.address, 1, arena.address)
    assert post.launch(post.table(4), head, [box.address for box in boxes], 0, 0, 0) == 0
    assert binding.record.slots[LANES] == 5
    assert (visits == 1).all()


def first_of_two_stretches(text: str, arguments: tuple[Any, ...]) -> None:
    """Have the worker whose stretch is the second of two run one chunk of one tile block out of 50."""
    kernel = cpu_kernel(tileir.compile(tileir.parse(text), backend="cpu"))
    binding = kernel._binder(arguments, (50, 1, 1), 1)
    version = kernel.version(binding.overlap, False)
    stretches = numpy.array([[0, 25], [25, 50]], numpy.int64)
    table = numpy.array([each.ctypes.data for each in stretches], numpy.int64)
    binding.record.slots[STRETCHES], binding.record.slots[LANES] = table.ctypes.data, 2
    arena = scratch.Arena(version.arena_bytes)
    words: Any = memoryview(arena._memory).cast("q")
    words[LANE], words[BUDGET] = 1, 1
    version.loaded.call(binding.record.address, arena.address)


def test_worker_begins_with_its_own_stretch() -> None:
    visits = numpy.zeros(50, numpy.int32)
    first_of_two_stretches(COUNTING, (visits, 50, 1, 1))
    assert visits.nonzero()[0].tolist() == [25]


def test_kernel_that_orders_memory_takes_tile_blocks_from_the_first_on() -> None:
    """One that waits for an earlier tile block must find it begun."""
    places, counter = numpy.full(50, -1, numpy.int32), numpy.zeros(1, numpy.int32)
    first_of_two_stretches(ATOMIC, (places, counter))
    assert (places >= 0).nonzero()[0].tolist() == [0]


def test_caller_is_back_after_each_slice(post: Post) -> None:
    visits = Visits(40, 2000)
    boxes, _arenas = unattended(post, 1)
    table = post.table(1)
    state = post.launch(table, visits.head, [boxes[0].address], 0, 0, 1)
    slices = 1
    while state == PAUSED:
        done = int(visits.seen.sum())
        assert done >= slices
        state = post.go_on(table)
        slices += 1
    assert state == 0
    assert slices > 10
    assert visits.seen.tolist() == [1] * 40
    words: Any = memoryview(visits.arena._memory).cast("q")
    assert words[BUDGET] == 0


def test_what_nobody_has_come_for_can_be_taken_back(post: Post) -> None:
    """As an interrupt does between two slices: a helper that nobody has woken does not come for it."""
    visits = Visits(40, 2000)
    boxes, _arenas = unattended(post, 3)
    table = post.table(3)
    assert post.launch(table, visits.head, [box.address for box in boxes], 0, 0, 1) == PAUSED
    assert table.is_begun
    for _ in range(2):
        assert post.take_back(table) == 0
        assert [state_of(box) for box in boxes] == [ASLEEP] * 3
    assert visits.seen.sum() < 40
    post.recycle(table)
    # Nor has a launch begun that is interrupted before it is posted.
    assert not post.table(3).is_begun


def test_table_grows_with_the_helpers(post: Post) -> None:
    table = post.table(1000)
    assert table.room >= 1000
    post.recycle(table)
    small = Table(post, 3)
    post.recycle(small)
    assert post.table(4) is not small


def test_idle_helpers_use_no_processor() -> None:
    function = counting()
    for _ in range(3):
        function.pace = NOBODY
        count(function, 100, 1, 4)
    begin = time.process_time()
    time.sleep(0.5)
    # Three that went on looking would use 1.5 seconds, or all there is.
    assert time.process_time() - begin < 0.25


def test_process_ends_while_helpers_look_at_their_mailboxes() -> None:
    program = """
from tests.execute.cpu.native import count, counting
function = counting()
for _ in range(5):
    function.pace = 10_000_000
    assert count(function, 50, 1, 4)[0].tolist() == [1] * 50
"""
    for _ in range(3):
        assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60).returncode == 0


COUNTING = """
cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %x: tile<i32>, %y: tile<i32>, %z: tile<i32>) {
    %i, %j, %k = get_tile_block_id : tile<i32>
    %a = muli %k, %y : tile<i32>
    %b = addi %a, %j : tile<i32>
    %c = muli %b, %x : tile<i32>
    %n = addi %c, %i : tile<i32>
    %q = offset %p, %n : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %v, %t = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
    %one = constant <i32: 1> : tile<i32>
    %w = addi %v, %one : tile<i32>
    %u = store_ptr_tko weak %q, %w token = %t : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
"""

ATOMIC = """
cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %c: tile<ptr<i32>>) {
    %i, %j, %k = get_tile_block_id : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %old, %t = atomic_rmw_tko relaxed device %c, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %q = offset %p, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %u = store_ptr_tko weak %q, %old : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
"""
