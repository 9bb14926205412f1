"""The content of the documentation, apart from its layout.

A page is made from a declaration (or from `meanings.py` for what has none).  `tileir explain` lays it out
for a terminal, `generators/reference.py` as Markdown, so both have the same content.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import tileir.dialect.ops  # noqa: F401  (registers the declarations)
from tileir.analyze.documentation.examples import builder_example
from tileir.analyze.documentation.grammar import allowed_keywords, grammar
from tileir.analyze.documentation.meanings import Documentation
from tileir.analyze.lint.rule import Rule
from tileir.dialect.enums import enum_kind_of
from tileir.dialect.types import ELEMENT_SINCE
from tileir.ir import traits
from tileir.ir.declaration import (
    OPTIONAL,
    VARIADIC,
    AttributeDeclaration,
    OperandDeclaration,
    OperationDeclaration,
    RegionDeclaration,
    TypeConstraint,
)
from tileir.ir.registry import REGISTRY
from tileir.ir.versions import NEWEST, Version, version_text


class Paragraph(NamedTuple):
    """Running text; `names in backticks` are code."""

    text: str


class Code(NamedTuple):
    """Lines to be shown as they are; a `grammar` may be broken where it is too long."""

    text: str
    is_grammar: bool = False
    language: str = "mlir"


class Table(NamedTuple):
    """Rows of cells, the first of each is the name of the thing."""

    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


class Bullets(NamedTuple):
    items: Sequence[str]


Block = Paragraph | Code | Table | Bullets


class Section(NamedTuple):
    title: str
    blocks: Sequence[Block]


class Page(NamedTuple):
    """The documentation of one name; `facts` are short and stand under the title."""

    name: str
    group: str
    summary: str
    facts: Sequence[str]
    sections: Sequence[Section]


def sections_of(*parts: tuple[str, Sequence[Block]]) -> list[Section]:
    """The parts of a page that have contents: titles and blocks."""
    found: list[Section] = []
    for title, blocks in parts:
        filled = [block for block in blocks if (block.rows if isinstance(block, Table) else block[0])]
        found += [Section(title, filled)] if filled else []
    return found


RULES_GROUP: Final = "Lint rules"

# In the order of the operations draft.
CHAPTERS: Final[tuple[str, ...]] = (
    "Core",
    "Conversions",
    "Control flow",
    "Memory",
    "Floating point",
    "Integer",
    "Bitwise",
    "Atomics",
    "Views",
    "Miscellaneous",
    "Builtin",
)

_TRAITS: Final[tuple[tuple[int, str], ...]] = (
    (traits.PURE, "pure: no memory effect, and may be executed speculatively"),
    (traits.NO_MEMORY_EFFECT, "no memory effect, but must not be executed speculatively"),
    (traits.ELEMENTWISE, "element-wise: each element of the result depends only on the elements at the same position"),
    (traits.CONSTANT_LIKE, "a constant"),
    (traits.TERMINATOR, "terminator: ends a block"),
    (traits.ATOMIC, "atomic: accesses each element in one indivisible step"),
    (traits.TOKEN_ORDERED, "ordered by tokens only"),
    (traits.REGION_EFFECTS, "has the memory effects of its regions"),
    (traits.SIDE_EFFECT, "has an effect besides its results"),
    (traits.BLOCK_ORDER, "the order in which tile blocks reach it is observable"),
    (traits.ISOLATED, "isolated: its regions use no value from outside"),
    (traits.SYMBOL, "defines a symbol"),
    (traits.SYMBOL_TABLE, "symbol table: each name is unique"),
    (traits.GRAPH_REGION, "its items may be used before they are defined"),
    (traits.NO_TERMINATOR, "its region needs no terminator"),
    (traits.ALLOCATION_SCOPE, "memory allocated inside is freed at the end of its region"),
    (traits.SEGMENTS, "the generic form counts the values of each operand (`operandSegmentSizes`)"),
)

# What diagnostics call a type, and what a reader calls it.
_TYPE_WORDS: Final[dict[str, str]] = {
    "Tile type": "any tile",
    "any type": "anything",
    "tile of Pointer type values": "tile of pointers",
    "0D tile of Pointer type values": "0-D tile of a pointer",
    "tensor view type": "`tensor_view`",
    "TileView instance": "a tile view: `partition_view`, `strided_view` or `gather_scatter_view`",
    "partition view type": "`partition_view`",
    "strided view type": "`strided_view`",
    "gather/scatter view type": "`gather_scatter_view`",
    "cuda tile token type": "`token`",
    "cuda tile string type": "`string`",
}

_ATTRIBUTE_WORDS: Final[dict[str, str]] = {
    "unit": "flag",
    "bool": "`true` or `false`",
    "i64": "integer (i64)",
    "i32": "integer (i32)",
    "string": "string",
    "symbol_name": "symbol name",
    "symbol": "symbol",
    "i32_array": "list of integers (i32)",
    "bool_array": "list of `true` and `false`",
    "array": "list",
    "dense": "constant elements (`dense`)",
    "type": "function type",
    "hints": "`optimization_hints`",
    "predicate": "`div_by`, `bounded` or `same_elements`",
}


def prose(text: str) -> str:
    """Declarations put two blanks after a sentence; readers see one."""
    return text.replace(".  ", ". ").replace(":  ", ": ")


def operations() -> list[OperationDeclaration]:
    """The documented operations, by chapter and name; those that serve NVIDIA's test suite only are left out."""
    found = [d for d in REGISTRY.declarations() if not d.testing]
    return sorted(found, key=lambda d: (CHAPTERS.index(d.chapter), title_of(d)))


def title_of(declaration: OperationDeclaration) -> str:
    """The name a page goes under: the mnemonic of the newest version, with a foreign dialect's prefix."""
    return declaration.name if declaration.is_builtin else declaration.spelled_name(NEWEST)


def other_names(declaration: OperationDeclaration) -> list[str]:
    names = [] if declaration.is_builtin else [declaration.mnemonic, *declaration.aliases]
    return [name for name in names if name != declaration.spelled_name(NEWEST)]


def listed(words: list[str], last: str = "or") -> str:
    """`a, b or c`"""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def type_words(constraint: TypeConstraint) -> str:
    """The types a constraint takes, with the version of those that came later."""
    wording = constraint.wording(NEWEST)
    phrase, _, rest = wording.partition(" of ")
    if wording in _TYPE_WORDS or not rest.endswith(" values"):
        return _TYPE_WORDS.get(wording, wording)
    since = {type.spelling: version_text(version) for type, version in ELEMENT_SINCE.items()}
    elements = [f"{e} ({since[e]})" if e in since else e for e in rest[: -len(" values")].split(" or ")]
    return f"{'0-D tile' if phrase == '0D tile' else 'tile'} of {listed(elements)}"


def attribute_words(declaration: OperationDeclaration, declared: AttributeDeclaration) -> str:
    """What an attribute may be, and what it is when left out."""
    kind, keywords = enum_kind_of(declared), allowed_keywords(declaration, declared)
    if kind is not None and keywords is not None:
        # The documentation itself may list the legal ones.
        named = set(re.findall(r"\w+", declared.documentation))
        is_listed = len(keywords) > 2 and not named.isdisjoint(keywords)
        words = f"`{kind.name}`" if is_listed else listed([f"`{keyword}`" for keyword in keywords])
    else:
        words = _ATTRIBUTE_WORDS[declared.constraint.kind]
        if "non-negative" in declared.constraint.description or "minimum value is 0" in declared.constraint.description:
            words += ", at least 0"
    if declared.default is not None:
        return f"{words}; default `{declared.default.bare_text}`"
    if declared.optional and declared.constraint.kind != "unit":
        return f"{words}; optional"
    return words


def _since_note(declaration: OperationDeclaration, since: Version | None) -> str:
    """Marks what came later than the operation itself."""
    if since is None or declaration.since is None or since <= declaration.since:
        return ""
    return f" (since {version_text(since)})"


def _value_row(declaration: OperationDeclaration, declared: OperandDeclaration) -> tuple[str, ...]:
    count = {OPTIONAL: "; optional", VARIADIC: "; any number"}.get(declared.count, "")
    meaning = prose(declared.documentation) + _since_note(declaration, declared.since)
    return f"`{declared.name}`", type_words(declared.constraint) + count, meaning


def _attribute_row(declaration: OperationDeclaration, declared: AttributeDeclaration) -> tuple[str, ...]:
    note = _since_note(declaration, declared.since)
    return f"`{declared.name}`", attribute_words(declaration, declared), prose(declared.documentation) + note


def _region_row(region: RegionDeclaration) -> tuple[str, ...]:
    blocks = {1: "one block", -1: "at most one block", -2: "any number of blocks"}[region.blocks]
    if region.implicit_terminator is not None:
        blocks += f"; a final `{region.implicit_terminator.mnemonic}` without operands may be omitted"
    return f"`{region.name}`", blocks, prose(region.documentation)


def trait_words(declaration: OperationDeclaration) -> list[str]:
    words = [words for trait, words in _TRAITS if declaration.traits & trait]
    accesses = [("reads", declaration.reads), ("writes", declaration.writes)]
    kinds = [kind for kind, place in accesses if place is not None]
    through = f"{' and '.join(kinds)} memory through `{declaration.reads or declaration.writes}`"
    return [through, *words] if kinds else words


def rule_words(message: str) -> str:
    """A type rule, from its diagnostic: what must hold, or else the message of a violation."""
    for prefix in ("failed to verify that ", "requires "):
        if message.startswith(prefix):
            return message[len(prefix) :]
    return f'refused with "{message}"'


def operation_page(declaration: OperationDeclaration) -> Page:
    operands = [_value_row(declaration, each) for each in declaration.operands]
    results = [_value_row(declaration, each) for each in declaration.results]
    attributes = [_attribute_row(declaration, each) for each in declaration.attributes]
    regions = [_region_row(each) for each in declaration.regions]
    rules = [rule_words(rule.message) for rule in declaration.rules if rule.message]
    draft_only = "This operation exists only in the drafts. In public operations:" if declaration.legalization else ""
    sections = sections_of(
        ("Syntax", [Code(grammar(declaration), True)]),
        ("Description", [Paragraph(prose(declaration.description))]),
        ("Operands", [Table(("name", "type", "meaning"), operands)]),
        ("Attributes", [Table(("name", "value", "meaning"), attributes)]),
        ("Results", [Table(("name", "type", "meaning"), results)]),
        ("Regions", [Table(("name", "blocks", "meaning"), regions)]),
        ("Type rules", [Bullets(rules)]),
        ("Traits", [Bullets(trait_words(declaration))]),
        ("Legalization", [Paragraph(draft_only), Paragraph(prose(declaration.legalization))]),
        ("Example", [Code(declaration.example)]),
        ("Example in Python", [Code(builder_example(declaration), language="python")]),
    )
    facts = [f"chapter {declaration.chapter}"]
    facts.append("of MLIR, not of cuda_tile" if declaration.is_builtin else since_fact(declaration.since))
    if declaration.opcode is not None:
        facts.append(f"opcode 0x{declaration.opcode:02X}")
    if declaration.section:
        facts.append(f"the operations draft section {declaration.section}")
    if declaration.newer_mnemonic is not None:
        facts.append(f"spelled {declaration.mnemonic} up to 13.3")
    if declaration.aliases:
        facts.append(f"also read: {', '.join(declaration.aliases)}")
    return Page(title_of(declaration), declaration.chapter, declaration.summary, facts, sections)


def since_fact(since: Version | None) -> str:
    return "draft only" if since is None else f"since {version_text(since)}"


def documentation_page(entry: Documentation) -> Page:
    """A type or attribute that has no declaration."""
    sections = sections_of(
        ("Syntax", [Code(entry.syntax, True)]),
        ("Description", [Paragraph(prose(entry.description))]),
        ("Example", [Code(entry.example)]),
    )
    return Page(entry.name, entry.group, entry.summary, [since_fact(entry.since)], sections)


def rule_page(rule: Rule) -> Page:
    """The page of a rule; its programs are the examples."""
    facts = [f"group {rule.group}", f"a {rule.severity}", "on by default" if rule.default else "off by default"]
    if rule.targets:
        facts.append(f"needs --target, in the examples {', '.join(rule.targets)}")
    if rule.version:
        facts.append(f"needs --bytecode-version, in the examples {rule.version}")
    sections = sections_of(
        ("Why", [Paragraph(rule.reason)]),
        ("What to do", [Paragraph(rule.remedy)]),
        ("Found here", [Code(rule.positive.strip("\n"))]),
        ("Not here", [Code(rule.negative.strip("\n"))]),
    )
    return Page(rule.name, RULES_GROUP, rule.summary, facts, sections)
