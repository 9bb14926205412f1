"""The operations and values of a kernel by number, with their names and lines.

Operations are counted from 0 in the order in which they are printed, those inside an operation after it.  Values: the
parameters, then for each operation its results and the arguments of the blocks inside it.  Everything that speaks of a
recorded launch uses these numbers, and they depend on nothing but the program.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final, cast

from tileir.dialect.ops import REDUCE, SCAN
from tileir.execute.argument_names import ArgumentNames
from tileir.execute.sanitizer.report import Spelling
from tileir.execute.script import Script
from tileir.ir.core import Operation
from tileir.ir.diagnostics import position_of, source_of
from tileir.ir.values import OperationResult, Value
from tileir.text.listing import PrintedLines, printed_lines
from tileir.text.names import Naming

_LONGEST_LINE: Final = 2000
"""Constants may be long; nobody reads so much of one in a line."""


_PACK: Final = re.compile(r"%([\w$.-]+)\s*:\s*\d+\s*=\s*$")
"""Several results under one name."""


class ScriptLine:
    """Where an operation comes from: the line of a script, or of the text of the program."""

    __slots__ = ("file", "line", "text")

    def __init__(self, file: str, line: int, text: str) -> None:
        self.file: str = file
        self.line: int = line
        self.text: str = text


class NumberedProgram:
    """A kernel whose operations and values have numbers."""

    def __init__(self, entry: Operation) -> None:
        self.entry: Operation = entry
        self.operations: list[Operation] = []
        self.values: list[Value] = list(entry.regions[0].blocks[0].arguments)
        self.depths: list[int] = []
        """How many operations of the kernel each one is nested in."""
        self.in_reductions: set[Operation] = set()
        """What is in the body of a `reduce` or `scan`, which runs on slices: these are no steps of a tile block."""
        for operation in entry.walk():
            if operation is entry:
                continue
            self.operations.append(operation)
            parent = operation.parent_operation
            if parent is not None and (parent.declaration in (REDUCE, SCAN) or parent in self.in_reductions):
                self.in_reductions.add(operation)
            self.values.extend(operation.results)
            for region in operation.regions:
                for block in region.blocks:
                    self.values.extend(block.arguments)
        self.operation_numbers: dict[Operation, int] = {one: number for number, one in enumerate(self.operations)}
        self.value_numbers: dict[Value, int] = {one: number for number, one in enumerate(self.values)}
        depth_of: dict[Operation, int] = {entry: -1}
        for operation in self.operations:
            parent = operation.parent_operation
            depth = depth_of[operation] = depth_of.get(parent, -1) + 1 if parent is not None else 0
            self.depths.append(depth)
        self._spelling: Spelling = Spelling()
        self._script: Script = Script()

    @property
    def module(self) -> Operation:
        """The module that the kernel is in."""
        top = self.entry
        while top.parent_operation is not None:
            top = top.parent_operation
        return top

    # --- text ---

    @cached_property
    def _placed(self) -> PrintedLines:
        return printed_lines(self.module)

    @property
    def lines(self) -> list[str]:
        """The program as it is printed."""
        return self._placed.lines

    @cached_property
    def line_numbers(self) -> list[int]:
        """For each operation the line it begins in; for a terminator that is not printed, the line of the brace."""
        starts = dict(self._placed.starts)
        for line, operations in enumerate(self._placed.operations):
            for operation in operations:
                starts.setdefault(operation, line)
        return [starts[operation] for operation in self.operations]

    def is_printed(self, number: int) -> bool:
        """Whether an operation has a line; a terminator that follows from the others has none."""
        return self.operations[number] in self._placed.starts

    def text(self, number: int) -> str:
        """The line of an operation, without indentation."""
        operation = self.operations[number]
        if not self.is_printed(number):
            return operation.declaration.mnemonic
        text = self.lines[self.line_numbers[number]].strip()
        return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]} .."

    @cached_property
    def _names(self) -> dict[Value, str]:
        naming = Naming(False)
        naming.name_regions(self.module)
        return naming.names

    def name(self, number: int) -> str:
        """A value as the printed program calls it."""
        return self._names.get(self.values[number], "%?")

    @property
    def parameter_names(self) -> list[str]:
        """What the author calls the parameters, where the text that the program was read from is at hand; else as they
        are printed, without the sign before."""
        count = len(self.entry.regions[0].blocks[0].arguments)
        return [self.script_name(number) or self.name(number).removeprefix("%") for number in range(count)]

    # --- the author's script ---

    def script_line(self, number: int) -> ScriptLine | None:
        """The line that an operation comes from, where it is at hand."""
        operation = self.operations[number]
        source = source_of(operation.location)
        if source is not None:
            position = position_of(operation.location)
            if position is None:
                return None
            text, _ = source.excerpt(position.line, position.column)
            return ScriptLine(position.file, position.line, text.strip()[:_LONGEST_LINE])
        expression = self._script.expression(operation)
        if expression is None:
            return None
        return ScriptLine(expression.file, expression.line, expression.statement.text)

    def script_name(self, number: int) -> str | None:
        """What the author calls a value: a variable of the script, or the name in the text the program was read from.

        None where no source is at hand.
        """
        value = self.values[number]
        owner = value.defining_operation
        if owner is None:
            return self._argument_names.get(value)
        source = source_of(owner.location)
        if source is None:
            return self._script.label(owner) or None
        position = position_of(owner.location)
        if position is None:
            return None
        text, column = source.excerpt(position.line, position.column)
        pack = _PACK.search(text[: column - 1])
        if pack is not None:
            return f"{pack[1]}#{owner.results.index(cast(OperationResult, value))}"
        return self._spelling.value(value).removeprefix("%")

    @cached_property
    def _argument_names(self) -> dict[Value, str]:
        """The names that a text gives to parameters, and to the arguments of loops."""
        found: dict[Value, str] = {}
        written = ArgumentNames()
        for operation in [self.entry, *self.operations]:
            names = written.of(operation)
            if names:
                found.update(zip(operation.regions[0].block.arguments, names, strict=True))
        return found
