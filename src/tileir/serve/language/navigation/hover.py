"""Hover: a value, an operation, a type, a keyword, a number or a symbol in a few lines of Markdown.

What it is and its type come first.  Behind a rule follow the facts about it and the page of `tileir explain`.
"""

from __future__ import annotations

from functools import cache, lru_cache
from math import inf
from typing import Final

from lsprotocol import types as lsp

from tileir.analyze.documentation.grammar import grammar, legal_keywords
from tileir.analyze.documentation.markdown import facts_line, section_lines
from tileir.analyze.documentation.meanings import ELEMENT_TYPES, ENUMERATIONS, KEYWORDS
from tileir.analyze.documentation.pages import Page, attribute_words, operation_page, prose
from tileir.analyze.documentation.vocabulary import find
from tileir.analyze.documentation.written_types import type_facts
from tileir.dialect.attributes import ARCHITECTURES, HINT_DOCUMENTATION
from tileir.dialect.ops import ENTRY, FOR, REDUCE, SCAN
from tileir.dialect.types import TensorViewType, TileType, TileViewType
from tileir.ir.attributes import EnumKind
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.floats import FORMATS, FloatFormat, is_finite, parse_float, to_double
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.ir.versions import NEWEST
from tileir.rewrite.fact import width_of
from tileir.rewrite.facts import Facts
from tileir.serve.language.document.document import Document
from tileir.serve.language.document.names import Name
from tileir.serve.language.document.operation_format import ATTRIBUTE, TYPE, WORD, Part
from tileir.serve.language.document.scanner import OperationNode
from tileir.serve.language.document.statement import NodeStatement, type_at, type_of

_LANGUAGE = "tileir"
_RULE = ["", "---", ""]
# A page of an operation in Python is for those who build programs, not for those who write them.
_LEFT_OUT = frozenset(["Syntax", "Example in Python"])


def hover(document: Document, position: lsp.Position) -> lsp.Hover | None:
    """What is at a position, as Markdown; None where there is nothing to say."""
    offset = document.offset(position)
    syntax = document.syntax
    token = syntax.token_at(offset)
    if token is None or syntax.is_comment(offset):
        return None
    if token and len(syntax.tokens[token]) == 1 and syntax.end(token - 1) == offset:
        # Just behind a word, before a bracket or a comma.
        token -= 1
    lines = _lines(document, token)
    findings = _finding_lines(document, offset)
    if lines and findings:
        lines = [*lines, *_RULE]
    lines = [*lines, *findings]
    if not lines:
        return None
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, "\n".join(lines))
    return lsp.Hover(content, document.range(syntax.starts[token], syntax.end(token)))


def _lines(document: Document, token: int) -> list[str]:
    syntax = document.syntax
    text = syntax.tokens[token]
    written = syntax.operation_of_token(token)
    if text[:1] == "%":
        return value_lines(document, token)
    if written is not None and token == written.name:
        return _operation_lines(written.declaration)
    if text[:1] == "@":
        return _symbol_lines(document, token)
    if text[:1] == "^":
        return _block_lines(document, token)
    if text[:1] in ("#", "!") and "<" not in text:
        lines = _alias_lines(document, token)
        if lines:
            return lines
    type = type_at(document, token)
    if type is not None:
        return type_lines(type)
    if written is not None and written.declaration is not None:
        part = NodeStatement(syntax, written).part_of(token)
        lines = _part_lines(written.declaration, part, text)
        if lines:
            return lines
        if text[:1].isdigit():
            return number_words(document, written, token)
    return _named_lines(text)


# --- operations ---


@cache
def _operation_lines(declaration: OperationDeclaration | None) -> list[str]:
    if declaration is None:
        return []
    page = operation_page(declaration)
    return [*_code(grammar(declaration)), *_page_tail(page)]


def _page_tail(page: Page) -> list[str]:
    """A page without its syntax: what it is in a sentence, then everything."""
    lines = [f"{prose(page.summary)}.", "", facts_line(page), *_RULE]
    for section in page.sections:
        if section.title not in _LEFT_OUT:
            lines.extend([*section_lines(section), ""])
    return lines


# --- types ---


def type_lines(type: Type) -> list[str]:
    """A type as it is written, what it says, and what its element is."""
    if type.spelling in ELEMENT_TYPES:
        return [*_code(type.spelling), *_named_lines(type.spelling)]
    lines = _code(type.spelling)
    lines.extend([f"- {name}: {value}" for name, value in type_facts(type)])
    element = type.element.spelling if isinstance(type, TileType) else ""
    if element in ELEMENT_TYPES:
        lines.extend(["", f"`{element}`: {_lowered(prose(ELEMENT_TYPES[element]))}"])
    return [*lines, *_RULE, *_named_lines(type.spelling.partition("<")[0])]


# --- keywords and attributes ---


def _part_lines(declaration: OperationDeclaration, part: Part | None, text: str) -> list[str]:
    """A word of a statement, by the part of the form it is."""
    if part is None or part.kind == TYPE:
        return []
    declared = part.attribute
    lines: list[str] = []
    if part.enumeration is not None:
        legal = legal_keywords(declaration, declared, NEWEST) if declared is not None else list(part.enumeration.values)
        lines = keyword_lines(part.enumeration, text, legal)
    if text in HINT_DOCUMENTATION and declared is not None and declared.constraint.kind == "hints":
        return [f"**{text}**: {HINT_DOCUMENTATION[text]}"]
    if text in ARCHITECTURES and declared is not None and declared.constraint.kind == "hints":
        return [f"**{text}**: the hints for this architecture"]
    if declared is not None and not text[:1].isdigit() and (lines or text == declared.name or part.kind == ATTRIBUTE):
        words = f"`{declared.name}` of `{declaration.mnemonic}`: {prose(declared.documentation)}"
        lines.extend([*(_RULE if lines else []), words, "", f"*{attribute_words(declaration, declared)}*"])
    if not lines and part.kind == WORD and text.isalpha():
        lines = _operation_lines(declaration)[:4]
    return lines


def keyword_lines(enumeration: EnumKind, keyword: str, legal: list[str]) -> list[str]:
    """A keyword of an enumeration, and the others that could stand there."""
    words = KEYWORDS[enumeration.name]
    keyword = enumeration.aliases.get(keyword, keyword)
    if keyword not in words:
        return []
    lines = [f"**{keyword}** ({enumeration.name}): {words[keyword]}", *_RULE]
    lines.append(f"{ENUMERATIONS[enumeration.name]}:")
    lines.append("")
    lines.extend([f"- `{other}`: {meaning}" for other, meaning in words.items() if other in legal and other != keyword])
    return lines


@lru_cache(maxsize=256)
def _named_lines(text: str) -> list[str]:
    """What is known under a name, wherever it stands."""
    if not (text[:1].isalpha() or text[:1] in "#!"):
        return []
    pages = find(text)
    if not pages:
        return []
    page = pages[0]
    lines = [f"**{page.name}**: {prose(page.summary)}.", "", facts_line(page)]
    for section in page.sections:
        if section.title in ("Description", "Layout", "Range", "Keywords"):
            lines.extend(["", *section_lines(section)])
    return lines


# --- symbols, blocks, aliases ---


def _symbol_lines(document: Document, token: int) -> list[str]:
    """The line that defines a symbol, and how often it is used."""
    name = document.syntax.name_at(token)
    if name is None:
        return []
    if name.definition is None or name.operation is None:
        return [f"`{name.text}` is not defined in this file"]
    owner = name.operation
    kind = owner.declaration.mnemonic if owner.declaration is not None else "symbol"
    lines = _code(_header(document, owner))
    uses = len(name.uses)
    lines.extend(["", f"{kind} `{name.text}`, {'1 use' if uses == 1 else f'{uses} uses'}"])
    lines.extend(_contents(owner))
    return lines


def _contents(owner: OperationNode) -> list[str]:
    if not owner.regions:
        return []
    count = sum(1 for _ in owner.walk()) - 1
    return ["", f"{'1 operation' if count == 1 else f'{count} operations'} inside"]


def _block_lines(document: Document, token: int) -> list[str]:
    name = document.syntax.name_at(token)
    if name is None or name.definition is None:
        return []
    return [*_code(line_of_text(document, name.definition)), "", f"block `{name.text}`, {len(name.uses)} uses"]


def _alias_lines(document: Document, token: int) -> list[str]:
    name = document.syntax.name_at(token)
    if name is None or name.definition is None:
        return []
    return [*_code(line_of_text(document, name.definition)), "", f"alias `{name.text}`, {len(name.uses)} uses"]


def _header(document: Document, written: OperationNode) -> str:
    """The first line of an operation, without what is in its regions."""
    syntax = document.syntax
    last = written.regions[0].opening - 1 if written.regions else written.last
    text = document.text[syntax.starts[written.first] : syntax.end(max(last, written.first))]
    words = " ".join(text.split())
    return words if len(words) <= 200 else f"{words[:199]}…"


# --- findings ---


def _finding_lines(document: Document, offset: int) -> list[str]:
    """The pages of the rules of lint that found something here."""
    lines: list[str] = []
    for found in document.analysis.diagnostics:
        if found.rule is not None and found.start <= offset <= found.end:
            for page in find(found.rule)[:1]:
                lines.extend([f"**{page.name}**: {prose(page.summary)}.", ""])
                lines.extend([line for section in page.sections[:2] for line in [*section_lines(section), ""]])
    return lines


def _code(text: str) -> list[str]:
    return [f"```{_LANGUAGE}", text, "```"]


def _lowered(text: str) -> str:
    """A sentence as a part of another; abbreviations stay as they are."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


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


# How far before a number its element type may stand: a constant may be long.
_FURTHEST = 4096


def number_words(document: Document, written: OperationNode, token: int) -> list[str]:
    """What a number is, by the element type that stands before or behind it."""
    tokens = document.syntax.tokens
    text = tokens[token]
    negative = tokens[token - 1] == "-"
    format = FORMATS.get(_element(tokens, written, token))
    if format is not None:
        return _float_words(format, text, negative)
    if "." in text:
        return []
    return _integer_words(int(text, 0) if not text.startswith("0") or text[1:2] == "x" else int(text), negative)


def _element(tokens: list[str], written: OperationNode, token: int) -> str:
    """The element type of a constant's number: `<f32: 1.0`, `1.0 : f32`."""
    if tokens[token + 1] == ":":
        return tokens[token + 2]
    for place in range(token - 1, max(written.name, token - _FURTHEST), -1):
        if tokens[place] == ":" and tokens[place - 2] == "<":
            return tokens[place - 1]
    return ""


def _float_words(format: FloatFormat, text: str, negative: bool) -> list[str]:
    digits = -(-format.width // 4)
    if text.startswith("0x"):
        bits = int(text, 16)
        if bits >> format.width:
            return []
    else:
        try:
            bits = parse_float(format, f"-{text}" if negative else text)
        except ValueError:
            return []
    lines = [f"`{'-' if negative else ''}{text}`: `{format.name}` with the bits `0x{bits:0{digits}X}`"]
    value = to_double(format, bits)
    if not is_finite(format, bits):
        lines.extend(["", "infinity" if value in (inf, -inf) else "not a number"])
    elif text.startswith("0x") or value != float(f"-{text}" if negative else text):
        lines.extend(["", f"is {value!r}"])
    return lines


def _integer_words(value: int, negative: bool) -> list[str]:
    if negative:
        value = -value
    facts = [f"`{value}`", f"`{value:#x}`"]
    if 0 <= value < 1 << 16:
        facts.append(f"`{value:#b}`")
    words = ", ".join(facts)
    power = value.bit_length() - 1
    if value > 1 and value == 1 << power:
        words += f": 2 to the power of {power}"
    return [words]
