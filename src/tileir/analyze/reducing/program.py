"""A program on its way to a smaller one."""

from __future__ import annotations

from _blake2 import blake2b
from typing import NamedTuple

from tileir.execute.cache.structural_digest import structural_digest
from tileir.ir.core import Operation
from tileir.ir.location import UNKNOWN, CharacterLocation, TextLocation
from tileir.ir.traversal import clone, is_function, pre_order

# What a reader gives to everything in a text.
_POSITIONS = (TextLocation, CharacterLocation)


class Origin(NamedTuple):
    """What a function was at first: its name, and the number of each parameter that is left."""

    name: str
    parameters: tuple[int, ...]


class Program:
    """A module, its operations in program order, and what its functions were at first, by their names now.

    `origins` lets a test that launches a kernel find it, and drop the arguments of parameters that are gone.  `grid` is
    that of the launch, if there is one.
    """

    __slots__ = ("grid", "module", "operations", "origins")

    def __init__(
        self, module: Operation, origins: dict[str, Origin] | None = None, grid: tuple[int, ...] | None = None
    ) -> None:
        self.grid: tuple[int, ...] | None = grid
        self.module: Operation = module
        self.operations: list[Operation] = pre_order(module)
        """In program order, each before what it contains."""
        self.origins: dict[str, Origin] = origins if origins is not None else _origins(self)

    @classmethod
    def original(cls, module: Operation) -> Program:
        """A copy of a module to begin with, without the positions in the text that it was read from."""
        found = cls(clone(module))
        for operation in found.operations:
            if isinstance(operation.location, _POSITIONS):
                operation.location = UNKNOWN
            for region in operation.regions:
                for block in region.blocks:
                    for argument in block.arguments:
                        if isinstance(argument.location, _POSITIONS):
                            argument.location = UNKNOWN
        return found

    def copy(self) -> Program:
        """A copy whose operations have the same positions."""
        return Program(clone(self.module), dict(self.origins), self.grid)

    def renew(self) -> None:
        """List the operations again, after changes."""
        self.operations = pre_order(self.module)

    @property
    def has_locations(self) -> bool:
        for operation in self.operations:
            if operation.location is not UNKNOWN:
                return True
            for region in operation.regions:
                for block in region.blocks:
                    if any(argument.location is not UNKNOWN for argument in block.arguments):
                        return True
        return False

    def digest(self) -> bytes:
        """What a test sees of the program, as a hash."""
        found = structural_digest(self.module)
        if self.grid is not None:
            found = blake2b(found + repr(self.grid).encode(), digest_size=20).digest()
        if not self.has_locations:
            return found
        # Locations do not count in the structure; their text does not tell where operations are grouped.
        text = self.module.text(debug_info=True)
        return blake2b(found + text.encode("utf-8", "surrogateescape"), digest_size=20).digest()


def _origins(program: Program) -> dict[str, Origin]:
    found: dict[str, Origin] = {}
    for operation in program.operations:
        if is_function(operation) and operation.regions and operation.regions[0].blocks:
            name = operation.symbol_name or ""
            found[name] = Origin(name, tuple(range(len(operation.regions[0].blocks[0].arguments))))
    return found
