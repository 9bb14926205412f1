"""Lowering of atomic operations."""

from __future__ import annotations

from typing import Final

from tileir.execute.gpu.triton.lowering.accesses import access_of
from tileir.execute.gpu.triton.lowering.addresses import addresses, inside
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.fences import fenced_barrier, wait_for_others
from tileir.execute.gpu.triton.lowering.ordered import Owners, as_word, from_word, ordering_of
from tileir.execute.gpu.triton.lowering.pointers import optional
from tileir.execute.gpu.triton.ttir.values import TtirValue, bits_of
from tileir.ir.core import Operation

_MODES: Final = {
    "and": "and",
    "or": "or",
    "xor": "xor",
    "add": "add",
    "addf": "fadd",
    "max": "max",
    "min": "min",
    "umax": "umax",
    "umin": "umin",
    "xchg": "exch",
}
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
_ACQUIRES: Final = ("acquire", "acq_rel")


def lower_atomic_rmw(lowering: Lowering, operation: Operation) -> None:
    wait_for_others(lowering, operation)
    build = lowering.build
    pointers, value = [lowering.value(operand) for operand in operation.operands[:2]]
    mask = optional(lowering, operation.mask)
    ordering, _ = ordering_of(operation)
    _before(lowering, ordering)
    found = _atomic(lowering, operation, pointers, value, mask)
    _after(lowering, ordering)
    if mask is not None and operation.results[0].has_uses:
        found = build.select(mask, found, build.zero(found.element, found.shape))
    lowering.result(operation, found)


def _atomic(
    lowering: Lowering, operation: Operation, pointers: TtirValue, value: TtirValue, mask: TtirValue | None
) -> TtirValue:
    build = lowering.build
    ordering, scope = ordering_of(operation)
    if value.element == "bf16" and lowering.has_ptx and lowering.capability < _FIRST_TO_ADD_BF16:
        return _added_bf16(lowering, operation, pointers, value, mask)
    return build.atomic(_MODES[operation.mode], ordering, scope, pointers, value, mask)


def _added_bf16(
    lowering: Lowering, operation: Operation, pointers: TtirValue, value: TtirValue, mask: TtirValue | None
) -> TtirValue:
    """A sum of bf16 in memory, where there is no instruction for it: swapped with the word that it is a half of.

    The sum of two is rounded to f32 first, which has more than twice their digits: rounding twice changes nothing.
    """
    build = lowering.build
    ordering, scope = ordering_of(operation)
    owners = Owners(lowering, pointers.shape)
    found = build.effect(
        _ADD_BF16.format(ordering=ordering, scope=scope),
        "=&r,l,r,r",
        [owners.spread(pointers), owners.spread(as_word(lowering, value)), owners.predicate(mask)],
        "i32",
        owners.shape,
    )
    return from_word(lowering, owners.gathered(found), "bf16")


def lower_atomic_cas(lowering: Lowering, operation: Operation) -> None:
    wait_for_others(lowering, operation)
    pointers, expected, value = [lowering.value(operand) for operand in operation.operands[:3]]
    mask = optional(lowering, operation.mask)
    ordering, scope = ordering_of(operation)
    _before(lowering, ordering)
    if mask is None and value.bits == 64 and not value.shape and lowering.build.version < _FIRST_TO_SWAP_64_BITS:
        mask = lowering.build.integer(1, "i1")
    if mask is None and value.is_float and not lowering.has_ptx:
        # For GPUs of AMD, Triton swaps integers only.
        build, bits = lowering.build, f"i{value.bits}"
        words = [build.bitcast(pointers, f"!tt.ptr<{bits}>"), build.bitcast(expected, bits), build.bitcast(value, bits)]
        found = build.bitcast(build.compare_and_swap(ordering, scope, *words), value.element)
    elif mask is None:
        found = lowering.build.compare_and_swap(ordering, scope, pointers, expected, value)
    else:
        found = _masked_swap(lowering, operation, pointers, expected, value, mask)
    _after(lowering, ordering)
    lowering.result(operation, found)


def _masked_swap(
    lowering: Lowering,
    operation: Operation,
    pointers: TtirValue,
    expected: TtirValue,
    value: TtirValue,
    mask: TtirValue,
) -> TtirValue:
    """Compare and swap, which Triton has without a mask only; where it is false, the result is what is expected."""
    lowering.require_ptx(operation, "comparing and swapping with a mask")
    build = lowering.build
    ordering, scope = ordering_of(operation)
    words = [as_word(lowering, each) for each in (expected, value)]
    bits = bits_of(words[0].element)
    register = "l" if bits == 64 else "r"
    owners = Owners(lowering, pointers.shape)
    found = build.effect(
        f"{{ .reg .pred p; setp.ne.b32 p, $4, 0; mov.b{bits} $0, 0; "
        f"@p atom.{ordering}.{scope}.global.cas.b{bits} $0, [$1], $2, $3; }}",
        f"=&{register},l,{register},{register},r",
        [owners.spread(pointers), *[owners.spread(word) for word in words], owners.predicate(mask)],
        words[0].element,
        owners.shape,
    )
    old = from_word(lowering, owners.gathered(found), expected.element)
    return build.select(mask, old, expected)


def lower_atomic_view(lowering: Lowering, operation: Operation) -> None:
    """A reduction into a tile of a view: as atomics do it whose results nobody looks at."""
    wait_for_others(lowering, operation)
    access = access_of(lowering, operation)
    value = lowering.build.reshape(lowering.value(operation.value), access.shape)
    _atomic(lowering, operation, addresses(lowering, access), value, inside(lowering, access))


def _before(lowering: Lowering, ordering: str) -> None:
    """What all threads have written is released by the one that makes the access."""
    if ordering in _RELEASES:
        fenced_barrier(lowering)


def _after(lowering: Lowering, ordering: str) -> None:
    """What the one that makes the access has acquired is seen by all threads."""
    if ordering in _ACQUIRES:
        lowering.build.barrier()
