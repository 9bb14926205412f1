"""Printed programs line by line: the lines of each operation, and operations as one line each."""

from __future__ import annotations

import re

from tileir.annotations import Final
from tileir.ir.core import Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import ISOLATED
from tileir.ir.values import BlockArgument, Value
from tileir.text.printer import MARK, Printer

_MARKED: Final = re.compile("\0([0-9]+)\0")


class PrintedLines:
    """A text as lines, and for each line the operations it belongs to.

    `starts` has the first line of each operation that is printed; its others are what closes its regions, or stands
    between them.  A terminator that is left out, since there is only one that can be meant, is where its region closes.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.operations: list[list[Operation]] = []
        self.starts: dict[Operation, int] = {}


class _MarkingPrinter(Printer):
    """Leaves a mark where an operation begins."""

    def __init__(self) -> None:
        super().__init__()
        # Every operation gets its mark, those on lines with a template too.
        self.uses_templates = False
        self.printed: list[Operation] = []

    def print_operation(self, operation: Operation) -> None:
        self.out.append(f"{MARK}{len(self.printed)}{MARK}")
        self.printed.append(operation)
        super().print_operation(operation)


def printed_lines(root: Operation, names: dict[Value, str] | None = None) -> PrintedLines:
    """The text of a module, as `str` returns it, by lines; `names` has other names for values."""
    if not root.declaration.traits & ISOLATED:
        raise ValueError(f"the text of '{root.name}' has names from around it")
    printer = _MarkingPrinter()
    printer.naming.name_regions(root)
    if names is not None:
        printer.names.update(names)
    printer.print_operation(root)
    text = printer.text().split("\n")
    printed = set(printer.printed)
    found = PrintedLines()
    # The operation whose lines are indented so far, by indentation: it has the lines that begin no other one.
    around: dict[int, Operation] = {}
    # For each region that is still to be closed the terminators in it that are not printed.
    implied: dict[Operation, list[list[Operation]]] = {}
    for line in text:
        mark = _MARKED.match(line)
        if mark is not None:
            line = line[mark.end() :]
            operation = printer.printed[int(mark[1])]
            found.starts[operation] = len(found.lines)
            around[len(line) - len(line.lstrip(" "))] = operation
            found.operations.append([operation])
            if operation.declaration.is_control_flow:
                implied[operation] = _implied(operation, printed)
        else:
            owner = around.get(len(line) - len(line.lstrip(" ")))
            closing = implied.get(owner) if owner is not None else None
            left_out = closing.pop(0) if closing else []
            found.operations.append(left_out if owner is None else [owner, *left_out])
        found.lines.append(line)
    return found


def _implied(operation: Operation, printed: set[Operation]) -> list[list[Operation]]:
    return [
        [block.last for block in region.blocks if block.last is not None and block.last not in printed]
        for region in operation.regions
        if region.blocks
    ]


class FirstLinePrinter(Printer):
    """Prints the first line of an operation, named as in the text of the whole module.

    Without a module, and for what is not in it, values are numbered as they come up.  The custom forms rely on a sound
    program; `generic` does not.
    """

    def __init__(self, module: Operation | None, generic: bool) -> None:
        super().__init__(generic, lossless=False)
        self.elide = True
        if module is not None:
            self.naming.name_regions(module)

    def first_line(self, operation: Operation) -> str:
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
