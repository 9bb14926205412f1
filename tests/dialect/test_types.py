"""The types: what may be built, the exact words for what may not, and that equal types are one object."""

from __future__ import annotations

import pytest

import tileir
from tileir.dialect.enums import PADDING
from tileir.dialect.types import (
    DYNAMIC,
    MAXIMUM_TILE_ELEMENTS,
    STRING,
    TOKEN,
    PartitionViewType,
    TensorViewType,
    gather_scatter_view_type,
    partition_view_type,
    pointer_type,
    scalar_tile,
    strided_view_type,
    tensor_view_error,
    tensor_view_type,
    tile_error,
    tile_type,
)
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.types import BF16, F16, F32, I8, I32, I64, Type, function_type, integer_type
from tileir.ir.versions import V13_1, V13_2, V13_3, V13_4, Version
from tileir.text.reading import read_text

PREFIX = '%r = "cuda_tile.make_token"() : () -> '


def read(type: str, version: Version = V13_4, *, draft_spellings: bool = True) -> Type | list[Diagnostic]:
    """The type a text names, or what is said about it; the text stands on line 3."""
    found = read_text(
        f"cuda_tile.module @m {{\nentry @k() {{\n{PREFIX}{type}\nreturn\n}}\n}}",
        version=version,
        draft_spellings=draft_spellings,
    )
    if found.module is None:
        return found.diagnostics
    operation = next(operation for operation in found.module.walk() if operation.results)
    return operation.results[0].type


def mistake(type: str, version: Version = V13_4, *, draft_spellings: bool = True) -> str:
    found = read(type, version, draft_spellings=draft_spellings)
    assert isinstance(found, list), f"{found} is accepted"
    assert len(found) == 1
    return found[0].message


MATRIX = "tensor_view<4x4xf32, strides=[4,1]>"
INTEGERS = "tensor_view<4x4xi32, strides=[4,1]>"

MISTAKES = [
    ("tile<1x0x2xf32>", "all dimensions must be positive constants, got 1, 0, 2"),
    ("tile<-1xf32>", "expected valid keyword"),
    ("tile<3x5xf32>", "all dimensions must be powers of two, got 3, 5"),
    # The order is positive, power of two, cap (docs/reference/conflicts.md D6).
    ("tile<3x0xf32>", "all dimensions must be positive constants, got 3, 0"),
    ("tile<33554433xf32>", "all dimensions must be powers of two, got 33554433"),
    ("tile<33554432xf32>", "tile would exceed the maximum of 16777216 elements"),
    ("tile<4096x8192xf32>", "tile would exceed the maximum of 16777216 elements"),
    ("tile<4611686018427387904x4611686018427387904x4xi8>", "tile would exceed the maximum of 16777216 elements"),
    ("tile<1xf4E2M1FN>", "F4E2M1FN tiles must have an even number of elements"),
    ("tile<?xf32>", "expected static shape"),
    ("tile<4xf32,>", "expected '>'"),
    ("tile<4xf32", "expected '>'"),
    ("tile<4x>", "expected valid keyword"),
    ("tile<4xf128>", "unknown type: f128"),
    ("tile<4 f32>", "expected 'x' in dimension list"),
    ("tile", "expected '<'"),
    ("ptr<f32, <shared>>", "expected pointer attribute to be one of: none"),
    (
        "tensor_view<4x4xf32, strides=[1]>",
        "expected shape and stride to be of same rank but got shape of rank 2 and stride of rank 1",
    ),
    ("tensor_view<0xf32, strides=[1]>", "dimensions must have strictly positive constant sizes but got [0]"),
    ("tensor_view<?x0xf32, strides=[1,1]>", "dimensions must have strictly positive constant sizes but got [?, 0]"),
    ("tensor_view<4xf32, strides=[0]>", "expected strictly positive integer, got 0"),
    ("tensor_view<4xf32, strides=[-5]>", "expected strictly positive integer, got -5"),
    ("tensor_view<4xf32, strides=[a]>", "expected either 64-bit integer or question mark"),
    ("tensor_view<4xf32, strides=[9223372036854775808]>", "expected either 64-bit integer or question mark"),
    ("tensor_view<f32, strides=[]>", "strides must not be provided for 0-d tiles"),
    ("tensor_view<4xf32, stride=[1]>", "expected 'strides'"),
    ("tensor_view<4xf32>", "expected 'strides'"),
    ("partition_view<tile=(), tensor_view<f32>>", "0-dimension tile shape is not supported"),
    (
        f"partition_view<tile=(4), {MATRIX}>",
        "expected tensor_view rank and tile rank to match, got tensor_view of rank 2 and tiles of rank 1",
    ),
    (
        f"partition_view<tile=(4x4), {MATRIX}, dim_map=[0]>",
        "expected dim_map to map exactly all 2 dimensions of the tile, got 1 mappings",
    ),
    (
        f"partition_view<tile=(5x1024), {MATRIX}>",
        "tile shape dimensions must have power of two length but got [5, 1024]",
    ),
    (f"partition_view<tile=(0x4), {MATRIX}>", "tile shape dimensions must have positive length but got [0, 4]"),
    (
        f"partition_view<tile=(4x4), {MATRIX}, dim_map=[-1, 0]>",
        "target dimension must not be negative, got -1",
    ),
    (
        f"partition_view<tile=(4x4), {MATRIX}, dim_map=[2, 0]>",
        "target dimension is outside of tensor view dimensions, expected strictly less than 2, got 2",
    ),
    (
        f"partition_view<tile=(4x4), {MATRIX}, dim_map=[0, 0]>",
        "target dimension 0 mapped at least twice (for tile dimensions 0 and 1)",
    ),
    (
        f"partition_view<tile=(4x4), padding_value = nan, {INTEGERS}>",
        "padding_value nan can only be used with floating point element types, got 'i32'",
    ),
    (
        f"partition_view<tile=(4x4), padding_value = x, {MATRIX}>",
        'invalid padding_value attribute specification. Got "x" but expect one of: '
        "zero, neg_zero, nan, pos_inf, neg_inf",
    ),
    (
        f"partition_view<tile=(4x4294967296), {MATRIX}>",
        "tile dimension 1 exceeds i32 limitations (got 4294967296, expected strictly positive and less than or "
        "equal to 2147483647)",
    ),
    (f"partition_view<tile=(4096x8192), {MATRIX}>", "tile would exceed the maximum of 16777216 elements"),
    (
        f"gather_scatter_view<tile=(4x4), {MATRIX}, sparse_dim=2>",
        "gather dimension is outside of tensor view dimensions, expected strictly less than 2, got 2",
    ),
]


@pytest.mark.parametrize(("type", "message"), MISTAKES)
def test_mistake_in_a_type_is_told_in_the_words_of_the_public_verifier(type: str, message: str) -> None:
    assert mistake(f"!cuda_tile.{type}") == message


@pytest.mark.parametrize("padding", ["neg_zero", "nan", "pos_inf", "neg_inf"])
def test_padding_that_only_floats_have_is_refused_for_integers(padding: str) -> None:
    found = mistake(f"!cuda_tile.partition_view<tile=(4x4), padding_value = {padding}, {INTEGERS}>")
    assert found == f"padding_value {padding} can only be used with floating point element types, got 'i32'"


def test_zero_padding_suits_integers() -> None:
    text = f"!cuda_tile.partition_view<tile=(4x4), padding_value = zero, {INTEGERS}>"
    assert str(read(text)) == text


def test_mistake_in_a_type_is_reported_at_the_character() -> None:
    found = read("!cuda_tile.tensor_view<4xf32, strides=[-5]>")
    assert isinstance(found, list)
    assert found[0].position == ("-", 3, len(PREFIX) + len("!cuda_tile.tensor_view<4xf32, strides=[") + 1)


def test_unknown_type_of_the_dialect_is_refused() -> None:
    assert mistake("!cuda_tile.matrix<4xf32>") == "unknown  type `matrix` in dialect `cuda_tile`"


def test_undefined_type_alias_is_refused() -> None:
    assert mistake("!matrix") == "undefined symbol alias id 'matrix'"


# --- palettes (docs/reference/conflicts.md D2) ---

FIRST = "f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2"
LAST = "i1 or i8 or i16 or i32 or i64"
NUMBERS = {
    V13_1: f"{FIRST} or {LAST}",
    V13_2: f"{FIRST} or f8E8M0FNU or {LAST}",
    V13_3: f"{FIRST} or f8E8M0FNU or f4E2M1FN or {LAST}",
    V13_4: f"{FIRST} or f8E8M0FNU or f4E2M1FN or fnv8E5M3FNU or {LAST}",
}
ELEMENTS = {
    V13_1: f"{NUMBERS[V13_1]} or Pointer type",
    V13_2: f"{NUMBERS[V13_2]} or Pointer type",
    V13_3: f"{NUMBERS[V13_3]} or Pointer type or i4",
    V13_4: f"{NUMBERS[V13_4]} or Pointer type or i4",
}


@pytest.mark.parametrize("version", [V13_1, V13_2, V13_3, V13_4])
def test_refused_element_type_names_the_palette_of_the_version(version: Version) -> None:
    assert mistake("!cuda_tile.tile<i7>", version) == f"failed to verify 'elementType': {ELEMENTS[version]}"
    assert mistake("!cuda_tile.ptr<i7>", version) == f"failed to verify 'pointeeType': {NUMBERS[version]}"
    assert (
        mistake("!cuda_tile.tensor_view<4xi7, strides=[1]>", version)
        == f"failed to verify 'elementType': {NUMBERS[version]}"
    )


def test_text_of_the_types_draft_is_emitted_verbatim_for_13_1() -> None:
    assert mistake("!cuda_tile.tile<tile<f32>>", V13_1) == (
        "failed to verify 'elementType': f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or i1 or i8 or i16 "
        "or i32 or i64 or Pointer type"
    )


@pytest.mark.parametrize(
    ("type", "since"),
    [
        ("tile<2xf8E4M3FN>", V13_1),
        ("tile<tf32>", V13_1),
        ("tile<ptr<i1>>", V13_1),
        ("tile<f8E8M0FNU>", V13_2),
        ("tile<2xf4E2M1FN>", V13_3),
        ("tile<i4>", V13_3),
        ("tile<fnv8E5M3FNU>", V13_4),
        ("ptr<f8E8M0FNU>", V13_2),
        ("ptr<f4E2M1FN>", V13_3),
        ("ptr<fnv8E5M3FNU>", V13_4),
    ],
)
def test_element_type_exists_from_its_version_on(type: str, since: Version) -> None:
    for version in (V13_1, V13_2, V13_3, V13_4):
        if version < since:
            assert "failed to verify" in mistake(f"!cuda_tile.{type}", version)
        else:
            assert str(read(f"!cuda_tile.{type}", version)) == f"!cuda_tile.{type}"


@pytest.mark.parametrize("pointee", ["ptr<f32>", "tile<f32>", "token", "i4"])
def test_pointer_points_to_numbers_only(pointee: str) -> None:
    assert mistake(f"!cuda_tile.ptr<{pointee}>") == f"failed to verify 'pointeeType': {NUMBERS[V13_4]}"


@pytest.mark.parametrize("element", ["ptr<f32>", "i4"])
def test_tensor_view_holds_numbers_only(element: str) -> None:
    found = mistake(f"!cuda_tile.tensor_view<4x{element}, strides=[1]>")
    assert found == f"failed to verify 'elementType': {NUMBERS[V13_4]}"


# --- the contract of the types draft ---


def test_equal_parameters_give_the_same_type() -> None:
    view = tensor_view_type(F32, (4, DYNAMIC), (DYNAMIC, 1))
    assert tile_type((4, 8), F32) is tile_type((4, 8), F32)
    assert pointer_type(I32) is pointer_type(I32)
    assert view is tensor_view_type(F32, (4, DYNAMIC), (DYNAMIC, 1))
    assert partition_view_type((4, 4), view) is partition_view_type((4, 4), view, None, (0, 1))
    assert strided_view_type((4, 4), view, (2, 2)) is strided_view_type((4, 4), view, (2, 2))
    assert gather_scatter_view_type((4, 4), view, 0) is gather_scatter_view_type((4, 4), view, 0)
    assert function_type((I32,), (I64,)) is function_type((I32,), (I64,))
    assert integer_type(32) is I32


def test_different_parameters_give_different_types() -> None:
    view = tensor_view_type(F32, (4, 4), (4, 1))
    types = [
        tile_type((4, 8), F32),
        tile_type((8, 4), F32),
        tile_type((4, 8), F16),
        tile_type((4, 8), BF16),
        scalar_tile(F32),
        pointer_type(F32),
        pointer_type(F32, "none"),
        view,
        tensor_view_type(F32, (4, 4), (DYNAMIC, 1)),
        partition_view_type((4, 4), view),
        partition_view_type((4, 4), view, PADDING["nan"]),
        partition_view_type((4, 4), view, None, (1, 0)),
        strided_view_type((4, 4), view, (4, 4)),
        gather_scatter_view_type((4, 4), view, 0),
        gather_scatter_view_type((4, 4), view, 1),
        TOKEN,
        STRING,
    ]
    assert len({id(type) for type in types}) == len(types)
    assert len({str(type) for type in types}) == len(types)


@pytest.mark.parametrize(
    "type",
    [
        "tile<f32>",
        "tile<2x4x8xi1>",
        "tile<4xptr<f16>>",
        "tile<ptr<f32, <none>>>",
        "tensor_view<f32>",
        "tensor_view<?x64xf32, strides=[64,1]>",
        "tensor_view<?xf32, strides=[?], #cuda_tile.ptr_attr<none>>",
        f"partition_view<tile=(4x2), padding_value = neg_inf, {MATRIX}, dim_map=[1, 0]>",
        f"strided_view<tile=(4x4), traversal_strides=[2,1], padding_value = zero, {MATRIX}>",
        f"gather_scatter_view<tile=(4x4), {MATRIX}, sparse_dim=1>",
        "token",
        "string",
    ],
)
def test_type_prints_as_it_is_written_and_reads_back_to_the_same_object(type: str) -> None:
    found = read(f"!cuda_tile.{type}")
    assert isinstance(found, Type)
    assert found.text == f"!cuda_tile.{type}"
    assert found.spelling == type
    # Blanks, line ends and prefixes inside make no other type.
    loose = type.replace("<", "< ").replace(",", "\n , ").replace("tensor_view", "!cuda_tile.tensor_view")
    assert read("!cuda_tile." + loose.removeprefix("!cuda_tile.")) is found


def test_identity_dim_map_is_not_printed() -> None:
    found = read(f"!cuda_tile.partition_view<tile=(4x4), {MATRIX}, dim_map=[0, 1]>")
    assert isinstance(found, PartitionViewType)
    assert found.text == f"!cuda_tile.partition_view<tile=(4x4), {MATRIX}>"
    assert found.dim_map == (0, 1)


def test_view_tells_the_rank_of_its_index_and_the_tile_it_moves() -> None:
    found = read("!cuda_tile.partition_view<tile=(2x8), tensor_view<?x?xi8, strides=[?,1]>, dim_map=[1, 0]>")
    assert isinstance(found, PartitionViewType)
    assert found.index_rank == 2
    assert found.tile is tile_type((2, 8), I8)


def test_question_mark_is_the_smallest_64_bit_integer() -> None:
    found = read("!cuda_tile.tensor_view<?x4xf32, strides=[?,1]>")
    assert isinstance(found, TensorViewType)
    assert DYNAMIC == -(2**63)
    assert found.shape == (DYNAMIC, 4)
    assert found.strides == (DYNAMIC, 1)


def test_dynamic_extent_is_no_negative_extent() -> None:
    assert tensor_view_error(F32, (DYNAMIC,), (DYNAMIC,)) is None
    assert tensor_view_error(F32, (DYNAMIC + 1,), (1,)) is not None


def test_tile_cap_is_inclusive() -> None:
    assert MAXIMUM_TILE_ELEMENTS == 0x1000000
    assert tile_error((MAXIMUM_TILE_ELEMENTS,), I8) is None
    assert tile_error((4096, 4096), I8) is None
    assert tile_error((MAXIMUM_TILE_ELEMENTS, 2), I8) is not None


# --- string (docs/reference/conflicts.md D3) ---


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "entry @k(%s: !cuda_tile.string) {\nreturn\n}",
            "'cuda_tile.entry' op argument #0 must have a portable type, but got '!cuda_tile.string'",
        ),
        (
            "entry @k(%x: tile<i32>) {\n%s = unrealized_conversion_cast %x : tile<i32> to string\nreturn\n}",
            "'cuda_tile.unrealized_conversion_cast' op result #0 must have a portable type, but got '!cuda_tile.string'",
        ),
    ],
)
def test_string_parses_and_prints_but_is_no_part_of_a_portable_program(body: str, message: str) -> None:
    module = tileir.parse(f"cuda_tile.module @m {{\n{body}\n}}")
    assert "string" in str(module)
    with pytest.raises(tileir.VerifyError) as failure:
        tileir.verify(module)
    assert [d.message for d in failure.value.diagnostics] == [message]


def test_drop_in_knows_no_string_type() -> None:
    assert read("!cuda_tile.string") is STRING
    assert mistake("!cuda_tile.string", draft_spellings=False) == "unknown  type `string` in dialect `cuda_tile`"
