"""The functions that checked code calls when an access may leave its array.

    find       whether bytes lie in one region of the launch's memory (0 no, 1 yes but not to be written, 3 yes):
               arguments, globals, further memory of the caller, allocas of this thread
    elements   checks a list of addresses, whose elements are `step` apart in their tile; records the first that must
               not be touched as a failure, and returns whether all is well
    box        checks the part of a tile that lies in its tensor, in the same way.  It takes four words for each
               dimension: where the tile begins, the tensor's extent, its stride in bytes, the tile's extent
    remember   notes the region that an address lies in, where the next one is likely to be
    fail       records a failure, unless there is one

None of it runs often, so it is compiled quickly rather than well (`optnone`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tileir.execute.cpu.runtime.launch_record import FAILED, FAILURE, REGION_WORDS, REGIONS, STOP, Layout
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.module import Module


def define_functions(module: Module, layout: Layout, called: set[str]) -> None:
    needed = called | ({"find", "fail"} if called & {"elements", "box"} else set())
    for name, (result, parameters, write) in _FUNCTIONS.items():
        if name in needed:
            builder = Builder(module)
            write(builder, layout)
            head = f"define internal {result} @bounds.{name}(ptr %record, ptr %reserved, {parameters})"
            module.define(f"{head} cold noinline optnone nounwind", builder.lines)


def _table(builder: Builder, layout: Layout) -> tuple[str, str]:
    """The regions of memory that are not this thread's own, and how many there are."""
    given = builder.word("%record", REGIONS)
    is_own = builder.emit(f"icmp eq i64 {given}, 0")
    own = builder.emit(f"getelementptr i64, ptr %record, i64 {layout.regions}")
    table = str(builder.select(is_own, own, builder.pointer(given), "ptr"))
    count = builder.word("%record", REGIONS + 1)
    return table, builder.emit(f"select i1 {is_own}, i64 {layout.region_count}, i64 {count}")


def _region(builder: Builder, table: str, words: int, number: str, address: str) -> tuple[str, str, str, str]:
    """A region of memory: its words, where it begins and ends, and an i1: an address lies in it."""
    region = builder.emit(f"getelementptr i64, ptr {table}, i64 {builder.multiply(number, words)}")
    low, high = builder.word(region, 0), builder.word(region, 1)
    begun = builder.emit(f"icmp ule i64 {low}, {address}")
    return region, low, high, builder.all_of([begun, builder.emit(f"icmp ult i64 {address}, {high}")])


def _find(builder: Builder, layout: Layout) -> None:
    table, count = _table(builder, layout)

    def visit(table: str, words: int, count: Number, found: Number) -> str:
        def one(number: str, values: list[str]) -> list[str]:
            region, _, high, here = _region(builder, table, words, number, "%address")
            left = builder.emit(f"sub i64 {high}, %address")
            fits = builder.all_of([here, builder.emit(f"icmp uge i64 {left}, %bytes")])
            state = builder.add(builder.multiply(builder.word(region, 2), 2), 1) if words > 2 else 3
            return [builder.emit(f"or i64 {values[0]}, {builder.select(fits, state, 0)}")]

        return builder.each(count, one, [found])[0]

    found = visit(table, REGION_WORDS, count, 0)
    builder.do(f"ret i64 {visit('%reserved', 2, layout.reserve_count, found)}")


def _remember(builder: Builder, layout: Layout) -> None:
    table, count = _table(builder, layout)

    def one(number: str, values: list[str]) -> list[str]:
        region, low, high, here = _region(builder, table, REGION_WORDS, number, "%address")
        state = builder.add(builder.multiply(builder.word(region, 2), 2), 1)

        def found() -> None:
            length = builder.emit(f"sub i64 {high}, {low}")
            less = builder.emit("sub i64 %size, 1")
            places = builder.remaining(length, less)
            builder.do(f"store i64 {low}, ptr %last, align 8")
            builder.do(f"store i64 {places}, ptr {builder.moved('%last', 8)}, align 8")
            builder.do("ret void")

        builder.branch(builder.all_of([here, builder.emit(f"icmp uge i64 {state}, %needed")]), found)
        return []

    builder.each(count, one, [])
    builder.do("ret void")


def _check_all(
    builder: Builder, count: Number, visit: Callable[[str], tuple[str, str]], element: Callable[[str], Number]
) -> None:
    """Check elements by number; whether all is well.  The first one outside of memory fails, else the first not to be
    written.  `visit` returns an address and an i1: it is accessed; `element` returns an index in the tile."""

    def fail(number: str, address: str) -> None:
        numbers = ", ".join([f"i64 {each}" for each in ("%check", "%block", element(number), address)])
        builder.do(f"call void @bounds.fail(ptr %record, ptr %reserved, {numbers})")
        builder.do("ret i1 false")

    def one(number: str, values: list[str]) -> list[str]:
        (closed,) = values
        address, is_accessed = visit(number)

        def check() -> list[str]:
            found = builder.emit(f"call i64 @bounds.find(ptr %record, ptr %reserved, i64 {address}, i64 %size)")
            builder.branch(builder.emit(f"icmp eq i64 {found}, 0"), lambda: fail(number, address))
            forbidden = builder.emit(f"icmp ult i64 {found}, %needed")
            first = builder.all_of([forbidden, builder.emit(f"icmp eq i64 {closed}, -1")])
            return [f"i64 {builder.select(first, number, closed)}"]

        return builder.branch(is_accessed, check, lambda: [f"i64 {closed}"])

    (closed,) = builder.each(count, one, [-1])
    builder.branch(builder.emit(f"icmp ne i64 {closed}, -1"), lambda: fail(closed, visit(closed)[0]))
    builder.do("ret i1 true")


def _elements(builder: Builder, layout: Layout) -> None:
    def visit(number: str) -> tuple[str, str]:
        bit = builder.emit(f"load i8, ptr {builder.moved('%mask', number)}, align 1")
        return builder.word("%addresses", number), builder.emit(f"icmp ne i8 {bit}, 0")

    _check_all(builder, "%count", visit, lambda number: builder.add("%element", builder.multiply(number, "%step")))


def _dimension(builder: Builder, axis: Number) -> list[str]:
    words = builder.emit(f"getelementptr i64, ptr %words, i64 {builder.multiply(axis, 4)}")
    return [builder.word(words, number) for number in range(4)]


def _element(builder: Builder, number: str) -> tuple[str, str]:
    """The address of an element of a tile, and an i1: it lies in the tensor."""

    def one(axis: str, values: list[str]) -> list[str]:
        rest, address, inside = values
        last = builder.emit("sub i64 %rank, 1")
        start, extent, stride, shape = _dimension(builder, builder.subtract(last, axis))
        position = builder.add(start, builder.emit(f"urem i64 {rest}, {shape}"))
        is_inside = builder.emit(f"icmp ult i64 {position}, {extent}")
        address = str(builder.add(address, builder.multiply(position, stride)))
        inside = builder.emit(f"select i1 {is_inside}, i64 {inside}, i64 0")
        return [builder.emit(f"udiv i64 {rest}, {shape}"), address, inside]

    _, address, inside = builder.each("%rank", one, [number, "%address", 1])
    return address, builder.emit(f"icmp ne i64 {inside}, 0")


def _box(builder: Builder, layout: Layout) -> None:
    def one(axis: str, values: list[str]) -> list[str]:
        first, reach, total, near = values
        start, extent, stride, shape = _dimension(builder, axis)
        # Nothing of it lies in the tensor.
        builder.branch(builder.emit(f"icmp uge i64 {start}, {extent}"), lambda: builder.do("ret i1 true"))
        rest = builder.emit(f"sub i64 {extent}, {start}")
        steps = builder.emit(f"sub i64 {builder.smaller(rest, shape)}, 1")
        first = str(builder.add(first, builder.multiply(start, stride)))
        length, wraps = builder.checked("umul", steps, stride)
        reach, overflows = builder.checked("uadd", reach, length)
        far = builder.any_of([wraps, overflows])
        near = builder.emit(f"select i1 {far}, i64 0, i64 {near}")
        return [first, reach, str(builder.multiply(total, shape)), near]

    first, reach, total, near = builder.each("%rank", one, ["%address", "%size", 1, 1])

    def check_whole() -> None:
        found = builder.emit(f"call i64 @bounds.find(ptr %record, ptr %reserved, i64 {first}, i64 {reach})")
        builder.branch(builder.emit(f"icmp uge i64 {found}, %needed"), lambda: builder.do("ret i1 true"))

    builder.branch(builder.emit(f"icmp ne i64 {near}, 0"), check_whole)
    _check_all(builder, total, lambda number: _element(builder, number), lambda number: number)


def _fail(builder: Builder, layout: Layout) -> None:
    failed = builder.moved("%record", 8 * FAILED)
    pair = builder.emit(f"cmpxchg ptr {failed}, i64 0, i64 %check acq_rel monotonic")

    def note() -> None:
        for number, value in enumerate(("%block", "%element", "%detail")):
            builder.do(f"store i64 {value}, ptr {builder.moved('%record', 8 * (FAILURE + number))}, align 8")

        def copy(number: str, values: list[str]) -> list[str]:
            slot = builder.moved("%record", builder.multiply(builder.add(number, layout.reserves), 8))
            builder.do(f"store i64 {builder.word('%reserved', number)}, ptr {slot}, align 8")
            return []

        builder.each(2 * layout.reserve_count, copy, [])

    builder.branch(builder.emit(f"extractvalue {{ i64, i1 }} {pair}, 1"), note)
    builder.do(f"store atomic i64 1, ptr {builder.moved('%record', 8 * STOP)} release, align 8")
    builder.do("ret void")


_LIST: Final = "ptr %addresses, ptr %mask, i64 %count"
_CHECK: Final = "i64 %size, i64 %needed, i64 %check, i64 %block"
_FUNCTIONS: Final[dict[str, tuple[str, str, Callable[[Builder, Layout], None]]]] = {
    "find": ("i64", "i64 %address, i64 %bytes", _find),
    "elements": ("i1", f"{_LIST}, {_CHECK}, i64 %element, i64 %step", _elements),
    "remember": ("void", "i64 %address, i64 %size, i64 %needed, ptr %last", _remember),
    "box": ("i1", f"i64 %address, ptr %words, i64 %rank, {_CHECK}", _box),
    "fail": ("void", "i64 %check, i64 %block, i64 %element, i64 %detail", _fail),
}
