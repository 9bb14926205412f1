"""From a kernel to closures.

Each function is compiled once.  A value has a number, its slot in the list of registers; an operation becomes one
closure that knows its slots and its NumPy kernel, so nothing is looked up by name while the program runs.  Slot 0
holds the `TileBlock`.

Tiles are NumPy arrays, tiles without dimensions NumPy scalars (a scalar is several times as fast to add as a 0-D
array), tokens None, views objects of `views`.  A value is never changed in place, so closures may share arrays.  Two
files save arrays where no program can tell: `reading`, a loaded tile that is the memory itself, and `accumulation`, a
product that writes where a dead accumulator was.

Control flow works through slots too: a terminator copies its operands to where they are wanted (the results of the
`if`, the arguments of the loop) and returns a signal.  Only a block in which a signal can come from the middle, out of
an `if` with a `break` in it, looks at the signals of its steps.

What does not depend on the tile block is computed once: constants while compiling, what follows from arguments and
grid at the launch (`uniform`).  Only operations that cannot fail are moved like this, and only those that no observer
watches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy

from tileir.dialect.ops import BREAK, CONTINUE, ENTRY, GET_NUM_TILE_BLOCKS, IF, MAKE_TENSOR_VIEW, RETURN
from tileir.dialect.types import TOKEN, TileType
from tileir.execute.errors import LaunchError
from tileir.execute.interpreter.block_order import BlockOrder
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import TOKEN_ORDERED
from tileir.ir.traversal import memory_changes
from tileir.ir.values import Value

if TYPE_CHECKING:
    from tileir.execute.observing.observer import Observer, TileBlock

Registers = list[Any]
Step = Callable[[Registers], "int | None"]
# None instead of a step: the results are known without running anything.
CompileOperation = Callable[["Compiler", Operation], "Step | None"]
Operations = Mapping[OperationDeclaration, CompileOperation]

# Signals: what ended a block before its end.  None is the end of the block itself.
CONTINUED: Final = 1
BROKEN: Final = 2
RETURNED: Final = 3

BLOCK_SLOT: Final = 0

# When a value is known.
AT_COMPILATION: Final = 0
AT_LAUNCH: Final = 1
IN_BLOCK: Final = 2

LARGEST_RANK: Final = 64 if int(numpy.__version__.split(".")[0]) >= 2 else 32
"""Dimensions that an array may have."""


class Loop:
    """A loop being compiled: where `continue` and `break` leave their operands; `scratch` holds slots of the body that
    are empty again when the loop begins."""

    __slots__ = ("arguments", "results", "scratch")

    def __init__(self, arguments: list[int], results: list[int]) -> None:
        self.arguments: list[int] = arguments
        self.results: list[int] = results
        self.scratch: list[int] = []


class Options:
    """How a program is to be run."""

    __slots__ = ("exact", "interleaved", "observer")

    def __init__(self, exact: bool = False, observer: Observer | None = None, interleaved: bool = False) -> None:
        self.exact: bool = exact
        self.observer: Observer | None = observer
        self.interleaved: bool = interleaved


class Roster:
    """How each operation is compiled, by declaration, and which are `movable`: they may run earlier than they stand."""

    __slots__ = ("movable", "operations")

    def __init__(self, operations: Operations, movable: frozenset[OperationDeclaration]) -> None:
        self.operations: Operations = operations
        self.movable: frozenset[OperationDeclaration] = movable


class Compiler:
    """Compiles one function.  `globals` gives the address of each global variable of the module."""

    def __init__(self, options: Options, globals: dict[str, int], roster: Roster) -> None:
        self.roster: Roster = roster
        self.options: Options = options
        self.globals: dict[str, int] = globals
        self.slots: dict[Value, int] = {}
        self.template: Registers = [None]
        self.known: list[int] = [IN_BLOCK]
        self.loops: list[Loop] = []
        self.yields: list[list[int]] = []
        # The closures that run once per launch, in order.
        self.uniform: list[Step] = []
        # The slots of what they make that is closed when the launch is over.
        self.closing: list[int] = []
        self._orders: dict[Block, BlockOrder] = {}
        self._changing: set[Operation] | None = None
        self._escaping: dict[Operation, tuple[bool, bool]] = {}
        self._watched: dict[Operation, bool] = {}

    # --- slots ---

    def slot(self, value: Value) -> int:
        """The slot of a value, which gets one when it is first asked for."""
        found = self.slots.get(value)
        if found is None:
            if isinstance(value.type, TileType) and len(value.type.shape) > LARGEST_RANK:
                raise LaunchError(
                    f"the program has tiles of {len(value.type.shape)} dimensions, and the interpreter takes "
                    f"{LARGEST_RANK}, as NumPy does: compile with backend='cpu', or leave out dimensions of one"
                )
            found = self.slots[value] = self.new_slot()
        return found

    def new_slot(self, known: int = IN_BLOCK, value: object = None) -> int:
        self.template.append(value)
        self.known.append(known)
        return len(self.template) - 1

    def define(self, value: Value, content: object) -> None:
        """Give a value known while compiling."""
        slot = self.slot(value)
        self.template[slot] = content
        self.known[slot] = AT_COMPILATION

    def known_before_blocks(self, value: Value) -> bool:
        """Whether a value is the same in every tile block of a launch."""
        return self.known[self.slot(value)] != IN_BLOCK

    def optional_slot(self, value: Value | None) -> int | None:
        return self.slot(value) if value is not None else None

    # --- blocks ---

    def block(self, block: Block) -> tuple[list[Step], bool]:
        """The steps of a block, and whether one before the last may give a signal."""
        steps: list[Step] = []
        checked = False
        for operation in block:
            checked = self._operation(operation, steps) or checked
        return steps, checked

    def order_of(self, block: Block) -> BlockOrder:
        """The places of a block's operations; made when first asked for."""
        found = self._orders.get(block)
        if found is None:
            if self._changing is None:
                self._changing = memory_changes(_outermost(block))
            found = self._orders[block] = BlockOrder(block, self._changing)
        return found

    def _operation(self, operation: Operation, steps: list[Step]) -> bool:
        """Append the steps of an operation; tells whether they may give a signal before the end of the block."""
        compile_operation = self.roster.operations.get(operation.declaration)
        if compile_operation is None:
            raise LaunchError(f"the interpreter cannot run '{operation.name}': it is no operation of a kernel")
        watched = self.watches(operation)
        step = compile_operation(self, operation)
        tracked = self._tracked(operation, step or _nothing)
        if step is None:
            if watched or tracked is not None:
                steps.append(self._observed(operation, tracked or _nothing, watched))
            return False
        if not watched and self._moved(operation, step):
            return False
        step = self._observed(operation, tracked or step, watched)
        if self.options.interleaved and _touches_memory(operation):
            step = _switching(step)
        steps.append(step)
        return bool(operation.regions) and self._escape(operation)[0]

    def _escape(self, operation: Operation) -> tuple[bool, bool]:
        """Whether a terminator inside an operation can end more than the operation, and whether there is a `return`."""
        found = self._escaping.get(operation)
        if found is not None:
            return found
        escapes = returns = False
        is_branch = operation.declaration is IF
        for region in operation.regions:
            for block in region.blocks:
                for inner in block:
                    if inner.declaration is RETURN:
                        escapes = returns = True
                    elif inner.declaration in (BREAK, CONTINUE):
                        escapes = escapes or is_branch
                    elif inner.regions:
                        inner_escapes, inner_returns = self._escape(inner)
                        escapes = escapes or (inner_escapes and (is_branch or inner_returns))
                        returns = returns or inner_returns
        self._escaping[operation] = escapes, returns
        return escapes, returns

    def watches(self, operation: Operation) -> bool:
        """Whether somebody watches the values of an operation, which then runs where it stands."""
        observer = self.options.observer
        if observer is None:
            return False
        answer = self._watched.get(operation)
        if answer is None:
            answer = self._watched[operation] = observer.watches(operation)
        return answer

    def _moved(self, operation: Operation, step: Step) -> bool:
        """Run the step now or at the launch, if all it takes is known there."""
        if operation.declaration not in self.roster.movable:
            return False
        level = max([self.known[self.slot(value)] for value in operation.operands], default=AT_COMPILATION)
        if operation.declaration in (GET_NUM_TILE_BLOCKS, MAKE_TENSOR_VIEW):
            level = max(level, AT_LAUNCH)
        if level == IN_BLOCK:
            return False
        if level == AT_COMPILATION:
            step(self.template)
        else:
            self.uniform.append(step)
        for result in operation.results:
            self.known[self.slot(result)] = level
        return True

    def _tracked(self, operation: Operation, step: Step) -> Step | None:
        """The step with the tokens an observer gives; None where nobody wants to."""
        from tileir.execute.observing.observer import overrides

        observer = self.options.observer
        if observer is None or operation.regions or operation.declaration.is_terminator:
            return None
        results = [self.slot(value) for value in operation.results if value.type is TOKEN]
        if not results or not overrides(observer, "token"):
            return None
        operands = [self.slot(value) for value in operation.operands if value.type is TOKEN]
        token = observer.token

        def tracked(registers: Registers) -> int | None:
            given = token(operation, registers[BLOCK_SLOT], [registers[slot] for slot in operands])
            signal = step(registers)
            for slot in results:
                registers[slot] = given
            return signal

        return tracked

    def _observed(self, operation: Operation, step: Step, watched: bool) -> Step:
        from tileir.execute.observing.observer import overrides

        observer = self.options.observer
        if observer is None or not watched:
            return step
        operands = [self.slot(value) for value in (*operation.operands, *observer.wants(operation))]
        results = [self.slot(value) for value in operation.results]
        before = observer.before if overrides(observer, "before") else None
        after = observer.after if overrides(observer, "after") else None
        if before is None and after is None:
            return step

        def observed(registers: Registers) -> int | None:
            tile_block: TileBlock = registers[BLOCK_SLOT]
            if before is not None:
                before(operation, tile_block, [registers[slot] for slot in operands])
            signal = step(registers)
            # What was left by a `break` or `return` inside it has no results.
            if after is not None and (signal is None or not results):
                after(operation, tile_block, [registers[slot] for slot in results])
            return signal

        return observed


def _nothing(registers: Registers) -> None:
    """The step of an operation whose results are known before it runs."""


def _switching(step: Step) -> Step:
    """Let other tile blocks run before a memory operation."""

    def switching(registers: Registers) -> int | None:
        switch = registers[BLOCK_SLOT].switch
        if switch is not None:
            switch()
        return step(registers)

    return switching


def _touches_memory(operation: Operation) -> bool:
    return operation.declaration.has_trait(TOKEN_ORDERED)


def _outermost(block: Block) -> Operation:
    """The kernel that a block is in."""
    operation = block.parent_operation
    assert operation is not None
    while operation.declaration is not ENTRY and operation.parent_operation is not None:
        operation = operation.parent_operation
    return operation


def copy_step(sources: list[int], targets: list[int], signal: int | None) -> Step:
    """Copy registers all at once, then give a signal."""
    pairs = [(source, target) for source, target in zip(sources, targets, strict=True) if source != target]
    if not pairs:

        def copy_none(registers: Registers) -> int | None:
            return signal

        return copy_none
    if len(pairs) == 1:
        ((source, target),) = pairs

        def copy_one(registers: Registers) -> int | None:
            registers[target] = registers[source]
            return signal

        return copy_one

    def copy_all(registers: Registers) -> int | None:
        values = [registers[source] for source, _ in pairs]
        for (_, target), value in zip(pairs, values, strict=True):
            registers[target] = value
        return signal

    return copy_all


def run_checked(steps: list[Step], registers: Registers) -> int | None:
    """Run a block in which a signal may come from the middle."""
    for step in steps:
        signal = step(registers)
        if signal is not None:
            return signal
    return None
