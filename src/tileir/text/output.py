"""What directives print to: pieces of text, the names of values, the indentation, and the regions of operations.

`text/printer.py` adds the operations themselves, which are printed by directives.
"""

from __future__ import annotations

from tileir.annotations import Sequence
from tileir.dialect.attributes import OptimizationHintsAttribute
from tileir.ir.attributes import Attribute, entry_text
from tileir.ir.core import Block, Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.values import Value
from tileir.ir.versions import NEWEST, Version
from tileir.text.aliases import Aliases, implied_terminator
from tileir.text.names import Naming


class TextOutput:
    """Collects text in `out`.

    With `aliases` (debug info) locations are printed.  `elide` says whether the `cuda_tile.` prefix of operations is
    left out, as inside a cuda_tile module.  `lossless` prints the little that NVIDIA's printers leave out although no
    reader could guess it.
    """

    __slots__ = ("aliases", "elide", "indent", "lossless", "names", "naming", "out", "version")

    def __init__(
        self,
        draft_names: bool = False,
        version: Version = NEWEST,
        aliases: Aliases | None = None,
        lossless: bool = True,
    ) -> None:
        self.out: list[str] = []
        self.naming: Naming = Naming(draft_names)
        self.names: dict[Value, str] = self.naming.names
        self.version: Version = version
        self.aliases: Aliases | None = aliases
        self.lossless: bool = lossless
        self.indent: str = ""
        self.elide: bool = False

    def print_block_body(self, block: Block, omit: Operation | None = None) -> None:
        """The operations of a block, one per line, without an implied terminator."""
        raise NotImplementedError

    def text(self) -> str:
        """All that was printed."""
        return "".join(self.out)

    # --- regions ---

    def print_region(self, region: Region, implied: OperationDeclaration | None = None) -> None:
        """A region in braces; the terminator `implied` is left out where it has no operands."""
        omit: Operation | None = None
        if implied is not None and len(region.blocks) == 1:
            omit = implied_terminator(region, implied, self.lossless and self.aliases is not None)
        self.print_blocks(region, len(region.blocks) > 1 and bool(region.blocks[0].arguments), omit)

    def print_generic_region(self, region: Region) -> None:
        """A region in the generic form: without its label an empty block would not be seen at all."""
        first = region.blocks[0] if region.blocks else None
        self.print_blocks(region, first is not None and (bool(first.arguments) or first.first is None))

    def print_blocks(self, region: Region, is_first_labeled: bool, omit: Operation | None = None) -> None:
        """The blocks of a region in braces, all but the first with a label."""
        out = self.out
        out.append("{\n")
        for index, block in enumerate(region.blocks):
            if index or is_first_labeled:
                arguments = ", ".join([f"{self.names[a]}: {a.type.text}" for a in block.arguments])
                label = f"^bb{index}" + (f"({arguments})" if arguments else "")
                out.append(f"{self.indent}{label}:\n")
            self.print_block_body(block, omit)
        out.append(self.indent + "}")

    # --- values, types, attributes ---

    def value_list(self, values: list[Value]) -> str:
        names = self.names
        return ", ".join([names[value] for value in values])

    def type_list(self, values: Sequence[Value]) -> str:
        """The types of values."""
        return ", ".join([value.type.spelling for value in values])

    def argument_list(self, region: Region) -> str:
        """The arguments of the first block of a region, with their types."""
        arguments = region.blocks[0].arguments if region.blocks else []
        return ", ".join([f"{self.names[a]}: {a.type.spelling}" for a in arguments])

    def attribute_dictionary(self, operation: Operation, elided: frozenset[str], word: str = "") -> None:
        """` word {name = value, ..}` of what the syntax does not show, sorted by name; nothing where that is none."""
        attributes = operation.attributes
        shown = [name for name in attributes if name not in elided]
        if shown:
            shown.sort()
            self.out.append(f"{word} {{" + ", ".join([entry_text(name, attributes[name]) for name in shown]) + "}")

    def hints(self, value: Attribute) -> str:
        """`<..>` of optimization hints."""
        if self.lossless and isinstance(value, OptimizationHintsAttribute):
            return value.exact_text
        return value.bare_text
