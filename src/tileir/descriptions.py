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

# Of a list of types or names, so many; of a block, so many operations are counted.
_SHOWN: Final = 4
_COUNTED: Final = 1000
_LONGEST_NAME: Final = 60


def described(thing: object) -> str:
    """The line for an operation, a block, a region or a value."""
    if isinstance(thing, Operation):
        return _operation_words(thing)
    if isinstance(thing, Block):
        return _block_words(thing)
    if isinstance(thing, Region):
        return _region_words(thing)
    if isinstance(thing, OperationResult):
        return _result_words(thing)
    if isinstance(thing, BlockArgument):
        return _argument_words(thing)
    return f"<{type(thing).__name__}>"


def _operation_words(operation: Operation) -> str:
    """`<Operation cuda_tile.addf (tile<8xf32>, tile<8xf32>) -> tile<8xf32> at a.mlir:5:12>`."""
    words = _named(operation)
    if operation.operands or operation.results:
        words += f" ({_types([value.type for value in operation.operands])})"
    if operation.results:
        words += f" -> {_types([value.type for value in operation.results])}"
    contents = [block for region in operation.regions for block in region.blocks]
    if len(contents) == 1:
        words += f" {{{_contents(contents[0])}}}"
    elif contents:
        words += f" {{{several(len(contents), 'block')}}}"
    return f"<Operation {words}{_place(operation.location)}>"


def function_words(function: Operation) -> str:
    """`@k(tile<ptr<f32>>, tile<i32>)`."""
    arguments = function.regions[0].blocks[0].arguments
    return f"@{_cut(function.symbol_name or '')}({_types([argument.type for argument in arguments])})"


def _result_words(value: OperationResult) -> str:
    """`<OperationResult 0 of cuda_tile.addf: tile<8xf32>, 2 uses, at a.mlir:5:12>`."""
    owner = value.operation
    facts = f"{_cut(value.type.spelling)}, {several(value.use_count, 'use')}"
    return f"<OperationResult {value.index} of {_named(owner)}: {facts}{_place(owner.location)}>"


def _argument_words(value: BlockArgument) -> str:
    """`<BlockArgument 0 of cuda_tile.entry @k: tile<ptr<f32>>, 2 uses>`."""
    owner = value.block.parent_operation
    of = _named(owner) if owner is not None else "a block of no operation"
    return f"<BlockArgument {value.index} of {of}: {_cut(value.type.spelling)}, {several(value.use_count, 'use')}>"


def _block_words(block: Block) -> str:
    """`<Block of cuda_tile.for, (tile<i32>), 12 operations>`."""
    owner = block.parent_operation
    of = f"of {_named(owner)}" if owner is not None else "of no operation"
    arguments = f", ({_types([argument.type for argument in block.arguments])})" if block.arguments else ""
    return f"<Block {of}{arguments}, {_counted(block)}>"


def _region_words(region: Region) -> str:
    """`<Region 1 of cuda_tile.if, 1 block>`."""
    owner = region.parent
    number = next((at for at, each in enumerate(owner.regions) if each is region), -1) if owner is not None else -1
    of = f"{number} of {_named(owner)}" if owner is not None else "of no operation"
    return f"<Region {of}, {several(len(region.blocks), 'block')}>"


def _named(operation: Operation) -> str:
    """The name of an operation and, where it defines or refers to one, of a symbol."""
    symbol = operation.symbol_name
    if symbol is not None:
        return f"{operation.name} @{_cut(symbol)}"
    for value in operation.attributes.values():
        if isinstance(value, SymbolAttribute):
            return f"{operation.name} {_cut(value.text)}"
    return operation.name


def _contents(block: Block) -> str:
    """The symbols in a block, or how many operations there are."""
    names: list[str] = []
    for operation in islice(block, _SHOWN + 1):
        symbol = operation.symbol_name
        if symbol is None:
            return _counted(block)
        names.append(f"@{_cut(symbol)}")
    return ", ".join([*names[:_SHOWN], *["..."] * (len(names) > _SHOWN)]) or "nothing"


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
