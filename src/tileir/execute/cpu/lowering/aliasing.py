"""Whose memory an access can reach, told from the program alone.

A pointer comes from parameters, from globals, from an `alloca`, or from where nobody can tell (memory, an integer, a
loop).  Two accesses are apart if neither is of unknown origin and they have no origin in common.  That two parameters
do not share memory is not known when a kernel is compiled: a launch whose arguments overlap runs a second version, for
which all parameters are one origin.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect.types import PointerType, TileType
from tileir.ir.core import BlockArgument, Operation, Value

Origin = frozenset[object]

UNKNOWN: Final = "unknown"
PARAMETER: Final = "parameter"

_THROUGH: Final = (
    "offset", "broadcast", "reshape", "permute", "extract", "insert", "cat", "select", "assume", "ptr_to_ptr",
    "bitcast", "make_tensor_view", "make_partition_view", "make_strided_view", "make_gather_scatter_view",
)  # fmt: skip


class Origins:
    """The origins of the pointers and views of one kernel; `overlapping` says that parameters may share memory."""

    def __init__(self, entry: Operation, overlapping: bool) -> None:
        self._entry: Operation = entry
        self._overlapping: bool = overlapping
        self._known: dict[Value, Origin] = {}

    def of(self, value: Value) -> Origin:
        """Where the memory behind a pointer, a tile of pointers or a view comes from."""
        found = self._known.get(value)
        if found is None:
            # Not recursive: a chain of offsets may be long.
            chain = [value]
            while chain:
                top = chain[-1]
                missing = [source for source in self._sources(top) if source not in self._known and source not in chain]
                if missing:
                    chain.extend(missing)
                    continue
                chain.pop()
                self._known[top] = self._combined(top)
            found = self._known[value]
        return found

    def _sources(self, value: Value) -> list[Value]:
        operation = value.defining_operation
        if operation is None or operation.declaration.mnemonic not in _THROUGH:
            return []
        return [operand for operand in operation.operands if _leads_to_memory(operand)]

    def _combined(self, value: Value) -> Origin:
        operation = value.defining_operation
        if operation is None:
            assert isinstance(value, BlockArgument)
            if value.block.parent_operation is self._entry:
                return frozenset([PARAMETER if self._overlapping else value])
            return frozenset([UNKNOWN])
        mnemonic = operation.declaration.mnemonic
        if mnemonic in ("get_global", "alloca"):
            return frozenset([operation if mnemonic == "alloca" else str(operation.attributes["name"])])
        sources = self._sources(value)
        if not sources:
            return frozenset([UNKNOWN])
        return frozenset().union(*[self._known.get(source, frozenset([UNKNOWN])) for source in sources])

    def apart(self, first: Origin, second: Origin) -> bool:
        """Whether accesses of these origins never meet."""
        return UNKNOWN not in first and UNKNOWN not in second and not first & second


def _leads_to_memory(value: Value) -> bool:
    if isinstance(value.type, TileType):
        return isinstance(value.type.element, PointerType)
    return True
