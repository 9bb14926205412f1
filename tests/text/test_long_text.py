"""A long text that is read by the shapes of its statements is what it is when it is read in the ordinary way."""

import random

import pytest
from tests.text.edits import PROGRAMS, random_edits
from tests.text.test_rereading import dump, told

from tileir.text import reading
from tileir.text.alias_reading import has_aliases
from tileir.text.lexer import tokenize
from tileir.text.pieces import pieces_of
from tileir.text.reading import read_text
from tileir.text.repeating_text import RepeatingTextParser

STATEMENTS = """
entry @k(%a: tile<4xi32>, %b: tile<4xi32>, %c: tile<i1>, %f: tile<4xf32>, %p: tile<ptr<f32>>) {
  %0 = addi %a, %b : tile<4xi32>
  %1 = addi %0, %0 overflow<no_signed_wrap> : tile<4xi32>
  %2 = cmpi less_than %0, %1, signed : tile<4xi32> -> tile<4xi1>
  %3 = constant <i32: 7> : tile<4xi32>
  %4 = constant <i32: -7> : tile<4xi32>
  %5 = constant <f32: -1.5> : tile<4xf32>
  %6 = constant <f32: 2.500000e+00> : tile<4xf32>
  %7 = constant <f32: 0x7FC00000> : tile<4xf32>
  %8 = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
  %9 = select %2, %0, %1 : tile<4xi1>, tile<4xi32>
  %10 = fma %f, %5, %6 rounding<zero> flush_to_zero : tile<4xf32>
  %11, %12 = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  %13 = make_token : token
  %14 = if %c -> (tile<4xi32>) {
    %20 = addi %a, %b : tile<4xi32>
    yield %20 : tile<4xi32>
  } else {
    %20 = muli %a, %b : tile<4xi32> // not %20
    yield %20 : tile<4xi32>
  }
  print_tko "%d %%0 = addi", %14 : tile<4xi32> -> token
  %15 = for %i in (%x to %y, step %z) : tile<i32> iter_values(%v = %0) -> (tile<4xi32>) {
    %30 = addi %v, %14
      : tile<4xi32>
    continue %30 : tile<4xi32>
  }
  return
}
"""
# The bounds of the loop, which are no arguments above to keep that line short.
BOUNDS = "".join(f"  %{name} = constant <i32: {value}> : tile<i32>\n" for name, value in (("x", 0), ("y", 8), ("z", 1)))


def repeated(count):
    """A valid text in which each statement comes often."""
    head, _, body = STATEMENTS.strip().partition("\n")
    return "".join(f"{head}\n{BOUNDS}{body}\n".replace("@k", f"@k{index}") for index in range(count))


def in_both_ways(monkeypatch, text, **options):
    monkeypatch.setattr(reading, "LONG_TEXT", len(text) + 1)
    ordinary = read_text(text, **options)
    monkeypatch.setattr(reading, "LONG_TEXT", 0)
    monkeypatch.setattr(reading, "FEW_LINES", 0)
    monkeypatch.setattr(reading, "DIFFERENT_LINES", (1.0, 1.0))
    return ordinary, read_text(text, **options)


def agree(ordinary, found):
    assert told(found.diagnostics) == told(ordinary.diagnostics)
    assert (found.module is None) == (ordinary.module is None)
    if ordinary.module is not None:
        assert dump(found.module) == dump(ordinary.module)


def parser_of(text):
    return RepeatingTextParser(text, pieces_of(text), "-", (13, 4), False, 1, True, False, True, reading.generic_form)


def test_statements(monkeypatch):
    ordinary, found = in_both_ways(monkeypatch, repeated(4))
    assert not ordinary.diagnostics
    agree(ordinary, found)


def test_most_statements_are_known_by_their_shape(monkeypatch):
    from tileir.ir.core import Block
    from tileir.text.operation_parser import OperationParser

    count = 0
    inner = OperationParser.parse_operation

    def counted(self, block):
        nonlocal count
        count += 1
        inner(self, block)

    text = "entry @k(%a: tile<4xi32>) {\n"
    text += "".join(f"  %{index} = addi %a, %a : tile<4xi32>\n" for index in range(500))
    text += "".join(f"  %c{index} = constant <i32: {index}> : tile<4xi32>\n" for index in range(500))
    try:
        monkeypatch.setattr(OperationParser, "parse_operation", counted)
    except TypeError:
        pytest.skip("the methods of a compiled class cannot be replaced")
    parser_of(text + "  return\n}\n").parse_top_level(Block())
    assert count < 10


@pytest.mark.parametrize(
    ("form", "numbers"),
    [
        ("constant <i32: {}> : tile<i32> {{note = 1 : i32}}", "1 2 -3 2"),
        ("constant <f8E8M0FNU: {}> : tile<4xf8E8M0FNU>", "1.0 2.0 -1.0 1.0 -0.0"),
        ("constant <i8: {}> : tile<i8>", "1 127 255 -128 256 -129 007"),
        ("constant <f16: {}> : tile<f16>", "1.0 65504.0 65520.0 1.0e400 1. 1e5"),
    ],
)
def test_constants(monkeypatch, form, numbers):
    """The number is all that one may have of its own: not what else is said about it, nor what cannot be said."""
    lines = [f"  %{index} = {form.format(number)}\n" for index, number in enumerate(numbers.split())]
    agree(*in_both_ways(monkeypatch, "".join(["entry @k() {\n", *lines, "  return\n}\n"])))


def test_statements_are_not_looked_for_in_vain_for_ever():
    from tileir.ir.core import Block

    def balance(end):
        lines = [f"  %{index} = addi %a, %a : tile<i32>{end.format(index)}\n" for index in range(400)]
        parser = parser_of("".join(["entry @k(%a: tile<i32>) {\n", *lines, "  return\n}\n"]))
        parser.parse_top_level(Block())
        assert not parser.diagnostics
        return parser.balance

    assert balance("") > 0
    assert balance(" // number {}") < 0
    assert balance(' loc("a":{}:1)') < 0


PIECES = ["%x", "%1#0", "#1", "#loc", '"', "\\", "//", "/", "|", "tile<", "4x", "f32", ">", "<", "%", "%%", "@a", '@"']
PIECES += ["->", "-", "%-", "::", "constant", "0x", "1.5", "!t", "\u00e9", "\x1f", " ", "\n", "\f"]


@pytest.mark.parametrize("seed", range(4))
def test_tokens_of_pieces_are_those_of_the_text(seed):
    chance = random.Random(f"pieces {seed}")
    for _ in range(2000):
        text = "".join(chance.choice(PIECES) for _ in range(chance.randrange(30)))
        pieced = pieces_of(text)
        assert pieced.tokens == tokenize(text)
        assert len(pieced.pieces) == len(pieced.names) + 1


@pytest.mark.parametrize("path", PROGRAMS, ids=str)
def test_tokens_of_programs_by_pieces(path):
    text = path.read_text("utf-8", "surrogateescape")
    assert pieces_of(text).tokens == tokenize(text)


@pytest.mark.parametrize("path", PROGRAMS, ids=str)
def test_programs(monkeypatch, path):
    text = path.read_text("utf-8", "surrogateescape")
    agree(*in_both_ways(monkeypatch, text))
    agree(*in_both_ways(monkeypatch, text, implicit_module=True, recover=False, draft_spellings=False))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(4))
def test_edited_programs(monkeypatch, seed):
    """Mistakes, remarks and what only looks like a statement: all is told as always."""
    chance = random.Random(f"long text {seed}")
    for _ in range(4):
        text = repeated(2) if chance.random() < 0.5 else chance.choice(PROGRAMS).read_text("utf-8", "surrogateescape")
        words = [token for token in tokenize(text) if token]
        for start, end, new in random_edits(chance, text, 12, words):
            text = text[:start] + new + text[end:]
            agree(*in_both_ways(monkeypatch, text, partial=True))


@pytest.mark.parametrize(
    "line",
    [
        "  %0 = addi %a, %a : tile<4xi32>",
        "  %1 = addi %missing, %a : tile<4xi32>",
        "  %1 = addi %a, %a : tile<4xf32>",
        "  %1#0 = addi %a, %a : tile<4xi32>",
        "  %1, %2 = addi %a, %a : tile<4xi32>",
        "  %1 = addi %a, %a : tile<4xi32> loc(unknown)",
        "  %1 = addi %a, %a : tile<4xi32>\n  loc(unknown)",
        "  %1 = addi %a, %a : tile<4xi32> // addi %a, %a",
        "  %1 = addi %a,\n %a : tile<4xi32>",
        "  %1 = addi %a, %a : tile<\n4xi32>",
        "  %1 = addi %later, %a : tile<4xi32>\n  %later = addi %a, %a : tile<4xi32>",
        "  %1 = constant <i32: 99999999999> : tile<4xi32>",
        "  %1 = constant <i32: 1.0> : tile<4xi32>",
        "  %1 = constant <i32: -1> : tile<4xi32>\n  %2 = addi %1, %a : tile<4xf32>",
        "  return %1 = addi %a, %a : tile<4xi32>",
        "  return\n  %1 = addi %a, %a : tile<4xi32>",
        "  }",
        "  {",
        "#alias = 1",
        "  %1 = addi %a, %a \x1f: tile<4xi32>",
        "  %1 = addi %a, %a : tile<4xi32>\n\x1f",
    ],
)
def test_odd_lines_among_many(monkeypatch, line):
    text = "entry @k(%a: tile<4xi32>) {\n"
    text += "".join(f"  %v{index} = addi %a, %a : tile<4xi32>\n" for index in range(4))
    text += "".join(f"  %c{index} = constant <i32: {index}> : tile<4xi32>\n" for index in range(4))
    text += "  %0 = addi %a, %a : tile<4xi32>\n"
    for odd in (text + line, f"{text}{line}\n  return\n}}\n", f"{text}{line}\n{text[len('entry @k') :]}"):
        agree(*in_both_ways(monkeypatch, odd, partial=True))


def test_aliases_are_looked_for_at_the_begin_of_lines():
    assert has_aliases("#a = 1\n") and has_aliases("x\n \t!b =i32")
    assert not has_aliases("%x#0 = addi\n%y = addi %x#1, %z : !cuda_tile.tile<i32>")


def test_lines_are_alike_whatever_their_names_are():
    alike = "".join(f"%{number} = addf %a, %b#{number} : tile<f32>\n" for number in range(3000))
    different = "".join(f"%{number} = constant <i32: {number}> : tile<i32>\n" for number in range(3000))
    assert reading.has_alike_lines(alike)
    assert not reading.has_alike_lines(different)
    # Lines that are longer than what is looked at say nothing.
    assert not reading.has_alike_lines(alike.replace("\n", " "))
    # Few in each place are, but what is different in one comes again in another.
    body = different[:200]
    assert reading.has_alike_lines(body * 1000)
    # Three quarters of the lines: worth it in a text that is much longer.
    mixed = "".join(f"%a = addf %b, %c : tile<f32>\n{line}\n{line}1\n{line}2\n" for line in different.split("\n"))
    assert not reading.has_alike_lines(mixed[:100_000])
    assert reading.has_alike_lines(10 * mixed)


def test_functions_that_come_again_are_alike():
    """Also where no two lines of a function are: what is looked at in a few places does not tell."""
    lines = [f"  %{index} = constant <i32: {index}> : tile<{2 ** (index % 13)}xi32>\n" for index in range(300)]
    functions = ["".join([f"entry @k{number}() {{\n", *lines, "  return\n}\n"]) for number in range(5)]
    assert not reading.has_alike_lines(functions[0])
    assert reading.has_alike_lines("".join(functions))


def test_tensors_that_name_a_size_twice(monkeypatch):
    """Their operands stand in the order of their names, whichever of these are the same."""
    lines = []
    for number in range(60):
        one, two, three = (("m", "n", "m"), ("n", "m", "m"), ("m", "m", "m"))[number % 3]
        lines.append(
            f"  %t{number} = make_tensor_view %p, shape = [%{one}, %{two}], strides = [%{three}, 1] : "
            "tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>"
        )
    text = "\n".join(["entry @k(%p: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>) {", *lines, "  return", "}"])
    ordinary, found = in_both_ways(monkeypatch, text)
    agree(ordinary, found)
