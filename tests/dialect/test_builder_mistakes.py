"""Mistakes in building programs: each is a `BuildError` that says what is allowed, and nothing else comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.dialect.built_operations import OPERATIONS, Values

import tileir
from tileir import Builder, BuildError, VerifyError
from tileir.dialect.signature import signature_of
from tileir.ir.core import Block
from tileir.ir.registry import REGISTRY
from tileir.types import (
    f4E2M1FN,
    f8E8M0FNU,
    f32,
    i1,
    i4,
    i16,
    i32,
    i64,
    partition_view,
    ptr,
    tensor_view,
    tile,
)

MISTAKES: list[tuple[Callable[[Builder, Values], Any], str]] = [
    (lambda b, v: b.addi(v.ints), "addi: operand 'rhs' is missing: addi(lhs, rhs, *, overflow='none')"),
    (
        lambda b, v: b.addi(v.ints, v.ints, v.ints),
        "addi: 3 arguments given by position, at most 2 taken: addi(lhs, rhs, *, overflow='none')",
    ),
    (
        lambda b, v: b.addi(v.ints, v.ints, lhs=v.ints),
        "addi: 'lhs' is given twice: addi(lhs, rhs, *, overflow='none')",
    ),
    (
        lambda b, v: b.addi(v.ints, v.ints, overflw="none"),
        "addi: there is no argument 'overflw': addi(lhs, rhs, *, overflow='none')",
    ),
    (
        lambda b, v: b.addi(v.ints, v.ints, overflow="wrap"),
        "addi: 'overflow' must be one of none, no_signed_wrap, no_unsigned_wrap, no_wrap; got 'wrap'",
    ),
    (
        lambda b, v: b.addi(1, 2),
        "addi: the type of 1 for 'lhs' is not known; give a value, like constant(1, type)",
    ),
    (lambda b, v: b.addi(v.ints, "x"), "addi: operand 'rhs' must be a value or a number, got 'x'"),
    (lambda b, v: b.addi(v.ints, 1.5), "addi: 1.5 is not a value of i32"),
    (lambda b, v: b.addi(v.ints, 1 << 32), "addi: 4294967296 does not fit in i32"),
    (lambda b, v: b.mulf(v.floats, 1e39), "mulf: 1e+39 does not fit in f32"),
    (lambda b, v: b.exti(v.ints), "exti: argument 'type' is missing: exti(from, type, signedness)"),
    (
        lambda b, v: b.exti(v.ints, i64),
        "exti: attribute 'signedness' is missing: exti(from, type, signedness)",
    ),
    (
        lambda b, v: b.ftof(v.floats, "f31"),
        "ftof: there is no element type 'f31'; there are i1, i4, i8, i16, i32, i64, f16, bf16, f32, tf32, f64, "
        "f8E4M3FN, f8E5M2, f8E8M0FNU, f4E2M1FN, fnv8E5M3FNU",
    ),
    (lambda b, v: b.reshape(v.ints, (3, 3)), "reshape: tile: all dimensions must be powers of two, got 3, 3"),
    (
        lambda b, v: b.permute(v.matrix, (0, 0)),
        "permute: 'permutation' must name each dimension from 0 to 1 once, got [0, 0]",
    ),
    (lambda b, v: b.cat(v.ints, v.ints, 1), "cat: 'dim' must be a dimension from 0 to 0, got 1"),
    (
        lambda b, v: b.make_partition_view(v.tensor, (4, 4), padding="one"),
        "make_partition_view: 'padding' must be one of zero, neg_zero, nan, pos_inf, neg_inf or None, got 'one'",
    ),
    (
        lambda b, v: b.make_partition_view(v.ints, (4, 4)),
        "make_partition_view: 'tensor_view' must be a tensor_view, got the type tile<8xi32>",
    ),
    (
        lambda b, v: b.load_view_tko(v.tensor, [0, 0]),
        "load_view_tko: 'view' must be a partition, strided or gather/scatter view, "
        "got the type tensor_view<?x64xf32, strides=[64,1]>",
    ),
    (
        lambda b, v: b.load_ptr_tko(v.ints),
        "load_ptr_tko: 'source' must be a tile of pointers, got the type tile<8xi32>",
    ),
    (lambda b, v: b.get_global("nowhere"), "get_global: the module has no global 'nowhere'"),
    (
        lambda b, v: b.assume(v.ints, 16),
        "assume: 'predicate' must be an assumption: div_by(..), bounded(..) or same_elements(..); got 16",
    ),
    (lambda b, v: b.maxf(v.floats, v.floats, propagate_nan=1), "maxf: 'propagate_nan' must be True or False; got 1"),
    (
        lambda b, v: b.alloca(f32, -1, 8),
        "alloca: 'num_elem' must be a 64-bit signless integer attribute whose minimum value is 0; got -1",
    ),
    (
        lambda b, v: b.load_ptr_tko(v.pointers, optimization_hints={"sm_100": 2}),
        "load_ptr_tko: 'optimization_hints': expected dictionary attribute for optimization_hints entry `sm_100` "
        "got value=2 : i64",
    ),
    (lambda b, v: b.constant([1, 2], tile(4, i32)), "constant: the nested lists do not have the shape of tile<4xi32>"),
    (
        lambda b, v: b.constant([[1, 2], 3], tile((2, 2), i32)),
        "constant: the nested lists do not have the shape of tile<2x2xi32>",
    ),
    (
        lambda b, v: b.constant(-1.0, f8E8M0FNU),
        "constant: -1.0 does not fit in f8E8M0FNU: f8E8M0FNU has no negative values",
    ),
    (lambda b, v: b.constant(float("inf"), tile(2, f4E2M1FN)), "constant: inf does not fit in f4E2M1FN"),
    (lambda b, v: b.constant(b"123", tile(2, i16)), "constant: tile<2xi16> takes 2 or 4 bytes, got 3"),
    (lambda b, v: b.constant("x", i32), "constant: 'x' is not a value of i32"),
    (lambda b, v: b.reduce(v.ints, 0, [0, 1]), "reduce: there must be one identity per tile: 1 tiles, 2 identities"),
    (lambda b, v: b.reduce(3, 0, 0), "reduce: 'operands' must be tiles, got 3"),
    (lambda b, v: b.reduce(v.ints, 1, 0), "reduce: 'dim' must be a dimension from 0 to 0, got 1"),
    (
        lambda b, v: b.reduce(v.ints, 0, 0, body=lambda element, total: None),
        "reduce: the block must end with yield_(..) of 1 value: tile<i32>",
    ),
    (lambda b, v: b.entry("inner"), "entry: the kernel 'k' is still open"),
    (lambda b, v: b.finish(), "entry: the block is still open"),
    (lambda b, v: b.operation("reshap", v.ints), "there is no operation 'reshap'; did you mean 'reshape'?"),
    (lambda b, v: b.negi(v.ints, location=3), "negi: 'location' must be a location, got 3"),
    (
        lambda b, v: b.negi(v.ints, attributes={"overflow": 1}),
        "negi: 'attributes' takes the names of discardable attributes, got 'overflow'",
    ),
]


@pytest.mark.parametrize(("make", "text"), MISTAKES, ids=[text[:50] for _, text in MISTAKES])
def test_mistake_is_a_build_error_that_says_what_is_allowed(
    kernel: Any, make: Callable[[Builder, Values], Any], text: str
) -> None:
    b, v = kernel
    with pytest.raises(BuildError) as caught:
        make(b, v)
    assert str(caught.value) == "error: " + text
    assert caught.value.message == text
    assert isinstance(caught.value, tileir.TileIRError)


def test_mistake_inserts_nothing(kernel: Any) -> None:
    b, v = kernel
    before = len(b.point.block)
    with pytest.raises(BuildError):
        b.addi(3, 4)
    with pytest.raises(VerifyError):
        b.addf(v.ints, 1)
    assert len(b.point.block) == before
    assert v.ints.use_count == 0


def test_broken_rule_is_reported_where_the_operation_is_built(kernel: Any) -> None:
    b, v = kernel
    with pytest.raises(VerifyError) as caught:
        b.addi(v.ints, v.longs)
    assert [d.message for d in caught.value.diagnostics] == [
        "'cuda_tile.addi' op failed to verify that all of {lhs, rhs, result} have same type"
    ]


def test_body_without_its_terminator_names_what_is_missing(kernel: Any) -> None:
    b, v = kernel
    with pytest.raises(BuildError) as caught, b.for_(0, 4, init=[v.ints, v.floats]):
        pass
    assert caught.value.message == "for: the block must end with continue_(..) of 2 values: tile<8xi32>, tile<8xf32>"


def test_nothing_is_built_after_a_terminator(kernel: Any) -> None:
    b, v = kernel
    with b.if_(v.flag):
        b.yield_()
        with pytest.raises(BuildError) as caught:
            b.negi(v.ints)
    assert caught.value.message == "negi: the block has ended with 'yield'"


def test_second_else_and_reopened_block_are_refused(kernel: Any) -> None:
    b, v = kernel
    with b.if_(v.flag) as branch:
        pass
    with branch.else_():
        pass
    with pytest.raises(BuildError, match="if: there is an else branch already"):
        branch.else_()
    with pytest.raises(BuildError, match="if: the block is built already"), branch:
        pass


def test_scope_words_for_one_value_refuse_several(kernel: Any) -> None:
    b, v = kernel
    with b.loop(init=[v.ints, v.floats]) as loop:
        with pytest.raises(BuildError, match="loop: 'value' is for one carried value, there are 2; use 'values'"):
            _ = loop.value
        with pytest.raises(BuildError, match="loop: there is no induction variable; carry one in 'init'"):
            _ = loop.index
        b.break_()
    with pytest.raises(BuildError, match="loop: 'result' is for one result, there are 0; use 'results'"):
        _ = loop.result


def test_if_with_results_needs_both_branches() -> None:
    b = Builder()
    with b.entry("k", i1) as (flag,), b.if_(flag):
        b.yield_(flag)
    with pytest.raises(VerifyError) as caught:
        b.finish()
    assert [d.message for d in caught.value.diagnostics] == [
        "'cuda_tile.if' op has non-empty return type, must define else branch"
    ]


def test_build_error_carries_the_python_line() -> None:
    b = Builder(locations=True)
    with b.entry("k", i32) as (x,), pytest.raises(BuildError) as caught:
        b.addi(x)
    line = test_build_error_carries_the_python_line.__code__.co_firstlineno + 3
    assert caught.value.diagnostics[0].position == (__file__, line, 0)


# --- types ---


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tile((3,), f32), "tile: all dimensions must be powers of two, got 3"),
        (lambda: tile((None,), f32), "tile: all dimensions must be positive constants, got ?"),
        (lambda: tile("x", f32), "tile: expected an integer, got 'x'"),
        (lambda: tile((4,), tile(f32)), "expected an element type, got the type tile<f32>"),
        (
            lambda: ptr(i4),
            "ptr: failed to verify 'pointeeType': f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or f8E8M0FNU or "
            "f4E2M1FN or fnv8E5M3FNU or i1 or i8 or i16 or i32 or i64",
        ),
        (
            lambda: tensor_view((4, 4), f32, (1,)),
            "tensor_view: expected shape and stride to be of same rank but got shape of rank 2 and stride of rank 1",
        ),
        (
            lambda: partition_view((4,), tensor_view((4, 4), f32, (4, 1))),
            "partition_view: expected tensor_view rank and tile rank to match, got tensor_view of rank 2 and tiles of rank 1",
        ),
    ],
)
def test_wrong_type_parameters_are_build_errors(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(BuildError) as caught:
        make()
    assert caught.value.message == text


def test_types_are_the_interned_ones_of_the_parser() -> None:
    module = tileir.parse(
        "cuda_tile.module @m { entry @k(%v: partition_view<tile=(4), tensor_view<?xf32, strides=[1]>>) { return } }"
    )
    entry = module.regions[0].block.first
    assert entry is not None
    (argument,) = entry.regions[0].block.arguments
    assert argument.type is partition_view((4,), tensor_view((None,), f32, (1,)))


# --- any arguments at all ---


def junk(v: Values) -> list[object]:
    return [
        None,
        True,
        -1,
        1 << 70,
        1.5,
        float("nan"),
        "x",
        "f32",
        b"x",
        [],
        [3],
        [[1], 2],
        (None,),
        {},
        {"x": 1},
        {1: 2},
    ] + [object(), f32, tile((4, 4), f32), v.floats, v.token, v.tensor, v.view, [v.floats, v.token], [v.number, "x"]]


@pytest.mark.parametrize("mnemonic", sorted(OPERATIONS))
def test_wrong_arguments_are_never_another_kind_of_exception(mnemonic: str) -> None:
    b = Builder("m")
    with b.entry("k", ptr(f32), i32) as arguments:
        v = Values(b, arguments)
        parameters = signature_of(REGISTRY.by_name[f"cuda_tile.{mnemonic}"]).positional
        words = ["attributes", "location", *signature_of(REGISTRY.by_name[f"cuda_tile.{mnemonic}"]).by_name]
        pool = junk(v)
        refused = 0
        for index, value in enumerate(pool):
            # Once everything by position, shifted so that neighbors differ, then each argument by name.
            calls: list[tuple[list[object], dict[str, object]]] = [
                ([pool[(index + shift) % len(pool)] for shift in range(count)], {})
                for count in range(len(parameters) + 2)
            ]
            calls.extend([([v.ints] * (len(parameters) - 1), {word: value}) for word in words])
            for args, keywords in calls:
                block = Block()
                body = Builder(block=block)
                try:
                    body.operation(mnemonic, *args, **keywords)
                except tileir.TileIRError:
                    refused += 1
        assert refused > 0


@pytest.mark.parametrize("method", ["constant", "global_", "entry", "if_", "for_", "loop", "reduce", "scan"])
def test_wrong_arguments_of_special_methods_are_never_another_kind_of_exception(method: str) -> None:
    b = Builder("m")
    with b.entry("k", ptr(f32), i32) as arguments:
        pool = junk(Values(b, arguments))
    counts = {"constant": 2, "global_": 3, "entry": 2, "if_": 2, "for_": 4, "loop": 2, "reduce": 3, "scan": 3}
    refused = 0
    for index in range(len(pool)):
        for stride in (1, 3, 7):
            args = [pool[(index + stride * position) % len(pool)] for position in range(counts[method])]
            try:
                getattr(Builder("m"), method)(*args)
            except tileir.TileIRError:
                refused += 1
    assert refused > 0
