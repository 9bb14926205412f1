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
from tileir.serve.language.document.scanner import OperationNode
from tileir.serve.language.document.tree import ALIAS, SYMBOL_KIND, VALUE, Name, SyntaxTree
from tileir.text.lexer import unescape

# The most tokens of a location after an operation.
_LONGEST_LOCATION = 200
# By the first character of a name: what may follow it, and the text of the rule.
_VALUE_RULE = "digits only, or letters, digits and '_', '$', '.', '-', not first a digit"
_ALIAS_RULE = "a letter or '_', then letters, digits, '_', '$' and '-'"
_VALUE_NAME = re.compile(r"(?:[0-9]+|[A-Za-z_$.\-][\w$.\-]*)", re.ASCII)
_ALIAS_NAME = re.compile(r"[A-Za-z_][\w$\-]*", re.ASCII)
_RULES = {"%": (_VALUE_NAME, _VALUE_RULE), "^": (_VALUE_NAME, _VALUE_RULE), "#": (_ALIAS_NAME, _ALIAS_RULE)}
_RULES["!"] = _RULES["#"]
_BARE_SYMBOL = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)


def definition(document: Document, position: lsp.Position) -> list[lsp.Location]:
    """Where a name is defined; of `loc("k.py":3:5)` and of an operation with a location, the line of the script."""
    syntax = document.syntax
    token = _named_token(document, position)
    if token is not None:
        name = syntax.name_at(token)
        return [_location(document, name.definition)] if name is not None and name.definition is not None else []
    token = syntax.token_at(document.offset(position))
    if token is None:
        return []
    found = _location_at(syntax, token)
    operation = syntax.operation_of_token(token)
    if found is None and operation is not None and operation.name == token:
        found = _script_location(syntax, operation)
    return _location_in_file(document, found) if found is not None else []


def type_definition(document: Document, position: lsp.Position) -> list[lsp.Location]:
    """Where the alias is defined that a value's type is written with."""
    syntax = document.syntax
    name = _name_at(document, position)
    if name is None or name.definition is None:
        return []
    if name.kind == ALIAS:
        return [_location(document, name.definition)]
    operation = syntax.operation_of_token(name.definition)
    if name.kind != VALUE or operation is None:
        return []
    tokens = [each for each in range(operation.first, operation.head_end) if syntax.tokens[each][:1] == "!"]
    aliases = [alias for alias in map(syntax.name_at, tokens) if alias is not None]
    # The alias after the name of an argument, or one of the value's type.
    behind = syntax.name_at(name.definition + 2) if syntax.tokens[name.definition + 1] == ":" else None
    type = document.analysis.type_of(name)
    spelling = type.spelling.replace(" ", "") if type is not None else None
    stated = {alias: syntax.tokens[alias.definition + 2] for alias in aliases if alias.definition is not None}
    fitting = [a for a in stated if stated[a].replace("!cuda_tile.", "").replace(" ", "") == spelling]
    best = [behind] if behind in aliases else fitting[:1] or aliases[-1:]
    return [_location(document, each.definition) for each in best if each is not None and each.definition is not None]


def references(document: Document, position: lsp.Position, with_definition: bool = True) -> list[lsp.Location]:
    """All occurrences of a name, in the order of the text."""
    name = _name_at(document, position)
    if name is None:
        return []
    return [_location(document, token) for token in name.tokens if with_definition or token != name.definition]


def highlights(document: Document, position: lsp.Position) -> list[lsp.DocumentHighlight]:
    """All occurrences of a name: it is written where it is defined, and read elsewhere."""
    name = _name_at(document, position)
    if name is None:
        return []
    write, read = lsp.DocumentHighlightKind.Write, lsp.DocumentHighlightKind.Read
    return [
        lsp.DocumentHighlight(document.token_range(token), write if token == name.definition else read)
        for token in name.tokens
    ]


def linked_editing(document: Document, position: lsp.Position) -> lsp.LinkedEditingRanges | None:
    """All occurrences of a name, which may be edited together; without the number of a result."""
    name = _name_at(document, position)
    if name is None or name.definition is None or name.kind == SYMBOL_KIND:
        return None
    ranges = [_base_range(document, token) for token in name.tokens]
    return lsp.LinkedEditingRanges(ranges, r"[%#!^][\w$.\-]*")


def _name_at(document: Document, position: lsp.Position) -> Name | None:
    """The name at a position, or just before it."""
    token = _named_token(document, position)
    return document.syntax.name_at(token) if token is not None else None


def _named_token(document: Document, position: lsp.Position) -> int | None:
    """The token at a position that names something; the one that ends there if the next one does not."""
    syntax = document.syntax
    offset = document.offset(position)
    token = syntax.token_at(offset)
    if token is None or syntax.name_at(token) is not None:
        return token
    is_behind = token > 0 and syntax.end(token - 1) == offset and syntax.name_at(token - 1) is not None
    return token - 1 if is_behind else None


def _base_range(document: Document, token: int) -> lsp.Range:
    """The range of the name in a token, without the number of a result: `%x` of `%x#1`."""
    start, text = document.syntax.starts[token], document.syntax.tokens[token]
    return document.range(start, start + len(text.partition("#")[0] if text[:1] == "%" else text))


def _location(document: Document, token: int) -> lsp.Location:
    return lsp.Location(document.uri, document.token_range(token))


def _location_at(syntax: SyntaxTree, token: int) -> FileLocation | None:
    """`"file":line:column` of a location that a token is part of."""
    tokens = syntax.tokens
    for start in range(max(token - 4, 0), token + 1):
        file, first, line, second, column = (*tokens[start : start + 5], "", "", "", "", "")[:5]
        if file[:1] != '"' or (first, second) != (":", ":"):
            continue
        if line.isdecimal() and column.isdecimal() and len(line) < 10 and len(column) < 10:
            try:
                return FileLocation(unescape(file), int(line), int(column))
            except ValueError:
                return None
    return None


def _script_location(syntax: SyntaxTree, node: OperationNode) -> FileLocation | None:
    """The line of a script that an operation comes from, by the location after it."""
    tokens, last = syntax.tokens, node.last
    earliest = max(last - _LONGEST_LOCATION, node.first)
    start = next((token for token in range(last, earliest, -1) if tokens[token] == "loc"), None)
    if start is None or tokens[start + 1] != "(":
        return None
    frames: list[FileLocation] = []
    # Aliases may stand for aliases.
    pending = [(start, last + 1)]
    seen: set[Name] = set()
    while pending:
        begin, end = pending.pop(0)
        for token in range(begin, end):
            found = _location_at(syntax, token) if tokens[token][:1] == '"' else None
            name = syntax.name_at(token) if tokens[token][:1] == "#" else None
            if found is not None:
                frames.append(found)
            elif name is not None and name.definition != token and name.operation is not None and name not in seen:
                seen.add(name)
                pending.append((name.operation.first, name.operation.last + 1))
    # Innermost first, without functions of cuTile itself.
    own = [frame for frame in frames if "/cuda/tile/" not in frame.file.replace("\\", "/")]
    return position_of(user_location(own[0])) if own else None


def _location_in_file(document: Document, found: FileLocation) -> list[lsp.Location]:
    """A line of a file that exists; its name may be relative to the document."""
    path = os.path.join(os.path.dirname(document.path), found.file)
    if not os.path.isfile(path):
        return []
    start = lsp.Position(max(found.line - 1, 0), max(found.column - 1, 0))
    return [lsp.Location(uri_of(path), lsp.Range(start, start))]


def prepare_rename(document: Document, position: lsp.Position) -> lsp.PrepareRenamePlaceholder:
    """What would be renamed: the name without the number of a result."""
    name, token = _renamed(document, position)
    return lsp.PrepareRenamePlaceholder(_base_range(document, token), name.text)


def rename(document: Document, position: lsp.Position, new_name: str) -> lsp.WorkspaceEdit:
    name, _ = _renamed(document, position)
    new = _checked(name, new_name.strip())
    if new.replace('"', "") != name.text:
        _refuse_conflict(document.syntax, name, new)
    edits = []
    for token in name.tokens:
        # The generic form defines symbols by strings.
        is_string = document.syntax.tokens[token][:1] == '"'
        text = (new[1:] if new[1] == '"' else f'"{new[1:]}"') if is_string else new
        edits.append(lsp.TextEdit(_base_range(document, token), text))
    return document.workspace_edit(edits)


def _renamed(document: Document, position: lsp.Position) -> tuple[Name, int]:
    token = _named_token(document, position)
    name = document.syntax.name_at(token) if token is not None else None
    if name is None or token is None:
        raise RequestRefused("There is no name here: values, symbols, blocks and aliases can be renamed.")
    if name.definition is None:
        raise RequestRefused(f"'{name.text}' is not defined in this file.")
    return name, token


def _checked(name: Name, requested: str) -> str:
    """The new name as it is written, with the character that its kind begins with."""
    sigil = name.text[:1]
    if requested[:1] in ("%", "@", "^", "#", "!") and requested[:1] != sigil:
        raise RequestRefused(f"'{requested}' is no name of a {name.kind}: that begins with '{sigil}'.")
    bare = requested.removeprefix(sigil)
    if not bare:
        raise RequestRefused("A name cannot be empty.")
    if sigil == "@":
        return "@" + _symbol(bare)
    pattern, rule = _RULES[sigil]
    if pattern.fullmatch(bare) is None:
        raise RequestRefused(f"'{requested}' is no name of a {name.kind}: after '{sigil}' comes {rule}.")
    return sigil + bare


def _symbol(bare: str) -> str:
    """A symbol, quoted if it has to be."""
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
    """Refuse a name that means something else where the old one is visible."""
    plain = "@" + new[1:].strip('"') if name.kind == SYMBOL_KIND else new
    for other in syntax.names:
        if other is name or other.kind != name.kind or other.text != plain:
            continue
        one, two = name.scope, other.scope
        is_nested = one is not None and two is not None and (one in two.visible() or two in one.visible())
        if one is not two and not (is_nested and name.kind == VALUE):
            continue
        token = other.definition if other.definition is not None else other.tokens[0]
        line = f" in line {syntax.text.count(chr(10), 0, syntax.starts[token]) + 1}"
        if other.definition is None:
            raise RequestRefused(f"'{new}' is used{line} and defined nowhere: it would become '{name.text}'.")
        raise RequestRefused(f"'{new}' is already the name of another {name.kind}, defined{line}.")
