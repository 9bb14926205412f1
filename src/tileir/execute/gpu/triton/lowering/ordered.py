"""Accesses that others may make at the same time: relaxed, acquire and release, within a scope.

Such an access is made by one thread for each element, exactly once: what two threads read may differ, and what is
written twice may undo what another tile block has made of it.  So a tile of fewer elements than there are threads is
given a dimension more, of which the first element alone takes part, and what was read is handed to all threads by a
reduction over that dimension.

An acquire is followed by a barrier, a release comes after one: what other threads of the tile block do is ordered too.
"""

from __future__ import annotations

from math import prod
from typing import Final

from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.fences import fenced_barrier
from tileir.execute.gpu.triton.ttir.values import Shape, TtirValue, bits_of, pointee_of
from tileir.ir.core import Operation

SCOPES: Final = {"tl_blk": "cta", "device": "gpu", "sys": "sys"}
"""What PTX and Triton call the scopes."""

_THREADS: Final = 32
"""Of a warp."""


class Owners:
    """Tiles of a shape, each of whose elements one thread has."""

    def __init__(self, lowering: Lowering, shape: Shape) -> None:
        self._build = lowering.build
        self._shape: Final = shape
        self._count: Final = prod(shape)
        self._copies: Final = max(_THREADS * lowering.schedule.num_warps // self._count, 1)

    @property
    def shape(self) -> Shape:
        """Of the tiles as they are spread."""
        if self._copies == 1:
            return self._shape
        return (self._count, self._copies) if self._count > 1 else (self._copies,)

    def spread(self, value: TtirValue) -> TtirValue:
        """A tile for the threads; each element may be in several."""
        if self._copies == 1:
            return value
        if self._count == 1:
            return self._build.splat(value, self.shape)
        flat = self._build.reshape(value, (self._count,))
        return self._build.broadcast(self._build.expand(flat, 1), self.shape)

    def predicate(self, mask: TtirValue | None) -> TtirValue:
        """Which of them take part, as i32: those that the mask names, in one thread each."""
        build = self._build
        taking = self.spread(mask) if mask is not None else None
        if self._copies > 1:
            first = build.compare("eq", build.range(self._copies), build.integer(0, "i32", (self._copies,)))
            if self._count > 1:
                first = build.broadcast(build.expand(first, 0), self.shape)
            taking = first if taking is None else build.binary("arith.andi", taking, first)
        if taking is None:
            return build.integer(1, "i32", self.shape)
        return build.convert("arith.extui", taking, "i32")

    def gathered(self, value: TtirValue) -> TtirValue:
        """What those that took part found, where the others have zero: for all threads."""
        if self._copies == 1:
            return value
        (found,) = self._build.reduce(
            [value],
            len(self.shape) - 1,
            lambda left, right: [self._build.binary("arith.ori", left[0], right[0])],
        )
        return self._build.reshape(found, self._shape)


def ordered_load(
    lowering: Lowering, operation: Operation, pointers: TtirValue, mask: TtirValue | None, other: TtirValue | None
) -> TtirValue:
    """Elements as they lie in memory; where the mask is false, `other`."""
    lowering.require_ptx(operation, "ordered loads")
    build = lowering.build
    ordering, scope = ordering_of(operation)
    element = pointee_of(pointers.element)
    bits = bits_of(element)
    owners = Owners(lowering, pointers.shape)
    word = "i64" if bits == 64 else "i32"
    register = "l" if bits == 64 else "r"
    found = build.effect(
        "{ .reg .pred p; setp.ne.b32 p, $2, 0; "
        f"mov.b{bits_of(word)} $0, 0; @p ld.{ordering}.{scope}.global.b{bits} $0, [$1]; }}",
        f"=&{register},l,r",
        [owners.spread(pointers), owners.predicate(mask)],
        word,
        owners.shape,
    )
    found = from_word(lowering, owners.gathered(found), element)
    if ordering == "acquire":
        build.barrier()
    return found if mask is None or other is None else build.select(mask, found, other)


def ordered_store(
    lowering: Lowering, operation: Operation, pointers: TtirValue, value: TtirValue, mask: TtirValue | None
) -> None:
    """Write elements as they lie in memory."""
    ordering, scope = ordering_of(operation)
    if ordering == "release":
        fenced_barrier(lowering)
    if value.bits >= 32:
        # An exchange of which nobody wants the old value: Triton sees to it that each is made once.
        lowering.build.atomic("exch", ordering, scope, pointers, value, mask)
        return
    lowering.require_ptx(operation, "ordered stores of less than 32 bits")
    owners = Owners(lowering, pointers.shape)
    bits = bits_of(value.element)
    lowering.build.effect(
        f"{{ .reg .pred p; setp.ne.b32 p, $3, 0; @p st.{ordering}.{scope}.global.b{bits} [$1], $2; mov.b32 $0, 0; }}",
        "=r,l,r,r",
        [owners.spread(pointers), owners.spread(as_word(lowering, value)), owners.predicate(mask)],
        "i32",
        owners.shape,
    )


def ordering_of(operation: Operation) -> tuple[str, str]:
    """The ordering and the scope of an access, in Triton's words."""
    return operation.keyword("memory_ordering_semantics"), SCOPES.get(operation.keyword("memory_scope"), "gpu")


def as_word(lowering: Lowering, value: TtirValue) -> TtirValue:
    """The bits of a number in a register of 32 or 64 bits."""
    build = lowering.build
    bits = build.bitcast(value, f"i{value.bits}")
    return build.convert("arith.extui", bits, "i32") if bits.bits < 32 else bits


def from_word(lowering: Lowering, word: TtirValue, element: str) -> TtirValue:
    """The number whose bits a register has."""
    build = lowering.build
    narrow = f"i{bits_of(element)}"
    return build.bitcast(build.convert("arith.trunci", word, narrow), element)
