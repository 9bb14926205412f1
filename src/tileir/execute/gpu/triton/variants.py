"""From the arguments of a launch to the kind of launch it is, for which there is code of its own.

Pointers and integers that are multiples of 16 make vector loads, TMA reads views that it can serve, and offsets into
small arrays take 32 bits.  So that few codes are made, an integer in no view counts only as a multiple of 16 or not,
and extents along which elements are not contiguous do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tileir.dialect.types import PointerType, TileType
from tileir.execute.cache.code_cache import default_cache
from tileir.execute.gpu.triton.code import LaunchValue, LaunchView, Specialization, arguments_of, evaluate
from tileir.execute.gpu.triton.stored_code import as_tuples, structure_key
from tileir.ir.core import Operation
from tileir.ir.types import IntegerType, Type

_ALIGNMENT: Final = 16  # Bytes, of addresses and strides that the tensor memory accelerator takes.
_POINTER_DIVISORS: Final = (16, 8, 4, 2)
_VIEW_DIVISORS: Final = (16, 8, 4)
_NARROWEST: Final = 32
_MOST_RANK: Final = 5
_MOST_EXTENT: Final = 1 << 30
"""Coordinates of the tensor memory accelerator are signed numbers of 32 bits, those of tiles outside too."""
_MOST_STRIDE: Final = 1 << 40
_SHORT: Final = 1 << 31
_UNIT: Final = ("constant", 1)


class Classifier:
    """Divides the launches of a kernel into kinds."""

    def __init__(self, types: Sequence[Type], views: Sequence[LaunchView]) -> None:
        self._views: Final = [(number, view) for number, view in enumerate(views) if view.is_known]
        of_views = {number for _, view in self._views for value in _values(view) for number in arguments_of(value)}
        along = {number for _, view in self._views for value in _along(view) for number in arguments_of(value)}
        self._divisors: Final[list[tuple[int, ...]]] = []
        self._widths: Final[list[int]] = []  # Of integers, their bits; 0 for others.
        parts: list[str] = []
        for number, type in enumerate(types):
            element = type.element if isinstance(type, TileType) else None
            width = element.width if isinstance(element, IntegerType) else 0
            self._widths.append(width)
            if isinstance(element, PointerType):
                divisors: tuple[int, ...] = _POINTER_DIVISORS
            elif width >= _NARROWEST:
                divisors = _VIEW_DIVISORS if number in along else () if number in of_views else (_ALIGNMENT,)
            else:
                divisors = ()
            self._divisors.append(divisors)
            is_whole = number in of_views and divisors is not _POINTER_DIVISORS
            parts.append("{a}" if is_whole else "{a} & 15" if divisors else "")
        self.parts: Final = tuple(parts)
        """What of each argument decides on the kind of a launch (`GpuLauncher.key_parts`)."""

    def signed(self, values: Sequence[Any]) -> list[int]:
        """The arguments of a launch as numbers: integers with their sign, pointers as addresses, 0 for others."""
        found = []
        for value, width, divisors in zip(values, self._widths, self._divisors, strict=True):
            number = int(value) if width or divisors is _POINTER_DIVISORS else 0
            found.append(number - (1 << width) if width and number >> (width - 1) == 1 else number)
        return found

    def specialization(self, values: Sequence[Any], is_described: bool = True) -> Specialization:
        """The kind of a launch; `is_described`: whether descriptors can be had at all."""
        numbers = self.signed(values)
        divisors = [
            next((divisor for divisor in known if number % divisor == 0), 1)
            for number, known in zip(numbers, self._divisors, strict=True)
        ]
        described = [n for n, view in self._views if is_described and _is_described(view, numbers)]
        short = [n for n, view in self._views if _is_short(view, numbers)]
        return Specialization(tuple(divisors), frozenset(described), frozenset(short))

    def usual(self, has_tma: bool) -> Specialization:
        """The kind of most launches: everything is aligned, and nothing too large."""
        divisors = tuple([known[0] if known else 1 for known in self._divisors])
        known = frozenset([number for number, _ in self._views])
        described = frozenset([number for number, view in self._views if has_tma and _can_be_described(view)])
        return Specialization(divisors, described, known)


def coarser(kind: Specialization) -> Specialization:
    """A kind that more launches are of: of what is divided by less than 16 nothing is known."""
    return kind._replace(divisors=tuple([divisor if divisor == _ALIGNMENT else 1 for divisor in kind.divisors]))


def general(parameters: int) -> Specialization:
    return Specialization((1,) * parameters)


def _values(view: LaunchView) -> list[LaunchValue]:
    return [value for value in (view.base, *view.shape, *view.strides) if value is not None]


def _along(view: LaunchView) -> list[LaunchValue]:
    """What decides how many elements are loaded at once: the address, strides, and how many are beside each other."""
    shape = [view.shape[unit_dimension(view.strides)]] if _UNIT in view.strides else view.shape
    return [value for value in (view.base, *shape, *view.strides) if value is not None]


def _can_be_described(view: LaunchView) -> bool:
    return 1 <= len(view.shape) <= _MOST_RANK and _UNIT in view.strides


def _is_described(view: LaunchView, numbers: list[int]) -> bool:
    """Whether the tensor memory accelerator can serve a view."""
    if not _can_be_described(view):
        return False
    try:
        base, shape, strides = _evaluated(view, numbers)
    except OverflowError:
        return False
    unit = unit_dimension(view.strides)
    if base <= 0 or base % _ALIGNMENT or not all(0 < extent <= _MOST_EXTENT for extent in shape):
        return False
    # Rows are cut off at multiples of 16 bytes when tiles are stored: an H200 writes beyond the last element of others.
    if shape[unit] * view.element_bytes % _ALIGNMENT:
        return False
    for axis, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
        step = stride * view.element_bytes
        # Where there is one element, nothing is ever a step away from it.
        if axis != unit and extent > 1 and (step % _ALIGNMENT or not 0 < step < _MOST_STRIDE):
            return False
    return True


def unit_dimension(strides: Sequence[LaunchValue | None]) -> int:
    """The dimension whose elements are beside each other: the last one with a stride of 1."""
    return max(axis for axis, stride in enumerate(strides) if stride == _UNIT)


def _is_short(view: LaunchView, numbers: list[int]) -> bool:
    try:
        _, shape, strides = _evaluated(view, numbers)
    except OverflowError:
        return False
    if any(extent < 0 for extent in shape) or any(stride < 0 for stride in strides):
        return False
    last = sum([max(extent - 1, 0) * stride for extent, stride in zip(shape, strides, strict=True)])
    return last < _SHORT and all(number < _SHORT for number in (*shape, *strides))


def _evaluated(view: LaunchView, numbers: list[int]) -> tuple[int, list[int], list[int]]:
    found = [evaluate(value, numbers) for value in _values(view)]
    return found[0], found[1 : 1 + len(view.shape)], found[1 + len(view.shape) :]


def launch_views(entry: Operation) -> list[LaunchView]:
    key = structure_key(entry)
    cache = default_cache()
    known = cache.get(key)
    if known is not None:
        return [LaunchView(*[as_tuples(part) for part in view]) for view in known[1]["views"]]
    # Imported here: a kernel from the cache runs without what compiles it.
    from tileir.execute.gpu.triton.program import Program

    views = Program(entry).views
    cache.put(key, b"", {"views": views})
    return views
