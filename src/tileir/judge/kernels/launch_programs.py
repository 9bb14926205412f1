"""The launches of a module as programs that state them, for a reduction: texts with `// tileir: --grid 4 --arg ..`.

In a child in which no foreign code runs.  What was kept may be anything: it is read as bytecode, verified and printed,
and an array is described by its element type and extents.  So what gets out is a program and numbers, or nothing.
"""

from __future__ import annotations

import json
from typing import Any, Final

import numpy

from tileir.dialect.types import PointerType, TileType
from tileir.execute.arguments.argument_text import VALUES, LaunchWords
from tileir.execute.arguments.binding import Pointer
from tileir.execute.dtypes import Array, memory_dtype
from tileir.execute.launching.entries import entries_of, select_entry
from tileir.interface import from_bytecode
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError
from tileir.ir.types import FloatType, Type
from tileir.judge.kernels.launches import KeptLaunch, kept_launch
from tileir.judge.kernels.programs import Kept
from tileir.judge.kernels.values import NotCarried, NotReadable, read_foreign
from tileir.judge.plans import Plan
from tileir.judge.verdicts.work import Work

_MOST_LAUNCHES: Final = 32
_MOST_CHARACTERS: Final = 700_000
"""Of all that is told, as JSON."""
_WAYS: Final = (
    ("signed", "rand"), ("mixed", "mixed"), ("rand", "iota"), ("zeros", "zeros"), ("signed", VALUES), (VALUES, VALUES),
)  # fmt: skip
"""How arrays are made in each attempt: those of floats, and those of integers, which may be indices."""
_MOST_VALUES: Final = 4096
"""Elements of an array that are given one by one."""


def programs_of_launches(kept: Kept, plan: Plan, work: Work) -> list[dict[str, Any]]:
    """Of each launch the kernel, its program, and comments that state the launch, the likeliest first; or `why` not."""
    work.begin("programs")
    found: list[dict[str, Any]] = []
    left = _MOST_CHARACTERS
    for file in list(kept.files)[:_MOST_LAUNCHES]:
        described: dict[str, Any]
        try:
            launch = kept_launch(read_foreign(kept.directory, file, 2 * plan.limits.file_bytes + (1 << 20)))
            described = _described(launch)
        except (NotCarried, NotReadable, TileIRError, ValueError) as error:
            described = {"why": str(error).partition("\n")[0][:1000]}
        size = len(json.dumps(described))
        if size > left:
            described = {"why": "its program is too long"}
        else:
            left -= size
        found.append(described)
    return found


class _TooMany(Exception):
    """An array whose elements are not given one by one."""


def _described(launch: KeptLaunch) -> dict[str, Any]:
    module: Operation = from_bytecode(launch.bytecode)
    entry = select_entry(module, launch.kernel)
    parameters = [parameter.type for parameter in entry.regions[0].blocks[0].arguments]
    arguments = launch.arguments()
    several = len(entries_of(module)) > 1
    grid = launch.grid[: max([1, *[n for n, extent in enumerate(launch.grid, 1) if extent != 1]])]
    comments: list[str] = []
    for way in _WAYS:
        try:
            words = [_word(value, type, way) for value, type in zip(arguments, parameters, strict=True)]
        except _TooMany:
            continue
        comment = LaunchWords(grid, words, launch.kernel if several else None).comment()
        if comment not in comments:
            comments.append(comment)
    return {"kernel": launch.kernel, "program": module.text(debug_info=False), "launches": comments}


def _word(value: object, type: Type, way: tuple[str, str]) -> str:
    """An argument in the words of `tileir run`."""
    if isinstance(value, Pointer):
        if not isinstance(type, TileType) or not isinstance(type.element, PointerType):
            raise NotCarried("an array is given for what is no pointer")
        array: Any = value.array
        return _array_word(array, type.element.pointee, way)
    plain = value.item() if isinstance(value, (numpy.ndarray, numpy.generic)) and value.ndim == 0 else value
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if not isinstance(plain, (int, float)):
        raise NotCarried(f"an argument is neither a number nor an array, but of type {plain.__class__.__name__}")
    return repr(plain)


def _array_word(array: Array, element: Type, way: tuple[str, str]) -> str:
    """The memory of an array from its first element to its last, as one row: parameters beside it say how it lies."""
    size = array.dtype.itemsize
    if memory_dtype(element).itemsize != size or any(stride < 0 or stride % size for stride in array.strides):
        raise NotCarried("an array lies in memory in a way that no words say")
    span = 0
    if array.size:
        span = 1 + sum([(n - 1) * (stride // size) for n, stride in zip(array.shape, array.strides, strict=True)])
    kind = way[0] if isinstance(element, FloatType) else way[1]
    return f"{kind}:{element.spelling}:{span if kind != VALUES else _listed(array, element, span)}"


def _listed(array: Array, element: Type, span: int) -> str:
    # What has no dtype is patterns of bits.
    has_dtype = isinstance(element, FloatType) == (array.dtype.kind not in "biu")
    if not 0 < span <= _MOST_VALUES or not has_dtype:
        raise _TooMany
    row = numpy.lib.stride_tricks.as_strided(array, (span,), (array.dtype.itemsize,))
    plain: list[object] = row.astype(numpy.float64 if isinstance(element, FloatType) else numpy.int64).tolist()
    return ",".join([repr(value) for value in plain])
