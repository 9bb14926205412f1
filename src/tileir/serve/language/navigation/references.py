"""From a use to its definition, from a definition to its uses, to the script an operation comes from; renaming.

A new name must not mean anything else where the old one is visible: no name may be defined twice in nested regions.
"""

from __future__ import annotations

import os
import re

from lsprotocol import types as lsp

from tileir.execute.locations.source_locations import user_location
from tileir.ir.diagnostics import position_of
from tileir.ir.location import FileLocation
from tileir.ir.quoting import quote
from tileir.serve.language.connection import RequestRefused
from tileir.serve.language.document.document import Document, uri_of
from tileir.serve.language.document.names import (
    ALIAS,
    SYMBOL_KIND,
    VALUE,
    Name,
)
from tileir.serve.language.document.scanner import OperationNode, RegionNode
from tileir.serve.language.document.tree import SyntaxTree
from tileir.text.lexer import unescape

# Tokens of a location behind an operation.
_LONGEST_LOCATION = 200


def definition(document: Document, position: lsp.Position) -> list[lsp.Location]:
    """Where a name is defined; of `loc("k.py":3:5)` and of an operation with a location, the line of the script."""
    syntax = document.syntax
    token = named_token(document, position)
    if token is None:
        token = syntax.token_at(document.offset(position))
        if token is None:
            return []
        place = _written_place(syntax, token)
        operation = syntax.operation_of_token(token)
        if place is None and operation is not None and operation.name == token:
            place = _script_place(syntax, operation)
        return _location_in_file(document, place) if place is not None else []
    name = syntax.name_at(token)
    return [_location(document, name.definition)] if name is not None and name.definition is not None else []


def type_definition(document: Document, position: lsp.Position) -> list[lsp.Location]:
    """Where the alias is defined that a value's type is written with."""
    syntax = document.syntax
    name = name_at(document, position)
    if name is None or name.definition is None:
        return []
    if name.kind == ALIAS:
        return [_location(document, name.definition)]
    operation = syntax.operation_at(syntax.starts[name.definition])
    if name.kind != VALUE or operation is None:
        return []
    wanted = document.analysis.type_of(name)
    found = []
    for index in range(operation.first, _end_of_head(operation) + 1):
        alias = syntax.name_at(index) if syntax.tokens[index][:1] == "!" else None
        if alias is not None and alias.kind == ALIAS and alias.definition is not None:
            found.append(alias)
    # Of several that are written, those that stand for this type; the one behind the name, of an argument.
    behind = syntax.name_at(name.definition + 2) if syntax.tokens[name.definition + 1] == ":" else None
    if behind in found:
        found = [alias for alias in found if alias is behind]
    elif wanted is not None and len(found) > 1:
        found = [alias for alias in found if _stands_for(syntax, alias, wanted.spelling)] or found[-1:]
    return [_location(document, alias.definition) for alias in found[:1] if alias.definition is not None]


def references(document: Document, position: lsp.Position, with_definition: bool = True) -> list[lsp.Location]:
    """All places of a name, in order of the text."""
    name = name_at(document, position)
    if name is None:
        return []
    return [_location(document, token) for token in occurrences(name, with_definition)]


def highlights(document: Document, position: lsp.Position) -> list[lsp.DocumentHighlight]:
    """All places of a name in sight: it is written where it is defined, and read elsewhere."""
    name = name_at(document, position)
    if name is None:
        return []
    write, read = lsp.DocumentHighlightKind.Write, lsp.DocumentHighlightKind.Read
    return [
        lsp.DocumentHighlight(token_range(document, token), write if token == name.definition else read)
        for token in occurrences(name)
    ]


def linked_editing(document: Document, position: lsp.Position) -> lsp.LinkedEditingRanges | None:
    """All places of a name, which may be typed over together; without the number of a result."""
    name = name_at(document, position)
    if name is None or name.definition is None or name.kind == SYMBOL_KIND:
        return None
    ranges = [base_range(document, token) for token in occurrences(name)]
    return lsp.LinkedEditingRanges(ranges, r"[%#!^][\w$.\-]*")


def name_at(document: Document, position: lsp.Position) -> Name | None:
    """The name at a position, or just before it."""
    token = named_token(document, position)
    return document.syntax.name_at(token) if token is not None else None


def named_token(document: Document, position: lsp.Position) -> int | None:
    """The token at a position that names something; the one that ends there where what follows does not."""
    syntax = document.syntax
    offset = document.offset(position)
    token = syntax.token_at(offset)
    if token is None or syntax.name_at(token) is not None:
        return token
    before = token - 1
    if before >= 0 and syntax.end(before) == offset and syntax.name_at(before) is not None:
        return before
    return None


def occurrences(name: Name, with_definition: bool = True) -> list[int]:
    """The tokens of a name, in order of the text."""
    uses = {token for token in name.uses if token != name.definition}
    if with_definition and name.definition is not None:
        uses.add(name.definition)
    return sorted(uses)


def token_range(document: Document, token: int) -> lsp.Range:
    start = document.syntax.starts[token]
    return document.range(start, start + len(document.syntax.tokens[token]))


def base_range(document: Document, token: int) -> lsp.Range:
    """Where the name in a token stands, without the number of a result: `%x` of `%x#1`."""
    start = document.syntax.starts[token]
    text = document.syntax.tokens[token]
    return document.range(start, start + len(text.partition("#")[0] if text[:1] == "%" else text))


def _location(document: Document, token: int) -> lsp.Location:
    return lsp.Location(document.uri, token_range(document, token))


def _end_of_head(operation: OperationNode) -> int:
    """The last token before the first region of an operation."""
    return operation.regions[0].opening - 1 if operation.regions else operation.last


def _stands_for(syntax: SyntaxTree, alias: Name, spelling: str) -> bool:
    """Whether `!name = type` is written with a type."""
    assert alias.definition is not None
    return syntax.tokens[alias.definition + 2].replace("!cuda_tile.", "").replace(" ", "") == spelling.replace(" ", "")


# --- places in scripts ---


def _written_place(syntax: SyntaxTree, token: int) -> FileLocation | None:
    """`"file":line:column` of a location, where the token is part of it."""
    tokens = syntax.tokens
    for start in range(max(token - 4, 0), token + 1):
        if tokens[start][:1] != '"' or [*tokens[start + 1 : start + 2], *tokens[start + 3 : start + 4]] != [":", ":"]:
            continue
        line, column = tokens[start + 2], tokens[start + 4]
        if line.isdecimal() and column.isdecimal() and len(line) < 10 and len(column) < 10:
            try:
                return FileLocation(unescape(tokens[start]), int(line), int(column))
            except ValueError:
                return None
    return None


def _script_place(syntax: SyntaxTree, written: OperationNode) -> FileLocation | None:
    """The line of a script that an operation comes from, by the location behind it."""
    tokens = syntax.tokens
    last = written.last
    start = next((t for t in range(last, max(last - _LONGEST_LOCATION, written.first), -1) if tokens[t] == "loc"), None)
    if start is None or tokens[start + 1] != "(":
        return None
    frames: list[FileLocation] = []
    # Aliases may stand for aliases: what is still to be looked through, and what was.
    pending = [(start, last + 1)]
    seen: set[Name] = set()
    while pending:
        begin, end = pending.pop(0)
        for token in range(begin, end):
            place = _written_place(syntax, token) if tokens[token][:1] == '"' else None
            name = syntax.name_at(token) if tokens[token][:1] == "#" else None
            if place is not None:
                frames.append(place)
            elif name is not None and name.definition != token and name.operation is not None and name not in seen:
                seen.add(name)
                pending.append((name.operation.first, name.operation.last + 1))
    # Innermost first; a function of cuTile's own is not where the author looks.
    own = [frame for frame in frames if not _is_library(frame.file)]
    return position_of(user_location(own[0])) if own else None


def _is_library(file: str) -> bool:
    return "/cuda/tile/" in file.replace("\\", "/")


def _location_in_file(document: Document, place: FileLocation) -> list[lsp.Location]:
    """A line of a file that is there; its name may be relative to the document."""
    path = place.file
    if not os.path.isabs(path):
        path = os.path.join(os.path.dirname(document.path), path)
    if not os.path.isfile(path):
        return []
    start = lsp.Position(max(place.line - 1, 0), max(place.column - 1, 0))
    return [lsp.Location(uri_of(path), lsp.Range(start, start))]


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
        raise RequestRefused("There is no name here: values, symbols, blocks and aliases can be renamed.")
    if name.definition is None:
        raise RequestRefused(f"'{name.text}' is not defined in this file.")
    return name, token


def _accepted(name: Name, wanted: str) -> str:
    """The new name as it is written, with the character that its kind begins with."""
    wanted = wanted.strip()
    lead = name.text[:1]
    kind = _KINDS.get(name.kind, "name")
    if wanted[:1] in ("%", "@", "^", "#", "!") and wanted[:1] != lead:
        raise RequestRefused(f"'{wanted}' is no name of a {kind}: that begins with '{lead}'.")
    bare = wanted.removeprefix(lead)
    if not bare:
        raise RequestRefused("A name cannot be empty.")
    if lead == "@":
        return "@" + _symbol(bare)
    shape, rule = _SHAPES[lead]
    if shape.fullmatch(bare) is None:
        raise RequestRefused(f"'{wanted}' is no name of a {kind}: after '{lead}' comes {rule}.")
    return lead + bare


def _spelled(token: str, new: str) -> str:
    """A name in the place of a token; the generic form defines symbols by strings."""
    return (new[1:] if new[1] == '"' else f'"{new[1:]}"') if token[:1] == '"' else new


def _symbol(bare: str) -> str:
    """A symbol, quoted where it has to be."""
    if bare[0] == '"':
        if len(bare) < 3 or re.fullmatch(r'"(?:[^"\\\n]|\\.)*"', bare) is None:
            raise RequestRefused(f"'@{bare}' is no symbol: the quotes do not match.")
        return bare
    if _BARE_SYMBOL.fullmatch(bare):
        return bare
    if any(ord(character) < 32 for character in bare):
        raise RequestRefused("A symbol cannot have control characters in it.")
    return quote(bare)


def _refuse_conflict(syntax: SyntaxTree, name: Name, new: str) -> None:
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
            raise RequestRefused(f"'{new}' is used{line} and defined nowhere: it would become '{name.text}'.")
        raise RequestRefused(f"'{new}' is already the name of another {_KINDS[name.kind]}, defined{line}.")


def _overlap(one: Name, other: Name) -> bool:
    """Whether one name is in sight somewhere where the other one is."""
    if one.scope is None or other.scope is None or one.kind != VALUE:
        return one.scope is other.scope
    return _is_around(one.scope, other.scope) or _is_around(other.scope, one.scope)


def _is_around(outer: RegionNode, inner: RegionNode) -> bool:
    """Whether what a region defines is in sight in another one."""
    region = inner
    while region is not outer:
        if region.owner is None or region.owner.is_isolated:
            return False
        region = region.owner.region
    return True
