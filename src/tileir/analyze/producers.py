"""Which program may have written a bytecode file that does not name its producer: by the layout of its sections.

The choices of each writer are in docs/reference/bytecode.md section 2.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, NamedTuple

from tileir.bytecode import container as sections
from tileir.bytecode.container import Container
from tileir.bytecode.primitives import PADDING_BYTE, Malformed
from tileir.bytecode.tables import Tables
from tileir.ir import types
from tileir.ir.types import Type


class _Writer(NamedTuple):
    name: str
    order: tuple[int, ...]
    """The sections it can write, in its order."""
    always: frozenset[int]
    """The sections that each of its files has."""
    pads_functions: bool
    """Whether the payload of the function section ends with padding to a multiple of 8."""
    first_types: tuple[Type, ...] = ()
    """The types that each of its files begins with."""
    unused_strings: frozenset[str] = frozenset()
    """Strings that each of its files has and that nothing refers to."""
    sources: str = ""
    """The suffix of the source files that its debug information names."""


_BASIC: Final = frozenset([sections.STRING, sections.FUNCTION, sections.TYPE])
_CUTILE: Final = _BASIC | {sections.CONSTANT, sections.DEBUG}
_FUNCTIONS_FIRST: Final = (
    sections.FUNCTION,
    sections.GLOBAL,
    sections.CONSTANT,
    sections.DEBUG,
    sections.TYPE,
    sections.STRING,
)
_GLOBALS_FIRST: Final = (
    sections.GLOBAL,
    sections.FUNCTION,
    sections.CONSTANT,
    sections.DEBUG,
    sections.TYPE,
    sections.PRODUCER,
    sections.STRING,
)
_TYPES_FIRST: Final = (sections.TYPE, sections.STRING, sections.CONSTANT, sections.FUNCTION)


def _without(order: tuple[int, ...], *left_out: int) -> tuple[int, ...]:
    return tuple([identifier for identifier in order if identifier not in left_out])


# Strings of cutile-rs: it lists the name of each attribute, and each function has these two.
_ATTRIBUTE_NAMES: Final = frozenset(["sym_name", "function_type"])
_WRITERS: Final = (
    _Writer("NVIDIA's library", _GLOBALS_FIRST, _BASIC, True),
    _Writer("tileir", _GLOBALS_FIRST, _BASIC, True),
    _Writer(
        "cutile-rs",
        _without(_GLOBALS_FIRST, sections.DEBUG, sections.PRODUCER),
        _BASIC,
        True,
        unused_strings=_ATTRIBUTE_NAMES,
    ),
    _Writer("cuTile Python", _FUNCTIONS_FIRST, _CUTILE, False, (types.I1, types.I32), sources=".py"),
    _Writer(
        "cuTile.jl", _without(_FUNCTIONS_FIRST, sections.GLOBAL), _CUTILE, False, (types.I1, types.I32), sources=".jl"
    ),
    _Writer("Halide", _TYPES_FIRST, _BASIC, True),
    _Writer("Dawn", _without(_FUNCTIONS_FIRST, sections.GLOBAL, sections.DEBUG), _BASIC, False),
)


def possible_producers(file: Container, sources: list[str]) -> list[str]:
    """The known writers that lay a file out like this; `sources` are the files that its debug information names."""
    fitting = [writer for writer in _WRITERS if _fits(writer, file)]
    by_source = [writer for writer in fitting if writer.sources and _all_end(sources, writer.sources)]
    by_tables = [writer for writer in fitting if writer.first_types or writer.unused_strings]
    return [writer.name for writer in by_source or by_tables or fitting]


def _all_end(sources: list[str], suffix: str) -> bool:
    return bool(sources) and all(source.endswith(suffix) for source in sources)


def _fits(writer: _Writer, file: Container) -> bool:
    found = tuple([section.identifier for section in file.order])
    if not writer.always.issubset(found) or found != tuple([each for each in writer.order if each in found]):
        return False
    functions = file.sections[sections.FUNCTION]
    if writer.pads_functions:
        if (functions.end - functions.start) % 8:
            return False
    elif file.data[functions.end - 1] == PADDING_BYTE:
        return False
    with suppress(Malformed):
        tables = Tables(file)
        strings = {tables.strings.get(index) for index in range(len(tables.strings))}
        first = tuple([tables.types.get(index) for index in range(min(len(writer.first_types), len(tables.types)))])
        return writer.unused_strings.issubset(strings) and first == writer.first_types
    return False
