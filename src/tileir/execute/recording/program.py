"""The operations and values of a kernel by number, the path of a tile block through them, and what values were.

Numbers depend on the program alone.  Operations count from 0 as they are printed, nested ones after their parent.
Values: the parameters, then for each operation its results and the arguments of its blocks.  A step is one execution of
an operation, counted from 1 in its tile block, when it begins; the bodies of `reduce` and `scan` have no steps.  A path
is the sequence of operations with regions and of terminators: what runs between two of them is always the same.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy

from tileir.dialect.ops import REDUCE, SCAN
from tileir.execute.dtypes import Array
from tileir.execute.locations.program_text import printed_names, written_names
from tileir.execute.locations.script import Script
from tileir.execute.locations.source_locations import source_line, user_location
from tileir.forking import cached_property
from tileir.ir.core import Operation
from tileir.ir.diagnostics import position_of, source_of
from tileir.ir.traversal import ancestors
from tileir.ir.values import Value
from tileir.text.listing import PrintedLines, printed_lines

_LONGEST_LINE: Final = 2000  # Constants may be long, and are cut off in a line.


@dataclass(slots=True, eq=False)
class ScriptLine:
    """Where an operation comes from: the line of a script, or of the text of the program."""

    file: str
    line: int
    text: str


class NumberedProgram:
    def __init__(self, entry: Operation) -> None:
        self.entry: Operation = entry
        self.operations: list[Operation] = []
        self.values: list[Value] = list(entry.regions[0].blocks[0].arguments)
        self.in_reductions: set[Operation] = set()  # In a `reduce` or `scan`: no steps of a tile block.
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
        self.depths: list[int] = [ancestors(operation).index(entry) for operation in self.operations]
        """How many operations of the kernel each one is nested in."""
        self._script: Script = Script()

    def step_operation(self, operation: Operation) -> Operation:
        """The operation that a step executes: of the body of a `reduce` or `scan`, that one."""
        while operation in self.in_reductions and operation.parent_operation is not None:
            operation = operation.parent_operation
        return operation

    @property
    def module(self) -> Operation:
        """The module that the kernel is in."""
        return [self.entry, *ancestors(self.entry)][-1]

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
        return printed_names(self.module)

    @cached_property
    def _written_names(self) -> dict[Value, str]:
        return written_names(self.module)

    def name(self, number: int) -> str:
        """A value as the printed program calls it."""
        return self._names.get(self.values[number], "%?")

    @property
    def parameter_names(self) -> list[str]:
        """The author's names of the parameters if the source text is at hand, else the printed ones without `%`."""
        count = len(self.entry.regions[0].blocks[0].arguments)
        return [self.script_name(number) or self.name(number).removeprefix("%") for number in range(count)]

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
        if expression is not None:
            return ScriptLine(expression.file, expression.line, expression.statement.text)
        # Of a language whose expressions are not known: C++.
        position = position_of(user_location(operation.location))
        if position is None or position.file.endswith(".py"):
            return None
        text = source_line(position).strip()[:_LONGEST_LINE]
        return ScriptLine(position.file, position.line, text) if text else None

    def script_name(self, number: int) -> str | None:
        """The author's name of a value: a variable of the script or a name in the text; None without a source."""
        value = self.values[number]
        written = self._written_names.get(value)
        if written is not None:
            return written.removeprefix("%")
        owner = value.defining_operation
        return self._script.label(owner) or None if owner is not None else None


CHUNK: Final = 1 << 14  # The decisions of a running tile block between checks of their memory.


class ControlFlow:
    """Where control flow decides something, and what runs between."""

    def __init__(self, program: NumberedProgram) -> None:
        self.distances: dict[Operation, int] = {}  # The steps from the last decision in its block.
        self.decisions: dict[Operation, int] = {}  # Where control flow decides something: operation numbers.
        # For each operation what runs from behind the last decision to the next one.
        self._segments: list[list[int]] = [[] for _ in program.operations]
        since: dict[object, list[int]] = {}
        for number, operation in enumerate(program.operations):
            if operation in program.in_reductions:
                continue
            segment = self._segments[number] = since.setdefault(operation.parent, [])
            segment.append(number)
            self.distances[operation] = len(segment)
            if decides(operation):
                self.decisions[operation] = number
                since[operation.parent] = []
        decided = set(self.decisions.values())
        lengths = [len(segment) if number in decided else 0 for number, segment in enumerate(self._segments)]
        self._lengths: Array = numpy.array(lengths, numpy.int64)
        self._starts: Array = numpy.cumsum(self._lengths) - self._lengths
        flat = [one for number in sorted(decided) for one in self._segments[number]]
        self._flat: Array = numpy.array(flat, numpy.int32)

    @property
    def steps(self) -> set[int]:
        """The operations that can be steps of a tile block, by number."""
        return {number for number, segment in enumerate(self._segments) if segment}

    def executed(self, path: Path) -> Array:
        """The operation of each step of a path, by number."""
        decisions = path.decisions()
        lengths = self._lengths[decisions]
        ends = numpy.cumsum(lengths)
        total = int(ends[-1]) if ends.size else 0
        places = numpy.arange(total) + numpy.repeat(self._starts[decisions] - (ends - lengths), lengths)
        steps: Array = self._flat[places]
        rest = self._rest(path)
        return numpy.concatenate((steps, numpy.array(rest, numpy.int32))) if rest else steps

    def count(self, path: Path) -> int:
        """The number of steps of a path."""
        return int(self._lengths[path.decisions()].sum()) + len(self._rest(path))

    def _rest(self, path: Path) -> list[int]:
        if path.last < 0:
            return []
        segment = self._segments[path.last]
        return segment[: segment.index(path.last) + 1]


class Path(NamedTuple):
    """A path: its decisions, many of them compressed; `last` is the operation that a tile block failed in, or -1."""

    data: bytes
    is_compressed: bool
    last: int

    @classmethod
    def of(cls, decisions: Array | array[int], last: int = -1) -> Path:
        """The path of decisions, of four bytes each."""
        data = decisions.tobytes()
        is_long = len(data) > CHUNK
        return cls(zlib.compress(data, 1) if is_long else data, is_long, last)

    def decisions(self) -> Array:
        """The numbers of the operations at which something was decided, in order."""
        return numpy.frombuffer(zlib.decompress(self.data) if self.is_compressed else self.data, numpy.int32)


def decides(operation: Operation) -> bool:
    """Whether control flow decides something at an operation."""
    if operation.declaration.is_terminator:
        return True
    return bool(operation.regions) and operation.declaration is not REDUCE and operation.declaration is not SCAN


_ENTRY_BYTES: Final = 200  # What a value takes beside its elements.


class ValueHistory:
    """What each value was, and at which steps, complete from `first` to `last`.

    With more than `room` bytes the older half is dropped, but never the newest of a value.
    """

    def __init__(self, room: int) -> None:
        self.first: int = 0
        self.last: int = 0
        self.nbytes: int = 0
        self.added: int = 0  # The bytes of all entries, forgotten or not.
        self.is_over: bool = False  # Whether the tile block has come to its end.
        self._room: int = room
        self._entries: dict[int, tuple[list[int], list[Any]]] = {}

    def add(self, value: int, step: int, content: Any) -> None:
        steps, contents = self._entries.setdefault(value, ([], []))
        if steps and steps[-1] == step:
            contents[-1] = content
            return
        steps.append(step)
        contents.append(content)
        self.nbytes += _size(content)
        self.added += _size(content)
        while self.nbytes > self._room and self.first < step:
            # What is older than what values are at the step in the middle.
            self.first = (self.first + step + 1) // 2
            for steps, contents in self._entries.values():
                place = max(bisect_right(steps, self.first) - 1, 0)
                self.nbytes -= sum([_size(content) for content in contents[:place]])
                del steps[:place], contents[:place]

    def holds(self, step: int) -> bool:
        """Whether all values at a step are known."""
        return self.first <= step and (self.is_over or step <= self.last)

    def at(self, value: int, step: int) -> tuple[int, Any] | None:
        """The newest of a value at a step: when it was computed, and what it is; None before there is any."""
        steps, contents = self._entries.get(value, ([], []))
        place = bisect_right(steps, step) - 1
        return (steps[place], contents[place]) if place >= 0 else None

    def steps(self, value: int) -> list[int]:
        """The steps at which a value was computed, of the part that is known."""
        return self._entries.get(value, ([], []))[0]


def _size(content: Any) -> int:
    return _ENTRY_BYTES + int(getattr(content, "nbytes", 0))
