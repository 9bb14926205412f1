"""Values whose types can only change together: connected by what carries them from one place to another.

A value has an address: its number among all values of a program, which is the same in every copy.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from tileir.analyze.reducing.program import Program
from tileir.dialect.ops import BREAK, FOR, IF, LOOP, YIELD
from tileir.dialect.types import PointerType, TensorViewType, TileType, TileViewType
from tileir.ir.core import Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import CONTROL_FLOW, ENDS_ITERATION, TERMINATOR
from tileir.ir.types import Type
from tileir.ir.values import Value

Node = TypeVar("Node", bound=Hashable)


class Classes(Generic[Node]):
    """Things that belong together, in the order in which they were first met."""

    def __init__(self) -> None:
        self._parent: dict[Node, Node] = {}

    def find(self, node: Node) -> Node:
        parent = self._parent
        root = parent.setdefault(node, node)
        while parent[root] != root:
            root = parent[root]
        while parent[node] != root:
            parent[node], node = root, parent[node]
        return root

    def join(self, left: Node, right: Node) -> None:
        self._parent[self.find(right)] = self.find(left)

    def all(self) -> list[list[Node]]:
        found: dict[Node, list[Node]] = {}
        for node in list(self._parent):
            found.setdefault(self.find(node), []).append(node)
        return list(found.values())


def values_of(program: Program) -> list[Value]:
    """All values, in an order that copies share."""
    found: list[Value] = []
    for operation in program.operations:
        found.extend(operation.results)
        for region in operation.regions:
            for block in region.blocks:
                found.extend(block.arguments)
    return found


def carried_pairs(operation: Operation) -> Iterator[tuple[Value, Value]]:
    """Values that are the same one at different moments of control flow."""
    declaration = operation.declaration
    if declaration is FOR:
        body = operation.regions[0].blocks[0]
        for initial, argument in zip(operation.operands[3:], body.arguments[1:], strict=False):
            yield initial, argument
        for initial, result in zip(operation.operands[3:], operation.results, strict=False):
            yield initial, result
        for bound in operation.operands[1:3]:
            yield operation.operands[0], bound
        if body.arguments:
            yield operation.operands[0], body.arguments[0]
    elif declaration is LOOP:
        yield from zip(operation.operands, operation.regions[0].blocks[0].arguments, strict=False)
    elif declaration.has_trait(ENDS_ITERATION):
        loop = _loop_around(operation)
        if loop is not None:
            if declaration is BREAK:
                yield from zip(loop.results, operation.operands, strict=False)
            else:
                carried = loop.operands[3:] if loop.declaration is FOR else loop.operands
                yield from zip(carried, operation.operands, strict=False)
    elif declaration is YIELD:
        around = operation.parent_operation
        if around is not None and around.declaration is IF:
            yield from zip(around.results, operation.operands, strict=False)


def _loop_around(operation: Operation) -> Operation | None:
    around = operation.parent_operation
    while around is not None and around.declaration is IF:
        around = around.parent_operation
    return around if around is not None and around.declaration.is_loop else None


CARRIES = (*REGISTRY.with_traits(CONTROL_FLOW), *REGISTRY.with_traits(TERMINATOR))
"""What says with `carried_pairs` all there is to say about its operands and results."""


def shape_of(type: Type) -> tuple[int, ...]:
    """The extents of a tile, or of the tiles of a view."""
    if isinstance(type, TileType):
        return type.shape
    return type.tile_shape if isinstance(type, TileViewType) else ()


def core_element(type: Type) -> Type | None:
    """The number type of a tile, of what its pointers point to, or of a view."""
    if isinstance(type, TileType):
        return type.element.pointee if isinstance(type.element, PointerType) else type.element
    if isinstance(type, TileViewType):
        return type.tensor.element
    return type.element if isinstance(type, TensorViewType) else None
