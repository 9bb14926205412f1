"""Aliases for locations and debug information (docs/printing.md section 8)."""

from __future__ import annotations

from tileir.dialect.attributes import DebugScope, children, definition
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.location import Location, resolved


class Aliases:
    """Collects the locations of a program in print order, numbers them, and spells them."""

    __slots__ = ("_depths", "_order", "names")

    def __init__(self, root: Operation, contents_only: bool = False) -> None:
        self._depths: dict[Attribute, int] = {}
        self._order: list[Attribute] = []
        self.names: dict[Attribute, str] = {}
        if not contents_only:
            self._visit(resolved(root.location))
        self._visit_contents(root)
        self._number()

    def _visit_contents(self, operation: Operation) -> None:
        for index, region in enumerate(operation.regions):
            for block in region.blocks:
                last = block.last
                omitted = last if self._is_implied(operation, index, last) else None
                cursor = block.first
                while cursor is not None:
                    if cursor is not omitted:
                        self._visit(resolved(cursor.location))
                        if cursor.regions:
                            self._visit_contents(cursor)
                    cursor = cursor.next

    def _is_implied(self, parent: Operation, index: int, last: Operation | None) -> bool:
        """A terminator that is not printed has no location to print either."""
        declared = parent.declaration.regions
        if last is None or last.operands or index >= len(declared):
            return False
        implied = declared[index].implicit_terminator
        return last.name == implied and parent.name in ("cuda_tile.if", "cuda_tile.for", "cuda_tile.loop")

    def _visit(self, attribute: Attribute) -> int:
        """Note an attribute and what it contains; its depth is one more than the deepest of those."""
        known = self._depths.get(attribute)
        if known is not None:
            return known
        self._order.append(attribute)
        self._depths[attribute] = 1
        depth = 1
        for child in children(attribute):
            inner = resolved(child) if isinstance(child, Location) else child
            depth = max(depth, 1 + self._visit(inner))
        self._depths[attribute] = depth
        return depth

    def _number(self) -> None:
        counts: dict[str, int] = {}
        self._order = [a for a in self._order if isinstance(a, (Location, DebugScope))]
        self._order.sort(key=self._sort_key)
        for attribute in self._order:
            stem = _stem(attribute)
            count = counts.get(stem, 0)
            counts[stem] = count + 1
            self.names[attribute] = f"#{stem}{count if count else ''}"

    def _sort_key(self, attribute: Attribute) -> tuple[int, str]:
        return self._depths[attribute], _stem(attribute)

    def use(self, location: Location) -> str:
        return self.names[resolved(location)]

    def definitions(self) -> str:
        """One line per alias."""
        lines = [f"{self.names[a]} = {definition(a, self.names)}\n" for a in self._order]
        return "".join(lines)


def _stem(attribute: Attribute) -> str:
    return attribute.stem if isinstance(attribute, DebugScope) else "loc"
