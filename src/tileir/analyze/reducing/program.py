"""A program that is being reduced, its launch, and how it is written to a file."""

from __future__ import annotations

import re
from _blake2 import blake2b
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from tileir.bytecode.layouts import to_bytes
from tileir.bytecode.primitives import BytecodeError
from tileir.dialect.rules import signature
from tileir.dialect.types import PointerType, TileType
from tileir.execute.arguments.argument_text import LaunchDescription, specification, stated_launch
from tileir.execute.cache.structural_digest import structural_digest
from tileir.execute.launching.entries import entries_of
from tileir.ir.attributes import Attribute, EnumAttribute, UnitAttribute, spell, type_attribute
from tileir.ir.core import Operation
from tileir.ir.location import UNKNOWN, CharacterLocation, TextLocation
from tileir.ir.traversal import clone, is_function, pre_order
from tileir.ir.types import Type, function_type
from tileir.ir.values import BlockArgument, Value
from tileir.ir.versions import Version


class Origin(NamedTuple):
    """What a function was at first: its name, and the number of each parameter that is left."""

    name: str
    parameters: tuple[int, ...]


class Program:
    """A module, its operations in program order, and the origins of its functions, by their names now.

    `origins` lets a test that launches a kernel find it, and drop the arguments of removed parameters.  `grid` is that
    of the launch, if there is one.
    """

    def __init__(
        self, module: Operation, origins: dict[str, Origin] | None = None, grid: tuple[int, ...] | None = None
    ) -> None:
        self.grid: tuple[int, ...] | None = grid
        self.module: Operation = module
        self.operations: list[Operation] = pre_order(module)
        """In program order, each before what it contains."""
        if origins is None:
            functions = [function for _, function in functions_with_bodies(self)]
            names = [(function.symbol_name or "", len(parameters(function))) for function in functions]
            origins = {name: Origin(name, tuple(range(count))) for name, count in names}
        self.origins: dict[str, Origin] = origins
        self.copies: dict[Value, Value] = {}
        """The values of the program that this is a copy of, and what they are here."""

    @classmethod
    def original(cls, module: Operation) -> Program:
        """A copy of a module to begin with, without the positions in the text that it was read from."""
        found = cls(clone(module))
        for item in found._located():
            if isinstance(item.location, (TextLocation, CharacterLocation)):
                item.location = UNKNOWN
        return found

    def copy(self) -> Program:
        """A copy whose operations have the same positions."""
        copies: dict[Value, Value] = {}
        found = Program(clone(self.module, copies), dict(self.origins), self.grid)
        found.copies = copies
        return found

    def edited(self, edit: Edit) -> Program | None:
        """A copy with an edit applied; None if the edit does not apply."""
        candidate = self.copy()
        if edit(candidate) is False:
            return None
        candidate.operations = pre_order(candidate.module)
        return candidate

    def block_arguments(self) -> list[BlockArgument]:
        regions = [region for operation in self.operations for region in operation.regions]
        return [argument for region in regions for block in region.blocks for argument in block.arguments]

    @property
    def has_locations(self) -> bool:
        return any(item.location is not UNKNOWN for item in self._located())

    def _located(self) -> list[Operation | BlockArgument]:
        return [*self.operations, *self.block_arguments()]

    def digest(self) -> bytes:
        """What a test sees of the program, as a hash."""
        # Locations do not count in the structure, and the text does not show how regions are grouped.
        text = self.module.text(debug_info=True) if self.has_locations else ""
        content = structural_digest(self.module) + f"{self.grid}{text}".encode("utf-8", "surrogateescape")
        return blake2b(content, digest_size=20).digest()


Edit = Callable[[Program], bool | None]
"""Changes a copy of the best program in place; False if it does not apply.

It addresses operations by their positions in program order, and values by `Program.copies`.
"""


def at(position: int, change: Callable[..., bool | None], *arguments: object) -> Edit:
    """The edit that changes the operation at a position."""
    return lambda program: change(program.operations[position], *arguments)


def functions_with_bodies(program: Program) -> list[tuple[int, Operation]]:
    """The functions that have a body, with their positions."""
    return [
        (position, operation)
        for position, operation in enumerate(program.operations)
        if is_function(operation) and operation.regions and operation.regions[0].blocks
    ]


def parameters(function: Operation) -> list[BlockArgument]:
    return function.regions[0].blocks[0].arguments


def update_signature(function: Operation) -> None:
    """Give a function the type that its parameters demand."""
    inputs = tuple([argument.type for argument in parameters(function)])
    old = signature(function)
    if inputs != old.inputs:
        function.set_attribute("function_type", type_attribute(function_type(inputs, old.results)))


# --- the launch: arguments go with their parameters, and change with their types ---


def launch_of(original: LaunchDescription, program: Program) -> tuple[LaunchDescription, Operation] | None:
    """The launch of a candidate, and the kernel that it is for: the only one, or the one that had the name.

    None if the kernel is gone.
    """
    entries = entries_of(program.module)
    for name, entry in entries.items():
        origin = program.origins[name]
        if origin.name == original.entry or (original.entry is None and len(entries) == 1):
            left, given = zip(parameters(entry), origin.parameters, strict=True), original.arguments
            words = [_fitting(given[number], parameter.type) for parameter, number in left if number < len(given)]
            grid = original.grid if program.grid is None else program.grid
            return LaunchDescription(grid, words, None if original.entry is None else name), entry
    return None


def arguments_of(words: LaunchDescription, entry: Operation) -> list[Any]:
    """The arguments of a launch; arrays from files are converted to the element types of the parameters."""
    import numpy

    from tileir.execute.dtypes import value_dtype

    found = words.launch(entry).copies()
    for index, (value, parameter) in enumerate(zip(found, parameters(entry), strict=False)):
        pointee = _pointee(parameter.type)
        if isinstance(value, numpy.ndarray) and pointee is not None and value.dtype != value_dtype(pointee):
            found[index] = value.astype(value_dtype(pointee))
    return found


def _pointee(type: Type) -> Type | None:
    return type.element.pointee if isinstance(type, TileType) and isinstance(type.element, PointerType) else None


def _fitting(word: str, type: Type) -> str:
    """An argument for a parameter whose type may have changed."""
    described = specification(word)
    pointee = _pointee(type)
    if described is None or pointee is None or described.element is pointee:
        return word
    return described.with_type(pointee.spelling)


def stated_launches(text: str, program: Program) -> list[LaunchDescription]:
    return [launch for name in program.origins if (launch := stated_launch(text, name)) is not None]


def text_of_cpp(source: str, module: Operation) -> bytes:
    """What is reduced of a C++ source: its program as text, with the launches that the source states, by symbols."""
    launches = [(name, stated_launch(source, name)) for name in entries_of(module)]
    stated = [LaunchDescription(found.grid, found.arguments, name).comment() for name, found in launches if found]
    return "\n".join([*stated, module.text(debug_info=True), ""]).encode("utf-8", "surrogateescape")


class ProgramFile:
    """How programs are written: as text, or as bytecode of a version.

    A text begins with comments that state the launches of the candidate.
    """

    def __init__(self, version: Version | None = None, launches: Sequence[LaunchDescription] = ()) -> None:
        self.version: Version | None = version
        self.launches: list[LaunchDescription] = list(launches)

    @property
    def extension(self) -> str:
        return ".mlir" if self.version is None else ".tileirbc"

    def data(self, program: Program) -> bytes | None:
        """The contents of a file; None where bytecode of the version cannot hold the program."""
        if self.version is not None:
            try:
                return to_bytes(program.module, self.version)
            except BytecodeError:
                return None
        text = program.module.text(debug_info=program.has_locations)
        stated = [found[0] for launch in self.launches if (found := launch_of(launch, program)) is not None]
        # A comment does not name files.
        lines = [each.comment() for each in stated if not any(word.endswith(".npy") for word in each.arguments)]
        return "\n".join([*lines, text, ""]).encode("utf-8", "surrogateescape")


# --- how simple a program is ---
# A total order, in which every accepted candidate is below the one before.  Operations count most, then what they are
# connected with, then types, then attributes; at last values that are defined earlier are simpler than later ones.

Weight = tuple[int, int, int, int, int]

# Longer texts are cut off: their ends do not make a program simpler.
_LONGEST: Final = 1 << 12
_DIGITS: Final = re.compile("[0-9]+")


def weight(program: Program) -> Weight:
    """The weight of a program: operations, connections, types, attributes, order."""
    connections = sum([extent.bit_length() for extent in program.grid or ()])
    types = attributes = order = 0
    positions: dict[Value, int] = {}
    for operation in program.operations:
        blocks = [block for region in operation.regions for block in region.blocks]
        arguments = [argument for block in blocks for argument in block.arguments]
        connections += len(operation.operands) + len(operation.results) + len(blocks) + len(arguments)
        order += sum([positions.get(value, 0) for value in operation.operands])
        for value in (*operation.results, *arguments):
            types += _text_weight(value.type.text)
            positions[value] = len(positions)
        for name, attribute in operation.attributes.items():
            attributes += 1 + (attribute_weight(attribute) if name != "function_type" else 0)
        if operation.location is not UNKNOWN:
            attributes += 1 + attribute_weight(operation.location)
        attributes += 2 * sum([argument.location is not UNKNOWN for argument in arguments])
    return (len(program.operations), connections, types, attributes, order)


@lru_cache(maxsize=4096)
def attribute_weight(attribute: Attribute) -> int:
    """The first keyword is simpler than the others, a short text than a long one, zero than one than other numbers."""
    if isinstance(attribute, UnitAttribute):
        return 0
    if isinstance(attribute, EnumAttribute):
        return list(attribute.kind.cases).index(attribute.keyword) if attribute.keyword in attribute.kind.cases else 9
    return _text_weight(spell(attribute, limit=_LONGEST))


@lru_cache(maxsize=4096)
def _text_weight(text: str) -> int:
    """Fewer dimensions, elements and bits are simpler."""
    numbers = [int(digits) for digits in _DIGITS.findall(text[:_LONGEST])]
    return min(len(text), _LONGEST) + sum([2 * number.bit_length() + min(number, 8) for number in numbers])
