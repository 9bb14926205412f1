"""Operations printed anew with the names that a text gives their values."""

from __future__ import annotations

from tileir.ir.core import Operation
from tileir.ir.traits import ISOLATED
from tileir.ir.values import OperationResult, Value
from tileir.serve.language.analysis import Analysis
from tileir.serve.language.layout import Edit
from tileir.serve.language.syntax import Syntax, WrittenOperation
from tileir.text.lexer import TOKEN
from tileir.text.listing import printed_lines
from tileir.text.printer import Printer


def written_names(syntax: Syntax, analysis: Analysis, operation: WrittenOperation | None = None) -> dict[Value, str]:
    """What the text calls each value, or each that an operation mentions: `%x`, or `%x#1` for one of a pack."""
    found: dict[Value, str] = {}
    names = syntax.names
    if operation is not None:
        own = range(operation.first, operation.last + 1)
        names = [name for name in map(syntax.name_at, own) if name is not None]
    for name in names:
        if name.kind != "value" or name.definition is None:
            continue
        value = analysis.value_of(name)
        if value is None:
            continue
        tokens = syntax.tokens
        if not isinstance(value, OperationResult) or tokens[name.definition + 1] != ":":
            found[value] = name.text
            continue
        count = int(tokens[name.definition + 2]) if tokens[name.definition + 2].isdecimal() else 1
        for number, result in enumerate(value.operation.results[value.index : value.index + count]):
            found[result] = f"{name.text}#{number}"
    return found


def reprinted(syntax: Syntax, analysis: Analysis, written: WrittenOperation) -> Edit | None:
    """The edit that writes an operation as the printer does, without what is in its regions; None where it cannot be.

    Operations that the reader put in front of this one (a conversion, say) have no names in the text, so there is none.
    """
    operation = analysis.operation_of(written)
    if operation is None or written.name < 0:
        return None
    names = written_names(syntax, analysis, written)
    text = _printed(operation, names, "." not in syntax.tokens[written.name])
    if text is None:
        return None
    first, last = written.first, written.last
    if written.regions:
        last = written.regions[0].opening
        text = _head(text)
    else:
        last = _last_before_location(syntax, written)
    start, end = syntax.starts[first], syntax.starts[last] + len(syntax.tokens[last])
    return Edit(start, end, text) if text and syntax.text[start:end] != text else None


def _last_before_location(syntax: Syntax, written: WrittenOperation) -> int:
    """The last token of an operation before what says where it comes from, which stays."""
    last = written.last
    if syntax.tokens[last] == ")" and "loc" in syntax.tokens[written.name : last]:
        while syntax.tokens[last] != "loc":
            last -= 1
        last -= 1
    return last


def _printed(operation: Operation, names: dict[Value, str], elide: bool) -> str | None:
    printer = Printer()
    printer.elide = elide
    printer.naming.name_regions(operation)
    printer.names.update(names)
    if any(value not in names for value in (*operation.operands, *operation.results)):
        return None
    printer.print_operation(operation)
    return printer.text()


def _head(text: str) -> str:
    """What is printed up to the brace that opens the first region."""
    for match in TOKEN.finditer(text):
        if match[1] == "{" and text[match.end() : match.end() + 1] == "\n":
            return text[: match.end()]
    return ""


def in_generic_form(syntax: Syntax, analysis: Analysis, offset: int) -> Edit | None:
    """The edit that writes the operation at a place in generic form; None where it has regions, or is so already."""
    written = syntax.operation_at(offset)
    operation = analysis.operation_of(written) if written is not None else None
    if written is None or operation is None or operation.regions or syntax.tokens[written.name][:1] == '"':
        return None
    names = written_names(syntax, analysis, written)
    if any(value not in names for value in (*operation.operands, *operation.results)):
        return None
    printer = Printer(generic=True)
    printer.names.update(names)
    printer.print_operation(operation)
    start, end = syntax.starts[written.first], syntax.end(_last_before_location(syntax, written))
    return Edit(start, end, printer.text())


def canonical_text(syntax: Syntax, analysis: Analysis) -> str | None:
    """The whole program as the printer writes it, with the names of the text."""
    module = analysis.module
    if module is None or not module.declaration.traits & ISOLATED:
        return None
    if not any(operation.declaration is module.declaration for operation in syntax.top.operations):
        # The reader has put a module around.
        return None
    return "\n".join(printed_lines(module, written_names(syntax, analysis)).lines) + "\n"
