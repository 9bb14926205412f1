"""Which operations the instructions of a kernel do the work of, kept while it is emitted for a dump with locations.

Lines are strings that remember operations, wherever emitters move them.  Code that is to run is emitted without any of
this, and has the same text.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tileir.execute.cpu.vector.builder import Builder, Module
from tileir.ir.core import Operation

Operations = tuple[Operation, ...]


class Line(str):
    """A line of LLVM IR, and the operations it does the work of."""

    __slots__ = ("operations",)

    operations: Operations


def _line_for(text: str, operations: Operations) -> str:
    found = Line(text)
    found.operations = operations
    return found


def rewritten(line: str, text: str) -> str:
    """Another text in the place of a line."""
    return _line_for(text, line.operations) if isinstance(line, Line) else text


class ProvenanceModule(Module):
    """A module that remembers the lines of its functions."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []

    def add(self, lines: list[str]) -> None:
        super().add(lines)
        self._lines.extend(lines)

    def operations(self) -> list[Operations]:
        """For each line of the text the operations it does the work of."""
        found: list[Operations] = []
        for line in self._lines:
            # A head has two lines.
            found.extend([line.operations if isinstance(line, Line) else ()] * (line.count("\n") + 1))
        text = self.text()
        before = text.index("\ndefine ") + 1 if not text.startswith("define ") else 0
        found[:0] = [()] * text.count("\n", 0, before)
        found.extend([()] * (text.count("\n") - len(found)))
        return found


class ProvenanceBuilder(Builder):
    """A function being written whose lines remember operations: those that are `present`."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.present: Operations = ()

    def line(self, text: str) -> str:
        return _line_for(text, self.present)

    def emit(self, instruction: str) -> str:
        name = f"%{self.fresh()}"
        self.lines.append(self.line(f"  {name} = {instruction}"))
        return name

    def do(self, instruction: str) -> None:
        self.lines.append(self.line(f"  {instruction}"))

    def label(self, name: str) -> None:
        self.lines.append(self.line(f"{name}:"))

    @contextmanager
    def working_for(self, operations: list[Operation]) -> Iterator[None]:
        """While this is entered, lines are for some operations; for those before, if there are none."""
        before = self.present
        self.present = tuple(operations) or before
        yield
        self.present = before
