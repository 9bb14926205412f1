"""Breakpoints: at lines, operations and tile blocks, under conditions, and where something changes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from operator import eq, ge, gt, le, lt
from typing import Any, Final, Literal

import numpy

from tileir.cpp.demangling import source_name
from tileir.execute.errors import BlockId
from tileir.execute.locations.wording import parenthesized
from tileir.execute.recording.program import NumberedProgram
from tileir.execute.recording.script_variables import StaticValue
from tileir.execute.schedule import block_at
from tileir.ir.registry import REGISTRY
from tileir.ir.traversal import memory_changes
from tileir.ir.values import BlockArgument
from tileir.serve.debugger.expressions import COMMON_NAMES, BadExpression, Expression
from tileir.serve.debugger.source_lines import SourceLines, SourceLocation
from tileir.serve.debugger.value_names import ValueNames

Kind = Literal["line", "operation", "block", "data"]
AccessKind = Literal["write", "read", "readWrite"]
ACCESS_KINDS: Final[tuple[AccessKind, ...]] = ("write", "read", "readWrite")
Element = tuple[int, tuple[int, ...]]  # The number of an array, and an index.

_HITS: Final = re.compile(r"\s*(==|=|>=|<=|>|<|%)?\s*(\d{1,18})\s*$")
_COMPARISONS: Final = {"==": eq, "=": eq, ">=": ge, "<=": le, ">": gt, "<": lt}
_LOGGED: Final = re.compile(r"\{([^{}]*)\}")


@dataclass
class BreakpointSpec:
    """A breakpoint as the user writes it; each launch of a script has it placed in it.

    `what` is a file with a `line`, an operation, a tile block, or a value or an element that is watched.
    """

    kind: Kind
    what: str | int | BlockId
    line: int = 0
    column: int = 0  # Counted from 1; 0 for the whole line.
    condition: str = ""
    hit_condition: str = ""
    """As in "5", ">= 5", "% 5"."""
    log: str = ""  # Written instead of stopping, with `{EXPRESSION}` in it.
    block: str | int | BlockId | None = None  # The only tile block that counts.
    temporary: bool = False
    access: AccessKind = "write"  # What is watched for; a write counts where it changes something.
    owner: tuple[str, str] = ("", "")
    """In an editor, the kind of breakpoints that it is of, and of lines the file: each is set as a whole."""


@dataclass(eq=False)
class Breakpoint:
    """A breakpoint of one launch; `message` is its location, or why it has none."""

    number: int
    spec: BreakpointSpec
    is_verified: bool = False
    message: str = ""
    location: SourceLocation | None = None
    operations: list[int] = field(default_factory=list)
    """The operations before which it stops; of data, those that may change it."""
    values: list[int] = field(default_factory=list)  # Of data, the values that are watched.
    element: Element | None = None  # Of data, the element that is watched.
    block: BlockId | None = None
    condition: Expression | None = None
    hit_condition: tuple[str, int] | None = None
    log: list[str | Expression] | None = None
    is_enabled: bool = True
    hits: int = 0  # How often it was hit up to where the debugger has been.

    @property
    def kind(self) -> Kind:
        return self.spec.kind

    @property
    def text(self) -> str:
        """What it was set by, as in `matmul.mlir:12`."""
        spec = self.spec
        if self.kind == "line":
            return f"{spec.what}:{spec.line}:{spec.column}" if spec.column else f"{spec.what}:{spec.line}"
        return f"tile block {spec.what}" if self.kind == "block" else str(spec.what)

    @property
    def is_plain(self) -> bool:
        """Whether it stops whenever one of its operations is next."""
        return self.condition is None and self.hit_condition is None and self.log is None and self.kind != "data"

    def counts(self, hits: int) -> bool:
        """Whether to stop at a hit, counted from 1."""
        sign, number = self.hit_condition or (">=", 0)
        if sign == "%":
            return number > 0 and hits % number == 0
        return bool(_COMPARISONS[sign](hits, number))


class Breakpoints(dict[int, Breakpoint]):
    """The breakpoints of a session, by number; there may be no launch yet to place them in."""

    _next: int = 1

    @property
    def active(self) -> list[Breakpoint]:
        return [one for one in list(self.values()) if one.is_enabled and one.is_verified]

    def add(self, kind: Kind, what: str | int | BlockId, line: int = 0, **options: Any) -> Breakpoint:
        return self.place(BreakpointSpec(kind, what, line, **options))

    def place(self, spec: BreakpointSpec, number: int = 0) -> Breakpoint:
        """Place a breakpoint, with a number or the next one; one without a location is listed too, with the reason."""
        number = number or self._next
        self._next = max(self._next, number + 1)
        found = self[number] = Breakpoint(number, spec)
        try:
            self._place(found, spec)
            found.is_verified = True
        except BadExpression as error:
            found.message = error.message
        return found

    def replace(self, owner: tuple[str, str], specs: list[BreakpointSpec]) -> list[Breakpoint]:
        for old in [one for one in self.values() if one.spec.owner == owner]:
            del self[old.number]
        return [self.place(replace(spec, owner=owner)) for spec in specs]

    def take_over(self, earlier: Breakpoints) -> None:
        """Place the breakpoints of an earlier launch, with their numbers."""
        for old in earlier.values():
            self.place(old.spec, old.number).is_enabled = old.is_enabled

    def _place(self, found: Breakpoint, spec: BreakpointSpec) -> None:
        raise BadExpression("placed when a kernel is launched")


class LaunchBreakpoints(Breakpoints):
    def __init__(self, program: NumberedProgram, lines: SourceLines, names: ValueNames, grid: BlockId) -> None:
        super().__init__()
        self._program, self._lines, self._names, self._grid = program, lines, names, grid

    def _place(self, found: Breakpoint, spec: BreakpointSpec) -> None:
        if spec.kind == "line":
            self._place_line(found, str(spec.what))
        elif spec.kind == "operation":
            self._place_operation(found, str(spec.what).strip())
        elif spec.kind == "block":
            found.operations = [0] if self._program.operations else []
            found.location = self._lines.head
        else:
            self._place_data(found, str(spec.what).strip())
        block = spec.what if spec.kind == "block" else spec.block
        if block is not None:
            found.block = self.block_id(block)
        if spec.condition.strip():
            found.condition = self.expression(spec.condition)
        if spec.hit_condition.strip():
            read = _HITS.match(spec.hit_condition)
            if read is None:
                raise BadExpression(f"'{spec.hit_condition}' is no number of hits: write 5, >= 5, % 5")
            found.hit_condition = (read[1] or "==", int(read[2]))
        if spec.log:
            # Texts and expressions alternate.
            parts = enumerate(_LOGGED.split(spec.log))
            found.log = [Expression(part, self._names.is_known) if number % 2 else part for number, part in parts]

    def _place_line(self, found: Breakpoint, file: str) -> None:
        """Where a line begins, or what is written at a column; a line without operations stands for the next one."""
        line, column = found.spec.line, found.spec.column
        actual, found.operations = self._lines.at(file, line)
        if column and actual == line:
            found.operations = self._lines.at_column(file, line, column) or found.operations
        if not found.operations:
            known = "" if file in self._lines.files else f" (but from {', '.join(self._lines.files)})"
            raise BadExpression(f"no operation of the kernel comes from line {line} of {file}{known}")
        found.location = self._lines.location(found.operations[0])
        if self._lines.is_in_reduction(file, line):
            whole = self._mnemonic(found.operations[0])
            found.message = f"line {line} is in the body of a {whole}, which is one step: moved to line {actual}"
        elif actual != line:
            found.message = f"line {line} has no operations: moved to line {actual}"

    def _place_operation(self, found: Breakpoint, name: str) -> None:
        """Before the operations of a mnemonic ("mmaf"), the one that computes a value ("%12"), the one of a number, or
        where the kernel begins.  The body of a reduce or scan is one step with it."""
        named = self._named(name)
        if not named:
            raise BadExpression(f"the kernel has no operation or value {name}")
        found.operations = list(dict.fromkeys([self._step_of(number) for number in named]))
        found.location = self._lines.location(found.operations[0])
        parts = [f"{len(found.operations)} operations"] if len(found.operations) > 1 else []
        around = sorted({self._mnemonic(self._step_of(number)) for number in named if self._step_of(number) != number})
        if around:
            whole = " or ".join(around)
            parts.append(f"the body of a {whole} is one step, so {name} in it stops before the {whole}")
        found.message = "; ".join(parts)

    def _named(self, name: str) -> list[int]:
        program = self._program
        if name.lstrip("#").isdecimal():
            number = int(name.lstrip("#"))
            return [number] if number < len(program.operations) else []
        if name.removeprefix("@") in (program.entry.symbol_name, source_name(program.entry.symbol_name or "")):
            return [0]
        declaration = REGISTRY.by_name.get(f"cuda_tile.{name.removeprefix('cuda_tile.')}")
        if declaration is not None:
            found = [number for number, one in enumerate(program.operations) if one.declaration is declaration]
            if found:
                return found
        return list(dict.fromkeys([self.computing(number) for number in self._names.numbers.get(name, [])]))

    def _place_data(self, found: Breakpoint, name: str) -> None:
        """After what changes or reads an element of an array (`c[3, 4]`) or a value (`acc`); before what uses a
        value."""
        access = found.spec.access
        found.element = self._names.element(name)
        if found.element is not None:
            changing = memory_changes(self._program.entry) if access == "write" else None
            found.operations = [
                number
                for number, one in enumerate(self._program.operations)
                if one.declaration.accesses_memory and not one.regions and (changing is None or one in changing)
            ]
            return
        found.values = list(self._names.numbers.get(name, []))
        if access != "read" and self._names.is_variable(name):
            found.operations = self._assigned_before(name)
            if not found.operations:
                where = "it is a constant, or optimized away"
                raise BadExpression(f"{name} never changes where the launch can stop: {where}")
        elif not found.values:
            raise BadExpression(f"there is neither a value {name} nor such an element of an array")

    def _assigned_before(self, name: str) -> list[int]:
        """The operations at which lines begin where a variable of the script has a value of the program."""
        begins = numpy.flatnonzero(self._lines.begins).tolist()
        return [number for number in begins if isinstance(self._names.static(name, number), StaticValue)]

    def _step_of(self, number: int) -> int:
        return self._program.operation_numbers[self._program.step_operation(self._program.operations[number])]

    def _mnemonic(self, number: int) -> str:
        return self._program.operations[number].declaration.mnemonic

    def computing(self, number: int) -> int:
        """The operation that computes a value; for an argument of a loop, the first of its body."""
        value = self._program.values[number]
        operation = next(iter(value.block)) if isinstance(value, BlockArgument) else value.defining_operation
        assert operation is not None
        return self._program.operation_numbers.get(operation, 0)

    def expression(self, text: str) -> Expression:
        """A condition, whose names all exist: a misspelled one is better refused now than at each hit."""
        read = Expression(text, self._names.is_known)
        for name in sorted(read.names - COMMON_NAMES):
            if not self._names.is_known(name):
                raise BadExpression(f"the kernel has no value {name}")
        return read

    def block_id(self, block: str | int | BlockId) -> BlockId:
        """A tile block of the grid, by number or by its index."""
        if isinstance(block, str):
            numbers = [int(one) for one in re.findall(r"\d{1,18}", block)]
            if not numbers or len(numbers) > 3 or re.search(r"[^\d\s,x()]", block):
                raise BadExpression(f"'{block}' is no tile block: write a number, or x,y,z")
            x, y, z = (*numbers, 0, 0)[:3]
            block = x if len(numbers) == 1 else (x, y, z)
        grid = parenthesized(self._grid)
        if isinstance(block, int):
            count = self._grid[0] * self._grid[1] * self._grid[2]
            if not 0 <= block < count:
                raise BadExpression(f"there is no tile block {block}: the grid {grid} has {count}")
            return block_at(block, self._grid)
        if not all(0 <= one < extent for one, extent in zip(block, self._grid, strict=True)):
            raise BadExpression(f"there is no tile block {parenthesized(block)} in the grid {grid}")
        return block
