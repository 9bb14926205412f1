"""Each spelling that only the drafts have is read, remarked upon, and printed in the public form.

The ids are rows of docs/reference/conflicts.md.  With `draft_spellings=False`, as the drop-ins of NVIDIA's tools read, the same
texts are refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import tileir
from tileir.text.reading import ReadText, read_text

# What the statements below may use.
ARGUMENTS = (
    "%p: tile<ptr<f32>>, %ip: tile<ptr<i32>>, %x: tile<f32>, %y: tile<f32>, %i: tile<i32>, %b: tile<i8>, %c: tile<i1>"
)
VIEW = "partition_view<tile=(4), tensor_view<64xf32, strides=[1]>>"
MAKE_VIEW = f"""%t = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
%v = make_partition_view %t : {VIEW}
%tile = constant <f32: 0.0> : tile<4xf32>
"""


@dataclass(frozen=True)
class Alias:
    identifier: str
    statement: str
    printed: str
    remarks: tuple[str, ...]
    setup: str = ""
    """Statements before it that are public as they stand."""
    drop_in: str = "refused"
    """What a drop-in says to it: `refused`, `not verified`, or `accepted` where MLIR gives it a meaning of its own."""

    @property
    def name(self) -> str:
        body = self.statement.partition(" = ")[2] if self.statement.startswith("%") else self.statement
        return f"{self.identifier}-{body.split()[0]}"


ALIASES = [
    Alias(
        "A1",
        "%r = constant dense<[1, 2]> : tile<2xi32>",
        "%cst_i32 = constant <i32: [1, 2]> : tile<2xi32>",
        ("'dense<..>' is read as '<i32: ..>'",),
    ),
    Alias(
        "A2",
        "%r = cmpf equal ordered %x, %y : tile<f32>",
        "%0 = cmpf equal ordered %arg2, %arg3 : tile<f32> -> tile<i1>",
        ("the result type of the comparison is left out",),
    ),
    Alias(
        "A2",
        "%r = cmpf olt, %x, %y : tile<f32>",
        "%0 = cmpf less_than ordered %arg2, %arg3 : tile<f32> -> tile<i1>",
        ("'olt' is read as 'less_than ordered'", "the result type of the comparison is left out"),
    ),
    Alias(
        "A2",
        "%r = cmpf one, %x, %y : tile<f32> -> tile<i1>",
        "%0 = cmpf not_equal ordered %arg2, %arg3 : tile<f32> -> tile<i1>",
        ("'one' is read as 'not_equal ordered'",),
    ),
    Alias(
        "A2",
        "%r = cmpf uge, %x, %y : tile<f32> -> tile<i1>",
        "%0 = cmpf greater_than_or_equal unordered %arg2, %arg3 : tile<f32> -> tile<i1>",
        ("'uge' is read as 'greater_than_or_equal unordered'",),
    ),
    Alias(
        "A3",
        f"%r, %k = load_view_tko weak %v[%i] : {VIEW} -> tile<4xf32>, token",
        f"%tile, %result_token = load_view_tko weak %pview[%arg4] : {VIEW}, tile<i32> -> tile<4xf32>, token",
        ("the types of the indices are taken from the values",),
        MAKE_VIEW,
    ),
    Alias(
        "A4",
        "%r = make_tensor_view %p, shape = [%i], strides = [1] : tensor_view<?xf32, strides=[1]>",
        "%tview = make_tensor_view %arg0, shape = [%arg4], strides = [1] : "
        "tile<i32> -> tensor_view<?xf32, strides=[1]>",
        ("the type of the dynamic sizes is taken from the values: 'tile<i32>'",),
    ),
    Alias(
        "A6",
        "%a, %d, %e = get_num_tile_blocks : tile<3xi32>",
        "%gridSize_x, %gridSize_y, %gridSize_z = get_num_tile_blocks : tile<i32>",
        ("'tile<3xi32>' is read as 'tile<i32>'",),
    ),
    Alias(
        "A7",
        f"%r, %k = load_view_tko weak %v[%i] optimization_hints = <{{ sm_100 = {{latency = 2}} }}> "
        f": {VIEW}, tile<i32> -> tile<4xf32>, token",
        "%tile, %result_token = load_view_tko weak %pview[%arg4] optimization_hints = <sm_100 = {latency = 2}> "
        f": {VIEW}, tile<i32> -> tile<4xf32>, token",
        ("the braces around the hints are left out",),
        MAKE_VIEW,
    ),
    Alias(
        "A8",
        '%r = print "i %, x %, 5%%, %d", %i, %x, %i : tile<i32>, tile<f32>, tile<i32>',
        '%0 = print_tko "i %d, x %f, 5%%, %d", %arg4, %arg2, %arg4 : tile<i32>, tile<f32>, tile<i32> -> token',
        (
            "'print' is read as 'print_tko'",
            "a bare '%' is read as '%d' or '%f' by the type of its argument",
        ),
    ),
    Alias(
        "A9",
        "%r = if %c -> (tile<f32>) {\n^then:\nyield %x : tile<f32>\n} else {\n^else:\nyield %y : tile<f32>\n}",
        "%0 = if %arg6 -> (tile<f32>) {\n      yield %arg2 : tile<f32>\n    } else {\n"
        "      yield %arg3 : tile<f32>\n    }",
        ("the label '^then' of the first block is left out", "the label '^else' of the first block is left out"),
        drop_in="accepted",
    ),
    Alias(
        "A9",
        "%r = loop iter_values(%s = %x) : tile<f32> -> tile<f32> {\n^body:\nbreak %s : tile<f32>\n}",
        "%0 = loop iter_values(%arg7 = %arg2) : tile<f32> -> tile<f32> {\n      break %arg7 : tile<f32>\n    }",
        ("the label '^body' of the first block is left out",),
    ),
    Alias(
        "A10",
        f"%r = store_view_tko weak %v[%i], %tile : {VIEW}, tile<4xf32>, tile<i32> -> token",
        f"%0 = store_view_tko weak %cst_0_f32, %pview[%arg4] : tile<4xf32>, {VIEW}, tile<i32> -> token",
        ("the view is read as the second operand, after the tile",),
        MAKE_VIEW,
    ),
    Alias(
        "A11",
        "%r, %k = atomic_rmw_tko acquire device add %ip, %i : tile<ptr<i32>>, tile<i32> -> tile<i32>, token",
        "%result, %result_token = atomic_rmw_tko acquire device %arg1, add, %arg4 : "
        "tile<ptr<i32>>, tile<i32> -> tile<i32>, token",
        ("the mode is read as standing after the pointers",),
    ),
    Alias(
        "A15",
        "%r = constant <fp8e4m3fn: 1.0> : tile<fp8e4m3fn>",
        "%cst_1_f8E4M3FN = constant <f8E4M3FN: 1.000000e+00> : tile<f8E4M3FN>",
        ("'fp8e4m3fn' is read as 'f8E4M3FN'",) * 2,
    ),
    Alias(
        "A15",
        "%r = ftof %x : tile<f32> -> tile<fp8e5m2>",
        "%0 = ftof %arg2  : tile<f32> -> tile<f8E5M2>",
        ("'fp8e5m2' is read as 'f8E5M2'",),
    ),
    Alias(
        "A15",
        "%r = reshape %p : tile<ptr<f32>> -> tile<1xf32*>",
        "%reshape = reshape %arg0 : tile<ptr<f32>> -> tile<1xptr<f32>>",
        ("'f32*' is read as 'ptr<f32>'",),
    ),
    Alias(
        "A16",
        "%r = powf %x, %y : tile<f32>",
        "%0 = fpowf %arg2, %arg3 : tile<f32>",
        ("'powf' is read as 'fpowf'",),
    ),
    Alias(
        "A16",
        "%r = mulhi %i, %i : tile<i32>",
        "%0 = mulhii %arg4, %arg4 : tile<i32>",
        ("'mulhi' is read as 'mulhii'",),
    ),
    Alias("A16", "%r = negsi %i : tile<i32>", "%0 = negi %arg4 : tile<i32>", ("'negsi' is read as 'negi'",)),
    Alias("A16", "%r = tanhf %x : tile<f32>", "%0 = tanh %arg2  : tile<f32>", ("'tanhf' is read as 'tanh'",)),
    Alias(
        "A17",
        '%r = print "%d", %i : tile<i32>',
        '%0 = print_tko "%d", %arg4 : tile<i32> -> token',
        ("'print' is read as 'print_tko'",),
    ),
    Alias(
        "B1",
        "%r, %k = load_ptr_tko acquire gpu %p : tile<ptr<f32>> -> tile<f32>, token",
        "%result, %result_token = load_ptr_tko acquire device %arg0 : tile<ptr<f32>> -> tile<f32>, token",
        ("'gpu' is read as 'device'",),
    ),
    Alias(
        "B1",
        f"%r, %k = load_view_tko acquire gpu %v[%i] : {VIEW}, tile<i32> -> tile<4xf32>, token",
        f"%tile, %result_token = load_view_tko acquire device %pview[%arg4] : {VIEW}, tile<i32> -> tile<4xf32>, token",
        ("'gpu' is read as 'device'",),
        MAKE_VIEW,
    ),
    Alias(
        "B4",
        "%r, %k = atomic_rmw_tko relaxed device %ip, exchange, %i : tile<ptr<i32>>, tile<i32> -> tile<i32>, token",
        "%result, %result_token = atomic_rmw_tko relaxed device %arg1, xchg, %arg4 : "
        "tile<ptr<i32>>, tile<i32> -> tile<i32>, token",
        ("'exchange' is read as 'xchg'",),
    ),
    Alias(
        "B4",
        "%r, %k = atomic_rmw_tko relaxed device %ip, addu, %i : tile<ptr<i32>>, tile<i32> -> tile<i32>, token",
        "%result, %result_token = atomic_rmw_tko relaxed device %arg1, add, %arg4 : "
        "tile<ptr<i32>>, tile<i32> -> tile<i32>, token",
        ("'addu' is read as 'add'",),
    ),
    Alias(
        "B4",
        "%r, %k = atomic_rmw_tko relaxed device %p, add, %x : tile<ptr<f32>>, tile<f32> -> tile<f32>, token",
        "%result, %result_token = atomic_rmw_tko relaxed device %arg0, addf, %arg2 : "
        "tile<ptr<f32>>, tile<f32> -> tile<f32>, token",
        ("'add' on floats is read as 'addf'",),
        drop_in="not verified",
    ),
    Alias(
        "B8",
        "%r = addi %i, %i overflow_behavior<no_wrap> : tile<i32>",
        "%0 = addi %arg4, %arg4 overflow<no_wrap> : tile<i32>",
        ("'overflow_behavior' is read as 'overflow'",),
    ),
    Alias(
        "B8",
        "%r = addi %i, %i {overflow_behavior = #cuda_tile.overflow<no_wrap>} : tile<i32>",
        "%0 = addi %arg4, %arg4 overflow<no_wrap> : tile<i32>",
        ("'overflow_behavior' is read as 'overflow'",),
        drop_in="accepted",
    ),
    Alias(
        "C1",
        "assume %c : tile<i1>",
        "assume_cond %arg6 : tile<i1>",
        ("'assume' of a condition is read as 'assume_cond'",),
    ),
    Alias(
        "C1",
        "%r = assume [div_by<4>, bounded<0, ?>], %i : tile<i32>",
        "%assume = assume div_by<4>, %arg4 : tile<i32>\n    %assume_assume = assume bounded<0, ?>, %assume : tile<i32>",
        ("a list of predicates is read as a chain of assumes",),
    ),
    Alias(
        "C3",
        "%r = assume same_elements<dense<7>>, %w : tile<4x8xi32>",
        "%assume = assume same_elements<[4, 8]>, %0 : tile<4x8xi32>",
        ("'same_elements<dense<..>>' is read as 'same_elements<[4, 8]>'",),
        "%w = unrealized_conversion_cast %i : tile<i32> to tile<4x8xi32>\n",
    ),
    Alias(
        "C6",
        "%r = maxf %x, %y {comparison_ordering = #cuda_tile.comparison_ordering<ordered>} : tile<f32>",
        "%0 = maxf %arg2, %arg3 {comparison_ordering = #cuda_tile.comparison_ordering<ordered>} : tile<f32>",
        ("'comparison_ordering' has no effect on 'maxf'",),
        drop_in="accepted",
    ),
    Alias(
        "C7",
        "%r = remf %x, %y {rounding_mode = #cuda_tile.rounding<nearest_even>} : tile<f32>",
        "%0 = remf %arg2, %arg3 : tile<f32>",
        ("'rounding_mode' is dropped: a remainder is exact",),
        drop_in="accepted",
    ),
    Alias(
        "C9",
        "%r = shli %i, %b : tile<i32>",
        "%0 = exti %arg5 unsigned : tile<i8> -> tile<i32>\n    %1 = shli %arg4, %0 : tile<i32>",
        ("the amount is converted from 'tile<i8>' to 'tile<i32>'",),
    ),
    Alias(
        "C9",
        "%r = shri %b, %i unsigned : tile<i8>",
        "%0 = trunci %arg4 : tile<i32> -> tile<i8>\n    %1 = shri %arg5, %0 unsigned : tile<i8>",
        ("the amount is converted from 'tile<i32>' to 'tile<i8>'",),
    ),
]


def name_of(alias: Alias) -> str:
    return alias.name


def read(statement: str, *, draft_spellings: bool = True) -> ReadText:
    text = f"cuda_tile.module @m {{\nentry @k({ARGUMENTS}) {{\n{statement}\nreturn\n}}\n}}"
    return read_text(text, draft_spellings=draft_spellings)


def remarks_of(found: ReadText) -> tuple[str, ...]:
    return tuple(d.message for d in found.diagnostics if d.severity == "remark")


@pytest.mark.parametrize("alias", ALIASES, ids=name_of)
def test_draft_spelling_is_remarked_upon_and_printed_in_the_public_form(alias: Alias) -> None:
    found = read(alias.setup + alias.statement)
    assert found.module is not None, [str(d) for d in found.diagnostics]
    printed = str(found.module)
    assert f"    {alias.printed}\n    return" in printed
    assert remarks_of(found) == alias.remarks


@pytest.mark.parametrize("alias", ALIASES, ids=name_of)
def test_public_form_of_a_draft_spelling_parses_back_and_verifies(alias: Alias) -> None:
    module = read(alias.setup + alias.statement).module
    assert module is not None
    again = read_text(str(module))
    assert again.module is not None
    assert str(again.module) == str(module)
    tileir.verify(module)


@pytest.mark.parametrize("alias", ALIASES, ids=name_of)
def test_drop_in_reads_no_draft_spelling(alias: Alias) -> None:
    found = read(alias.setup + alias.statement, draft_spellings=False)
    assert remarks_of(found) == ()
    if alias.drop_in == "refused":
        assert found.module is None
        return
    assert found.module is not None
    if alias.drop_in == "accepted":
        tileir.verify(found.module)
    else:
        with pytest.raises(tileir.VerifyError):
            tileir.verify(found.module)


def test_every_use_of_a_draft_spelling_is_remarked_upon_at_its_position() -> None:
    found = read(
        "%r = powf %x, %y : tile<f32>\n%s = powf %x, %y : tile<f32>\n%t = ftof %x : tile<f32> -> tile<fp8e5m2>"
    )
    assert [(d.message, d.position[1:]) for d in found.diagnostics] == [
        ("'powf' is read as 'fpowf'", (3, 6)),
        ("'powf' is read as 'fpowf'", (4, 6)),
        ("'fp8e5m2' is read as 'f8E5M2'", (5, 29)),
    ]


def test_draft_spelling_of_a_type_is_refused_by_a_drop_in_after_another_reader_took_it() -> None:
    statement = "%r = ftof %x : tile<f32> -> tile<2xfp8e5m2>"
    assert read(statement).module is not None
    assert [d.message for d in read(statement, draft_spellings=False).diagnostics] == ["unknown type: fp8e5m2"]


def test_dense_global_and_nameless_module_are_remarked_upon() -> None:
    found = read_text("cuda_tile.module {\n  global @g dense<1> : tile<2xi32>\n}")
    assert str(found.module) == "cuda_tile.module @kernels {\n  global  @g <i32: 1> : tile<2xi32>\n}"
    assert remarks_of(found) == (
        "a module without a name is read as '@kernels'",
        "'dense<..>' is read as '<i32: ..>'",
    )


def test_hints_of_an_entry_may_stand_in_braces() -> None:
    found = read_text(
        "cuda_tile.module @m {\nentry @k() optimization_hints=<{ sm_100 = {occupancy = 2} }> {\nreturn\n}\n}"
    )
    assert found.module is not None
    assert "entry @k() optimization_hints=<sm_100 = {occupancy = 2}> {" in str(found.module)
    assert remarks_of(found) == ("the braces around the hints are left out",)


def test_scan_of_several_tiles_is_remarked_upon() -> None:
    statement = """%z = iota : tile<8xi32>
%r:2 = scan %z, %z dim=0 reverse=false identities=[0 : i32, 0 : i32] : tile<8xi32>, tile<8xi32> -> tile<8xi32>, tile<8xi32>
(%a: tile<i32>, %d: tile<i32>, %e: tile<i32>, %f: tile<i32>) {
yield %a, %e : tile<i32>, tile<i32>
}"""
    assert remarks_of(read(statement)) == ("a scan of more than one tile is not supported everywhere",)
    assert remarks_of(read(statement, draft_spellings=False)) == ()


REFUSED = [
    (
        "A5",
        "make_partition_view %t : partition_view<tensor_view<64xf32, strides=[1]>>",
        "expected 'tile': nothing else states the shape of the tiles",
    ),
    (
        "A10",
        f"store_view_tko weak %v[%i], %tile, %c : {VIEW}, tile<4xf32>, tile<i32> -> token",
        "a mask is not allowed on a view operation: the view bounds the access",
    ),
    (
        "A13",
        "%r = andi %c, %c : i1",
        "use of value '%c' expects different type than prior uses: 'i1' vs '!cuda_tile.tile<i1>'",
    ),
    (
        "B4",
        "%r, %k = atomic_rmw_tko relaxed device %ip, cmpxchg, %i : tile<ptr<i32>>, tile<i32> -> tile<i32>, token",
        "'cmpxchg' is no mode of atomic_rmw_tko: use atomic_cas_tko",
    ),
    (
        "C3",
        "%r = assume same_elements<dense<[7, 8]>>, %i : tile<i32>",
        "expected 'same_elements' to hold a splat: all its elements must be equal",
    ),
    (
        "C3",
        "%r = addi %i, %i {fact = #cuda_tile.same_elements<dense<7>>} : tile<i32>",
        "a splat 'same_elements' needs the tile of the 'assume' it stands in",
    ),
]


@pytest.mark.parametrize(("identifier", "statement", "message"), REFUSED)
def test_draft_text_that_has_no_meaning_is_refused_with_the_reason(
    identifier: str, statement: str, message: str
) -> None:
    found = read(MAKE_VIEW + statement)
    assert found.module is None
    assert [d.message for d in found.diagnostics if d.severity == "error"] == [message]


@pytest.mark.parametrize(
    ("statement", "keyword"),
    [
        ("%r, %k = load_ptr_tko seq_cst device %p : tile<ptr<f32>> -> tile<f32>, token", "seq_cst"),
        ("%r, %k = load_ptr_tko acquire cluster %p : tile<ptr<f32>> -> tile<f32>, token", "cluster"),
        (f"%r, %k = load_view_tko seq_cst device %v[%i] : {VIEW}, tile<i32> -> tile<4xf32>, token", "seq_cst"),
        (f"%r, %k = load_view_tko acquire cluster %v[%i] : {VIEW}, tile<i32> -> tile<4xf32>, token", "cluster"),
        (
            "%r, %k = atomic_rmw_tko seq_cst sys %ip, add, %i : tile<ptr<i32>>, tile<i32> -> tile<i32>, token",
            "seq_cst",
        ),
    ],
)
def test_keyword_that_only_a_draft_has_is_kept_here_and_refused_by_drop_ins(statement: str, keyword: str) -> None:
    found = read(MAKE_VIEW + statement)
    assert found.module is not None
    assert found.diagnostics == []
    tileir.verify(found.module)
    assert keyword in str(found.module)
    refused = read(MAKE_VIEW + statement, draft_spellings=False)
    assert refused.module is None
    # The keyword is not among the choices that are named.
    assert keyword not in refused.diagnostics[0].message.partition("one of")[2].partition("but got")[0]


def test_strict_bounds_are_kept_and_printed_here_and_refused_by_drop_ins() -> None:
    statement = "%r = assume bounded<0, 10, strict>, %i : tile<i32>"
    module = read(statement).module
    assert module is not None
    tileir.verify(module)
    assert "%assume = assume bounded<0, 10, strict>, %arg4 : tile<i32>" in str(module)
    assert [d.message for d in read(statement, draft_spellings=False).diagnostics] == ["expected '>'"]


def test_operation_that_only_a_draft_has_is_unknown_to_drop_ins() -> None:
    statement = "%r = maximumf %x, %y : tile<f32>"
    assert read(statement).module is not None
    assert [d.message for d in read(statement, draft_spellings=False).diagnostics] == [
        "custom op 'maximumf' is unknown (tried 'cuda_tile.maximumf' as well)"
    ]


def test_blanks_around_the_equals_sign_of_a_token_do_not_matter() -> None:
    for clause in ("token=%k", "token = %k", "token =%k"):
        found = read(
            f"%k = make_token : token\n%r, %s = load_ptr_tko weak %p {clause} : tile<ptr<f32>> -> tile<f32>, token"
        )
        assert found.diagnostics == []
        assert "load_ptr_tko weak %arg0 token=%0 : " in str(found.module)
