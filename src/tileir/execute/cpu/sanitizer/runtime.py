"""The functions that sanitized code carries along.

`@inspect.find` gives the four words (`sites`) of the memory an address lies in: by bisection among the arrays of the
launch, then among what `alloca` reserved on this thread.  `@inspect.run` counts elements that lie side by side.
`@inspect.unwritten` looks at a shadow, 8 bytes at a time; so many may be read behind each.  `@inspect.elements` looks
at the addresses of an access, run by run: 0 says that all is well, and then what is written counts as written; 1 that
somebody must look closer.  `%array` is the only memory allowed, where that is known; `%last` takes the memory of the
last element, where the next access is likely to go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tileir.execute.cpu.sanitizer.sites import END, READS, SHADOW, START, WORDS, WRITABLE, WRITES
from tileir.execute.cpu.vector.builder import Builder, Loop, Module

STRICT: Final = 4
"""In `%access`, beside what it does: an element that is masked is worth a closer look."""

_NOTHING: Final = f"@inspect.nothing = internal constant [{WORDS} x i64] zeroinitializer"


def define_functions(module: Module) -> None:
    module.add([_NOTHING])
    for name, (head, write) in _FUNCTIONS.items():
        builder = Builder(module)
        write(builder)
        result, _, parameters = head.partition(" ")
        module.define(f"define internal {result} @inspect.{name}({parameters}) nounwind", builder.lines)


def _words(builder: Builder, table: str, number: str) -> str:
    return builder.emit(f"getelementptr [{WORDS} x i64], ptr {table}, i64 {number}")


def _find(builder: Builder) -> None:
    loop = Loop(builder)
    low, high = loop.carry("i64", 0), loop.carry("i64", "%count")

    def halve() -> None:
        builder.go_on(builder.emit(f"icmp ult i64 {low}, {high}"), loop.end)
        middle = builder.emit(f"lshr i64 {builder.add(low, high)}, 1")
        start = builder.word(_words(builder, "%regions", middle), START)
        before = builder.emit(f"icmp ule i64 {start}, %address")
        after = builder.add(middle, 1)
        loop.becomes(low, builder.emit(f"select i1 {before}, i64 {after}, i64 {low}"))
        loop.becomes(high, builder.emit(f"select i1 {before}, i64 {high}, i64 {middle}"))

    loop.write(halve, lambda: "")

    def near() -> None:
        words = _words(builder, "%regions", builder.emit(f"sub i64 {low}, 1"))
        inside = builder.emit(f"icmp ult i64 %address, {builder.word(words, END)}")
        builder.branch(inside, lambda: builder.do(f"ret ptr {words}"))

    builder.branch(builder.emit(f"icmp ne i64 {low}, 0"), near)

    def own(number: str, values: list[str]) -> list[str]:
        words = _words(builder, "%reserved", number)
        begun = builder.emit(f"icmp ule i64 {builder.word(words, START)}, %address")
        inside = builder.all_of([begun, builder.emit(f"icmp ult i64 %address, {builder.word(words, END)}")])
        builder.branch(inside, lambda: builder.do(f"ret ptr {words}"))
        return []

    builder.each("%reserves", own, [])
    builder.do("ret ptr null")


def _chosen(builder: Builder, number: str) -> str:
    """An i1: the mask has an element set."""
    bit = builder.emit(f"load i8, ptr {builder.moved('%mask', number)}, align 1")
    return builder.emit(f"icmp ne i8 {bit}, 0")


def _run(builder: Builder) -> None:
    is_whole = builder.emit("icmp eq ptr %mask, null")
    loop = Loop(builder)
    count, before = loop.carry("i64", 1), loop.carry("i64", builder.word("%addresses", "%first"))

    def one() -> None:
        number = builder.emit(f"add i64 %first, {count}")
        builder.go_on(builder.emit(f"icmp ult i64 {number}, %total"), loop.end)
        address = builder.word("%addresses", number)
        expected = builder.emit(f"add i64 {before}, %size")
        builder.go_on(builder.emit(f"icmp eq i64 {address}, {expected}"), loop.end)
        builder.branch(is_whole, None, lambda: builder.go_on(_chosen(builder, number), loop.end))
        loop.becomes(before, address)
        loop.becomes(count, builder.emit(f"add i64 {count}, 1"))

    loop.write(one, lambda: "")
    builder.do(f"ret i64 {count}")


def _unwritten(builder: Builder) -> None:
    loop = Loop(builder)
    done = loop.carry("i64", 0)
    left = bits = ""

    def eight() -> None:
        nonlocal left, bits
        left = builder.emit(f"sub i64 %bytes, {done}")
        bits = builder.emit(f"load i64, ptr {builder.moved('%shadow', done)}, align 1")
        builder.go_on(builder.emit(f"icmp uge i64 {left}, 8"), loop.end)
        builder.branch(builder.emit(f"icmp ne i64 {bits}, 0"), lambda: builder.do("ret i1 true"))
        loop.becomes(done, builder.emit(f"add i64 {done}, 8"))

    loop.write(eight, lambda: "")
    builder.branch(builder.emit(f"icmp eq i64 {left}, 0"), lambda: builder.do("ret i1 false"))
    beyond = builder.emit(f"sub i64 64, {builder.emit(f'shl i64 {left}, 3')}")
    own = builder.emit(f"shl i64 {bits}, {beyond}")
    builder.do(f"ret i1 {builder.emit(f'icmp ne i64 {own}, 0')}")


class _Elements:
    """Writes `@inspect.elements`: once through the elements to check them, and again to note what is written."""

    def __init__(self, builder: Builder) -> None:
        self.builder: Builder = builder
        self.has_array: str = builder.emit("icmp ne ptr %array, null")
        self.first: str = builder.emit(f"select i1 {self.has_array}, ptr %array, ptr @inspect.nothing")
        self.is_whole: str = builder.emit("icmp eq ptr %mask, null")
        self.reads, self.writes, self.strict = (self._has(bit) for bit in (READS, WRITES, STRICT))
        words, touched = self._pass(True)
        remember = builder.emit("icmp ne ptr %last, null")
        worth = builder.all_of([remember, touched])
        builder.branch(worth, lambda: builder.do(f"store ptr {words}, ptr %last, align 8"))
        builder.branch(self.writes, lambda: self._write())
        builder.do("ret i64 0")

    def _has(self, bit: int) -> str:
        return self.builder.emit(f"icmp ne i64 {self.builder.emit(f'and i64 %access, {bit}')}, 0")

    def _doubt_if(self, condition: str) -> None:
        self.builder.branch(condition, lambda: self.builder.do("ret i64 1"))

    def _write(self) -> None:
        self._pass(False)

    def _pass(self, checks: bool) -> tuple[str, str]:
        """Go through all elements; gives the words of the memory that the last one lies in, and whether one does."""
        builder = self.builder
        loop = Loop(builder)
        number, words = loop.carry("i64", 0), loop.carry("ptr", self.first)
        touched = loop.carry("i1", "false")

        def masked() -> list[str]:
            if checks:
                self._doubt_if(self.strict)
            return [f"ptr {words}", f"i1 {touched}", "i64 1"]

        def turn() -> None:
            builder.go_on(builder.emit(f"icmp ult i64 {number}, %total"), loop.end)
            (active,) = builder.branch(self.is_whole, lambda: ["i1 true"], lambda: [f"i1 {_chosen(builder, number)}"])
            following, some, step = builder.branch(active, lambda: self._look(number, words, checks), masked)
            loop.becomes(words, following)
            loop.becomes(touched, some)
            loop.becomes(number, builder.emit(f"add i64 {number}, {step}"))

        loop.write(turn, lambda: "")
        return words, touched

    def _look(self, number: str, words: str, checks: bool) -> list[str]:
        """The words of the memory that an element lies in, and how many elements go on from it there."""
        builder = self.builder
        address = builder.word("%addresses", number)
        begun = builder.emit(f"icmp uge i64 {address}, {builder.word(words, START)}")
        here = builder.all_of([begun, builder.emit(f"icmp ult i64 {address}, {builder.word(words, END)}")])

        def search() -> list[str]:
            if checks:
                self._doubt_if(self.has_array)
            tables = "ptr %regions, i64 %count, ptr %reserved, i64 %reserves"
            found = builder.emit(f"call ptr @inspect.find({tables}, i64 {address})")
            if checks:
                self._doubt_if(builder.emit(f"icmp eq ptr {found}, null"))
            return [f"ptr {found}"]

        (array,) = builder.branch(here, lambda: [f"ptr {words}"], search)
        length = builder.emit(f"sub i64 {builder.word(array, END)}, {address}")
        if checks:
            self._check(array, address, length)
        values = f"ptr %addresses, ptr %mask, i64 {number}, i64 %total, i64 %size"
        beside = builder.emit(f"call i64 @inspect.run({values})")
        # As much of the run as lies in this memory.
        places = builder.emit(f"udiv i64 {length}, %size")
        run = builder.call("i64", "llvm.umin.i64", [f"i64 {places}", f"i64 {beside}"])
        shadow = builder.word(array, SHADOW)
        wanted = builder.emit(f"icmp ne i64 {shadow}, 0")
        if checks:
            wanted = builder.all_of([wanted, self.reads])
        builder.branch(wanted, lambda: self._look_at_shadow(array, address, run, shadow, checks))
        return [f"ptr {array}", "i1 true", f"i64 {run}"]

    def _check(self, array: str, address: str, length: str) -> None:
        builder = self.builder
        short = builder.emit(f"icmp ult i64 {length}, %size")
        low = builder.emit(f"and i64 {address}, {builder.emit('sub i64 %size, 1')}")
        self._doubt_if(builder.any_of([short, builder.emit(f"icmp ne i64 {low}, 0")]))
        closed = builder.emit(f"icmp sle i64 {builder.word(array, WRITABLE)}, 0")
        self._doubt_if(builder.all_of([closed, self.writes]))

    def _look_at_shadow(self, array: str, address: str, run: str, shadow: str, checks: bool) -> None:
        builder = self.builder
        distance = builder.emit(f"sub i64 {address}, {builder.word(array, START)}")
        place = builder.pointer(builder.add(shadow, distance))
        size = builder.multiply(run, "%size")
        if checks:
            self._doubt_if(builder.emit(f"call i1 @inspect.unwritten(ptr {place}, i64 {size})"))
        else:
            builder.fill(place, 0, size)


_TABLES: Final = "ptr %regions, i64 %count, ptr %reserved, i64 %reserves"
_FUNCTIONS: Final[dict[str, tuple[str, Callable[[Builder], object]]]] = {
    "find": (f"ptr {_TABLES}, i64 %address", _find),
    "run": ("i64 ptr %addresses, ptr %mask, i64 %first, i64 %total, i64 %size", _run),
    "unwritten": ("i1 ptr %shadow, i64 %bytes", _unwritten),
    "elements": (
        f"i64 {_TABLES}, ptr %array, ptr %addresses, ptr %mask, i64 %total, i64 %size, i64 %access, ptr %last",
        _Elements,
    ),
}
