"""Completion: operations where a statement begins, and the parts that its format expects where one continues."""

from __future__ import annotations

from typing import Final

from lsprotocol import types as lsp

from tileir.analyze.documentation.grammar import grammar, spelled
from tileir.analyze.documentation.markdown import facts_line, section_lines
from tileir.analyze.documentation.pages import operation_page, operations, prose
from tileir.dialect import ops
from tileir.ir.declaration import VARIADIC, OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.ir.versions import RELEASED, Version
from tileir.serve.language.completion.cursor import Cursor
from tileir.serve.language.completion.operands import Placeholder
from tileir.serve.language.completion.parts import Items, Kind, add_open_type, add_parts
from tileir.serve.language.completion.snippets import missing_results, statement_pieces
from tileir.serve.language.document.document import Document, markup
from tileir.serve.language.document.scanner import OperationNode
from tileir.serve.language.document.tree import is_subsequence

TRIGGERS: Final = [".", "%", "@", "^", "!", "#", "<", "(", "[", ",", ":", "=", " "]
# The operations whose blocks a terminator may end, besides `if` in them.
_ENDS: Final[dict[OperationDeclaration, tuple[OperationDeclaration, ...]]] = {
    ops.BREAK: (ops.LOOP,),
    ops.CONTINUE: (ops.FOR, ops.LOOP),
    ops.YIELD: (ops.IF, ops.REDUCE, ops.SCAN),
}
_ITEMS: Final = (ops.ENTRY, ops.GLOBAL)
_MODULES: Final = (ops.MODULE, ops.BUILTIN_MODULE)
_OPERATION: Final = "operation"
_NAMED: Final = "#!^"


def complete(
    document: Document, position: lsp.Position, context: lsp.CompletionContext | None = None
) -> lsp.CompletionList:
    """Everything that may stand at a position, the most likely first."""
    cursor = Cursor(document, document.offset(position))
    items = Items(cursor)
    if cursor.is_in_comment_or_string:
        return items.as_list()
    sigil = cursor.prefix[:1]
    if cursor.open_type() is not None:
        add_open_type(items)
    elif sigil in _NAMED and sigil:
        for name in document.syntax.names:
            is_visible = sigil != "^" or name.scope is cursor.region
            if name.definition is not None and name.text[:1] == sigil and is_visible:
                items.add(name.text, Kind.Reference, name.kind)
        for type in ("tile", "ptr", "tensor_view", "partition_view", "token") if sigil == "!" else ():
            items.add(f"!cuda_tile.{type}", Kind.Struct)
    elif cursor.expects_name:
        # A blank at the begin of a line offers nothing.
        is_blank = context is not None and context.trigger_character == " "
        if not is_blank and sigil not in ("%", "@"):
            _add_operations(items)
    else:
        add_parts(items)
    return items.as_list()


def resolve(item: lsp.CompletionItem) -> lsp.CompletionItem:
    """An item with its documentation, which is written only for the selected one."""
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
    item.documentation = markup("\n".join(lines))
    return item


def _add_operations(items: Items) -> None:
    cursor = items.cursor
    version = cursor.document.settings.version
    pool = cursor.pool()
    before = cursor.document.syntax.operation_of_token(cursor.last)
    if (
        before is not None
        and before.declaration is ops.IF
        and [each.closing for each in before.regions] == [cursor.last]
    ):
        items.add("else", Kind.Keyword, "the other branch", pieces=["else {\n  ", Placeholder(""), "\n}"])
    released = [each for each in operations() if each.since is None or each.since <= RELEASED]
    found = [each for each in released if is_subsequence(cursor.prefix, spelled(each, version))]
    # Operations that begin with the prefix come first.
    found.sort(key=lambda each: not spelled(each, version).startswith(cursor.prefix))
    for declaration in found:
        if not _is_allowed(declaration, cursor, version):
            continue
        item = items.add(
            spelled(declaration, version),
            Kind.Keyword if declaration.regions or declaration.is_terminator else Kind.Function,
            prose(declaration.summary),
            pieces=statement_pieces(declaration, pool, not cursor.results, version),
            description=declaration.chapter,
            data={_OPERATION: declaration.name},
        )
        # The operation may have more results than are named so far.
        missing = missing_results(declaration, pool, len(cursor.results)) if cursor.results else []
        if missing:
            end = cursor.document.syntax.end(cursor.results[-1])
            edit = lsp.TextEdit(cursor.document.range(end, end), "".join([f", {each}" for each in missing]))
            item.additional_text_edits = [edit]


def _is_allowed(declaration: OperationDeclaration, cursor: Cursor, version: Version) -> bool:
    if declaration.since is None and not declaration.name.startswith("builtin."):
        return False
    if declaration.since is not None and declaration.since > version:
        return False
    single = all(declared.count != VARIADIC for declared in declaration.results)
    if cursor.results and (not declaration.results or (single and len(cursor.results) > len(declaration.results))):
        return False
    owner = cursor.region.owner
    if owner is None or owner.declaration is ops.BUILTIN_MODULE:
        return declaration in (_MODULES if owner is None else (ops.MODULE,))
    if owner.declaration is ops.MODULE:
        return declaration in _ITEMS
    if declaration in _ITEMS or declaration in _MODULES:
        return False
    ended = _ENDS.get(declaration)
    return ended is None or _is_inside(owner, ended)


def _is_inside(owner: OperationNode, owners: tuple[OperationDeclaration, ...]) -> bool:
    """Whether a terminator in an operation belongs to one of these; `if` may be between them."""
    around = [each.declaration for each in owner.outwards()]
    return next((each in owners for each in around if each in owners or each is not ops.IF), False)
