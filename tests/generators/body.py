"""A block that is being filled: the values in sight, new operations, and values made to order."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.generators.attributes import AttributeSource, dense
from tests.generators.locations import LocationSource
from tests.generators.types import TypeSource

from tileir.dialect.types import (
    DYNAMIC,
    STRING,
    TOKEN,
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    TensorViewType,
    TileType,
    TileViewType,
    pointer_type,
    scalar_tile,
    tile_type,
)
from tileir.ir.attributes import Attribute
from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import NO_MEMORY_EFFECT, PURE, SEGMENTS
from tileir.ir.types import I4, I8, I32, I64, Type
from tileir.ir.values import Value
from tileir.ir.versions import V13_4, Version


class Program:
    """What is the same for the whole module being made."""

    def __init__(
        self,
        rng: Random,
        version: Version,
        operations: list[OperationDeclaration],
        draft_forms: bool,
        discardable: bool,
    ) -> None:
        self.rng = rng
        self.version = version
        self.operations = operations
        self.allowed = {declaration.mnemonic for declaration in operations}
        self.draft_forms = draft_forms
        self.discardable = discardable
        self.types = TypeSource(rng, version)
        self.attributes = AttributeSource(rng, version, draft_forms)
        # The global variables: symbol and element type.
        self.globals: list[tuple[str, Type]] = []
        # How many more operations to draw.
        self.remaining = 0


class Body:
    """One block.  `pure` allows only what the body of a reduction may hold.

    `loop` is the loop that break and continue would leave: its name, the types a continue carries, the types a break
    carries.  `may_return` tells whether the kernel may end here.
    """

    def __init__(
        self,
        program: Program,
        locations: LocationSource,
        block: Block,
        parent: Body | None = None,
        *,
        pure: bool = False,
        depth: int = 0,
    ) -> None:
        self.program = program
        self.rng = program.rng
        self.types = program.types
        self.attributes = program.attributes
        self.version = program.version
        self.locations = locations
        self.block = block
        self.parent = parent
        self.pure = pure
        self.depth = depth
        self.loop: tuple[str, list[Type], list[Type]] | None = None
        self.may_return = False
        self.values: list[Value] = list(block.arguments)
        self.by_type: dict[Type, list[Value]] = {}
        for argument in block.arguments:
            self.by_type.setdefault(argument.type, []).append(argument)

    def child(self, argument_types: list[Type], pure: bool = False) -> Body:
        """A new block for a region of an operation that will stand here."""
        body = Body(
            self.program,
            self.locations,
            Block(argument_types),
            self,
            pure=pure or self.pure,
            depth=self.depth + 1,
        )
        return body

    # --- operations ---

    def add(
        self,
        name: str,
        operands: list[Value],
        result_types: list[Type],
        attributes: dict[str, Attribute] | None = None,
        regions: list[Region] | None = None,
        segments: tuple[int, ...] | None = None,
    ) -> Operation:
        """Append an operation, with a location and now and then something that rides along."""
        declaration = REGISTRY.by_name[f"cuda_tile.{name}"]
        found = self.with_extras(declaration, attributes or {})
        if segments is None and declaration.traits & SEGMENTS:
            raise ValueError(f"{name} needs segments")
        operation = Operation(
            declaration,
            operands,
            result_types,
            found if found else NO_ATTRIBUTES,
            regions if regions else NO_REGIONS,
            self.locations.location(),
            segments,
        )
        self.block.append(operation)
        declared = declaration.results
        for number, result in enumerate(operation.results):
            since = declared[number].since if number < len(declared) else None
            if since is not None and since > self.version:
                # There all the same, but a file of this version cannot refer to it.
                continue
            self.values.append(result)
            self.by_type.setdefault(result.type, []).append(result)
        return operation

    def with_extras(
        self, declaration: OperationDeclaration, attributes: dict[str, Attribute], dotted: bool = False
    ) -> dict[str, Attribute]:
        """The attributes without those at their default, sometimes with a discardable one."""
        found = {name: value for name, value in attributes.items() if declaration.defaults.get(name) is not value}
        if self.program.discardable and self.rng.random() < 0.06:
            name = self.attributes.discardable_name(dotted)
            if name not in declaration.inherent:
                found[name] = self.attributes.anything()
        return found

    def is_allowed(self, declaration: OperationDeclaration) -> bool:
        """Whether an operation without regions may stand in this block."""
        if not self.pure:
            return True
        return bool(declaration.traits & (PURE | NO_MEMORY_EFFECT if self.version >= V13_4 else PURE))

    # --- values ---

    def find(self, type: Type) -> Value | None:
        """Some value of a type that can be seen from here."""
        found: list[Value] = []
        body: Body | None = self
        while body is not None:
            found += body.by_type.get(type, ())
            body = body.parent
        return self.rng.choice(found) if found else None

    def value(self, type: Type) -> Value:
        """A value of a type: mostly one that is there, else a new one."""
        found = self.find(type)
        if found is not None and self.rng.random() < 0.85:
            return found
        return self.fresh(type)

    def fresh(self, type: Type) -> Value:
        """A new value of a type, made from a constant."""
        if type is TOKEN:
            return self.add("make_token", [], [TOKEN]).results[0]
        if isinstance(type, TileType):
            return self._fresh_tile(type)
        if isinstance(type, TensorViewType):
            return self._fresh_tensor_view(type)
        if isinstance(type, TileViewType):
            return self.fresh_tile_view(type)
        if type is STRING:
            return self.add("unrealized_conversion_cast", [], [STRING]).results[0]
        raise ValueError(f"no way to make a '{type.text}'")

    def _fresh_tile(self, type: TileType) -> Value:
        element = type.element
        if isinstance(element, PointerType):
            return self.add("int_to_ptr", [self.value(tile_type(type.shape, I64))], [type]).results[0]
        if element is I4:
            return self.add("trunci", [self.value(tile_type(type.shape, I8))], [type]).results[0]
        return self.add("constant", [], [type], {"value": dense(self.rng, type)}).results[0]

    def _fresh_tensor_view(self, type: TensorViewType) -> Value:
        if self.pure and self.parent is not None and self.version < V13_4:
            # Made outside: the operation this block belongs to is not in its own block yet.
            return self.parent.value(type)
        base = self.value(scalar_tile(pointer_type(type.element, type.attribute)))
        size = scalar_tile(self.rng.choice((I32, I64)))
        shape = [self.value(size) for extent in type.shape if extent == DYNAMIC]
        strides = [self.value(size) for stride in type.strides if stride == DYNAMIC]
        segments = (1, len(shape), len(strides))
        return self.add("make_tensor_view", [base, *shape, *strides], [type], segments=segments).results[0]

    def fresh_tile_view(self, type: TileViewType) -> Value:
        if isinstance(type, PartitionViewType):
            name = "make_partition_view"
        elif isinstance(type, GatherScatterViewType):
            name = "make_gather_scatter_view"
        else:
            name = "make_strided_view"
        return self.add(name, [self.value(type.tensor)], [type]).results[0]

    def some_tile(self, wanted: type[Type] | tuple[type[Type], ...] | None = None, least_rank: int = 0) -> Value:
        """A tile of any shape from `least_rank` on, mostly one that is there, whose element is of a class."""
        body: Body | None = self
        for _ in range(6):
            if body is None or not body.values:
                break
            value = self.rng.choice(body.values)
            type = value.type
            if isinstance(type, TileType) and type.rank >= least_rank:
                if wanted is None or isinstance(type.element, wanted):
                    return value
            if self.rng.random() < 0.3:
                body = body.parent
        elements = [e for e in self.types.elements if wanted is None or isinstance(e, wanted)]
        return self.value(self.types.tile(elements, self.types.shape(least_rank)))


Builder = Callable[[Body], Operation | None]
"""Appends a random operation of one kind to a block; None when it did not work out."""
