"""Numbers for operations, equal where operations are alike.

Of each operation: its `shape` (what it says, without operands, and all that is in it), its `source` (the same with all
that it is computed from) and its `use` (its shape with all that becomes of it).  One change makes the sources of what
is behind it other ones and the uses of what is before it, so that nearly every operation keeps one of the two.

The strict numbers are of operations that agree in types and attributes, the loose ones of those with the same name.
Values are distinguished by where they come from; nothing is found by hash alone, so equal numbers mean equal things.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileir.ir.core import Block, Operation
from tileir.ir.traversal import post_order
from tileir.ir.values import Value


def blocks_of(operation: Operation) -> list[Block]:
    return [block for region in operation.regions for block in region.blocks]


class Numbers:
    """A number for each thing, the same for equal things; shared by what is compared."""

    def __init__(self) -> None:
        self._known: dict[object, int] = {}

    def of(self, thing: object) -> int:
        return self._known.setdefault(thing, len(self._known))


class Keys:
    """The numbers of the operations in a function, each before what it contains."""

    def __init__(self, function: Operation, numbers: Numbers, parameters: dict[Value, int], strict: bool) -> None:
        self.function: Operation = function
        self._numbers: Numbers = numbers
        self._strict: bool = strict
        order = post_order(function)[:-1]
        self.header: dict[Operation, int] = {operation: self._header(operation) for operation in order}
        """What an operation says itself."""
        self.shape: dict[Operation, int] = {}
        self.source: dict[Operation, int] = {}
        self.use: dict[Operation, int] = {}
        self.path: dict[Operation, int] = {function: numbers.of(function.declaration)}
        """What it is in."""
        self._values: dict[Value, object] = dict(parameters)
        # From the outside in: the arguments of a block follow from the operands of the operation around it.
        for operation, is_over in _visits(function):
            if is_over:
                self._set_shape_and_source(operation)
            else:
                self._set_arguments(operation)
        self._set_uses(order)
        for operation in reversed(order):
            parent = operation.parent_operation
            assert parent is not None and operation.parent is not None
            region = operation.parent.parent
            number = parent.regions.index(region) if region is not None and len(parent.regions) > 1 else 0
            self.path[operation] = numbers.of(("path", self.path[parent], number, operation.declaration))

    def _header(self, operation: Operation) -> int:
        if not self._strict:
            return self._numbers.of(("loose", operation.declaration))
        return self._numbers.of(
            (
                operation.declaration,
                frozenset(operation.attributes.items()) if operation.attributes else None,
                operation.segments,
                tuple([result.type for result in operation.results]),
                tuple([tuple([argument.type for argument in block.arguments]) for block in blocks_of(operation)]),
            )
        )

    def _set_shape_and_source(self, operation: Operation) -> None:
        """Shape and source, which are known of everything before and inside."""
        numbers = self._numbers
        header = self.header[operation]
        inside = [inner for block in blocks_of(operation) for inner in block]
        shapes = tuple([self.shape[inner] for inner in inside])
        self.shape[operation] = numbers.of(("shape", header, shapes)) if shapes else header
        taken = self._operands(operation)
        sources = tuple([self.source[inner] for inner in inside])
        self.source[operation] = numbers.of(("source", header, taken, sources))
        for result in operation.results:
            self._values[result] = (self.source[operation], result.index)

    def _operands(self, operation: Operation) -> tuple[object, ...]:
        # A parameter without a partner has no source, nor has a value that an invalid program uses too early.
        return tuple([self._values.get(value, value) for value in operation.operands])

    def _set_arguments(self, owner: Operation) -> None:
        """The arguments of the blocks inside, by what the operation around them is given."""
        around = self._numbers.of(("around", self.header[owner], self._operands(owner)))
        for place, block in enumerate(blocks_of(owner)):
            for argument in block.arguments:
                self._values[argument] = (around, place, argument.index)

    def _set_uses(self, order: list[Operation]) -> None:
        """What becomes of the results.  An operation comes before what it contains, so that its terminators know."""
        uses: dict[Value, list[tuple[int, int]]] = {}
        numbers = self._numbers
        for operation in reversed(order):
            found: list[object] = []
            for result in operation.results:
                found.append(tuple(sorted(uses.get(result, ()))))
            parent = operation.parent_operation
            if operation.parent is not None and operation.parent.last is operation and parent is not self.function:
                # What it hands on becomes what the operation around it gives.
                assert parent is not None
                found.append(self.use[parent])
            number = self.use[operation] = numbers.of(("use", self.shape[operation], tuple(found)))
            for place, value in enumerate(operation.operands):
                uses.setdefault(value, []).append((number, place))


def _visits(function: Operation) -> Iterator[tuple[Operation, bool]]:
    """The operations in a function: those with regions before what they contain, and all after it."""
    stack: list[tuple[Operation, bool]] = [(function, False)]
    while stack:
        operation, is_over = stack.pop()
        if operation is not function and (is_over or operation.regions):
            yield operation, is_over
        if is_over:
            continue
        if operation is not function:
            stack.append((operation, True))
        for block in reversed(blocks_of(operation)):
            stack.extend([(inner, not inner.regions) for inner in reversed(block.operations)])
