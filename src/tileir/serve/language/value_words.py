"""A value in words: its type, what it is, where it is defined and used, and the facts known about it."""

from __future__ import annotations

from typing import Final

from tileir.analyze.documentation.written_types import type_facts
from tileir.dialect.ops import ENTRY, FOR, REDUCE, SCAN
from tileir.dialect.types import TensorViewType, TileType, TileViewType
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.rewrite.fact import width_of
from tileir.rewrite.facts import Facts
from tileir.serve.language.document import Document
from tileir.serve.language.names import Name
from tileir.serve.language.written_types import type_of

_SHOWN_USES: Final = 8
_LONGEST_LINE: Final = 160


def value_lines(document: Document, token: int) -> list[str]:
    """The value that a token names."""
    name = document.syntax.name_at(token)
    if name is None:
        return []
    type = type_of(document, name)
    lines = ["```tileir", f"{name.text}: {type.spelling if type is not None else '?'}", "```"]
    lines.append(origin(document, name))
    if name.definition is not None and name.operation is not None and name.definition in name.operation.results:
        lines.extend(["", "```tileir", line_of_text(document, name.definition), "```"])
    lines.extend(["", _uses(document, name)])
    known = [*value_facts(document, name), *_type_words(type)]
    if known:
        lines.extend(["", "---", "", *[f"- {fact}" for fact in known]])
    return lines


def origin(document: Document, name: Name) -> str:
    """What a value is: the result of something, an argument, a variable of a loop."""
    syntax = document.syntax
    written = name.operation
    if name.definition is None or written is None:
        return "is not defined before its use"
    line = document.line_of(syntax.starts[name.definition]) + 1
    declaration = written.declaration
    mnemonic = f"`{declaration.mnemonic}`" if declaration is not None else "an operation"
    if name.definition in written.results:
        which = ""
        if len(written.results) > 1:
            which = f"{written.results.index(name.definition)} "
        return f"result {which}of {mnemonic}, line {line}"
    if declaration is ENTRY:
        arguments = [token for token in range(written.name, name.definition) if syntax.tokens[token][:1] == "%"]
        symbol = next((t for t in syntax.tokens[written.name : name.definition] if t[:1] == "@"), "")
        return f"argument {len(arguments)} of the kernel `{symbol}`, line {line}"
    if declaration is FOR and syntax.tokens[name.definition + 1] == "in":
        return f"counts the rounds of the `for` in line {line}"
    if declaration is not None and declaration.is_loop:
        return f"carried from round to round by the {mnemonic} in line {line}"
    if declaration in (REDUCE, SCAN):
        return f"argument of the body of the {mnemonic} in line {line}"
    return f"argument of a block of {mnemonic}, line {line}"


def _uses(document: Document, name: Name) -> str:
    syntax = document.syntax
    count = len(name.uses)
    if not count:
        return "not used"
    numbers = dict.fromkeys([document.line_of(syntax.starts[token]) + 1 for token in name.uses[: 4 * _SHOWN_USES]])
    shown = ", ".join([str(number) for number in list(numbers)[:_SHOWN_USES]])
    more = ", .." if count > 4 * _SHOWN_USES or len(numbers) > _SHOWN_USES else ""
    where = "line" if len(numbers) == 1 else "lines"
    return f"{'1 use' if count == 1 else f'{count} uses'}: {where} {shown}{more}"


def line_of_text(document: Document, token: int) -> str:
    """The line a token is in, without blanks around it."""
    line = document.line_of(document.syntax.starts[token])
    text = document.text[document.line_start(line) : document.line_end(line)].strip()
    return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1]}…"


# --- facts ---


def value_facts(document: Document, name: Name) -> list[str]:
    """What is known of the elements, besides their type; nothing in a kernel with mistakes."""
    analysis = document.analysis
    written = name.operation
    while written is not None and written.declaration is not ENTRY:
        written = written.parent
    if written is None or not analysis.is_verified:
        return []
    start, end = document.syntax.starts[written.first], document.syntax.end(written.last)
    if any(found.severity == "error" and start <= found.start <= end for found in analysis.diagnostics):
        return []
    value = analysis.value_of(name)
    return fact_words(analysis.facts, value) if value is not None else []


def fact_words(facts: Facts, value: Value) -> list[str]:
    width = width_of(value.type)
    words: list[str] = []
    constant = facts.integer(value) if width else None
    many = isinstance(value.type, TileType) and value.type.count > 1
    if constant is not None:
        return [f"every element is {constant}" if many else f"constant {constant}"]
    if width and not _is_pointer(value.type):
        low, high = facts.range(value)
        if (low, high) != (-(1 << (width - 1)), (1 << (width - 1)) - 1) and width > 1:
            words.append(f"from {low} to {high}")
    divisor = facts.divisor(value) if width else 1
    if divisor > 1:
        words.append(f"{'addresses are ' if _is_pointer(value.type) else ''}multiples of {divisor}")
    if many and facts.is_uniform(value):
        words.append("all elements are equal")
    elif many and isinstance(value.type, TileType):
        groups = facts.groups(value)
        if any(extent > 1 for extent in groups):
            words.append(f"blocks of {' x '.join([str(extent) for extent in groups])} elements are equal")
    return words


def _is_pointer(type: Type) -> bool:
    return isinstance(type, TileType) and width_of(type) == 64 and type.element.spelling.startswith("ptr")


def _type_words(type: Type | None) -> list[str]:
    """A view in words; of a tile the type says enough."""
    if isinstance(type, (TensorViewType, TileViewType)):
        return [f"{name}: {value}" for name, value in type_facts(type)]
    if isinstance(type, TileType) and type.count > 1:
        bits = dict(type_facts(type))
        return [f"{bits['elements']} elements, {bits['bits'].partition(',')[0]} bits"]
    return []
