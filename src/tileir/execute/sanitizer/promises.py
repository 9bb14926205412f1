"""Promises a program makes and does not keep: `assume`, `assume_cond`, `inbounds`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from tileir.dialect.attributes import BoundedAttribute, DivByAttribute, SameElementsAttribute
from tileir.execute.dtypes import Array
from tileir.execute.observer import Access, TileBlock
from tileir.execute.sanitizer.numbers import first_element
from tileir.execute.sanitizer.report import Finding, Place, bracketed, several
from tileir.ir.attributes import DenseArrayAttribute
from tileir.ir.core import Operation

if TYPE_CHECKING:
    from tileir.execute.sanitizer.sanitizer import Sanitizer

_HINT = "the compiler builds on it: fix the value, or drop the assumption"


def check_assumption(sanitizer: Sanitizer, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
    """An `assume` or `assume_cond` is about to run."""
    if operation.declaration.mnemonic == "assume_cond":
        if not operands[0].all():
            place = Place(operation, block.id, first_element(~numpy.asarray(operands[0])))
            sanitizer.add(Finding("assume", "what assume_cond promises does not hold", place, [], _HINT))
        return
    predicate = operation.attributes.get("predicate")
    value = operands[0]
    if isinstance(predicate, DivByAttribute):
        address = getattr(value, "address", None)
        found = _not_divisible(numpy.uint64(address) if address is not None else value, predicate)
    elif isinstance(predicate, BoundedAttribute):
        found = _out_of_bounds(value, predicate)
    elif isinstance(predicate, SameElementsAttribute):
        found = _differing(value, predicate)
    else:
        return
    if found is None:
        return
    wrong, detail = found
    element = first_element(wrong)
    number = int(numpy.asarray(wrong).reshape(-1).argmax())
    details = [detail(number)]
    if element is not None:
        total = int(wrong.sum())
        details.append(f"{total} of the {several(wrong.size, 'element')} break{'s' if total == 1 else ''} the promise")
    title = f"assume promises {predicate.bare_text}, which does not hold"
    sanitizer.add(Finding("assume", title, Place(operation, block.id, element), details, _HINT))


Found = Any


def _not_divisible(value: Any, predicate: DivByAttribute) -> Found:
    array = numpy.asarray(value)
    if array.dtype == numpy.bool_:
        array = array.astype(numpy.int8)
    divisor = predicate.divisor
    pointer = array.dtype == numpy.uint64
    # A power of two: the low bits tell, also of negative numbers.
    low = array.astype(numpy.int64) & numpy.int64(divisor - 1)
    expected = numpy.zeros((), numpy.int64)
    if predicate.every and predicate.along is not None:
        # Within a group the elements count up: for pointers by the size of what they point to, which is not known
        # here, so only the first element of each group is looked at.
        along = [1] * array.ndim
        along[predicate.along] = -1
        place = (numpy.arange(array.shape[predicate.along]) % predicate.every).reshape(along)
        if pointer:
            low = numpy.where(place == 0, low, 0)
        else:
            first = array - place.astype(array.dtype)
            low = first.astype(numpy.int64) & numpy.int64(divisor - 1)
    wrong = low != expected
    if not wrong.any():
        return None
    flat = array.reshape(-1)

    def detail(number: int) -> str:
        shown = f"{int(flat[number]):#x}" if pointer else str(int(flat[number]))
        group = f" (groups of {predicate.every} along dimension {predicate.along})" if predicate.every else ""
        return f"the value is {shown}, and {shown} % {divisor} is {int(flat[number]) % divisor}{group}"

    return wrong, detail


def _out_of_bounds(value: Any, predicate: BoundedAttribute) -> Found:
    array = numpy.asarray(value)
    if array.dtype == numpy.bool_:
        array = -array.astype(numpy.int8)
    wrong = numpy.zeros(array.shape, bool)
    lower, upper = predicate.lower, predicate.upper
    if lower is not None:
        wrong = wrong | ((array <= lower) if predicate.strict else (array < lower))
    if upper is not None:
        wrong = wrong | ((array >= upper) if predicate.strict else (array > upper))
    if not wrong.any():
        return None
    flat = array.reshape(-1)

    def detail(number: int) -> str:
        found = int(flat[number])
        if lower is not None and (found < lower or (predicate.strict and found == lower)):
            return f"the value is {found}, the least allowed {lower}{' (excluded)' if predicate.strict else ''}"
        return f"the value is {found}, the most allowed {upper}{' (excluded)' if predicate.strict else ''}"

    return wrong, detail


def _differing(value: Any, predicate: SameElementsAttribute) -> Found:
    array = numpy.asarray(value)
    first = array
    for axis, extent in enumerate(predicate.values):
        if extent > 1:
            places = numpy.arange(array.shape[axis])
            first = numpy.take(first, places - places % extent, axis)
    wrong = array != first
    if not wrong.any():
        return None
    flat, firsts = array.reshape(-1), first.reshape(-1)

    def detail(number: int) -> str:
        group = bracketed(predicate.values)
        return f"the value is {int(flat[number])}, the first one of its group of {group} is {int(firsts[number])}"

    return wrong, detail


# --- inbounds ---


def promised_dimensions(operation: Operation) -> tuple[int, ...]:
    """The dimensions that `inbounds` promises to be inside."""
    attribute = operation.attributes.get("inbounds")
    values = attribute.values if isinstance(attribute, DenseArrayAttribute) else ()
    return tuple([axis for axis, value in enumerate(values) if value])


def check_inbounds(sanitizer: Sanitizer, access: Access, axes: tuple[int, ...]) -> None:
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
        wanted = view.shape[axis]
        if inside == wanted:
            continue
        element = [0] * len(view.shape)
        element[axis] = first
        mnemonic = access.operation.declaration.mnemonic
        title = f"{mnemonic} promises inbounds in dimension {axis}, and the tile reaches outside of the tensor"
        details = [
            f"{inside} of the tile's {several(wanted, 'position')} along dimension {axis} are inside: "
            f"the tensor has {view.extents[axis]} there"
        ]
        hint = "nothing is padded or left out where inbounds promises that nothing needs to be: drop it, or guard"
        place = Place(access.operation, access.block.id, tuple(element))
        sanitizer.add(Finding("inbounds", title, place, details, hint))
