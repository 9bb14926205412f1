"""Everything that can be explained by name: operations, types, attributes, keywords, versions, rules of lint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import NamedTuple

from tileir.analyze.documentation import pages
from tileir.analyze.documentation.meanings import ATTRIBUTES, ELEMENT_TYPES, ENUMERATIONS, KEYWORDS, TYPES, VERSIONS
from tileir.analyze.documentation.pages import Bullets, Page, Paragraph, Section, Table, operations, prose, title_of
from tileir.analyze.lint.rules import RULES
from tileir.dialect import types
from tileir.dialect.attributes import ARCHITECTURES, HINT_DOCUMENTATION, HINTS_OF_KIND
from tileir.dialect.enums import ENUM_KINDS, enum_kind_of
from tileir.dialect.types import DYNAMIC, ELEMENT_SINCE, TileType, TileViewType
from tileir.ir import quoting
from tileir.ir.attributes import FIRST_DRAFT_ONLY_VALUE, EnumKind
from tileir.ir.declaration import AttributeDeclaration, OperationDeclaration
from tileir.ir.floats import FORMATS, FloatFormat, to_double
from tileir.ir.registry import REGISTRY
from tileir.ir.types import FloatType, IntegerType, Type
from tileir.ir.versions import NEWEST, V13_1, V13_4, Version, version_text
from tileir.text.cursor import SyntaxFailure
from tileir.text.types import TypeCursor


class Entry(NamedTuple):
    """A name, the words for it in a list, and how to make its page; `others` lead to it as well."""

    name: str
    group: str
    summary: str
    others: Sequence[str]
    page: Callable[[], Page]


def operation_entries() -> list[Entry]:
    return [
        Entry(title_of(d), d.chapter, d.summary, pages.other_names(d), partial(pages.operation_page, d))
        for d in operations()
    ]


def type_entries() -> list[Entry]:
    entries = [Entry(d.name, d.group, d.summary, d.names, partial(pages.documentation_page, d)) for d in TYPES]
    for name, summary in ELEMENT_TYPES.items():
        entries.append(Entry(name, "Element types", summary, (), partial(element_page, name)))
    return entries


def element_page(name: str) -> Page:
    """An element type; the layout of a float comes from its format."""
    since = {type.spelling: version for type, version in ELEMENT_SINCE.items()}.get(name, V13_1)
    summary, _, rest = ELEMENT_TYPES[name].partition(".  ")
    title, facts = "Range", []
    if name in FORMATS:
        title, facts = "Layout", _format_facts(FORMATS[name])
    elif name not in ("i1", "i4"):
        width = int(name[1:])
        facts = [("as signed", f"-2^{width - 1} to 2^{width - 1} - 1"), ("as unsigned", f"0 to 2^{width} - 1")]
    description = Paragraph(f"{rest}." if rest else "")
    sections = pages.sections_of(("Description", [description]), (title, [Table(("fact", "value"), facts)]))
    return Page(name, "Element types", summary, [pages.since_fact(since)], sections)


def _format_facts(format: FloatFormat) -> list[tuple[str, str]]:
    sign = "1 sign, " if format.has_sign else ""
    bottom = format.minimum_exponent - (format.mantissa_bits if format.has_zero else 0)
    return [
        ("bits", f"{format.width}: {sign}{format.exponent_bits} exponent, {format.mantissa_bits} mantissa"),
        ("bytes of a constant's element", str(format.storage_bytes)),
        ("exponent bias", str(format.bias)),
        ("significant bits", str(format.precision)),
        ("largest value", f"{to_double(format, format.largest):.6g}"),
        ("smallest value above zero", f"2^{bottom}"),
        ("infinity", "yes" if format.has_infinity else "no"),
        ("NaN", "yes" if format.quiet_nan >= 0 else "no"),
    ]


Use = tuple[OperationDeclaration, AttributeDeclaration]
"""An attribute of an operation."""


def uses_of_kind(kind: EnumKind) -> list[Use]:
    return uses_of(lambda a: enum_kind_of(a) is kind)


def uses_of(matches: Callable[[AttributeDeclaration], bool]) -> list[Use]:
    return [(d, a) for d in operations() for a in d.attributes if matches(a)]


def attribute_entries() -> list[Entry]:
    """The attributes with a meaning of their own, the enumerations, then what is left of the operations' attributes."""
    entries = []
    for d in ATTRIBUTES:
        entry = Entry(d.name, d.group, d.summary, d.names, partial(pages.documentation_page, d))
        is_hints = d.name == "optimization_hints"
        entries.append(entry._replace(others=tuple(HINT_DOCUMENTATION), page=hints_page) if is_hints else entry)
    named = {d.name for d in ATTRIBUTES}
    for kind in ENUM_KINDS.values():
        names = {attribute.name for _, attribute in uses_of_kind(kind)}
        others = sorted(names - {kind.name})
        named |= names
        entries.append(Entry(kind.name, "Enumerations", ENUMERATIONS[kind.name], others, partial(enum_page, kind)))
    rest = {attribute.name: attribute for _, attribute in reversed(uses_of(lambda a: a.name not in named))}
    for name, attribute in sorted(rest.items()):
        summary = prose(attribute.documentation).partition(";")[0]
        summary = summary[0].upper() + summary[1:]
        entries.append(Entry(name, "Attributes of operations", summary, (), partial(attribute_page, name, summary)))
    return entries


def _uses_table(uses: list[Use], with_name: bool = False) -> tuple[str, list[Table]]:
    rows = [
        (
            f"`{title_of(operation)}`",
            f"`{attribute.name}`" if with_name else pages.attribute_words(operation, attribute),
            prose(attribute.documentation),
        )
        for operation, attribute in uses
    ]
    return "Used by", [Table(("operation", "as" if with_name else "value", "meaning"), rows)]


def enum_page(kind: EnumKind) -> Page:
    """An enumeration: its keywords with their bytes, and the operations that take it."""
    uses = uses_of_kind(kind)
    # An enumeration of draft operations alone has no encoding in bytecode.
    public = not uses or any(not operation.draft_only for operation, _ in uses)
    rows = []
    for keyword, value in kind.values.items():
        note = f" (since {version_text(kind.since[keyword])})" if keyword in kind.since else ""
        byte = str(value) if public and value < FIRST_DRAFT_ONLY_VALUE else "none"
        rows.append((f"`{keyword}`", byte, KEYWORDS[kind.name][keyword] + note))
    pairs = [f"`{alias}` as `{keyword}`" for alias, keyword in kind.aliases.items()]
    drafts = f"The drafts' spellings are read too: {pages.listed(pairs, 'and')}." if pairs else ""
    sections = pages.sections_of(
        ("Keywords", [Table(("keyword", "byte", "meaning"), rows), Paragraph(drafts)]), _uses_table(uses, True)
    )
    return Page(kind.name, "Enumerations", ENUMERATIONS[kind.name], (), sections)


def attribute_page(name: str, summary: str) -> Page:
    """An attribute that only operations know, by the operations that have it."""
    uses = uses_of(lambda a: a.name == name)
    since = sorted({version_text(attribute.since) for _, attribute in uses if attribute.since is not None})
    facts = [f"since {pages.listed(since, 'and')}"] if since else []
    return Page(name, "Attributes of operations", summary, facts, pages.sections_of(_uses_table(uses)))


def hints_page() -> Page:
    page = pages.documentation_page(next(d for d in ATTRIBUTES if d.name == "optimization_hints"))
    kinds = {"entry": "entry", "view": "loads and stores of views", "pointer": "loads and stores of pointers"}
    rows = [
        (f"`{hint}`", ", ".join([kinds[kind] for kind, hints in HINTS_OF_KIND.items() if hint in hints]), meaning)
        for hint, meaning in HINT_DOCUMENTATION.items()
    ]
    names = [
        f"`{architecture}`" + (f" (since {version_text(since)})" if since > V13_1 else "")
        for architecture, since in ARCHITECTURES.items()
    ]
    further = pages.sections_of(
        ("Hints", [Table(("hint", "on", "meaning"), rows)]),
        ("Architectures", [Paragraph(", ".join(names) + ".")]),
        _uses_table(uses_of(lambda a: a.name == "optimization_hints")),
    )
    return page._replace(sections=[*page.sections, *further])


def version_entries() -> list[Entry]:
    return [
        Entry(version_text(v), "Versions", summary, (), partial(version_page, v)) for v, summary in VERSIONS.items()
    ]


def version_page(version: Version) -> Page:
    """What a version of the dialect added."""
    declared = operations()
    new = [d for d in declared if d.since == version and not d.is_builtin]
    is_first = version == V13_1
    text = f"{len(new)} operations, the types and attributes that are not listed under a later version."
    later = [
        (f"`{title_of(d)}`", f"{kind} `{member.name}`", prose(member.documentation))
        for d in declared
        if d.since is not None and d.since < version
        for kind, members in (("operand", d.operands), ("result", d.results), ("attribute", d.attributes))
        for member in members
        if member.since == version
    ]
    renamed = [f"`{d.mnemonic}` is spelled `{d.newer_mnemonic}`" for d in declared if d.newer_mnemonic is not None]
    rows = [(f"`{title_of(d)}`", d.summary) for d in new]
    sections = pages.sections_of(
        ("Added", [Paragraph(text if is_first else "")]),
        ("Operations", [Table(("operation", "meaning"), [] if is_first else rows)]),
        ("New in older operations", [Table(("operation", "new", "meaning"), later)]),
        ("Types and keywords", [Bullets(_other_news(version))]),
        ("Renamed", [Bullets(renamed if version == V13_4 else [])]),
    )
    return Page(version_text(version), "Versions", VERSIONS[version], (), sections)


def _other_news(version: Version) -> list[str]:
    if version == V13_1:
        return []
    news = [f"type `{d.name}`: {d.summary[0].lower()}{d.summary[1:]}" for d in TYPES if d.since == version]
    news += [f"element type `{t.spelling}`" for t, since in ELEMENT_SINCE.items() if since == version]
    for kind in ENUM_KINDS.values():
        news += [f"`{kind.name}` `{keyword}`" for keyword, since in kind.since.items() if since == version]
    return [*news, *[f"hints for `{name}`" for name, since in ARCHITECTURES.items() if since == version]]


def rule_entries() -> list[Entry]:
    return [
        Entry(rule.name, pages.RULES_GROUP, rule.summary, (), partial(pages.rule_page, rule)) for rule in RULES.values()
    ]


def all_entries() -> list[Entry]:
    return [*operation_entries(), *type_entries(), *attribute_entries(), *version_entries(), *rule_entries()]


def groups() -> list[tuple[str, list[Entry]]]:
    """The entries under their headings, operations first."""
    found: dict[str, list[Entry]] = {chapter: [] for chapter in pages.CHAPTERS}
    for entry in all_entries():
        found.setdefault(entry.group, []).append(entry)
    return list(found.items())


def find(name: str) -> list[Page]:
    """The pages of a name; several where an operation and an attribute share it.  Keywords come last."""
    prefixed = name.strip().lstrip("!#@%")
    bare = prefixed.removeprefix("cuda_tile.")
    exact = REGISTRY.by_name.get(prefixed)
    if exact is not None and "." in prefixed and not exact.testing:
        return [pages.operation_page(exact)]
    entries = all_entries()
    for match in (
        [e for e in entries if bare == e.name],
        [e for e in entries if bare in e.others],
        [e for e in entries if bare.lower() == e.name.lower()],
        [e for e in entries if e.name in ENUM_KINDS and bare in (*KEYWORDS[e.name], *ENUM_KINDS[e.name].aliases)],
    ):
        if match:
            return [entry.page() for entry in match]
    # Something may be written out with what belongs to it: `tile<4xf32>`, `rounding<approx>`.
    head, bracket, _ = bare.partition("<")
    head = head.strip(" =")
    found = find(head) if bracket and head else []
    if head in [entry.name for entry in TYPES]:
        return [page._replace(sections=[written_type_section(bare), *page.sections]) for page in found]
    return found


def close_names(name: str) -> list[str]:
    """Names that a misspelled one may stand for."""
    entries = all_entries()
    known = [n for entry in entries for n in (entry.name, *entry.others)]
    known.extend([keyword for kind in ENUM_KINDS.values() for keyword in kind.values])
    bare = name.strip().lstrip("!#@%").removeprefix("cuda_tile.")
    containing = [n for n in known if len(bare) > 2 and bare.lower() in n.lower()]
    return list(dict.fromkeys([*quoting.close_names(bare, known, 5), *containing]))[:5]


# --- types that are written out, such as `tile<4x8xf32>` ---


def written_type_section(text: str) -> Section:
    """The facts of a type as it is written, or what is wrong with it."""
    title = "As written"
    try:
        cursor = TypeCursor(text, "-", NEWEST)
        type = cursor.parse_type()
        if not cursor.at_end():
            cursor.fail("expected end of type")
    except SyntaxFailure as failure:
        problem = f"No type, at column {failure.diagnostic.position[2]}: {failure.diagnostic.message}."
        return Section(title, (Paragraph(problem),))
    return Section(title, (Table(("fact", "value"), tuple(type_facts(type))),))


def type_facts(type: Type) -> list[tuple[str, str]]:
    """What follows from a type: names of facts, and the facts."""
    if isinstance(type, TileType):
        count = prod(type.shape)
        facts = [("shape", _shape(type.shape)), ("element", f"`{type.element.spelling}`"), ("elements", str(count))]
        return [*facts, ("bits", f"{count * _bits(type.element)}, {_bits(type.element)} for each element")]
    if isinstance(type, types.PointerType):
        return [("points to", f"`{type.pointee.spelling}`"), ("bits", str(_bits(type)))]
    if isinstance(type, types.TensorViewType):
        strides = ", ".join(_extents(type.strides)) or "none"
        return [("shape", _shape(type.shape)), ("element", f"`{type.element.spelling}`"), ("strides", strides)]
    if isinstance(type, TileViewType):
        return _view_facts(type)
    return [("spelled in full", f"`{type.text}`")]


def _view_facts(type: TileViewType) -> list[tuple[str, str]]:
    facts = [("tile it moves", f"`{type.tile.spelling}`"), ("tensor", f"`{type.tensor.spelling}`")]
    facts.append(("indices of an access", str(type.index_rank)))
    if type.sparse_dim < 0:
        for number, (dimension, extent, step) in enumerate(zip(type.dim_map, type.tile_shape, type.steps, strict=True)):
            size = type.tensor.shape[dimension]
            tiles = "known when the program runs" if size == DYNAMIC else str(-(-size // step))
            facts.append((f"tiles along index {number}", f"{tiles}, of {extent} along dimension {dimension}"))
    else:
        facts.append(("rows are picked along", f"dimension {type.sparse_dim}"))
    outside = f"reads `{type.padding.keyword}`" if type.padding is not None else "what is read is unspecified"
    facts.append(("outside the tensor", outside))
    return facts


def _bits(type: Type) -> int:
    return type.width if isinstance(type, (IntegerType, FloatType)) else 64


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(_extents(shape)) or "none: a single element"


def _extents(values: tuple[int, ...]) -> list[str]:
    return ["dynamic" if value == DYNAMIC else str(value) for value in values]
