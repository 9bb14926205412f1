"""What can be typed at a place: operations where a statement begins, and what its form wants where one goes on."""

from __future__ import annotations

from typing import Final

from lsprotocol import types as lsp

from tileir.analyze.documentation.grammar import grammar, spelled
from tileir.analyze.documentation.markdown import facts_line, section_lines
from tileir.analyze.documentation.pages import operation_page, operations, prose
from tileir.dialect.ops import (
    BREAK,
    BUILTIN_MODULE,
    CONTINUE,
    ENTRY,
    FOR,
    GLOBAL,
    IF,
    LOOP,
    MODULE,
    REDUCE,
    SCAN,
    YIELD,
)
from tileir.ir.declaration import VARIADIC, OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.ir.versions import Version
from tileir.serve.language.choosing import Placeholder, Pool
from tileir.serve.language.completion_items import Items, Kind
from tileir.serve.language.completion_parts import add_open_type, add_parts
from tileir.serve.language.definitions import ALIAS, BLOCK
from tileir.serve.language.document import Document
from tileir.serve.language.places import Place, is_subsequence
from tileir.serve.language.snippets import missing_results, statement_pieces
from tileir.serve.language.structure import WrittenRegion

TRIGGERS: Final = [".", "%", "@", "^", "!", "#", "<", "(", "[", ",", ":", "=", " "]
# The operations that a terminator may end a block of, besides `if` in them.
_ENDS: Final[dict[OperationDeclaration, tuple[OperationDeclaration, ...]]] = {
    BREAK: (LOOP,),
    CONTINUE: (FOR, LOOP),
    YIELD: (IF, REDUCE, SCAN),
}
_ITEMS: Final = (ENTRY, GLOBAL)
_MODULES: Final = (MODULE, BUILTIN_MODULE)
_OPERATION: Final = "operation"


def complete(document: Document, position: lsp.Position, trigger: str | None = None) -> lsp.CompletionList:
    """Everything that can stand at a position, the most likely first.  `trigger` is the character that led here."""
    place = Place(document, document.offset(position))
    items = Items(place)
    if place.is_quiet:
        return items.as_list()
    sigil = place.prefix[:1]
    if place.open_type() is not None:
        add_open_type(items)
    elif sigil in ("#", "!"):
        _add_aliases(items, sigil)
    elif sigil == "^":
        _add_blocks(items)
    elif place.wants_name:
        # A blank at the begin of a line asks for nothing.
        if trigger != " " and sigil not in ("%", "@"):
            _add_operations(items)
    else:
        add_parts(items)
    return items.as_list()


def resolve(item: lsp.CompletionItem) -> lsp.CompletionItem:
    """The documentation of an item, which is made only for the one that is looked at."""
    data = item.data
    name = data.get(_OPERATION) if isinstance(data, dict) else None
    declaration = REGISTRY.by_name.get(name) if isinstance(name, str) else None
    if declaration is None:
        return item
    page = operation_page(declaration)
    lines = ["```tileir", grammar(declaration), "```", facts_line(page), ""]
    for section in page.sections:
        if section.title in ("Description", "Operands", "Attributes", "Example"):
            lines.extend([*section_lines(section), ""])
    item.documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, "\n".join(lines))
    return item


# --- operations ---


def _add_operations(items: Items) -> None:
    place = items.place
    version = place.document.settings.version
    pool = place.pool()
    written = place.prefix
    if _follows_if(place):
        items.add("else", Kind.Keyword, "the other branch", pieces=["else {\n  ", Placeholder(""), "\n}"])
    found: list[tuple[bool, OperationDeclaration]] = []
    for declaration in operations():
        name = spelled(declaration, version)
        if is_subsequence(written, name) and _is_right(declaration, place, version):
            found.append((not name.startswith(written), declaration))
    # Those that begin with what is typed come first.
    for _, declaration in sorted(found, key=lambda each: each[0]):
        _add_operation(items, declaration, pool, version)


def _add_operation(items: Items, declaration: OperationDeclaration, pool: Pool, version: Version) -> None:
    place = items.place
    name = spelled(declaration, version)
    item = items.add(
        name,
        Kind.Keyword if declaration.regions or declaration.is_terminator else Kind.Function,
        prose(declaration.summary),
        pieces=statement_pieces(declaration, pool, not place.results, version),
        description=declaration.chapter,
        data={_OPERATION: declaration.name},
        filter_text=name,
    )
    if place.results:
        # The operation has more results than are named so far.
        missing = missing_results(declaration, pool, len(place.results))
        if missing:
            end = place.document.syntax.end(place.results[-1])
            edit = lsp.TextEdit(place.document.range(end, end), "".join([f", {each}" for each in missing]))
            item.additional_text_edits = [edit]


def _is_right(declaration: OperationDeclaration, place: Place, version: Version) -> bool:
    """Whether an operation may stand at a place, in a program of a version."""
    if declaration.since is None and not declaration.name.startswith("builtin."):
        return False
    if declaration.since is not None and declaration.since > version:
        return False
    single = all(declared.count != VARIADIC for declared in declaration.results)
    if place.results and (not declaration.results or (single and len(place.results) > len(declaration.results))):
        return False
    owner = place.region.owner
    if owner is None or owner.declaration is BUILTIN_MODULE:
        return declaration in (_MODULES if owner is None else (MODULE,))
    if owner.declaration is MODULE:
        return declaration in _ITEMS
    if declaration in _ITEMS or declaration in _MODULES:
        return False
    ended = _ENDS.get(declaration)
    return ended is None or _is_inside(place.region, ended)


def _is_inside(region: WrittenRegion, owners: tuple[OperationDeclaration, ...]) -> bool:
    """Whether a terminator there belongs to one of these; `if` is looked through."""
    owner = region.owner
    while owner is not None:
        if owner.declaration in owners:
            return True
        if owner.declaration is not IF:
            return False
        owner = owner.region.owner
    return False


def _follows_if(place: Place) -> bool:
    """Whether `else` may stand here: behind the only region of an `if`."""
    written = place.document.syntax.operation_of_token(place.last)
    return (
        written is not None
        and written.declaration is IF
        and len(written.regions) == 1
        and written.regions[0].closing == place.last
    )


# --- other names ---


def _add_aliases(items: Items, sigil: str) -> None:
    for name in items.place.document.syntax.names:
        if name.kind == ALIAS and name.definition is not None and name.text[:1] == sigil:
            items.add(name.text, Kind.Reference, "alias")
    if sigil == "!":
        for type in ("tile", "ptr", "tensor_view", "partition_view", "token"):
            items.add(f"!cuda_tile.{type}", Kind.Struct)


def _add_blocks(items: Items) -> None:
    for name in items.place.document.syntax.names:
        if name.kind == BLOCK and name.definition is not None and name.scope is items.place.region:
            items.add(name.text, Kind.Reference, "block")
