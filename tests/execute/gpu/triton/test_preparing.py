"""Passes that make programs ready for Triton: the interpreter gives the same bits before and after."""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Callable
from typing import cast

import numpy
import pytest
from tests.execute.cpu.elementwise import operand_arrays
from tests.execute.gpu.triton.lowered_programs import entry
from tests.execute.gpu.triton.number_kernels import Number, all_numbers, parsed
from tests.hardware.agreement import randomized
from tests.hardware.agreement.interpreting import NotRunError, interpret
from tests.hardware.agreement.program import Program

import tileir
from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.dtypes import constant_elements, from_memory, to_bits
from tileir.execute.gpu.triton import program
from tileir.execute.launching.entries import select_entry
from tileir.ir.dense import DenseAttribute
from tileir.ir.types import FloatType
from tileir.passes import canonicalize
from tileir.passes.emit import Emit
from tileir.passes.registry import PassSession

PASSES: dict[str, Callable[[tileir.Operation], int]] = {
    "counted": program.count_loops,
    "decided": program.fold_known,
}


def prepared(text: str) -> str:
    return str(program.Program(select_entry(tileir.parse(text), None)).module)


# --- constants ---


def is_of_floats(number: Number) -> bool:
    return any(isinstance(element, FloatType) for element in (*number.case.operands, number.case.result))


# Of 64 operands, the first half are special numbers, the last few near 1.
@pytest.mark.sampled(3)
@pytest.mark.parametrize("place", [5, 33, 50])
def test_float_operations_on_constants_give_the_bits_of_the_interpreter(place: int) -> None:
    """ptxas computes some of them with the last bit wrong."""
    numbers = [each for each in all_numbers() if is_of_floats(each) and each.mnemonic != "select"]
    results = [each.case.result.spelling for each in numbers]
    uses = [f"reshape %r{n} : tile<16x{name}> -> tile<16x1x{name}>" for n, name in enumerate(results)]
    operations = parsed([*[each.text for each in numbers], *uses])
    expected = []
    for number, operation in zip(numbers, operations, strict=False):
        case = number.case
        arrays = operand_arrays(case.operands, 64, zlib.crc32(number.text.encode()))
        at = place % arrays[0].size
        values = [
            from_memory(element, array[at : at + 1]) for element, array in zip(case.operands, arrays, strict=True)
        ]
        for index, (element, value) in enumerate(zip(case.operands, values, strict=True)):
            type = cast(TileType, operation.operands[index].type)
            operation.set_operand(index, Emit(operation).bits(type, int(to_bits(element, value)[0])))
        with numpy.errstate(all="ignore"):
            expected.append(int(to_bits(case.result, case.kernel(*values))[0]))
    kernel = operations[0].parent_operation
    assert kernel is not None
    program.fold_known(kernel)
    for number, use, bits in zip(numbers, operations[len(numbers) :], expected, strict=True):
        maker = use.operands[0].defining_operation
        assert maker is not None and maker.declaration is ops.CONSTANT, number.text
        elements = constant_elements(cast(DenseAttribute, maker.attributes["value"]))
        assert int(to_bits(number.case.result, elements)[0]) == bits, number.text


def test_constants_are_seen_through_changes_of_shape() -> None:
    made = prepared(
        entry(
            " %a = constant <f32: 16777216.0> : tile<f32>\n %b = constant <f32: 1.0> : tile<f32>\n"
            " %a1 = reshape %a : tile<f32> -> tile<1xf32>\n %b1 = reshape %b : tile<f32> -> tile<1xf32>\n"
            " %a8 = broadcast %a1 : tile<1xf32> -> tile<8xf32>\n %b8 = broadcast %b1 : tile<1xf32> -> tile<8xf32>\n"
            " %c = subf %a8, %b8 flush_to_zero : tile<8xf32>\n %d = addf %c, %b8 rounding<zero> : tile<8xf32>\n"
            " %s = reduce %d dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>) {\n"
            "  %z = addf %x, %y : tile<f32>\n  yield %z : tile<f32>\n }\n"
            " %t = store_ptr_tko weak %p, %s : tile<ptr<f32>>, tile<f32> -> token",
            "%p: tile<ptr<f32>>",
        )
    )
    assert "subf" not in made and "rounding<zero>" not in made and "constant <f32: 0x4B800000> : tile<8xf32>" in made


# --- loops that count ---


def loop(test: str, then: str, otherwise: str, step: str = "%one", rest: str = "", given: str = "%i, %s") -> str:
    """A loop over `%i`, and over `%s` which it adds up; `test` goes behind `cmpi`."""
    return entry(
        " %zero = constant <i32: 0> : tile<i32>\n %one = constant <i32: 1> : tile<i32>\n"
        " %four = constant <i32: 4> : tile<i32>\n"
        " %near = assume bounded<-100, 100>, %n : tile<i32>\n"
        " %r, %k = loop iter_values(%i = %a, %s = %zero) : tile<i32>, tile<i32> -> tile<i32>, tile<i32> {\n"
        f"  %c = cmpi {test} : tile<i32> -> tile<i1>\n"
        f"  if %c {{\n{then}\n  }} else {{\n{otherwise}\n  }}\n"
        f"  %j = addi %i, {step} : tile<i32>\n{rest}"
        "  %u = addi %s, %i : tile<i32>\n  continue %j, %u : tile<i32>, tile<i32>\n }\n"
        " %q1 = offset %q, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>\n"
        " %t0 = store_ptr_tko weak %q, %r : tile<ptr<i32>>, tile<i32> -> token\n"
        " %t1 = store_ptr_tko weak %q1, %k : tile<ptr<i32>>, tile<i32> -> token",
        "%q: tile<ptr<i32>>, %a: tile<i32>, %n: tile<i32>",
    ).replace("GIVEN", given)


BREAK = "   break GIVEN : tile<i32>, tile<i32>"
LOOPS = {
    "up to": loop("greater_than_or_equal %i, %n, signed", BREAK, ""),
    "while less": loop("less_than %i, %n, signed", "", BREAK),
    "the other way round": loop("less_than_or_equal %n, %i, signed", BREAK, ""),
    "in fours": loop("greater_than %near, %i, signed", "", BREAK, "%four"),
    "without the counter": loop("greater_than_or_equal %i, %n, signed", BREAK, "", given="%s, %n"),
    "with a continue": loop(
        "greater_than_or_equal %i, %n, signed",
        BREAK,
        "",
        rest="  %d = cmpi equal %i, %four, signed : tile<i32> -> tile<i1>\n"
        "  if %d {\n   continue %j, %one : tile<i32>, tile<i32>\n  }\n",
    ),
}
OTHERS = {
    "down": loop("greater_than_or_equal %i, %n, signed", BREAK, "", "%a"),
    "to a number": loop("equal %i, %n, signed", BREAK, ""),
    "a sum as the bound": loop("greater_than_or_equal %i, %s, signed", BREAK, ""),
    "what may wrap": loop("greater_than_or_equal %i, %n, signed", BREAK, "", "%four"),
    "two ways out": loop(
        "greater_than_or_equal %i, %n, signed",
        BREAK,
        "",
        rest=f"  %d = cmpi equal %i, %four, signed : tile<i32> -> tile<i1>\n  if %d {{\n{BREAK}\n  }}\n",
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_that_count_become_for(name: str) -> None:
    made = prepared(LOOPS[name])
    assert " loop " not in made and "for %" in made
    before, after = [tileir.compile(tileir.parse(text), backend="interpreter") for text in (LOOPS[name], made)]
    for first, last in itertools.product([-5, 0, 3, 4], [-7, 0, 1, 4, 9, 10]):
        wanted, found = numpy.zeros(2, "i4"), numpy.zeros(2, "i4")
        before.launch(1, (wanted, first, last))
        after.launch(1, (found, first, last))
        assert wanted.tolist() == found.tolist(), (first, last)


@pytest.mark.parametrize("name", OTHERS)
def test_other_loops_stay(name: str) -> None:
    assert "loop iter_values" in prepared(OTHERS[name])


def test_unsigned_counters() -> None:
    text = loop("greater_than_or_equal %i, %n, unsigned", BREAK, "")
    assert "for unsigned %" in prepared(text)


def test_a_return_keeps_a_loop() -> None:
    text = LOOPS["with a continue"].replace("continue %j, %one : tile<i32>, tile<i32>", "return")
    assert "loop iter_values" in prepared(text)


# --- what is known ---


def test_of_floor_divisions_of_block_ids_nothing_is_left_but_the_remainder() -> None:
    text = entry(
        " %x, %y, %z = get_tile_block_id : tile<i32>\n %zero = constant <i32: 0> : tile<i32>\n"
        " %m = assume bounded<1, ?>, %n : tile<i32>\n %r = remi %x, %m signed : tile<i32>\n"
        " %a = cmpi less_than %r, %zero, signed : tile<i32> -> tile<i1>\n"
        " %b = cmpi less_than %m, %zero, signed : tile<i32> -> tile<i1>\n %c = xori %a, %b : tile<i1>\n"
        " %d = cmpi not_equal %r, %zero, signed : tile<i32> -> tile<i1>\n %e = andi %c, %d : tile<i1>\n"
        " %f = addi %r, %m : tile<i32>\n %g = select %e, %f, %r : tile<i1>, tile<i32>\n"
        " %t = store_ptr_tko weak %p, %g : tile<ptr<i32>>, tile<i32> -> token",
        "%p: tile<ptr<i32>>, %n: tile<i32>",
    )
    made = prepared(text)
    assert "remi" in made and not re.search("cmpi|xori|andi|select", made)


# --- random programs ---


def check(each: Program, name: str) -> bool:
    """Whether a pass changes a program; then nothing else has changed."""
    module = tileir.parse(each.text)
    if not PASSES[name](module):
        return False
    canonicalize.run(module, PassSession())
    tileir.verify(module)
    changed = Program(each.name, str(module), each.grid, each.memories, each.arguments, each.details, each.addresses)
    try:
        wanted = interpret(each, watched=False)
    except NotRunError:
        return False
    assert interpret(changed, watched=False).memories == wanted.memories, each.name
    return True


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PASSES)
def test_random_programs(name: str) -> None:
    chosen = itertools.chain(
        itertools.islice(randomized.loops(), 0, 40, 20), itertools.islice(randomized.smiths(), 0, 40, 13)
    )
    for each in chosen:
        check(each, name)


@pytest.mark.long
@pytest.mark.parametrize("name", PASSES)
def test_all_random_programs(name: str) -> None:
    for each in itertools.chain(randomized.loops(), randomized.smiths(), randomized.kernels()):
        check(each, name)
