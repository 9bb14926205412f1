"""Which memory an access can reach, as far as the program alone shows.

The **provenance** of a pointer is the parameters, globals or `alloca` it is computed from, or unknown (memory, an
integer, a loop).  An offset may lead it into another array.  So the **origin** of an access, which decides what may be
reordered, is its provenance only for a view that is the same for the whole launch, and checked to lie in its array
before the first tile block runs (`cpu/codegen/bounds.py`).  Two accesses never alias if both origins are known and
disjoint.

A launch where parameters share memory with each other or with a global, or where a view leaves its array, runs a second
version of the code, for which all of them are one origin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from tileir.dialect import ops
from tileir.dialect.types import PointerType, TensorViewType, TileType
from tileir.ir.core import Operation
from tileir.ir.traits import ELEMENTWISE, PURE
from tileir.ir.values import BlockArgument, Value

Origin = frozenset[object]

UNKNOWN: Final = "unknown"
PARAMETER: Final = "parameter"

_TILE_VIEWS: Final = (ops.MAKE_PARTITION_VIEW, ops.MAKE_STRIDED_VIEW, ops.MAKE_GATHER_SCATTER_VIEW)
_THROUGH: Final = (
    ops.OFFSET, ops.BROADCAST, ops.RESHAPE, ops.PERMUTE, ops.EXTRACT, ops.INSERT, ops.CAT, ops.SELECT, ops.ASSUME,
    ops.PTR_TO_PTR, ops.BITCAST, ops.MAKE_TENSOR_VIEW, *_TILE_VIEWS,
)  # fmt: skip
_UNIFORM: Final = (
    ops.ASSUME, ops.MAKE_TENSOR_VIEW, ops.GET_INDEX_SPACE_SHAPE, ops.GET_TENSOR_SHAPE, ops.GET_NUM_TILE_BLOCKS,
    ops.GET_GLOBAL, *_TILE_VIEWS,
)  # fmt: skip
RENAMED: Final = (ops.RESHAPE, ops.BROADCAST)  # What makes of one element the same element.


class Origins:
    """The origins of the pointers and views of one kernel; with `overlapping`, parameters may share memory."""

    def __init__(self, entry: Operation, overlapping: bool) -> None:
        self._entry: Operation = entry
        self._overlapping: bool = overlapping
        self._known: dict[Value, Origin] = {}
        self._constants: dict[Value, bool] = {}

    def of(self, value: Value) -> Origin:
        """Whose memory an access through a tile of pointers or a view can reach."""
        found = self.provenance(value)
        return found if self.stays_in_array(value) else found | {UNKNOWN}

    def provenance(self, value: Value) -> Origin:
        """Where a pointer, a tile of pointers or the pointer of a view comes from."""
        # Not recursive: a chain of offsets may be long.
        chain, within = [value], {value}
        while chain and value not in self._known:
            missing = [each for each in self._sources(chain[-1]) if each not in self._known and each not in within]
            chain += missing
            within.update(missing)
            if not missing:
                top = chain.pop()
                within.discard(top)
                self._known[top] = self._combined(top)
        return self._known[value]

    def _sources(self, value: Value) -> list[Value]:
        operation = value.defining_operation
        if operation is None or operation.declaration not in _THROUGH:
            return []
        return [operand for operand in operation.operands if _leads_to_memory(operand)]

    def _combined(self, value: Value) -> Origin:
        operation = value.defining_operation
        if operation is None:
            assert isinstance(value, BlockArgument)
            if value.block.parent_operation is self._entry:
                return frozenset([PARAMETER if self._overlapping else value])
            return frozenset([UNKNOWN])
        declaration = operation.declaration
        if declaration is ops.GET_GLOBAL:
            return frozenset([PARAMETER if self._overlapping else str(operation.attributes["name"])])
        if declaration is ops.ALLOCA:
            return frozenset([operation])
        sources = self._sources(value)
        if not sources:
            return frozenset([UNKNOWN])
        return frozenset().union(*[self._known.get(source, frozenset([UNKNOWN])) for source in sources])

    def never_alias(self, first: Origin, second: Origin) -> bool:
        return UNKNOWN not in first and UNKNOWN not in second and not first & second

    # --- views that are the same for the whole launch ---

    def stays_in_array(self, value: Value) -> bool:
        """Whether a view lies in the array it is made from: one that is checked before the first tile block."""
        tensor = tensor_of(value)
        return tensor is not None and self.is_uniform_view(tensor)

    def is_uniform_view(self, tensor: Operation) -> bool:
        """Whether a `make_tensor_view` makes the same view of one argument or global in all tile blocks."""
        if self._overlapping or not self._is_simple(tensor.results[0]):
            return False
        array = self.only_array(tensor.results[0])
        return array is not None and not isinstance(array, Operation)

    def only_array(self, value: Value) -> object | None:
        """The only array that a pointer comes from: a parameter, the name of a global, an `alloca`; None if several."""
        origin = self.provenance(value)
        if len(origin) != 1 or UNKNOWN in origin or PARAMETER in origin:
            return None
        return next(iter(origin))

    def _is_simple(self, value: Value) -> bool:
        """Whether a value is made of scalars that are known before the first tile block."""

        def is_simple(each: Value, operation: Operation | None) -> bool:
            if isinstance(each.type, TileType) and each.type.count != 1:
                return False
            known = (*_UNIFORM, *RENAMED, ops.CONSTANT, ops.OFFSET, ops.SELECT)
            return operation is None or operation.declaration in known or operation.declaration.has_trait(ELEMENTWISE)

        return self._derives(value, is_simple, {})

    def is_launch_constant(self, value: Value) -> bool:
        """Whether a value is the same for all tile blocks of a launch."""

        def is_constant(each: Value, operation: Operation | None) -> bool:
            declaration = operation.declaration if operation is not None else None
            is_known = declaration is None or declaration.has_trait(PURE) or declaration in _UNIFORM
            return is_known and declaration is not ops.GET_TILE_BLOCK_ID

        return self._derives(value, is_constant, self._constants)

    def _derives(
        self, value: Value, holds: Callable[[Value, Operation | None], bool], known: dict[Value, bool]
    ) -> bool:
        """Whether something holds for a value and all that it is computed from, without regions, up to parameters."""
        pending, seen, found = [value], {value}, True
        while pending and found:
            each = pending.pop()
            operation = each.defining_operation
            if each in known:
                found = known[each]
            elif operation is None:
                found = cast(BlockArgument, each).block.parent_operation is self._entry and holds(each, None)
            else:
                found = not operation.regions and holds(each, operation)
                fresh = [source for source in operation.operands if source not in seen]
                seen.update(fresh)
                pending += fresh
        known.update(dict.fromkeys(seen, True) if found else {value: False})
        return found


def tensor_of(value: Value) -> Operation | None:
    """The `make_tensor_view` of a view; None for pointers, and where it is not known."""
    operation = value.defining_operation
    while operation is not None and operation.declaration in (*_TILE_VIEWS, ops.ASSUME):
        operation = operation.operands[0].defining_operation
    if operation is None or operation.declaration is not ops.MAKE_TENSOR_VIEW:
        return None
    return operation if isinstance(operation.results[0].type, TensorViewType) else None


def likely_origin(entry: Operation, value: Value) -> object | None:
    """The array that a pointer most likely stays in: a parameter, the name of a global or an `alloca`.  A guess."""
    seen: set[Value] = set()
    while value not in seen:
        seen.add(value)
        operation = value.defining_operation
        if operation is None:
            assert isinstance(value, BlockArgument)
            parent = value.block.parent_operation
            if parent is entry or parent is None:
                return value
            # What a loop carries begins as one of its operands.
            first = 2 if parent.declaration is ops.FOR else 0
            place = first + value.index
            if not parent.declaration.is_loop or not first <= place < len(parent.operands):
                return None
            value = parent.operands[place]
            continue
        declaration = operation.declaration
        if declaration is ops.GET_GLOBAL:
            return str(operation.attributes["name"])
        if declaration is ops.ALLOCA:
            return operation
        sources = [operand for operand in operation.operands if _leads_to_memory(operand)]
        if declaration.is_loop:
            number = [result is value for result in operation.results].index(True)
            sources = operation.operands[3:][number : number + 1] if declaration is ops.FOR else []
        elif declaration not in _THROUGH:
            sources = []
        if not sources:
            return None
        value = sources[0]
    return None


def _leads_to_memory(value: Value) -> bool:
    return not isinstance(value.type, TileType) or isinstance(value.type.element, PointerType)
