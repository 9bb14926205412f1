"""What has been read of one operation."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING
from tileir.ir.attributes import Attribute
from tileir.ir.core import Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.location import SourceText
from tileir.ir.types import Type
from tileir.ir.values import Value

if TYPE_CHECKING:
    from tileir.text.format import Assembly


class ParseState:
    """Filled by the directives, turned into an operation by `text/building.py`.

    `operands` holds for each declared operand the token numbers of its values; `types` one list of types per type
    slot of the assembly (a slot is what one `type($x)` reads, shared by all names of the same type), and `type_tokens`
    the token of each of them, where it is one.
    """

    __slots__ = (
        "assembly",
        "attributes",
        "declaration",
        "made_index",
        "made_operand",
        "name_token",
        "operands",
        "regions",
        "source",
        "type_tokens",
        "types",
    )

    def __init__(
        self, declaration: OperationDeclaration, assembly: Assembly, name_token: int, source: SourceText
    ) -> None:
        self.declaration: OperationDeclaration = declaration
        self.assembly: Assembly = assembly
        self.name_token: int = name_token
        self.source: SourceText = source
        self.operands: list[list[int] | None] = [None] * assembly.operand_count
        self.types: list[list[Type] | None] = [None] * assembly.slot_count
        self.type_tokens: list[list[int] | None] = [None] * assembly.slot_count
        self.attributes: dict[str, Attribute] | None = None
        self.regions: list[Region] | None = None
        # Set where an operand is not what its token names but something made from it.
        self.made_operand: Value | None = None
        self.made_index: int = 0

    def set_attribute(self, name: str, value: Attribute) -> None:
        """Keep an attribute; one at its default is left out."""
        if self.declaration.defaults.get(name) is value:
            return
        if self.attributes is None:
            self.attributes = {name: value}
        else:
            self.attributes[name] = value

    def switch(self, declaration: OperationDeclaration, assembly: Assembly) -> None:
        """Go on as another operation: the text turned out to be a draft spelling of it."""
        self.declaration = declaration
        self.assembly = assembly
        self.operands = [None] * assembly.operand_count
        self.types = [None] * assembly.slot_count
        self.type_tokens = [None] * assembly.slot_count

    def add_region(self, region: Region) -> None:
        if self.regions is None:
            self.regions = [region]
        else:
            self.regions.append(region)
