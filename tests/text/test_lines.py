"""Lines that are put together from what operations have in common are those that directives print one by one."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.generators.programs import random_module

import tileir
from tileir.dialect.ops import ADDF
from tileir.ir.traversal import structural_key
from tileir.ir.versions import Version
from tileir.text.output import Aliases
from tileir.text.printer import LineTemplate, Printer, print_disassembly
from tileir.text.reading import read_text

V13_1: Version = (13, 1)
V13_4: Version = (13, 4)

# Every kind of line that has something between its operands; several of each, so that the later ones are known.
PROGRAM = """
cuda_tile.module @m {
  global @g alignment = 8 <f32: [1.0, 2.0]> : tile<2xf32>
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %q: tile<ptr<f32>>) {
    %x, %y, %z = get_tile_block_id : tile<i32>
    %u, %v, %w = get_tile_block_id : tile<i32>
    %a = constant <f32: 1.5> : tile<4xf32>
    %b = constant <f32: 1.5> : tile<4xf32>
    %ab = addf %a, %b rounding<zero> flush_to_zero : tile<4xf32>
    %ba = addf %b, %a rounding<zero> flush_to_zero : tile<4xf32>
    %aa = addf %ab, %ab rounding<zero> : tile<4xf32>
    %bb = addf %ba, %ab rounding<zero> {note = "\\00 %0"} : tile<4xf32>
    %f = fma %a, %b, %ab : tile<4xf32>
    %g = fma %b, %f, %a : tile<4xf32>
    %c = cmpi less_than %x, %y, signed : tile<i32> -> tile<i1>
    %d = cmpi less_than %y, %z, signed : tile<i32> -> tile<i1>
    %s = select %c, %a, %b : tile<i1>, tile<4xf32>
    %t = select %d, %b, %a : tile<i1>, tile<4xf32>
    %view = make_tensor_view %p, shape = [%n, 8], strides = [8, 1] : tile<i32> -> tensor_view<?x8xf32, strides=[8,1]>
    %weiv = make_tensor_view %q, shape = [%x, 8], strides = [8, 1] : tile<i32> -> tensor_view<?x8xf32, strides=[8,1]>
    %r = for %i in (%x to %n, step %y) : tile<i32> iter_values(%e = %a) -> (tile<4xf32>) {
      %h = addf %e, %b rounding<zero> : tile<4xf32>
      %j:2 = if %c -> (tile<4xf32>, tile<4xf32>) {
        yield %h, %e : tile<4xf32>, tile<4xf32>
      } else {
        yield %e, %h : tile<4xf32>, tile<4xf32>
      }
      continue %j#1 : tile<4xf32>
    }
    print_tko "%f and %i", %n, %x : tile<i32>, tile<i32> -> token
    print_tko "%f and %i", %y, %y : tile<i32>, tile<i32> -> token
    return
  }
}
"""


def one_by_one(*options: Any) -> Printer:
    """A printer that asks the directives for every line."""
    printer = Printer(*options)
    printer.uses_templates = False
    return printer


def texts(printer: Printer, module: tileir.Operation) -> list[str]:
    """The text, and the text again: then all that was seen once is known."""
    printer.naming.name_regions(module)
    found: list[str] = []
    for _ in range(3):
        printer.out.clear()
        printer.print_operation(module)
        found.append(printer.text())
        printer.out = []
    return found


def agree(module: tileir.Operation, seed: int) -> None:
    """The bits of a seed are the options of the printer."""
    generic, older, lossless, debug_info, elide = (bool(seed >> bit & 1) for bit in range(5))
    aliases = Aliases(module, implied=not generic, lossless=lossless) if debug_info else None
    version = V13_1 if older else V13_4
    wanted, found = (kind(generic, older, version, aliases, lossless) for kind in (one_by_one, Printer))
    wanted.elide = found.elide = elide
    assert texts(found, module) == [texts(wanted, module)[0]] * 3


def whole(module: tileir.Operation, generic: bool = False) -> str:
    """The text, everything named before anything is printed."""
    printer = one_by_one(generic)
    printer.naming.name_regions(module)
    printer.print_operation(module)
    return printer.text()


def test_every_kind_of_line():
    module = tileir.parse(PROGRAM)
    for seed in range(32):
        agree(module, seed)
    printer = Printer(lossless=False)
    texts(printer, module)
    templates = list(printer.elided_templates.values())
    assert len(templates) >= 10
    assert all(template is not None and (template.texts or template.end) for template in templates)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(32))
def test_random_programs(seed):
    module = random_module(Random(seed), size=60)
    agree(module, seed)
    assert str(module) == whole(module)
    assert module.text(generic=True) == whole(module, generic=True)


def test_functions_are_named_as_in_the_whole_program():
    # Numbers, arguments and names that conflict begin anew in each function; long ones are printed in pieces.
    additions = " ".join(f"%v{number} = addf %a, %a : tile<f32>" for number in range(3000))
    body = f"(%a: tile<f32>) {{ %c = constant <f32: 1.0> : tile<f32> {additions} return }}"
    text = "\n".join(f"entry @{name}{body}" for name in "fgh")
    module = tileir.parse(text)
    assert str(module) == whole(module)
    assert print_disassembly(module) in whole(module).replace("\n  ", "\n")


def test_functions_in_a_module_with_values_of_its_own():
    text = 'builtin.module { %x = "t.x"() : () -> i32 cuda_tile.module @m { entry @k(%a: tile<f32>) { %b = addf %a, %a : tile<f32> return } } }'
    module = read_text(text, allow_unregistered=True).module
    assert str(module) == whole(module)


def test_deep_nests_are_printed_whole():
    nest = ""
    for number in range(40):
        nest = f"if %c {{ %d{number} = ori %c, %c : tile<i1> {nest} }}"
    text = "\n".join(f"entry @{name}(%c: tile<i1>) {{ {nest} return }}" for name in "fg")
    module = tileir.parse(text)
    assert str(module) == whole(module)


def deep(inside: str, depth: int = 40) -> str:
    return "if %c { " * depth + inside + " }" * depth


def test_long_blocks_deep_in_a_nest_stay_in_their_places():
    before, inside = (" ".join(f"%{name}{number} = addf %a, %a : tile<f32>" for number in range(2100)) for name in "vw")
    body = f"(%a: tile<f32>, %c: tile<i1>) {{ {before} {deep(inside)} return }}"
    module = tileir.parse("\n".join(f"entry @{name}{body}" for name in "fg"))
    # Compared outside of what pytest would explain: these are long texts.
    for generic in (False, True):
        is_whole = module.text(generic=generic) == whole(module, generic)
        assert is_whole
    assert print_disassembly(module) in whole(module).replace("\n  ", "\n")


def test_values_of_another_function_deep_in_a_nest():
    nest = deep("%b = addf %a, %a : tile<f32>")
    body = f"(%a: tile<f32>, %c: tile<i1>) {{ %n = negf %a : tile<f32> {nest} return }}"
    first = "entry @f(%a: tile<f32>) { %b = addf %a, %a : tile<f32> return }"
    module = tileir.parse(f"{first}\nentry @g{body}")
    one, other = [op for op in module.walk() if op.declaration is ADDF]
    other.set_operand(0, one.result)
    assert str(module) == whole(module)


def test_functions_deep_in_a_nest_are_named_once():
    body = f"(%a: tile<f32>, %c: tile<i1>) {{ %n = negf %a : tile<f32> {deep('%b = addf %a, %a : tile<f32>')} return }}"
    module = tileir.parse(f"entry @f{body}")
    (place,) = [op for op in module.walk() if op.declaration is ADDF]
    inner = tileir.parse("entry @g(%a: tile<f32>) { %b = addf %a, %a : tile<f32> return }")
    block = place.parent
    assert block is not None
    block.insert_before(inner, place)
    assert str(module) == whole(module)
    # Nothing has names outside of the functions of modules in one another.
    for _ in range(40):
        outer = tileir.parse("entry @g(%a: tile<f32>) { %b = addf %a, %a : tile<f32> return }")
        outer.regions[0].block.append(module)
        module = outer
    assert str(module) == whole(module)


def test_what_takes_a_value_of_another_function_is_printed_all_the_same():
    module = tileir.parse(
        "entry @f(%a: tile<f32>) { %b = addf %a, %a : tile<f32> return }\n"
        "entry @g(%a: tile<f32>) { %b = addf %a, %a : tile<f32> return }"
    )
    first, second = [op for op in module.walk() if op.declaration is ADDF]
    second.set_operand(0, first.result)
    assert str(module) == whole(module)
    assert "addf %0, %arg0" in print_disassembly(module)
    first.set_operand(0, second.result)
    assert str(module) == whole(module)


def test_parts_that_take_a_value_from_elsewhere_are_printed_all_the_same():
    module = tileir.parse(
        "entry @f(%a: tile<f32>) { %b = addf %a, %a : tile<f32> return }\n"
        "entry @g(%a: tile<f32>) { %b = addf %a, %a : tile<f32> return }"
    )
    first, second = [op for op in module.walk() if op.declaration is ADDF]
    second.set_operand(0, first.result)
    function = second.parent_operation
    assert "= cuda_tile.addf %outer2, %arg0  : tile<f32>" in function.text()
    assert 'addf"(%outer2, %arg0)' in function.text(generic=True)
    assert second.text() == "%2 = cuda_tile.addf %0, %1  : tile<f32>"
    assert '"(%outer2, %arg0)' in second.text(generic=True)
    # Nothing has the operation any more that makes the value.
    first.parent_operation.detach()
    assert "= addf %outer2, %arg0  : tile<f32>" in str(module)
    assert "= addf %outer2, %arg0  : tile<f32>" in print_disassembly(module)


def test_names_of_long_functions_are_found_however_far_away_they_are():
    """Values that one operation takes, soon or late, once or twice, and those that many take or none."""
    chosen = Random(7)
    lines = ["entry @k(%arg0: tile<f32>) {"]
    taken = set()
    for number in range(10_000):
        near = [f"%{at}" for at in range(max(0, number - 5_000), number, 97)]
        fresh = [name for name in near if name not in taken]
        one, two = chosen.choice([*fresh, "%arg0"]), chosen.choice([*near[-3:], "%arg0"])
        taken |= {one, two}
        if number % 3:
            lines.append(f"  %{number} = addf {one}, {two if number % 2 else one}  : tile<f32>")
        elif number % 5:
            lines.append(f"  %{number} = maxf {one}, %{number - 1} propagate_nan : tile<f32>")
        else:
            lines.append(f"  %{number} = negf {two} : tile<f32>")
    text = "\n".join([*lines, "  return", "}", ""])
    assert print_disassembly(tileir.parse(text)) == text


@pytest.mark.parametrize("count", [0, 2])
def test_operations_with_too_few_or_too_many_operands_are_printed_alone_as_in_the_program(count):
    module = tileir.parse("entry @k(%a: tile<f32>) { %b = ceil %a : tile<f32> return }")
    (found,) = [op for op in module.walk() if op.name == "cuda_tile.ceil"]
    found.set_operands(found.operands * count)
    assert str(module) == whole(module)
    operands = ", ".join(["%0"] * count)
    assert str(found) == f"%{count} = cuda_tile.ceil {operands} : tile<f32>"


def test_operations_that_take_a_value_twice_are_like_those_that_do_not():
    module = tileir.parse(PROGRAM)
    found = [op for op in module.walk() if op.declaration is ADDF]
    first, second = found[:2]
    assert structural_key(first) == structural_key(second)
    second.set_operand(1, second.operands[0])
    assert structural_key(first) == structural_key(second)
    second.set_attribute("flush_to_zero", None)
    assert structural_key(first) != structural_key(second)


def test_the_numbers_of_operands_are_where_the_marks_were():
    template = LineTemplate(" = f \0001\0, \0000\0 : x", 2)
    assert (template.order, template.texts, template.end) == ([1, 0], [" = f ", ", "], " : x")
    template = LineTemplate(" = f \0000\0, \0001\0 : x", 2)
    assert (template.order, template.texts, template.end) == (None, [" = f ", ", "], " : x")
    assert LineTemplate("return \0000\0", 2).order == [0]
    assert LineTemplate("return", 0).texts == []


@pytest.mark.parametrize("part", ['!x.y<"\0">', '!x.y<"\0001\0">', "#x.y<\0000\0>"])
def test_what_nobody_looks_into_may_have_the_character_of_marks(part):
    lines = [f"%{n} = addf %a, %b {{part = {part}}} : tile<f32>" for n in range(4)]
    module = tileir.parse("\n".join(["entry @k(%a: tile<f32>, %b: tile<f32>) {", *lines, "return }"]))
    for generic in (False, True):
        text = module.text(generic=generic)
        assert text == whole(module, generic) and text.count(part) == 4


VALUE = '%v = "test.value"() : () -> !cuda_tile.tile<f32>'
FUNCTION = "cuda_tile.entry @{}(%a: !cuda_tile.tile<f32>) {{ %b = ceil %a : tile<f32> {} return }}"


@pytest.mark.parametrize(
    "text",
    [
        "\n".join([FUNCTION.format("f", ""), FUNCTION.format("g", "")]),
        "\n".join([VALUE, FUNCTION.format("f", ""), FUNCTION.format("g", "")]),
        "\n".join([FUNCTION.format("f", ""), VALUE]),
        FUNCTION.format("f", FUNCTION.format("g", "")),
        f'"builtin.module"() ({{ ^bb0(%x: i32):\n {FUNCTION.format("f", "")} }}) : () -> ()',
    ],
)
def test_functions_named_when_they_are_printed_have_the_names_they_have_in_the_module(text):
    module = read_text(text, allow_unregistered=True).module
    for generic in (False, True):
        assert module.text(generic=generic) == whole(module, generic)
