"""Control flow, as TTIR: what ends early, what is carried, and in which form."""

from __future__ import annotations

import itertools
import re

import numpy
import pytest
from tests.execute.gpu.triton.evaluating import agrees, launch
from tests.execute.gpu.triton.lowered_programs import entry, lowered

import tileir
from tileir.execute.gpu.errors import TritonError

NUMBERS = numpy.array([0, 1, 2, 3, 5, 8, 13, 100, -7], "i4")

CONSTANTS = "".join([f"%c{n} = constant <i32: {n}> : tile<i32>\n" for n in (0, 1, 2, 3, 4, 5, 8)])


def compare(name: str, left: str, predicate: str, right: str) -> str:
    return f"%{name} = cmpi {predicate} %{left}, %{right}, signed : tile<i32> -> tile<i1>\n"


def store(value: str, number: int) -> str:
    """Into element `number` of `%q`."""
    return (
        f"%at{number} = constant <i32: {number}> : tile<i32>\n"
        f"%q{number} = offset %q, %at{number} : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>\n"
        f"%t{number} = store_ptr_tko weak %q{number}, %{value} : tile<ptr<i32>>, tile<i32> -> token\n"
    )


def check(body: str, compiles: bool = False) -> str:
    """A kernel of `%n` that stores into `%q`, for several numbers; gives its TTIR."""
    text = entry(CONSTANTS + body, "%q: tile<ptr<i32>>, %n: tile<i32>")
    kernel = tileir.compile(tileir.parse(text), backend="interpreter")
    for number in NUMBERS.tolist():
        wanted, found = numpy.full(8, -1, "i4"), numpy.full(8, -1, "i4")
        kernel.launch(1, (wanted, number))
        launch(text, 1, found, number, divisor=1)
        assert wanted.tolist() == found.tolist(), number
    made = lowered(text)
    if compiles:
        from tileir.execute.gpu.triton.worker.pool import Request, compile_ttir

        assert compile_ttir(Request(made.text, "sm_90", made.options)).data
    return made.text


def test_if_with_and_without_results() -> None:
    made = check(
        compare("big", "n", "greater_than", "c4")
        + "%r = if %big -> (tile<i32>) {\n yield %c1 : tile<i32>\n} else {\n %m = addi %n, %n : tile<i32>\n"
        + " yield %m : tile<i32>\n}\n"
        + store("r", 0)
        + "if %big {\n"
        + store("n", 1)
        + "}\n"
    )
    assert made.count("scf.if") <= 2


def test_early_return() -> None:
    made = check(
        store("n", 0)
        + compare("big", "n", "greater_than", "c4")
        + "if %big {\n return\n}\n"
        + store("n", 1)
        + compare("odd", "n", "equal", "c3")
        + "if %odd {\n"
        + compare("never", "n", "less_than", "c0")
        + " if %never {\n return\n }\n"
        + store("c5", 2)
        + "}\n"
        + store("n", 3)
    )
    assert made.count("tt.return") == 1


LOOP = (
    "%r, %k = loop iter_values(%i = %c0, %s = %n) : tile<i32>, tile<i32> -> tile<i32>, tile<i32> {\n"
    + compare("end", "i", "greater_than_or_equal", "n")
    + " if %end {\n  break %s, %i : tile<i32>, tile<i32>\n }\n"
    + " %j = addi %i, %c1 : tile<i32>\n"
    + compare("four", "j", "equal", "c4")
    + " if %four {\n  continue %j, %n : tile<i32>, tile<i32>\n }\n"
    + " %u = addi %s, %j : tile<i32>\n"
    + compare("much", "u", "greater_than", "c8")
    + " %v = if %much -> (tile<i32>) {\n"
    + compare("third", "j", "equal", "c3")
    + "  if %third {\n   break %j, %u : tile<i32>, tile<i32>\n  }\n"
    + "  %w = subi %u, %c1 : tile<i32>\n  yield %w : tile<i32>\n } else {\n  yield %u : tile<i32>\n }\n"
    + " continue %j, %v : tile<i32>, tile<i32>\n}\n"
)


def test_break_and_continue_at_every_depth() -> None:
    made = check(LOOP + store("r", 0) + store("k", 1))
    # The results are where the carried values were.
    assert re.search(r"scf.while \(%\d+ = %\d+, %\d+ = %\w+, %\d+ = %\d+\) : \(i32, i32, i1\)", made)


def test_bit_that_keeps_a_loop_running_is_carried_last() -> None:
    """MLIR removes results that nothing uses, and Triton 3.6 aborts where one before a tensor is missing."""
    text = entry(
        "%i = iota : tile<64xi32>\n"
        "%f = itof %i signed : tile<64xi32> -> tile<64xf32>\n%s = addf %f, %f : tile<64xf32>\n"
        "%r = loop iter_values(%x = %f) : tile<64xf32> -> tile<64xf32> {\n"
        " if %b {\n  break %f : tile<64xf32>\n }\n break %s : tile<64xf32>\n}\n"
        "%p0 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>\n"
        "%p1 = broadcast %p0 : tile<1xptr<f32>> -> tile<64xptr<f32>>\n"
        "%p2 = offset %p1, %i : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>\n"
        "%t = store_ptr_tko weak %p2, %r : tile<64xptr<f32>>, tile<64xf32> -> token",
        "%q: tile<ptr<f32>>, %b: tile<i1>",
    )
    assert re.search(r"scf.while .* : \(tensor<64xf32>, i1\) -> \(tensor<64xf32>, i1\)", lowered(text).text)
    for value in (False, True):
        found = numpy.zeros(64, "f4")
        launch(text, 1, found, value, divisor=1)
        assert found.tolist() == [float(number if value else 2 * number) for number in range(64)]


def test_return_out_of_loops() -> None:
    check(
        "%r = loop iter_values(%i = %c0) : tile<i32> -> tile<i32> {\n"
        + "%a = loop iter_values(%j = %i) : tile<i32> -> tile<i32> {\n"
        + compare("far", "j", "greater_than", "c8")
        + "  if %far {\n"
        + store("j", 1)
        + "   return\n  }\n"
        + compare("last", "j", "greater_than_or_equal", "n")
        + "  if %last {\n   break %j : tile<i32>\n  }\n"
        + "  %o = addi %j, %c2 : tile<i32>\n  continue %o : tile<i32>\n }\n"
        + compare("done", "a", "greater_than", "c3")
        + " if %done {\n  break %a : tile<i32>\n }\n"
        + " %b = addi %a, %c1 : tile<i32>\n"
        + compare("negative", "n", "less_than", "c0")
        + " if %negative {\n"
        + store("n", 2)
        + "  return\n }\n"
        + " continue %b : tile<i32>\n}\n"
        + store("r", 0),
        compiles=True,
    )


def test_a_loop_that_gives_other_types_than_it_carries() -> None:
    check(
        "%r, %f = loop iter_values(%i = %c0) : tile<i32> -> tile<i32>, tile<i1> {\n"
        + compare("end", "i", "greater_than_or_equal", "n")
        + compare("even", "i", "equal", "c4")
        + " if %end {\n  %x = addi %i, %c5 : tile<i32>\n  break %x, %even : tile<i32>, tile<i1>\n }\n"
        + " %j = addi %i, %c2 : tile<i32>\n continue %j : tile<i32>\n}\n"
        + "%z = select %f, %c1, %c2 : tile<i1>, tile<i32>\n"
        + store("r", 0)
        + store("z", 1)
    )


def test_continue_in_a_for() -> None:
    made = check(
        "%r = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%s = %c0) -> (tile<i32>) {\n"
        + compare("three", "i", "equal", "c3")
        + " if %three {\n  continue %s : tile<i32>\n }\n %u = addi %s, %i : tile<i32>\n continue %u : tile<i32>\n}\n"
        + store("r", 0)
    )
    assert "scf.for" in made and "scf.while" not in made


@pytest.mark.parametrize(
    ("element", "unsigned"),
    # Of one bit and signed, 1 is -1, which is no step.
    [*itertools.product(["i8", "i16", "i32", "i64"], [False, True]), ("i1", True)],
)
def test_counters_of_every_width(element: str, unsigned: bool) -> None:
    width = int(element[1:])
    low, high = (0, (1 << width) - 1) if unsigned else (-(1 << (width - 1)), (1 << (width - 1)) - 1)
    step = min(3, high)
    for first, last in ((max(low, high - 8), high - min(step, high - low - 1)), (low, min(high, low + 9))):

        def number(value: int) -> int:
            return value - (1 << width) if value >> (width - 1) and value > 0 and width > 1 else value

        names = {"a": number(first), "b": number(last), "s": step}
        constants = ""
        for name, value in names.items():
            written = ("true" if value else "false") if width == 1 else value
            constants += f"%{name} = constant <{element}: {written}> : tile<{element}>\n"
        body = (
            f"%r, %last = for {'unsigned ' if unsigned else ''}%i in (%a to %b, step %s) : tile<{element}> "
            f"iter_values(%k = %zero, %v = %a) -> (tile<i32>, tile<{element}>) {{\n"
            f" %one = constant <i32: 1> : tile<i32>\n %n = addi %k, %one : tile<i32>\n"
            f" continue %n, %i : tile<i32>, tile<{element}>\n}}\n"
        )
        body += (
            "%l = addi %last, %a : tile<i64>"
            if element == "i64"
            else f"%l = exti %last signed : tile<{element}> -> tile<i64>"
        )
        agrees(f"%zero = constant <i32: 0> : tile<i32>\n{constants}{body}", r="tile<i32>", l="tile<i64>")


def test_unsigned_bounds_of_unknown_numbers() -> None:
    made = check(
        "%far = constant <i32: -2> : tile<i32>\n%m = addi %n, %far : tile<i32>\n%e = addi %m, %c5 : tile<i32>\n"
        "%r = for unsigned %i in (%m to %e, step %c1) : tile<i32> iter_values(%s = %c0) -> (tile<i32>) {\n"
        " %u = addi %s, %i : tile<i32>\n continue %u : tile<i32>\n}\n" + store("r", 0)
    )
    assert "arith.xori" in made and "unsigned" not in made


def test_tokens_are_not_carried() -> None:
    made = check(
        "%t = make_token : token\n"
        "%z = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%k = %t) -> (token) {\n"
        " %w = store_ptr_tko weak %q, %i token = %k : tile<ptr<i32>>, tile<i32>, token -> token\n continue %w : token\n}\n"
    )
    assert "iter_args" not in made


def test_too_many_early_returns_are_refused_in_words() -> None:
    text = "".join(
        [
            compare(f"d{n}", "n", "equal", f"c{(0, 1, 2)[n % 3]}")
            + f"if %d{n} {{\n return\n}}\n"
            + store("n", n % 8 + 10 * n)
            for n in range(400)
        ]
    )
    with pytest.raises(
        TritonError, match=r"'cuda_tile\.entry' cannot be compiled by Triton for sm_90: branches that end"
    ):
        lowered(entry(CONSTANTS + text, "%q: tile<ptr<i32>>, %n: tile<i32>"))
