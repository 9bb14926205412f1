"""The functions that sanitized code carries along, as LLVM IR.

`@inspect.find` gives the four words (`sites`) of the memory an address lies in: by bisection among the arrays of the
launch, then among what `alloca` reserved on this thread.  `@inspect.run` counts elements that lie side by side.
`@inspect.unwritten` looks at a shadow, 8 bytes at a time; there is so much room behind each.  `@inspect.elements` looks
at the addresses of an access, run by run: 0 says that all is well, and then what is written counts as written; 1 that
somebody must look closer.  `%home` is the only memory allowed, where that is known; `%last` takes the memory of the
last element, where the next access is likely to go.
"""

from __future__ import annotations

from typing import Final

FUNCTIONS: Final = """
@inspect.nothing = internal constant [4 x i64] zeroinitializer
define internal ptr @inspect.find(ptr %regions, i64 %count, ptr %reserved, i64 %reserves, i64 %address) nounwind {
entry:
  br label %head
head:
  %low = phi i64 [ 0, %entry ], [ %low.next, %turn ]
  %high = phi i64 [ %count, %entry ], [ %high.next, %turn ]
  %more = icmp ult i64 %low, %high
  br i1 %more, label %turn, label %found
turn:
  %sum = add i64 %low, %high
  %middle = lshr i64 %sum, 1
  %place = getelementptr [4 x i64], ptr %regions, i64 %middle
  %start = load i64, ptr %place, align 8
  %before = icmp ule i64 %start, %address
  %after = add i64 %middle, 1
  %low.next = select i1 %before, i64 %after, i64 %low
  %high.next = select i1 %before, i64 %high, i64 %middle
  br label %head
found:
  %none = icmp eq i64 %low, 0
  br i1 %none, label %own, label %near
near:
  %index = sub i64 %low, 1
  %words = getelementptr [4 x i64], ptr %regions, i64 %index
  %end.place = getelementptr i64, ptr %words, i64 1
  %end = load i64, ptr %end.place, align 8
  %inside = icmp ult i64 %address, %end
  br i1 %inside, label %yes, label %own
yes:
  ret ptr %words
own:
  br label %own.head
own.head:
  %number = phi i64 [ 0, %own ], [ %number.next, %own.next ]
  %left = icmp ult i64 %number, %reserves
  br i1 %left, label %own.turn, label %no
own.turn:
  %own.words = getelementptr [4 x i64], ptr %reserved, i64 %number
  %own.start = load i64, ptr %own.words, align 8
  %own.end.place = getelementptr i64, ptr %own.words, i64 1
  %own.end = load i64, ptr %own.end.place, align 8
  %from = icmp ule i64 %own.start, %address
  %to = icmp ult i64 %address, %own.end
  %both = and i1 %from, %to
  br i1 %both, label %own.yes, label %own.next
own.yes:
  ret ptr %own.words
own.next:
  %number.next = add i64 %number, 1
  br label %own.head
no:
  ret ptr null
}
define internal i64 @inspect.run(ptr %addresses, ptr %mask, i64 %first, i64 %total, i64 %size) nounwind {
entry:
  %all = icmp eq ptr %mask, null
  %first.place = getelementptr i64, ptr %addresses, i64 %first
  %first.address = load i64, ptr %first.place, align 8
  br label %head
head:
  %count = phi i64 [ 1, %entry ], [ %count.next, %next ]
  %before = phi i64 [ %first.address, %entry ], [ %address, %next ]
  %number = add i64 %first, %count
  %more = icmp ult i64 %number, %total
  br i1 %more, label %turn, label %done
turn:
  %place = getelementptr i64, ptr %addresses, i64 %number
  %address = load i64, ptr %place, align 8
  %expected = add i64 %before, %size
  %beside = icmp eq i64 %address, %expected
  br i1 %beside, label %test, label %done
test:
  br i1 %all, label %next, label %look
look:
  %mask.place = getelementptr i8, ptr %mask, i64 %number
  %bit = load i8, ptr %mask.place, align 1
  %chosen = icmp ne i8 %bit, 0
  br i1 %chosen, label %next, label %done
next:
  %count.next = add i64 %count, 1
  br label %head
done:
  ret i64 %count
}
define internal i1 @inspect.unwritten(ptr %shadow, i64 %bytes) nounwind {
entry:
  br label %head
head:
  %done = phi i64 [ 0, %entry ], [ %done.next, %turn ]
  %left = sub i64 %bytes, %done
  %place = getelementptr i8, ptr %shadow, i64 %done
  %bits = load i64, ptr %place, align 1
  %whole = icmp uge i64 %left, 8
  br i1 %whole, label %turn, label %rest
turn:
  %done.next = add i64 %done, 8
  %clear = icmp eq i64 %bits, 0
  br i1 %clear, label %head, label %yes
rest:
  %none = icmp eq i64 %left, 0
  br i1 %none, label %no, label %part
part:
  %width = shl i64 %left, 3
  %beyond = sub i64 64, %width
  %own = shl i64 %bits, %beyond
  %answer = icmp ne i64 %own, 0
  ret i1 %answer
yes:
  ret i1 true
no:
  ret i1 false
}
define internal i64 @inspect.elements(ptr %regions, i64 %count, ptr %reserved, i64 %reserves, ptr %home, ptr %addresses,
    ptr %mask, i64 %total, i64 %size, i64 %manner, ptr %last) nounwind {
entry:
  %at.home = icmp ne ptr %home, null
  %first.words = select i1 %at.home, ptr %home, ptr @inspect.nothing
  %all = icmp eq ptr %mask, null
  %reading.bit = and i64 %manner, 1
  %reading = icmp ne i64 %reading.bit, 0
  %writing.bit = and i64 %manner, 2
  %writing = icmp ne i64 %writing.bit, 0
  %strict.bit = and i64 %manner, 4
  %strict = icmp ne i64 %strict.bit, 0
  %less = sub i64 %size, 1
  br label %head
head:
  %number = phi i64 [ 0, %entry ], [ %number.next, %next ]
  %words = phi ptr [ %first.words, %entry ], [ %words.next, %next ]
  %touched = phi i1 [ false, %entry ], [ %touched.next, %next ]
  %more = icmp ult i64 %number, %total
  br i1 %more, label %turn, label %checked
turn:
  br i1 %all, label %active, label %test
test:
  %mask.place = getelementptr i8, ptr %mask, i64 %number
  %bit = load i8, ptr %mask.place, align 1
  %chosen = icmp ne i8 %bit, 0
  br i1 %chosen, label %active, label %masked
masked:
  br i1 %strict, label %doubt, label %next
active:
  %address.place = getelementptr i64, ptr %addresses, i64 %number
  %address = load i64, ptr %address.place, align 8
  %start = load i64, ptr %words, align 8
  %end.place = getelementptr i64, ptr %words, i64 1
  %end = load i64, ptr %end.place, align 8
  %not.before = icmp uge i64 %address, %start
  %not.after = icmp ult i64 %address, %end
  %here = and i1 %not.before, %not.after
  br i1 %here, label %known, label %search
search:
  br i1 %at.home, label %doubt, label %elsewhere
elsewhere:
  %found = call ptr @inspect.find(ptr %regions, i64 %count, ptr %reserved, i64 %reserves, i64 %address)
  %lost = icmp eq ptr %found, null
  br i1 %lost, label %doubt, label %known
known:
  %home.words = phi ptr [ %words, %active ], [ %found, %elsewhere ]
  %last.place = getelementptr i64, ptr %home.words, i64 1
  %limit = load i64, ptr %last.place, align 8
  %room = sub i64 %limit, %address
  %fits = icmp uge i64 %room, %size
  %low = and i64 %address, %less
  %even = icmp eq i64 %low, 0
  %fine = and i1 %fits, %even
  br i1 %fine, label %placed, label %doubt
placed:
  %flag.place = getelementptr i64, ptr %home.words, i64 2
  %flag = load i64, ptr %flag.place, align 8
  %open = icmp sgt i64 %flag, 0
  %closed = xor i1 %open, true
  %forbidden = and i1 %closed, %writing
  br i1 %forbidden, label %doubt, label %allowed
allowed:
  ; As much of the run as lies in this memory.
  %side.by.side = call i64 @inspect.run(ptr %addresses, ptr %mask, i64 %number, i64 %total, i64 %size)
  %places = udiv i64 %room, %size
  %fewer = icmp ult i64 %places, %side.by.side
  %run = select i1 %fewer, i64 %places, i64 %side.by.side
  %shadow.place = getelementptr i64, ptr %home.words, i64 3
  %shadow = load i64, ptr %shadow.place, align 8
  %shadowed = icmp ne i64 %shadow, 0
  br i1 %shadowed, label %look, label %next
look:
  %base = load i64, ptr %home.words, align 8
  %distance = sub i64 %address, %base
  %shadow.address = add i64 %shadow, %distance
  %shadow.pointer = inttoptr i64 %shadow.address to ptr
  %bytes = mul i64 %run, %size
  br i1 %reading, label %read, label %next
read:
  %unwritten = call i1 @inspect.unwritten(ptr %shadow.pointer, i64 %bytes)
  br i1 %unwritten, label %doubt, label %next
next:
  %words.next = phi ptr [ %words, %masked ], [ %home.words, %allowed ], [ %home.words, %look ], [ %home.words, %read ]
  %touched.next = phi i1 [ %touched, %masked ], [ true, %allowed ], [ true, %look ], [ true, %read ]
  %step = phi i64 [ 1, %masked ], [ %run, %allowed ], [ %run, %look ], [ %run, %read ]
  %number.next = add i64 %number, %step
  br label %head
doubt:
  ret i64 1
checked:
  %remember = icmp ne ptr %last, null
  %worth = and i1 %remember, %touched
  br i1 %worth, label %note, label %written
note:
  store ptr %words, ptr %last, align 8
  br label %written
written:
  br i1 %writing, label %write.before, label %done
write.before:
  br label %write.head
write.head:
  %turn.number = phi i64 [ 0, %write.before ], [ %turn.next, %write.next ]
  %write.words = phi ptr [ %first.words, %write.before ], [ %write.words.next, %write.next ]
  %write.more = icmp ult i64 %turn.number, %total
  br i1 %write.more, label %write.turn, label %done
write.turn:
  br i1 %all, label %write.active, label %write.test
write.test:
  %write.mask.place = getelementptr i8, ptr %mask, i64 %turn.number
  %write.bit = load i8, ptr %write.mask.place, align 1
  %write.chosen = icmp ne i8 %write.bit, 0
  br i1 %write.chosen, label %write.active, label %write.next
write.active:
  %write.address.place = getelementptr i64, ptr %addresses, i64 %turn.number
  %write.address = load i64, ptr %write.address.place, align 8
  %write.start = load i64, ptr %write.words, align 8
  %write.end.place = getelementptr i64, ptr %write.words, i64 1
  %write.end = load i64, ptr %write.end.place, align 8
  %write.from = icmp uge i64 %write.address, %write.start
  %write.to = icmp ult i64 %write.address, %write.end
  %write.here = and i1 %write.from, %write.to
  br i1 %write.here, label %write.known, label %write.search
write.search:
  %write.found = call ptr @inspect.find(ptr %regions, i64 %count, ptr %reserved, i64 %reserves, i64 %write.address)
  br label %write.known
write.known:
  %write.home = phi ptr [ %write.words, %write.active ], [ %write.found, %write.search ]
  %write.limit.place = getelementptr i64, ptr %write.home, i64 1
  %write.limit = load i64, ptr %write.limit.place, align 8
  %write.room = sub i64 %write.limit, %write.address
  %write.places = udiv i64 %write.room, %size
  %write.side = call i64 @inspect.run(ptr %addresses, ptr %mask, i64 %turn.number, i64 %total, i64 %size)
  %write.fewer = icmp ult i64 %write.places, %write.side
  %write.run = select i1 %write.fewer, i64 %write.places, i64 %write.side
  %write.shadow.place = getelementptr i64, ptr %write.home, i64 3
  %write.shadow = load i64, ptr %write.shadow.place, align 8
  %write.shadowed = icmp ne i64 %write.shadow, 0
  br i1 %write.shadowed, label %clear, label %write.next
clear:
  %write.base = load i64, ptr %write.home, align 8
  %write.distance = sub i64 %write.address, %write.base
  %write.shadow.address = add i64 %write.shadow, %write.distance
  %write.pointer = inttoptr i64 %write.shadow.address to ptr
  %write.bytes = mul i64 %write.run, %size
  call void @llvm.memset.p0.i64(ptr %write.pointer, i8 0, i64 %write.bytes, i1 false)
  br label %write.next
write.next:
  %write.words.next = phi ptr [ %write.words, %write.test ], [ %write.home, %write.known ], [ %write.home, %clear ]
  %write.step = phi i64 [ 1, %write.test ], [ %write.run, %write.known ], [ %write.run, %clear ]
  %turn.next = add i64 %turn.number, %write.step
  br label %write.head
done:
  ret i64 0
}
"""
