"""Operations, blocks and regions; values are in `ir.values`.

There is one class of operation: names, operands and attributes are in its declaration (`ir.declaration`).  The
operations of a block form a linked list, so inserting and erasing take constant time.  Empty lists are shared, because
a program has many operations.
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final, Iterable, Iterator, Sequence
from tileir.ir.accessors import Accessors, plain_attributes
from tileir.ir.attributes import Attribute, StringAttribute
from tileir.ir.interning import HOOKS, ProgramPart
from tileir.ir.location import UNKNOWN, Location
from tileir.ir.quoting import type_text
from tileir.ir.types import Type
from tileir.ir.values import BlockArgument, OperationResult, Value

if TYPE_CHECKING:
    from tileir.ir.declaration import OperationDeclaration


NO_ATTRIBUTES: Final[dict[str, Attribute]] = {}
NO_REGIONS: Final[list[Region]] = []


class Operation(Accessors):
    """One operation.

    `attributes` holds both inherent and discardable attributes; one at its declared default is left out.  Change it
    with `set_attribute` only, since operations may share it; change `operands` with `set_operand` or `set_operands`.
    The `declaration` never changes: to get another operation, replace this one.
    `segments` has the length of each operand group where the declaration has more than one of variable length.
    A new operation is appended to `block`; without one it is in no block.
    Operands, attributes and results have a property by their declared name (`ir.accessors`): `loop.lower_bound`.
    """

    __slots__ = (
        "attributes",
        "declaration",
        "location",
        "next",
        "operands",
        "parent",
        "previous",
        "regions",
        "results",
        "segments",
        "successors",
    )

    def __init__(
        self,
        declaration: OperationDeclaration,
        operands: list[Value],
        result_types: list[Type],
        attributes: dict[str, Attribute] = NO_ATTRIBUTES,
        regions: list[Region] = NO_REGIONS,
        location: Location = UNKNOWN,
        segments: tuple[int, ...] | None = None,
        successors: list[Block] | None = None,
        block: Block | None = None,
    ) -> None:
        self.declaration = declaration
        self.operands = operands
        for value in operands:
            # `Value.add_user` inlined for the first use.
            if value._users is None:
                value._users = self
            else:
                value.add_user(self)
        if len(result_types) == 1:
            self.results = (OperationResult(result_types[0], self, 0),)
        else:
            self.results = tuple([OperationResult(type, self, index) for index, type in enumerate(result_types)])
        self.attributes = attributes
        self.regions: list[Region] = regions
        if regions:
            for region in regions:
                region.parent = self
        self.location: Location = location
        self.segments = segments
        self.successors: list[Block] | None = successors
        self.parent: Block | None = block
        self.next: Operation | None = None
        self.previous: Operation | None = None
        if block is not None:
            last = block.last
            self.previous = last
            if last is None:
                block.first = self
            else:
                last.next = self
            block.last = self

    @property
    def name(self) -> str:
        """The full name, `cuda_tile.addi`."""
        return self.declaration.name

    @property
    def result(self) -> OperationResult:
        """The only result."""
        (only,) = self.results
        return only

    # The regions by their declared names; operands, attributes and results are in `ir.accessors`.

    @property
    def body(self) -> Region:
        return self._region("body")

    @property
    def body_region(self) -> Region:
        return self._region("bodyRegion")

    @property
    def region(self) -> Region:
        return self._region("region")

    @property
    def then_region(self) -> Region:
        return self._region("thenRegion")

    @property
    def else_region(self) -> Region:
        return self._region("elseRegion")

    def _region(self, name: str) -> Region:
        for index, declared in enumerate(self.declaration.regions):
            if declared.name == name:
                return self.regions[index]
        raise self._not_declared(name)

    @property
    def is_unused(self) -> bool:
        """Whether no result is used, or there is none."""
        for result in self.results:
            if result._users:
                return False
        return True

    @property
    def parent_operation(self) -> Operation | None:
        parent = self.parent
        if parent is None or parent.parent is None:
            return None
        return parent.parent.parent

    @property
    def symbol_name(self) -> str | None:
        value = self.attributes.get("sym_name")
        return value.value if isinstance(value, StringAttribute) else None

    def is_before(self, other: Operation) -> bool:
        """Whether this operation comes before another one of the same block."""
        cursor = self.next
        while cursor is not None:
            if cursor is other:
                return True
            cursor = cursor.next
        return False

    def is_ancestor_of(self, other: Operation) -> bool:
        """Whether `other` is this operation or nested in it."""
        cursor: Operation | None = other
        while cursor is not None:
            if cursor is self:
                return True
            cursor = cursor.parent_operation
        return False

    def walk(self) -> Iterator[Operation]:
        """This operation and all nested ones, each before what it contains."""
        yield self
        # An explicit stack, because programs may nest deeply: further blocks, and where to continue in others.
        pending: list[Block | Operation | None] = []
        for region in reversed(self.regions):
            pending.extend(reversed(region.blocks))
        while pending:
            start = pending.pop()
            cursor = start.first if isinstance(start, Block) else start
            while cursor is not None:
                following = cursor.next
                yield cursor
                if cursor.regions:
                    pending.append(following)
                    for region in reversed(cursor.regions):
                        pending.extend(reversed(region.blocks))
                    break
                cursor = following

    def set_attribute(self, name: str, value: object) -> None:
        """Set an attribute; None, or the declared default, removes it.

        Strings, numbers, booleans, types, lists and dictionaries are converted to attributes; one that the declaration
        does not accept is a `TypeError`.
        """
        if not isinstance(name, str):
            raise TypeError(f"the name of an attribute is a string, not {type_text(name)}")
        attribute: Attribute | None = None
        if value is not None:
            attribute = value if isinstance(value, Attribute) else self._plain_attribute(name, value)
        keep = attribute is not None and self.declaration.defaults.get(name) is not attribute
        if not keep and name not in self.attributes:
            return
        attributes = dict(self.attributes)
        if attribute is not None and keep:
            attributes[name] = attribute
        else:
            del attributes[name]
        self.attributes = attributes if attributes else NO_ATTRIBUTES

    def _plain_attribute(self, name: str, value: object) -> Attribute:
        """The attribute a Python value stands for: where it is declared, one that the declaration accepts."""
        declared = self.declaration.inherent.get(name)
        if declared is None:
            return plain_attributes(value)[0]
        found = declared.attribute_of(value)
        if found is None:
            expected = declared.constraint.description or declared.constraint.kind
            raise TypeError(f"attribute '{name}' of '{self.name}' takes {expected}, which {value!r} does not stand for")
        return found

    def set_operand(self, index: int, value: Value) -> None:
        if not isinstance(value, Value):
            raise TypeError(f"an operand is a Value, not {type_text(value)}")
        old = self.operands[index]
        if old is not value:
            old.drop_user(self)
            self.operands[index] = value
            value.add_user(self)

    def set_operands(self, operands: Iterable[Value], segments: tuple[int, ...] | None = None) -> None:
        values = list(operands)
        for value in values:
            if not isinstance(value, Value):
                raise TypeError(f"an operand is a Value, not {type_text(value)}")
        for value in self.operands:
            value.drop_user(self)
        for value in values:
            value.add_user(self)
        self.operands = values
        self.segments = segments

    def detach(self) -> None:
        """Take the operation out of its block; it keeps its operands and results."""
        block = self.parent
        if block is None:
            return
        if self.previous is None:
            block.first = self.next
        else:
            self.previous.next = self.next
        if self.next is None:
            block.last = self.previous
        else:
            self.next.previous = self.previous
        self.parent = self.previous = self.next = None

    def drop_all_references(self) -> None:
        """Forget the operands of this operation and of everything nested in it."""
        for operation in self.walk():
            for value in operation.operands:
                value.drop_user(operation)
            operation.operands = []

    def erase(self) -> None:
        """Remove the operation for good.  Its results must be unused."""
        if not self.is_unused:
            raise ValueError(f"cannot erase '{self.name}': a result is still used")
        self.detach()
        self.drop_all_references()

    def replace_with(self, values: Sequence[Value]) -> None:
        """Replace all uses of the results by `values`, then erase the operation."""
        if not isinstance(values, (list, tuple)):
            raise TypeError(f"an operation is replaced by a list of values, not by {type_text(values)}")
        if len(values) != len(self.results):
            raise ValueError(f"'{self.name}' has {len(self.results)} results, but {len(values)} values replace them")
        for value in values:
            if not isinstance(value, Value):
                raise TypeError(f"a result is replaced by a Value, not by {type_text(value)}")
        for result, value in zip(self.results, values, strict=True):
            result.replace_all_uses_with(value)
        self.erase()

    def text(
        self, *, generic: bool = False, debug_info: bool = False, names: str = "public", version: str | None = None
    ) -> str:
        """The printed form: with `generic` MLIR's generic one, with `debug_info` locations too.

        `names` are "public", as NVIDIA's tools name constants, or "draft", as the printer draft does.  `version`,
        "13.1" to "13.5", is the version of the dialect whose spellings are used, the newest if not given.
        """
        return HOOKS.print_operation(self, generic, debug_info, names, version)

    def __str__(self) -> str:
        return self.text()

    def __deepcopy__(self, memo: dict[int, object]) -> object:
        """A clone, in no block.  `copy.copy` does the same: what is in an operation is in one only."""
        return HOOKS.clone(self, memo)


class Module(Operation):
    """A program: the outermost operation, `cuda_tile.module` or the `builtin.module` around it."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return HOOKS.html(self)


def as_module(root: Operation) -> Module:
    """The module with the contents of a module's operation."""
    return Module(root.declaration, [], [], root.attributes, root.regions, root.location)


class Block(ProgramPart):
    """A list of operations with arguments."""

    __slots__ = ("arguments", "first", "last", "parent")

    def __init__(self, argument_types: Iterable[Type] | None = None) -> None:
        self.arguments: list[BlockArgument] = []
        self.first: Operation | None = None
        self.last: Operation | None = None
        self.parent: Region | None = None
        if argument_types is not None:
            for type in argument_types:
                self.add_argument(type)

    def add_argument(self, type: Type, location: Location = UNKNOWN) -> BlockArgument:
        if not isinstance(type, Type):
            raise TypeError(f"an argument has a Type, not {type!r}")
        argument = BlockArgument(type, self, len(self.arguments), location)
        self.arguments.append(argument)
        return argument

    def append(self, operation: Operation) -> None:
        if not isinstance(operation, Operation):
            raise TypeError(f"a block holds operations, not {type_text(operation)}")
        last = self.last
        operation.parent = self
        operation.previous = last
        if last is None:
            self.first = operation
        else:
            last.next = operation
        self.last = operation

    def insert_before(self, operation: Operation, before: Operation | None) -> None:
        """Insert in front of `before`, at the end when it is None."""
        if before is None:
            self.append(operation)
            return
        if not isinstance(operation, Operation):
            raise TypeError(f"a block holds operations, not {type_text(operation)}")
        operation.parent = self
        operation.next = before
        operation.previous = before.previous
        if before.previous is None:
            self.first = operation
        else:
            before.previous.next = operation
        before.previous = operation

    @property
    def parent_operation(self) -> Operation | None:
        return self.parent.parent if self.parent is not None else None

    @property
    def operations(self) -> list[Operation]:
        """The operations as a list; a copy."""
        return list(self)

    def __iter__(self) -> Iterator[Operation]:
        cursor = self.first
        while cursor is not None:
            following = cursor.next
            yield cursor
            cursor = following

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return True


class Region(ProgramPart):
    """A list of blocks inside an operation."""

    __slots__ = ("blocks", "parent")

    def __init__(self, blocks: Iterable[Block] | None = None) -> None:
        self.blocks: list[Block] = []
        self.parent: Operation | None = None
        if blocks is not None:
            for block in blocks:
                self.append(block)

    def append(self, block: Block) -> None:
        if not isinstance(block, Block):
            raise TypeError(f"a region holds blocks, not {type_text(block)}")
        block.parent = self
        self.blocks.append(block)

    @property
    def block(self) -> Block:
        """The only block."""
        (only,) = self.blocks
        return only


class InsertionPoint:
    """Where operations are inserted: in front of `before`, or at the end of `block`."""

    __slots__ = ("before", "block")

    def __init__(self, block: Block, before: Operation | None = None) -> None:
        self.block: Block = block
        self.before: Operation | None = before

    def insert(self, operation: Operation) -> Operation:
        self.block.insert_before(operation, self.before)
        return operation
