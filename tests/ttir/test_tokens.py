"""The order of memory operations on a GPU: by the arguments whose arrays they access."""

from __future__ import annotations

import pytest
from tests.ttir.programs import module

import tileir
from tileir.dialect import ops
from tileir.dialect.types import TOKEN
from tileir.ttir import translate

POINTER = "!tt.ptr<f32>"
LOAD = f'"tt.load"(%{{0}}) <{{{{operandSegmentSizes = array<i32: 1, 0, 0>}}}}> : ({POINTER}) -> f32'
PARAMETERS = f"%a: {POINTER}, %b: {POINTER}, %n: i32, %c: i1"


def load(name: str, pointer: str) -> str:
    return f"%{name} = {LOAD.format(pointer)}"


def store(pointer: str, name: str) -> str:
    return f'"tt.store"(%{pointer}, %{name}) : ({POINTER}, f32) -> ()'


def moved(name: str, pointer: str) -> str:
    return f'%{name} = "tt.addptr"(%{pointer}, %n) : ({POINTER}, i32) -> {POINTER}'


def chosen(name: str, first: str, second: str) -> str:
    return f'%{name} = "arith.select"(%c, %{first}, %{second}) : (i1, {POINTER}, {POINTER}) -> {POINTER}'


BARRIER = '"gpu.barrier"() : () -> ()'
# Statements, and for each access in order the accesses that it waits for.
CASES = {
    "copies": ([load("x", "a"), store("b", "x"), load("y", "a"), store("b", "y")], [[], [], [], [1]]),
    "one array": ([load("x", "a"), moved("p", "a"), store("p", "x"), load("y", "a")], [[], [0], [1]]),
    "two arrays": ([load("x", "a"), store("a", "x"), load("y", "b"), store("b", "y")], [[], [0], [], [2]]),
    "one of two": ([load("x", "b"), chosen("p", "a", "b"), store("p", "x"), load("y", "b")], [[], [0], [1]]),
    "barrier": ([load("x", "a"), store("a", "x"), BARRIER, load("y", "b"), store("b", "y")], [[], [0], [1], [2]]),
}


def waits(program: tileir.Module) -> list[set[int]]:
    """For each access, the numbers of those that come before it by tokens."""
    accesses = [each for each in program.walk() if each.declaration in (ops.LOAD_PTR_TKO, ops.STORE_PTR_TKO)]
    found = []
    for each in accesses:
        pending, before = [each], set()
        while pending:
            operation = pending.pop()
            if operation in accesses and operation is not each:
                before.add(accesses.index(operation))
            makers = [token.defining_operation for token in operation.operands if token.type is TOKEN]
            pending += [maker for maker in makers if maker is not None]
        found.append(before)
    return found


@pytest.mark.parametrize("name", CASES)
def test_arrays_of_different_arguments_are_not_ordered(name: str) -> None:
    statements, expected = CASES[name]
    found = waits(translate(module(PARAMETERS, "\n    ".join(statements)), memory_order="arguments"))
    direct = [{each for each in before if not any(each in found[other] for other in before)} for before in found]
    assert direct == [set(each) for each in expected]


def loop(parts: list[str], yields: str, pointers: str) -> str:
    types = ", ".join([POINTER] * len(pointers.split(", ")))
    arguments = ", ".join(f"{each}.in: {POINTER}" for each in yields.split(", "))
    body = "\n      ".join(parts)
    results = ", ".join(f"%r{number}" for number in range(len(pointers.split(", "))))
    return f"""{results} = "scf.for"(%n, %n, %n, {pointers}) ({{
    ^bb0(%i: i32, {arguments}):
      {body}
      "scf.yield"({yields}) : ({types}) -> ()
    }}) : (i32, i32, i32, {types}) -> ({types})"""


def test_a_loop_that_only_reads_carries_no_token() -> None:
    body = loop([load("x", "p.in"), moved("p", "p.in")], "%p", "%a") + "\n    " + store("b", "last")
    text = module(f"{PARAMETERS}, %last: f32", body)
    (found,) = [each for each in translate(text, memory_order="arguments").walk() if each.declaration is ops.FOR]
    assert len(found.results) == 1


def test_a_loop_that_swaps_arrays_is_ordered() -> None:
    body = loop([load("x", "p.in"), store("q.in", "x"), moved("q", "p.in"), moved("p", "q.in")], "%p, %q", "%a, %b")
    (found,) = [
        each for each in translate(module(PARAMETERS, body), memory_order="arguments").walk()
        if each.declaration is ops.FOR
    ]  # fmt: skip
    assert len(found.results) > 2


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(tileir.OptionError, match="use one of program, arguments, barriers"):
        translate(module("", ""), memory_order="random")  # type: ignore[arg-type]
