"""What memory a kernel reaches beside its arguments: it decides which launches may run at once."""

from __future__ import annotations

from collections.abc import Mapping

from tileir.dialect.ops import GET_GLOBAL, INT_TO_PTR
from tileir.dialect.types import PointerType, TileType
from tileir.execute.analysis.aliasing import Origins
from tileir.execute.cpu.native.binding import Span
from tileir.execute.memory import Region
from tileir.ir.core import Operation
from tileir.ir.values import Value


class Reach:
    """What a kernel may access beside its arguments, derived from the program."""

    def __init__(self, entry: Operation, globals: Mapping[str, Region]) -> None:
        self.is_known: bool = True
        """False if it makes pointers of numbers or of what is in memory: they may lead anywhere."""
        self.may_leave_arrays: bool = False
        """Whether it writes through pointers, or views that differ from tile block to tile block, which may lead from
        one argument into any other."""
        self.spans: list[Span] = []
        """Global variables."""
        origins = Origins(entry, False)
        for operation in entry.walk():
            declaration = operation.declaration
            if declaration.writes is not None:
                target = operation.operand_group(declaration.writes)[0]
                self.may_leave_arrays = self.may_leave_arrays or not origins.stays_in_array(target)
            if declaration is GET_GLOBAL:
                region = globals[str(operation.attributes["name"]).removeprefix("@")]
                self.spans.append((region.start, region.end, True))
            elif declaration is INT_TO_PTR or (
                declaration.reads is not None and any(map(_has_pointers, operation.results))
            ):
                self.is_known = False


def _has_pointers(value: Value) -> bool:
    type = value.type
    return isinstance(type, TileType) and isinstance(type.element, PointerType)
