"""Reading texts: where mistakes are told, and how often; comments; uses before definitions."""

from __future__ import annotations

import pytest

import tileir
from tileir.text.reading import read_text


def findings(text: str) -> list[tuple[int, int, str]]:
    with pytest.raises(tileir.ParseError) as caught:
        tileir.parse(text)
    return [(*diagnostic.position[1:], diagnostic.message) for diagnostic in caught.value.diagnostics]


def entry(body: str) -> str:
    return f"cuda_tile.module @m {{\n  entry @k(%c: tile<i1>) {{\n{body}\n    return\n  }}\n}}\n"


# --- regions that are not closed ---


@pytest.mark.parametrize("depth", [1, 60, 99])
def test_text_that_ends_too_early_is_told_once(depth: int) -> None:
    text = "cuda_tile.module @m {\n  entry @k(%c: tile<i1>) {" + "\nif %c {" * (depth - 1)
    assert findings(text) == [(depth + 1, len(text.split("\n")[-1]) + 1, "expected '}'")]


def test_mistakes_before_an_early_end_are_told_too() -> None:
    text = "cuda_tile.module @m {\n  entry @k() {\n    nonsense\n    %0 = addi %x, %x : tile<i32>\n"
    assert sorted(findings(text)) == [
        (3, 5, "custom op 'nonsense' is unknown (tried 'cuda_tile.nonsense' as well)"),
        (4, 15, "use of undeclared SSA value name '%x'"),
        (4, 33, "expected '}'"),
    ]


# --- comments in types ---


@pytest.mark.parametrize(
    "written",
    [
        "tile<4x // >\n f32>",
        "tile<4x // <<\n f32>",
        'tile<4x // "\n f32>',
        "tile<4x // a //> b / c >\n // > again\n f32>",
        "tile< // >\n 4xf32 // <\n >",
    ],
)
def test_comment_in_a_type_may_hold_any_bracket(written: str) -> None:
    module = tileir.parse(entry(f"    %0 = constant <f32: 1.0> : {written}"))
    tileir.verify(module)
    assert str(module) == str(tileir.parse(entry("    %0 = constant <f32: 1.0> : tile<4xf32>")))


def test_comment_in_a_nested_type_may_hold_any_bracket() -> None:
    plain = "partition_view<tile=(4), tensor_view<8xf32, strides=[1]>>"
    commented = "partition_view<tile=(4), // >\n tensor_view<8xf32, // < \n strides=[1]>// >>\n >"
    view = "%v = make_tensor_view %p, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1]>"
    texts = [
        f"cuda_tile.module @m {{ entry @k(%p: tile<ptr<f32>>) {{ {view} %0 = make_partition_view %v : {type} return }} }}"
        for type in (plain, commented)
    ]
    assert str(tileir.parse(texts[0])) == str(tileir.parse(texts[1]))


def test_mistake_after_a_commented_type_has_its_own_line() -> None:
    text = entry("    %0 = constant <f32: 1.0> : tile<4x // >\n f32>\n    nonsense")
    assert findings(text)[0][:2] == (5, 5)


def test_slash_in_a_type_is_a_mistake() -> None:
    (finding,) = findings(entry("    %0 = constant <f32: 1.0> : tile<4x/f32>"))
    assert finding[0] == 3


# --- uses before definitions ---

LOOP = "    %1 = addi {use}, {use} : tile<i32>\n    {definition}"


def described(body: str) -> list[str]:
    """Errors and notes with their positions, as a drop-in gives them: the first error only."""
    found = read_text(entry(body), recover=False)
    lines: list[str] = []
    for diagnostic in found.diagnostics:
        for shown in (diagnostic, *diagnostic.notes):
            _, line, column = shown.position
            lines.append(f"{line}:{column} {shown.message}")
    return lines


@pytest.mark.parametrize("use", ["%0", "%0#0"])
def test_definition_of_another_type_than_an_earlier_use_is_told_where_it_is(use: str) -> None:
    body = LOOP.format(use=use, definition="%0 = constant <f32: 1.0> : tile<f32>")
    assert described(body) == [
        "4:5 definition of SSA value '%0#0' has type '!cuda_tile.tile<f32>'",
        "3:15 previously used here with type '!cuda_tile.tile<i32>'",
    ]


@pytest.mark.parametrize(("names", "column"), [("%0:2", 5), ("%x, %0", 9), ("%x, %y, %0:2", 13)])
def test_definition_of_several_results_is_checked_name_by_name(names: str, column: int) -> None:
    number = 1 if ":" in names else 0
    types = ", ".join(["tile<f32>"] * (names.count(",") + 1 + names.count(":")))
    body = LOOP.format(use=f"%0#{number}", definition=f"{names} = if %c -> ({types}) {{ yield }}")
    assert described(body)[0] == f"4:{column} definition of SSA value '%0#{number}' has type '!cuda_tile.tile<f32>'"


@pytest.mark.parametrize("number", [0, 1])
def test_result_used_by_number_before_its_definition_is_found(number: int) -> None:
    use = f'    "a.b"(%0#{number}) : (tile<i32>) -> ()\n'
    text = f'"a.a"() ({{\n{use}    %0:2 = "a.c"() : () -> (tile<i32>, tile<i32>)\n}}) : () -> ()'
    found = read_text(text, allow_unregistered=True)
    assert [str(d) for d in found.diagnostics] == []
    assert found.module is not None
    user, definition = [op for op in found.module.walk() if op.name in ("a.b", "a.c")]
    assert user.operands == [definition.results[number]]


def test_use_of_another_type_than_the_definition_names_the_value_without_its_number() -> None:
    body = "    %0:2 = if %c -> (tile<i32>, tile<f32>) { yield }\n    %1 = addi %0#1, %0#1 : tile<i32>"
    message = (
        "use of value '%0' expects different type than prior uses: '!cuda_tile.tile<i32>' vs '!cuda_tile.tile<f32>'"
    )
    assert described(body) == [f"4:15 {message}", "3:5 prior use here"]


def test_number_of_a_result_that_is_not_there_is_refused() -> None:
    body = "    %0 = constant <i32: 1> : tile<i32>\n    %1 = addi %0#1, %0#1 : tile<i32>"
    assert described(body) == ["4:15 reference to invalid result number"]


@pytest.mark.parametrize("names", ["%0#1", "%0#1:2", "%0#0"])
def test_number_is_no_part_of_the_name_of_a_result(names: str) -> None:
    assert described(f"    {names} = constant <i32: 1> : tile<i32>") == ["3:7 expected '=' after SSA name"]


def test_redefinition_is_told_at_the_name_itself() -> None:
    body = "    %x = constant <i32: 1> : tile<i32>\n    %0, %x = if %c -> (tile<i32>, tile<i32>) { yield }"
    assert described(body) == ["4:9 redefinition of SSA value '%x'", "3:5 previously defined here"]


# --- make_tensor_view ---


@pytest.mark.parametrize(
    "types", ["tile<i32>, tensor_view<8xf32, strides=[1]>", "tensor_view<8xf32, strides=[1]>, tile<i32>"]
)
def test_types_before_the_view_need_an_arrow(types: str) -> None:
    rest = f"shape = [8], strides = [1] : {types}"
    text = entry("").replace("tile<i1>", "tile<ptr<f32>>").replace("\n\n", f"\n%v = make_tensor_view %c, {rest}\n")
    ((line, _, found),) = findings(text)
    assert (line, found) == (3, "expected '->'")
    drop_in = read_text(text, recover=False, draft_spellings=False).diagnostics
    assert [d.message for d in drop_in] == ["expected operation name in quotes"]
    assert text.split("\n")[2][drop_in[0].position[2] - 1] == ","


@pytest.mark.parametrize(
    ("sizes", "place", "message"),
    [
        ("shape = [8, 8], strides = [1]", "[8, 8]", "expected shape declaration to contain 1 elements"),
        ("shape = [4], strides = [1]", "4]", "input shape dimension 0 does not match tensor_view type"),
        ("shape = [8], strides = [2]", "2]", "input stride dimension 0 does not match tensor_view type"),
    ],
)
def test_sizes_that_do_not_fit_the_view_are_shown(sizes: str, place: str, message: str) -> None:
    body = f"%v = make_tensor_view %c, {sizes} : tensor_view<8xf32, strides=[1]>"
    ((_, column, found),) = findings(entry(body).replace("tile<i1>", "tile<ptr<f32>>"))
    assert message in found
    assert body[column - 1 :].startswith(place)


# --- what only the drop-ins refuse ---


def test_drop_in_wants_dialect_types_with_their_prefix_in_the_generic_form() -> None:
    for form, column in (("(tile<i1>) -> !cuda_tile.tile<i1>", 34), ("(!cuda_tile.tile<i1>) -> tile<i1>", 58)):
        text = entry(f'    %0 = "cuda_tile.negi"(%c) : {form}')
        found = read_text(text, recover=False, draft_spellings=False).diagnostics
        assert [(d.position[1:], d.message) for d in found] == [((3, column), "expected non-function type")]
        assert read_text(text).diagnostics == []


def test_drop_in_wants_arguments_of_a_labeled_block_with_their_prefix() -> None:
    text = '"a.b"() ({\n^bb0(%a: tile<i1>):\n  "a.c"() : () -> ()\n}) : () -> ()'
    found = read_text(text, allow_unregistered=True, recover=False, draft_spellings=False).diagnostics
    assert [(d.position[1:], d.message) for d in found] == [((2, 10), "expected non-function type")]
    assert read_text(text, allow_unregistered=True).diagnostics == []
    prefixed = text.replace("tile<", "!cuda_tile.tile<")
    assert read_text(prefixed, allow_unregistered=True, recover=False, draft_spellings=False).diagnostics == []


def test_drop_in_takes_what_is_alone_behind_a_pointer_for_the_mask() -> None:
    body = "%0, %1 = load_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> tile<f32>, token"
    text = f"cuda_tile.module @m {{ entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {{ {body} return }} }}"
    tileir.verify(tileir.parse(text))
    found = read_text(text, recover=False, draft_spellings=False)
    assert found.module is not None
    with pytest.raises(tileir.VerifyError, match="operand #1 must be tile of i1 values"):
        tileir.verify(found.module)
