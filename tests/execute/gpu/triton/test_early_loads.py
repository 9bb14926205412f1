"""Whether loads of later iterations may be made early, by what tokens order in the loop."""

from __future__ import annotations

import pytest
from tests.execute.gpu.triton.test_ordering import load, program, store

import tileir
from tileir.dialect import ops
from tileir.execute.gpu.triton.schedule.features import may_load_early
from tileir.execute.launching.entries import select_entry


def around(body: str, carried: str = "%next") -> str:
    """A loop that carries the token `%c`, and goes on with `carried`."""
    return (
        " %small = cmpi less_than %n, %one, signed : tile<i32> -> tile<i1>\n"
        " %end = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%c = %t) -> (token) {\n"
        f"{body} continue {carried} : token\n }}\n"
    )


LOAD = load("%x", "%t1", "%a", "%c")
STORE = store("%t2", "%v", "%b", "%t")


def chosen(name: str, then: str, otherwise: str, before: str = "") -> str:
    """An `if` that gives one of two tokens."""
    return (
        f" {name} = if %small -> (token) {{\n{before}  yield {then} : token\n"
        f" }} else {{\n  yield {otherwise} : token\n }}\n"
    )


ORDERED = {
    "the token of the store": around(LOAD + STORE, "%t2"),
    "an if that gives it": around(LOAD + STORE + chosen("%next", "%t2", "%t")),
    "an if that has the store": around(LOAD + chosen("%next", "%t3", "%t", store("%t3", "%v", "%b", "%t"))),
    "an if before the load": around(chosen("%d", "%c", "%t") + load("%x", "%t1", "%a", "%d") + STORE, "%t2"),
    "ifs in an if": around(
        LOAD + STORE + chosen("%next", "%e", "%t", chosen("%e", "%t", "%t2"))
    ),
    "ifs after each other": around(
        chosen("%d", "%t", "%c") + load("%x", "%t1", "%a", "%d") + STORE
        + chosen("%e", "%t", "%t2") + chosen("%next", "%e", "%t1")
    ),
    "joined tokens": around(LOAD + STORE + " %next = join_tokens %t, %t2 : token\n"),
    "joined tokens given by an if": around(
        LOAD + STORE + " %both = join_tokens %t, %t2 : token\n" + chosen("%next", "%both", "%t")
    ),
    "a loop in the loop": around(
        LOAD + STORE
        + " %next = for %j in (%zero to %n, step %one) : tile<i32> iter_values(%k = %t2) -> (token) {\n"
        + "  continue %k : token\n }\n"
    ),
    "a break out of a loop in the loop": around(
        LOAD + STORE
        + " %next = loop iter_values(%k = %t) : token -> token {\n"
        + "  if %small {\n   break %t2 : token\n  }\n  continue %k : token\n }\n"
    ),
    "the store of the same iteration": around(STORE + load("%x", "%t1", "%a", "%t2"), "%t"),
    "the store of the same iteration, given by an if": around(
        STORE + chosen("%d", "%t2", "%t") + load("%x", "%t1", "%a", "%d"), "%t"
    ),
}  # fmt: skip
UNORDERED = {
    "nothing carried": around(LOAD + STORE, "%t1"),
    "a store behind the load": around(LOAD + store("%t2", "%x", "%b", "%t1"), "%t1"),
    "an if that gives the token of the load": around(LOAD + STORE + chosen("%next", "%t1", "%t")),
    "two tokens": around(
        LOAD + STORE
        + " %next, %other = if %small -> (token, token) {\n  yield %t1, %t2 : token, token\n"
        + " } else {\n  yield %t, %t2 : token, token\n }\n"
    ),
    "a store before the loop": STORE + around(load("%x", "%t1", "%a", "%t2") + store("%t3", "%v", "%b", "%t2"), "%t1"),
}  # fmt: skip


def first_loop(body: str) -> tileir.Operation:
    entry = select_entry(tileir.parse(program(body)), None)
    return next(each for each in entry.walk() if each.declaration is ops.FOR)


@pytest.mark.parametrize("body", list(ORDERED.values()), ids=list(ORDERED))
def test_loads_that_wait_for_stores_of_the_loop_are_not_made_early(body: str) -> None:
    assert not may_load_early(first_loop(body))


@pytest.mark.parametrize("body", list(UNORDERED.values()), ids=list(UNORDERED))
def test_other_loads_are(body: str) -> None:
    assert may_load_early(first_loop(body))
