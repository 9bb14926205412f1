"""The rules that loads, stores and atomics share: which orderings and scopes they take, and how pointers fit values.

An access says how far others may touch the same memory meanwhile (its ordering) and how far away those others are
(its scope).  A weak access promises that nobody does, so it has no scope; every other one needs a scope.
`seq_cst` has no public form; it is let through here and refused when the program is legalized (docs/conflicts.md B2).
"""

from __future__ import annotations

from tileir.annotations import Final, cast
from tileir.dialect.constraints import shape_of
from tileir.dialect.types import PointerType, TileType
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Invalid
from tileir.ir.type_rules import TypeRule, named_types
from tileir.ir.types import BF16, F16, F32, F64, I32, I64, FloatType, IntegerType, Type

_LOAD_ORDERINGS: Final = ("weak", "relaxed", "acquire", "seq_cst")
_STORE_ORDERINGS: Final = ("weak", "relaxed", "release", "seq_cst")
_ATOMIC_ORDERINGS: Final = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")


def verify_load_ordering(operation: Operation) -> None:
    """What an atomic or plain load may ask for, whatever its scope."""
    ordering = operation.memory_ordering_semantics
    if ordering not in _LOAD_ORDERINGS:
        raise Invalid(f"expect one of: weak, relaxed, or acquire, but got: {ordering}")


def verify_store_ordering(operation: Operation) -> None:
    """What an atomic or plain store may ask for, whatever its scope."""
    ordering = operation.memory_ordering_semantics
    if ordering not in _STORE_ORDERINGS:
        raise Invalid(f"expect one of: weak, relaxed, or release, but got: {ordering}")


def _verify_scope(operation: Operation, noun: str) -> None:
    ordering = operation.memory_ordering_semantics
    scoped = operation.memory_scope is not None
    if ordering == "weak":
        if scoped:
            raise Invalid(f"weak {noun} must not have memory scope")
    elif not scoped:
        raise Invalid(f"memory scope is required for {ordering} {noun}")


def verify_load(operation: Operation) -> None:
    """Ordering and scope of a load."""
    verify_load_ordering(operation)
    _verify_scope(operation, "load")


def verify_store(operation: Operation) -> None:
    """Ordering and scope of a store."""
    verify_store_ordering(operation)
    _verify_scope(operation, "store")


def verify_atomic_ordering(operation: Operation) -> None:
    """Ordering of an atomic that reads and writes; its scope is a required attribute."""
    if operation.memory_ordering_semantics not in _ATOMIC_ORDERINGS:
        raise Invalid("memory ordering semantics must be one of: relaxed, acquire, release, acq_rel")


def _width(element: Type) -> int:
    return element.width if isinstance(element, (IntegerType, FloatType)) else 0


def is_word(element: Type) -> bool:
    """Whether hardware swaps the element in one piece: 32 or 64 bits."""
    return _width(element) in (32, 64)


def verify_atomic_mode(operation: Operation, element: Type) -> None:
    """Which element types each read-modify-write mode works on."""
    mode = operation.mode
    if mode == "addf":
        if element not in (F16, BF16, F32, F64):
            raise Invalid("'addf' works only with floats f16, bf16, f32, and f64")
    elif mode == "xchg":
        if not is_word(element):
            raise Invalid("'xchg' works only with integers or float of 32 or 64 bitwidth")
    elif element is not I32 and element is not I64:
        raise Invalid(f"'{mode}' works only with integers i32 and i64")


def natural_size(element: Type) -> int:
    """Bytes of one element in memory as alignment rules count them: whole bytes of its bits, i1 taking one."""
    width = _width(element)
    return 1 if width == 1 else width // 8


# --- pointers and what they point to ---


def pointee_of(type: Type) -> Type:
    """What the pointers of a verified pointer tile point to."""
    return cast(PointerType, cast(TileType, type).element).pointee


def _points_to(pointers: Type, values: Type) -> bool:
    return (
        isinstance(pointers, TileType)
        and isinstance(values, TileType)
        and isinstance(pointers.element, PointerType)
        and pointers.shape == values.shape
        and pointers.element.pointee is values.element
    )


def points_to(pointers: str, values: str) -> TypeRule:
    """One pointer per value, of the value's element type."""
    return TypeRule(
        lambda op: _points_to(named_types(op, pointers)[0], named_types(op, values)[0]),
        f"failed to verify that `{pointers}` type is expected a pointer type of `{values}` type",
    )


def optional_same_shape(optional: str, other: str, message: str) -> TypeRule:
    """An operand that may be absent has the shape of another one."""
    return TypeRule(
        lambda op: all(shape_of(t) == shape_of(named_types(op, other)[0]) for t in named_types(op, optional)),
        f"failed to verify that {message}",
    )


def optional_same_type(optional: str, other: str, message: str) -> TypeRule:
    """An operand that may be absent has the type of another one."""
    return TypeRule(
        lambda op: all(t is named_types(op, other)[0] for t in named_types(op, optional)),
        f"failed to verify that {message}",
    )
