"""Whether a launch can be made several times before it counts, and which arrays have to be put back for that."""

from __future__ import annotations

from typing import cast

from tileir.dialect.ops import GET_GLOBAL, INT_TO_PTR
from tileir.execute.analysis.parameters import readers_of, writers_of
from tileir.execute.gpu.output import speech_of
from tileir.ir.attributes import SymbolAttribute
from tileir.ir.core import Operation
from tileir.ir.symbols import lookup_symbol, nearest_symbol_table


class Repeatable:
    """The parameters of a kernel whose launches can be made several times."""

    def __init__(self, entry: Operation) -> None:
        parameters = range(len(entry.regions[0].blocks[0].arguments))
        writers = {number: set(writers_of(entry, number)) for number in parameters}
        self.written: frozenset[int] = frozenset([number for number in parameters if writers[number]])
        """Those through which it may write."""
        self.read: frozenset[int] = frozenset(
            [number for number in parameters if next(readers_of(entry, number), None) is not None]
        )
        """Those through which it may read."""
        self.writers: set[Operation] = {operation for each in writers.values() for operation in each}


def repeatable(entry: Operation) -> Repeatable | None:
    """None if launches have effects that cannot be taken back: what is printed, asserts, global variables, and memory
    that is reached through numbers."""
    if speech_of(entry):
        return None
    found = Repeatable(entry)
    for operation in entry.walk():
        declaration = operation.declaration
        if declaration is INT_TO_PTR or (declaration is GET_GLOBAL and _is_variable(operation)):
            return None
        if declaration.writes is not None and operation not in found.writers:
            return None
    return found


def writes_globals(entry: Operation) -> bool:
    """Whether a kernel uses global variables, which each engine has for itself."""
    return any(each.declaration is GET_GLOBAL and _is_variable(each) for each in entry.walk())


def _is_variable(operation: Operation) -> bool:
    """Whether the global that an operation asks for is no constant."""
    table = nearest_symbol_table(operation)
    name = cast(SymbolAttribute, operation.attribute("name"))
    found = None if table is None else lookup_symbol(table, name.path[-1])
    return found is None or not found.constant
