"""One operation being built from Python: what was given for it, and what has been made of that so far."""

from __future__ import annotations

from tileir.annotations import NoReturn
from tileir.dialect.construct import described
from tileir.dialect.types import PointerType, TensorViewType, TileType, TileViewType, tile_type
from tileir.ir.attributes import Attribute, IntegerAttribute
from tileir.ir.core import Block, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.diagnostics import BuildError
from tileir.ir.symbols import Symbols
from tileir.ir.types import Type
from tileir.ir.values import Value


class Call:
    """The arguments of one operation.

    `given` holds what was passed for each operand, `operands` the values it became; `extras` holds the arguments
    that describe the result type (`type`, `shape`, `tile`), as they were passed.  `symbols` are those around.
    """

    def __init__(self, declaration: OperationDeclaration, block: Block, symbols: Symbols) -> None:
        self.declaration: OperationDeclaration = declaration
        self.block: Block = block
        self.given: dict[str, list[object]] = {}
        self.operands: dict[str, list[Value]] = {}
        self.extras: dict[str, object] = {}
        self.attributes: dict[str, Attribute] = {}
        self.regions: list[Region] = []
        self.symbols: Symbols = symbols

    def fail(self, message: str) -> NoReturn:
        """Refuse the call; the builder puts the operation's name in front."""
        raise BuildError(message)

    def extra(self, name: str) -> object:
        """An argument that describes the result type; None where it was left out."""
        return self.extras.get(name)

    def types(self, name: str) -> list[Type]:
        """The types of the values given for an operand so far."""
        return [value.type for value in self.operands.get(name, [])]

    def type_of(self, name: str) -> Type:
        """The type of a single operand."""
        found = self.types(name)
        if not found:
            self.fail(f"the type of '{name}' is not known")
        return found[0]

    def tile(self, name: str) -> TileType:
        """The type of an operand that must be a tile."""
        found = self.type_of(name)
        if not isinstance(found, TileType):
            self.fail(f"'{name}' must be a tile, got {described(found)}")
        return found

    def view(self, name: str) -> TileViewType:
        found = self.type_of(name)
        if not isinstance(found, TileViewType):
            self.fail(f"'{name}' must be a partition, strided or gather/scatter view, got {described(found)}")
        return found

    def tensor(self, name: str) -> TensorViewType:
        found = self.type_of(name)
        if not isinstance(found, TensorViewType):
            self.fail(f"'{name}' must be a tensor_view, got {described(found)}")
        return found

    def pointed_to(self, name: str) -> TileType:
        """The tile that the pointers of an operand point to."""
        pointers = self.tile(name)
        if not isinstance(pointers.element, PointerType):
            self.fail(f"'{name}' must be a tile of pointers, got {described(pointers)}")
        return tile_type(pointers.shape, pointers.element.pointee)

    def axis(self, name: str, rank: int) -> int:
        """An attribute that names a dimension."""
        value = self.attributes.get(name)
        number = value.value if isinstance(value, IntegerAttribute) else -1
        if not 0 <= number < rank:
            self.fail(f"'{name}' must be a dimension from 0 to {rank - 1}, got {number}")
        return number
