"""The sites in sanitized code that can report something, and the table of memory they search.

Each has a number.  Where compiled code is in doubt it calls

    void inspector(i64 site, i64 block, ptr values)

with the operands of the operation; `report` decides, with the interpreter's own rules, what is wrong.  The values are
64-bit numbers; the address of the words about allocas comes first, then by kind:

    pointers   where to write the result, how many elements, their addresses, their mask or 0
    view       where to write the result, address, extents and strides of the tensor, indices, addresses and mask of a
               gather or 0
    numbers    how many elements, then the address of each operand
    failure    the element, a detail

Before that, emitted code calls two functions:

    find       returns the table entry of the region that an address lies in, null if there is none
    elements   checks the addresses of an access, one by one; an i1: all is well, and then what is written counts as
               written.  `%array` is the only region allowed, where that is known
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from tileir.execute.cpu.ir.checks import Check
from tileir.execute.cpu.vector.builder import Builder, Loop
from tileir.execute.cpu.vector.module import Module
from tileir.ir.core import Operation

START, END, WRITABLE, SHADOW = range(4)
"""A region of memory is four words: where it begins, where it ends, whether it is writable, and the address of its
shadow, a byte for each byte that is not zero if it was never written; 0 where everything counts as written."""
WORDS: Final = 4

SHADOW_PADDING: Final = 8  # Bytes after a shadow that may be read.

ANY_ARRAY: Final = -1  # In place of `WRITABLE`: the pointers of a site may go to any array after all.

READS: Final = 1
WRITES: Final = 2
STRICT: Final = 4  # What an access does, and that an element that is masked is left to Python.


@dataclass(eq=False, repr=False, slots=True)
class Site:
    """One site; `origin` names the array its pointers come from, if that is known (`sanitizer.bounds`)."""

    kind: Literal["pointers", "view", "numbers", "failure"]
    operation: Operation
    origin: str = ""
    check: Check | None = None


def access_kind(operation: Operation) -> int:
    declaration = operation.declaration
    return (READS if declaration.reads is not None else 0) | (WRITES if declaration.writes is not None else 0)


def define_functions(module: Module) -> None:
    module.add([f"@inspect.nothing = internal constant [{WORDS} x i64] zeroinitializer"])
    for name, (head, write) in _FUNCTIONS.items():
        builder = Builder(module)
        write(builder)
        result, _, parameters = head.partition(" ")
        module.define(f"define internal {result} @inspect.{name}({parameters}) nounwind", builder.lines)


def _contains(builder: Builder, words: str, address: str) -> str:
    begun = builder.emit(f"icmp uge i64 {address}, {builder.word(words, START)}")
    return builder.all_of([begun, builder.emit(f"icmp ult i64 {address}, {builder.word(words, END)}")])


def _find(builder: Builder) -> None:
    def search(table: str, count: str) -> None:
        def one(number: str, values: list[str]) -> list[str]:
            words = builder.emit(f"getelementptr [{WORDS} x i64], ptr {table}, i64 {number}")
            builder.branch(_contains(builder, words, "%address"), lambda: builder.do(f"ret ptr {words}"))
            return []

        builder.each(count, one, [])

    search("%regions", "%count")
    search("%reserved", "%reserves")
    builder.do("ret ptr null")


class _Elements:
    """Writes `@inspect.elements`: once through the elements to check them, and again to note what is written."""

    def __init__(self, builder: Builder) -> None:
        self.builder: Builder = builder
        self.has_array: str = builder.emit("icmp ne ptr %array, null")
        self.first: str = builder.emit(f"select i1 {self.has_array}, ptr %array, ptr @inspect.nothing")
        self.is_whole: str = builder.emit("icmp eq ptr %mask, null")
        self.reads, self.writes, self.strict = (
            builder.emit(f"icmp ne i64 {builder.emit(f'and i64 %access, {bit}')}, 0") for bit in (READS, WRITES, STRICT)
        )
        self._pass(True)
        builder.branch(self.writes, lambda: self._pass(False))
        builder.do("ret i1 true")

    def _doubt_if(self, condition: str) -> None:
        self.builder.branch(condition, lambda: self.builder.do("ret i1 false"))

    def _pass(self, checks: bool) -> None:
        builder = self.builder
        loop = Loop(builder)
        number, words = loop.carry("i64", 0), loop.carry("ptr", self.first)

        def masked() -> list[str]:
            if checks:
                self._doubt_if(self.strict)
            return [f"ptr {words}"]

        def chosen() -> list[str]:
            bit = builder.emit(f"load i8, ptr {builder.moved('%mask', number)}, align 1")
            return [f"i1 {builder.emit(f'icmp ne i8 {bit}, 0')}"]

        def iteration() -> None:
            builder.go_on(builder.emit(f"icmp ult i64 {number}, %total"), loop.end)
            (active,) = builder.branch(self.is_whole, lambda: ["i1 true"], chosen)
            (following,) = builder.branch(active, lambda: self._visit(number, words, checks), masked)
            loop.becomes(words, following)
            loop.becomes(number, builder.emit(f"add i64 {number}, 1"))

        loop.write(iteration, lambda: "")

    def _visit(self, number: str, words: str, checks: bool) -> list[str]:
        """The table entry of the region that an element lies in."""
        builder = self.builder
        address = builder.word("%addresses", number)
        here = _contains(builder, words, address)

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
        return [f"ptr {array}"]

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
_ACCESS: Final = "ptr %array, ptr %addresses, ptr %mask, i64 %total, i64 %size, i64 %access"
_FUNCTIONS: Final[dict[str, tuple[str, Callable[[Builder], object]]]] = {
    "find": (f"ptr {_TABLES}, i64 %address", _find),
    "elements": (f"i1 {_TABLES}, {_ACCESS}", _Elements),
}
