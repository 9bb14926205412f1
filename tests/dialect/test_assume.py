"""What an `assume` may promise: every rule of the three predicate verifiers (the types draft; docs/reference/conflicts.md C1 to C5)."""

from __future__ import annotations

import pytest

import tileir

ARGUMENTS = (
    "%i1: tile<i1>, %i8: tile<i8>, %i32: tile<i32>, %i64: tile<i64>, %f32: tile<f32>, %p: tile<ptr<f32>>, "
    "%p8: tile<ptr<i8>>, %ptf: tile<ptr<tf32>>"
)
SETUP = """%v = iota : tile<8xi32>
%m = reshape %v : tile<8xi32> -> tile<2x4xi32>
%pv = broadcast %pr : tile<1xptr<f32>> -> tile<8xptr<f32>>
%fv = constant <f32: 0.0> : tile<8xf32>
%view = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
%token = make_token : token
"""
TYPES = {
    "i1": "tile<i1>",
    "i8": "tile<i8>",
    "i32": "tile<i32>",
    "i64": "tile<i64>",
    "f32": "tile<f32>",
    "p": "tile<ptr<f32>>",
    "p8": "tile<ptr<i8>>",
    "ptf": "tile<ptr<tf32>>",
    "v": "tile<8xi32>",
    "m": "tile<2x4xi32>",
    "pv": "tile<8xptr<f32>>",
    "fv": "tile<8xf32>",
    "view": "tensor_view<64xf32, strides=[1]>",
    "token": "token",
}


def module_of(predicate: str, value: str) -> tileir.Operation:
    return tileir.parse(
        f"cuda_tile.module @m {{\nentry @k({ARGUMENTS}) {{\n"
        "%pr = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>\n"
        f"{SETUP}%r = assume {predicate}, %{value} : {TYPES[value]}\nreturn\n}}\n}}"
    )


DIV_BY = "'cuda_tile.div_by'"
BOUNDED = "'cuda_tile.bounded'"
SAME = "'cuda_tile.same_elements'"
LARGEST = 1 << 62
INTEGER_OR_POINTER = f"{DIV_BY} is valid only for tile of integer/pointer or tensor_view values"

REFUSED = [
    # div_by: the divisor
    ("div_by<0>", "i32", f"{DIV_BY} divisor must be a power of 2"),
    ("div_by<3>", "i32", f"{DIV_BY} divisor must be a power of 2"),
    ("div_by<18446744073709551615>", "i32", f"{DIV_BY} divisor must be a power of 2"),
    (f"div_by<{LARGEST * 2}>", "i32", f"{DIV_BY} divisor is too large"),
    # div_by: every and along come together
    ("div_by<4, every 4>", "v", f"{DIV_BY} 'every'/'along' must be used in combination"),
    ("div_by<4, along 0>", "v", f"{DIV_BY} 'every'/'along' must be used in combination"),
    # div_by: the order of the checks (C5)
    ("div_by<3, every 4>", "v", f"{DIV_BY} divisor must be a power of 2"),
    (f"div_by<{LARGEST * 2}, every 4>", "v", f"{DIV_BY} 'every'/'along' must be used in combination"),
    (f"div_by<{LARGEST * 2}>", "f32", f"{DIV_BY} divisor is too large"),
    # div_by: the type of the value
    ("div_by<4>", "f32", INTEGER_OR_POINTER),
    ("div_by<4>", "fv", INTEGER_OR_POINTER),
    ("div_by<4>", "token", INTEGER_OR_POINTER),
    (
        "div_by<4, every 4 along 0>",
        "view",
        f"{DIV_BY} 'every'/'along' cannot be used if the constrained value is a tensor_view",
    ),
    (
        "div_by<4, every 4 along 0>",
        "i32",
        f"{DIV_BY} 'every'/'along' cannot be used if the constrained value is a 0D tile",
    ),
    # div_by: every and along fit the tile
    ("div_by<4, every 4 along 1>", "v", f"{DIV_BY} every_dim (1) must be >= 0 and < tile rank (1)"),
    ("div_by<4, every 4 along -1>", "v", f"{DIV_BY} every_dim (-1) must be >= 0 and < tile rank (1)"),
    (
        "div_by<4, every 9 along 0>",
        "v",
        f"expected {DIV_BY} every_dim to be within 0 and the size of the respective dimension (8)",
    ),
    (
        "div_by<4, every -1 along 0>",
        "v",
        f"expected {DIV_BY} every_dim to be within 0 and the size of the respective dimension (8)",
    ),
    (
        "div_by<4, every 8 along 1>",
        "m",
        f"expected {DIV_BY} every_dim to be within 0 and the size of the respective dimension (4)",
    ),
    # bounded
    ("bounded<0, 1>", "f32", f"{BOUNDED} is valid only for tile of integer values"),
    ("bounded<0, 1>", "p", f"{BOUNDED} is valid only for tile of integer values"),
    ("bounded<0, 1>", "view", f"{BOUNDED} is valid only for tile of integer values"),
    ("bounded<-129, ?>", "i8", f"{BOUNDED} expects lower bound to be within [-128, 127]"),
    ("bounded<128, ?>", "i8", f"{BOUNDED} expects lower bound to be within [-128, 127]"),
    ("bounded<?, 128>", "i8", f"{BOUNDED} expects upper bound to be within [-128, 127]"),
    ("bounded<0, 1>", "i1", f"{BOUNDED} expects upper bound to be within [-1, 0]"),
    (
        "bounded<?, 2147483648>",
        "i32",
        f"{BOUNDED} expects upper bound to be within [-2147483648, 2147483647]",
    ),
    ("bounded<5, 4>", "i32", f"{BOUNDED} expects lower bound to be less than or equal to upper bound"),
    # `strict` changes what is promised, not what is checked.
    ("bounded<5, 4, strict>", "i32", f"{BOUNDED} expects lower bound to be less than or equal to upper bound"),
    ("bounded<?, 128, strict>", "i8", f"{BOUNDED} expects upper bound to be within [-128, 127]"),
    # same_elements
    ("same_elements<[1]>", "fv", f"{SAME} is valid only for tile of integer/pointer values"),
    ("same_elements<[1]>", "view", f"{SAME} is valid only for tile of integer/pointer values"),
    (
        "same_elements<[2, 2]>",
        "v",
        f"expected number of values in {SAME} (2) to match rank of constrained tile (1)",
    ),
    ("same_elements<[]>", "v", f"expected number of values in {SAME} (0) to match rank of constrained tile (1)"),
    (
        "same_elements<[9]>",
        "v",
        f"expected {SAME} value 0 to be within 0 and the size of the respective dimension (8)",
    ),
    (
        "same_elements<[2, -1]>",
        "m",
        f"expected {SAME} value 1 to be within 0 and the size of the respective dimension (4)",
    ),
]

ACCEPTED = [
    ("div_by<1>", "i1"),
    ("div_by<256>", "i8"),
    (f"div_by<{LARGEST}>", "i64"),
    ("div_by<16>", "p"),
    ("div_by<16>", "pv"),
    ("div_by<16>", "view"),
    ("div_by<16>", "m"),
    ("div_by<4, every 8 along 0>", "v"),
    ("div_by<4, every 0 along 0>", "v"),
    ("div_by<4, every 4 along 1>", "m"),
    ("bounded<?, ?>", "i32"),
    ("bounded<0, ?>", "v"),
    ("bounded<-128, 127>", "i8"),
    ("bounded<-9223372036854775808, 9223372036854775807>", "i64"),
    ("bounded<-1, 0>", "i1"),
    ("bounded<4, 4>", "i32"),
    ("bounded<4, 4, strict>", "i32"),
    ("same_elements<[8]>", "v"),
    ("same_elements<[0]>", "v"),
    ("same_elements<[2, 4]>", "m"),
    ("same_elements<[1]>", "pv"),
    ("same_elements<[]>", "i32"),
]


@pytest.mark.parametrize(("predicate", "value", "message"), REFUSED)
def test_promise_that_cannot_be_is_refused_with_the_public_text(predicate: str, value: str, message: str) -> None:
    module = module_of(predicate, value)
    with pytest.raises(tileir.VerifyError) as failure:
        tileir.verify(module)
    errors = [d for d in failure.value.diagnostics if d.severity == "error"]
    assert [d.message for d in errors] == [f"'cuda_tile.assume' op {message}"]
    assert errors[0].position[1:] == (10, 6)


@pytest.mark.parametrize(("predicate", "value"), ACCEPTED)
def test_promise_within_the_rules_verifies_and_prints_as_written(predicate: str, value: str) -> None:
    module = module_of(predicate, value)
    assert tileir.verify(module) == []
    assert f" = assume {predicate}, " in str(module)


@pytest.mark.parametrize(
    ("predicate", "value", "size"),
    [("div_by<2>", "p", 4), ("div_by<2>", "pv", 4), ("div_by<2>", "ptf", 4)],
)
def test_divisor_below_the_size_of_the_pointee_is_a_warning(predicate: str, value: str, size: int) -> None:
    warnings = tileir.verify(module_of(predicate, value))
    assert [(d.severity, d.message) for d in warnings] == [
        (
            "warning",
            f"'cuda_tile.assume' op 'cuda_tile.div_by' divisor (2) is not a multiple of the pointee size ({size} bytes)",
        )
    ]


def test_divisor_of_bytes_is_never_below_the_size_of_the_pointee() -> None:
    assert tileir.verify(module_of("div_by<1>", "p8")) == []


def test_predicate_must_be_a_predicate() -> None:
    with pytest.raises(tileir.ParseError) as failure:
        module_of("#cuda_tile.overflow<none>", "i32")
    assert [d.message for d in failure.value.diagnostics] == [
        "expected an assume predicate: div_by, same_elements or bounded"
    ]


def test_generic_form_checks_the_kind_of_the_predicate() -> None:
    module = tileir.parse(
        "cuda_tile.module @m {\nentry @k(%x: tile<i32>) {\n"
        '%r = "cuda_tile.assume"(%x) <{predicate = 1 : i32}> : (!cuda_tile.tile<i32>) -> !cuda_tile.tile<i32>\n'
        "return\n}\n}"
    )
    with pytest.raises(tileir.VerifyError) as failure:
        tileir.verify(module)
    assert [d.message for d in failure.value.diagnostics] == [
        "'cuda_tile.assume' op attribute 'predicate' failed to satisfy constraint: "
        "AssumePredicateAttrInterface instance"
    ]


def test_every_predicate_of_a_list_is_checked() -> None:
    module = module_of("[div_by<3>, bounded<5, 4>, same_elements<[]>]", "i32")
    with pytest.raises(tileir.VerifyError) as failure:
        tileir.verify(module)
    assert [d.message.partition(" op ")[2] for d in failure.value.diagnostics] == [
        f"{DIV_BY} divisor must be a power of 2",
        f"{BOUNDED} expects lower bound to be less than or equal to upper bound",
    ]
