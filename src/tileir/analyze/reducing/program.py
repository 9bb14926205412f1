"""A program on its way to a smaller one."""

from __future__ import annotations

from _blake2 import blake2b

from tileir.ir.clone import clone
from tileir.ir.core import Operation
from tileir.ir.digest import structural_digest
from tileir.ir.location import UNKNOWN, CharacterLocation, TextLocation
from tileir.ir.traversal import is_function, pre_order

# What a reader gives to everything in a text.
_POSITIONS = (TextLocation, CharacterLocation)


class Program:
    """A module, its operations in program order, and for each function the original numbers of its parameters.

    `parameters` lets a test that launches a kernel drop the arguments of parameters that are gone.
    """

    __slots__ = ("module", "operations", "parameters")

    def __init__(self, module: Operation, parameters: dict[str, tuple[int, ...]] | None = None) -> None:
        self.module: Operation = module
        self.operations: list[Operation] = pre_order(module)
        """In program order, each before what it contains."""
        self.parameters: dict[str, tuple[int, ...]] = parameters if parameters is not None else _numbered(self)

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
        return Program(clone(self.module), dict(self.parameters))

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
        if not self.has_locations:
            return found
        # Locations do not count in the structure; their text does not tell where operations are grouped.
        text = self.module.text(debug_info=True)
        return blake2b(found + text.encode("utf-8", "surrogateescape"), digest_size=20).digest()


def _numbered(program: Program) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for operation in program.operations:
        if is_function(operation) and operation.regions and operation.regions[0].blocks:
            count = len(operation.regions[0].blocks[0].arguments)
            found[operation.symbol_name or ""] = tuple(range(count))
    return found
