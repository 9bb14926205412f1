"""What is shown where the pointer rests."""

from __future__ import annotations

import pytest

from tileir.serve.language.document.document import Document
from tileir.serve.language.navigation.hover import hover

TENSOR = "tensor_view<?x64xf32, strides=[64,1]>"
PROGRAM = f"""\
!scalar = !cuda_tile.tile<i32>
cuda_tile.module @m {{
  global @table <f32: [0.5, 1.5]> : tile<2xf32>
  entry @k(%p: tile<ptr<f32>>, %n: !scalar) {{
    // %comment
    %step = constant <i32: 16> : tile<i32>
    %zero = constant <f32: 0.1> : tile<64xf32>
    %tensor = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> {TENSOR}
    %view = make_partition_view %tensor : partition_view<tile=(16x16), padding_value = nan, {TENSOR}>
    %sum = for %i in (%step to %n, step %step) : tile<i32> iter_values(%acc = %zero) -> (tile<64xf32>) {{
      %next = addf %acc, %zero rounding<zero> : tile<64xf32>
      continue %next : tile<64xf32>
    }}
    %pointer = get_global @table : tile<ptr<f32>>
    return
  }}
}}
"""


def shown(place: str, text: str = PROGRAM) -> str | None:
    """What is shown at the character behind `|`, which is taken out of `place`, a piece of the text."""
    before, _, behind = place.partition("|")
    document = Document("file:///k.mlir", text)
    found = hover(document, document.position(text.index(before + behind) + len(before)))
    return found.contents.value if found is not None else None


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("addf |%acc", ["%acc: tile<64xf32>", "carried from round to round by the `for` in line 10", "1 use: line 11"]),
        ("for |%i", ["%i: tile<i32>", "from 16 to 2147483632", "multiples of 16", "not used"]),
        ("= [|%n", ["%n: tile<i32>", "argument 1 of the kernel `@k`, line 4", "2 uses: lines 8, 10"]),
        ("|%step to", ["constant 16", "%step = constant <i32: 16> : tile<i32>"]),
        ("|%view", ["tiles along index 1: 4", "outside the tensor: reads `nan`"]),
        ("|%zero rounding", ["all elements are equal"]),
        ("|addf", ["%result = addf %lhs, %rhs", "Element-wise addition.", "Since 13.1", "| `lhs` |"]),
        ("cuda_tile.|module", ["A compilation unit"]),
        (
            "rounding<|zero",
            ["**zero** (rounding): toward zero", "`positive_inf`: upwards", "`rounding_mode` of `addf`"],
        ),
        ("tile=(16|x16", ["partition_view<tile=(16x16)", "tile it moves: `tile<16x16xf32>`"]),
        ("<i32: |16>", ["`16`, `0x10`, `0b10000`: 2 to the power of 4"]),
        ("<f32: |0.1>", ["`0x3DCCCCCD`", "is 0.10000000149011612"]),
        ("get_global |@table", ["global @table <f32: [0.5, 1.5]>", "1 use"]),
        ("entry |@k", ["entry @k(%p: tile<ptr<f32>>, %n: !scalar)", "operations inside"]),
        ("%n: |!scalar", ["!scalar = !cuda_tile.tile<i32>"]),
        ("<|f32: 0.1", ["IEEE single precision", "8 exponent"]),
    ],
)
def test_what_is_shown(place: str, words: list[str]) -> None:
    text = shown(place)
    assert text is not None
    for word in words:
        assert word in text, text


def test_keywords_that_the_operation_does_not_take_are_not_listed() -> None:
    assert "approx" not in (shown("rounding<|zero") or "")


def test_nothing_is_shown_in_comments_and_on_punctuation() -> None:
    assert shown("// %com|ment") is None
    assert shown("@k|(") is not None
    assert shown("(|%p: tile") is not None
    assert shown("= |[%n") is None


def test_facts_are_left_out_of_a_kernel_with_mistakes() -> None:
    broken = PROGRAM.replace("    return\n", "    %bad = addf %zero, %step : tile<64xf32>\n    return\n")
    text = shown("for |%i", broken)
    assert text is not None and "%i: tile<i32>" in text and "multiples" not in text


def test_a_value_that_is_not_defined_says_so() -> None:
    text = shown("addf |%nothing", "cuda_tile.module @m { entry @k() { %x = addf %nothing, %x : tile<f32> } }")
    assert text is not None and "not defined before its use" in text


def test_a_name_that_is_defined_again_where_its_definition_is_broken() -> None:
    lines = "%x = bogus\n%x = addf %a, %a : tile<f32>\n%y = negf %x : tile<f32>"
    text = shown("negf |%x", f"cuda_tile.module @m {{ entry @k(%a: tile<f32>) {{\n{lines}\n}} }}")
    assert text is not None and "%x: tile<f32>" in text
