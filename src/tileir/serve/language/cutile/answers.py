"""The answers about cuTile scripts: about names of the library, since others know the rest of Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from lsprotocol import types as lsp

from tileir.serve.language.cutile.calls import call_at
from tileir.serve.language.cutile.document import CutileDocument
from tileir.serve.language.cutile.library import Library, Member, library
from tileir.serve.language.cutile.operations import OPERATIONS

_WORD = re.compile(r"[\w.]*\Z")
_REST = re.compile(r"\w*")
_KINDS = {
    "function": lsp.CompletionItemKind.Function,
    "type": lsp.CompletionItemKind.Class,
    "enum": lsp.CompletionItemKind.Enum,
    "dtype": lsp.CompletionItemKind.Constant,
    "module": lsp.CompletionItemKind.Module,
    "value": lsp.CompletionItemKind.Variable,
}


def hover(document: CutileDocument, position: lsp.Position) -> lsp.Hover | None:
    """What a name of the library is, and which operations of Tile IR it becomes."""
    known, offset = library(), document.offset(position)
    start, end = _name_around(document.text, offset)
    member = _member(document, known, document.text[start:end])
    if known is None or member is None:
        return None
    parts = [f"```python\n{member.head}\n```"]
    if member.name in OPERATIONS:
        names = ", ".join([f"`{name}`" for name in OPERATIONS[member.name]])
        parts.append(f"in Tile IR: {names}")
    if member.choices:
        parts.append(", ".join([f"`{choice}`" for choice in member.choices]))
    if member.documentation:
        parts.append(member.documentation)
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, "\n\n".join(parts))
    return lsp.Hover(content, document.range(start, end))


def complete(document: CutileDocument, position: lsp.Position) -> lsp.CompletionList:
    """Names behind `ct.`, members of its enumerations, and names of parameters in its calls."""
    items: list[lsp.CompletionItem] = []
    known, offset = library(), document.offset(position)
    if known is not None and not _is_in_comment(document, offset):
        found = _WORD.search(document.text, max(0, offset - 200), offset)
        word = found[0] if found is not None else ""
        base, dot, _ = word.rpartition(".")
        if dot and base in document.script.modules:
            items = [_item(member) for member in known.members.values()]
        elif dot:
            member = _member(document, known, base)
            items = [
                lsp.CompletionItem(choice, kind=lsp.CompletionItemKind.EnumMember)
                for choice in (member.choices if member is not None else ())
            ]
        else:
            items = _keywords(document, known, offset)
    return lsp.CompletionList(False, items)


def signature_help(document: CutileDocument, position: lsp.Position) -> lsp.SignatureHelp | None:
    """The parameters of a function of the library that is being called."""
    known, offset = library(), document.offset(position)
    call = call_at(document.text, offset) if known is not None else None
    member = _member(document, known, call.name) if call is not None else None
    if call is None or member is None or member.signature is None:
        return None
    names = [parameter.name for parameter in member.parameters]
    active = names.index(call.keyword) if call.keyword in names else call.argument
    if call.keyword not in names and active < len(names):
        parameter = member.parameters[active]
        active = active if parameter.kind is not parameter.KEYWORD_ONLY else len(names)
    information = lsp.SignatureInformation(
        member.head,
        documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, member.documentation.split("\n\n")[0]),
        parameters=[lsp.ParameterInformation(name) for name in names],
        active_parameter=active if active < len(names) else None,
    )
    return lsp.SignatureHelp([information], 0, active if active < len(names) else None)


def inlay_hints(document: CutileDocument, within: lsp.Range) -> list[lsp.InlayHint]:
    """The types of the tiles that names stand for, as they were when the script was compiled."""
    found: dict[tuple[int, str], lsp.InlayHint] = {}
    for answer in document.answers:
        for variable in answer.variables:
            line = document.line_now(variable.line - 1)
            if line is None or not within.start.line <= line <= within.end.line:
                continue
            start, end = document.line_start(line), document.line_end(line)
            name = re.compile(rf"\b{re.escape(variable.name)}\b").search(document.text, start, end)
            if name is not None and (line, variable.name) not in found:
                place = document.position(name.end())
                found[line, variable.name] = lsp.InlayHint(
                    place, f": {variable.type}", kind=lsp.InlayHintKind.Type, tooltip=f"in {answer.kernel}, as compiled"
                )
    return list(found.values())


def code_actions(document: CutileDocument, within: lsp.Range) -> list[lsp.CodeAction]:
    """What was meant by names that are not there, written in their place."""
    start, end = document.offset(within.start), document.offset(within.end)
    found: list[lsp.CodeAction] = []
    for mistake in document.mistakes:
        if mistake.replacement is None or mistake.end < start or end < mistake.start:
            continue
        edit = lsp.TextEdit(document.range(mistake.start, mistake.end), mistake.replacement)
        found.append(
            lsp.CodeAction(
                f"Write '{mistake.replacement}'",
                kind=lsp.CodeActionKind.QuickFix,
                edit=lsp.WorkspaceEdit(changes={document.uri: [edit]}),
                is_preferred=True,
            )
        )
    return found


def _keywords(document: CutileDocument, known: Library, offset: int) -> list[lsp.CompletionItem]:
    call = call_at(document.text, offset)
    member = _member(document, known, call.name) if call is not None else None
    if call is None or member is None or call.keyword:
        return []
    return [
        lsp.CompletionItem(
            f"{name}=",
            kind=lsp.CompletionItemKind.Property,
            detail=f"parameter of {member.name}",
            # Before names of the script, of which others know.
            sort_text=f"0{name}",
        )
        for name in member.keywords
        if name not in call.keywords
    ]


def _item(member: Member) -> lsp.CompletionItem:
    operations = ", ".join(OPERATIONS.get(member.name, ()))
    return lsp.CompletionItem(
        member.name,
        kind=_KINDS[member.kind],
        detail=member.head if member.kind == "function" else member.kind,
        label_details=lsp.CompletionItemLabelDetails(description=operations) if operations else None,
        documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, member.documentation)
        if member.documentation
        else None,
    )


def _member(document: CutileDocument, known: Library | None, written: str) -> Member | None:
    """What a dotted name of the text is in the library."""
    if known is None or not written:
        return None
    script = document.script
    base, dot, name = written.rpartition(".")
    if dot:
        return known.members.get(name) if base in script.modules else None
    return known.members.get(script.names.get(name, ""))


def _name_around(text: str, offset: int) -> tuple[int, int]:
    """The dotted name up to the end of the word at a place."""
    rest = _REST.match(text, offset)
    end = rest.end() if rest is not None else offset
    before = _WORD.search(text, max(0, offset - 200), end)
    return (before.start() if before is not None else offset), end


def _is_in_comment(document: CutileDocument, offset: int) -> bool:
    start = document.line_start(document.line_of(offset))
    return document.text[start:offset].lstrip().startswith("#")


ANSWERS: dict[str, Callable[[CutileDocument, Any], Any]] = {
    lsp.TEXT_DOCUMENT_CODE_ACTION: lambda document, asked: code_actions(document, asked.range),
    lsp.TEXT_DOCUMENT_COMPLETION: lambda document, asked: complete(document, asked.position),
    lsp.TEXT_DOCUMENT_INLAY_HINT: lambda document, asked: inlay_hints(document, asked.range),
    lsp.TEXT_DOCUMENT_HOVER: lambda document, asked: hover(document, asked.position),
    lsp.TEXT_DOCUMENT_SIGNATURE_HELP: lambda document, asked: signature_help(document, asked.position),
}
"""The questions that are answered about scripts; the others are for servers that know Python."""
