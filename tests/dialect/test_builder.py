"""Programs built from Python: every operation, the types that are inferred, the mistakes and their texts."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tileir
from tileir import Builder, BuildError, VerifyError
from tileir.dialect.signature import signature_of
from tileir.ir.core import Block, Region, Value
from tileir.ir.declaration import REGISTRY
from tileir.types import (
    bf16,
    f4E2M1FN,
    f8E4M3FN,
    f8E8M0FNU,
    f16,
    f32,
    i1,
    i4,
    i8,
    i16,
    i32,
    i64,
    partition_view,
    ptr,
    tensor_view,
    tile,
)

EXAMPLES = Path(__file__).parents[2] / "examples"


class Values:
    """One value of each type the table below needs, as the arguments and first operations of a kernel."""

    def __init__(self, b: Builder, arguments: tuple[Value, ...]) -> None:
        self.pointer, self.number = arguments
        self.flag: Value = b.constant(True, i1)
        self.bytes: Value = b.constant(1, tile(8, i8))
        self.ints: Value = b.constant(1, tile(8, i32))
        self.longs: Value = b.constant(1, tile(8, i64))
        self.floats: Value = b.constant(1.0, tile(8, f32))
        self.flags: Value = b.constant(True, tile(8, i1))
        self.matrix: Value = b.constant(1.0, tile((8, 16), f32))
        self.pointers: Value = b.broadcast(b.reshape(self.pointer, 1), 8)
        self.int_pointers: Value = b.ptr_to_ptr(self.pointers, ptr(i32))
        self.token: Value = b.make_token()
        self.tensor: Value = b.make_tensor_view(self.pointer, [self.number, 64], [64, 1])
        self.view: Value = b.make_partition_view(self.tensor, (8, 16))


def _branch(b: Builder, v: Values) -> None:
    with b.if_(v.flag) as branch:
        b.yield_(v.ints)
    with branch.else_():
        b.yield_(b.negi(v.ints))
    assert branch.result.type is v.ints.type


def _counted_loop(b: Builder, v: Values) -> None:
    with b.for_(0, v.number, 2, init=[v.floats], unsigned=True) as loop:
        b.continue_(b.addf(loop.value, 1.0))
    assert loop.result.type is v.floats.type


def _endless_loop(b: Builder, v: Values) -> None:
    with b.loop(init=[v.number]) as loop:
        done = b.cmpi(loop.value, 10, "greater_than", "signed")
        with b.if_(done):
            b.break_(v.floats)
        b.continue_(b.addi(loop.value, 1))
    assert loop.result.type is v.floats.type


def _return(b: Builder, v: Values) -> None:
    with b.if_(v.flag):
        b.return_()


def _global(b: Builder, v: Values) -> None:
    b.global_("table", [1.0, 2.0], f32, constant=True, alignment=128)


def _get_global(b: Builder, v: Values) -> None:
    table = b.global_("table", [1, 2], tile(2, i64))
    assert b.get_global(table).type is tile(ptr(i64))


def _scaled(b: Builder, v: Values) -> None:
    lhs = b.constant(1.0, tile((16, 32), f8E4M3FN))
    rhs = b.constant(1.0, tile((32, 16), f8E4M3FN))
    scales = b.constant(1.0, tile((16, 1), f8E8M0FNU))
    b.mmaf_scaled(lhs, rhs, b.constant(0.0, tile((16, 16), f32)), scales, b.reshape(scales, (1, 16)))


def _product(b: Builder, lhs: Any, rhs: Any, acc: Any, *more: str) -> Any:
    left = b.constant(1, tile((16, 32), lhs))
    right = b.constant(1, tile((32, 16), rhs))
    method = b.mmai if more else b.mmaf
    return method(left, right, b.constant(0, tile((16, 16), acc)), *more)


def _make_strided(b: Builder, v: Values) -> None:
    view = b.make_strided_view(v.tensor, (8, 16), (3, 1), padding="nan", dim_map=(1, 0))
    b.load_view_tko(view, [0, 0])


def _make_gather(b: Builder, v: Values) -> None:
    view = b.make_gather_scatter_view(v.tensor, (8, 16), 0)
    b.store_view_tko(0.0, view, [v.ints, 0], token=v.token)


OPERATIONS: dict[str, Callable[[Builder, Values], Any]] = {
    "absf": lambda b, v: b.absf(v.floats),
    "absi": lambda b, v: b.absi(v.ints),
    "addf": lambda b, v: b.addf(v.floats, 2.5, rounding_mode="zero", flush_to_zero=True),
    "addi": lambda b, v: b.addi(v.ints, rhs=3, overflow="no_wrap"),
    "alloca": lambda b, v: b.alloca(f32, 16, alignment=64, **{"global": True}),
    "andi": lambda b, v: b.andi(v.ints, 7),
    "assert": lambda b, v: b.assert_(v.flags, "must hold"),
    "assume": lambda b, v: b.assume(v.ints, tileir.bounded(0, None)),
    "assume_cond": lambda b, v: b.assume_cond(v.flag),
    "atan2": lambda b, v: b.atan2(v.floats, v.floats),
    "atomic_cas_tko": lambda b, v: b.atomic_cas_tko(
        v.pointers, 0.0, 1.0, v.flags, v.token, memory_ordering_semantics="acq_rel", memory_scope="device"
    ),
    "atomic_load_tko": lambda b, v: b.atomic_load_tko(
        v.pointers, memory_ordering_semantics="acquire", memory_scope="sys"
    ),
    "atomic_red_view_tko": lambda b, v: b.atomic_red_view_tko(
        v.view, [0, v.number], 1.0, v.token, "relaxed", "device", "addf"
    ),
    "atomic_rmw_tko": lambda b, v: b.atomic_rmw_tko(
        v.int_pointers, 1, memory_ordering_semantics="relaxed", memory_scope="gpu", mode="add"
    ),
    "atomic_store_tko": lambda b, v: b.atomic_store_tko(
        v.pointers, 1.0, True, memory_ordering_semantics="release", memory_scope="device"
    ),
    "barrier": lambda b, v: b.barrier(v.token, scope="block"),
    "bitcast": lambda b, v: b.bitcast(v.floats, i32),
    "break": _endless_loop,
    "brev": lambda b, v: b.brev(v.ints),
    "broadcast": lambda b, v: b.broadcast(b.reshape(v.ints, (1, 8)), (4, 8)),
    "cat": lambda b, v: b.cat(v.matrix, v.matrix, dim=1),
    "ceil": lambda b, v: b.ceil(v.floats),
    "clz": lambda b, v: b.clz(v.ints),
    "cmpf": lambda b, v: b.cmpf(v.floats, 0.0, "less_than", "ordered"),
    "cmpi": lambda b, v: b.cmpi(v.ints, 0, comparison_predicate="equal", signedness="unsigned"),
    "constant": lambda b, v: b.constant([[1, 2], [3, 4]], i16),
    "continue": _counted_loop,
    "cos": lambda b, v: b.cos(v.floats),
    "cosh": lambda b, v: b.cosh(v.floats),
    "ctz": lambda b, v: b.ctz(v.ints),
    "divf": lambda b, v: b.divf(1.0, v.floats, rounding_mode="approx"),
    "divi": lambda b, v: b.divi(v.ints, 2, "signed", rounding="positive_inf"),
    "entry": lambda b, v: None,
    "exp": lambda b, v: b.exp(v.floats, rounding_mode="approx"),
    "exp2": lambda b, v: b.exp2(v.floats, flush_to_zero=True),
    "exti": lambda b, v: b.exti(v.ints, i64, "signed"),
    "extract": lambda b, v: b.extract(v.matrix, [0, v.number], (4, 4)),
    "floor": lambda b, v: b.floor(v.floats),
    "fma": lambda b, v: b.fma(v.floats, 2.0, v.floats),
    "for": _counted_loop,
    "fpowi": lambda b, v: b.fpowi(v.floats, 2),
    "ftof": lambda b, v: b.ftof(v.floats, "f16"),
    "ftoi": lambda b, v: b.ftoi(v.floats, i32, "signed", saturating=True),
    "gdc_launch_dependents_tko": lambda b, v: b.gdc_launch_dependents_tko(),
    "gdc_wait_tko": lambda b, v: b.gdc_wait_tko(v.token),
    "get_global": _get_global,
    "get_index_space_shape": lambda b, v: b.get_index_space_shape(v.view, type=i64),
    "get_num_tile_blocks": lambda b, v: b.get_num_tile_blocks(),
    "get_tensor_shape": lambda b, v: b.get_tensor_shape(v.tensor),
    "get_tile_block_id": lambda b, v: b.get_tile_block_id(),
    "global": _global,
    "if": _branch,
    "insert": lambda b, v: b.insert(v.floats, b.constant(0.0, tile(16, f32)), [1]),
    "int_to_ptr": lambda b, v: b.int_to_ptr(v.longs, ptr(f16)),
    "iota": lambda b, v: b.iota(tile(128, i32)),
    "itof": lambda b, v: b.itof(v.ints, f32, "unsigned"),
    "join_tokens": lambda b, v: b.join_tokens(v.token, v.token),
    "load_ptr_tko": lambda b, v: b.load_ptr_tko(
        v.pointers, v.flags, 0.0, v.token, optimization_hints={"sm_100": {"latency": 2}}
    ),
    "load_view_tko": lambda b, v: b.load_view_tko(
        v.view, [v.number, 0], memory_ordering_semantics="acquire", memory_scope="device", inbounds=[True, False]
    ),
    "log": lambda b, v: b.log(v.floats),
    "log10": lambda b, v: b.log10(v.floats),
    "log1p": lambda b, v: b.log1p(v.floats),
    "log2": lambda b, v: b.log2(v.floats),
    "loop": _endless_loop,
    "make_gather_scatter_view": _make_gather,
    "make_partition_view": lambda b, v: b.make_partition_view(v.tensor, (4, 4), padding="zero", dim_map=(1, 0)),
    "make_strided_view": _make_strided,
    "make_tensor_view": lambda b, v: b.make_tensor_view(v.pointer, shape=[8], strides=[v.number]),
    "make_token": lambda b, v: b.make_token(),
    "maxf": lambda b, v: b.maxf(v.floats, 0.0, propagate_nan=True),
    "maxi": lambda b, v: b.maxi(v.ints, 0, "signed"),
    "maximumf": lambda b, v: b.maximumf(v.floats, v.floats, comparison_ordering="ordered"),
    "memory_fence_alias_tko": lambda b, v: b.memory_fence_alias_tko(v.token),
    "minf": lambda b, v: b.minf(v.floats, 0.0),
    "mini": lambda b, v: b.mini(v.ints, 0, "unsigned"),
    "minimumf": lambda b, v: b.minimumf(v.floats, v.floats),
    "mmaf": lambda b, v: _product(b, bf16, bf16, f32),
    "mmaf_scaled": _scaled,
    "mmai": lambda b, v: _product(b, i8, i8, i32, "signed", "unsigned"),
    "module": lambda b, v: None,
    "mulf": lambda b, v: b.mulf(v.floats, 2),
    "mulhii": lambda b, v: b.mulhii(v.ints, v.ints),
    "muli": lambda b, v: b.muli(v.ints, v.ints, overflow="no_signed_wrap"),
    "negf": lambda b, v: b.negf(v.floats),
    "negi": lambda b, v: b.negi(v.ints),
    "noti": lambda b, v: b.noti(v.ints),
    "offset": lambda b, v: b.offset(v.pointers, 4),
    "ori": lambda b, v: b.ori(v.flags, True),
    "pack": lambda b, v: b.pack(v.floats),
    "permute": lambda b, v: b.permute(v.matrix, (1, 0)),
    "popcnt": lambda b, v: b.popcnt(v.ints),
    "pow": lambda b, v: b.pow(v.floats, 2.0),
    "print_tko": lambda b, v: b.print_tko([v.floats, v.number], v.token, "x = %f, n = %i\n"),
    "ptr_to_int": lambda b, v: b.ptr_to_int(v.pointers),
    "ptr_to_ptr": lambda b, v: b.ptr_to_ptr(v.pointers, ptr(i32)),
    "recipf": lambda b, v: b.recipf(v.floats),
    "reduce": lambda b, v: b.reduce(v.matrix, 1, 0.0, body=b.addf),
    "remf": lambda b, v: b.remf(v.floats, v.floats),
    "remi": lambda b, v: b.remi(v.ints, 3, "signed"),
    "reshape": lambda b, v: b.reshape(v.ints, (2, 4)),
    "return": _return,
    "rsqrt": lambda b, v: b.rsqrt(v.floats),
    "scan": lambda b, v: b.scan(v.ints, 0, 1, body=b.muli, reverse=True),
    "select": lambda b, v: b.select(v.flags, v.floats, 0.0),
    "shli": lambda b, v: b.shli(v.ints, 2),
    "shri": lambda b, v: b.shri(v.ints, 2, "signed"),
    "sigmoid": lambda b, v: b.sigmoid(v.floats),
    "sin": lambda b, v: b.sin(v.floats),
    "sinh": lambda b, v: b.sinh(v.floats),
    "sqrt": lambda b, v: b.sqrt(v.floats),
    "store_ptr_tko": lambda b, v: b.store_ptr_tko(v.pointers, 1.5, mask=v.flags),
    "store_view_tko": lambda b, v: b.store_view_tko(v.matrix, v.view, [0, 1], v.token),
    "subf": lambda b, v: b.subf(v.floats, v.floats),
    "subi": lambda b, v: b.subi(0, v.ints),
    "tan": lambda b, v: b.tan(v.floats),
    "tanh": lambda b, v: b.tanh(v.floats),
    "trunci": lambda b, v: b.trunci(v.ints, i8, overflow="no_signed_wrap"),
    "unpack": lambda b, v: b.unpack(v.bytes, f16),
    "unrealized_conversion_cast": lambda b, v: b.unrealized_conversion_cast([v.ints], [tile(8, f32)]),
    "xori": lambda b, v: b.xori(v.ints, -1),
    "yield": _branch,
}


def built(make: Callable[[Builder, Values], Any]) -> tileir.Operation:
    b = Builder("m")
    with b.entry("k", ptr(f32), i32) as arguments:
        make(b, Values(b, arguments))
    return b.finish()


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


@pytest.fixture
def kernel() -> Any:
    """An open kernel and its values."""
    b = Builder("m")
    with b.entry("k", ptr(f32), i32) as arguments:
        yield b, Values(b, arguments)


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


def test_seed_spelling_of_a_keyword_means_the_public_one(kernel: Any) -> None:
    b, v = kernel
    value, _ = b.atomic_rmw_tko(v.int_pointers, 1, None, None, "relaxed", "gpu", "exchange")
    assert value.defining_operation.attributes["memory_scope"].bare_text == "device"
    assert value.defining_operation.attributes["mode"].bare_text == "xchg"


def test_discardable_attributes_are_kept(kernel: Any) -> None:
    b, v = kernel
    value = b.negi(v.ints, attributes={"my.note": [1, True, "x"], "my.flag": None})
    assert "{my.flag, my.note = [1, true, \"x\"]}" in str(value.defining_operation)


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


# --- mistakes ---

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
        "alloca: 'num_elem' must be a 64-bit signless integer attribute whose minimum value is 0; got -1 : i64",
    ),
    (
        lambda b, v: b.load_ptr_tko(v.pointers, optimization_hints={"sm_100": 2}),
        "load_ptr_tko: 'optimization_hints': expected dictionary attribute for optimization_hints entry `sm_100` "
        "got value=2 : i64",
    ),
    (lambda b, v: b.constant([1, 2], tile(4, i32)), "constant: the nested lists do not have the shape of tile<4xi32>"),
    (lambda b, v: b.constant([[1, 2], 3], tile((2, 2), i32)), "constant: the nested lists do not have the shape of tile<2x2xi32>"),
    (lambda b, v: b.constant(-1.0, f8E8M0FNU), "constant: -1.0 does not fit in f8E8M0FNU: f8E8M0FNU has no negative values"),
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


def test_unknown_operation_is_an_attribute_error_with_a_suggestion() -> None:
    with pytest.raises(AttributeError, match="there is no operation 'broadcst'; did you mean 'broadcast'"):
        _ = Builder().broadcst
    assert not hasattr(Builder(), "__deepcopy__")


def test_method_prints_as_its_signature_and_is_listed() -> None:
    b = Builder()
    assert repr(b.fma) == "fma(lhs, rhs, acc, *, rounding_mode='nearest_even', flush_to_zero=False)"
    assert repr(b.load_view_tko) == (
        "load_view_tko(view, index=(), token=None, *, memory_ordering_semantics='weak', memory_scope=None, "
        "optimization_hints=None, inbounds=None)"
    )
    assert repr(b.join_tokens) == "join_tokens(*tokens)"
    assert {"addi", "for_", "yield"} <= set(dir(b))


def test_mnemonics_that_are_python_words_are_found_by_their_plain_name(kernel: Any) -> None:
    b, v = kernel
    with getattr(b, "for")(0, 4):
        getattr(b, "continue")()
    assert b.exti(from_=v.ints, type=i64, signedness="signed").type is tile(8, i64)


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
    module = tileir.parse("cuda_tile.module @m { entry @k(%v: partition_view<tile=(4), tensor_view<?xf32, strides=[1]>>) { return } }")
    entry = module.regions[0].block.first
    assert entry is not None
    (argument,) = entry.regions[0].block.arguments
    assert argument.type is partition_view((4,), tensor_view((None,), f32, (1,)))


# --- any arguments at all ---


def junk(v: Values) -> list[object]:
    return [None, True, -1, 1 << 70, 1.5, float("nan"), "x", "f32", b"x", [], [3], [[1], 2], (None,), {}, {"x": 1}, {1: 2}]\
        + [object(), f32, tile((4, 4), f32), v.floats, v.token, v.tensor, v.view, [v.floats, v.token], [v.number, "x"]]


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
            # Once everything by position, shifted so that neighbours differ, then each argument by name.
            calls: list[tuple[list[object], dict[str, object]]] = [
                ([pool[(index + shift) % len(pool)] for shift in range(count)], {}) for count in range(len(parameters) + 2)
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


def test_first_example_of_the_documentation_runs() -> None:
    page = (EXAMPLES.parent / "docs" / "building.md").read_text(encoding="utf-8")
    source = page.split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(source, names)
    assert "addf" in str(names["b"].module)
