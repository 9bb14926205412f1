"""From a kernel to closures.

A value has a number, its slot in a list of registers.  An operation becomes a step, a closure that reads the slots of
its operands and writes those of its results.  Slot 0 holds the `TileBlock`.

Tiles are NumPy arrays, tiles without dimensions NumPy scalars, tokens None, views objects of `views`.  A value is
never changed in place, so steps may share arrays.

Control flow works through slots too: a terminator copies its operands to where they are needed (the results of the
`if`, the arguments of the loop) and returns a signal, which ends the blocks around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy

from tileir.dialect.types import TOKEN, TileType
from tileir.execute.errors import LaunchError
from tileir.execute.observing.observer import overrides
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import TOKEN_ORDERED
from tileir.ir.values import Value

if TYPE_CHECKING:
    from tileir.execute.observing.observer import Observer, TileBlock

Registers = list[Any]
Step = Callable[[Registers], "int | None"]
CompileOperation = Callable[["Compiler", Operation], Step]
Operations = Mapping[OperationDeclaration, CompileOperation]

# Signals: what ended a block before its end.  None is the end of the block itself.
CONTINUED: Final = 1
BROKEN: Final = 2
RETURNED: Final = 3

BLOCK_SLOT: Final = 0

LARGEST_RANK: Final = 64 if int(numpy.__version__.split(".")[0]) >= 2 else 32
"""Dimensions that an array may have."""


class Options:
    """How a program is to be run."""

    __slots__ = ("exact", "interleaved", "observer")

    def __init__(self, exact: bool = False, observer: Observer | None = None, interleaved: bool = False) -> None:
        self.exact: bool = exact
        self.observer: Observer | None = observer
        self.interleaved: bool = interleaved


class Compiler:
    """Compiles one function.  `globals` has the address of each global variable, `operations` how to compile each."""

    def __init__(self, options: Options, globals: dict[str, int], operations: Operations) -> None:
        self.options: Options = options
        self.globals: dict[str, int] = globals
        self.operations: Operations = operations
        self.slots: dict[Value, int] = {}
        self.slot_count: int = 1
        # Where the terminators of the innermost loop and of the innermost branch or body leave their operands.
        self.continues: list[list[int]] = []
        self.breaks: list[list[int]] = []
        self.yields: list[list[int]] = []

    def slot(self, value: Value) -> int:
        """Return the slot of a value; the first call assigns one."""
        found = self.slots.get(value)
        if found is None:
            if isinstance(value.type, TileType) and len(value.type.shape) > LARGEST_RANK:
                raise LaunchError(
                    f"the program has tiles of {len(value.type.shape)} dimensions, and the interpreter takes "
                    f"{LARGEST_RANK}, as NumPy does: compile with backend='cpu', or leave out dimensions of one"
                )
            found = self.slots[value] = self.new_slot()
        return found

    def slots_of(self, values: Sequence[Value]) -> list[int]:
        return [self.slot(value) for value in values]

    def optional_slot(self, value: Value | None) -> int | None:
        return self.slot(value) if value is not None else None

    def new_slot(self) -> int:
        self.slot_count += 1
        return self.slot_count - 1

    def end(self, operation: Operation, targets: list[int], signal: int | None) -> Step:
        """A terminator: its operands go to where they are needed."""
        return copy_step(self.slots_of(operation.operands), targets, signal)

    def block(self, block: Block) -> list[Step]:
        """Return the steps of a block."""
        steps: list[Step] = []
        # Comprehensions take a frame of Python's stack, which limits how deep programs may nest.
        for operation in block:
            steps.append(self._operation(operation))
        return steps

    def _operation(self, operation: Operation) -> Step:
        compile_operation = self.operations.get(operation.declaration)
        if compile_operation is None:
            raise LaunchError(f"the interpreter cannot run '{operation.name}': it is no operation of a kernel")
        step = compile_operation(self, operation)
        observer = self.options.observer
        if observer is not None:
            step = self._with_tokens(observer, operation, step)
            if observer.watches(operation):
                step = self._observed(observer, operation, step)
        if self.options.interleaved and operation.declaration.has_trait(TOKEN_ORDERED):
            step = _switching(step)
        return step

    def _with_tokens(self, observer: Observer, operation: Operation, step: Step) -> Step:
        """The step with the tokens that the observer returns, if it has any."""
        results = self.slots_of([value for value in operation.results if value.type is TOKEN])
        if not results or operation.regions or not overrides(observer, "token"):
            return step
        operands = self.slots_of([value for value in operation.operands if value.type is TOKEN])

        def with_tokens(registers: Registers) -> int | None:
            token = observer.token(operation, registers[BLOCK_SLOT], [registers[slot] for slot in operands])
            signal = step(registers)
            for slot in results:
                registers[slot] = token
            return signal

        return with_tokens

    def _observed(self, observer: Observer, operation: Operation, step: Step) -> Step:
        operands = self.slots_of([*operation.operands, *observer.wants(operation)])
        results = self.slots_of(operation.results)
        before = observer.before if overrides(observer, "before") else None
        after = observer.after if overrides(observer, "after") else None
        if before is None and after is None:
            return step

        def observed(registers: Registers) -> int | None:
            tile_block: TileBlock = registers[BLOCK_SLOT]
            if before is not None:
                before(operation, tile_block, [registers[slot] for slot in operands])
            signal = step(registers)
            # An operation that a `break` or `return` inside it ends has no results.
            if after is not None and (signal is None or not results):
                after(operation, tile_block, [registers[slot] for slot in results])
            return signal

        return observed


def run_steps(steps: list[Step], registers: Registers) -> int | None:
    """Run a block, up to the first signal."""
    for step in steps:
        signal = step(registers)
        if signal is not None:
            return signal
    return None


def function_step(compiler: Compiler, operation: Operation, function: Callable[..., Any]) -> Step:
    """A step that calls a function of the operands."""
    operands, result = compiler.slots_of(operation.operands), compiler.slot(operation.results[0])

    def call(registers: Registers) -> None:
        registers[result] = function(*[registers[slot] for slot in operands])

    return call


def copy_step(sources: list[int], targets: list[int], signal: int | None) -> Step:
    """Copy registers all at once, then return a signal."""

    def copy(registers: Registers) -> int | None:
        values = [registers[source] for source in sources]
        for target, value in zip(targets, values, strict=True):
            registers[target] = value
        return signal

    return copy


def _switching(step: Step) -> Step:
    """Let other tile blocks run before a memory operation."""

    def switching(registers: Registers) -> int | None:
        switch = registers[BLOCK_SLOT].switch
        if switch is not None:
            switch()
        return step(registers)

    return switching
