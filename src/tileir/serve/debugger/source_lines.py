"""The lines of a program as its author wrote them, and the operations at which each begins.

A program that was read from a text has the lines of that text; one of a script that is at hand, as cuTile makes it, the
statements of the script; one of another source that is at hand, as C++, its lines; any other the lines of the program
as it is printed.

A statement of a script takes many operations, some of which were moved away.  It *begins* at one for each location that
it was called from: the first of those that are nested most deeply and compute something.  Of C++ only lines are known:
each begins at the first operation in each loop, so that the line of a `for` begins again where its counter is advanced.
"""

from __future__ import annotations

import ast
import linecache
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeVar

import numpy

from tileir.dialect.ops import ASSUME, ASSUME_COND, CONSTANT, FOR, IF, JOIN_TOKENS, LOOP, MAKE_TOKEN
from tileir.execute.dtypes import Array
from tileir.execute.locations.python_source import character_column
from tileir.execute.locations.script import Script
from tileir.execute.locations.source_locations import author_frames, user_location
from tileir.execute.recording.program import NumberedProgram
from tileir.forking import cached_property
from tileir.ir.core import Operation
from tileir.ir.diagnostics import position_of, source_of
from tileir.ir.location import SourceText
from tileir.ir.traversal import ancestors

Key = TypeVar("Key")
Names = Literal["script", "tile"]
Kind = Literal["text", "script", "source", "printed"]

PRINTED: Final = "program.mlir"  # What the program is called where its lines are those it is printed with.

# The results of an operation, up to where its name begins.
_RESULTS: Final = re.compile(r"%[\w$.:#%, -]*=\s*$")

# Nothing that an author would stop at.
_QUIET: Final = frozenset([ASSUME, ASSUME_COND, CONSTANT, JOIN_TOKENS, MAKE_TOKEN])

_LOOPS: Final = (FOR, LOOP)


@dataclass(slots=True)
class SourceLocation:
    """A location in a source: lines and columns are counted from 1."""

    file: str
    line: int
    column: int
    end_line: int  # The last line of the statement; of one with a body, the last line before it.
    text: str  # The line, or the statement on one line.


class SourceLines:
    """The lines of a kernel; operations go by the numbers of the program."""

    def __init__(self, program: NumberedProgram, names: Names = "script") -> None:
        self._program: NumberedProgram = program
        self._script: Script = Script()
        self.kind: Kind = self._kind(names)

    @cached_property
    def _locations(self) -> list[SourceLocation | None]:
        # The body of a reduce or scan is one step with it.
        inner = self._program.in_reductions
        return [None if one in inner else self._written_location(one) for one in self._program.operations]

    def _kind(self, names: Names) -> Kind:
        operations = self._program.operations
        if operations and source_of(operations[0].location) is not None:
            return "text"
        if names == "script" and any(self._script.expression(one) is not None for one in operations):
            return "script"
        lines = map(self._program.script_line, range(len(operations)))
        if names == "script" and any(line is not None for line in lines):
            return "source"
        return "printed"

    def location(self, number: int) -> SourceLocation | None:
        """Where an operation comes from; one that has no location of its own is where the one around it is."""
        operation: Operation | None = self._program.operations[number]
        while operation is not None and operation is not self._program.entry:
            found = self._locations[self._program.operation_numbers[operation]]
            if found is not None:
                return found
            operation = operation.parent_operation
        return self.head

    @cached_property
    def head(self) -> SourceLocation | None:
        """Where the kernel itself begins."""
        entry = self._program.entry
        if self.kind == "text":
            return self._in_text(entry)
        if self.has_frames:
            frames = author_frames(entry.location)
            return SourceLocation(frames[0].file, frames[0].line, 1, frames[0].line, "") if frames else None
        for number, line in enumerate(self._program.lines, 1):
            if f"@{entry.symbol_name}" in line:
                return SourceLocation(PRINTED, number, 1, number, line.strip())
        return None

    def _written_location(self, operation: Operation) -> SourceLocation | None:
        if self.kind == "text":
            return self._in_text(operation)
        if self.kind == "script":
            return self._in_script(operation)
        if self.kind == "source":
            return self._in_source(operation)
        number = self._program.operation_numbers[operation]
        line = self._program.line_numbers[number]
        column = len(self._program.lines[line]) - len(self._program.lines[line].lstrip())
        return SourceLocation(PRINTED, line + 1, column + 1, line + 1, self._program.text(number))

    def _in_text(self, operation: Operation) -> SourceLocation | None:
        source, position = source_of(operation.location), position_of(operation.location)
        if source is None or position is None:
            return None
        text, _ = source.excerpt(position.line, position.column)
        return SourceLocation(position.file, position.line, position.column, position.line, text.strip())

    def _in_script(self, operation: Operation) -> SourceLocation | None:
        expression = self._script.expression(operation)
        if expression is None:
            return None
        statement, node = expression.statement, expression.statement.node
        body = getattr(node, "body", None)
        end = node.end_lineno or node.lineno
        if isinstance(body, list) and body:
            end = max(body[0].lineno - 1, node.lineno)
        column = character_column(statement.text, node.col_offset) + 1
        return SourceLocation(expression.file, node.lineno, column, end, statement.text)

    def _in_source(self, operation: Operation) -> SourceLocation | None:
        position = position_of(user_location(operation.location))
        line = self._program.script_line(self._program.operation_numbers[operation])
        if position is None or line is None:
            return None
        return SourceLocation(line.file, line.line, position.column, line.line, line.text)

    @property
    def has_frames(self) -> bool:
        """Whether locations name the functions of the author that an operation was called through."""
        return self.kind in ("script", "source")

    @cached_property
    def call_depths(self) -> Array:
        """For each operation how many functions of the author are between the kernel and what it is written in."""
        operations = self._program.operations
        if not self.has_frames:
            return numpy.zeros(len(operations), numpy.int64)
        return numpy.array([max(len(author_frames(one.location)) - 1, 0) for one in operations], numpy.int64)

    @cached_property
    def begins(self) -> Array:
        """For each operation whether a line begins at it."""
        found = numpy.zeros(len(self._program.operations), numpy.bool_)
        found[[number for numbers in self._begun.values() for number in numbers]] = True
        return found

    @cached_property
    def _begun(self) -> dict[tuple[str, int], list[int]]:
        """For each line of each file the operations at which it begins."""
        return self._grouped(lambda location: (location.file, location.line))

    def _grouped(self, key: Callable[[SourceLocation], Key | None]) -> dict[Key, list[int]]:
        """The operations at which something begins, by a key of their locations, None for those that are left out."""
        groups: dict[tuple[Key, object], list[int]] = {}
        for number, operation in enumerate(self._program.operations):
            location = self._locations[number]
            of = key(location) if location is not None else None
            if location is None or of is None or self._is_implied(operation, location):
                continue
            # Where the functions of a script were called that it is written in.
            frames = author_frames(operation.location)[1:] if self.has_frames else []
            groups.setdefault((of, tuple([(one.file, one.line) for one in frames])), []).append(number)
        found: dict[Key, list[int]] = {}
        for (of, _), numbers in groups.items():
            found.setdefault(of, []).extend(self._first_ones(numbers))
        return found

    def _is_implied(self, operation: Operation, location: SourceLocation) -> bool:
        """Whether an operation is written nowhere: a terminator that stands where the operation around it does, or
        what a front end adds to the iterations of a `for` loop that is left early."""
        around = operation.parent_operation
        if not operation.declaration.is_terminator:
            # cuTile checks at the location of a loop, after its body, whether the loop was left.
            is_check = operation.declaration is IF and around is not None and around.declaration is FOR
            return self.kind == "script" and is_check and around is not None and around.location == operation.location
        if self.kind == "printed":
            return not self._program.is_printed(self._program.operation_numbers[operation])
        if self.has_frames:
            return True
        other = position_of(around.location) if around is not None else None
        return other is not None and (other.line, other.column) == (location.line, location.column)

    def _first_ones(self, numbers: list[int]) -> list[int]:
        """The first operations of a line, one in each block of operations."""
        if not self.has_frames:
            return numbers[:1]
        program = self._program
        relevant = [one for one in numbers if program.operations[one].declaration not in _QUIET] or numbers
        if self.kind == "source":
            return self._first_in_loops(relevant)
        depth = max([program.depths[one] for one in relevant])
        found: dict[object, int] = {}
        for one in relevant:
            if program.depths[one] == depth:
                found.setdefault(program.operations[one].parent, one)
        return list(found.values())

    def _first_in_loops(self, numbers: list[int]) -> list[int]:
        """The first operation in each loop; not a loop whose body begins with another of them."""
        found: dict[Operation | None, int] = {}
        for number in numbers:
            around = ancestors(self._program.operations[number])
            found.setdefault(next((one for one in around if one.declaration in _LOOPS), None), number)
        bodies = {body: number for body, number in found.items() if body is not None}
        return [one for one in found.values() if bodies.get(self._program.operations[one], -1) != one + 1]

    @cached_property
    def files(self) -> list[str]:
        return list(dict.fromkeys([location.file for location in self._locations if location is not None]))

    def text(self, file: str) -> str | None:
        """The text of a file that may be nowhere else: the printed program, or what the program was parsed from."""
        if self.kind == "printed":
            return "\n".join(self._program.lines) + "\n" if file == PRINTED else None
        if self.kind == "text":
            source: SourceText | None = source_of(self._program.entry.location)
            if source is not None and same_file(source.name, file):
                return "\n" * (source.first_line - 1) + source.text
        return None

    def at(self, file: str, line: int) -> tuple[int, list[int]]:
        """The operations at which a line of a file begins, and which line that is: of a line in a statement that of the
        statement, of one without operations the next that has some, in the same function of a script."""
        own = [(begun, numbers) for (name, begun), numbers in self._begun.items() if same_file(name, file)]
        exact = [numbers for begun, numbers in own if begun == line]
        if exact:
            return line, [number for numbers in exact for number in numbers]
        around = [numbers for (name, inner), numbers in self._bodies.items() if inner == line and same_file(name, file)]
        location = self.location(around[0][0]) if around else None
        if location is not None:
            return location.line, [number for numbers in around for number in numbers]
        for begun, numbers in own:
            location = self._locations[numbers[0]]
            if location is not None and begun < line <= location.end_line:
                return begun, numbers
        later = min([begun for begun, _ in own if begun > line], default=0)
        if self.kind == "script" and function_node(file, line) is not function_node(file, later):
            return 0, []
        return later, [number for begun, numbers in own if begun == later for number in numbers]

    @cached_property
    def _bodies(self) -> dict[tuple[str, int], list[int]]:
        """For each line in the body of a reduce or scan, which is one step, the operation that has the body."""
        program = self._program
        found: dict[tuple[str, int], list[int]] = {}
        for operation in program.operations:
            if operation in program.in_reductions:
                location = self._written_location(operation)
                whole = program.operation_numbers[program.step_operation(operation)]
                numbers = found.setdefault((location.file, location.line), []) if location is not None else [whole]
                if whole not in numbers:
                    numbers.append(whole)
        return found

    def is_in_reduction(self, file: str, line: int) -> bool:
        """Whether a line is one of the body of a reduce or scan, and of nothing else."""
        is_in_body = any(inner == line and same_file(name, file) for name, inner in self._bodies)
        return is_in_body and not self.numbers_at(file, line, line)

    def columns_at(self, file: str, line: int) -> dict[int, list[int]]:
        """For each column of a line at which something begins, the operations at which it does."""

        def column(location: SourceLocation) -> int | None:
            return location.column if location.line == line and same_file(location.file, file) else None

        return dict(sorted(self._grouped(column).items()))

    def at_column(self, file: str, line: int, column: int) -> list[int]:
        """The operations at which something begins that is written at a column of a line; of none, the first."""
        known = self.columns_at(file, line)
        found: list[int] = []
        for begun, numbers in known.items():
            location = self._locations[numbers[0]]
            assert location is not None
            if not found or begun - len(self._results_before(location)) <= column:
                found = numbers
        return found

    def _results_before(self, location: SourceLocation) -> str:
        """The results of an operation as a text has them before it."""
        text = self.text(location.file) if self.kind == "text" else None
        if text is None:
            return ""
        found = _RESULTS.search(text.split("\n")[location.line - 1][: location.column - 1])
        return found[0] if found is not None else ""

    def numbers_at(self, file: str, first: int, last: int) -> list[int]:
        """The lines of a file, from one to another, at which something begins."""
        return sorted({line for name, line in self._begun if first <= line <= last and same_file(name, file)})


def same_file(one: str, other: str) -> bool:
    """Whether two names are of one file; a name without a folder is of any that ends in it."""
    if one == other or os.path.normcase(os.path.abspath(one)) == os.path.normcase(os.path.abspath(other)):
        return True
    if not os.path.dirname(one) or not os.path.dirname(other):
        return os.path.basename(one) == os.path.basename(other)
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def function_node(file: str, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The innermost function around a line of a script."""
    found: ast.FunctionDef | ast.AsyncFunctionDef | None = None
    for node in _functions("".join(linecache.getlines(file))):
        first = min([node.lineno, *[one.lineno for one in node.decorator_list]])
        if first <= line <= (node.end_lineno or first) and (found is None or found.lineno <= node.lineno):
            found = node
    return found


@lru_cache(16)
def _functions(text: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
