"""Pointers, loads, stores, and what else happens in order: barriers, assertions, prints."""

from __future__ import annotations

from tileir.dialect.types import PointerType, TileType, with_element
from tileir.ir.core import Operation
from tileir.ir.types import FloatType, IntegerType, integer_type
from tileir.ir.values import Value
from tileir.ttir.rules.arithmetic import filled, splat
from tileir.ttir.translation import Translation, rule


@rule("tt.addptr")
def add_pointer(t: Translation, op: Operation) -> Value:
    return t.build.offset(*t.operands(op))


@rule("tt.load", memory=True)
def load(t: Translation, op: Operation) -> Value:
    """Elements that the mask excludes and `other` does not define are zero, as in Triton's interpreter."""
    pointers, mask, other = t.optional(op, 3)
    assert pointers is not None
    type = pointee(pointers)
    if mask is not None:
        mask = splat(t, mask, type.shape)
        other = filled(t, 0, type) if other is None else splat(t, to_memory(t, other), type.shape)
    before = t.tokens.before(op.operands[0])
    value, token = t.build.load_ptr_tko(pointers, mask, other if mask is not None else None, before)
    t.tokens.after(token, op.operands[0])
    return from_memory(t, value, t.result_type(op))


@rule("tt.store", memory=True)
def store(t: Translation, op: Operation) -> None:
    pointers, value, mask = t.optional(op, 3)
    assert pointers is not None and value is not None
    type = pointee(pointers)
    if mask is not None:
        mask = splat(t, mask, type.shape)
    token = t.build.store_ptr_tko(pointers, to_memory(t, value), mask, t.tokens.before(op.operands[0]))
    t.tokens.after(token, op.operands[0])


@rule("gpu.barrier", "ttg.barrier", memory=True)
def barrier(t: Translation, op: Operation) -> None:
    t.tokens.barrier()


@rule("tt.grid_dependency_wait", "tt.grid_dependency_launch_dependents")
def launches_depend(t: Translation, op: Operation) -> None:
    """Nothing: a launch begins when those before it have ended."""


@rule("tt.assert")
def assert_(t: Translation, op: Operation) -> None:
    """Triton has already made elements that its mask leaves out true.  `reductions` asserts what a body does."""
    if op.parent_operation is not None and op.parent_operation.name in ("tt.reduce", "tt.scan"):
        return
    t.build.assert_(t.operands(op)[0], t.attribute(op, "message", ""))


@rule("llvm.intr.assume")
def assume(t: Translation, op: Operation) -> None:
    source = op.operands[0].defining_operation
    if source is None or source.name != "arith.constant":
        t.build.assume_cond(t.operands(op)[0])


@rule("tt.print", memory=True)
def print_(t: Translation, op: Operation) -> None:
    """One line per program: the prefix, then the tiles."""
    values = t.operands(op)
    signed = t.attribute(op, "isSigned", [1] * len(values))
    if t.attribute(op, "hex", 0):
        values = [_bits(t, each) for each in values]
        formats = [f"%#0{_width(each) // 4 + 2}x" for each in values]
    else:
        formats = [_format(each, sign != 0) for each, sign in zip(values, signed, strict=True)]
    text = str(t.attribute(op, "prefix", "")).lstrip(" ").replace("%", "%%") + ", ".join(formats) + "\n"
    t.tokens.after(t.build.print_tko(values, t.tokens.before(), text))


def _bits(t: Translation, value: Value) -> Value:
    """A tile of integers with the bits of another tile."""
    assert isinstance(value.type, TileType)
    element = value.type.element
    if isinstance(element, PointerType):
        return t.build.ptr_to_int(value)
    if isinstance(element, FloatType):
        return t.build.bitcast(value, with_element(value.type, integer_type(element.width)))
    return value


def _width(value: Value) -> int:
    assert isinstance(value.type, TileType) and isinstance(value.type.element, IntegerType)
    return value.type.element.width


def _format(value: Value, signed: bool) -> str:
    assert isinstance(value.type, TileType)
    if isinstance(value.type.element, PointerType):
        return "%p"
    if isinstance(value.type.element, FloatType):
        return "%f"
    return "%d" if signed and _width(value) > 1 else "%u"


def pointee(pointers: Value) -> TileType:
    """The type of the elements that a tile of pointers points to."""
    assert isinstance(pointers.type, TileType) and isinstance(pointers.type.element, PointerType)
    return with_element(pointers.type, pointers.type.element.pointee)


def to_memory(t: Translation, value: Value) -> Value:
    """A tile as it stands in memory, where pointers are their 64 bits."""
    assert isinstance(value.type, TileType)
    return t.build.ptr_to_int(value) if isinstance(value.type.element, PointerType) else value


def from_memory(t: Translation, value: Value, type: TileType) -> Value:
    """A tile of a type from how it stands in memory."""
    return t.build.int_to_ptr(value, type) if isinstance(type.element, PointerType) else value
