"""The trace of one tile block: by statements and variables of the script, or by operations without one."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from typing import Any

import numpy

from tileir.dialect.ops import CONTINUE, ENTRY, FOR, GET_NUM_TILE_BLOCKS, GET_TILE_BLOCK_ID, REDUCE, SCAN
from tileir.dialect.types import PointerType, TileType
from tileir.execute.analysis.pointer_origins import origin_of_access, slice_in
from tileir.execute.dtypes import Array
from tileir.execute.errors import BlockId
from tileir.execute.locations.program_text import Spelling
from tileir.execute.locations.python_source import Expression, Statement
from tileir.execute.locations.script import Script, visible_results
from tileir.execute.locations.wording import DTYPES, parenthesized, python_shape, several, spelled_number
from tileir.execute.observing.observer import Access, Observer, TileBlock
from tileir.execute.sanitizer.report import Names
from tileir.ir.core import Operation
from tileir.ir.diagnostics import source_of
from tileir.ir.quoting import harmless_line
from tileir.ir.traits import TOKEN_ORDERED
from tileir.ir.traversal import ancestors
from tileir.ir.types import FloatType, IntegerType, Type
from tileir.ir.values import Value

_FIRST_ELEMENTS = 6
_REDUCTIONS = (REDUCE, SCAN)


class Trace(Observer):
    """Writes each value that one tile block computes.

    A program that comes from a script is shown by the script's statements, with its variables and tiles as NumPy prints
    them.  A program without its script, and any with `names="tile"`, is shown by operations: name, type, range and
    mean, first elements.
    """

    def __init__(self, block: BlockId, write: Callable[[str], object], names: Names = "script") -> None:
        self.block: BlockId = block
        self._write: Callable[[str], object] = write
        self._spelling: Spelling = Spelling()
        self._script: Script | None = Script() if names == "script" else None
        self._script_trace: ScriptTrace | None = None
        self._is_begun: bool = False

    def block_started(self, block: TileBlock) -> None:
        if block.id == self.block:
            self._write(f"tile block {parenthesized(block.id)}\n")
            self._is_begun = False

    def access(self, access: Access) -> None:
        if self._script_trace is not None and access.block.id == self.block:
            self._script_trace.latest = access

    def watches(self, operation: Operation) -> bool:
        # The body of a reduction runs on slices: its values are no tiles of the program.
        return not any(around.declaration in _REDUCTIONS for around in ancestors(operation))

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        if block.id != self.block:
            return
        if not self._is_begun:
            self._is_begun, self._script_trace = True, None
            if self._script is not None and source_of(operation.location) is None and self._script.has(operation):
                self._script_trace = ScriptTrace(self._script, self._write, operation)
        if self._script_trace is not None:
            self._script_trace.before(operation, operands)
            return
        declaration = operation.declaration
        if declaration not in _REDUCTIONS and (operation.regions or declaration.is_terminator):
            self._line(operation, self._spelling.source(operation))

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        if block.id != self.block or operation.declaration.is_terminator:
            return
        if self._script_trace is not None:
            self._script_trace.after(operation, results)
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
        depth = 1 + [around.declaration for around in ancestors(operation)].index(ENTRY)
        self._write(f"{'  ' * depth}{harmless_line(text)}\n")


def described(value: Value, content: Any) -> str:
    """One line about a value: `tile<8xi32>  min 0, max 7, mean 3.5  [0, 1, 2, 3, 4, 5, ..]`."""
    array = numpy.asarray(content)
    pointer = isinstance(value.type, TileType) and isinstance(value.type.element, PointerType)
    show: Callable[[Any], str] = (lambda number: f"{int(number):#x}") if pointer else spelled_number
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


class ScriptTrace:
    """What one tile block does, line by line."""

    def __init__(self, script: Script, write: Callable[[str], object], first: Operation) -> None:
        """`first` is the first operation of the tile block."""
        self._script: Script = script
        self._write: Callable[[str], object] = write
        statements = [expression.statement for expression in script.expressions(first)]
        self._width: int = max([len(_place(statement)) for statement in statements], default=0) + 2
        # The statements that stand above the next line, outermost call first.
        self._above: list[tuple[str, int, int]] = []
        self._indentation: int = 0
        self._loops: dict[Operation, _Counter] = {}
        self._operands: list[Any] = []
        self.latest: Access | None = None
        self._last: Value | None = None  # The value written last: an operation that stores it does not repeat it.
        self._last_label: str = ""

    def before(self, operation: Operation, operands: list[Any]) -> None:
        declaration = operation.declaration
        if declaration.is_loop:
            self._loops[operation] = _Counter(operation, operands)
        if declaration is CONTINUE:
            loop = _loops_around(operation)[0]
            if loop in self._loops:
                self._loops[loop].next()
        self._operands = operands
        self.latest = None
        # `for` and `while` stand above what they contain.
        if declaration.is_loop and self._script.path(operation):
            self._head(operation)

    def after(self, operation: Operation, results: list[Any]) -> None:
        label = self._script.label(operation)
        access = self.latest if self.latest is not None and self.latest.operation is operation else None
        if label:
            self._head(operation)
            source = f", from {_target(access)}" if access is not None and access.kind == "read" else ""
            for value, content in zip(operation.results, results, strict=True):
                if value in _chosen(operation, self._script.expression(operation)):
                    self._value(f"{label}: ", value, content, source)
                    self._last, self._last_label = value, label
        if access is not None and access.kind != "read" and self._script.expression(operation) is not None:
            self._effect(operation, access)

    def _head(self, operation: Operation) -> None:
        """Write the statements that lead to an operation, as far as they are not above already."""
        self._enter_iterations(operation)
        path = self._statements(operation)
        depth = 0
        is_above = True
        for number, statement in enumerate(path):
            known = (statement.file, statement.line, statement.node.col_offset)
            indentation = depth + statement.depth
            is_above = is_above and number < len(self._above) and self._above[number] == known
            if not is_above:
                del self._above[number:]
                self._above.append(known)
                self._line(f"{_place(statement):{self._width}}", f"{' ' * indentation}{statement.text}")
            depth = indentation + 2
        del self._above[len(path) :]
        self._indentation = depth

    def _statements(self, operation: Operation) -> list[Statement]:
        """Those that lead to an operation; a call and the lambda it calls may be in one."""
        found: list[Statement] = []
        for expression in self._script.path(operation):
            if expression.statement not in found:
                found.append(expression.statement)
        return found

    def _value(self, label: str, value: Value, content: Any, source: str = "") -> None:
        for line in described_tile(label, value.type, content, source):
            self._line(" " * self._width, f"{' ' * self._indentation}{line}")

    def _effect(self, operation: Operation, access: Access) -> None:
        self._head(operation)
        target = _target(access)
        head = (
            f"updates {target}{',' if ',' in target.partition('[')[0] else ''} with"
            if access.kind == "atomic"
            else f"{target} ="
        )
        indices = operation.index if access.view is not None else []
        for value, content in zip(operation.operands, self._operands, strict=True):
            if not isinstance(value.type, TileType) or isinstance(value.type.element, PointerType):
                continue
            if numpy.shape(content) != access.addresses.shape or value in indices:
                continue
            if value is self._last:
                self._line(" " * self._width, f"{' ' * self._indentation}{head} {self._last_label}")
            else:
                self._value(f"{head} ", value, content)
            return
        self._line(" " * self._width, f"{' ' * self._indentation}writes {target}")

    def _line(self, place: str, text: str) -> None:
        self._write(f"{harmless_line(place)}{harmless_line(text)}".rstrip() + "\n")

    def _enter_iterations(self, operation: Operation) -> None:
        """Write the iteration's header before its first output: an iteration after a `break` never has one."""
        for loop in reversed(_loops_around(operation)):
            counter = self._loops.get(loop)
            if counter is None or counter.is_written:
                continue
            counter.is_written = True
            if not self._script.path(loop):
                continue
            expression = self._script.expression(loop)
            self._head(loop)
            self._line(" " * self._width, f"{' ' * self._indentation}{counter.words(expression)}")
            # The statements of the body come again.
            del self._above[len(self._statements(loop)) :]
            self._last = None


class _Counter:
    """The iterations of a loop."""

    def __init__(self, operation: Operation, operands: list[Any]) -> None:
        counted = operation.declaration is FOR
        self._is_counted: bool = counted
        self._value: int = int(operands[0]) if counted else 1
        self._step: int = int(operands[2]) if counted else 1
        self.is_written: bool = False

    def next(self) -> None:
        self._value += self._step
        self.is_written = False

    def words(self, expression: Expression | None) -> str:
        node = expression.node if expression is not None else None
        if self._is_counted and isinstance(node, ast.For):
            return f"{ast.unparse(node.target)} = {self._value}"
        return f"iteration {self._value}"


def _loops_around(operation: Operation) -> list[Operation]:
    return [around for around in ancestors(operation) if around.declaration.is_loop]


def _chosen(operation: Operation, expression: Expression | None) -> list[Value]:
    """The results to show; of the three numbers of a tile block only the one that the expression names."""
    if operation.declaration in (GET_TILE_BLOCK_ID, GET_NUM_TILE_BLOCKS):
        node = expression.node if expression is not None else None
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            axis = node.args[0].value
            if isinstance(axis, int) and 0 <= axis < len(operation.results):
                return [operation.results[axis]]
    return visible_results(operation)


def _target(access: Access) -> str:
    """Which elements of which array, as in `y[0:1, 0:10]`."""
    return slice_in(access.block.memory, access, origin_of_access(access.operation))


def _place(statement: Statement) -> str:
    return f"{os.path.basename(statement.file)}:{statement.line}"


_PRECISION = 4
_LINE_WIDTH = 100
_MOST_ELEMENTS = 32  # Larger ones are shown by their ends.
_FEW = 8  # With more elements than this their range is worth a word.


def described_tile(label: str, type: Type, content: Any, source: str = "") -> list[str]:
    """A tile in lines: `m: float32 (1, 1) [[3.109]]`, or with the range first and the elements below."""
    array = numpy.asarray(content)
    element = type.element if isinstance(type, TileType) else type
    head = f"{label}{DTYPES.get(element.spelling, element.spelling)}"
    if not array.ndim:
        return [f"{head} {_elements(array, element)}{source}"]
    head = f"{head} {python_shape(array.shape)}"
    elements = _elements(array, element).split("\n")
    if array.size <= _FEW and len(elements) == 1:
        return [f"{head} {elements[0]}{source}"]
    return [f"{head}{_range(array)}{source}", *elements]


def _range(array: Array) -> str:
    if array.dtype == numpy.bool_:
        return f", {int(array.sum())} of {array.size} True"
    wide = array.astype(numpy.float64) if array.dtype.kind not in "iu" else array
    usable = wide[~numpy.isnan(wide)]
    parts = []
    if usable.size:
        parts.append(f", min {_number(usable.min())}, max {_number(usable.max())}")
    if usable.size < wide.size:
        parts.append(f", {several(wide.size - usable.size, 'NaN')}")
    return "".join(parts)


def _number(value: Any) -> str:
    """To as many digits as NumPy shows of an element."""
    return str(int(value)) if isinstance(value, numpy.integer) else f"{float(value):.{_PRECISION}g}"


def _elements(array: Array, element: Type) -> str:
    if isinstance(element, IntegerType) and element.width == 1:
        array = array.astype(numpy.bool_)
    elif isinstance(element, FloatType) and array.dtype.itemsize < 4:
        # NumPy prints its own floats in few digits, others' in all.
        array = array.astype(numpy.float32)
    edges = 3 if array.ndim <= 2 else 2 if array.ndim == 3 else 1
    return numpy.array2string(
        array, max_line_width=_LINE_WIDTH, precision=_PRECISION, threshold=_MOST_ELEMENTS, edgeitems=edges
    )
