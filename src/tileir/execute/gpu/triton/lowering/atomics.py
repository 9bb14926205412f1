"""Lowering of accesses with a memory order, of atomics, and of the barriers that both need.

One thread makes a relaxed, acquire or release access to an element, exactly once: two may read different values, or
undo what another tile block wrote.  So a tile with fewer elements than threads gets one more dimension, of which only
the first element is accessed, and a reduction over it broadcasts what was read.  A barrier follows an acquire and comes
before a release, to order the other threads of the tile block too.
"""

from __future__ import annotations

from math import prod
from typing import Final

from tileir.execute.gpu.triton.lowering.accesses import access_of, addresses, inside
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.ttir_values import Shape, TtirValue, bits_of, pointee_of, squeezed
from tileir.ir.core import Operation

SCOPES: Final = {"tl_blk": "cta", "device": "gpu", "sys": "sys"}
_THREADS: Final = 32
_OTHER_MODES: Final = {"addf": "fadd", "xchg": "exch"}
_FIRST_TO_ADD_BF16: Final = 90
_FIRST_TO_SWAP_64_BITS: Final = (3, 6)
"""The first Triton that swaps a single word of 64 bits; before it, the code is refused by ptxas."""
_ADD_BF16: Final = (
    "{{ .reg .pred p, q; .reg .b64 word; .reg .b32 shift, seen, old, new, bits; .reg .b16 half; .reg .f32 sum, added; "
    "mov.b32 $0, 0; setp.eq.b32 p, $3, 0; @p bra done; "
    "and.b64 word, $1, -4; cvt.u32.u64 shift, $1; and.b32 shift, shift, 2; shl.b32 shift, shift, 3; "
    "shl.b32 bits, $2, 16; mov.b32 added, bits; ld.relaxed.{scope}.global.b32 seen, [word]; "
    "again: mov.b32 old, seen; shr.u32 bits, old, shift; shl.b32 bits, bits, 16; mov.b32 sum, bits; "
    "add.rn.f32 sum, sum, added; cvt.rn.bf16.f32 half, sum; cvt.u32.u16 new, half; bfi.b32 new, new, old, shift, 16; "
    "atom.{ordering}.{scope}.global.cas.b32 seen, [word], old, new; setp.ne.b32 q, seen, old; @q bra again; "
    "shr.u32 bits, old, shift; and.b32 $0, bits, 0xffff; done: }}"
)
_RELEASES: Final = ("release", "acq_rel")
"""Orderings before which all threads have written: the one that makes the access releases it."""
_ACQUIRES: Final = ("acquire", "acq_rel")
"""Those after which all threads see what the one that makes the access has acquired."""


class Owners:
    """Tiles of a shape, each of whose elements one thread has."""

    def __init__(self, build: Lowering, shape: Shape) -> None:
        self._build: Final = build
        self._whole: Final = shape
        self._count: Final = prod(shape)
        self._copies: Final = max(_THREADS * build.schedule.num_warps // self._count, 1)
        self._shape: Final = shape if self._copies == 1 else (*squeezed((self._count,)), self._copies)

    def effect(
        self, instructions: str, constraints: str, values: list[TtirValue], mask: TtirValue | None, element: str = "i32"
    ) -> TtirValue:
        """Instructions for each element, in one thread; the last operand is the predicate of an element."""
        spread = [*map(self._spread, values), self._predicate(mask)]
        return self._build.effect(instructions, constraints, spread, element, self._shape)

    def _spread(self, value: TtirValue) -> TtirValue:
        """A tile for the threads; each element may be in several."""
        if self._copies == 1 or self._count == 1:
            return value if self._copies == 1 else self._build.splat(value, self._shape)
        flat = self._build.reshape(value, (self._count,))
        return self._build.broadcast(self._build.expand(flat, 1), self._shape)

    def _predicate(self, mask: TtirValue | None) -> TtirValue:
        """The predicate of each, as i32: set where the mask is, in one thread each."""
        build = self._build
        chosen = self._spread(mask) if mask is not None else None
        if self._copies > 1:
            first = build.compare("eq", build.range(self._copies), 0)
            if self._count > 1:
                first = build.broadcast(build.expand(first, 0), self._shape)
            chosen = first if chosen is None else build.apply("arith.andi", chosen, first)
        return build.integer(1, "i32", self._shape) if chosen is None else build.convert("arith.extui", chosen, "i32")

    def found(self, word: TtirValue, element: str) -> TtirValue:
        """Numbers by the bits that those that took part found, where the others have zero: for all threads."""
        build = self._build
        if self._copies > 1:
            axis = len(self._shape) - 1
            (word,) = build.reduce([word], axis, lambda left, right: [build.apply("arith.ori", left[0], right[0])])
            word = build.reshape(word, self._whole)
        return build.bitcast(build.convert("arith.trunci", word, f"i{bits_of(element)}"), element)


def ordered_load(
    build: Lowering, operation: Operation, pointers: TtirValue, mask: TtirValue | None, other: TtirValue | None
) -> TtirValue:
    """Elements as they lie in memory; where the mask is false, `other`."""
    build.require_ptx(operation, "ordered loads")
    ordering, scope = ordering_of(operation)
    element = pointee_of(pointers.element)
    bits = bits_of(element)
    owners = Owners(build, pointers.shape)
    word, register = ("i64", "l") if bits == 64 else ("i32", "r")
    found = owners.effect(
        "{ .reg .pred p; setp.ne.b32 p, $2, 0; "
        f"mov.b{bits_of(word)} $0, 0; @p ld.{ordering}.{scope}.global.b{bits} $0, [$1]; }}",
        f"=&{register},l,r",
        [pointers],
        mask,
        word,
    )
    found = owners.found(found, element)
    if ordering == "acquire":
        build.barrier()
    return found if mask is None or other is None else build.select(mask, found, other)


def ordered_store(
    build: Lowering, operation: Operation, pointers: TtirValue, value: TtirValue, mask: TtirValue | None
) -> None:
    ordering, scope = ordering_of(operation)
    if ordering == "release":
        build.fenced_barrier()
    if value.bits >= 32:
        # An exchange whose old value is unused: Triton makes sure that each is done once.
        build.atomic(f"rmw exch, {ordering}, {scope}", pointers, value, mask)
        return
    build.require_ptx(operation, "ordered stores of less than 32 bits")
    store = f"st.{ordering}.{scope}.global.b{bits_of(value.element)}"
    Owners(build, pointers.shape).effect(
        f"{{ .reg .pred p; setp.ne.b32 p, $3, 0; @p {store} [$1], $2; mov.b32 $0, 0; }}",
        "=r,l,r,r",
        [pointers, as_word(build, value)],
        mask,
    )


def ordering_of(operation: Operation) -> tuple[str, str]:
    return operation.keyword("memory_ordering_semantics"), SCOPES.get(operation.keyword("memory_scope"), "gpu")


def as_word(build: Lowering, value: TtirValue) -> TtirValue:
    """The bits of a number in a register of 32 or 64 bits."""
    bits = build.bitcast(value, f"i{value.bits}")
    return build.convert("arith.extui", bits, "i32") if bits.bits < 32 else bits


def lower_atomic_rmw(build: Lowering, operation: Operation) -> None:
    pointers, value = [build.value(operand) for operand in operation.operands[:2]]
    mask = build.optional(operation.mask)
    ordering, _ = ordering_of(operation)
    if ordering in _RELEASES:
        build.fenced_barrier()
    found = _atomic(build, operation, pointers, value, mask)
    if ordering in _ACQUIRES:
        build.barrier()
    if mask is not None and operation.results[0].has_uses:
        found = build.select(mask, found, 0)
    build.result(operation, found)


def _atomic(
    build: Lowering, operation: Operation, pointers: TtirValue, value: TtirValue, mask: TtirValue | None
) -> TtirValue:
    ordering, scope = ordering_of(operation)
    if value.element == "bf16" and build.has_ptx and build.capability < _FIRST_TO_ADD_BF16:
        # No instruction adds: the word that it is a half of is swapped.  The sum is rounded to f32 first, which has
        # more than twice the digits of bf16: rounding twice changes nothing.
        owners = Owners(build, pointers.shape)
        text = _ADD_BF16.format(ordering=ordering, scope=scope)
        found = owners.effect(text, "=&r,l,r,r", [pointers, as_word(build, value)], mask)
        return owners.found(found, "bf16")
    mode = _OTHER_MODES.get(operation.mode, operation.mode)
    return build.atomic(f"rmw {mode}, {ordering}, {scope}", pointers, value, mask)


def lower_atomic_cas(build: Lowering, operation: Operation) -> None:
    pointers, expected, value = [build.value(operand) for operand in operation.operands[:3]]
    mask = build.optional(operation.mask)
    ordering, scope = ordering_of(operation)
    if ordering in _RELEASES:
        build.fenced_barrier()
    if mask is None and value.bits == 64 and not value.shape and build.version < _FIRST_TO_SWAP_64_BITS:
        mask = build.integer(1, "i1")
    if mask is not None:
        found = _masked_swap(build, operation, pointers, expected, value, mask)
    elif value.is_float and not build.has_ptx:
        # For GPUs of AMD, Triton swaps integers only.
        bits = f"i{value.bits}"
        words = [build.bitcast(pointers, f"!tt.ptr<{bits}>"), build.bitcast(expected, bits), build.bitcast(value, bits)]
        found = build.bitcast(build.atomic(f"cas {ordering}, {scope}", *words), value.element)
    else:
        found = build.atomic(f"cas {ordering}, {scope}", pointers, expected, value)
    if ordering in _ACQUIRES:
        build.barrier()
    build.result(operation, found)


def _masked_swap(
    build: Lowering, operation: Operation, pointers: TtirValue, expected: TtirValue, value: TtirValue, mask: TtirValue
) -> TtirValue:
    """Compare and swap, which Triton has without a mask only; where it is false, the result is what is expected."""
    build.require_ptx(operation, "comparing and swapping with a mask")
    ordering, scope = ordering_of(operation)
    words = [as_word(build, each) for each in (expected, value)]
    bits = bits_of(words[0].element)
    register = "l" if bits == 64 else "r"
    owners = Owners(build, pointers.shape)
    found = owners.effect(
        f"{{ .reg .pred p; setp.ne.b32 p, $4, 0; mov.b{bits} $0, 0; "
        f"@p atom.{ordering}.{scope}.global.cas.b{bits} $0, [$1], $2, $3; }}",
        f"=&{register},l,{register},{register},r",
        [pointers, *words],
        mask,
        words[0].element,
    )
    return build.select(mask, owners.found(found, expected.element), expected)


def lower_atomic_view(build: Lowering, operation: Operation) -> None:
    """A reduction into a tile of a view: atomics with unused results."""
    access = access_of(build, operation)
    value = build.reshape(build.value(operation.value), access.shape)
    _atomic(build, operation, addresses(build, access), value, inside(build, access))
