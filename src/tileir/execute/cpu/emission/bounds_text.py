"""The functions that checked code carries along, as LLVM IR: what it asks when an access may leave its array.

`@bounds.find` tells whether bytes lie in one stretch of the launch's memory (0 no, 1 yes but not to be written, 3 yes):
arguments, globals, what else the caller named, what `alloca` reserved on this thread.  Stretches that overlap are one.
`@bounds.elements` looks at a list of addresses, whose elements are so many places apart in their tile; it notes the
first that must not be touched as a failure, and tells whether all is well.  `@bounds.box` looks at the part of a tile
that lies in its tensor, and gives the number of the first such element, or -1.  `@bounds.remember` notes the stretch
that an address lies in, where the next one is likely to be.  `@bounds.fail` notes a failure, unless there is one.

None of it runs often, so it is compiled quickly rather than well (`optnone`).

A box has four numbers for each dimension: where it begins, the tensor's extent, its stride in bytes, the tile's extent.
"""

from __future__ import annotations

from tileir.execute.cpu.native.record import FAILED, FAILURE, REGION_WORDS, REGIONS, STOP, Layout
from tileir.execute.cpu.vector.builder import Module


def functions(module: Module, layout: Layout, wanted: set[str]) -> str:
    """Those of the functions that a kernel calls, by the last part of their names, for its records."""
    for declaration in DECLARATIONS:
        module.declare(declaration)
    needed = set(wanted)
    if needed & {"elements", "box"}:
        needed |= {"find", "fail"}
    parts = ["define internal" + part for part in _TEXT.split("define internal")[1:]]
    chosen = [part for part in parts if part.partition("@bounds.")[2].partition("(")[0] in needed]
    numbers = {
        "regions": layout.regions,
        "region_count": layout.region_count,
        "reserve_count": layout.reserve_count,
        "reserve_slots": layout.reserves,
        "words": REGION_WORDS,
        "table": REGIONS,
        "failed": FAILED,
        "failure": FAILURE,
        "stop": STOP,
    }
    text = "".join(chosen)
    for name, number in numbers.items():
        text = text.replace(f"{{{name}}}", str(number))
    return text


DECLARATIONS = (
    "declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)",
    "declare { i64, i1 } @llvm.uadd.with.overflow.i64(i64, i64)",
)

_TEXT = """
define internal i64 @bounds.find(ptr %record, ptr %reserved, i64 %address, i64 %bytes) cold noinline optnone nounwind {
entry:
  %table.place = getelementptr i64, ptr %record, i64 {table}
  %table = load i64, ptr %table.place, align 8
  %count.place = getelementptr i64, ptr %table.place, i64 1
  %table.count = load i64, ptr %count.place, align 8
  %is.own = icmp eq i64 %table, 0
  %own = getelementptr i64, ptr %record, i64 {regions}
  %given = inttoptr i64 %table to ptr
  %regions = select i1 %is.own, ptr %own, ptr %given
  %count = select i1 %is.own, i64 {region_count}, i64 %table.count
  br label %again
again:
  %place = phi i64 [ %address, %entry ], [ %last, %more ]
  %open = phi i64 [ 0, %entry ], [ %open.own, %more ]
  br label %head
head:
  %number = phi i64 [ 0, %again ], [ %number.next, %turn ]
  %end = phi i64 [ 0, %again ], [ %end.next, %turn ]
  %open.now = phi i64 [ %open, %again ], [ %open.next, %turn ]
  %left = icmp ult i64 %number, %count
  br i1 %left, label %turn, label %own.head
turn:
  %first = mul i64 %number, {words}
  %words = getelementptr i64, ptr %regions, i64 %first
  %low = load i64, ptr %words, align 8
  %high.place = getelementptr i64, ptr %words, i64 1
  %high = load i64, ptr %high.place, align 8
  %flag.place = getelementptr i64, ptr %words, i64 2
  %flag = load i64, ptr %flag.place, align 8
  %from = icmp ule i64 %low, %place
  %to = icmp ult i64 %place, %high
  %here = and i1 %from, %to
  %later = icmp ugt i64 %high, %end
  %take = and i1 %here, %later
  %end.next = select i1 %take, i64 %high, i64 %end
  %added = select i1 %here, i64 %flag, i64 0
  %open.next = or i64 %open.now, %added
  %number.next = add i64 %number, 1
  br label %head
own.head:
  %own.number = phi i64 [ 0, %head ], [ %own.next, %own.turn ]
  %own.end = phi i64 [ %end, %head ], [ %own.end.next, %own.turn ]
  %open.own = phi i64 [ %open.now, %head ], [ %open.own.next, %own.turn ]
  %own.left = icmp ult i64 %own.number, {reserve_count}
  br i1 %own.left, label %own.turn, label %known
own.turn:
  %own.first = mul i64 %own.number, 2
  %own.words = getelementptr i64, ptr %reserved, i64 %own.first
  %own.low = load i64, ptr %own.words, align 8
  %own.high.place = getelementptr i64, ptr %own.words, i64 1
  %own.high = load i64, ptr %own.high.place, align 8
  %own.from = icmp ule i64 %own.low, %place
  %own.to = icmp ult i64 %place, %own.high
  %own.here = and i1 %own.from, %own.to
  %own.end.next = select i1 %own.here, i64 %own.high, i64 %own.end
  %own.added = zext i1 %own.here to i64
  %open.own.next = or i64 %open.own, %own.added
  %own.next = add i64 %own.number, 1
  br label %own.head
known:
  %lost = icmp eq i64 %own.end, 0
  br i1 %lost, label %no, label %inside
inside:
  %room = sub i64 %own.end, %address
  %fits = icmp uge i64 %room, %bytes
  br i1 %fits, label %yes, label %more
more:
  ; What overlaps this stretch goes on where it ends.
  %last = sub i64 %own.end, 1
  %stuck = icmp eq i64 %last, %place
  br i1 %stuck, label %no, label %again
yes:
  %open.bit = icmp ne i64 %open.own, 0
  %answer = select i1 %open.bit, i64 3, i64 1
  ret i64 %answer
no:
  ret i64 0
}
define internal i1 @bounds.elements(ptr %record, ptr %reserved, ptr %addresses, ptr %mask, i64 %count, i64 %size,
    i64 %wanted, i64 %check, i64 %block, i64 %element, i64 %step) cold noinline optnone nounwind {
entry:
  br label %head
head:
  %number = phi i64 [ 0, %entry ], [ %number.next, %next ]
  %closed = phi i64 [ -1, %entry ], [ %closed.next, %next ]
  %more = icmp ult i64 %number, %count
  br i1 %more, label %turn, label %done
turn:
  %mask.place = getelementptr i8, ptr %mask, i64 %number
  %bit = load i8, ptr %mask.place, align 1
  %chosen = icmp ne i8 %bit, 0
  br i1 %chosen, label %look, label %next
look:
  %place = getelementptr i64, ptr %addresses, i64 %number
  %address = load i64, ptr %place, align 8
  %found = call i64 @bounds.find(ptr %record, ptr %reserved, i64 %address, i64 %size)
  %lost = icmp eq i64 %found, 0
  br i1 %lost, label %bad, label %there
there:
  %allowed = icmp uge i64 %found, %wanted
  %first = icmp eq i64 %closed, -1
  %forbidden = xor i1 %allowed, true
  %note = and i1 %forbidden, %first
  %noted = select i1 %note, i64 %number, i64 %closed
  br label %next
next:
  %closed.next = phi i64 [ %closed, %turn ], [ %noted, %there ]
  %number.next = add i64 %number, 1
  br label %head
bad:
  br label %fail
done:
  %well = icmp eq i64 %closed, -1
  br i1 %well, label %fine, label %fail
fail:
  %wrong = phi i64 [ %number, %bad ], [ %closed, %done ]
  %steps = mul i64 %wrong, %step
  %place.in.tile = add i64 %element, %steps
  %wrong.place = getelementptr i64, ptr %addresses, i64 %wrong
  %wrong.address = load i64, ptr %wrong.place, align 8
  call void @bounds.fail(ptr %record, ptr %reserved, i64 %check, i64 %block, i64 %place.in.tile, i64 %wrong.address)
  ret i1 false
fine:
  ret i1 true
}
define internal void @bounds.remember(ptr %record, ptr %reserved, i64 %address, i64 %size, i64 %wanted, ptr %last) cold
    noinline optnone nounwind {
entry:
  %table.place = getelementptr i64, ptr %record, i64 {table}
  %table = load i64, ptr %table.place, align 8
  %count.place = getelementptr i64, ptr %table.place, i64 1
  %table.count = load i64, ptr %count.place, align 8
  %is.own = icmp eq i64 %table, 0
  %own = getelementptr i64, ptr %record, i64 {regions}
  %given = inttoptr i64 %table to ptr
  %regions = select i1 %is.own, ptr %own, ptr %given
  %count = select i1 %is.own, i64 {region_count}, i64 %table.count
  br label %head
head:
  %number = phi i64 [ 0, %entry ], [ %number.next, %turn ]
  %left = icmp ult i64 %number, %count
  br i1 %left, label %turn, label %done
turn:
  %first = mul i64 %number, {words}
  %words = getelementptr i64, ptr %regions, i64 %first
  %low = load i64, ptr %words, align 8
  %high.place = getelementptr i64, ptr %words, i64 1
  %high = load i64, ptr %high.place, align 8
  %flag.place = getelementptr i64, ptr %words, i64 2
  %flag = load i64, ptr %flag.place, align 8
  %twice = mul i64 %flag, 2
  %state = add i64 %twice, 1
  %allowed = icmp uge i64 %state, %wanted
  %from = icmp ule i64 %low, %address
  %to = icmp ult i64 %address, %high
  %here = and i1 %from, %to
  %right = and i1 %here, %allowed
  %number.next = add i64 %number, 1
  br i1 %right, label %found, label %head
found:
  %room = sub i64 %high, %low
  %less = sub i64 %size, 1
  %short = icmp ult i64 %room, %less
  %rest = sub i64 %room, %less
  %places = select i1 %short, i64 0, i64 %rest
  store i64 %low, ptr %last, align 8
  %places.place = getelementptr i64, ptr %last, i64 1
  store i64 %places, ptr %places.place, align 8
  br label %done
done:
  ret void
}
define internal i64 @bounds.box(ptr %record, ptr %reserved, i64 %address, ptr %numbers, i64 %rank, i64 %size,
    i64 %wanted) cold noinline optnone nounwind {
entry:
  br label %head
head:
  %axis = phi i64 [ 0, %entry ], [ %axis.next, %fine ]
  %first = phi i64 [ %address, %entry ], [ %first.next, %fine ]
  %reach = phi i64 [ %size, %entry ], [ %reach.next, %fine ]
  %total = phi i64 [ 1, %entry ], [ %total.next, %fine ]
  %far = phi i1 [ false, %entry ], [ %far.next, %fine ]
  %more = icmp ult i64 %axis, %rank
  br i1 %more, label %turn, label %whole
turn:
  %at = mul i64 %axis, 4
  %start.place = getelementptr i64, ptr %numbers, i64 %at
  %start = load i64, ptr %start.place, align 8
  %extent.place = getelementptr i64, ptr %start.place, i64 1
  %extent = load i64, ptr %extent.place, align 8
  %stride.place = getelementptr i64, ptr %start.place, i64 2
  %stride = load i64, ptr %stride.place, align 8
  %shape.place = getelementptr i64, ptr %start.place, i64 3
  %shape = load i64, ptr %shape.place, align 8
  %touched = icmp ult i64 %start, %extent
  br i1 %touched, label %fine, label %nothing
fine:
  %rest = sub i64 %extent, %start
  %short = icmp ult i64 %rest, %shape
  %count = select i1 %short, i64 %rest, i64 %shape
  %moved = mul i64 %start, %stride
  %first.next = add i64 %first, %moved
  %steps = sub i64 %count, 1
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %steps, i64 %stride)
  %length = extractvalue { i64, i1 } %product, 0
  %wraps = extractvalue { i64, i1 } %product, 1
  %sum = call { i64, i1 } @llvm.uadd.with.overflow.i64(i64 %reach, i64 %length)
  %reach.next = extractvalue { i64, i1 } %sum, 0
  %overflows = extractvalue { i64, i1 } %sum, 1
  %either = or i1 %wraps, %overflows
  %far.next = or i1 %far, %either
  %total.next = mul i64 %total, %shape
  %axis.next = add i64 %axis, 1
  br label %head
whole:
  br i1 %far, label %elements, label %ask
ask:
  %answer = call i64 @bounds.find(ptr %record, ptr %reserved, i64 %first, i64 %reach)
  %all = icmp uge i64 %answer, %wanted
  br i1 %all, label %nothing, label %elements
elements:
  br label %element
element:
  %number = phi i64 [ 0, %elements ], [ %number.next, %next ]
  %closed = phi i64 [ -1, %elements ], [ %closed.next, %next ]
  %left = icmp ult i64 %number, %total
  br i1 %left, label %walk, label %done
walk:
  %back = phi i64 [ %rank, %element ], [ %dimension, %step ]
  %row = phi i64 [ %number, %element ], [ %row.next, %step ]
  %where = phi i64 [ %address, %element ], [ %where.next, %step ]
  %outermost = icmp eq i64 %back, 0
  br i1 %outermost, label %look, label %test
test:
  %dimension = sub i64 %back, 1
  %base = mul i64 %dimension, 4
  %begin.place = getelementptr i64, ptr %numbers, i64 %base
  %begin = load i64, ptr %begin.place, align 8
  %end.place = getelementptr i64, ptr %begin.place, i64 1
  %end = load i64, ptr %end.place, align 8
  %distance.place = getelementptr i64, ptr %begin.place, i64 2
  %distance = load i64, ptr %distance.place, align 8
  %width.place = getelementptr i64, ptr %begin.place, i64 3
  %width = load i64, ptr %width.place, align 8
  %within = urem i64 %row, %width
  %row.next = udiv i64 %row, %width
  %position = add i64 %begin, %within
  %is.in = icmp ult i64 %position, %end
  br i1 %is.in, label %step, label %skip
step:
  %offset = mul i64 %position, %distance
  %where.next = add i64 %where, %offset
  br label %walk
look:
  %found = call i64 @bounds.find(ptr %record, ptr %reserved, i64 %where, i64 %size)
  %lost = icmp eq i64 %found, 0
  br i1 %lost, label %bad, label %there
there:
  %allowed = icmp uge i64 %found, %wanted
  %none = icmp eq i64 %closed, -1
  %forbidden = xor i1 %allowed, true
  %note = and i1 %forbidden, %none
  %noted = select i1 %note, i64 %number, i64 %closed
  br label %next
skip:
  br label %next
next:
  %closed.next = phi i64 [ %closed, %skip ], [ %noted, %there ]
  %number.next = add i64 %number, 1
  br label %element
bad:
  ret i64 %number
done:
  ret i64 %closed
nothing:
  ret i64 -1
}
define internal i64 @bounds.address(ptr %record, ptr %reserved, i64 %address, ptr %numbers, i64 %rank, i64 %number)
    cold noinline optnone nounwind {
entry:
  br label %walk
walk:
  %back = phi i64 [ %rank, %entry ], [ %dimension, %step ]
  %row = phi i64 [ %number, %entry ], [ %row.next, %step ]
  %where = phi i64 [ %address, %entry ], [ %where.next, %step ]
  %outermost = icmp eq i64 %back, 0
  br i1 %outermost, label %done, label %step
step:
  %dimension = sub i64 %back, 1
  %base = mul i64 %dimension, 4
  %begin.place = getelementptr i64, ptr %numbers, i64 %base
  %begin = load i64, ptr %begin.place, align 8
  %distance.place = getelementptr i64, ptr %begin.place, i64 2
  %distance = load i64, ptr %distance.place, align 8
  %width.place = getelementptr i64, ptr %begin.place, i64 3
  %width = load i64, ptr %width.place, align 8
  %within = urem i64 %row, %width
  %row.next = udiv i64 %row, %width
  %position = add i64 %begin, %within
  %offset = mul i64 %position, %distance
  %where.next = add i64 %where, %offset
  br label %walk
done:
  ret i64 %where
}
define internal void @bounds.fail(ptr %record, ptr %reserved, i64 %check, i64 %block, i64 %element, i64 %detail) cold
    noinline optnone nounwind {
entry:
  %failed = getelementptr i64, ptr %record, i64 {failed}
  %pair = cmpxchg ptr %failed, i64 0, i64 %check acq_rel monotonic
  %first = extractvalue { i64, i1 } %pair, 1
  br i1 %first, label %note, label %end
note:
  %block.place = getelementptr i64, ptr %record, i64 {failure}
  store i64 %block, ptr %block.place, align 8
  %element.place = getelementptr i64, ptr %block.place, i64 1
  store i64 %element, ptr %element.place, align 8
  %detail.place = getelementptr i64, ptr %block.place, i64 2
  store i64 %detail, ptr %detail.place, align 8
  %copies = getelementptr i64, ptr %record, i64 {reserve_slots}
  br label %head
head:
  %number = phi i64 [ 0, %note ], [ %number.next, %turn ]
  %words = mul i64 {reserve_count}, 2
  %more = icmp ult i64 %number, %words
  br i1 %more, label %turn, label %end
turn:
  %from = getelementptr i64, ptr %reserved, i64 %number
  %word = load i64, ptr %from, align 8
  %to = getelementptr i64, ptr %copies, i64 %number
  store i64 %word, ptr %to, align 8
  %number.next = add i64 %number, 1
  br label %head
end:
  %stop = getelementptr i64, ptr %record, i64 {stop}
  store atomic i64 1, ptr %stop release, align 8
  ret void
}
"""
