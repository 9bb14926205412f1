"""Operations as one line each: what stands in their regions is left out."""

from __future__ import annotations

from tileir.ir.core import Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.values import BlockArgument, Value
from tileir.text.printer import Printer


class HeadPrinter(Printer):
    """Prints the first line of an operation, named as in the text of the whole module.

    Without a module, and for what is not in it, values are numbered as they come up.  The custom forms rely on a sound
    program; `generic` does not.
    """

    __slots__ = ()

    def __init__(self, module: Operation | None, generic: bool) -> None:
        super().__init__(generic, lossless=False)
        self.elide = True
        if module is not None:
            self.naming.name_regions(module)

    def head(self, operation: Operation) -> str:
        values: list[Value] = [*operation.operands, *operation.results]
        for region in operation.regions:
            for block in region.blocks:
                values.extend(block.arguments)
        for value in values:
            self.name(value)
        self.out.clear()
        self.print_operation(operation)
        return "".join(self.out).partition("\n")[0].strip()

    def name(self, value: Value) -> str:
        found = self.names.get(value)
        if found is None:
            found = f"%arg{value.index}" if isinstance(value, BlockArgument) else f"%{len(self.names)}"
            self.names[value] = found
        return found

    def print_region(self, region: Region, implied: OperationDeclaration | None = None) -> None:
        self.out.append("{ ... }")

    def print_generic_region(self, region: Region) -> None:
        self.out.append("{ ... }")
