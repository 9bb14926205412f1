"""Hover: a value, an operation, a type, a keyword, a number or a symbol in a few lines of Markdown.

What it is and its type come first.  After a rule follow the facts about it and the page of `tileir explain`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from math import isinf

from lsprotocol import types as lsp

from tileir.analyze.documentation.grammar import grammar, legal_keywords
from tileir.analyze.documentation.markdown import facts_line, section_lines
from tileir.analyze.documentation.meanings import ELEMENT_TYPES, ENUMERATIONS, KEYWORDS
from tileir.analyze.documentation.pages import Section, attribute_words, operation_page, prose
from tileir.analyze.documentation.vocabulary import find, type_facts
from tileir.dialect.attributes import ARCHITECTURES, HINT_DOCUMENTATION
from tileir.dialect.ops import ENTRY, FOR, REDUCE, SCAN
from tileir.dialect.types import TensorViewType, TileType, TileViewType
from tileir.execute.locations.python_source import shortened
from tileir.ir.attributes import EnumKind
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.floats import FORMATS, FloatFormat, is_finite, parse_float, to_double
from tileir.ir.quoting import several
from tileir.ir.types import Type
from tileir.ir.versions import NEWEST
from tileir.rewrite.fact import width_of
from tileir.serve.language.document.document import Document, markup
from tileir.serve.language.document.scanner import OperationNode
from tileir.serve.language.document.statement import ATTRIBUTE, TYPE, WORD, NodeStatement, Part, type_at, type_of
from tileir.serve.language.document.tree import Name

_RULE = ["", "---", ""]
# A reader of a program sees its syntax, and does not build it in Python.
_LEFT_OUT = frozenset(["Syntax", "Example in Python"])
_SHOWN_LINES = 8
_LONGEST_LINE = 160
# How far before a number its element type may stand: a constant may be long.
_FARTHEST = 4096


def hover(document: Document, position: lsp.Position) -> lsp.Hover | None:
    """What is at a position, as Markdown; None if there is nothing to show."""
    offset = document.offset(position)
    syntax = document.syntax
    token = syntax.token_at(offset)
    if token is None or syntax.is_comment(offset):
        return None
    if token and len(syntax.tokens[token]) == 1 and syntax.end(token - 1) == offset:
        # Just after a word, before a bracket or a comma.
        token -= 1
    lines = _lines(document, token)
    for found in document.analysis.diagnostics:
        # The pages of the lint rules that found something here.
        if found.rule is not None and found.start <= offset <= found.end:
            for page in find(found.rule)[:1]:
                lines = [*lines, *(_RULE if lines else []), f"**{page.name}**: {prose(page.summary)}.", ""]
                lines += _sections(page.sections[:2])
    return lsp.Hover(markup("\n".join(lines)), document.token_range(token)) if lines else None


def _lines(document: Document, token: int) -> list[str]:
    syntax = document.syntax
    text = syntax.tokens[token]
    node = syntax.operation_of_token(token)
    declaration = node.declaration if node is not None else None
    if node is not None and token == node.name:
        return _operation_lines(declaration)
    name = syntax.name_at(token) if text[:1] in ("%", "@", "^", "#", "!") else None
    if name is not None and text[:1] == "%":
        return _value_lines(document, name)
    if name is not None and text[:1] == "@":
        return _symbol_lines(document, name)
    if name is not None and name.definition is not None:
        return [*_code(_line(document, name.definition)), "", f"{name.kind} `{name.text}`, {len(name.uses)} uses"]
    type = type_at(document, token)
    if type is not None:
        return _type_lines(type)
    if node is not None and declaration is not None:
        lines = _part_lines(declaration, NodeStatement(syntax, node).part_of(token), text)
        if lines or text[:1].isdigit():
            return lines or _number_lines(syntax.tokens, node, token)
    return _named_lines(text)


def _code(text: str) -> list[str]:
    return ["```tileir", text, "```"]


def _line(document: Document, token: int) -> str:
    """The line of a token, without blanks around it."""
    return shortened(document.line_text(document.syntax.starts[token]).strip(), _LONGEST_LINE)


def _sections(sections: Iterable[Section]) -> list[str]:
    return [line for section in sections for line in [*section_lines(section), ""]]


# --- operations, types and keywords ---


@cache
def _operation_lines(declaration: OperationDeclaration | None) -> list[str]:
    """A page without its syntax: a sentence, then everything."""
    if declaration is None:
        return []
    page = operation_page(declaration)
    lines = [*_code(grammar(declaration)), f"{prose(page.summary)}.", "", facts_line(page), *_RULE]
    return [*lines, *_sections([section for section in page.sections if section.title not in _LEFT_OUT])]


def _type_lines(type: Type) -> list[str]:
    """A type as it is written, its properties, and its element."""
    if type.spelling in ELEMENT_TYPES:
        return [*_code(type.spelling), *_named_lines(type.spelling)]
    lines = [*_code(type.spelling), *[f"- {name}: {value}" for name, value in type_facts(type)]]
    element = type.element.spelling if isinstance(type, TileType) else ""
    if element in ELEMENT_TYPES:
        meaning = prose(ELEMENT_TYPES[element])
        # Abbreviations keep their case.
        meaning = meaning if meaning[1:2].isupper() else meaning[:1].lower() + meaning[1:]
        lines.extend(["", f"`{element}`: {meaning}"])
    return [*lines, *_RULE, *_named_lines(type.spelling.partition("<")[0])]


def _part_lines(declaration: OperationDeclaration, part: Part | None, text: str) -> list[str]:
    """A word of a statement, by its part of the format."""
    if part is None or part.kind == TYPE:
        return []
    declared = part.attribute
    hints = {**dict.fromkeys(ARCHITECTURES, "the hints for this architecture"), **HINT_DOCUMENTATION}
    if text in hints and declared is not None and declared.constraint.kind == "hints":
        return [f"**{text}**: {hints[text]}"]
    lines: list[str] = []
    if part.enumeration is not None:
        legal = legal_keywords(declaration, declared, NEWEST) if declared is not None else list(part.enumeration.values)
        lines = _keyword_lines(part.enumeration, text, legal)
    if declared is not None and not text[:1].isdigit() and (lines or text == declared.name or part.kind == ATTRIBUTE):
        meaning = f"`{declared.name}` of `{declaration.mnemonic}`: {prose(declared.documentation)}"
        lines.extend([*(_RULE if lines else []), meaning, "", f"*{attribute_words(declaration, declared)}*"])
    if not lines and part.kind == WORD and text.isalpha():
        lines = _operation_lines(declaration)[:4]
    return lines


def _keyword_lines(enumeration: EnumKind, keyword: str, legal: list[str]) -> list[str]:
    """A keyword of an enumeration, and the others that may stand there."""
    meanings = KEYWORDS[enumeration.name]
    keyword = enumeration.aliases.get(keyword, keyword)
    if keyword not in meanings:
        return []
    others = [f"- `{each}`: {meaning}" for each, meaning in meanings.items() if each in legal and each != keyword]
    title = f"**{keyword}** ({enumeration.name}): {meanings[keyword]}"
    return [title, *_RULE, f"{ENUMERATIONS[enumeration.name]}:", "", *others]


@lru_cache(maxsize=256)
def _named_lines(text: str) -> list[str]:
    """The page of a name, wherever it stands."""
    pages = find(text) if text[:1].isalpha() or text[:1] in "#!" else []
    if not pages:
        return []
    page = pages[0]
    shown = [each for each in page.sections if each.title in ("Description", "Layout", "Range", "Keywords")]
    return [f"**{page.name}**: {prose(page.summary)}.", "", facts_line(page), "", *_sections(shown)][:-1]


# --- symbols and values ---


def _symbol_lines(document: Document, name: Name) -> list[str]:
    """The head of what defines a symbol, and its uses."""
    node, syntax = name.operation, document.syntax
    if name.definition is None or node is None:
        return [f"`{name.text}` is not defined in this file"]
    kind = node.declaration.mnemonic if node.declaration is not None else "symbol"
    start, end = syntax.span(node.first, max(node.head_end - 1, node.first))
    head = " ".join(document.text[start:end].split())
    lines = [*_code(shortened(head, _LONGEST_LINE)), "", f"{kind} `{name.text}`, {several(len(name.uses), 'use')}"]
    if node.regions:
        lines.extend(["", f"{several(sum(1 for _ in node.walk()) - 1, 'operation')} inside"])
    return lines


def _value_lines(document: Document, name: Name) -> list[str]:
    """A value: its type, its definition, its uses and the facts about it."""
    type = type_of(document, name)
    lines = _code(f"{name.text}: {type.spelling if type is not None else '?'}")
    lines.append(_origin(document, name))
    if name.definition is not None and name.operation is not None and name.definition in name.operation.results:
        lines.extend(["", *_code(_line(document, name.definition))])
    lines.extend(["", _uses(document, name)])
    known = _value_facts(document, name)
    if isinstance(type, (TensorViewType, TileViewType)):
        known = [*known, *[f"{key}: {value}" for key, value in type_facts(type)]]
    elif isinstance(type, TileType) and type.count > 1:
        facts = dict(type_facts(type))
        known = [*known, f"{facts['elements']} elements, {facts['bits'].partition(',')[0]} bits"]
    return [*lines, *(_RULE if known else []), *[f"- {fact}" for fact in known]]


def _origin(document: Document, name: Name) -> str:
    """What a value is: a result, an argument, the variable of a loop."""
    syntax, node = document.syntax, name.operation
    if name.definition is None or node is None:
        return "is not defined before its use"
    line = document.line_of(syntax.starts[name.definition]) + 1
    declaration = node.declaration
    mnemonic = f"`{declaration.mnemonic}`" if declaration is not None else "an operation"
    if name.definition in node.results:
        which = f"{node.results.index(name.definition)} " if len(node.results) > 1 else ""
        return f"result {which}of {mnemonic}, line {line}"
    if declaration is ENTRY:
        before = syntax.tokens[node.name : name.definition]
        symbol = next((token for token in before if token[:1] == "@"), "")
        number = sum(token[:1] == "%" for token in before)
        return f"argument {number} of the kernel `{symbol}`, line {line}"
    if declaration is FOR and syntax.tokens[name.definition + 1] == "in":
        return f"counts the rounds of the `for` in line {line}"
    if declaration is not None and declaration.is_loop:
        return f"carried from round to round by the {mnemonic} in line {line}"
    if declaration in (REDUCE, SCAN):
        return f"argument of the body of the {mnemonic} in line {line}"
    return f"argument of a block of {mnemonic}, line {line}"


def _uses(document: Document, name: Name) -> str:
    if not name.uses:
        return "not used"
    starts = document.syntax.starts
    lines = list(dict.fromkeys([document.line_of(starts[token]) + 1 for token in name.uses[: 4 * _SHOWN_LINES]]))
    shown = ", ".join([str(line) for line in lines[:_SHOWN_LINES]])
    more = ", .." if len(name.uses) > 4 * _SHOWN_LINES or len(lines) > _SHOWN_LINES else ""
    return f"{several(len(name.uses), 'use')}: {'line' if len(lines) == 1 else 'lines'} {shown}{more}"


def _value_facts(document: Document, name: Name) -> list[str]:
    """The facts about the elements of a value; none in a kernel with errors."""
    analysis = document.analysis
    functions = name.operation.functions if name.operation is not None else []
    if not functions or not analysis.is_verified:
        return []
    start, end = document.syntax.span(functions[0].first, functions[0].last)
    if any(found.severity == "error" and start <= found.start <= end for found in analysis.diagnostics):
        return []
    value, facts = analysis.value_of(name), analysis.facts
    if value is None:
        return []
    width, type = width_of(value.type), value.type
    found: list[str] = []
    has_elements = isinstance(type, TileType) and type.count > 1
    is_pointer = isinstance(type, TileType) and width == 64 and type.element.spelling.startswith("ptr")
    constant = facts.integer(value) if width else None
    if constant is not None:
        return [f"every element is {constant}" if has_elements else f"constant {constant}"]
    if width and width > 1 and not is_pointer:
        low, high = facts.range(value)
        if (low, high) != (-(1 << (width - 1)), (1 << (width - 1)) - 1):
            found.append(f"from {low} to {high}")
    divisor = facts.divisor(value) if width else 1
    if divisor > 1:
        found.append(f"{'addresses are ' if is_pointer else ''}multiples of {divisor}")
    if has_elements and facts.is_uniform(value):
        found.append("all elements are equal")
    elif has_elements:
        groups = facts.groups(value)
        if any(extent > 1 for extent in groups):
            found.append(f"blocks of {' x '.join([str(extent) for extent in groups])} elements are equal")
    return found


# --- numbers ---


def _number_lines(tokens: list[str], node: OperationNode, token: int) -> list[str]:
    """A float as bits and as its rounded value, an integer in other bases."""
    text = tokens[token]
    sign = "-" if tokens[token - 1] == "-" else ""
    format = FORMATS.get(_element(tokens, node, token))
    if format is not None:
        return _float_lines(format, sign, text)
    if "." in text:
        return []
    value = int(sign + text, 16 if text[1:2] == "x" else 10)
    facts = [f"`{value}`", f"`{value:#x}`", *([f"`{value:#b}`"] if 0 <= value < 1 << 16 else [])]
    power = value.bit_length() - 1
    return [", ".join(facts) + (f": 2 to the power of {power}" if value > 1 and value == 1 << power else "")]


def _element(tokens: list[str], node: OperationNode, token: int) -> str:
    """The element type of a constant's number: `<f32: 1.0`, `1.0 : f32`."""
    if tokens[token + 1] == ":":
        return tokens[token + 2]
    for index in range(token - 1, max(node.name, token - _FARTHEST), -1):
        if tokens[index] == ":" and tokens[index - 2] == "<":
            return tokens[index - 1]
    return ""


def _float_lines(format: FloatFormat, sign: str, text: str) -> list[str]:
    is_bits = text.startswith("0x")
    try:
        bits = int(text, 16) if is_bits else parse_float(format, sign + text)
    except ValueError:
        return []
    if bits >> format.width:
        return []
    lines = [f"`{sign}{text}`: `{format.name}` with the bits `0x{bits:0{-(-format.width // 4)}X}`"]
    value = to_double(format, bits)
    if not is_finite(format, bits):
        lines.extend(["", "infinity" if isinf(value) else "not a number"])
    elif is_bits or value != float(sign + text):
        lines.extend(["", f"is {value!r}"])
    return lines
