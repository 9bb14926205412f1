"""`print_tko`: printf with whole tiles.

A conversion applies to each element of its tile.  A tile without dimensions prints as the number alone, others as
nested lists: `[[1, 2], [3, 4]]`.  `%d %i %u %o %x %X %c` take integers (a float is truncated, `%u %o %x %X` read
integers as unsigned), `%e %f %g %a` take floats, `%s` writes whatever the element is, `%p` writes hexadecimal; `%n`
and an expression that a NUL ends write nothing.  Flags, width and precision are C's; the length letters h, l, ll, z, j,
t, L are read and ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, cast

import numpy

from tileir.dialect.types import PointerType
from tileir.execute.dtypes import tf32_numbers
from tileir.execute.errors import LaunchError
from tileir.execute.interpreter.frame import Frame
from tileir.ir.core import Operation
from tileir.ir.floats import FORMATS, to_double
from tileir.ir.types import FNV8E5M3FNU, TF32, FloatType, IntegerType, Type

_CONVERSION = re.compile(
    r"%([-+ #0]*)(\d*)(?:\.(\d*))?(?:hh|h|ll|l|q|j|z|t|L)?(.*?)([diuoxXeEfFgGaAcsSpn%\0])", re.DOTALL
)


def _number(element: Type) -> Callable[[Any], Any]:
    if element is FNV8E5M3FNU:
        form = FORMATS["fnv8E5M3FNU"]
        return lambda value: to_double(form, int(value))
    if element is TF32:
        return lambda value: float(tf32_numbers(value))
    return float if isinstance(element, FloatType) else int


_LONGEST: Final = 65535  # The largest width or precision, in characters; C promises 4095.


def _limited(number: str) -> str:
    if len(number.lstrip("0")) > 5 or int(number or "0") > _LONGEST:
        raise LaunchError(f"'print_tko' requests a field of {number} characters: {_LONGEST} is the most")
    return number


def formatter(flags: str, width: str, precision: str | None, letter: str, element: Type) -> Callable[[Any], str]:
    width, precision = _limited(width), precision and _limited(precision)
    number = _number(element)
    spec = f"%{flags}{width}{'' if precision is None else '.' + (precision or '0')}"
    bits = 64 if isinstance(element, PointerType) else cast("IntegerType | FloatType", element).width
    wide = int(width or 0)
    modulus = 1 << (64 if isinstance(element, FloatType) else bits)
    writers: dict[str, Callable[[Any], str]] = {
        "di": lambda value: (spec + "d") % _whole(value),
        "uoxX": lambda value: (spec + letter.replace("u", "d")) % (_whole(value) % modulus),
        "eEfFgG": lambda value: (spec + letter) % float(value),
        "a": lambda value: float(value).hex().rjust(wide),
        "A": lambda value: float(value).hex().upper().rjust(wide),
        "c": lambda value: chr(_whole(value) & 0xFF).rjust(wide),
        "p": lambda value: f"{_whole(value) & 0xFFFFFFFFFFFFFFFF:#x}".rjust(wide),
        "sS": lambda value: f"%{flags}{width}s" % (f"{value:g}" if isinstance(value, float) else str(value),),
    }
    write = next((writer for letters, writer in writers.items() if letter in letters), lambda value: "")
    return lambda value: write(number(value))


def _whole(value: Any) -> int:
    try:
        return int(value)
    except (OverflowError, ValueError):
        return 0


def nested(elements: Iterable[Any], shape: Sequence[int], write: Callable[[Any], str]) -> str:
    """The elements of a tile, in row-major order, as nested lists."""
    items = [write(element) for element in elements]
    for extent in reversed(shape):
        items = ["[" + ", ".join(items[start : start + extent]) + "]" for start in range(0, len(items), extent)]
    (text,) = items
    return text


def parts_of(text: str, elements: list[Type]) -> list[str | Callable[[Any], str]]:
    """The text as literal parts and writers, one writer per argument in order."""
    parts: list[str | Callable[[Any], str]] = []
    position = 0
    remaining = iter(elements)
    for match in _CONVERSION.finditer(text):
        parts.append(text[position : match.start()])
        position = match.end()
        flags, width, precision, _, letter = match.groups()
        parts.append("%" if letter == "%" else formatter(flags, width, precision, letter, next(remaining)))
    parts.append(text[position:])
    return parts


def text_of(operation: Operation) -> str:
    """What a `print_tko` prints, conversions and all."""
    return operation.str_


def run_print(operation: Operation, frame: Frame) -> None:
    arguments = iter(frame.values_of(operation.args))
    texts: list[str] = []
    for part in frame.program.prepared[operation]:
        value = "" if isinstance(part, str) else next(arguments)
        texts.append(part if isinstance(part, str) else nested(numpy.ravel(value), numpy.shape(value), part))
    frame.block.write("".join(texts))
