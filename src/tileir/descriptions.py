"""What a debugger and a notebook show of a part of a program: one short line, whatever the size of the program.

The text of a program is `str`; this is `repr`.  Nothing here walks a program: names of values, which take the whole
function to work out, are left out, and of long lists the beginning is shown.
"""

from __future__ import annotations

from itertools import islice

from tileir.annotations import Final
from tileir.ir.attributes import SymbolAttribute
from tileir.ir.core import Block, Operation, Region
from tileir.ir.diagnostics import location_prefix
from tileir.ir.location import Location
from tileir.ir.quoting import harmless, several
from tileir.ir.types import Type
from tileir.ir.values import BlockArgument, OperationResult

# The most types or names of a list that are shown, and the most operations of a block that are counted.
_SHOWN: Final = 4
_COUNTED: Final = 1000
_LONGEST_NAME: Final = 60


def described(thing: object) -> str:
    """The line for an operation, a block, a region or a value."""
    if isinstance(thing, Operation):
        # `<Operation cuda_tile.addf (tile<8xf32>, tile<8xf32>) -> tile<8xf32> at a.mlir:5:12>`
        return f"<{type(thing).__name__} {_operation_words(thing)}{_place(thing.location)}>"
    if isinstance(thing, OperationResult):
        # `<OperationResult 0 of cuda_tile.addf: tile<8xf32>, 2 uses at a.mlir:5:12>`
        owner = thing.operation
        return f"<OperationResult {thing.index} of {_named(owner)}: {_facts(thing)}{_place(owner.location)}>"
    if isinstance(thing, BlockArgument):
        # `<BlockArgument 0 of cuda_tile.entry @k: tile<ptr<f32>>, 2 uses>`
        of = _named(thing.block.parent_operation, "a block of no operation")
        return f"<BlockArgument {thing.index} of {of}: {_facts(thing)}>"
    if isinstance(thing, Block):
        # `<Block of cuda_tile.for, (tile<i32>), 12 operations>`
        arguments = f", ({_types([argument.type for argument in thing.arguments])})" if thing.arguments else ""
        return f"<Block of {_named(thing.parent_operation)}{arguments}, {_counted(thing)}>"
    if isinstance(thing, Region):
        # `<Region 1 of cuda_tile.if, 1 block>`
        regions = thing.parent.regions if thing.parent is not None else []
        number = "".join([f"{number} " for number, each in enumerate(regions) if each is thing])
        return f"<Region {number}of {_named(thing.parent)}, {several(len(thing.blocks), 'block')}>"
    return f"<{type(thing).__name__}>"


def _operation_words(operation: Operation) -> str:
    words = _named(operation)
    if operation.operands or operation.results:
        words += f" ({_types([value.type for value in operation.operands])})"
    if operation.results:
        words += f" -> {_types([value.type for value in operation.results])}"
    blocks = [block for region in operation.regions for block in region.blocks]
    if blocks:
        words += f" {{{_contents(blocks[0]) if len(blocks) == 1 else several(len(blocks), 'block')}}}"
    return words


def function_words(function: Operation) -> str:
    """`@k(tile<ptr<f32>>, tile<i32>)`."""
    arguments = function.regions[0].blocks[0].arguments
    return f"@{_cut(function.symbol_name or '')}({_types([argument.type for argument in arguments])})"


def _facts(value: OperationResult | BlockArgument) -> str:
    return f"{_cut(value.type.spelling)}, {several(value.use_count, 'use')}"


def _named(operation: Operation | None, nothing: str = "no operation") -> str:
    """The name of an operation and, where it defines or refers to one, of a symbol."""
    if operation is None:
        return nothing
    if operation.symbol_name is not None:
        return f"{operation.name} @{_cut(operation.symbol_name)}"
    symbols = [value.text for value in operation.attributes.values() if isinstance(value, SymbolAttribute)]
    return f"{operation.name} {_cut(symbols[0])}" if symbols else operation.name


def _contents(block: Block) -> str:
    """The symbols in a block, or how many operations there are."""
    symbols = [operation.symbol_name for operation in islice(block, _SHOWN + 1)]
    names = [f"@{_cut(symbol)}" for symbol in symbols[:_SHOWN] if symbol is not None]
    if None in symbols:
        return _counted(block)
    return ", ".join([*names, *["..."] * (len(symbols) > _SHOWN)]) or "nothing"


def _counted(block: Block) -> str:
    count = sum([1 for _ in islice(block, _COUNTED + 1)])
    return several(count, "operation") if count <= _COUNTED else f"more than {_COUNTED} operations"


def _types(types: list[Type]) -> str:
    shown = ", ".join([_cut(type.spelling) for type in types[:_SHOWN]])
    return shown if len(types) <= _SHOWN else f"{shown}, ... {len(types)} in all"


def _place(location: Location) -> str:
    where = location_prefix(location).removesuffix(": ")
    return f" at {_cut(where)}" if where else ""


def _cut(text: str) -> str:
    shown = text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 3] + "..."
    return harmless(shown)
