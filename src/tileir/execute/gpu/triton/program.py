"""A kernel made ready to be lowered: alone in a module, with operations that lowering knows, and views by number."""

from __future__ import annotations

from typing import Final

from tileir.dialect.ops import ADDI, ASSUME, CONSTANT, ENTRY, EXTI, MAKE_TENSOR_VIEW, MULI, OFFSET, SUBI
from tileir.dialect.types import DYNAMIC, PointerType, TensorViewType, TileType
from tileir.execute.analysis.values import scalar_constant
from tileir.execute.dtypes import memory_bytes
from tileir.execute.gpu.errors import TritonError
from tileir.execute.gpu.triton.code import LaunchValue, LaunchView, argument, constant
from tileir.execute.gpu.triton.preparing.simplify import count_loops, fold_known, sink_loads
from tileir.execute.launching.entries import select_entry
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, PassError
from tileir.ir.traversal import clone, pre_order
from tileir.ir.types import IntegerType
from tileir.ir.values import BlockArgument, Value
from tileir.passes import canonicalize, cse, legalize
from tileir.passes.registry import PassSession

_ARITHMETIC: Final = {ADDI: "addi", SUBI: "subi", MULI: "muli"}


class Program:
    """What is lowered."""

    def __init__(self, entry: Operation) -> None:
        self.source: Final = entry
        self.warnings: Final[list[Diagnostic]] = []
        module = entry.parent_operation
        assert module is not None, "a kernel stands in a module"
        copy = clone(module)
        for operation in [each for region in copy.regions for block in region.blocks for each in block]:
            if operation.declaration is ENTRY and operation.symbol_name != entry.symbol_name:
                operation.erase()
        self._legalize(copy)
        canonicalize.run(copy, PassSession())
        cse.run(copy)
        folded, counted = fold_known(copy), count_loops(copy)
        if folded + counted:
            canonicalize.run(copy, PassSession())
            cse.run(copy)
        self.changes: Final = {
            "known values that became constants": folded,
            "loops that became `for`": counted,
            "loads moved behind reductions": sink_loads(copy),
        }
        """How many of each there are, for the dump of decisions."""
        self.module: Final = copy
        self.entry: Final = select_entry(copy, entry.symbol_name)
        self.parameters: Final = self.entry.regions[0].blocks[0].arguments
        made = [each for each in pre_order(self.entry) if each.declaration is MAKE_TENSOR_VIEW]
        self.views: Final = [_view(each) for each in made]
        """The tensor views, in the order in which they stand."""
        self.number_of: Final = {operation: number for number, operation in enumerate(made)}

    def _legalize(self, module: Operation) -> None:
        """What only the drafts have, by other operations; what has no equal is refused, with the engine that has it."""
        try:
            legalize.run(module, self.warnings)
        except PassError as error:
            first = error.diagnostics[0]
            first.message += "; backend='cpu' or 'interpreter' has it"
            raise TritonError(error.diagnostics) from None


def _view(operation: Operation) -> LaunchView:
    type = operation.results[0].type
    assert isinstance(type, TensorViewType)
    dynamic_shape = iter(operation.dynamic_shape)
    dynamic_strides = iter(operation.dynamic_strides)
    return LaunchView(
        launch_value(operation.operands[0]),
        tuple([launch_value(next(dynamic_shape)) if n == DYNAMIC else constant(n) for n in type.shape]),
        tuple([launch_value(next(dynamic_strides)) if n == DYNAMIC else constant(n) for n in type.strides]),
        memory_bytes(type.element),
    )


def launch_value(value: Value) -> LaunchValue | None:
    """A scalar as an expression of the kernel's arguments; None if only the kernel knows it."""
    if isinstance(value, BlockArgument):
        block = value.parent_block
        owner = None if block is None or block.parent is None else block.parent.parent
        return argument(value.index) if owner is not None and owner.declaration is ENTRY else None
    operation = value.defining_operation
    if operation is None or not isinstance(value.type, TileType) or value.type.shape:
        return None
    declaration = operation.declaration
    if declaration is ASSUME:
        return launch_value(operation.operands[0])
    if declaration is CONSTANT:
        number = scalar_constant(value) if isinstance(value.type.element, IntegerType) else None
        return None if number is None else constant(number)
    if declaration is EXTI and operation.signedness == "signed":
        return launch_value(operation.operands[0])
    if declaration is OFFSET and isinstance(value.type.element, PointerType):
        base, index = [launch_value(operand) for operand in operation.operands]
        if base is None or index is None:
            return None
        size = memory_bytes(value.type.element.pointee)
        return ("addi", base, ("muli", index, constant(size), 64), 64)
    kind = _ARITHMETIC.get(declaration)
    if kind is not None and isinstance(value.type.element, IntegerType):
        left, right = [launch_value(operand) for operand in operation.operands]
        if left is not None and right is not None:
            return (kind, left, right, value.type.element.width)
    return None
