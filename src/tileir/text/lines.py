"""Lines of operations that are alike: they differ in names only, so the rest of the line is made once.

A line is found out by printing an operation that takes different values, each under a mark for a name.  What stands
between the marks is the same for all operations of one `Operation.structural_key`, since directives look at an
operation, its attributes and its types, and of its values at their names alone.
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final
from tileir.dialect.ops import CONSTANT
from tileir.ir.core import NO_REGIONS, Block, Operation
from tileir.ir.declaration import ONE, OperationDeclaration
from tileir.ir.dense import DenseAttribute
from tileir.ir.enums import EnumAttribute
from tileir.ir.interning import IS_COMPILED
from tileir.ir.values import Value
from tileir.text.attribute_syntax import AttributeDictionary, Flag, TrailingType
from tileir.text.directive import FullTypeOf, Literal, OperandRow, SingleOperand, TypeOf
from tileir.text.format import Assembly, assembly_of

if TYPE_CHECKING:
    from tileir.text.printer import Printer

# Strings are quoted, so that nothing but what is carried without a look inside can have this character.
MARK: Final = "\0"

# So many pieces of text are put together at a time: their memory is then used again for the next ones.
_PIECES: Final = 2048


class PlainHead:
    """What stands around the operands and types in the line of an operation without attributes.

    It `is_plain` if that is operands and the type of the result, with `start` before them and `end` between.  Where it
    is operands and types, `count` is how many operands there are, and -1 otherwise: then `marks` stand before the
    types, which are those of the operands with the numbers `places`, or of the result where that is -1.  It `is_arrow`
    if it is one operand, its type and that of the result.
    """

    __slots__ = ("count", "end", "is_arrow", "is_plain", "marks", "places", "start")

    def __init__(self, name: str, declaration: OperationDeclaration, assembly: Assembly | None) -> None:
        middle = assembly.plain_middle if assembly is not None else None
        self.is_plain: bool = middle is not None
        self.start: str = f" = {name} "
        self.end: str = f"{middle} : "
        self.marks: list[str] = []
        self.places: list[int] = []
        self.count: int = -1
        if assembly is not None and middle is None and _has_single_values(declaration, assembly):
            self.count = self._types(assembly, len(declaration.operands))
        if not self.count:
            self.start = f" = {name}"
        self.is_arrow: bool = self.count == 1 and self.places == [0, -1]

    def _types(self, assembly: Assembly, count: int) -> int:
        """Find out what stands before the types; give the number of operands, or -1 where there is anything else."""
        pieces = list(assembly.directives)
        if count and not isinstance(pieces.pop(0), OperandRow if count > 1 else SingleOperand):
            return -1
        mark = ""
        for piece in pieces:
            type: TypeOf | None = None
            if isinstance(piece, TrailingType):
                mark += " : "
                type = piece.type
            elif isinstance(piece, Literal):
                mark += piece.lead + piece.text
            elif isinstance(piece, TypeOf) and piece.index >= 0 and not isinstance(piece, FullTypeOf):
                mark += piece.lead
                type = piece
            elif not isinstance(piece, (AttributeDictionary, Flag)):
                return -1
            if type is not None:
                self.marks.append(mark)
                self.places.append(-1 if type.is_result else type.index)
                mark = ""
        return count if self.marks and not mark else -1

    def types(self, operation: Operation) -> str:
        """The types of an operation, with all that stands before them."""
        text = ""
        operands = operation.operands
        for index, mark in enumerate(self.marks):
            place = self.places[index]
            spelling = operands[place].type.spelling if place >= 0 else operation.results[0].type.spelling
            text = f"{text}{mark}{spelling}"
        return text


def _has_single_values(declaration: OperationDeclaration, assembly: Assembly) -> bool:
    return declaration.plain_operands and not assembly.segmented and assembly.result_counts == [ONE]


class Line:
    """What the lines of operations that are alike have in common, behind the names of the results.

    `pieces` stand in front of the operands with the numbers `places`, and `end` behind the last.  `count` is how many
    operands there are where they stand in their order, each once, and -1 otherwise.
    """

    __slots__ = ("count", "end", "pieces", "places")

    def __init__(self, text: str) -> None:
        parts = text.split(MARK)
        self.pieces: list[str] = parts[:-1:2]
        self.places: list[int] = []
        self.end: str = parts[-1]
        in_order = True
        for index in range(1, len(parts), 2):
            place = int(parts[index])
            in_order = in_order and place == len(self.places)
            self.places.append(place)
        self.count: int = len(self.places) if in_order else -1


# What is known of lines that came once and twice: most of them do not come again.
_ONCE: Final = Line("")
_TWICE: Final = Line("")


class Lines:
    """What is known of lines: of the plainest by declaration, of others by structural key, from the third on."""

    __slots__ = ("heads", "known")

    def __init__(self) -> None:
        self.heads: dict[OperationDeclaration, PlainHead] = {}
        self.known: dict[tuple[object, ...], Line] = {}


def print_lines(printer: Printer, block: Block, omit: Operation | None, lines: Lines) -> None:
    """The operations of a block, the most common lines of all in one piece: operands and the type of the result."""
    out = printer.out
    names = printer.names
    indent = printer.indent
    heads = lines.heads
    aliases = printer.aliases
    constant_start = "" if printer.generic else f" = {printer.custom_name(CONSTANT)} <"
    tail = "\n"
    # Whether the operations are named here, as they come.
    naming = printer.naming
    numbered = naming.numbered
    is_naming = naming.waiting is block
    if is_naming:
        naming.waiting = None
    # Whether their names are kept in the row: interpreted, a dictionary is faster.
    keeps = IS_COMPILED and is_naming
    operation = block.first
    while operation is not None:
        if operation is omit:
            operation = operation.next
            continue
        if len(out) > _PIECES and printer.in_pieces and not printer.aside:
            printer.done.append("".join(out))
            out.clear()
        if operation.regions or operation.successors is not None:
            if is_naming:
                # What is inside takes numbers behind those of the whole block.
                is_naming = keeps = False
                naming.bring_all()
                naming.name_rest(operation)
            printer.print_scope(operation)
            out.append("\n")
            operation = operation.next
            continue
        if aliases is not None:
            tail = aliases.tail(operation.location)
        operands = operation.operands
        results = operation.results
        result = ""
        if len(results) == 1:
            declaration = operation.declaration
            attributes = operation.attributes
            if not is_naming:
                result = names[results[0]]
            elif declaration.is_numbered:
                number = naming.numbers
                if number < len(numbered):
                    result = numbered[number]
                    naming.numbers = number + 1
                else:
                    result = naming.next_number()
                if keeps:
                    naming.keep(results[0], result)
                else:
                    names[results[0]] = result
            else:
                result = naming.result_name(operation)
                if keeps:
                    naming.keep(results[0], result)
                else:
                    names[results[0]] = result
            if not attributes:
                head = heads.get(declaration)
                if head is None:
                    head = heads[declaration] = _plain_head(printer, declaration)
                if head.is_plain:
                    type = results[0].type.spelling
                    if len(operands) == 2:
                        if keeps:
                            first, second = naming.name(operands[0]), naming.name(operands[1])
                        else:
                            first, second = names[operands[0]], names[operands[1]]
                        out.append(f"{indent}{result}{head.start}{first}, {second}{head.end}{type}{tail}")
                    elif len(operands) == 1:
                        first = naming.name(operands[0]) if keeps else names[operands[0]]
                        out.append(f"{indent}{result}{head.start}{first}{head.end}{type}{tail}")
                    else:
                        row = naming.row(operands) if keeps else ", ".join([names[value] for value in operands])
                        out.append(f"{indent}{result}{head.start}{row}{head.end}{type}{tail}")
                    operation = operation.next
                    continue
                if len(operands) == head.count:
                    if head.is_arrow:
                        taken = operands[0]
                        start, middle = taken.type.spelling, head.marks[1]
                        type = f"{head.marks[0]}{start}{middle}{results[0].type.spelling}"
                        first = naming.name(taken) if keeps else names[taken]
                        out.append(f"{indent}{result}{head.start}{first}{type}{tail}")
                    else:
                        row = naming.row(operands) if keeps else ", ".join([names[value] for value in operands])
                        out.append(f"{indent}{result}{head.start}{row}{head.types(operation)}{tail}")
                    operation = operation.next
                    continue
            elif declaration is CONSTANT and constant_start and len(attributes) == 1:
                # Nearly each has a value of its own.
                value = attributes.get("value")
                if isinstance(value, DenseAttribute):
                    element, type = value.element_type.spelling, value.type.spelling
                    out.append(f"{indent}{result}{constant_start}{element}: {value.literal}> : {type}{tail}")
                    operation = operation.next
                    continue
        elif results:
            if is_naming:
                naming.name_results(operation)
            result = printer.result_names(operation)
        line = _known_line(printer, operation, lines)
        if line is None:
            if keeps:
                naming.bring(operands)
            out.append(f"{indent}{result} = " if results else indent)
            printer.print_rest(operation)
            out.append(tail)
            operation = operation.next
            continue
        if line.count == 2:
            start, middle = line.pieces
            if keeps:
                first, second = naming.name(operands[0]), naming.name(operands[1])
            else:
                first, second = names[operands[0]], names[operands[1]]
            out.append(f"{indent}{result}{start}{first}{middle}{second}{line.end}{tail}")
        elif line.count == 1:
            first = naming.name(operands[0]) if keeps else names[operands[0]]
            out.append(f"{indent}{result}{line.pieces[0]}{first}{line.end}{tail}")
        else:
            out.append(indent)
            out.append(result)
            pieces = line.pieces
            for index, place in enumerate(line.places):
                out.append(pieces[index])
                out.append(naming.name(operands[place]) if keeps else names[operands[place]])
            out.append(line.end)
            out.append(tail)
        operation = operation.next


def _plain_head(printer: Printer, declaration: OperationDeclaration) -> PlainHead:
    assembly = assembly_of(declaration) if declaration.syntax and not printer.generic else None
    if assembly is not None and assembly.doubtful is not None:
        assembly = None
    return PlainHead(printer.custom_name(declaration), declaration, assembly)


def _known_line(printer: Printer, operation: Operation, lines: Lines) -> Line | None:
    """What the line of an operation has in common with those of all that are like it, if there are enough of them."""
    known = lines.known
    key = operation.structural_key()
    line = known.get(key)
    if line is None:
        known[key] = _ONCE
        return None
    if line is _ONCE:
        known[key] = _TWICE
        return None
    if line is _TWICE:
        found = _line_of(printer, operation)
        if found is None:
            return None
        known[key] = line = found
    return line


def _line_of(printer: Printer, operation: Operation) -> Line | None:
    """What operations like this one have in common; None where marks would be taken for something else."""
    if _has_mark(operation):
        return None
    out, printer.out = printer.out, []
    names, printer.names = printer.names, {}
    try:
        example = example_of(operation, printer.names)
        printer.out.append(" = " if operation.results else "")
        printer.print_rest(example)
        return Line("".join(printer.out))
    finally:
        printer.out, printer.names = out, names


def _has_mark(operation: Operation) -> bool:
    for value in operation.operands:
        if MARK in value.type.text:
            return True
    for result in operation.results:
        if MARK in result.type.text:
            return True
    for attribute in operation.attributes.values():
        if not isinstance(attribute, EnumAttribute) and MARK in attribute.text:
            return True
    return False


def example_of(operation: Operation, names: dict[Value, str]) -> Operation:
    """An operation like another one that takes different values, whose names are marks around their numbers."""
    for number, value in enumerate(operation.operands):
        names[value] = f"{MARK}{number}{MARK}"
    if len(names) == len(operation.operands):
        return operation
    names.clear()
    operands: list[Value] = []
    for value in operation.operands:
        taken = Value(value.type)
        names[taken] = f"{MARK}{len(operands)}{MARK}"
        operands.append(taken)
    types = [result.type for result in operation.results]
    return Operation(
        operation.declaration,
        operands,
        types,
        operation.attributes,
        NO_REGIONS,
        operation.location,
        operation.segments,
    )
