"""Structured control flow in LLVM IR as text: functions of two integers, written and run."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import pytest

from tileir.execute.cpu.runtime.llvm_compile import assemble
from tileir.execute.cpu.runtime.loader import load
from tileir.execute.cpu.runtime.target import host
from tileir.execute.cpu.vector.builder import Builder, Loop, Number
from tileir.execute.cpu.vector.casting import INT64
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.cpu.vector.module import Module

Write = Callable[[Builder, str, str], Number]


def evaluated(write: Write, left: int, right: int) -> int:
    """What a function gives that is written for two i64s."""
    builder = Builder(Module())
    found = write(builder, builder.word("%record", 0), builder.word("%record", 1))
    builder.do(f"ret i64 {found}")
    lines = ["define i64 @worker(ptr %record, ptr %scratch) {", "entry:", *builder.lines, "}"]
    builder.module.functions.append("\n".join(lines))
    record = numpy.array([left, right], numpy.int64)
    # Its memory goes with it.
    loaded = load(assemble(builder.module.text(), host()))
    return int(loaded.call(record.ctypes.data, record.ctypes.data))


def greater(builder: Builder, left: Number, right: Number) -> str:
    return builder.emit(f"icmp sgt i64 {left}, {right}")


def test_branch_joins_what_its_parts_give() -> None:
    def write(builder: Builder, left: str, right: str) -> str:
        def nested() -> list[str]:
            # The part ends in another basic block than it begins in.
            inner = builder.branch(greater(builder, left, 10), lambda: ["i64 1"], lambda: ["i64 2"])
            return [f"i64 {inner[0]}", f"i64 {left}"]

        first, second = builder.branch(greater(builder, left, right), nested, lambda: ["i64 3", f"i64 {right}"])
        return str(builder.add(builder.multiply(first, 100), second))

    assert [evaluated(write, *pair) for pair in ((11, 5), (7, 5), (5, 7))] == [111, 207, 307]


@pytest.mark.parametrize("likely", [False, True])
def test_a_part_that_returns_gives_nothing(likely: bool) -> None:
    def write(builder: Builder, left: str, right: str) -> str:
        (found,) = builder.branch(
            greater(builder, left, right), lambda: [f"i64 {left}"], lambda: builder.do("ret i64 -1"), likely
        )
        return found

    assert [evaluated(write, *pair) for pair in ((8, 5), (5, 8))] == [8, -1]


def test_an_attempt_is_given_up_from_within_a_loop() -> None:
    def write(builder: Builder, left: str, right: str) -> str:
        def look(doubt: str) -> list[str]:
            builder.count(0, left, 1, lambda number: builder.go_on(greater(builder, right, number), doubt))
            return ["i64 1"]

        (found,) = builder.attempt(look, lambda: ["i64 0"])
        return found

    assert [evaluated(write, *pair) for pair in ((5, 5), (5, 4), (1, 1))] == [1, 0, 1]


def test_a_loop_carries_values() -> None:
    def write(builder: Builder, left: str, right: str) -> str:
        def turn(position: Number, values: list[Register]) -> list[Register]:
            total, _ = values
            return [builder.value(f"add i64 {total.name}, {position}", INT64), total]

        total, last = builder.carry(2, left, 3, [Register("0", INT64), Register("7", INT64)], turn)
        return str(builder.add(builder.multiply(total.name, 100), last.name))

    # 2 + 5 + 8 with 7 before the last turn; one turn, before which the values are the first ones.
    assert [evaluated(write, 9, 0), evaluated(write, 3, 0)] == [1507, 200]


@pytest.mark.parametrize("end,expected", [(0, 0), (1, 0), (4, 0 + 1 + 2 + 3)])
def test_counting_to_a_constant_or_a_value_that_may_be_zero(end: int, expected: int) -> None:
    def write(builder: Builder, left: str, right: str) -> str:
        (total,) = builder.each(left, lambda number, values: [str(builder.add(values[0], number))], [0])
        return total

    assert evaluated(write, end, 0) == expected
    seen: list[Number] = []
    Builder(Module()).count(0, min(end, 1), 1, seen.append)
    assert seen == [0][:end]


def test_a_loop_may_be_left_and_continued_and_get_lines_in_front_of_it() -> None:
    def write(builder: Builder, left: str, right: str) -> str:
        loop = Loop(builder)
        number, skipped = loop.carry("i64", 0), loop.carry("i64", 0)
        start = len(builder.lines)

        def body() -> None:
            builder.go_on(builder.emit(f"icmp ult i64 {number}, {left}"), loop.end)
            # As a pointer to a buffer is, which is computed before a statement.
            builder.lines.insert(start, "  %late = add i64 0, 2")
            odd = builder.emit(f"urem i64 {number}, %late")
            builder.branch(builder.emit(f"icmp eq i64 {odd}, 0"), lambda: builder.jump(loop.again))
            builder.branch(greater(builder, number, right), lambda: builder.jump(loop.end))

        def again() -> str:
            loop.becomes(skipped, builder.emit(f"add i64 {skipped}, 1"))
            loop.becomes(number, builder.emit(f"add i64 {number}, 1"))
            builder.branch(greater(builder, number, 100), lambda: builder.do("ret i64 -1"))
            return ""

        loop.write(body, again)
        return str(builder.add(builder.multiply(number, 100), skipped))

    assert [evaluated(write, *pair) for pair in ((6, 50), (6, 2), (500, 500))] == [606, 303, -1]
