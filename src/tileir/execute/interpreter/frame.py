"""A tile block as it runs: what its values are.

Tiles are NumPy arrays, tiles without dimensions NumPy scalars, tokens None, views objects of `views`.  A value is
never changed in place, so values may share arrays.  An operation runs as a function of itself and the frame.  A
terminator returns how its block ends, with the values of its operands, to the operation that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy

from tileir.execute.memory import Region
from tileir.execute.observing.observer import Observer, TileBlock, overrides
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.values import Value

LARGEST_RANK: Final = 64 if int(numpy.__version__.split(".")[0]) >= 2 else 32  # Dimensions that an array may have.

Ending = tuple[OperationDeclaration, list[Any]]  # The declaration of a terminator, and the values of its operands.
Action = Callable[["Frame"], "Ending | None"]
Run = Callable[[Operation, "Frame"], "Ending | None"]


class Options(NamedTuple):
    exact: bool = False
    observer: Observer | None = None
    interleaved: bool = False


class PreparedProgram:
    """What of a program is the same in all tile blocks."""

    def __init__(self, options: Options, globals: dict[str, Region]) -> None:
        self.options: Options = options
        self.globals: dict[str, Region] = globals
        self.observes_accesses: bool = options.observer is not None and overrides(options.observer, "access")
        self.prepared: dict[Operation, Any] = {}
        """What is computed of an operation once, before it runs: mostly a function of its operands."""
        self.actions: dict[Block, list[Action]] = {}


class Frame(dict["Value | None", Any]):
    """The values of a tile block; a token that no operation made is None, and so is a missing operand."""

    def __init__(self, program: PreparedProgram, block: TileBlock) -> None:
        super().__init__()
        self.program: PreparedProgram = program
        self.block: TileBlock = block

    def __missing__(self, value: Value | None) -> None:
        return None

    def values_of(self, values: Sequence[Value]) -> list[Any]:
        return [self[value] for value in values]

    def assign(self, values: Sequence[Value], contents: Sequence[Any]) -> None:
        self.update(zip(values, contents, strict=True))

    def run(self, block: Block, arguments: Sequence[Any] = ()) -> Ending | None:
        """Run the operations of a block, up to the first that ends it."""
        self.assign(block.arguments, arguments)
        for action in self.program.actions[block]:
            ending = action(self)
            if ending is not None:
                return ending
        return None

    def release_to(self, mark: int) -> None:
        while len(self.block.allocations) > mark:
            self.block.memory.release(self.block.allocations.pop())
