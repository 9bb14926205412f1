"""Programs through `pickle`: for `multiprocessing`, for caches, for errors that cross processes.

Types, attributes and locations come back as the one object there is.  An operation carries the whole program it is
part of, and comes back as the same operation of a copy of it; so do values, blocks and regions.  Everything is flat
lists of numbers: a program may nest deeper than Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from tileir.bytecode.container import BytecodeOrigin, Container, Section
from tileir.bytecode.documented.attributes import (
    DenseStringAttribute,
    VerifiedDivByAttribute,
    dense_string_attribute,
    verified_div_by,
)
from tileir.dialect import attributes as dialect
from tileir.dialect import debug_info
from tileir.dialect import types as tiles
from tileir.dialect.enums import ENUM_KINDS
from tileir.dialect.ops import BUILTIN_MODULE, MODULE
from tileir.ir import attributes, dense, location, types
from tileir.ir.core import Block, Operation, Region, as_module
from tileir.ir.diagnostics import Code, Diagnostic, TileIRError
from tileir.ir.interning import Reduced
from tileir.ir.quoting import type_text
from tileir.ir.registry import REGISTRY, unregistered
from tileir.ir.values import BlockArgument, OperationResult, Value
from tileir.ir.versions import Version
from tileir.text import printer as _printer  # noqa: F401  (installs the printer of operations)

Parts = tuple[object, ...]
# For each class what makes one, and the arguments of that: fields of the object, or a function that returns them.
Recipe = tuple[type, Callable[..., object], str | Callable[[Any], Parts]]


def _origin(data: bytes, version: Version, tag: int, sections: tuple[tuple[int, ...], ...]) -> BytecodeOrigin:
    return BytecodeOrigin(Container(data, version, tag, [Section(*section) for section in sections]))


def _origin_parts(origin: BytecodeOrigin) -> Parts:
    file = origin.file
    sections = [(s.identifier, s.header, s.alignment, s.start, s.end) for s in file.order]
    return file.data, file.version, file.tag, tuple(sections)


def _diagnostic(
    severity: str, message: str, where: location.Location, code: str, values: dict[str, str], *notes: Diagnostic
) -> Diagnostic:
    return Diagnostic(severity, message, where, list(notes), Code(code, **values))


_RECIPES: list[Recipe] = [
    (types.IntegerType, types.integer_type, lambda t: (t.width, t.spelling.partition("i")[0])),
    (types.FloatType, lambda name: types.FLOAT_TYPES[name], "name"),
    (types.FunctionType, types.function_type, "inputs results"),
    (types.OpaqueType, types.opaque_type, "text"),
    (tiles.TileType, tiles.tile_type, "shape element"),
    (tiles.PointerType, tiles.pointer_type, "pointee attribute"),
    (tiles.TensorViewType, tiles.tensor_view_type, "element shape strides attribute"),
    (tiles.PartitionViewType, tiles.partition_view_type, "tile_shape tensor padding dim_map"),
    (tiles.StridedViewType, tiles.strided_view_type, "tile_shape tensor traversal_strides padding dim_map"),
    (tiles.GatherScatterViewType, tiles.gather_scatter_view_type, "tile_shape tensor sparse_dim padding"),
    (tiles.TokenType, lambda: tiles.TOKEN, ""),
    (tiles.StringType, lambda: tiles.STRING, ""),
    (attributes.UnitAttribute, lambda: attributes.UNIT, ""),
    (attributes.IntegerAttribute, attributes.integer_attribute, "type value"),
    (attributes.FloatAttribute, attributes.float_attribute, "type bits"),
    (attributes.StringAttribute, attributes.string_attribute, "value"),
    (attributes.TypeAttribute, attributes.type_attribute, "type"),
    (attributes.SymbolAttribute, attributes.symbol_attribute, lambda a: a.path),
    (attributes.ArrayAttribute, attributes.array_attribute, "elements"),
    (attributes.DictionaryAttribute, lambda entries: attributes.dictionary_attribute(dict(entries)), "entries"),
    (attributes.DenseArrayAttribute, attributes.dense_array_attribute, "element_type values"),
    (attributes.EnumAttribute, lambda kind, keyword: ENUM_KINDS[kind][keyword], lambda a: (a.kind.name, a.keyword)),
    (dense.DenseAttribute, dense.dense_attribute, "type shape element_type data"),
    (attributes.OpaqueAttribute, attributes.opaque_attribute, "spelling"),
    (DenseStringAttribute, dense_string_attribute, "shape strings"),
    (VerifiedDivByAttribute, verified_div_by, lambda a: (dialect.div_by(a.divisor, a.every, a.along),)),
    (dialect.DivByAttribute, dialect.div_by, "divisor every along"),
    (dialect.BoundedAttribute, dialect.bounded, "lower upper strict"),
    (dialect.SameElementsAttribute, dialect.same_elements, "values"),
    (dialect.OptimizationHintsAttribute, dialect.optimization_hints, "entries"),
    (dialect.CuteAttribute, dialect.cute_attribute, "kind term"),
    (location.UnknownLocation, lambda: location.UNKNOWN, ""),
    (BytecodeOrigin, _origin, _origin_parts),
    (location.FileLocation, location.file_location, "file line column"),
    (location.NameLocation, location.name_location, "name child"),
    (location.CallSiteLocation, location.call_site_location, "callee caller"),
    (location.FusedLocation, location.fused_location, "locations metadata"),
    (location.OpaqueLocation, location.OpaqueLocation, "handle fallback"),
    (location.CharacterLocation, location.CharacterLocation, "source token offset"),
    (location.TextLocation, location.TextLocation, "source token"),
    (location.SourceText, location.SourceText, "text name token_pattern first_line"),
    (debug_info.DIFile, debug_info.di_file, "name directory"),
    (debug_info.DICompileUnit, debug_info.di_compile_unit, "file"),
    (debug_info.DISubprogram, debug_info.di_subprogram, "file line name linkage_name compile_unit scope_line flags"),
    (debug_info.DILexicalBlock, debug_info.di_lexical_block, "scope file line column"),
    (debug_info.DILocation, debug_info.di_location, "source scope"),
    (Diagnostic, _diagnostic, lambda d: (d.severity, d.message, d.location, d.code, d.values, *d.notes)),
]
_RECIPE_OF: dict[type, Recipe] = {recipe[0]: recipe for recipe in _RECIPES}
_BY_NAME: dict[str, Callable[..., object]] = {kind.__name__: make for kind, make, _ in _RECIPES}


class _Part:
    """A placeholder that is pickled instead of an object; the parts of the object come before it in a flat list."""

    def __init__(self, kind: type, parts: Parts) -> None:
        self.kind: type = kind
        self.parts: Parts = parts

    def __reduce__(self) -> Reduced:
        return made, (self.kind.__name__, *self.parts)


def made(kind: str, *parts: object) -> object:
    """A thing of a kind again."""
    return _BY_NAME[kind](*parts)


class ObjectTable:
    """Types, attributes, locations and diagnostics, each once and after those it is made of."""

    def __init__(self) -> None:
        self.list: list[_Part] = []
        # By identity: it holds the things and their parts, so that no number is used twice.
        self._known: dict[int, tuple[_Part, object, Parts]] = {}

    def part(self, thing: object) -> _Part:
        """What stands for a thing, which is added if it is new."""
        waiting = [thing]
        while waiting:
            last = waiting[-1]
            if id(last) in self._known:
                waiting.pop()
                continue
            if type(last) not in _RECIPE_OF:
                raise TypeError(f"{type_text(last)} cannot be pickled")
            _, _, fields = _RECIPE_OF[type(last)]
            parts = tuple([getattr(last, f) for f in fields.split()]) if isinstance(fields, str) else fields(last)
            missing = [part for part in _things_in(parts) if id(part) not in self._known]
            if missing:
                waiting.extend(missing)
                continue
            self.list.append(_Part(type(last), tuple([self._replaced(part) for part in parts])))
            self._known[id(last)] = self.list[-1], last, parts
        return self._known[id(thing)][0]

    def _replaced(self, part: object) -> object:
        if isinstance(part, tuple):
            return tuple([self._replaced(inner) for inner in part])
        return self._known[id(part)][0] if type(part) in _RECIPE_OF else part


def _things_in(part: object) -> list[object]:
    if isinstance(part, tuple):
        return [thing for inner in part for thing in _things_in(inner)]
    return [part] if type(part) in _RECIPE_OF else []


def _program_rows(root: Operation) -> tuple[list[_Part], list[Parts], list[Parts]]:
    """The things, blocks and operations of a program; values are numbered results first, then block arguments."""
    operations = list(root.walk())
    blocks = [block for operation in operations for region in operation.regions for block in region.blocks]
    number_of = {operation: number for number, operation in enumerate(operations)}
    block_numbers = {block: number for number, block in enumerate(blocks)}
    results: list[Value] = [result for operation in operations for result in operation.results]
    arguments: list[Value] = [argument for block in blocks for argument in block.arguments]
    values = {value: number for number, value in enumerate([*results, *arguments])}
    things = ObjectTable()
    rows: list[Parts] = []
    for operation in operations:
        if any(operand not in values for operand in operation.operands):
            raise TypeError(f"'{operation.name}' cannot be pickled: it takes a value of another program")
        row = (
            operation.name,
            operation.declaration.unregistered,
            [values[operand] for operand in operation.operands],
            [things.part(result.type) for result in operation.results],
            {name: things.part(value) for name, value in operation.attributes.items()},
            [[block_numbers[block] for block in region.blocks] for region in operation.regions],
            things.part(operation.location),
            operation.segments,
            None if operation.successors is None else [block_numbers[block] for block in operation.successors],
        )
        rows.append(row)
    block_rows: list[Parts] = []
    for block in blocks:
        given = [(things.part(argument.type), things.part(argument.location)) for argument in block.arguments]
        block_rows.append((given, [number_of[operation] for operation in block]))
    return things.list, block_rows, rows


def restored_program(things: list[object], block_rows: list[Any], rows: list[Any]) -> Operation:
    """The program of such lists; the rows hold the things."""
    blocks = [Block() for _ in block_rows]
    operations: list[Operation] = []
    for name, is_unregistered, _, results, given, regions, where, segments, successors in rows:
        declaration = unregistered(name) if is_unregistered else REGISTRY.by_name[name]
        bodies = [Region([blocks[number] for number in region]) for region in regions]
        new = Operation(declaration, [], results, location=where, segments=segments)
        if given:
            new.attributes = given
        if bodies:
            new.regions = bodies
            for body in bodies:
                body.parent = new
        if successors is not None:
            new.successors = [blocks[number] for number in successors]
        operations.append(new)
    values: list[Value] = [result for operation in operations for result in operation.results]
    for block, (arguments, contents) in zip(blocks, block_rows, strict=True):
        values += [block.add_argument(type, where) for type, where in arguments]
        for number in contents:
            block.append(operations[number])
    for operation, row in zip(operations, rows, strict=True):
        if row[2]:
            operation.set_operands([values[number] for number in row[2]], row[7])
    root = operations[0]
    return as_module(root) if root.declaration in (MODULE, BUILTIN_MODULE) else root


def restored_thing(things: list[object]) -> object:
    return things[-1]


def restored_operation(root: Operation, number: int) -> Operation:
    for operation in islice(root.walk(), number, None):
        return operation
    raise ValueError("the program has changed since an operation of it was pickled")


def restored_part(owner: Operation | Region | Block, kind: str, number: int) -> object:
    """One of the regions or results of an operation, the blocks of a region, the arguments of a block."""
    return getattr(owner, kind)[number]


def restored_error(
    kind: type[TileIRError], things: list[object], diagnostics: list[Diagnostic], state: dict[str, Any]
) -> TileIRError:
    """Not through its own constructor, which has arguments of its own."""
    error = kind.__new__(kind)
    error.args = (diagnostics,)
    for name, value in {**state, "diagnostics": diagnostics}.items():
        setattr(error, name, value)
    return error


def reduced(thing: object) -> Reduced:
    """What `__reduce__` returns for a part of a program."""
    if isinstance(thing, Operation):
        root = thing
        while root.parent_operation is not None:
            root = root.parent_operation
        if root.parent is not None:
            raise TypeError(f"'{thing.name}' cannot be pickled: it is in a block that belongs to no operation")
        if root is thing:
            return restored_program, _program_rows(root)
        return restored_operation, (root, list(root.walk()).index(thing))
    if isinstance(thing, OperationResult):
        return restored_part, (thing.operation, "results", thing.index)
    if isinstance(thing, BlockArgument):
        return restored_part, (thing.block, "arguments", thing.index)
    if isinstance(thing, Region) and thing.parent is not None:
        return restored_part, (thing.parent, "regions", thing.parent.regions.index(thing))
    if isinstance(thing, Block) and thing.parent is not None:
        return restored_part, (thing.parent, "blocks", thing.parent.blocks.index(thing))
    if isinstance(thing, (Region, Block, Value)):
        raise TypeError(f"{type_text(thing)} that belongs to no operation cannot be pickled")
    things = ObjectTable()
    if isinstance(thing, TileIRError):
        diagnostics = [things.part(diagnostic) for diagnostic in thing.diagnostics]
        state = {name: value for name, value in vars(thing).items() if name != "diagnostics"}
        return restored_error, (type(thing), things.list, diagnostics, state)
    things.part(thing)
    return restored_thing, (things.list,)
