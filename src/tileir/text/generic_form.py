"""The generic form of an operation, which shows everything and needs no syntax of its own."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING
from tileir.ir.attributes import entry_text
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import SEGMENTS
from tileir.ir.quoting import quote
from tileir.ir.types import FunctionType, type_list

if TYPE_CHECKING:
    from tileir.text.printer import Printer


def print_generic(printer: Printer, operation: Operation) -> None:
    """`"name"(operands) <{properties}> (regions) {attributes} : (types) -> types`"""
    out = printer.out
    declaration = operation.declaration
    name = declaration.name[: -len(declaration.mnemonic)] + declaration.spelled_name(printer.version)
    if declaration.unregistered:
        name = declaration.name
    out.append(f"{quote(name)}({printer.value_list(operation.operands)})")
    if operation.successors:
        out.append("[" + ", ".join([_block_label(block) for block in operation.successors]) + "]")
    properties = _properties(operation)
    if properties:
        out.append(f" <{{{', '.join(properties)}}}>")
    if operation.regions:
        out.append(" (")
        for index, region in enumerate(operation.regions):
            if index:
                out.append(", ")
            printer.print_generic_region(region)
        out.append(")")
    attributes = operation.attributes
    discardable = [n for n in sorted(attributes) if n not in declaration.inherent]
    if discardable:
        out.append(" {" + ", ".join([entry_text(n, attributes[n]) for n in discardable]) + "}")
    inputs = type_list(tuple([value.type for value in operation.operands]))
    outputs = tuple([result.type for result in operation.results])
    # The arrow of a function type would be taken for the next one of this list.
    single = len(outputs) == 1 and not isinstance(outputs[0], FunctionType)
    out.append(f" : ({inputs}) -> {outputs[0].text if single else f'({type_list(outputs)})'}")


def _properties(operation: Operation) -> list[str]:
    """Inherent attributes, defaults spelled out, sorted by name."""
    declaration = operation.declaration
    values: dict[str, str] = {}
    for declared in declaration.attributes:
        value = operation.attributes.get(declared.name, declared.default)
        if value is not None:
            values[declared.name] = entry_text(declared.name, value)
    if operation.segments is not None:
        sizes = ", ".join([str(size) for size in operation.segments])
        values["operandSegmentSizes"] = f"operandSegmentSizes = array<i32: {sizes}>"
    elif declaration.traits & SEGMENTS:
        sizes = ", ".join([str(size) for size in operation.segment_lengths()])
        values["operandSegmentSizes"] = f"operandSegmentSizes = array<i32: {sizes}>"
    return [values[name] for name in sorted(values)]


def _block_label(block: Block) -> str:
    region = block.parent
    return f"^bb{region.blocks.index(block)}" if region is not None else "^bb?"
