"""Promises a program makes and does not keep: `assume`, `assume_cond`, `inbounds`."""

from __future__ import annotations

from typing import Any

import numpy

from tileir.dialect.attributes import BoundedAttribute, DivByAttribute, SameElementsAttribute
from tileir.dialect.ops import ASSUME_COND
from tileir.dialect.types import PointerType, TileType
from tileir.execute.dtypes import Array, memory_dtype
from tileir.execute.locations.wording import ARRAY, THIS, bracketed, phrase, several
from tileir.execute.observing.observer import Access, TileBlock
from tileir.execute.sanitizer.integer_checks import first_element
from tileir.execute.sanitizer.ledger import Ledger
from tileir.execute.sanitizer.report import Finding, FindingLocation
from tileir.ir.attributes import DenseArrayAttribute
from tileir.ir.core import Operation
from tileir.ir.types import Type

_HINT = "the compiler builds on it: fix the value, or drop the assumption"


def check_assumption(ledger: Ledger, operation: Operation, block: TileBlock, operands: list[Any]) -> bool:
    """An `assume` or `assume_cond` is about to run; whether it holds."""
    if operation.declaration is ASSUME_COND:
        if operands[0].all():
            return True
        location = FindingLocation(operation, block.id, first_element(~numpy.asarray(operands[0])))
        title = phrase(f"what {THIS} promises does not hold", operation)
        ledger.add(Finding("assume", title, location, [], _HINT))
        return False
    predicate = operation.attributes.get("predicate")
    address = getattr(operands[0], "address", None)
    array = numpy.asarray(operands[0] if address is None else numpy.uint64(address))
    if isinstance(predicate, DivByAttribute):
        wrong, detail = _not_divisible(array, predicate, step_of(operation.operands[0].type))
    elif isinstance(predicate, BoundedAttribute):
        wrong, detail = _out_of_bounds(array, predicate)
    elif isinstance(predicate, SameElementsAttribute):
        wrong, detail = _differing(array, predicate)
    else:
        return True
    if not detail:
        return True
    element = first_element(wrong)
    details = [detail]
    if element is not None:
        total = int(wrong.sum())
        details.append(f"{total} of the {several(wrong.size, 'element')} break{'s' if total == 1 else ''} the promise")
    title = phrase(f"{THIS} promises {predicate.bare_text}, which does not hold", operation)
    ledger.add(Finding("assume", title, FindingLocation(operation, block.id, element), details, _HINT))
    return False


def is_about_groups(operation: Operation) -> bool:
    """Whether an `assume` relates elements of one tile to each other."""
    predicate = operation.attributes.get("predicate")
    return isinstance(predicate, SameElementsAttribute) or (
        isinstance(predicate, DivByAttribute) and predicate.every is not None
    )


def step_of(type: Type) -> int:
    """By how much neighbors in a group differ: pointers by the size of what they point to, numbers by 1."""
    element = type.element if isinstance(type, TileType) else None
    return memory_dtype(element.pointee).itemsize if isinstance(element, PointerType) else 1


def _not_divisible(array: Array, predicate: DivByAttribute, step: int) -> tuple[Array, str]:
    """Elements that are no multiples; in groups, the first one is, and the others count up from it by `step`."""
    pointer = array.dtype == numpy.uint64
    numbers = array.view(numpy.int64) if pointer else array.astype(numpy.int64)
    divisor, every, along = predicate.divisor, predicate.every, predicate.along
    # The divisor is a power of two: the low bits decide, also of negative numbers.
    wrong = numpy.asarray((numbers & numpy.int64(divisor - 1)) != 0)
    indices: Array = numpy.zeros((), numpy.int64)
    firsts = numbers
    if every is not None and along is not None:
        positions = numpy.arange(numbers.shape[along])
        firsts = numpy.take(numbers, positions - positions % every, along)
        indices = (positions % every).reshape([-1 if axis == along else 1 for axis in range(numbers.ndim)])
        wrong = numpy.where(indices == 0, wrong, numbers != firsts + indices * step)
    if not wrong.any():
        return wrong, ""
    number = int(wrong.reshape(-1).argmax())
    found, first = numbers.reshape(-1)[number], firsts.reshape(-1)[number]
    index = int(numpy.broadcast_to(indices, numbers.shape).reshape(-1)[number])
    shown, start = [f"{int(one.view(numpy.uint64)):#x}" if pointer else str(int(one)) for one in (found, first)]
    group = f"its group of {every} along dimension {along}"
    if index:
        return wrong, f"the value is {shown}: number {index} of {group}, which counts up from {start} by {step}"
    text = f"the value is {shown}, and {shown} % {divisor} is {int(found) % divisor}"
    return wrong, f"{text} (the first of {group})" if every is not None else text


def _out_of_bounds(array: Array, predicate: BoundedAttribute) -> tuple[Array, str]:
    if array.dtype == numpy.bool_:
        array = -array.astype(numpy.int8)
    lower, upper = predicate.lower, predicate.upper
    below = above = numpy.zeros(array.shape, bool)
    if lower is not None:
        below = numpy.asarray((array <= lower) if predicate.strict else (array < lower))
    if upper is not None:
        above = numpy.asarray((array >= upper) if predicate.strict else (array > upper))
    wrong = below | above
    if not wrong.any():
        return wrong, ""
    number = int(wrong.reshape(-1).argmax())
    limit = f"least allowed {lower}" if below.reshape(-1)[number] else f"most allowed {upper}"
    excluded = " (excluded)" if predicate.strict else ""
    return wrong, f"the value is {int(array.reshape(-1)[number])}, the {limit}{excluded}"


def _differing(array: Array, predicate: SameElementsAttribute) -> tuple[Array, str]:
    first = array
    for axis, extent in enumerate(predicate.values):
        if extent > 1:
            indices = numpy.arange(array.shape[axis])
            first = numpy.take(first, indices - indices % extent, axis)
    wrong = numpy.asarray(array != first)
    if not wrong.any():
        return wrong, ""
    number, group = int(wrong.reshape(-1).argmax()), bracketed(predicate.values)
    found, start = [int(tile.reshape(-1)[number]) for tile in (array, first)]
    return wrong, f"the value is {found}, the first one of its group of {group} is {start}"


def promised_dimensions(operation: Operation) -> tuple[int, ...]:
    attribute = operation.attributes.get("inbounds")
    values = attribute.values if isinstance(attribute, DenseArrayAttribute) else ()
    return tuple([axis for axis, value in enumerate(values) if value])


def check_inbounds(ledger: Ledger, access: Access, axes: tuple[int, ...]) -> None:
    view: Any = access.view
    mask: Array | None = None
    for axis in axes:
        if access.box is not None:
            inside = access.box[1][axis]
            first = inside
        else:
            mask = access.mask if mask is None else mask
            if mask is None:
                return
            rows = mask.any(axis=tuple([other for other in range(mask.ndim) if other != axis]))
            inside = int(rows.sum())
            first = int(rows.argmin())
        expected = view.shape[axis]
        if inside == expected:
            continue
        element = [0] * len(view.shape)
        element[axis] = first
        title = phrase(
            f"{THIS} promises inbounds in dimension {axis}, and the tile reaches outside of the tensor",
            access.operation,
            script=f"{THIS} has check_bounds=False, and its tile reaches outside of {ARRAY} along axis {axis}",
        )
        count = f"{inside} of the tile's {several(expected, 'position')} along"
        extent = f"has {view.extents[axis]} there"
        details = [
            phrase(
                f"{count} dimension {axis} are inside: the tensor {extent}",
                script=f"{count} axis {axis} are inside: {ARRAY} {extent}",
            )
        ]
        # A tile that is wholly outside is none of the view's, with the promise or without.
        advice = "turns off padding and clipping: drop it, or guard the access with `if`"
        hint = phrase(f"inbounds {advice}", script=f"check_bounds=False {advice}")
        if inside == 0:
            advice = "does not help where the whole tile is outside"
            hint = phrase(
                f"guard the access with `if`: dropping inbounds {advice}",
                script=f"guard the access with `if`: dropping check_bounds=False {advice}",
            )
        location = FindingLocation(access.operation, access.block.id, tuple(element))
        ledger.add(Finding("inbounds", title, location, details, hint))
