"""How a worker takes tile blocks: a chunk of the next numbers, from one counter or from stretches (`record`).

With stretches every thread has a part of the tile blocks to itself, the same one in the next launch, whose memory is
then in its caches; and no counter goes from processor to processor.  A thread that is done with its stretch takes from
those of others.
"""

from __future__ import annotations

from tileir.execute.cpu.native import record as slots
from tileir.execute.cpu.vector.builder import Builder, Module

# Gives the first number, or -1 where none is left, and stores the end.  `search` looks at a stretch, and at the next
# where there is nothing left of it, until it has seen all of them.
_TEXT = """define internal i64 @take(ptr %record, ptr %arena, ptr %end) noinline optnone nounwind {
entry:
  %lanes.address = getelementptr i64, ptr %record, i64 LANES
  %lanes.said = load i64, ptr %lanes.address, align 8
  %is.divided = icmp sgt i64 %lanes.said, 0
  %lanes = select i1 %is.divided, i64 %lanes.said, i64 1
  %stretches.address = getelementptr i64, ptr %record, i64 STRETCHES
  %stretches = load ptr, ptr %stretches.address, align 8
  %lane.address = getelementptr i64, ptr %arena, i64 LANE
  %chunk.address = getelementptr i64, ptr %record, i64 CHUNK
  %chunk = load i64, ptr %chunk.address, align 8
  %tail.address = getelementptr i64, ptr %record, i64 TAIL
  %tail.said = load i64, ptr %tail.address, align 8
  %tail = select i1 %is.divided, i64 %chunk, i64 %tail.said
  %small = lshr i64 %chunk, SHIFT
  %part = call i64 @llvm.umax.i64(i64 %small, i64 1)
  br label %search
search:
  %seen = phi i64 [ 0, %entry ], [ %seen, %attempt ], [ %seen.next, %step ]
  br i1 %is.divided, label %divided, label %chosen
divided:
  %lane = load i64, ptr %lane.address, align 8
  %stretch.address = getelementptr ptr, ptr %stretches, i64 %lane
  %stretch.own = load ptr, ptr %stretch.address, align 8
  br label %chosen
chosen:
  %stretch = phi ptr [ %record, %search ], [ %stretch.own, %divided ]
  %lane.seen = phi i64 [ 0, %search ], [ %lane, %divided ]
  %next = load atomic i64, ptr %stretch monotonic, align 8
  %last.address = getelementptr i64, ptr %stretch, i64 1
  %last = load i64, ptr %last.address, align 8
  %is.left = icmp ult i64 %next, %last
  br i1 %is.left, label %attempt, label %exhausted
attempt:
  %reach = add i64 %next, %tail
  %is.whole = icmp ult i64 %reach, %last
  %size = select i1 %is.whole, i64 %chunk, i64 %part
  %after = add i64 %next, %size
  %exchange = cmpxchg ptr %stretch, i64 %next, i64 %after monotonic monotonic, align 8
  %is.taken = extractvalue { i64, i1 } %exchange, 1
  br i1 %is.taken, label %taken, label %search
taken:
  %bounded = call i64 @llvm.umin.i64(i64 %after, i64 %last)
  store i64 %bounded, ptr %end, align 8
  ret i64 %next
exhausted:
  %seen.next = add i64 %seen, 1
  %is.over = icmp uge i64 %seen.next, %lanes
  br i1 %is.over, label %none, label %step
step:
  %following = add i64 %lane.seen, 1
  %is.last = icmp uge i64 %following, %lanes
  %wrapped = select i1 %is.last, i64 0, i64 %following
  store i64 %wrapped, ptr %lane.address, align 8
  br label %search
none:
  ret i64 -1
}"""


def define_function(module: Module, is_divided: bool) -> None:
    """Add the function; without `is_divided` it takes numbers from the one counter, in order."""
    text = _TEXT
    names = {"LANES": slots.LANES, "STRETCHES": slots.STRETCHES, "LANE": slots.LANE, "CHUNK": slots.CHUNK}
    for name, number in (names | {"TAIL": slots.TAIL, "SHIFT": slots.TAIL_SHIFT}).items():
        text = text.replace(f" {name}\n", f" {number}\n")
    if not is_divided:
        text = text.replace("icmp sgt i64 %lanes.said, 0", "icmp sgt i64 0, 0")
    for name in ("umin", "umax"):
        module.declare(f"declare i64 @llvm.{name}.i64(i64, i64)")
    module.add(text.splitlines())


def take_chunk(builder: Builder, end: str, finish: str) -> tuple[str, str]:
    """Take the next tile blocks, from the first to one before the end, with a word on the stack for that; to a label if
    there are none."""
    first = builder.emit(f"call i64 @take(ptr %record, ptr %arena, ptr {end})")
    builder.go_on(builder.emit(f"icmp sge i64 {first}, 0"), finish)
    return first, builder.emit(f"load i64, ptr {end}, align 8")


def is_within_budget(builder: Builder) -> str:
    """Count a chunk; gives an i1, whether the worker is to take another one."""
    pointer = builder.emit(f"getelementptr i64, ptr %arena, i64 {slots.BUDGET}")
    left = builder.emit(f"add i64 {builder.emit(f'load i64, ptr {pointer}, align 8')}, -1")
    builder.do(f"store i64 {left}, ptr {pointer}, align 8")
    return builder.emit(f"icmp ne i64 {left}, 0")
