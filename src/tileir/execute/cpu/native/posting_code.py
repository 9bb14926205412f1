"""The function by which helpers wait, and launches are posted to them, in LLVM IR (`posting` says how it goes)."""

from __future__ import annotations

from typing import Final

# The words of a mailbox: state, one that nobody uses, arena, three that nobody uses, looks, where `syscall` is.  In the
# cache line after these is what is posted: the stretch of tile blocks that its helper begins with, the table, the lane.
# A helper that looks at its state has that line too, and each word written there would fetch it back once more.
ARENA: Final = 2
# The words of a table: function, record, number, arena, how many mailboxes, whether it has begun, looks, where
# `syscall` is, how long a slice is, where `clock_gettime` is; the longest wait and the time, in seconds and
# nanoseconds; how many helpers are worth waking; in cache lines of their own how many are at work and the stretch of
# who launches; then the mailboxes and the addresses of all stretches.
STARTED: Final = 5
LOOKS: Final = 6
SYSCALL: Final = 7
SLICE: Final = 8
CLOCK: Final = 9
NANOSECONDS: Final = 11
WAKES: Final = 14
REMAINING: Final = 16
BOXES: Final = 32

WAIT, LAUNCH, FINISH, CALL, MEASURE, GO_ON, TAKE_BACK = range(7)
"""What the function is asked for, in its second argument."""
PAUSED: Final = 2
"""What a launch says whose caller is not done with its part."""

# `PAUSE` and the like are what `posting` puts in for the machine.  %where is a mailbox, or a table.
TEXT: Final = """
define i64 @worker(ptr %where, ptr %what) nounwind {
entry:
  %command = ptrtoint ptr %what to i64
  switch i64 %command, label %nothing [ i64 0, label %wait i64 1, label %launch i64 2, label %finish i64 3, label %call
    i64 4, label %measure i64 5, label %go.on i64 6, label %revoke.all ]

; --- a helper ---

wait:
  %w.syscall.address = getelementptr i64, ptr %where, i64 7
  %w.syscall = load ptr, ptr %w.syscall.address
  %looks.address = getelementptr i64, ptr %where, i64 6
  br label %idle
idle:
  %looks = load i64, ptr %looks.address
  br label %look
look:
  %left = phi i64 [ %looks, %idle ], [ %fewer, %again ]
  %seen = load atomic i32, ptr %where acquire, align 4
  %is.posted = icmp ugt i32 %seen, 1
  br i1 %is.posted, label %take, label %rest
rest:
  %tired = icmp sle i64 %left, 0
  br i1 %tired, label %doze, label %again
again:
  call void PAUSE
  %fewer = add i64 %left, -1
  br label %look
doze:
  %dozed = cmpxchg ptr %where, i32 0, i32 1 seq_cst seq_cst, align 4
  br label %sleep
sleep:
  %asleep = load atomic i32, ptr %where acquire, align 4
  %is.woken = icmp ugt i32 %asleep, 1
  br i1 %is.woken, label %take, label %nap
nap:
  %napped = call i64 (i64, ...) %w.syscall(i64 FUTEX, ptr %where, i64 128, i64 1, ptr null, ptr null, i64 0)
  br label %sleep
take:
  %taken.pair = cmpxchg ptr %where, i32 2, i32 4 seq_cst seq_cst, align 4
  %taken = extractvalue { i32, i1 } %taken.pair, 1
  br i1 %taken, label %work, label %other
other:
  %found = extractvalue { i32, i1 } %taken.pair, 0
  %is.called = icmp eq i32 %found, 3
  br i1 %is.called, label %leave, label %idle
leave:
  store atomic i32 0, ptr %where release, align 4
  ret i64 0
work:
  %table.address = getelementptr i64, ptr %where, i64 10
  %table = load ptr, ptr %table.address
  %arena.address = getelementptr i64, ptr %where, i64 2
  %arena = load ptr, ptr %arena.address
  %lane.address = getelementptr i64, ptr %where, i64 11
  %lane = load i64, ptr %lane.address
  %function = load ptr, ptr %table
  %record.address = getelementptr i64, ptr %table, i64 1
  %record = load ptr, ptr %record.address
  %number.address = getelementptr i64, ptr %table, i64 2
  %number = load i64, ptr %number.address
  %table.looks.address = getelementptr i64, ptr %table, i64 6
  %table.looks = load i64, ptr %table.looks.address
  store i64 %table.looks, ptr %looks.address
  store i64 %number, ptr %arena
  %arena.lane = getelementptr i64, ptr %arena, i64 1
  store i64 %lane, ptr %arena.lane
  %result = call i64 %function(ptr %record, ptr %arena)
  %remaining.address = getelementptr i64, ptr %table, i64 16
  store atomic i32 0, ptr %where release, align 4
  %before = atomicrmw sub ptr %remaining.address, i32 1 seq_cst
  %is.awaited = icmp eq i32 %before, 1073741825
  br i1 %is.awaited, label %tell, label %idle
tell:
  %told = call i64 (i64, ...) %w.syscall(i64 FUTEX, ptr %remaining.address, i64 129, i64 1, ptr null, ptr null, i64 0)
  br label %idle

; --- who launches ---

launch:
  %count.address = getelementptr i64, ptr %where, i64 4
  %count = load i64, ptr %count.address
  %l.function = load ptr, ptr %where
  %l.record.address = getelementptr i64, ptr %where, i64 1
  %l.record = load ptr, ptr %l.record.address
  %l.number.address = getelementptr i64, ptr %where, i64 2
  %l.number = load i64, ptr %l.number.address
  %own.address = getelementptr i64, ptr %where, i64 3
  %own = load ptr, ptr %own.address
  %l.syscall.address = getelementptr i64, ptr %where, i64 7
  %l.syscall = load ptr, ptr %l.syscall.address
  %l.looks.address = getelementptr i64, ptr %where, i64 6
  %l.looks = load i64, ptr %l.looks.address
  %l.remaining = getelementptr i64, ptr %where, i64 16
  %boxes = getelementptr i64, ptr %where, i64 32
  %wakes.address = getelementptr i64, ptr %where, i64 14
  %wakes.most = load i64, ptr %wakes.address
  %count.word = trunc i64 %count to i32
  store atomic i32 %count.word, ptr %l.remaining release, align 4
  %works = icmp ne ptr %own, null
  %next = load i64, ptr %l.record
  %end.address = getelementptr i64, ptr %l.record, i64 1
  %end = load i64, ptr %end.address
  %chunk.address = getelementptr i64, ptr %l.record, i64 6
  %chunk = load i64, ptr %chunk.address
  %stretches.address = getelementptr i64, ptr %l.record, i64 STRETCHES
  %lanes = add i64 %count, 1
  %stretches = getelementptr ptr, ptr %boxes, i64 %count
  %total = sub i64 %end, %next
  %total.more = add i64 %total, %chunk
  %total.less = add i64 %total.more, -1
  %chunks = udiv i64 %total.less, %chunk
  %works.word = zext i1 %works to i64
  %parts = add i64 %count, %works.word
  %each = udiv i64 %chunks, %parts
  %extra = urem i64 %chunks, %parts
  %own.stretch = getelementptr i64, ptr %where, i64 24
  store i64 0, ptr %own.stretch
  %own.end = getelementptr i64, ptr %where, i64 25
  store i64 0, ptr %own.end
  store ptr %own.stretch, ptr %stretches
  %first.lane = sub i64 1, %works.word
  br label %divide
divide:
  %lane.number = phi i64 [ %first.lane, %launch ], [ %lane.next, %divided ]
  %part.begin = phi i64 [ %next, %launch ], [ %part.end, %divided ]
  %part = sub i64 %lane.number, %first.lane
  %is.longer = icmp ult i64 %part, %extra
  %longer = zext i1 %is.longer to i64
  %part.chunks = add i64 %each, %longer
  %part.size = mul i64 %part.chunks, %chunk
  %part.reach = add i64 %part.begin, %part.size
  %part.end = call i64 @llvm.smin.i64(i64 %part.reach, i64 %end)
  %is.own = icmp eq i64 %lane.number, 0
  br i1 %is.own, label %divided, label %other.stretch
other.stretch:
  %before.lane = add i64 %lane.number, -1
  %lane.box.address = getelementptr ptr, ptr %boxes, i64 %before.lane
  %lane.box = load ptr, ptr %lane.box.address
  %lane.stretch = getelementptr i64, ptr %lane.box, i64 8
  br label %divided
divided:
  %stretch = phi ptr [ %own.stretch, %divide ], [ %lane.stretch, %other.stretch ]
  store i64 %part.begin, ptr %stretch
  %stretch.end = getelementptr i64, ptr %stretch, i64 1
  store i64 %part.end, ptr %stretch.end
  %entry.address = getelementptr ptr, ptr %stretches, i64 %lane.number
  store ptr %stretch, ptr %entry.address
  %lane.next = add i64 %lane.number, 1
  %lanes.left = icmp ult i64 %lane.next, %lanes
  br i1 %lanes.left, label %divide, label %open
open:
  store ptr %stretches, ptr %stretches.address
  %lanes.address = getelementptr i64, ptr %l.record, i64 LANES
  %lanes.wanted = load i64, ptr %lanes.address
  %is.divided = icmp sge i64 %lanes.wanted, 0
  %lanes.given = select i1 %is.divided, i64 %lanes, i64 %lanes.wanted
  store i64 %lanes.given, ptr %lanes.address
  %started = getelementptr i64, ptr %where, i64 5
  store i64 1, ptr %started
  br label %post
post:
  %i = phi i64 [ 0, %open ], [ %i.next, %posted ]
  %wakes = phi i64 [ %wakes.most, %open ], [ %wakes.next, %posted ]
  %box.address = getelementptr ptr, ptr %boxes, i64 %i
  %box = load ptr, ptr %box.address
  %box.table = getelementptr i64, ptr %box, i64 10
  store ptr %where, ptr %box.table
  %box.lane = getelementptr i64, ptr %box, i64 11
  %i.next = add i64 %i, 1
  store i64 %i.next, ptr %box.lane
  %looked = load atomic i32, ptr %box monotonic, align 4
  %is.awake = icmp eq i32 %looked, 0
  %is.dropped = and i1 %is.awake, %works
  br i1 %is.dropped, label %drop, label %knock
; A store that nobody waits for: the caller goes on while it is on its way.  A helper that falls asleep at this moment
; does not see it, and the caller, who works too, takes it back.
drop:
  store atomic i32 2, ptr %box release, align 4
  br label %posted
knock:
  %state = atomicrmw xchg ptr %box, i32 2 seq_cst
  %sleeps = icmp eq i32 %state, 1
  %may.wake = icmp sgt i64 %wakes, 0
  %is.worth = and i1 %sleeps, %may.wake
  br i1 %is.worth, label %wake, label %posted
wake:
  %woken = call i64 (i64, ...) %l.syscall(i64 FUTEX, ptr %box, i64 129, i64 1, ptr null, ptr null, i64 0)
  %wakes.fewer = add i64 %wakes, -1
  br label %posted
posted:
  %wakes.next = phi i64 [ %wakes, %drop ], [ %wakes, %knock ], [ %wakes.fewer, %wake ]
  %all.posted = icmp eq i64 %i.next, %count
  br i1 %all.posted, label %begin, label %post
begin:
  br i1 %works, label %own.work, label %unfinished
own.work:
  store i64 %l.number, ptr %own
  %own.lane = getelementptr i64, ptr %own, i64 1
  store i64 0, ptr %own.lane
  br label %go.on

; It comes back after a slice, unless it may take as long as it likes.
go.on:
  %g.function = load ptr, ptr %where
  %g.record.address = getelementptr i64, ptr %where, i64 1
  %g.record = load ptr, ptr %g.record.address
  %g.own.address = getelementptr i64, ptr %where, i64 3
  %g.own = load ptr, ptr %g.own.address
  %g.budget = getelementptr i64, ptr %g.own, i64 BUDGET
  %slice.address = getelementptr i64, ptr %where, i64 8
  %slice = load i64, ptr %slice.address
  %clock.address = getelementptr i64, ptr %where, i64 9
  %clock = load ptr, ptr %clock.address
  %time = getelementptr i64, ptr %where, i64 12
  %nanoseconds.address = getelementptr i64, ptr %where, i64 13
  %is.sliced = icmp ne i64 %slice, 0
  br i1 %is.sliced, label %sliced, label %whole
whole:
  %whole.result = call i64 %g.function(ptr %g.record, ptr %g.own)
  br label %revoke.all
sliced:
  %begun = call i32 %clock(i32 1, ptr %time)
  %begun.seconds = load i64, ptr %time
  %begun.rest = load i64, ptr %nanoseconds.address
  %begun.whole = mul i64 %begun.seconds, 1000000000
  %begun.at = add i64 %begun.whole, %begun.rest
  br label %slice.work
slice.work:
  %budget = phi i64 [ 1, %sliced ], [ %budget.next, %slice.more ]
  %before.slice = phi i64 [ %begun.at, %sliced ], [ %now, %slice.more ]
  store i64 %budget, ptr %g.budget
  %slice.result = call i64 %g.function(ptr %g.record, ptr %g.own)
  %unspent = load i64, ptr %g.budget
  store i64 0, ptr %g.budget
  %none.left = icmp ne i64 %unspent, 0
  br i1 %none.left, label %revoke.all, label %slice.over
slice.over:
  %asked = call i32 %clock(i32 1, ptr %time)
  %now.seconds = load i64, ptr %time
  %now.rest = load i64, ptr %nanoseconds.address
  %now.whole = mul i64 %now.seconds, 1000000000
  %now = add i64 %now.whole, %now.rest
  %slice.elapsed = sub i64 %now, %before.slice
  %elapsed = sub i64 %now, %begun.at
  %twice = shl i64 %slice.elapsed, 1
  %ahead = add i64 %elapsed, %twice
  %is.late = icmp sgt i64 %ahead, %slice
  br i1 %is.late, label %paused, label %slice.more
slice.more:
  %budget.next = shl i64 %budget, 1
  br label %slice.work
paused:
  ret i64 2
revoke.all:
  %r.count.address = getelementptr i64, ptr %where, i64 4
  %r.count = load i64, ptr %r.count.address
  %r.boxes = getelementptr i64, ptr %where, i64 32
  %r.remaining = getelementptr i64, ptr %where, i64 16
  %r.looks.address = getelementptr i64, ptr %where, i64 6
  %r.looks = load i64, ptr %r.looks.address
  br label %revoke
revoke:
  %v = phi i64 [ 0, %revoke.all ], [ %v.next, %revoked ]
  %v.address = getelementptr ptr, ptr %r.boxes, i64 %v
  %v.box = load ptr, ptr %v.address
  %v.seen = load atomic i32, ptr %v.box acquire, align 4
  %v.waits = icmp eq i32 %v.seen, 2
  br i1 %v.waits, label %take.back, label %revoked
take.back:
  %v.pair = cmpxchg ptr %v.box, i32 2, i32 1 seq_cst seq_cst, align 4
  %v.done = extractvalue { i32, i1 } %v.pair, 1
  br i1 %v.done, label %uncount, label %revoked
uncount:
  %v.before = atomicrmw sub ptr %r.remaining, i32 1 seq_cst
  br label %revoked
revoked:
  %v.next = add i64 %v, 1
  %v.more = icmp ult i64 %v.next, %r.count
  br i1 %v.more, label %revoke, label %watch
watch:
  %watch.left = phi i64 [ %r.looks, %revoked ], [ %watch.fewer, %watch.again ]
  %watched = load atomic i32, ptr %r.remaining acquire, align 4
  %over = icmp eq i32 %watched, 0
  br i1 %over, label %nothing, label %watch.rest
watch.rest:
  %watch.tired = icmp sle i64 %watch.left, 0
  br i1 %watch.tired, label %unfinished, label %watch.again
watch.again:
  call void PAUSE
  %watch.fewer = add i64 %watch.left, -1
  br label %watch
unfinished:
  ret i64 1

; --- who waits ---

finish:
  %f.remaining = getelementptr i64, ptr %where, i64 16
  %f.before = atomicrmw or ptr %f.remaining, i32 1073741824 seq_cst
  %f.word = or i32 %f.before, 1073741824
  %f.over = icmp eq i32 %f.word, 1073741824
  br i1 %f.over, label %nothing, label %f.wait
f.wait:
  %f.syscall.address = getelementptr i64, ptr %where, i64 7
  %f.syscall = load ptr, ptr %f.syscall.address
  %f.time = getelementptr i64, ptr %where, i64 10
  %f.value = zext i32 %f.word to i64
  %f.slept = call i64 (i64, ...) %f.syscall(i64 FUTEX, ptr %f.remaining, i64 128, i64 %f.value, ptr %f.time)
  %f.after = load atomic i32, ptr %f.remaining acquire, align 4
  %f.left = and i32 %f.after, 1073741823
  %f.result = zext i32 %f.left to i64
  ret i64 %f.result

; --- how long a look takes ---

measure:
  %m.looks.address = getelementptr i64, ptr %where, i64 6
  %m.looks = load i64, ptr %m.looks.address
  br label %m.look
m.look:
  %m.left = phi i64 [ %m.looks, %measure ], [ %m.fewer, %m.look ]
  %m.seen = load atomic i32, ptr %where acquire, align 4
  call void PAUSE
  %m.fewer = add i64 %m.left, -1
  %m.more = icmp sgt i64 %m.fewer, 0
  br i1 %m.more, label %m.look, label %nothing

; --- who calls a helper back to Python ---

call:
  %c.before = atomicrmw xchg ptr %where, i32 3 seq_cst
  %c.sleeps = icmp eq i32 %c.before, 1
  br i1 %c.sleeps, label %c.wake, label %nothing
c.wake:
  %c.syscall.address = getelementptr i64, ptr %where, i64 7
  %c.syscall = load ptr, ptr %c.syscall.address
  %c.woken = call i64 (i64, ...) %c.syscall(i64 FUTEX, ptr %where, i64 129, i64 1, ptr null, ptr null, i64 0)
  ret i64 0
nothing:
  ret i64 0
}
declare i64 @llvm.smin.i64(i64, i64)
declare void DECLARED
"""
