"""Every operation built from Python: values of each type, and how an operation is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tileir
from tileir import Builder
from tileir.dialect.construct import tensor_view
from tileir.ir.attributes import UNIT
from tileir.ir.values import Value
from tileir.ir.versions import PREVIEW
from tileir.types import (
    bf16,
    f8E4M3FN,
    f8E8M0FNU,
    f16,
    f32,
    i1,
    i8,
    i16,
    i32,
    i64,
    ptr,
    tile,
)


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


def _preview_call(b: Builder, v: Values) -> None:
    b.module.set_attribute(PREVIEW, UNIT)
    (result,) = b.preview_call([v.ints, v.number], [f32], "f", [3, True], arg_attrs=[{"a.b": 1}, {}])
    assert result.type is tile(f32)


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


def _product(b: Builder, lhs: Any, rhs: Any, acc: Any, *more: Any) -> Any:
    left = b.constant(1, tile((16, 32), lhs))
    right = b.constant(1, tile((32, 16), rhs))
    method = b.mmai if more else b.mmaf
    return method(left, right, b.constant(0, tile((16, 16), acc)), *more)


def _multicast(b: Builder, v: Values) -> Value:
    """A view of memory of several devices; only its type says so."""
    tensor = tensor_view([None, 64], f32, [64, 1], attribute="multicast")
    return b.make_partition_view(b.unrealized_conversion_cast([v.tensor], [tensor])[0], (8, 16))


def _make_strided(b: Builder, v: Values) -> None:
    view = b.make_strided_view(v.tensor, (8, 16), (3, 1), padding="nan", dim_map=(1, 0))
    b.load_view_tko(view, [0, 0])


def _make_gather(b: Builder, v: Values) -> None:
    view = b.make_gather_scatter_view(v.tensor, (8, 16), 0)
    b.store_view_tko(0.0, view, [v.ints, 0], token=v.token)


# A word that Python keeps for itself.
_GLOBAL: dict[str, Any] = {"global": True}

OPERATIONS: dict[str, Callable[[Builder, Values], Any]] = {
    "absf": lambda b, v: b.absf(v.floats),
    "absi": lambda b, v: b.absi(v.ints),
    "addf": lambda b, v: b.addf(v.floats, 2.5, rounding_mode="zero", flush_to_zero=True),
    "addi": lambda b, v: b.addi(v.ints, rhs=3, overflow="no_wrap"),
    "alloca": lambda b, v: b.alloca(f32, 16, alignment=64, **_GLOBAL),
    "andi": lambda b, v: b.andi(v.ints, 7),
    "assert": lambda b, v: b.assert_(v.flags, "must hold"),
    "assume": lambda b, v: b.assume(v.ints, tileir.attributes.bounded(0, None)),
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
    "atomic_rmw_tko": lambda b, v: b.atomic_rmw_tko(  # type: ignore[call-overload]
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
    "multimem_load_reduce_view_tko": lambda b, v: b.multimem_load_reduce_view_tko(
        _multicast(b, v), [0, v.number], v.token, "add", inbounds=[True, False]
    ),
    "multimem_reduce_view_tko": lambda b, v: b.multimem_reduce_view_tko(
        _multicast(b, v), 1.0, [0, 0], None, "relaxed", "sys", "add"
    ),
    "multimem_store_view_tko": lambda b, v: b.multimem_store_view_tko(_multicast(b, v), v.matrix, [0, 0], v.token),
    "muli": lambda b, v: b.muli(v.ints, v.ints, overflow="no_signed_wrap"),
    "negf": lambda b, v: b.negf(v.floats),
    "negi": lambda b, v: b.negi(v.ints),
    "noti": lambda b, v: b.noti(v.ints),
    "offset": lambda b, v: b.offset(v.pointers, 4),
    "ori": lambda b, v: b.ori(v.flags, True),
    "pack": lambda b, v: b.pack(v.floats),
    "permute": lambda b, v: b.permute(v.matrix, (1, 0)),
    "popcnt": lambda b, v: b.popcnt(v.ints),
    "preview$call": _preview_call,
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
