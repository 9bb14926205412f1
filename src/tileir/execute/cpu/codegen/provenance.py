"""Which operations the instructions of a kernel do the work of, for a dump with locations.

Lines end in a mark with the numbers of operations, wherever emitters move them.  Code that is to run has no marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.module import Module
from tileir.ir.core import Operation

_MARK: Final = " ;@"


class ProvenanceBuilder(Builder):
    """A function being written whose lines have marks."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._numbers: dict[Operation, int] = {}
        self._mark: str = ""

    def line(self, text: str) -> str:
        return text + self._mark

    def emit(self, instruction: str) -> str:
        return super().emit(instruction + self._mark)

    def do(self, instruction: str) -> None:
        super().do(instruction + self._mark)

    def label(self, name: str) -> None:
        self.lines.append(self.line(f"{name}:"))

    @contextmanager
    def working_for(self, operations: list[Operation]) -> Iterator[None]:
        """While this is entered, lines are for some operations; for those before, if there are none."""
        before = self._mark
        if operations:
            numbers = [str(self._numbers.setdefault(each, len(self._numbers))) for each in operations]
            self._mark = _MARK + ",".join(numbers)
        yield
        self._mark = before

    def unmarked(self, text: str) -> tuple[str, list[tuple[Operation, ...]]]:
        """The text without marks, and for each of its lines the operations."""
        operations = list(self._numbers)
        pairs = [line.partition(_MARK)[::2] for line in text.split("\n")]
        found = [tuple([operations[int(number)] for number in mark.split(",") if number]) for _, mark in pairs]
        return "\n".join([line for line, _ in pairs]), found[:-1]
