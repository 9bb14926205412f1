"""The variables of a script at every step of a tile block, as Python's semantics give them.

For each operation `ScriptVariables` has an *environment*: the bindings before its statement, known from the front end.
A binding is a value of the program, a constant, a tuple of bindings, an array, or a *merge*: what a loop carries, or
what a loop or branch ends with.  The last operation executed of those that lead to a merge decides its value; if a
compiler split a loop by the branches of an `if`, the loop around the statement does.  An unknown binding is `Missing`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.recording.program import NumberedProgram, ValueHistory
from tileir.forking import cached_property
from tileir.ir.core import Operation
from tileir.ir.traversal import ancestors
from tileir.ir.values import BlockArgument, Value

UNASSIGNED: Final = "is not assigned yet"
REMOVED: Final = "is optimized away"


@dataclass(slots=True, eq=False)
class Missing:
    """Why a variable has no value: as in "is not assigned yet"."""

    reason: str

    @property
    def shown(self) -> str:
        """What is shown instead of a value, as in gdb."""
        return f"<{self.reason.removeprefix('is ')}>"


@dataclass(slots=True, eq=False)
class TileContent:
    """The content of a value of the program, by number; the dtype of unsigned integers is unsigned."""

    number: int
    content: Any
    step: int  # The step that computed it.


class StaticValue(NamedTuple):
    """The value of the program that a variable is bound to whenever an operation is reached."""

    value: Value
    is_unsigned: bool


@dataclass(slots=True, eq=False)
class ArrayReference:
    """An array of the launch, by the name of the argument."""

    name: str


@dataclass(slots=True, eq=False)
class Description:
    """The text for what has no numbers: a function, a dtype, a view."""

    text: str


Content = Any  # `TileContent`, `ArrayReference`, `Description`, `Missing`, a constant of Python, or a tuple of those.


@dataclass(slots=True, eq=False)
class Binding:
    """What a variable may be bound to.  Bindings refer to each other by number."""

    constant: tuple[Content] | None = None  # What it is at every step, if that is known.
    items: tuple[int, ...] | None = None  # Of a tuple, its items.
    values: tuple[int, ...] = ()  # The values of the program that may hold it; which one depends on the step.
    is_unsigned: bool = False
    merged: dict[int, int] | None = field(default=None, init=False)  # Of a merge: bindings by operation.
    kept: dict[int, int] = field(default_factory=dict, init=False)  # Of branches: by the loop that keeps one.
    may_be_unassigned: bool = field(default=False, init=False)  # Whether a merged one may have no value.


@dataclass(slots=True, eq=False)
class Environment:
    """The variables that a function of the script has at a statement."""

    function: str
    parameters: tuple[str, ...]
    bindings: dict[str, int]  # By name; an unassigned variable has a binding to `Missing`.
    caller: int  # The number of the environment that the function was called in; -1 if it is the kernel.


@dataclass(slots=True, eq=False)
class FunctionVariables:
    """The variables of a function of the script at a step of a tile block, in the order in which they are assigned."""

    function: str
    parameters: dict[str, Any]  # Their contents (`Content`), by name.
    variables: dict[str, Any]  # Those that are no parameters.
    unassigned: list[str]  # The names of those that are not assigned yet.


@dataclass(eq=False)
class ScriptVariables:
    """The variables of a script for each operation of the program that was made of it."""

    environments: list[Environment]
    at: list[int]  # For each operation of the program the number of its environment.
    bindings: list[Binding]

    @property
    def names(self) -> list[str]:
        """The variables of the kernel and of the functions that it calls."""
        return list(dict.fromkeys([name for one in self.environments for name in one.bindings]))

    @cached_property
    def _ranks(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for operation in self.at:
            for name, number in self.environments[operation].bindings.items() if operation >= 0 else ():
                binding = self.bindings[number]
                is_assigned = binding.constant is None or not _is_unassigned(binding.constant[0])
                if name not in found and is_assigned and not binding.may_be_unassigned:
                    found[name] = operation
        return found

    def functions(
        self, program: NumberedProgram, history: ValueHistory, steps: Array, step: int
    ) -> list[FunctionVariables]:
        """The variables of the function that a tile block is in, then of those that called it."""
        if not len(steps):
            return []
        found: list[FunctionVariables] = []
        for one in self.environments_at(int(steps[min(step, len(steps) - 1)])):
            names = sorted(one.bindings, key=lambda name: self._ranks.get(name, len(self.environments)))
            contents = {name: self.content(one.bindings[name], program, history, steps, step) for name in names}
            parameters = {name: contents.pop(name) for name in one.parameters}
            unassigned = [name for name, content in contents.items() if _is_unassigned(content)]
            for name in unassigned:
                del contents[name]
            found.append(FunctionVariables(one.function, parameters, contents, unassigned))
        return found

    def environments_at(self, operation: int) -> Iterator[Environment]:
        """The environment before an operation, then those of the functions that called it."""
        number = self.at[operation]
        while number >= 0:
            yield self.environments[number]
            number = self.environments[number].caller

    def binding(self, operation: int, name: str) -> int | None:
        """What a name is bound to before an operation: in the innermost function that has such a variable."""
        for one in self.environments_at(operation):
            if name in one.bindings:
                return one.bindings[name]
        return None

    def value_numbers(self, name: str) -> list[int]:
        """The values of the program that a variable is bound to anywhere."""
        found: dict[int, None] = {}
        for one in self.environments:
            if name in one.bindings:
                found |= dict.fromkeys(self.bindings[one.bindings[name]].values)
        return list(found)

    def static(self, number: int, operation: int, program: NumberedProgram) -> StaticValue | Content:
        """What a binding is before an operation, as far as that follows from the program."""
        binding = self.bindings[self._kept(number, program, operation)]
        if binding.constant is not None:
            return binding.constant[0]
        if binding.items is not None:
            return Missing("is a tuple: only its items can be used here")
        here = program.operations[operation]
        visible = [program.values[one] for one in binding.values if precedes(program, program.values[one], here)]
        if visible and not binding.may_be_unassigned:
            return StaticValue(visible[0], binding.is_unsigned)
        return Missing(REMOVED if not binding.may_be_unassigned else "has a value only on some paths to this line")

    def content(self, number: int, program: NumberedProgram, history: ValueHistory, steps: Array, step: int) -> Content:
        """What a binding is when a tile block that executes `steps` has executed `step` of them."""
        reached: dict[int, Array] = {}
        while True:
            if len(steps):
                number = self._kept(number, program, int(steps[min(step, len(steps) - 1)]))
            binding = self.bindings[number]
            if binding.constant is not None:
                return binding.constant[0]
            if binding.items is not None:
                return tuple([self.content(one, program, history, steps, step) for one in binding.items])
            if not binding.may_be_unassigned:
                found = self._computed(binding, program, history, steps, step)
                if found is not None:
                    return found
            if binding.merged is None:
                return Missing(REMOVED)
            if number not in reached:
                reached[number] = numpy.flatnonzero(numpy.isin(steps[:step], list(binding.merged)))
            count = int(numpy.searchsorted(reached[number], step))
            if not count:
                return Missing(REMOVED)
            step = int(reached[number][count - 1])
            number = binding.merged[int(steps[step])]

    def _kept(self, number: int, program: NumberedProgram, operation: int) -> int:
        """The binding that a merge stands for before an operation, in a loop that has only one of its branches."""
        for around in ancestors(program.operations[operation]):
            number = self.bindings[number].kept.get(program.operation_numbers.get(around, -1), number)
        return number

    def _computed(
        self, binding: Binding, program: NumberedProgram, history: ValueHistory, steps: Array, step: int
    ) -> Content:
        """The content of the value that holds a binding; None if no value of the program does."""
        if not binding.values or not len(steps):
            return None
        operation = program.operations[int(steps[min(step, len(steps) - 1)])]
        found: TileContent | None = None
        for number in binding.values:
            newest = history.at(number, step) if precedes(program, program.values[number], operation) else None
            if newest is None:
                continue
            content = unsigned(newest[1]) if binding.is_unsigned else newest[1]
            if found is not None and not numpy.array_equal(found.content, content, equal_nan=content.dtype.kind == "f"):
                return Missing(REMOVED)  # A compiler has made two of it, and it is not known which one is meant.
            found = TileContent(number, content, newest[0])
        return found


def _is_unassigned(content: Content) -> bool:
    return isinstance(content, Missing) and content.reason == UNASSIGNED


def unsigned(content: Any) -> Any:
    """Integers of a tile as those without a sign that they stand for."""
    if isinstance(content, (numpy.ndarray, numpy.generic)) and content.dtype.kind == "i":
        return content.view(f"u{content.dtype.itemsize}")
    return content


def precedes(program: NumberedProgram, value: Value, operation: Operation) -> bool:
    """Whether a value is computed whenever an operation is reached: before it in its block, or in one around it."""
    if isinstance(value, BlockArgument):
        home, owner = value.block, None
    else:
        owner = value.defining_operation
        if owner is None or owner.parent is None:
            return False
        home = owner.parent
    inner = next((one for one in (operation, *ancestors(operation)) if one.parent is home), None)
    if inner is None:
        return False
    return owner is None or program.operation_numbers[owner] < program.operation_numbers[inner]
