"""Sets of values by which others are explained: the same ones, in any order and in other element types."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

import numpy

from tileir.execute.dtypes import Array, DType
from tileir.execute.sanitizer.uninitialized import UNWRITTEN_WORDS
from tileir.judging.kernels.comparison import is_inexact, widened
from tileir.judging.kernels.launches import UNWRITTEN_BYTE

_GRAM_BYTES: Final = 4
"""Values of narrow types are compared together with their neighbors: so many bytes at least."""
_MOST_UNKNOWN: Final = 0.2
"""Of neighbors in arrays of narrow types: padding and joints make new ones."""


def information(array: Array) -> float:
    """About how many bits of information the elements of an array hold."""
    if is_constant(array) and array.size > 1:
        return 0.0
    if is_inexact(array.dtype) or array.dtype.kind == "c":
        return 0.75 * 8 * array.nbytes
    if array.size == 1:
        return float(int(array.reshape(-1)[0]).bit_length())
    extent = int(array.max()) - int(array.min())
    return float(array.size * extent.bit_length())


def is_constant(array: Array) -> bool:
    flat = bits_of(array)
    return flat.size == 0 or bool((flat == flat[0]).all())


def bits_of(array: Array) -> Array:
    """Elements as integers of their size; complex ones as two floats."""
    flat = numpy.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(f"f{flat.dtype.itemsize // 2}")
    found: Array = flat.view(f"u{flat.dtype.itemsize}")
    return found


class KnownValues:
    """Values that are known, by which others are explained: the same, in any order and in other element types."""

    def __init__(self, arrays: Sequence[Array] = ()) -> None:
        self._arrays: list[Array] = []
        self._digests: set[bytes] = set()
        self._known: dict[tuple[DType, int], Array] = {}
        self.add(*arrays)

    def add(self, *arrays: Array) -> None:
        for each in arrays:
            digest = _contents(each)
            if digest not in self._digests:
                self._digests.add(digest)
                self._arrays.append(each)
                self._known.clear()

    def has_number(self, value: float) -> bool:
        """Whether a number is trivial, or one of the elements."""
        for dtype in (numpy.dtype("f8"), numpy.dtype("f4")):
            array = numpy.array([value], dtype)
            if is_trivial(array)[0] or numpy.isin(bits_of(array), self._grams(dtype, 1)).all():
                return True
        return False

    def explains(self, array: Array, is_result: bool = False) -> bool:
        """Whether all elements are known, or constants that any program may have."""
        if (array.size > 1 and is_constant(array)) or is_trivial(array).all() or _contents(array) in self._digests:
            return True
        if array.dtype.kind == "c":
            array = numpy.ascontiguousarray(array).view(f"f{array.dtype.itemsize // 2}")
        if not is_inexact(array.dtype) and not is_result:
            # Sizes, indices and masks: what is computed of them is seen in floats.
            return True
        if not self._arrays:
            return False
        count = 2 if not is_inexact(array.dtype) else max(1, _GRAM_BYTES // array.dtype.itemsize)
        if array.size < 16:
            count = 1
        known = self._grams(array.dtype, count)
        if count == 1:
            bits = bits_of(array)[~is_trivial(array)]
            return bool(numpy.isin(numpy.unique(bits), known).all())
        shares = [
            numpy.isin(grams[~trivial], known).mean()
            for grams, trivial in zip(_all_grams(array, count), _all_grams(array, count, trivial=True), strict=True)
            if not trivial.all()
        ]
        return max(shares, default=1.0) >= 1 - _MOST_UNKNOWN

    def _grams(self, dtype: DType, count: int) -> Array:
        key = dtype, count
        if key not in self._known:
            parts: list[Array] = []
            for each in self._arrays:
                cast = _cast(each, dtype)
                if cast is not None:
                    parts += [bits_of(cast)] if count == 1 else list(_all_grams(cast, count))
            self._known[key] = numpy.unique(numpy.concatenate(parts)) if parts else numpy.empty(0, numpy.uint64)
        return self._known[key]


def _contents(array: Array) -> bytes:
    """What an array holds, in whatever shape."""
    key = array.dtype.name.encode() + numpy.ascontiguousarray(array).tobytes()
    return hashlib.blake2b(key, digest_size=16).digest()


def _cast(array: Array, dtype: DType) -> Array | None:
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "c":
        array = numpy.ascontiguousarray(array).view(f"f{array.dtype.itemsize // 2}")
    if is_inexact(array.dtype) and not is_inexact(dtype):
        return None
    with numpy.errstate(all="ignore"):
        found: Array = array.astype(dtype)
    return found


def _all_grams(array: Array, count: int, trivial: bool = False) -> Iterator[Array]:
    """Neighbors along each axis, each group as one integer; or whether one of a group is trivial."""
    shift = 64 // count
    mask = numpy.uint64((1 << shift) - 1)
    bits = (is_trivial(array) if trivial else bits_of(array) & mask).astype(numpy.uint64).reshape(array.shape)
    for view in [bits.reshape(-1)] if bits.ndim < 2 else [bits, bits.reshape(-1)]:
        for axis in range(view.ndim):
            length = view.shape[axis] - count + 1
            if length <= 0:
                continue
            parts = [numpy.take(view, range(step, step + length), axis) for step in range(count)]
            if trivial:
                yield sum(parts[1:], parts[0]).reshape(-1) > 0
                continue
            gram = parts[0]
            for part in parts[1:]:
                gram = (gram << numpy.uint64(shift)) | part
            yield gram.reshape(-1)


def is_trivial(array: Array) -> Array:
    """Elements without information: zero, one, infinities, NaNs, and what unwritten memory holds."""
    flat = numpy.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(f"f{flat.dtype.itemsize // 2}")
    found: Array = _is_unwritten(bits_of(flat))
    if is_inexact(flat.dtype):
        wide = widened(flat)
        found |= ~numpy.isfinite(wide) | (wide == 0) | (numpy.abs(wide) == 1)
    else:
        found |= flat == 0
    return found


def _is_unwritten(bits: Array) -> Array:
    """Elements of memory that was filled when it was allocated (`execute.sanitizer.uninitialized`, `launches`)."""
    size = bits.dtype.itemsize
    if size == 1:
        return numpy.zeros(bits.size, numpy.bool_)
    lanes = bits.view(numpy.uint16).reshape(-1, size // 2)
    filled = numpy.isin(lanes & 0xFF80, [word & 0xFF80 for word in UNWRITTEN_WORDS]).all(axis=1)
    found: Array = filled | (lanes == 0x0101 * UNWRITTEN_BYTE).all(axis=1)
    return found
