"""The variables of a script at every step of a tile block, as Python's semantics give them.

A front end that compiles a script knows which value each variable is bound to at every statement.  `ScriptVariables`
holds that: for each operation an *environment*, the bindings before the statement that the operation belongs to.  A
binding is a value of the program, a constant, a tuple of bindings, an array, or a *merge*: what a loop carries, or what
a loop or a branch ends with.  The operation executed last, of those that lead to a merge, decides its value.  If a
compiler splits a loop in two and keeps one branch of an `if` in each, the loop around the statement decides.

A compiler moves and removes operations.  An unknown binding is `Missing`, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.recording.history import ValueHistory
from tileir.execute.recording.program import NumberedProgram
from tileir.ir.core import Operation
from tileir.ir.values import BlockArgument, Value

UNASSIGNED: Final = "is not assigned yet"
REMOVED: Final = "is optimized away"


class Missing:
    """Why a variable has no value: as in "is not assigned yet"."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason: str = reason

    @property
    def shown(self) -> str:
        """In the place of a value, as gdb shows it."""
        return f"<{self.reason.removeprefix('is ')}>"

    def __repr__(self) -> str:
        return f"<Missing: {self.reason}>"


class TileContent:
    """The content of a value of the program, by number; integers without a sign have the dtype that says so."""

    __slots__ = ("content", "number", "step")

    def __init__(self, number: int, content: Any, step: int) -> None:
        self.number: int = number
        self.content: Any = content
        self.step: int = step
        """The step that computed it."""

    def __repr__(self) -> str:
        return f"<TileContent {self.number}: {self.content!r}>"


class StaticValue(NamedTuple):
    """The value of the program that a variable is bound to whenever an operation is reached."""

    value: Value
    is_unsigned: bool


class ArrayReference:
    """An array of the launch, by the name of the argument."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: str = name

    def __repr__(self) -> str:
        return f"<ArrayReference {self.name}>"


class Description:
    """What has no numbers, in words: a function, a dtype, a view."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text: str = text

    def __repr__(self) -> str:
        return f"<Description {self.text}>"


Content = Any
"""`TileContent`, `ArrayReference`, `Description`, `Missing`, a constant of Python, or a tuple of those."""


class Binding:
    """What a variable may be bound to.  Bindings refer to each other by number."""

    __slots__ = ("constant", "is_unsigned", "items", "kept", "may_be_unassigned", "merged", "values")

    def __init__(
        self,
        constant: tuple[Content] | None = None,
        items: tuple[int, ...] | None = None,
        values: tuple[int, ...] = (),
        is_unsigned: bool = False,
    ) -> None:
        self.constant: tuple[Content] | None = constant
        """What it is at every step, if that is known."""
        self.items: tuple[int, ...] | None = items
        """Of a tuple, its items."""
        self.values: tuple[int, ...] = values
        """The values of the program that may hold it; which one, the step tells."""
        self.is_unsigned: bool = is_unsigned
        self.merged: dict[int, int] | None = None
        """Of a merge: for each operation that leads to it, what it is bound to then."""
        self.kept: dict[int, int] = {}
        """Of a merge of branches: for each loop that keeps only one of them, what it is bound to there."""
        self.may_be_unassigned: bool = False
        """Whether it is a merge of something that may have no value yet."""


class Environment:
    """The variables that a function of the script has at a statement."""

    __slots__ = ("bindings", "caller", "function", "parameters")

    def __init__(self, function: str, parameters: tuple[str, ...], bindings: dict[str, int], caller: int) -> None:
        self.function: str = function
        self.parameters: tuple[str, ...] = parameters
        self.bindings: dict[str, int] = bindings
        """By name; variables that are not assigned yet are bound to a binding that says so."""
        self.caller: int = caller
        """The number of the environment that the function was called in; -1 if it is the kernel."""


class FunctionVariables:
    """The variables of a function of the script at a step of a tile block, in the order in which they are assigned."""

    __slots__ = ("function", "parameters", "unassigned", "variables")

    def __init__(
        self, function: str, parameters: dict[str, Any], variables: dict[str, Any], unassigned: list[str]
    ) -> None:
        self.function: str = function
        self.parameters: dict[str, Any] = parameters
        """Their contents (`Content`), by name."""
        self.variables: dict[str, Any] = variables
        """Those that are no parameters."""
        self.unassigned: list[str] = unassigned
        """The names of those that are not assigned yet."""


class ScriptVariables:
    """The variables of a script for each operation of the program that was made of it."""

    def __init__(self, environments: list[Environment], at: list[int], bindings: list[Binding]) -> None:
        self.environments: list[Environment] = environments
        self.at: list[int] = at
        """For each operation of the program the number of its environment."""
        self.bindings: list[Binding] = bindings

    @property
    def names(self) -> list[str]:
        """The variables of the kernel and of the functions that it calls."""
        return list(dict.fromkeys([name for one in self.environments for name in one.bindings]))

    @cached_property
    def _ranks(self) -> dict[str, int]:
        """For each name the first environment in which it is assigned."""
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
        around = program.operations[operation].parent_operation
        while around is not None and self.bindings[number].kept:
            number = self.bindings[number].kept.get(program.operation_numbers.get(around, -1), number)
            around = around.parent_operation
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
                # A compiler has made two of it, and it is not known which one is meant.
                return Missing(REMOVED)
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
    inner: Operation | None = operation
    while inner is not None and inner.parent is not home:
        inner = inner.parent_operation
    if inner is None:
        return False
    return owner is None or program.operation_numbers[owner] < program.operation_numbers[inner]
