"""The functions that sanitized code calls.

- `@inspect.find` returns the four words (`sites`) of the memory an address lies in: by bisection among the arrays of
  the launch, then among the allocas of this thread.
- `@inspect.elements` checks the addresses of an access, one by one: 0 says that all is well, and then what is written
  counts as written; 1 leaves it to Python.  `%array` is the only memory allowed, where that is known; `%last` takes the
  memory of the last element, where the next access is likely to go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tileir.execute.cpu.sanitizer.sites import END, READS, SHADOW, START, WORDS, WRITABLE, WRITES
from tileir.execute.cpu.vector.builder import Builder, Loop, Module

STRICT: Final = 4
"""In `%access`, beside what it does: an element that is masked is left to Python."""

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

        def write() -> None:
            self._pass(False)

        builder.branch(self.writes, write)
        builder.do("ret i64 0")

    def _has(self, bit: int) -> str:
        return self.builder.emit(f"icmp ne i64 {self.builder.emit(f'and i64 %access, {bit}')}, 0")

    def _doubt_if(self, condition: str) -> None:
        self.builder.branch(condition, lambda: self.builder.do("ret i64 1"))

    def _pass(self, checks: bool) -> tuple[str, str]:
        """Visit all elements; gives the words of the memory that the last one lies in, and whether one does."""
        builder = self.builder
        loop = Loop(builder)
        number, words = loop.carry("i64", 0), loop.carry("ptr", self.first)
        touched = loop.carry("i1", "false")

        def masked() -> list[str]:
            if checks:
                self._doubt_if(self.strict)
            return [f"ptr {words}", f"i1 {touched}"]

        def chosen() -> list[str]:
            bit = builder.emit(f"load i8, ptr {builder.moved('%mask', number)}, align 1")
            return [f"i1 {builder.emit(f'icmp ne i8 {bit}, 0')}"]

        def iteration() -> None:
            builder.go_on(builder.emit(f"icmp ult i64 {number}, %total"), loop.end)
            (active,) = builder.branch(self.is_whole, lambda: ["i1 true"], chosen)
            following, some = builder.branch(active, lambda: self._visit(number, words, checks), masked)
            loop.becomes(words, following)
            loop.becomes(touched, some)
            loop.becomes(number, builder.emit(f"add i64 {number}, 1"))

        loop.write(iteration, lambda: "")
        return words, touched

    def _visit(self, number: str, words: str, checks: bool) -> list[str]:
        """The words of the memory that an element lies in."""
        builder = self.builder
        address = builder.word("%addresses", number)
        begun = builder.emit(f"icmp uge i64 {address}, {builder.word(words, START)}")
        here = builder.all_of([begun, builder.emit(f"icmp ult i64 {address}, {builder.word(words, END)}")])

        def search() -> list[str]:
            if checks:
                self._doubt_if(self.has_array)
            found = builder.emit(f"call ptr @inspect.find({_TABLES}, i64 {address})")
            if checks:
                self._doubt_if(builder.emit(f"icmp eq ptr {found}, null"))
            return [f"ptr {found}"]

        (array,) = builder.branch(here, lambda: [f"ptr {words}"], search)
        if checks:
            self._check(array, address)
        shadow = builder.word(array, SHADOW)
        conditions = [builder.emit(f"icmp ne i64 {shadow}, 0"), *([self.reads] if checks else [])]
        builder.branch(builder.all_of(conditions), lambda: self._use_shadow(array, address, shadow, checks))
        return [f"ptr {array}", "i1 true"]

    def _check(self, array: str, address: str) -> None:
        builder = self.builder
        length = builder.emit(f"sub i64 {builder.word(array, END)}, {address}")
        short = builder.emit(f"icmp ult i64 {length}, %size")
        low = builder.emit(f"and i64 {address}, {builder.emit('sub i64 %size, 1')}")
        self._doubt_if(builder.any_of([short, builder.emit(f"icmp ne i64 {low}, 0")]))
        closed = builder.emit(f"icmp sle i64 {builder.word(array, WRITABLE)}, 0")
        self._doubt_if(builder.all_of([closed, self.writes]))

    def _use_shadow(self, array: str, address: str, shadow: str, checks: bool) -> None:
        """Check that an element was written, or mark it as written."""
        builder = self.builder
        distance = builder.emit(f"sub i64 {address}, {builder.word(array, START)}")
        marks = builder.pointer(builder.add(shadow, distance))
        if not checks:
            builder.fill(marks, 0, "%size")
            return
        # Eight bytes, of which the first are those of the element.
        beyond = builder.emit(f"sub i64 64, {builder.emit('shl i64 %size, 3')}")
        own = builder.emit(f"shl i64 {builder.emit(f'load i64, ptr {marks}, align 1')}, {beyond}")
        self._doubt_if(builder.emit(f"icmp ne i64 {own}, 0"))


_TABLES: Final = "ptr %regions, i64 %count, ptr %reserved, i64 %reserves"
_FUNCTIONS: Final[dict[str, tuple[str, Callable[[Builder], object]]]] = {
    "find": (f"ptr {_TABLES}, i64 %address", _find),
    "elements": (
        f"i64 {_TABLES}, ptr %array, ptr %addresses, ptr %mask, i64 %total, i64 %size, i64 %access, ptr %last",
        _Elements,
    ),
}
