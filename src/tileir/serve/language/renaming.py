"""Renaming what a text names: values, symbols, blocks and aliases.

A new name must not mean anything else where the old one is in sight, or the program would be another one: no name may
be defined twice in nested regions, and what an inner region defines ends with it.
"""

from __future__ import annotations

import re

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from tileir.ir.quoting import quote
from tileir.serve.language.definitions import SYMBOL_KIND, VALUE
from tileir.serve.language.document import Document
from tileir.serve.language.names import Name
from tileir.serve.language.navigation import base_range, named_token, occurrences
from tileir.serve.language.syntax import Syntax, WrittenRegion

_WORD = r"(?:[0-9]+|[A-Za-z_$.\-][\w$.\-]*)"
# By the first character of a name: what may follow it, and how the rule is said.
_SHAPES = {
    "%": (re.compile(_WORD, re.ASCII), "digits only, or letters, digits and '_', '$', '.', '-', not first a digit"),
    "^": (re.compile(_WORD, re.ASCII), "digits only, or letters, digits and '_', '$', '.', '-', not first a digit"),
    "#": (re.compile(r"[A-Za-z_][\w$\-]*", re.ASCII), "a letter or '_', then letters, digits, '_', '$' and '-'"),
    "!": (re.compile(r"[A-Za-z_][\w$\-]*", re.ASCII), "a letter or '_', then letters, digits, '_', '$' and '-'"),
}
_BARE_SYMBOL = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)
_KINDS = {"value": "value", "symbol": "symbol", "block": "block", "alias": "alias"}


class RenameRefused(JsonRpcException):
    """A name cannot be given; the message is a sentence, which editors show."""

    CODE = lsp.LSPErrorCodes.RequestFailed.value


def prepare_rename(document: Document, position: lsp.Position) -> lsp.PrepareRenamePlaceholder:
    """What would be renamed: the name without the number of a result."""
    name, token = _renamed(document, position)
    return lsp.PrepareRenamePlaceholder(base_range(document, token), name.text)


def rename(document: Document, position: lsp.Position, new_name: str) -> lsp.WorkspaceEdit:
    """The edits that give a name to what has another one."""
    name, _ = _renamed(document, position)
    new = _accepted(name, new_name)
    if new.replace('"', "") != name.text:
        _refuse_conflict(document.syntax, name, new)
    edits = [
        lsp.TextEdit(base_range(document, token), _spelled(document.syntax.tokens[token], new))
        for token in occurrences(name)
    ]
    if document.version is None:
        return lsp.WorkspaceEdit(changes={document.uri: edits})
    versioned = lsp.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
    return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(versioned, list(edits))])


def _renamed(document: Document, position: lsp.Position) -> tuple[Name, int]:
    token = named_token(document, position)
    name = document.syntax.name_at(token) if token is not None else None
    if name is None or token is None:
        raise RenameRefused("There is no name here: values, symbols, blocks and aliases can be renamed.")
    if name.definition is None:
        raise RenameRefused(f"'{name.text}' is not defined in this file.")
    return name, token


def _accepted(name: Name, wanted: str) -> str:
    """The new name as it is written, with the character that its kind begins with."""
    wanted = wanted.strip()
    lead = name.text[:1]
    kind = _KINDS.get(name.kind, "name")
    if wanted[:1] in ("%", "@", "^", "#", "!") and wanted[:1] != lead:
        raise RenameRefused(f"'{wanted}' is no name of a {kind}: that begins with '{lead}'.")
    bare = wanted.removeprefix(lead)
    if not bare:
        raise RenameRefused("A name cannot be empty.")
    if lead == "@":
        return "@" + _symbol(bare)
    shape, rule = _SHAPES[lead]
    if shape.fullmatch(bare) is None:
        raise RenameRefused(f"'{wanted}' is no name of a {kind}: after '{lead}' comes {rule}.")
    return lead + bare


def _spelled(token: str, new: str) -> str:
    """A name in the place of a token; the generic form defines symbols by strings."""
    return (new[1:] if new[1] == '"' else f'"{new[1:]}"') if token[:1] == '"' else new


def _symbol(bare: str) -> str:
    """A symbol, quoted where it has to be."""
    if bare[0] == '"':
        if len(bare) < 3 or re.fullmatch(r'"(?:[^"\\\n]|\\.)*"', bare) is None:
            raise RenameRefused(f"'@{bare}' is no symbol: the quotes do not match.")
        return bare
    if _BARE_SYMBOL.fullmatch(bare):
        return bare
    if any(ord(character) < 32 for character in bare):
        raise RenameRefused("A symbol cannot have control characters in it.")
    return quote(bare)


def _refuse_conflict(syntax: Syntax, name: Name, new: str) -> None:
    """Refuse a name that means something else where the old one is in sight."""
    plain = "@" + new[1:].strip('"') if name.kind == SYMBOL_KIND else new
    for other in syntax.names:
        if other is name or other.kind != name.kind or other.text != plain or not _overlap(name, other):
            continue
        line = ""
        place = other.definition if other.definition is not None else min(other.uses, default=None)
        if place is not None:
            line = f" in line {syntax.text.count(chr(10), 0, syntax.starts[place]) + 1}"
        if other.definition is None:
            raise RenameRefused(f"'{new}' is used{line} and defined nowhere: it would become '{name.text}'.")
        raise RenameRefused(f"'{new}' is already the name of another {_KINDS[name.kind]}, defined{line}.")


def _overlap(one: Name, other: Name) -> bool:
    """Whether one name is in sight somewhere where the other one is."""
    if one.scope is None or other.scope is None or one.kind != VALUE:
        return one.scope is other.scope
    return _is_around(one.scope, other.scope) or _is_around(other.scope, one.scope)


def _is_around(outer: WrittenRegion, inner: WrittenRegion) -> bool:
    """Whether what a region defines is in sight in another one."""
    region = inner
    while region is not outer:
        if region.owner is None or region.owner.is_isolated:
            return False
        region = region.owner.region
    return True
