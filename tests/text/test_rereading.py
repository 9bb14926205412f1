"""A text that is read again in parts after an edit is what it is when it is read as a whole."""

import random

import pytest
from tests.text.edits import PROGRAMS, random_edits

from tileir.ir.location import TextLocation
from tileir.ir.values import Value
from tileir.text.edits import EditedText, TokenText
from tileir.text.lexer import tokenize
from tileir.text.reading import read_text


def told(diagnostics):
    """What diagnostics say, and where."""
    return {
        (
            each.severity,
            each.message,
            each.position[1:],
            tuple((note.message, note.position[1:]) for note in each.notes),
        )
        for each in diagnostics
    }


def dump(module):
    """A program, also one with holes: which values operations take and give, with what, and where they stand."""
    numbers: dict = {}

    def place(location):
        return location.resolve().text if isinstance(location, TextLocation) else location.text

    def number(value):
        if type(value) is Value:
            # Uses of a name that nothing defines may share a hole or have one each.
            return f"hole:{value.type.text}"
        return f"{numbers.setdefault(value, len(numbers))}:{value.type.text}"

    lines = []
    for operation in module.walk():
        assert all(operation in value.users for value in operation.operands)
        assert all(result in user.operands for result in operation.results for user in result.users)
        arguments = [
            number(argument) + place(argument.location)
            for region in operation.regions
            for block in region.blocks
            for argument in block.arguments
        ]
        attributes = {name: value.text for name, value in operation.attributes.items()}
        operands, results = map(number, operation.operands), map(number, operation.results)
        shape = [[len(block) for block in region.blocks] for region in operation.regions]
        lines.append(
            f"{operation.name} {[*operands]} {[*results]} {attributes} {operation.segments} {arguments} {shape} "
            f"{place(operation.location)}"
        )
    return lines


def follow(seed, programs, edits):
    """Edit programs at random, and hold each state to what a whole reading gives; how many were read in parts."""
    in_parts = 0
    for index in range(programs):
        chance = random.Random(f"{seed} {index}")
        path = chance.choice(PROGRAMS)
        text = path.read_text("utf-8", "surrogateescape")
        tokens = TokenText(text)
        edited = EditedText(tokens)
        words = [token for token in tokens.tokens if token]
        for start, end, new in random_edits(chance, text, edits, words):
            before, whole = text, edited.whole_reads
            text = text[:start] + new + text[end:]
            edited.update(tokens.replace(start, end, new))
            in_parts += edited.whole_reads == whole
            where = f"{path}, seed {seed}, program {index}: {before[start:end]!r} became {new!r} at {start}"
            fresh = EditedText(TokenText(text))
            assert told(edited.diagnostics) == told(fresh.diagnostics), where
            assert dump(edited.module) == dump(fresh.module), where
            assert told(edited.diagnostics) == told(read_text(text, partial=True).diagnostics), where
    return in_parts


def test_random_edits_read_in_parts_give_what_a_whole_reading_gives():
    assert follow("short", 6, 6) > 5


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_many_random_edits(seed):
    assert follow(f"long {seed}", 40, 25) > 100


@pytest.mark.parametrize(("old", "new"), [(":1", ":7"), ('"k.py"', '"l.py"'), ("#l =", "#m ="), ('loc("', 'oc("')])
def test_alias_behind_a_brace_too_many_is_read_again(old, new):
    head = "cuda_tile.module @m {\nentry @k() {\nreturn loc(#l)\n}\n}\n"
    text = f'{head}%x = a\n}}\nreturn\nreturn\nreturn\n#l = loc("k.py":1:2)\n'
    tokens = TokenText(text)
    edited = EditedText(tokens)
    start = text.index(old)
    edited.update(tokens.replace(start, start + len(old), new))
    fresh = EditedText(TokenText(tokens.text))
    assert told(edited.diagnostics) == told(fresh.diagnostics)
    assert dump(edited.module) == dump(fresh.module)


def test_tokens_after_edits_are_those_of_the_text():
    for index in range(8):
        chance = random.Random(f"tokens {index}")
        text = chance.choice(PROGRAMS).read_text("utf-8", "surrogateescape")[:2000]
        tokens = TokenText(text)
        words = [token for token in tokens.tokens if token]
        for start, end, new in random_edits(chance, text, 40, words):
            before = list(tokens.tokens)
            text = text[:start] + new + text[end:]
            change = tokens.replace(start, end, new)
            assert tokens.text == text
            fresh = TokenText(text)
            assert (tokens.tokens, [*tokens.starts]) == (fresh.tokens, [*fresh.starts])
            assert [token for token in tokens.tokens if token] == [token for token in tokenize(text) if token]
            kept = before[: change.first] + tokens.tokens[change.first : change.new_end] + before[change.old_end :]
            assert kept == tokens.tokens


def functions(count):
    """Two kernels of a row of additions each."""
    rows = "".join([f"    %v{i + 1} = addi %v{i}, %c : tile<4xi32>\n" for i in range(count)])
    constants = "    %c = constant <i32: 1> : tile<4xi32>\n    %v0 = constant <i32: 2> : tile<4xi32>\n"
    kernels = [f"  entry @k{i}() {{\n{constants}{rows}    return\n  }}\n" for i in range(2)]
    return "cuda_tile.module @m {\n" + "".join(kernels) + "}\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("addi", "adi"),
        ("addi", "muli"),
        ("tile<4xi32>", "tile<4xi32"),
        ("tile<4xi32>", "tile<8xi32>"),
        ("%c", "%undefined"),
        (" = addi", " = addi loc("),
        ("    %", "    %n = constant <i32: 3> : tile<4xi32>\n    %"),
        ("addi", ""),
    ],
)
def test_an_edit_in_a_function_reads_that_function(old, new):
    text = functions(20)
    tokens = TokenText(text)
    edited = EditedText(tokens)
    for kernel in (0, 1):
        start = text.index(old, text.index("    %v10 = ", text.index(f"@k{kernel}")))
        for change in ((start, start + len(old), new), (start, start + len(new), old)):
            other = edited.module.regions[0].blocks[0].operations[1 - kernel]
            edited.update(tokens.replace(*change))
            assert edited.whole_reads == 1
            assert edited.module.regions[0].blocks[0].operations[1 - kernel] is other
            fresh = EditedText(TokenText(tokens.text))
            assert told(edited.diagnostics) == told(fresh.diagnostics)
            assert dump(edited.module) == dump(fresh.module)
        assert edited.complete


def test_a_use_of_a_value_within_what_computes_it_is_a_use_before_its_definition():
    text = """entry @k(%n: tile<i32>) {
  %sum = for %i in (%n to %n, step %n) : tile<i32> iter_values(%s = %n) -> (tile<i32>) {
    %t = addi %s, %i : tile<i32>
    continue %t : tile<i32>
  }
  return
}
"""
    tokens = TokenText(text)
    edited = EditedText(tokens)
    for line in ("    addi %sum, %i : tile<i32>\n", "    addf %sum, %sum : tile<f32>\n"):
        start = tokens.text.index("    continue")
        for change in ((start, start, line), (start, start + len(line), "")):
            edited.update(tokens.replace(*change))
            fresh = EditedText(TokenText(tokens.text))
            assert told(edited.diagnostics) == told(fresh.diagnostics)
            assert dump(edited.module) == dump(fresh.module)
    assert edited.complete


def test_only_what_uses_a_broken_alias_is_broken():
    text = """cuda_tile.module @m {
  entry @k() {
    %0 = make_token : token loc(#loc5)
    return loc(#loc3)
  } loc(#loc3)
}
#loc3 = loc("a":1:1)
#loc4 = loc(nonsense)
#loc5 = loc(callsite(#loc4 at #loc3))
"""
    found = read_text(text, partial=True)
    assert [each.message for each in found.diagnostics] == ["expected location instance"]
    assert [operation.name for operation in found.module.walk()][1:] == ["cuda_tile.entry", "cuda_tile.return"]
