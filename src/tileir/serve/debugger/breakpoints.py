"""Where a launch is to stop: at lines, operations and tile blocks, under conditions, and where something changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, Literal

from tileir.execute.errors import BlockId
from tileir.execute.locations.wording import parenthesized
from tileir.execute.recording.program import NumberedProgram
from tileir.execute.recording.script_variables import StaticValue
from tileir.execute.schedule import block_at
from tileir.ir.registry import REGISTRY
from tileir.ir.traversal import memory_changes
from tileir.ir.values import BlockArgument, Value
from tileir.serve.debugger.evaluation import COMMON_NAMES, ExpressionMistake
from tileir.serve.debugger.expressions import Expression
from tileir.serve.debugger.lines import Lines, SourcePlace
from tileir.serve.debugger.names import ValueNames

Kind = Literal["line", "operation", "block", "value", "element"]
AccessKind = Literal["write", "read", "readWrite"]
"""What is done with something that is watched."""

_HITS: Final = re.compile(r"\s*(==|=|>=|<=|>|<|%)?\s*(\d{1,18})\s*$")
_LOGGED: Final = re.compile(r"\{([^{}]*)\}")


class Breakpoint:
    """One reason to stop.  `is_verified` tells whether it has a place in the program; `message` says where, or why it
    has none."""

    def __init__(self, number: int, kind: Kind, text: str) -> None:
        self.number: int = number
        self.kind: Kind = kind
        self.text: str = text
        """What it was asked for by, as in `matmul.mlir:12`."""
        self.is_verified: bool = False
        self.message: str = ""
        self.place: SourcePlace | None = None
        self.operations: list[int] = []
        """The operations before which it stops; of a change, those that may make it."""
        self.values: list[int] = []
        """Of a change, the values that are looked at."""
        self.element: tuple[int, tuple[int, ...]] | None = None
        """Of a change, an element of an array: the number of the array, and the index."""
        self.access: AccessKind = "write"
        """What is watched for, of an element or a value; a write counts where it changes something."""
        self.block: BlockId | None = None
        """The only tile block that counts."""
        self.condition: Expression | None = None
        self.hit_condition: tuple[str, int] | None = None
        self.log: list[str | Expression] | None = None
        """What is written instead of stopping: texts and expressions."""
        self.is_temporary: bool = False
        self.is_enabled: bool = True
        self.hits: int = 0
        """How often it was hit in the launch up to where the debugger has been."""

    @property
    def is_plain(self) -> bool:
        """Whether it stops whenever one of its operations is next."""
        return self.condition is None and self.hit_condition is None and self.log is None and not self.is_change

    @property
    def is_change(self) -> bool:
        return self.kind in ("value", "element")

    def counts(self, hits: int) -> bool:
        """Whether the hit of a number, counted from 1, is one to stop at."""
        if self.hit_condition is None:
            return True
        sign, number = self.hit_condition
        return {
            "==": hits == number,
            "=": hits == number,
            ">=": hits >= number,
            "<=": hits <= number,
            ">": hits > number,
            "<": hits < number,
            "%": number > 0 and hits % number == 0,
        }[sign]

    def __repr__(self) -> str:
        return f"<Breakpoint {self.number} at {self.text}{'' if self.is_verified else ', not placed'}>"


class Breakpoints:
    """The breakpoints of a launch, by number."""

    def __init__(
        self,
        program: NumberedProgram,
        lines: Lines,
        names: ValueNames,
        grid: BlockId,
        is_known: Callable[[str], bool],
        array_element: Callable[[str], tuple[int, tuple[int, ...]] | None],
    ) -> None:
        self._program: NumberedProgram = program
        self._lines: Lines = lines
        self._names: ValueNames = names
        self._grid: BlockId = grid
        self._is_known: Callable[[str], bool] = is_known
        self._array_element: Callable[[str], tuple[int, tuple[int, ...]] | None] = array_element
        changing = memory_changes(program.entry)
        self._accessing: list[int] = [
            number
            for number, one in enumerate(program.operations)
            if one.declaration.accesses_memory and not one.regions
        ]
        self._writing: list[int] = [number for number in self._accessing if program.operations[number] in changing]
        self._known: dict[int, Breakpoint] = {}
        self._next: int = 1

    def __iter__(self) -> Iterator[Breakpoint]:
        return iter(list(self._known.values()))

    def __len__(self) -> int:
        return len(self._known)

    def __getitem__(self, number: int) -> Breakpoint:
        return self._known[number]

    def __contains__(self, number: object) -> bool:
        return number in self._known

    @property
    def active(self) -> list[Breakpoint]:
        """Those that may be hit."""
        return [one for one in self if one.is_enabled and one.is_verified]

    # --- adding ---

    def add_line(
        self,
        file: str,
        line: int,
        *,
        column: int = 0,
        condition: str = "",
        hit_condition: str = "",
        log: str = "",
        block: str | int | BlockId | None = None,
        temporary: bool = False,
    ) -> Breakpoint:
        """Stop where a line of a file begins; of a line that has no operations, the next one that has.

        With a column, counted from 1, where that begins which is written there.
        """
        found = self._new("line", f"{file}:{line}:{column}" if column else f"{file}:{line}", temporary)
        actual, found.operations = self._lines.at(file, line)
        if column and actual == line:
            found.operations = self._lines.at_column(file, line, column) or found.operations
        if not found.operations:
            files = self._lines.files
            known = "" if file in files else f" (but from {', '.join(files)})"
            found.message = f"no operation of the kernel comes from line {line} of {file}{known}"
            return found
        found.place = self._lines.place(found.operations[0])
        if self._lines.is_in_reduction(file, line):
            whole = self._mnemonic(found.operations[0])
            found.message = f"line {line} is in the body of a {whole}, which is one step: moved to line {actual}"
        elif actual != line:
            found.message = f"line {line} has no operations: moved to line {actual}"
        return self._completed(found, condition, hit_condition, log, block)

    def add_operation(
        self,
        name: str | int,
        *,
        condition: str = "",
        hit_condition: str = "",
        log: str = "",
        block: str | int | BlockId | None = None,
        temporary: bool = False,
    ) -> Breakpoint:
        """Stop before operations: those of a mnemonic ("mmaf"), the one that computes a value ("%12"), or the one of a
        number.  What is in the body of a reduce or scan is no step of its own: it stops before the whole of it."""
        found = self._new("operation", str(name), temporary)
        named = self._named(str(name))
        if not named:
            found.message = f"the kernel has no operation or value {name}"
            return found
        found.operations = list(dict.fromkeys([self._step_of(number) for number in named]))
        found.place = self._lines.place(found.operations[0])
        parts = [f"{len(found.operations)} operations"] if len(found.operations) > 1 else []
        around = sorted({self._mnemonic(self._step_of(number)) for number in named if self._step_of(number) != number})
        if around:
            whole = " or ".join(around)
            parts.append(f"the body of a {whole} is one step, so {name} in it stops before the {whole}")
        found.message = "; ".join(parts)
        return self._completed(found, condition, hit_condition, log, block)

    def add_block(
        self,
        block: str | int | BlockId,
        *,
        condition: str = "",
        hit_condition: str = "",
        log: str = "",
        temporary: bool = False,
    ) -> Breakpoint:
        """Stop where a tile block begins, by number or as x,y,z."""
        found = self._new("block", f"tile block {block}", temporary)
        found.operations = [0] if self._program.operations else []
        found.place = self._lines.head
        return self._completed(found, condition, hit_condition, log, block)

    def add_change(
        self,
        name: str,
        *,
        condition: str = "",
        hit_condition: str = "",
        log: str = "",
        block: str | int | BlockId | None = None,
        temporary: bool = False,
        access: AccessKind = "write",
    ) -> Breakpoint:
        """Stop behind what changes an element of an array (`c[3, 4]`), or a value (`acc`).

        With another `access`, behind what reads the element, or reads or writes it; before what takes the value as an
        operand, or also behind what computes it.
        """
        found = self._new("value", name, temporary)
        found.access = access
        try:
            found.element = self._array_element(name)
        except ExpressionMistake as error:
            found.message = error.message
            return found
        if found.element is not None:
            found.kind = "element"
            found.operations = list(self._writing if access == "write" else self._accessing)
            return self._completed(found, condition, hit_condition, log, block)
        found.values = list(self._names.numbers.get(name.strip(), []))
        if access != "read" and self._names.is_variable(name.strip()):
            found.operations = self._assigned_before(name.strip())
            if not found.operations:
                found.message = f"{name} never changes where the launch can stop: it is a constant, or optimized away"
                return found
        elif not found.values:
            found.message = f"there is neither a value {name} nor such an element of an array"
            return found
        return self._completed(found, condition, hit_condition, log, block)

    def _assigned_before(self, name: str) -> list[int]:
        """The operations at which lines begin where a variable of the script has a value of the program."""
        variables = self._names.variables
        assert variables is not None
        found: list[int] = []
        for number in sorted(self._lines.starts):
            binding = variables.binding(number, name)
            if binding is not None and isinstance(variables.static(binding, number, self._program), StaticValue):
                found.append(number)
        return found

    def _new(self, kind: Kind, text: str, temporary: bool) -> Breakpoint:
        found = Breakpoint(self._next, kind, text)
        found.is_temporary = temporary
        self._known[self._next] = found
        self._next += 1
        return found

    def _completed(
        self, found: Breakpoint, condition: str, hit_condition: str, log: str, block: str | int | BlockId | None
    ) -> Breakpoint:
        try:
            if block is not None:
                found.block = self.block_id(block)
            if condition.strip():
                found.condition = self.expression(condition)
            if hit_condition.strip():
                read = _HITS.match(hit_condition)
                if read is None:
                    raise ExpressionMistake(f"'{hit_condition}' is no number of hits: write 5, >= 5, % 5")
                found.hit_condition = (read[1] or "==", int(read[2]))
            if log:
                found.log = self._logged(log)
        except ExpressionMistake as error:
            found.message = error.message
            return found
        found.is_verified = True
        return found

    def expression(self, text: str) -> Expression:
        """A condition whose names there are: a misspelled one is better refused now than at each hit."""
        read = Expression(text, self._is_known)
        for name in sorted(read.names - COMMON_NAMES):
            if not self._is_known(name):
                raise ExpressionMistake(f"the kernel has no value {name}")
        return read

    def _logged(self, log: str) -> list[str | Expression]:
        parts: list[str | Expression] = []
        at = 0
        for found in _LOGGED.finditer(log):
            parts += [log[at : found.start()], Expression(found[1], self._is_known)]
            at = found.end()
        return [*parts, log[at:]]

    def block_id(self, block: str | int | BlockId) -> BlockId:
        """A tile block of the grid, by number or by its place."""
        if isinstance(block, str):
            numbers = [int(one) for one in re.findall(r"\d{1,18}", block)]
            if not numbers or len(numbers) > 3 or re.search(r"[^\d\s,x()]", block):
                raise ExpressionMistake(f"'{block}' is no tile block: write a number, or x,y,z")
            x, y, z = (*numbers, 0, 0)[:3]
            block = x if len(numbers) == 1 else (x, y, z)
        grid = parenthesized(self._grid)
        if isinstance(block, int):
            count = self._grid[0] * self._grid[1] * self._grid[2]
            if not 0 <= block < count:
                raise ExpressionMistake(f"there is no tile block {block}: the grid {grid} has {count}")
            return block_at(block, self._grid)
        if not all(0 <= one < extent for one, extent in zip(block, self._grid, strict=True)):
            raise ExpressionMistake(f"there is no tile block {parenthesized(block)} in the grid {grid}")
        return block

    def _named(self, name: str) -> list[int]:
        program = self._program
        name = name.strip()
        if name.lstrip("#").isdecimal():
            number = int(name.lstrip("#"))
            return [number] if number < len(program.operations) else []
        plain = name.removeprefix("cuda_tile.")
        declaration = REGISTRY.by_name.get(f"cuda_tile.{plain}")
        if declaration is not None:
            found = [number for number, one in enumerate(program.operations) if one.declaration is declaration]
            if found:
                return found
        return list(dict.fromkeys([self.computing(number) for number in self._names.numbers.get(name, [])]))

    def _step_of(self, number: int) -> int:
        """The operation that a step executes of which an operation is a part: of the body of a reduce, the reduce."""
        operation = self._program.operations[number]
        while operation in self._program.in_reductions and operation.parent_operation is not None:
            operation = operation.parent_operation
        return self._program.operation_numbers[operation]

    def _mnemonic(self, number: int) -> str:
        return self._program.operations[number].declaration.name.removeprefix("cuda_tile.")

    def computing(self, number: int) -> int:
        """The operation that computes a value; for what a loop is given, the first of its body."""
        value: Value = self._program.values[number]
        if isinstance(value, BlockArgument):
            return self._program.operation_numbers.get(next(iter(value.block)), 0)
        operation = value.defining_operation
        assert operation is not None
        return self._program.operation_numbers[operation]

    # --- afterwards ---

    def remove(self, number: int) -> bool:
        return self._known.pop(number, None) is not None

    def clear(self) -> None:
        self._known.clear()

    def enable(self, number: int, enabled: bool = True) -> None:
        self._known[number].is_enabled = enabled
