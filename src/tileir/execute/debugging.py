"""Looking into a launch: the trace of one tile block, a callback for each operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from tileir.dialect.ops import ENTRY, REDUCE, SCAN
from tileir.dialect.types import PointerType, TileType
from tileir.execute.errors import BlockId
from tileir.execute.observer import Access, Observer, TileBlock
from tileir.execute.sanitizer.report import Names, Spelling
from tileir.execute.script import Script
from tileir.execute.script_trace import ScriptTrace
from tileir.execute.wording import several, spelled_number
from tileir.ir.core import Operation
from tileir.ir.diagnostics import source_of
from tileir.ir.quoting import harmless_line
from tileir.ir.traits import TOKEN_ORDERED
from tileir.ir.values import Value

_FIRST_ELEMENTS = 6
_REDUCTIONS = (REDUCE, SCAN)


class Callback(Observer):
    """Calls a function after each operation: `function(operation, block, operands, results)`.

    Of an operation with regions, the operations inside come first.  One that a `break`, `continue` or `return` ended is
    left out.
    """

    def __init__(self, function: Callable[[Operation, TileBlock, list[Any], list[Any]], object]) -> None:
        self._function: Callable[[Operation, TileBlock, list[Any], list[Any]], object] = function
        self._operands: dict[tuple[int, Operation], list[Any]] = {}

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        self._operands[block.number, operation] = operands

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        self._function(operation, block, self._operands.pop((block.number, operation), []), results)

    def block_finished(self, block: TileBlock) -> None:
        for key in [key for key in self._operands if key[0] == block.number]:
            del self._operands[key]


class Trace(Observer):
    """Writes each value that one tile block computes.

    A program that comes from a script is told as the script has it: by statements, with the script's variables and
    tiles as NumPy prints them.  One that was written as text, or whose script is not at hand, and any with
    `names="tile"`, by operations: name, type, range and mean, first elements.
    """

    def __init__(self, block: BlockId, write: Callable[[str], object], names: Names = "script") -> None:
        self.block: BlockId = block
        self._write: Callable[[str], object] = write
        self._spelling: Spelling = Spelling()
        self._script: Script | None = Script() if names == "script" else None
        self._told: ScriptTrace | None = None
        self._is_begun: bool = False

    def block_started(self, block: TileBlock) -> None:
        if block.id == self.block:
            self._write(f"tile block ({', '.join([str(number) for number in block.id])})\n")
            self._is_begun = False

    def access(self, access: Access) -> None:
        if self._told is not None and access.block.id == self.block:
            self._told.access(access)

    def watches(self, operation: Operation) -> bool:
        # The body of a reduction runs on slices: its values are no tiles of the program.
        parent = operation.parent_operation
        while parent is not None:
            if parent.declaration in _REDUCTIONS:
                return False
            parent = parent.parent_operation
        return True

    def _begin(self, operation: Operation) -> None:
        self._is_begun = True
        self._told = None
        if self._script is not None and source_of(operation.location) is None and self._script.has(operation):
            self._told = ScriptTrace(self._script, self._write)
            self._told.begin(operation)

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        if block.id != self.block:
            return
        if not self._is_begun:
            self._begin(operation)
        if self._told is not None:
            self._told.before(operation, operands)
            return
        if operation.declaration in _REDUCTIONS:
            return
        if operation.regions or operation.declaration.is_terminator:
            self._line(operation, self._spelling.source(operation))

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        if block.id != self.block or operation.declaration.is_terminator:
            return
        if self._told is not None:
            self._told.after(operation, results)
            return
        mnemonic = operation.declaration.mnemonic
        shown = False
        for value, content in zip(operation.results, results, strict=True):
            if content is None or not isinstance(content, (numpy.ndarray, numpy.generic)):
                continue
            shown = True
            self._line(operation, f"{self._spelling.value(value)} = {mnemonic}  {described(value, content)}")
        # What only does something, as a store, is shown as the program has it.
        if not shown and not operation.regions and operation.declaration.has_trait(TOKEN_ORDERED):
            self._line(operation, self._spelling.source(operation))

    def _line(self, operation: Operation, text: str) -> None:
        depth = 1
        parent = operation.parent_operation
        while parent is not None and parent.declaration is not ENTRY:
            depth += 1
            parent = parent.parent_operation
        self._write(f"{'  ' * depth}{harmless_line(text)}\n")


def described(value: Value, content: Any) -> str:
    """One line about a value: `tile<8xi32>  min 0, max 7, mean 3.5  [0, 1, 2, 3, 4, 5, ..]`."""
    array = numpy.asarray(content)
    pointer = isinstance(value.type, TileType) and isinstance(value.type.element, PointerType)
    show: Callable[[Any], str] = _address if pointer else spelled_number
    text = value.type.spelling
    flat = array.reshape(-1)
    if flat.size == 1:
        return f"{text}  {show(flat[0])}"
    if pointer:
        return f"{text}  from {show(flat.min())} to {show(flat.max())}"
    first = ", ".join([show(element) for element in flat[:_FIRST_ELEMENTS]])
    elements = f"[{first}{', ..' if flat.size > _FIRST_ELEMENTS else ''}]"
    wide = flat.astype(numpy.float64)
    usable = wide[~numpy.isnan(wide)]
    parts = []
    if usable.size:
        with numpy.errstate(all="ignore"):
            low, high, mean = (spelled_number(number) for number in (usable.min(), usable.max(), usable.mean()))
        parts.append(f"min {low}, max {high}, mean {mean}")
    if usable.size < flat.size:
        parts.append(several(flat.size - usable.size, "NaN"))
    return f"{text}  {', '.join(parts)}  {elements}"


def _address(value: Any) -> str:
    return f"{int(value):#x}"
