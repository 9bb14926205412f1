"""Programs built from Python: every operation, the types that are inferred, values and blocks."""

from __future__ import annotations

import inspect
import pydoc
import runpy
from pathlib import Path
from typing import Any

import pytest
from tests.dialect.built_operations import OPERATIONS, built

import tileir
from tileir import Builder
from tileir.ir.core import Block, Region
from tileir.ir.registry import REGISTRY
from tileir.ir.values import Value
from tileir.types import (
    f16,
    f32,
    i1,
    i8,
    i32,
    i64,
    ptr,
    tile,
)

EXAMPLES = Path(__file__).parents[2] / "examples"


def mnemonics(module: tileir.Operation) -> set[str]:
    return {operation.declaration.mnemonic for operation in module.walk()}


def test_table_covers_every_declared_operation() -> None:
    declared = {d.mnemonic for d in REGISTRY.declarations() if d.name.startswith("cuda_tile.") and not d.testing}
    assert set(OPERATIONS) == declared


@pytest.mark.parametrize("mnemonic", sorted(OPERATIONS))
def test_operation_is_built_verified_and_read_back_from_text(mnemonic: str) -> None:
    module = built(OPERATIONS[mnemonic])
    assert mnemonic in mnemonics(module)
    for generic in (False, True):
        text = module.text(generic=generic)
        again = tileir.parse(text)
        tileir.verify(again)
        assert again.text(generic=generic) == text


def type_texts(found: Any) -> list[str]:
    values = found if isinstance(found, tuple) else (found,)
    return [value.type.spelling for value in values]


@pytest.mark.parametrize(
    ("mnemonic", "types"),
    [
        ("addi", ["tile<8xi32>"]),
        ("assume", ["tile<8xi32>"]),
        ("atomic_cas_tko", ["tile<8xf32>", "token"]),
        ("bitcast", ["tile<8xi32>"]),
        ("broadcast", ["tile<4x8xi32>"]),
        ("cat", ["tile<8x32xf32>"]),
        ("cmpf", ["tile<8xi1>"]),
        ("constant", ["tile<2x2xi16>"]),
        ("exti", ["tile<8xi64>"]),
        ("extract", ["tile<4x4xf32>"]),
        ("ftof", ["tile<8xf16>"]),
        ("get_index_space_shape", ["tile<i64>", "tile<i64>"]),
        ("get_tensor_shape", ["tile<i32>", "tile<i32>"]),
        ("get_tile_block_id", ["tile<i32>", "tile<i32>", "tile<i32>"]),
        ("insert", ["tile<16xf32>"]),
        ("int_to_ptr", ["tile<8xptr<f16>>"]),
        ("load_ptr_tko", ["tile<8xf32>", "token"]),
        ("load_view_tko", ["tile<8x16xf32>", "token"]),
        (
            "make_partition_view",
            ["partition_view<tile=(4x4), padding_value = zero, tensor_view<?x64xf32, strides=[64,1]>, dim_map=[1, 0]>"],
        ),
        ("make_tensor_view", ["tensor_view<8xf32, strides=[?]>"]),
        ("mmaf", ["tile<16x16xf32>"]),
        ("mmai", ["tile<16x16xi32>"]),
        ("offset", ["tile<8xptr<f32>>"]),
        ("pack", ["tile<32xi8>"]),
        ("permute", ["tile<16x8xf32>"]),
        ("ptr_to_int", ["tile<8xi64>"]),
        ("reduce", ["tile<8xf32>"]),
        ("scan", ["tile<8xi32>"]),
        ("store_view_tko", ["token"]),
        ("unpack", ["tile<4xf16>"]),
    ],
)
def test_result_types_are_inferred(kernel: Any, mnemonic: str, types: list[str]) -> None:
    b, v = kernel
    assert type_texts(OPERATIONS[mnemonic](b, v)) == types


# --- values ---


def test_tf32_takes_four_bytes_where_it_is_packed(kernel: Any) -> None:
    build, _ = kernel
    packed = build.pack(build.ftof(build.constant([1.0, 2.0], f32), "tf32"))
    assert packed.type is tile(8, i8)
    assert build.unpack(packed, "tf32").type.shape == (2,)


def test_one_result_is_a_value_several_are_a_tuple_none_is_none(kernel: Any) -> None:
    b, v = kernel
    assert isinstance(b.negi(v.ints), Value)
    assert isinstance(b.load_ptr_tko(v.pointers), tuple)
    assert b.assert_(v.flags, "text") is None
    line = b.make_tensor_view(v.pointer, [v.number], [1])
    assert len(b.get_tensor_shape(line)) == 1


def test_number_becomes_a_constant_of_the_other_operand_type(kernel: Any) -> None:
    b, v = kernel
    constant = b.addf(v.floats, 2).defining_operation.operands[1].defining_operation
    assert str(constant).strip().endswith("constant <f32: 2.000000e+00> : tile<8xf32>")


def test_numbers_for_indices_take_the_type_of_the_other_indices(kernel: Any) -> None:
    b, v = kernel
    long = b.constant(3, i64)
    tile_read, _ = b.load_view_tko(v.view, [0, long])
    assert [value.type.spelling for value in tile_read.defining_operation.operands[1:]] == ["tile<i64>", "tile<i64>"]


def test_number_in_a_terminator_takes_the_carried_type(kernel: Any) -> None:
    b, v = kernel
    with b.for_(0, 4, init=[v.floats]) as loop:
        b.continue_(0.0)
    assert loop.block.last.operands[0].type is v.floats.type


def test_attribute_at_its_default_is_left_out(kernel: Any) -> None:
    b, v = kernel
    assert b.operation("addi", v.ints, v.ints, overflow="none").attributes == {}
    assert b.operation("maxf", v.floats, v.floats, propagate_nan=False).attributes == {}


def test_draft_spelling_of_a_keyword_means_the_public_one(kernel: Any) -> None:
    b, v = kernel
    value, _ = b.atomic_rmw_tko(v.int_pointers, 1, None, None, "relaxed", "gpu", "exchange")
    assert value.defining_operation.attributes["memory_scope"].bare_text == "device"
    assert value.defining_operation.attributes["mode"].bare_text == "xchg"


def test_discardable_attributes_are_kept(kernel: Any) -> None:
    b, v = kernel
    value = b.negi(v.ints, attributes={"my.note": [1, True, "x"], "my.flag": None})
    assert '{my.flag, my.note = [1, true, "x"]}' in str(value.defining_operation)


@pytest.mark.parametrize(
    ("value", "type", "literal"),
    [
        (-1, tile(4, i8), "<i8: -1> : tile<4xi8>"),
        (255, tile(4, i8), "<i8: -1> : tile<4xi8>"),
        (True, i1, "<i1: true> : tile<i1>"),
        ([1.0, float("inf")], "f32", "<f32: [1.000000e+00, 0x7F800000]> : tile<2xf32>"),
        ([[1, 1], [1, 1]], i32, "<i32: 1> : tile<2x2xi32>"),
        (b"\x00\x3c", tile(4, f16), "<f16: 1.000000e+00> : tile<4xf16>"),
        (1 << 127, f32, "<f32: 1.70141183E+38> : tile<f32>"),
    ],
)
def test_constant_literals(kernel: Any, value: object, type: Any, literal: str) -> None:
    b, _ = kernel
    assert str(b.constant(value, type).defining_operation).strip().endswith("constant " + literal)


def test_array_becomes_a_constant(kernel: Any) -> None:
    numpy = pytest.importorskip("numpy", reason="a test dependency")
    b, _ = kernel
    found = b.constant(numpy.arange(4, dtype=numpy.int32).reshape(2, 2), i32)
    assert str(found.defining_operation).strip().endswith("constant <i32: [[0, 1], [2, 3]]> : tile<2x2xi32>")


# --- blocks ---


def test_blocks_get_the_terminators_they_imply() -> None:
    b = Builder()
    with b.entry("k", i1) as (flag,), b.if_(flag) as branch:
        with b.for_(0, 4), b.loop():
            b.break_()
        with b.loop():
            pass
    text = str(b.finish())
    assert [op.declaration.mnemonic for op in branch.block][-1] == "yield"
    assert text.count("return") == 1
    assert tileir.parse(text).text() == text


def test_if_takes_its_results_from_the_branch_that_yields(kernel: Any) -> None:
    b, v = kernel
    with b.loop() as loop:
        with b.if_(v.flag) as branch:
            b.break_(v.ints, v.floats)
        with branch.else_():
            b.yield_(v.bytes)
    assert type_texts(branch.results) == ["tile<8xi8>"]
    assert type_texts(loop.results) == ["tile<8xi32>", "tile<8xf32>"]


def test_reduce_of_two_tiles_with_a_body_scope(kernel: Any) -> None:
    b, v = kernel
    with b.reduce([v.floats, v.ints], 0, [0.0, 0]) as body:
        element, total, index, count = body.arguments
        b.yield_(b.addf(element, total), b.addi(index, count))
    assert type_texts(body.results) == ["tile<f32>", "tile<i32>"]


def test_global_is_put_into_the_module_from_inside_a_kernel() -> None:
    b = Builder()
    with b.entry("k"):
        b.global_("table", [1, 2], i32)
        b.get_global("table")
    assert [op.declaration.mnemonic for op in b.finish().regions[0].block] == ["entry", "global"]


def test_exception_in_a_block_passes_and_restores_the_place() -> None:
    b = Builder()
    with pytest.raises(ZeroDivisionError), b.entry("k"):
        raise ZeroDivisionError
    assert b.module.regions[0].block is b.point.block
    assert b.scopes == []


def test_builder_adds_to_an_existing_program() -> None:
    module = tileir.parse("cuda_tile.module @m { entry @k(%x: tile<i32>) { return } }")
    entry = module.regions[0].block.first
    assert entry is not None
    body = entry.regions[0].block
    b = Builder(block=body, before=body.last)
    b.addi(body.arguments[0], 1)
    assert b.finish() is module
    assert [op.declaration.mnemonic for op in body] == ["constant", "addi", "return"]


def test_raw_regions_build_any_operation_with_regions() -> None:
    b = Builder()
    inner = b.operation("module", "inner", regions=[Region([Block()])])
    assert inner.symbol_name == "inner"
    assert b.finish().regions[0].block.first is inner


def test_locations_are_those_of_the_python_lines() -> None:
    b = Builder(locations=True)
    with b.entry("k", i32) as (x,):
        value = b.addi(x, 1)
    line = test_locations_are_those_of_the_python_lines.__code__.co_firstlineno + 3
    assert value.defining_operation.location.inner == f'"{__file__}":{line}:0'
    text = b.finish().text(debug_info=True)
    assert tileir.parse(text).text(debug_info=True) == text


def test_module_name_producer_and_hints_are_printed() -> None:
    b = Builder("m", producer="test")
    with b.entry("k", ptr("f32"), optimization_hints={"sm_100": {"num_cta_in_cga": 2}}):
        pass
    text = str(b.finish())
    assert 'cuda_tile.module @m attributes {producer = "test"} {' in text
    assert "entry @k(%arg0: tile<ptr<f32>>) optimization_hints=<sm_100 = {num_cta_in_cga = 2}> {" in text


def test_matmul_example_equals_its_text_and_its_hand_written_twin() -> None:
    module = runpy.run_path(str(EXAMPLES / "build_matmul.py"))["build_matmul"]()
    assert str(tileir.parse(str(module))) == str(module)
    twin = tileir.load(EXAMPLES / "matmul.mlir")
    assert sorted(op.name for op in module.walk()) == sorted(op.name for op in twin.walk())


# --- names ---


def test_unknown_operation_is_an_attribute_error_with_a_suggestion() -> None:
    with pytest.raises(AttributeError, match="there is no operation 'broadcst'; did you mean 'broadcast'"):
        _ = Builder().broadcst
    assert not hasattr(Builder(), "__no_such__")


def test_method_prints_as_its_signature_and_is_listed() -> None:
    b = Builder()
    assert repr(b.fma) == "fma(lhs, rhs, acc, *, rounding_mode='nearest_even', flush_to_zero=False)"
    assert repr(b.load_view_tko) == (
        "load_view_tko(view, index=(), token=None, *, memory_ordering_semantics='weak', memory_scope=None, "
        "optimization_hints=None, inbounds=None)"
    )
    assert repr(b.join_tokens) == "join_tokens(*tokens)"
    assert {"addi", "for_", "yield"} <= set(dir(b))


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("addf", "(lhs, rhs, *, rounding_mode='nearest_even', flush_to_zero=False, COMMON)"),
        ("exti", "(from_, type, signedness, *, COMMON)"),
        ("join_tokens", "(*tokens, COMMON)"),
        # Python has no optional parameter before a required one: these are shown by name.
        ("print_tko", "(*, args=(), token=None, str, COMMON)"),
        ("store_ptr_tko", "(destination, value, mask=None, token=None, *, memory_ordering_semantics='weak', "
        "memory_scope=None, optimization_hints=None, COMMON)"),
    ],
)  # fmt: skip
def test_inspect_shows_the_signature_of_an_operation(name: str, signature: str) -> None:
    method = getattr(Builder(), name)
    assert str(inspect.signature(method)) == signature.replace("COMMON", "location=None, attributes=None")


def test_help_shows_signature_and_documentation() -> None:
    method = Builder().yield_
    assert (method.__name__, inspect.isroutine(method)) == ("yield_", True)
    text = pydoc.plain(pydoc.render_doc(Builder().exti)).split("\n", 2)[2]
    assert text.startswith("exti(from_, type, signedness, *, location=None, attributes=None)\n")
    assert "    Extend integers to a greater width (since 13.1).\n" in text
    assert "    signedness: whether the integers are signed or unsigned." in text


def test_every_operation_has_a_signature_and_documentation() -> None:
    b = Builder()
    for declaration in REGISTRY.declarations():
        by_hand = hasattr(Builder, declaration.mnemonic) or hasattr(Builder, f"{declaration.mnemonic}_")
        if declaration.name.startswith("cuda_tile.") and not by_hand:
            method = getattr(b, declaration.mnemonic)
            assert list(inspect.signature(method).parameters)[-2:] == ["location", "attributes"]
            assert method.__doc__ and method.__doc__.endswith(".")


def test_mnemonics_that_are_python_words_are_found_by_their_plain_name(kernel: Any) -> None:
    b, v = kernel
    with getattr(b, "for")(0, 4):
        getattr(b, "continue")()
    assert b.exti(from_=v.ints, type=i64, signedness="signed").type is tile(8, i64)


def test_lists_that_hold_themselves_are_no_attribute() -> None:
    from tileir.dialect.literals import any_attribute

    itself: list[object] = []
    itself.append(itself)
    deep: object = 1
    for _ in range(5000):
        deep = [deep]
    for value in (itself, deep, {"a": itself}):
        with pytest.raises(tileir.BuildError, match="nest more than 100 deep"):
            any_attribute(value)
