"""Pointers, loads, stores, and what else happens in order: barriers, assertions, prints."""

from __future__ import annotations

from tileir.dialect.types import PointerType, TileType, with_element
from tileir.ir.core import Operation
from tileir.ir.types import IntegerType
from tileir.ir.values import Value
from tileir.ttir.arithmetic import filled, splat
from tileir.ttir.translation import Translation, rule


@rule("tt.addptr")
def add_pointer(t: Translation, op: Operation) -> Value:
    return t.build.offset(*t.operands(op))


@rule("tt.load", memory=True)
def load(t: Translation, op: Operation) -> Value:
    """Elements that the mask leaves out and no `other` gives are zero, as in Triton's interpreter."""
    pointers, mask, other = t.optional(op, 3)
    assert pointers is not None
    type = _pointee(pointers)
    if mask is not None:
        mask = splat(t, mask, type.shape)
        other = filled(t, 0, type) if other is None else _stored(t, other, type)
        assert other is not None
        other = splat(t, other, type.shape)
    value, token = t.build.load_ptr_tko(pointers, mask, other if mask is not None else None, t.tokens.before())
    t.tokens.after(token)
    return _loaded(t, value, t.result_type(op))


@rule("tt.store", memory=True)
def store(t: Translation, op: Operation) -> None:
    pointers, value, mask = t.optional(op, 3)
    assert pointers is not None and value is not None
    type = _pointee(pointers)
    if mask is not None:
        mask = splat(t, mask, type.shape)
    token = t.build.store_ptr_tko(pointers, _stored(t, value, type), mask, t.tokens.before())
    t.tokens.after(token)


@rule("gpu.barrier", "ttg.barrier", memory=True)
def barrier(t: Translation, op: Operation) -> None:
    t.tokens.barrier()


def _pointee(pointers: Value) -> TileType:
    """The type of the elements that a tile of pointers points to."""
    assert isinstance(pointers.type, TileType) and isinstance(pointers.type.element, PointerType)
    return with_element(pointers.type, pointers.type.element.pointee)


def _loaded(t: Translation, value: Value, type: TileType) -> Value:
    """A loaded tile as TTIR has it: a truth value is a byte in memory, a pointer 64 bits."""
    if value.type is type:
        return value
    if isinstance(type.element, PointerType):
        return t.build.int_to_ptr(value, type)
    assert isinstance(type.element, IntegerType)
    return t.build.trunci(value, type)


def _stored(t: Translation, value: Value, type: TileType) -> Value:
    """A tile as it stands in memory."""
    assert isinstance(value.type, TileType)
    if value.type.element is type.element:
        return value
    if isinstance(value.type.element, PointerType):
        return t.build.ptr_to_int(value)
    return t.build.exti(value, type, "unsigned")
