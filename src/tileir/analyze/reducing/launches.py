"""The launch of a program that is being reduced: arguments go with their parameters, and change with their types."""

from __future__ import annotations

from typing import Any

from tileir.analyze.reducing.program import Program
from tileir.dialect.types import PointerType, TileType
from tileir.execute.arguments.argument_text import LaunchWords, specification
from tileir.execute.launching.entries import entries_of
from tileir.ir.core import Operation
from tileir.ir.types import Type


def launch_words(original: LaunchWords, program: Program) -> LaunchWords | None:
    """The launch of a candidate in words; None if the kernel is gone."""
    entry = launched_entry(original, program)
    if entry is None:
        return None
    name = entry.symbol_name or ""
    numbers = program.origins[name].parameters
    parameters = entry.regions[0].blocks[0].arguments
    words: list[str] = []
    for parameter, number in zip(parameters, numbers, strict=True):
        if number < len(original.arguments):
            words.append(_fitting(original.arguments[number], parameter.type))
    grid = original.grid if program.grid is None else program.grid
    return LaunchWords(grid, words, None if original.entry is None else name)


def launched_entry(original: LaunchWords, program: Program) -> Operation | None:
    """The kernel that a launch was for: the only one, or the one that had the name."""
    entries = entries_of(program.module)
    if original.entry is None:
        return next(iter(entries.values())) if len(entries) == 1 else None
    for name, entry in entries.items():
        if name in program.origins and program.origins[name].name == original.entry:
            return entry
    return None


def arguments_of(words: LaunchWords, entry: Operation) -> list[Any]:
    """The arguments of a launch; arrays from files become what the parameters point to."""
    import numpy

    from tileir.execute.dtypes import value_dtype

    launch = words.launch(entry)
    found = launch.copies()
    for index, (value, parameter) in enumerate(zip(found, entry.regions[0].blocks[0].arguments, strict=False)):
        pointee = _pointee(parameter.type)
        if isinstance(value, numpy.ndarray) and pointee is not None and value.dtype != value_dtype(pointee):
            found[index] = value.astype(value_dtype(pointee))
    return found


def _pointee(type: Type) -> Type | None:
    if isinstance(type, TileType) and isinstance(type.element, PointerType):
        return type.element.pointee
    return None


def _fitting(word: str, type: Type) -> str:
    """An argument for a parameter whose type may have changed."""
    described = specification(word)
    pointee = _pointee(type)
    if described is None or pointee is None or described.element is pointee:
        return word
    return described.with_type(pointee.spelling)
