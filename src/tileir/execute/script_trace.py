"""The trace of a tile block as its script has it: statement by statement, with the script's variables."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from typing import Any

import numpy

from tileir.dialect.ops import CONTINUE, FOR, GET_NUM_TILE_BLOCKS, GET_TILE_BLOCK_ID
from tileir.dialect.types import PointerType, TileType
from tileir.execute.observer import Access
from tileir.execute.origins import origin_of_access, slice_in
from tileir.execute.python_source import Expression, Statement
from tileir.execute.script import Script, told_results
from tileir.execute.tile_values import described_tile
from tileir.ir.core import Operation
from tileir.ir.quoting import harmless_line
from tileir.ir.values import Value

_INDENTATION = "  "


class ScriptTrace:
    """What one tile block does, line by line."""

    def __init__(self, script: Script, write: Callable[[str], object]) -> None:
        self._script: Script = script
        self._write: Callable[[str], object] = write
        self._width: int = 0
        # The statements that stand above the next line, outermost call first.
        self._above: list[tuple[str, int, int]] = []
        self._indentation: int = 0
        self._loops: dict[Operation, _Counter] = {}
        self._operands: list[Any] = []
        self._access: Access | None = None
        # The value that was written last: who stores it need not say it again.
        self._last: Value | None = None
        self._last_label: str = ""

    def begin(self, operation: Operation) -> None:
        """The first operation of the tile block is about to run."""
        statements = [expression.statement for expression in self._script.expressions(operation)]
        self._width = max([len(_place(statement)) for statement in statements], default=0) + 2
        self._above = []
        self._loops.clear()

    def before(self, operation: Operation, operands: list[Any]) -> None:
        declaration = operation.declaration
        if declaration.is_loop:
            self._loops[operation] = _Counter(operation, operands)
        if declaration is CONTINUE:
            loop = _loop_around(operation)
            if loop in self._loops:
                self._loops[loop].next()
        self._operands = operands
        self._access = None
        # `for` and `while` stand above what they contain.
        if declaration.is_loop and self._script.path(operation):
            self._head(operation)

    def access(self, access: Access) -> None:
        self._access = access

    def after(self, operation: Operation, results: list[Any]) -> None:
        label = self._script.label(operation)
        access = self._access if self._access is not None and self._access.operation is operation else None
        if label:
            self._head(operation)
            source = f", from {_target(access)}" if access is not None and access.kind == "read" else ""
            for value, content in zip(operation.results, results, strict=True):
                if value in _chosen(operation, self._script.expression(operation)):
                    self._value(f"{label}: ", value, content, source)
                    self._last, self._last_label = value, label
        if access is not None and access.kind != "read" and self._script.expression(operation) is not None:
            self._effect(operation, access)

    # --- lines ---

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

    # --- loops ---

    def _enter_iterations(self, operation: Operation) -> None:
        """Say which iteration it is, when it first has something to show: one after a `break` never has."""
        loops: list[Operation] = []
        loop = _loop_around(operation)
        while loop is not None:
            loops.append(loop)
            loop = _loop_around(loop)
        for loop in reversed(loops):
            counter = self._loops.get(loop)
            if counter is None or counter.is_told:
                continue
            counter.is_told = True
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
        self.is_told: bool = False

    def next(self) -> None:
        self._value += self._step
        self.is_told = False

    def words(self, expression: Expression | None) -> str:
        node = expression.node if expression is not None else None
        if self._is_counted and isinstance(node, ast.For):
            return f"{ast.unparse(node.target)} = {self._value}"
        return f"iteration {self._value}"


def _loop_around(operation: Operation) -> Operation | None:
    parent = operation.parent_operation
    while parent is not None and not parent.declaration.is_loop:
        parent = parent.parent_operation
    return parent


def _chosen(operation: Operation, expression: Expression | None) -> list[Value]:
    """The results to show; of the three numbers of a tile block the one that was asked for."""
    if operation.declaration in (GET_TILE_BLOCK_ID, GET_NUM_TILE_BLOCKS):
        node = expression.node if expression is not None else None
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            axis = node.args[0].value
            if isinstance(axis, int) and 0 <= axis < len(operation.results):
                return [operation.results[axis]]
    return told_results(operation)


def _target(access: Access) -> str:
    """Which elements of which array, as in `y[0:1, 0:10]`."""
    return slice_in(access.block.memory, access, origin_of_access(access.operation))


def _place(statement: Statement) -> str:
    return f"{os.path.basename(statement.file)}:{statement.line}"
