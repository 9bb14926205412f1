"""What directives print to: strings, the names of values, the indentation, and the regions of operations.

`text/printer.py` adds the operations themselves, which are printed by directives.
"""

from __future__ import annotations

from tileir.annotations import Final, Sequence
from tileir.dialect.attributes import OptimizationHintsAttribute
from tileir.dialect.debug_info import DebugScope, DILocation, children
from tileir.ir.attributes import WHOLE, Attribute, entry_text, spell
from tileir.ir.core import Block, Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.location import FileLocation, Location, resolved
from tileir.ir.quoting import quote
from tileir.ir.traversal import same_location
from tileir.ir.values import Value
from tileir.ir.versions import NEWEST, Version
from tileir.text.names import Naming

# Longer names are cut off where they are spelled.
_LONG_NAME: Final = 1 << 16
_NOTHING: Final[frozenset[str]] = frozenset()


class Aliases:
    """Collects the locations of a program in print order, numbers them, and spells them.

    With `implied` the text leaves terminators out, as the custom form does; `lossless` is as in the printer.
    """

    def __init__(
        self, root: Operation, contents_only: bool = False, implied: bool = True, lossless: bool = False
    ) -> None:
        self._implied: bool = implied
        self._lossless: bool = lossless
        self._depths: dict[Attribute, int] = {}
        self._order: list[Attribute] = []
        self._suffixes: dict[Location, str] = {}
        self.names: dict[Attribute, str] = {}
        if not contents_only:
            self._visit(resolved(root.location))
        self._visit_contents(root)
        self._number()

    def _visit_contents(self, root: Operation) -> None:
        # An explicit stack, because programs may nest deeply: where to go on, and the terminator that is left out.
        pending: list[tuple[Operation | None, Operation | None]] = self._blocks(root)
        while pending:
            cursor, omitted = pending.pop()
            while cursor is not None:
                if cursor is not omitted:
                    self._visit(resolved(cursor.location))
                    if cursor.regions:
                        pending.append((cursor.next, omitted))
                        pending.extend(self._blocks(cursor))
                        break
                cursor = cursor.next

    def _blocks(self, operation: Operation) -> list[tuple[Operation | None, Operation | None]]:
        """The first operation of each block and the terminator that is left out there, the last block first."""
        found: list[tuple[Operation | None, Operation | None]] = []
        for index, region in enumerate(operation.regions):
            omitted = self._omitted(operation, index) if self._implied else None
            for block in region.blocks:
                found.append((block.first, omitted))
        found.reverse()
        return found

    def _omitted(self, parent: Operation, index: int) -> Operation | None:
        """A terminator that is not printed has no location to print either."""
        declared = parent.declaration.regions
        if index >= len(declared) or not parent.declaration.is_control_flow:
            return None
        return implied_terminator(parent.regions[index], declared[index].implicit_terminator, self._lossless)

    def _visit(self, attribute: Attribute) -> None:
        """Note an attribute and what it contains; its depth is one more than the deepest of those."""
        depths = self._depths
        if attribute in depths:
            return
        if isinstance(attribute, DILocation):
            # Nearly all of them: a position in a file, in a scope that was visited before.
            source = attribute.source
            around_it = depths.get(attribute.scope, 0)
            if around_it and isinstance(source, FileLocation):
                self._order.append(attribute)
                depths[attribute] = 1 + around_it
                if source not in depths:
                    self._order.append(source)
                    depths[source] = 1
                return
        # An explicit stack, because locations may nest deeply: what is open, and the parts still to be visited.
        self._order.append(attribute)
        self._depths[attribute] = 1
        path: list[tuple[Attribute, list[Attribute]]] = [(attribute, _parts(attribute))]
        while path:
            outer, waiting = path[-1]
            if waiting:
                inner = waiting.pop()
                if inner in self._depths:
                    self._depths[outer] = max(self._depths[outer], 1 + self._depths[inner])
                else:
                    self._order.append(inner)
                    self._depths[inner] = 1
                    path.append((inner, _parts(inner)))
                continue
            path.pop()
            if path:
                around = path[-1][0]
                self._depths[around] = max(self._depths[around], 1 + self._depths[outer])

    def _number(self) -> None:
        """Give each its name: the least deep first, by stem, in the order in which they were visited."""
        levels: dict[int, dict[str, list[Attribute]]] = {}
        for attribute in self._order:
            if not isinstance(attribute, (Location, DebugScope)):
                continue
            depth = self._depths[attribute]
            stems = levels.get(depth)
            if stems is None:
                stems = levels[depth] = {}
            stem = attribute.stem if isinstance(attribute, DebugScope) else "loc"
            row = stems.get(stem)
            if row is None:
                stems[stem] = [attribute]
            else:
                row.append(attribute)
        counts: dict[str, int] = {}
        self._order = []
        for depth in sorted(levels):
            for stem, row in sorted(levels[depth].items()):
                count = counts.get(stem, 0)
                counts[stem] = count + len(row)
                for attribute in row:
                    self.names[attribute] = f"#{stem}{count}" if count else f"#{stem}"
                    count += 1
                self._order.extend(row)

    def suffix(self, location: Location) -> str:
        """` loc(#alias)`, which ends the line of an operation."""
        location = resolved(location)
        found = self._suffixes.get(location)
        if found is None:
            found = self._suffixes[location] = f" loc({self.names[location]})"
        return found

    def definitions(self) -> str:
        """One line per alias."""
        names = self.names
        # What stands in front of line and column, by file.
        starts: dict[str, str] = {}
        lines: list[str] = []
        for attribute in self._order:
            name = names[attribute]
            if isinstance(attribute, DILocation):
                source = names.get(attribute.source)
                if source is not None:
                    lines.append(f"{name} = #cuda_tile.di_loc<{source} in {names[attribute.scope]}>\n")
                    continue
            elif isinstance(attribute, FileLocation) and len(attribute.file) < _LONG_NAME:
                start = starts.get(attribute.file)
                if start is None:
                    start = starts[attribute.file] = f"loc({quote(attribute.file)}"
                lines.append(f"{name} = {start}:{attribute.line}:{attribute.column})\n")
                continue
            lines.append(f"{name} = {spell(attribute, WHOLE, names)}\n")
        return "".join(lines)


def implied_terminator(region: Region, implied: OperationDeclaration | None, located: bool) -> Operation | None:
    """The terminator of a region that the text may leave out: one without operands and attributes.

    With `located` it must also stand at the location of the operation around it, where the reader puts it.
    """
    last = region.blocks[0].last if region.blocks else None
    if last is None or last.declaration is not implied or last.operands or last.attributes:
        return None
    if located and region.parent is not None and not same_location(last.location, region.parent.location):
        return None
    return last


def _parts(attribute: Attribute) -> list[Attribute]:
    """What an attribute is made of, the last part first."""
    found = [resolved(child) if isinstance(child, Location) else child for child in children(attribute)]
    found.reverse()
    return found


class TextOutput:
    """Collects text in `out`.

    With `aliases` (debug info) locations are printed.  With `elide` the `cuda_tile.` prefix of operations is
    left out, as inside a cuda_tile module.  `lossless` prints the little that NVIDIA's printers leave out although no
    reader could guess it.
    """

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
        """The operations of a block, each after a line end, without an implied terminator."""
        raise NotImplementedError

    def text(self) -> str:
        """All that was printed."""
        return "".join(self.out)

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
        out.append("{")
        for index, block in enumerate(region.blocks):
            if index or is_first_labeled:
                arguments = ", ".join([f"{self.names[a]}: {a.type.text}" for a in block.arguments])
                label = f"^bb{index}" + (f"({arguments})" if arguments else "")
                out.append(f"\n{self.indent}{label}:")
            self.print_block_body(block, omit)
        out.append(f"\n{self.indent}}}")

    def value_list(self, values: list[Value]) -> str:
        names = self.names
        return ", ".join([names[value] for value in values])

    def type_list(self, values: Sequence[Value]) -> str:
        return ", ".join([value.type.spelling for value in values])

    def argument_list(self, region: Region) -> str:
        """The arguments of the first block of a region, with their types."""
        arguments = region.blocks[0].arguments if region.blocks else []
        return ", ".join([f"{self.names[a]}: {a.type.spelling}" for a in arguments])

    def attribute_dictionary(self, operation: Operation, elided: frozenset[str] = _NOTHING, word: str = "") -> None:
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
