"""Atomic operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tileir.dialect.types import TileType, pointer_type, with_element
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.types import I1, I8, I16, I32, I64, FloatType, IntegerType
from tileir.ir.values import Value
from tileir.ttir.rules.arithmetic import filled
from tileir.ttir.rules.memory import from_memory, pointee, to_memory
from tileir.ttir.translation import Translation, rule

# Triton writes the kind of an operation, its semantics and its scope as numbers, which begin at 1.
_MODES: Final = ("and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg")
_SEMANTICS: Final = ("relaxed", "acquire", "release", "acq_rel")
_SCOPES: Final = ("device", "tl_blk", "sys")

_NANOSECONDS_OF_A_POLL: Final = 1000
"""What one poll counts of a timeout: tile programs have no clock."""


class Order(NamedTuple):
    """How an atomic operation orders others."""

    memory_ordering_semantics: Any = "relaxed"
    memory_scope: Any = "device"

    @classmethod
    def of(cls, t: Translation, op: Operation) -> Order:
        return cls(_SEMANTICS[t.attribute(op, "sem") - 1], _SCOPES[t.attribute(op, "scope") - 1])

    @property
    def acquires(self) -> bool:
        return self.memory_ordering_semantics in ("acquire", "acq_rel")

    @property
    def releases(self) -> bool:
        return self.memory_ordering_semantics in ("release", "acq_rel")


def _access(t: Translation, op: Operation, build: Callable[[Order, Value], tuple[Value, Value]]) -> Value:
    """Build an atomic operation that takes an order and a token, and returns a value and a token.

    A release waits for all accesses before it, and all accesses after an acquire wait for it.
    """
    order = Order.of(t, op)
    if order.releases:
        t.tokens.barrier()
    before = t.tokens.before(op.operands[0])
    assert before is not None, "only arrays that are only read have no token"
    value, token = build(order, before)
    t.tokens.after(token, op.operands[0])
    if order.acquires:
        t.tokens.barrier()
    return value


@rule("tt.atomic_rmw", memory=True)
def read_modify_write(t: Translation, op: Operation) -> Value:
    pointers, value, mask = t.optional(op, 3)
    assert pointers is not None and value is not None
    mode = _MODES[t.attribute(op, "atomic_rmw_op") - 1]
    where = _mask(op, mask)
    old = _access(t, op, lambda order, token: combine(t, pointers, to_memory(t, value), where, mode, order, token))
    return from_memory(t, old, t.result_type(op))


def combine(
    t: Translation, pointers: Value, value: Value, mask: Value | None, mode: Any, order: Order, token: Value
) -> tuple[Value, Value]:
    """A read-modify-write; `max` and `min` are also of f16 and bf16."""
    element = pointee(pointers).element
    if mode not in ("max", "min") or not isinstance(element, FloatType):
        return t.build.atomic_rmw_tko(pointers, value, mask, token, mode=mode, **order._asdict())
    larger = t.build.maxf if mode == "max" else t.build.minf
    return _replace_halves(t, pointers, mask, order, token, lambda old: larger(old, value))


@rule("tt.atomic_cas", memory=True)
def compare_and_swap(t: Translation, op: Operation) -> Value:
    pointers, expected, value = t.operands(op)
    expected, value = to_memory(t, expected), to_memory(t, value)

    def build(order: Order, token: Value) -> tuple[Value, Value]:
        if _width(pointers) != 16:
            return t.build.atomic_cas_tko(pointers, expected, value, token=token, **order._asdict())

        def replacement(old: Value) -> Value:
            same = t.build.cmpi(_as_integers(t, old), _as_integers(t, expected), "equal", "unsigned")
            return t.build.select(same, value, old)

        return _replace_halves(t, pointers, None, order, token, replacement)

    return from_memory(t, _access(t, op, build), t.result_type(op))


@rule("tt.atomic_load", memory=True)
def load(t: Translation, op: Operation) -> Value:
    pointers, mask = t.operands(op)
    where = _mask(op, mask)
    other = None if where is None else filled(t, 0, pointee(pointers))
    return _access(t, op, lambda order, token: t.build.load_ptr_tko(pointers, where, other, token, **order._asdict()))


@rule("tt.atomic_store", memory=True)
def store(t: Translation, op: Operation) -> None:
    pointers, value, mask = t.operands(op)
    where = _mask(op, mask)
    _access(
        t,
        op,
        lambda order, token: (value, t.build.store_ptr_tko(pointers, value, where, token, **order._asdict())),
    )


@rule("tt.atomic_poll", memory=True)
def poll(t: Translation, op: Operation) -> Value:
    """Load until each element has been seen to have its value.

    A timeout is counted in polls.  On an engine that runs blocks one after another, only a block that has run can have
    stored the value.
    """
    pointers, expected, timeout = t.optional(op, 3)
    assert pointers is not None and expected is not None
    type = pointee(pointers)
    build, seen = t.build, with_element(type, I1)
    missing = filled(t, 0, type)

    def spin(order: Order, token: Value) -> tuple[Value, Value]:
        polls = []
        if timeout is not None:
            polls = [build.divi(timeout, build.constant(_NANOSECONDS_OF_A_POLL, I64), "unsigned")]
        with build.loop(init=[filled(t, 1, seen), token, *polls]) as loop:
            waits, token, *left = loop.values
            found, token = build.load_ptr_tko(pointers, waits, missing, token, **order._asdict())
            waits = build.andi(waits, build.cmpi(found, expected, "not_equal", "unsigned"))
            goes_on = _any(t, waits)
            if left:
                zero = build.constant(0, I64)
                goes_on = build.andi(goes_on, build.cmpi(left[0], zero, "greater_than", "unsigned"))
                left = [build.subi(left[0], build.constant(1, I64))]
            with build.if_(goes_on) as scope:
                pass
            with scope.else_():
                build.break_(waits, token, *left)
            build.continue_(waits, token, *left)
        waits, token, *left = loop.results
        return build.xori(waits, filled(t, 1, seen)), token

    return _access(t, op, spin)


def _replace_halves(
    t: Translation,
    pointers: Value,
    mask: Value | None,
    order: Order,
    token: Value,
    replacement: Callable[[Value], Value],
) -> tuple[Value, Value]:
    """Replace elements of 16 bits by compare and swap of the 32 bits that they are in; the old elements.

    An element is tried again if its 32 bits have changed since they were read.
    """
    build, type = t.build, pointee(pointers)
    words, halves, addresses = (with_element(type, each) for each in (I32, I16, I64))
    odd = build.andi(build.ptr_to_int(pointers), filled(t, 2, addresses))
    data = build.ptr_to_ptr(pointers, with_element(type, pointer_type(I8)))
    data = build.offset(data, build.negi(odd))
    data = build.ptr_to_ptr(data, with_element(type, pointer_type(I32)))
    shift = build.shli(build.trunci(odd, words), filled(t, 3, words))
    others = build.xori(build.shli(filled(t, 0xFFFF, words), shift), filled(t, -1, words))
    where = filled(t, 1, with_element(type, I1)) if mask is None else mask

    def half(word: Value) -> Value:
        found = build.trunci(build.shri(word, shift, "unsigned"), halves)
        return found if type is halves else build.bitcast(found, type)

    relaxed = order._replace(memory_ordering_semantics="relaxed")
    word, token = build.load_ptr_tko(data, where, filled(t, 0, words), token, **relaxed._asdict())
    with build.loop(init=[word, where, token]) as loop:
        word, waits, token = loop.values
        new = build.exti(_as_integers(t, replacement(half(word))), words, "unsigned")
        new = build.ori(build.andi(word, others), build.shli(new, shift))
        found, token = build.atomic_cas_tko(data, word, new, waits, token, **order._asdict())
        waits = build.andi(waits, build.cmpi(found, word, "not_equal", "unsigned"))
        with build.if_(_any(t, waits)) as scope:
            pass
        with scope.else_():
            build.break_(found, waits, token)
        build.continue_(found, waits, token)
    word, _, token = loop.results
    return half(word), token


def _any(t: Translation, mask: Value) -> Value:
    """Whether an element of a mask is true."""
    assert isinstance(mask.type, TileType)
    if not mask.type.shape:
        return mask
    flat = t.build.reshape(mask, (mask.type.count,))
    found: Value = t.build.reduce(flat, 0, 0, t.build.ori)
    return found


def _as_integers(t: Translation, value: Value) -> Value:
    assert isinstance(value.type, TileType)
    element = value.type.element
    return value if element is I16 else t.build.bitcast(value, with_element(value.type, I16))


def _width(pointers: Value) -> int:
    element = pointee(pointers).element
    assert isinstance(element, (FloatType, IntegerType))
    return element.width


def _mask(op: Operation, mask: Value | None) -> Value | None:
    """The mask of an operation, None if it leaves out nothing: the frontend makes one where the kernel has none."""
    source = op.operands[-1].defining_operation
    if source is None or source.name != "arith.constant":
        return mask
    value = source.attributes["value"]
    is_full = all(value.data) if isinstance(value, DenseAttribute) else bool(getattr(value, "value", 0))
    return None if is_full else mask
