"""Everything that can be explained by name: operations, types, attributes, keywords, versions, rules of lint."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from tileir.analyze.documentation.meanings import ATTRIBUTES, ELEMENT_TYPES, ENUMERATIONS, KEYWORDS, TYPES, VERSIONS
from tileir.analyze.documentation.pages import (
    CHAPTERS,
    RULES_GROUP,
    Bullets,
    Page,
    Paragraph,
    Section,
    Table,
    attribute_words,
    documentation_page,
    listed,
    operation_page,
    operations,
    other_names,
    prose,
    rule_page,
    section,
    title_of,
)
from tileir.analyze.documentation.written_types import written_type_section
from tileir.analyze.lint.rules import RULES
from tileir.dialect.attributes import ARCHITECTURES, HINT_DOCUMENTATION, HINTS_OF_KIND
from tileir.dialect.enums import ENUM_KINDS, enum_kind_of
from tileir.dialect.types import ELEMENT_SINCE
from tileir.ir import quoting
from tileir.ir.attributes import FIRST_DRAFT_ONLY_VALUE, EnumKind
from tileir.ir.declaration import AttributeDeclaration, OperationDeclaration
from tileir.ir.floats import FORMATS, FloatFormat
from tileir.ir.registry import REGISTRY
from tileir.ir.versions import V13_1, V13_4, Version, version_text


class Entry(NamedTuple):
    """A name, the words for it in a list, and how to make its page; `others` lead to it as well."""

    name: str
    group: str
    summary: str
    others: tuple[str, ...]
    page: Callable[[], Page]


# --- operations ---


def operation_entries() -> list[Entry]:
    return [
        Entry(title_of(d), d.chapter, d.summary, tuple(other_names(d)), partial(operation_page, d))
        for d in operations()
    ]


# --- types ---


def type_entries() -> list[Entry]:
    entries = [Entry(d.name, d.group, d.summary, d.names, partial(documentation_page, d)) for d in TYPES]
    for name, summary in ELEMENT_TYPES.items():
        entries.append(Entry(name, "Element types", summary, (), partial(element_page, name)))
    return entries


def element_page(name: str) -> Page:
    """An element type; the layout of a float comes from its format."""
    since = {type.spelling: version for type, version in ELEMENT_SINCE.items()}.get(name, V13_1)
    summary, _, rest = ELEMENT_TYPES[name].partition(".  ")
    sections = section("Description", Paragraph(f"{rest}." if rest else ""))
    format = FORMATS.get(name)
    if format is not None:
        sections += section("Layout", Table(("fact", "value"), tuple(_format_facts(format))))
    elif name not in ("i1", "i4"):
        width = int(name[1:])
        rows = (("as signed", f"-2^{width - 1} to 2^{width - 1} - 1"), ("as unsigned", f"0 to 2^{width} - 1"))
        sections += section("Range", Table(("fact", "value"), rows))
    return Page(name, "Element types", summary, (f"since {version_text(since)}",), tuple(sections))


def _format_facts(format: FloatFormat) -> list[tuple[str, str]]:
    bits = [f"{format.exponent_bits} exponent", f"{format.mantissa_bits} mantissa"]
    if format.has_sign:
        bits.insert(0, "1 sign")
    top = format.largest >> format.mantissa_bits
    fraction = 1 + (format.largest & ((1 << format.mantissa_bits) - 1)) / (1 << format.mantissa_bits)
    bottom = format.minimum_exponent - (format.mantissa_bits if format.has_zero else 0)
    return [
        ("bits", f"{format.width}: {', '.join(bits)}"),
        ("bytes of a constant's element", str(format.storage_bytes)),
        ("exponent bias", str(format.bias)),
        ("significant bits", str(format.precision)),
        ("largest value", f"{fraction * 2.0 ** (top - format.bias):.6g}"),
        ("smallest value above zero", f"2^{bottom}"),
        ("infinity", "yes" if format.has_infinity else "no"),
        ("NaN", "yes" if format.quiet_nan >= 0 else "no"),
    ]


# --- attributes ---


class Use(NamedTuple):
    """An attribute of an operation."""

    operation: OperationDeclaration
    attribute: AttributeDeclaration


def uses_of(matches: Callable[[AttributeDeclaration], bool]) -> list[Use]:
    return [Use(d, a) for d in operations() for a in d.attributes if matches(a)]


def uses_of_kind(kind: EnumKind) -> list[Use]:
    return uses_of(lambda a: enum_kind_of(a) is kind)


def attribute_entries() -> list[Entry]:
    """The attributes with a meaning of their own, the enumerations, then what is left of the operations' attributes."""
    entries = [
        Entry(
            d.name,
            d.group,
            d.summary,
            (*d.names, *HINT_DOCUMENTATION) if d.name == "optimization_hints" else d.names,
            hints_page if d.name == "optimization_hints" else partial(documentation_page, d),
        )
        for d in ATTRIBUTES
    ]
    named = {d.name for d in ATTRIBUTES}
    for kind in ENUM_KINDS.values():
        names = sorted({use.attribute.name for use in uses_of_kind(kind)})
        others = tuple([name for name in names if name != kind.name])
        named.update(names)
        entries.append(Entry(kind.name, "Enumerations", ENUMERATIONS[kind.name], others, partial(enum_page, kind)))
    rest = {use.attribute.name: use for use in reversed(uses_of(lambda a: a.name not in named))}
    for name in sorted(rest):
        summary = prose(rest[name].attribute.documentation).partition(";")[0]
        summary = summary[0].upper() + summary[1:]
        page = partial(attribute_page, name, summary)
        entries.append(Entry(name, "Attributes of operations", summary, (), page))
    return entries


def _uses_section(uses: list[Use], with_name: bool) -> list[Section]:
    rows = []
    for use in uses:
        words = f"`{use.attribute.name}`" if with_name else attribute_words(use.operation, use.attribute)
        rows.append((f"`{title_of(use.operation)}`", words, prose(use.attribute.documentation)))
    return section("Used by", Table(("operation", "as" if with_name else "value", "meaning"), tuple(rows)))


def enum_page(kind: EnumKind) -> Page:
    """An enumeration: its keywords with their bytes, and the operations that take it."""
    words = KEYWORDS[kind.name]
    uses = uses_of_kind(kind)
    # An enumeration of draft operations alone has no place in the bytecode.
    public = not uses or any(not use.operation.draft_only for use in uses)
    rows = []
    for keyword, value in kind.values.items():
        note = f" (since {version_text(kind.since[keyword])})" if keyword in kind.since else ""
        byte = str(value) if public and value < FIRST_DRAFT_ONLY_VALUE else "none"
        rows.append((f"`{keyword}`", byte, words[keyword] + note))
    pairs = [f"`{alias}` as `{keyword}`" for alias, keyword in kind.aliases.items()]
    drafts = f"The drafts' spellings are read too: {listed(pairs, 'and')}." if pairs else ""
    keywords = section("Keywords", Table(("keyword", "byte", "meaning"), tuple(rows)), Paragraph(drafts))
    return Page(kind.name, "Enumerations", ENUMERATIONS[kind.name], (), (*keywords, *_uses_section(uses, True)))


def attribute_page(name: str, summary: str) -> Page:
    """An attribute that only operations know, by the operations that have it."""
    uses = uses_of(lambda a: a.name == name)
    since = sorted({version_text(u.attribute.since) for u in uses if u.attribute.since is not None})
    facts = (f"since {listed(since, 'and')}",) if since else ()
    return Page(name, "Attributes of operations", summary, facts, tuple(_uses_section(uses, False)))


def hints_page() -> Page:
    page = documentation_page(next(d for d in ATTRIBUTES if d.name == "optimization_hints"))
    kinds = {"entry": "entry", "view": "loads and stores of views", "pointer": "loads and stores of pointers"}
    rows = []
    for hint, meaning in HINT_DOCUMENTATION.items():
        places = [kinds[kind] for kind, hints in HINTS_OF_KIND.items() if hint in hints]
        rows.append((f"`{hint}`", ", ".join(places), meaning))
    names = []
    for architecture, since in ARCHITECTURES.items():
        names.append(f"`{architecture}`" + (f" (since {version_text(since)})" if since > V13_1 else ""))
    sections = (
        *page.sections,
        *section("Hints", Table(("hint", "on", "meaning"), tuple(rows))),
        *section("Architectures", Paragraph(", ".join(names) + ".")),
        *_uses_section(uses_of(lambda a: a.name == "optimization_hints"), False),
    )
    return page._replace(sections=sections)


# --- versions ---


def version_entries() -> list[Entry]:
    return [
        Entry(version_text(version), "Versions", summary, (), partial(version_page, version))
        for version, summary in VERSIONS.items()
    ]


def version_page(version: Version) -> Page:
    """What a version of the dialect brought."""
    declared = operations()
    new = [d for d in declared if d.since == version and not d.is_builtin]
    if version == V13_1:
        text = f"{len(new)} operations, the types and attributes that are not listed under a later version."
        brought = section("Brought", Paragraph(text))
    else:
        brought = section(
            "Operations", Table(("operation", "meaning"), tuple([(f"`{title_of(d)}`", d.summary) for d in new]))
        )
    renamed = [f"`{d.mnemonic}` is spelled `{d.newer_mnemonic}`" for d in declared if d.newer_mnemonic is not None]
    sections = (
        *brought,
        *section(
            "New in older operations", Table(("operation", "new", "meaning"), tuple(_later_pieces(version, declared)))
        ),
        *section("Types and keywords", Bullets(tuple(_other_news(version)))),
        *section("Renamed", Bullets(tuple(renamed if version == V13_4 else []))),
    )
    return Page(version_text(version), "Versions", VERSIONS[version], (), sections)


def _later_pieces(version: Version, declared: list[OperationDeclaration]) -> list[tuple[str, ...]]:
    return [
        (f"`{title_of(d)}`", f"{kind} `{piece.name}`", prose(piece.documentation))
        for d in declared
        if d.since is not None and d.since < version
        for kind, pieces in (("operand", d.operands), ("result", d.results), ("attribute", d.attributes))
        for piece in pieces
        if piece.since == version
    ]


def _other_news(version: Version) -> list[str]:
    news = [f"type `{d.name}`: {d.summary[0].lower()}{d.summary[1:]}" for d in TYPES if d.since == version != V13_1]
    news.extend([f"element type `{t.spelling}`" for t, since in ELEMENT_SINCE.items() if since == version])
    for kind in ENUM_KINDS.values():
        news.extend([f"`{kind.name}` `{keyword}`" for keyword, since in kind.since.items() if since == version])
    if version > V13_1:
        news.extend([f"hints for `{name}`" for name, since in ARCHITECTURES.items() if since == version])
    return news


# --- rules of lint ---


def rule_entries() -> list[Entry]:
    return [Entry(rule.name, RULES_GROUP, rule.summary, (), partial(rule_page, rule)) for rule in RULES.values()]


# --- finding ---


def all_entries() -> list[Entry]:
    return [*operation_entries(), *type_entries(), *attribute_entries(), *version_entries(), *rule_entries()]


def groups() -> list[tuple[str, list[Entry]]]:
    """The entries under their headings, operations first."""
    found: dict[str, list[Entry]] = {chapter: [] for chapter in CHAPTERS}
    for entry in all_entries():
        found.setdefault(entry.group, []).append(entry)
    return list(found.items())


def find(name: str) -> list[Page]:
    """The pages of a name; several where an operation and an attribute share it.  Keywords come last."""
    wanted = name.strip()
    prefixed = wanted.lstrip("!#@%")
    bare = prefixed.removeprefix("cuda_tile.")
    exact = REGISTRY.by_name.get(prefixed)
    if exact is not None and "." in prefixed and not exact.testing:
        return [operation_page(exact)]
    entries = all_entries()
    for match in (
        [e for e in entries if bare == e.name],
        [e for e in entries if bare in e.others],
        [e for e in entries if bare.lower() == e.name.lower()],
        [e for e in entries if bare in KEYWORDS.get(e.name, {}) or _is_alias(e.name, bare)],
    ):
        if match:
            return [entry.page() for entry in match]
    return _find_written(bare)


def _find_written(text: str) -> list[Page]:
    """The page of something that is written out with what belongs to it: `tile<4xf32>`, `rounding<approx>`."""
    head, bracket, _ = text.partition("<")
    head = head.strip(" =")
    if not bracket or not head:
        return []
    pages = find(head)
    if head in [entry.name for entry in TYPES]:
        return [page._replace(sections=(written_type_section(text), *page.sections)) for page in pages]
    return pages


def _is_alias(kind: str, keyword: str) -> bool:
    return kind in ENUM_KINDS and keyword in ENUM_KINDS[kind].aliases


def close_names(name: str) -> list[str]:
    """Names that a misspelled one may stand for."""
    entries = all_entries()
    known = [n for entry in entries for n in (entry.name, *entry.others)]
    known.extend([keyword for kind in ENUM_KINDS.values() for keyword in kind.values])
    bare = name.strip().lstrip("!#@%").removeprefix("cuda_tile.")
    containing = [n for n in known if len(bare) > 2 and bare.lower() in n.lower()]
    return list(dict.fromkeys([*quoting.close_names(bare, known, 5), *containing]))[:5]
