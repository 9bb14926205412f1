"""The functions that sanitized code carries along, as LLVM IR.

`@inspect.find` gives the four words (`sites`) of the memory an address lies in: by bisection among the arrays of the
launch, then among what `alloca` reserved on this thread.  `@inspect.elements` looks at the addresses of an access one
by one: 0 says that all is well, and then what is written counts as written; 1 that somebody must look closer.  `%home`
is the only memory allowed, where that is known; `%last` takes the memory of the last element, where the next access is
likely to go.  Elements have 1, 2, 4 or 8 bytes; the shadow is read 8 bytes at a time, and has so much room behind it.
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
  %width = shl i64 %size, 3
  %beyond = sub i64 64, %width
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
  %shadow.place = getelementptr i64, ptr %home.words, i64 3
  %shadow = load i64, ptr %shadow.place, align 8
  %shadowed = icmp ne i64 %shadow, 0
  %look = and i1 %shadowed, %reading
  br i1 %look, label %look.first, label %next
look.first:
  %base = load i64, ptr %home.words, align 8
  %distance = sub i64 %address, %base
  %shadow.address = add i64 %shadow, %distance
  %shadow.pointer = inttoptr i64 %shadow.address to ptr
  %bits = load i64, ptr %shadow.pointer, align 1
  %own.bits = shl i64 %bits, %beyond
  %written = icmp eq i64 %own.bits, 0
  br i1 %written, label %next, label %doubt
next:
  %words.next = phi ptr [ %words, %masked ], [ %home.words, %allowed ], [ %home.words, %look.first ]
  %touched.next = phi i1 [ %touched, %masked ], [ true, %allowed ], [ true, %look.first ]
  %number.next = add i64 %number, 1
  br label %head
doubt:
  ret i64 1
checked:
  %remember = icmp ne ptr %last, null
  %worth = and i1 %remember, %touched
  br i1 %worth, label %note, label %write
note:
  store ptr %words, ptr %last, align 8
  br label %write
write:
  br i1 %writing, label %write.head.first, label %done
write.head.first:
  br label %write.head
write.head:
  %turn.number = phi i64 [ 0, %write.head.first ], [ %turn.next, %write.next ]
  %write.words = phi ptr [ %first.words, %write.head.first ], [ %write.words.next, %write.next ]
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
  %write.shadow.place = getelementptr i64, ptr %write.home, i64 3
  %write.shadow = load i64, ptr %write.shadow.place, align 8
  %write.shadowed = icmp ne i64 %write.shadow, 0
  br i1 %write.shadowed, label %clear, label %write.next
clear:
  %write.base = load i64, ptr %write.home, align 8
  %write.distance = sub i64 %write.address, %write.base
  %write.shadow.address = add i64 %write.shadow, %write.distance
  %write.pointer = inttoptr i64 %write.shadow.address to ptr
  switch i64 %size, label %clear.one [ i64 2, label %clear.two i64 4, label %clear.four i64 8, label %clear.eight ]
clear.one:
  store i8 0, ptr %write.pointer, align 1
  br label %write.next
clear.two:
  store i16 0, ptr %write.pointer, align 1
  br label %write.next
clear.four:
  store i32 0, ptr %write.pointer, align 1
  br label %write.next
clear.eight:
  store i64 0, ptr %write.pointer, align 1
  br label %write.next
write.next:
  %write.words.next = phi ptr [ %write.words, %write.test ], [ %write.home, %write.known ],
    [ %write.home, %clear.one ], [ %write.home, %clear.two ], [ %write.home, %clear.four ],
    [ %write.home, %clear.eight ]
  %turn.next = add i64 %turn.number, 1
  br label %write.head
done:
  ret i64 0
}
"""
