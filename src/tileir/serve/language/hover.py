"""What the pointer rests on, in words: a value, an operation, a type, a keyword, a number, a symbol.

Short things come first: what it is, and its type.  Behind a rule follow what is known about it and the page that
`tileir explain` shows.
"""

from __future__ import annotations

from functools import cache, lru_cache

from lsprotocol import types as lsp

from tileir.analyze.documentation.grammar import grammar, legal_keywords
from tileir.analyze.documentation.markdown import facts_line, section_lines
from tileir.analyze.documentation.meanings import ELEMENT_TYPES, ENUMERATIONS, KEYWORDS
from tileir.analyze.documentation.pages import Page, attribute_words, operation_page, prose
from tileir.analyze.documentation.vocabulary import find
from tileir.analyze.documentation.written_types import type_facts
from tileir.dialect.attributes import ARCHITECTURES, HINT_DOCUMENTATION
from tileir.dialect.types import TileType
from tileir.ir.attributes import EnumKind
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import Type
from tileir.ir.versions import NEWEST
from tileir.serve.language.document import Document
from tileir.serve.language.forms import ATTRIBUTE, TYPE, WORD, Part
from tileir.serve.language.number_words import number_words
from tileir.serve.language.statement import ReadStatement
from tileir.serve.language.structure import WrittenOperation
from tileir.serve.language.value_words import line_of_text, value_lines
from tileir.serve.language.written_types import type_at

_LANGUAGE = "tileir"
_RULE = ["", "---", ""]
# A page of an operation in Python is for those who build programs, not for those who write them.
_LEFT_OUT = frozenset(["Syntax", "Example in Python"])


def hover(document: Document, position: lsp.Position) -> lsp.Hover | None:
    """What is at a position, as Markdown; None where there is nothing to say."""
    offset = document.offset(position)
    syntax = document.syntax
    token = syntax.token_at(offset)
    if token is None or syntax.comment_at(offset):
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
        part = ReadStatement(syntax, written).part_of(token)
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


def _contents(owner: WrittenOperation) -> list[str]:
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


def _header(document: Document, written: WrittenOperation) -> str:
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
