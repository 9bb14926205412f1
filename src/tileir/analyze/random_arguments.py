"""Arguments for a program that comes without any: found in the program, and by trying.

Integers are chosen by what they are for: extents of tensors make a few tiles, not always whole
ones, and keep what the program assumes of them.  The launch is then tried in the interpreter (`trial_launches.py`): its
arrays become as large as it reaches, its grid as large as its views have tiles.  All of it follows from the program and
the seed, on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, cast

import numpy

from tileir.analyze.trial_launches import (
    SAME_VALUE,
    Rejected,
    TooSlow,
    TrialObserver,
    dynamic_axes,
    parameter_of,
)
from tileir.dialect import ops
from tileir.dialect.attributes import BoundedAttribute, DivByAttribute
from tileir.dialect.types import DYNAMIC, PointerType, TensorViewType, TileType, TileViewType
from tileir.execute.arguments.argument_text import MARK, LaunchArguments, LaunchDescription
from tileir.execute.dtypes import memory_bytes
from tileir.execute.errors import LaunchError, SearchTimeout, converted
from tileir.execute.launching.kernel import Kernel
from tileir.execute.observing.observer import Observer, Observers
from tileir.execute.sanitizer.sanitizer import Sanitizer
from tileir.ir.core import Operation
from tileir.ir.types import I1, FloatType, IntegerType, Type
from tileir.ir.values import Value

_ATTEMPTS: Final = 6
_TRIALS: Final = 12
"""Trials of one choice of integers, until its arrays are large enough and its grid is small enough."""
_MOST_BYTES: Final = 1 << 24
"""The largest array."""
_MOST_BLOCKS: Final = 24
_MOST_EXTENT: Final = 1 << 14
_UNDEFINED: Final = ("out-of-bounds", "index-space", "inbounds", "assume", "misaligned")
"""Findings with which results mean nothing."""
_ADVICE: Final = f"State a launch in its first line, as in '{MARK} --grid 4 --arg rand:f32:1024 --arg 3'"
_DOUBTFUL: Final = ("assert", "error", "division-by-zero", "index", "shift")
"""Findings that other arguments may avoid."""


def random_launch(entry: Operation, seed: int = 0) -> LaunchArguments:
    """A launch of a kernel with random arguments with which it stays within its arrays.

    Raises `LaunchError` where none is found, with the reason.
    """
    return _Search(entry, seed).found()


_Pick = Callable[[int, int], int]
"""A random number within bounds."""


class _Search:
    def __init__(self, entry: Operation, seed: int) -> None:
        self._kernel: Kernel = Kernel(entry, backend="interpreter")
        self._name: str = entry.symbol_name or ""
        self._seed: int = seed
        self._parameters: list[Value] = list(entry.regions[0].blocks[0].arguments)
        self._roles: dict[Value, Role] = {}
        self._pointees: dict[int, Type] = {}
        for number, parameter in enumerate(self._parameters):
            element = parameter.type.element if isinstance(parameter.type, TileType) else None
            if isinstance(element, PointerType):
                self._pointees[number] = element.pointee
            elif isinstance(element, IntegerType):
                self._roles[parameter] = role_of(parameter)
            elif not isinstance(element, FloatType):
                raise self._failure(f"argument {number} has type {parameter.type.spelling}")
        ids = [operation for operation in entry.walk() if operation.declaration is ops.GET_TILE_BLOCK_ID]
        self._axes: set[int] = {result.index for each in ids for result in each.results if result.has_uses}

    def _failure(self, reason: str) -> LaunchError:
        return LaunchError(f"no random arguments were found for @{self._name}: {reason}. {_ADVICE}")

    def found(self) -> LaunchArguments:
        doubtful: LaunchArguments | None = None
        rejections: list[Rejected] = []
        for attempt in range(_ATTEMPTS):
            source = random.Random(self._seed * _ATTEMPTS + attempt)

            # `random` is the method whose numbers no version of Python changes.
            def pick(low: int, high: int, source: random.Random = source) -> int:
                return low + int(source.random() * (high - low + 1))

            try:
                launch, sound = self._grown(pick, attempt)
            except Rejected as rejected:
                rejections.append(rejected)
                continue
            if sound:
                return launch
            doubtful = doubtful or launch
        if doubtful is not None:
            return doubtful
        failure = self._failure(str(rejections[0]))
        if all(isinstance(each, TooSlow) for each in rejections):
            raise SearchTimeout(failure.message)
        raise failure

    def _chosen(self, pick: _Pick, attempt: int) -> tuple[dict[Value, int], dict[Value, str]]:
        """Integers that are no strides, and the words of floats.  Later attempts choose smaller numbers."""
        numbers: dict[Value, int] = {}
        for parameter, role in self._roles.items():
            if not role.strides or role.used_as_extent:
                numbers[parameter] = _fitting(parameter, role, _number(role, pick, attempt))
        floats: dict[Value, str] = {}
        for number, parameter in enumerate(self._parameters):
            if parameter not in self._roles and number not in self._pointees:
                floats[parameter] = repr(pick(1, 16) * (1 if pick(0, 3) else -1) / 8)
        return numbers, floats

    def _scalars(self, numbers: dict[Value, int], floats: dict[Value, str]) -> dict[Value, str]:
        """The words of all scalars; strides follow from the extents."""
        words = dict(floats)
        for parameter, role in self._roles.items():
            if parameter in numbers:
                words[parameter] = str(numbers[parameter])
            else:
                stride = max([_stride(maker, axis, numbers) for maker, axis in role.strides])
                words[parameter] = str(_fitting(parameter, role, stride))
        return words

    def _grown(self, pick: _Pick, attempt: int) -> tuple[LaunchArguments, bool]:
        numbers, floats = self._chosen(pick, attempt)
        counts = dict.fromkeys(self._pointees, 1)
        grid: list[int] = []
        for _ in range(_TRIALS):
            words = self._words(grid or [1, 1, 1], self._scalars(numbers, floats), counts)
            reach = TrialObserver()
            self._run(words, reach)
            if reach.stray:
                raise Rejected(reach.stray)
            if self._grow(counts, reach):
                continue
            if reach.beyond:
                if max(grid, default=1) == 1:
                    self._extend(numbers, reach)
                else:
                    grid = self._smaller(grid, reach)
                continue
            if not grid:
                grid = self._grid(reach, pick)
                if max(grid) > 1:
                    continue
            return self._judged(words)
        raise Rejected("the more memory it has, the further it reaches")

    def _grow(self, counts: dict[int, int], reach: TrialObserver) -> bool:
        before = dict(counts)
        for number, size in sorted(reach.needed.items()):
            if size > _MOST_BYTES:
                raise Rejected(f"argument {number} would have to have {size} bytes")
            counts[number] = max(counts[number], -(-size // memory_bytes(self._pointees[number])))
        return counts != before

    def _grid(self, reach: TrialObserver, pick: _Pick) -> list[int]:
        """As many blocks as there are tiles, where an axis counts them; else a few."""
        grid = [1, 1, 1]
        for axis in sorted(self._axes):
            free = pick(2, 3)
            if axis not in reach.spaces and reach.views and len(self._axes) == 1:
                free = reach.stored
            grid[axis] = reach.spaces.get(axis, free)
        while grid[0] * grid[1] * grid[2] > _MOST_BLOCKS:
            largest = grid.index(max(grid))
            grid[largest] = -(-grid[largest] // 2)
        return grid

    def _extend(self, numbers: dict[Value, int], reach: TrialObserver) -> None:
        """Make tensors larger where even the first tile block accesses a tile outside of them."""
        grew = False
        for parameter, extent in reach.extents.items():
            if parameter in numbers and numbers[parameter] < extent <= _MOST_EXTENT:
                larger = _fitting(parameter, self._roles[parameter], extent)
                grew |= larger > numbers[parameter]
                numbers[parameter] = larger
        if not grew:
            raise Rejected("it has an index outside of the index space of a view")

    def _smaller(self, grid: list[int], reach: TrialObserver) -> list[int]:
        fewer = [min(extent, reach.spaces.get(axis, extent)) for axis, extent in enumerate(grid)]
        if fewer == grid:
            free = [axis for axis in range(3) if axis not in reach.spaces and grid[axis] > 1]
            fewer[max(free or range(3), key=lambda axis: fewer[axis])] //= 2
        return [max(extent, 1) for extent in fewer]

    def _words(self, grid: list[int], scalars: dict[Value, str], counts: dict[int, int]) -> LaunchDescription:
        words: list[str] = []
        for number, parameter in enumerate(self._parameters):
            pointee = self._pointees.get(number)
            if pointee is None:
                words.append(scalars[parameter])
                continue
            # Integers may be indices, and some floats have no sign.
            signed = isinstance(pointee, FloatType) and not pointee.spelling.endswith("U")
            kind = "signed" if signed else "rand"
            words.append(f"{kind}:{pointee.spelling}:{counts[number]}:{self._seed * 101 + number}")
        used = max([axis for axis in range(3) if grid[axis] > 1], default=0) + 1
        return LaunchDescription(tuple(grid[:used]), words)

    def _run(self, words: LaunchDescription, observer: Observer) -> None:
        arguments = self._apart(words.launch(self._kernel.entry).arguments)
        try:
            self._kernel.launch(words.grid, arguments, observer=observer, output=lambda text: None)
        except Rejected:
            raise
        except Exception as error:
            # What is wrong with this choice need not be wrong with another: no memory for it, an error of the program.
            raise Rejected(converted(error).message) from None

    def _apart(self, arguments: list[Any]) -> list[Any]:
        """The arrays in memory of which most is never touched, so that an address shows which of them it misses."""
        arrays = [value for value in arguments if isinstance(value, numpy.ndarray)]
        if not arrays:
            return arguments
        distance = max(min(_MOST_BYTES, (1 << 30) // len(arrays)), *[array.nbytes for array in arrays], 0)
        space = numpy.empty(distance * (len(arrays) + 1) + 4096, numpy.uint8)
        start = -int(space.ctypes.data) % 4096
        found: list[Any] = []
        for value in arguments:
            if isinstance(value, numpy.ndarray):
                copy = space[start : start + value.nbytes].view(value.dtype).reshape(value.shape)
                copy[...] = value
                start += distance + -distance % 4096
                value = copy
            found.append(value)
        return found

    def _judged(self, words: LaunchDescription) -> tuple[LaunchArguments, bool]:
        """The launch, and whether nothing speaks against it."""
        sanitizer = Sanitizer()
        self._run(words, Observers([sanitizer, TrialObserver()]))
        titles = {finding.kind: finding.title for finding in reversed(sanitizer.report.findings)}
        for kind in _UNDEFINED:
            if kind in titles:
                raise Rejected(titles[kind])
        return words.launch(self._kernel.entry), titles.keys().isdisjoint(_DOUBTFUL)


def _number(role: Role, pick: _Pick, attempt: int) -> int:
    """A number for a parameter that is no stride."""
    if role.used_as_extent:
        tile = max(role.tiles, default=8)
        count = pick(1, 3) if attempt < 3 else 1
        # Now and then the last tile is not whole.
        return tile * count - (pick(0, tile // 2) if pick(0, 1) and attempt < 3 else 0)
    if role.loops:
        return pick(1, 6) if attempt < 4 else 1
    if role.compared:
        return pick(48, 200) if attempt < 3 else pick(1, 32)
    return pick(1, 16) if attempt < 4 else 1


def _fitting(parameter: Value, role: Role, number: int) -> int:
    assert isinstance(parameter.type, TileType)
    element = parameter.type.element
    assert isinstance(element, IntegerType)
    if element is I1:
        return number & 1
    most = (1 << (element.width - 1)) - 1
    found = role.allowed(min(number, most))
    return found if found <= most else most - most % role.divisor


def _stride(maker: Operation, axis: int, numbers: dict[Value, int]) -> int:
    """The stride with which the dimensions of a tensor lie one after the other, the last ones closest."""
    extents, strides = tensor_numbers(maker, numbers)
    reach = max([1, *[(stride or 0) * (extent or 64) for stride, extent in zip(strides, extents, strict=True)]])
    for extent, stride in list(zip(extents, strides, strict=True))[:axis:-1]:
        if stride is None:
            reach *= extent or 64
    return reach


# Read from the program alone.  A parameter is followed through operations that hand its value on; of what is computed
# from it, only how it ends is of interest.

_COMPUTED: Final = (ops.ADDI, ops.SUBI, ops.MULI, ops.DIVI, ops.MINI, ops.MAXI)


@dataclass(slots=True, eq=False)
class Role:
    """What is known of an integer parameter."""

    divisor: int = 1
    low: int = 1
    """At least: an extent, a count or a stride of zero shows nothing."""
    high: int | None = None
    tiles: list[int] = field(default_factory=list)
    """The extents of tiles along the dimensions that it is the extent of."""
    used_as_extent: bool = False
    strides: list[tuple[Operation, int]] = field(default_factory=list)
    """The tensors, and the dimensions of them, that it is the stride of."""
    loops: bool = False
    """Whether it is itself the bound of a loop."""
    compared: bool = False

    def allowed(self, number: int) -> int:
        """The nearest number that the program's assumptions allow, if there is one."""
        number = max(number, self.low)
        number += -number % self.divisor
        if self.high is not None and number > self.high:
            number = self.high - self.high % self.divisor
        return number


def role_of(parameter: Value) -> Role:
    """How a kernel uses an integer that it is given."""
    role = Role()
    pending: list[tuple[Value, bool]] = [(parameter, True)]
    seen: set[Value] = {parameter}
    while pending:
        value, itself = pending.pop()
        for user in value.users:
            declaration = user.declaration
            if declaration is ops.ASSUME and itself:
                _assume(role, user)
            elif declaration is ops.MAKE_TENSOR_VIEW:
                _view(role, user, value, itself)
            elif declaration is ops.FOR:
                role.loops |= itself
                role.compared |= not itself
            elif declaration is ops.CMPI:
                role.compared = True
            handed_on = itself and declaration in SAME_VALUE
            if (handed_on or declaration in (*SAME_VALUE, *_COMPUTED)) and user.results[0] not in seen:
                seen.add(user.results[0])
                pending.append((user.results[0], handed_on))
    return role


def _assume(role: Role, operation: Operation) -> None:
    predicate = operation.attributes.get("predicate")
    if isinstance(predicate, DivByAttribute):
        role.divisor = max(role.divisor, predicate.divisor)
    elif isinstance(predicate, BoundedAttribute):
        if predicate.lower is not None:
            role.low = max(role.low, predicate.lower + predicate.strict)
        if predicate.upper is not None:
            high = predicate.upper - predicate.strict
            role.high = high if role.high is None else min(role.high, high)


def _view(role: Role, maker: Operation, value: Value, itself: bool) -> None:
    if not itself:
        role.compared = True
        return
    tensor = cast(TensorViewType, maker.results[0].type)
    for axis, extent in zip(dynamic_axes(tensor.shape), maker.dynamic_shape, strict=True):
        if extent is value:
            role.used_as_extent = True
            role.tiles += tiles_along(maker, axis)
    for axis, stride in zip(dynamic_axes(tensor.strides), maker.dynamic_strides, strict=True):
        if stride is value:
            role.strides.append((maker, axis))


def tiles_along(maker: Operation, axis: int) -> list[int]:
    """The extents of tiles along a dimension of a tensor."""
    found: list[int] = []
    for user in maker.results[0].users:
        type = user.results[0].type if user.results else None
        if not isinstance(type, TileViewType):
            continue
        found += [tile for tile, along in zip(type.tile_shape, type.dim_map, strict=True) if along == axis]
    return found


def tensor_numbers(maker: Operation, numbers: dict[Value, int]) -> tuple[list[int | None], list[int | None]]:
    """The extents and strides of a tensor as far as they are known, given those of parameters."""
    tensor = cast(TensorViewType, maker.results[0].type)

    def known(fixed: tuple[int, ...], group: str) -> list[int | None]:
        given = iter(maker.operand_group(group))
        return [numbers.get(parameter_of(next(given))) if number == DYNAMIC else number for number in fixed]

    return known(tensor.shape, "dynamicShape"), known(tensor.strides, "dynamicStrides")
