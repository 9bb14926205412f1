"""The outline of a program, and the symbols of all programs of a workspace.

An outline has what a person goes to: modules, globals and kernels, and in these what has a body of its own (loops,
branches, reductions), with the line that begins it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from lsprotocol import types as lsp

from tileir.dialect.ops import BUILTIN_MODULE, ENTRY, FOR, GLOBAL, IF, LOOP, MODULE, REDUCE, SCAN
from tileir.ir.declaration import OperationDeclaration
from tileir.program_files import ProgramFiles
from tileir.serve.language.document import Document
from tileir.serve.language.navigation import uri_of
from tileir.serve.language.syntax import Syntax, WrittenOperation

_KINDS: dict[OperationDeclaration, lsp.SymbolKind] = {
    BUILTIN_MODULE: lsp.SymbolKind.Module,
    MODULE: lsp.SymbolKind.Module,
    ENTRY: lsp.SymbolKind.Function,
    GLOBAL: lsp.SymbolKind.Variable,
    FOR: lsp.SymbolKind.Namespace,
    LOOP: lsp.SymbolKind.Namespace,
    IF: lsp.SymbolKind.Namespace,
    REDUCE: lsp.SymbolKind.Operator,
    SCAN: lsp.SymbolKind.Operator,
}
_NAMED = (BUILTIN_MODULE, MODULE, ENTRY, GLOBAL)
# Longer ones are cut in the outline.
_LONGEST_DETAIL = 120
# What stands deeper is shown beside what it is in: an answer that holds more in one another cannot be written.
_DEEPEST = 50

# Of a workspace, so many files are looked into, and so many symbols given.
_MOST_FILES = 5_000
_LARGEST_FILE = 8 << 20
_MOST_SYMBOLS = 1_000
_DEFINITION = re.compile(
    r'^[ \t]*(?:cuda_tile\.|builtin\.)?(module|entry|global)\b[^@"{\n]*@("(?:[^"\\\n]|\\.)*"|[\w$.\-]+)', re.MULTILINE
)
_WORDS = {"module": lsp.SymbolKind.Module, "entry": lsp.SymbolKind.Function, "global": lsp.SymbolKind.Variable}


def document_symbols(document: Document) -> list[lsp.DocumentSymbol]:
    """The outline of a text."""
    syntax = document.syntax
    roots: list[lsp.DocumentSymbol] = []
    # For each operation of the outline, where those go that are in it, and how deep that is.
    inside: dict[int, tuple[list[lsp.DocumentSymbol], int]] = {}
    for operation in syntax.operations:
        kind = _KINDS.get(operation.declaration) if operation.declaration is not None else None
        if kind is None or operation.name < 0:
            continue
        symbol = _symbol(document, syntax, operation, kind)
        around = operation.parent
        while around is not None and id(around) not in inside:
            around = around.parent
        beside, depth = (roots, 0) if around is None else inside[id(around)]
        beside.append(symbol)
        children: list[lsp.DocumentSymbol] = []
        symbol.children = children
        inside[id(operation)] = (children, depth + 1) if depth < _DEEPEST else (beside, depth)
    return roots


def _symbol(
    document: Document, syntax: Syntax, operation: WrittenOperation, kind: lsp.SymbolKind
) -> lsp.DocumentSymbol:
    tokens, starts = syntax.tokens, syntax.starts
    end = operation.regions[0].opening if operation.regions else operation.last + 1
    chosen = operation.name
    word = tokens[operation.name].strip('"').rpartition(".")[2]
    if operation.declaration in _NAMED:
        chosen = next((i for i in range(operation.name, end) if tokens[i][:1] == "@"), operation.name)
    elif operation.results:
        chosen = operation.results[0]
    title = tokens[chosen]
    start, stop = starts[operation.first], starts[operation.last] + len(tokens[operation.last])
    behind = starts[end - 1] + len(tokens[end - 1])
    after = chosen if operation.declaration in _NAMED else operation.name
    detail = " ".join(syntax.text[starts[after] + len(tokens[after]) : behind].split())
    if chosen == operation.name:
        title = word
    elif operation.declaration in _NAMED:
        detail = f"{word} {detail}".strip() if operation.declaration is not ENTRY else detail
    else:
        title = f"{word} {title}"
    if len(detail) > _LONGEST_DETAIL:
        detail = detail[: _LONGEST_DETAIL - 2] + ".."
    selected = document.range(starts[chosen], starts[chosen] + len(tokens[chosen]))
    return lsp.DocumentSymbol(title, kind, document.range(start, stop), selected, detail or None)


# --- the workspace ---


def workspace_symbols(query: str, documents: Iterable[Document], folders: Iterable[str]) -> list[lsp.WorkspaceSymbol]:
    """Modules, kernels and globals with the letters of a query in their names, in that order; open documents first."""
    found: list[lsp.WorkspaceSymbol] = []
    seen: set[str] = set()
    for document in documents:
        seen.add(document.uri)
        found.extend(_matching(document.text, document.uri, query))
    for folder in folders:
        for path in ProgramFiles([folder]).paths[:_MOST_FILES] if os.path.isdir(folder) else []:
            if len(found) >= _MOST_SYMBOLS:
                return found[:_MOST_SYMBOLS]
            uri = uri_of(path)
            if uri not in seen and path.endswith((".mlir", ".tileir")):
                seen.add(uri)
                found.extend(_matching(_content(path), uri, query))
    return found[:_MOST_SYMBOLS]


def _matching(text: str, uri: str, query: str) -> list[lsp.WorkspaceSymbol]:
    found = []
    line = place = 0
    for match in _DEFINITION.finditer(text):
        name = match[2].strip('"')
        if not _has_letters(name, query):
            continue
        line += text.count("\n", place, match.start(2))
        place = match.start(2)
        # Symbols and what stands before them on a line are ASCII in all but the strangest files.
        column = match.start(2) - 1 - (text.rfind("\n", 0, match.start(2)) + 1)
        area = lsp.Range(lsp.Position(line, column), lsp.Position(line, column + 1 + len(match[2])))
        found.append(lsp.WorkspaceSymbol(lsp.Location(uri, area), f"@{match[2]}", _WORDS[match[1]]))
    return found


def _has_letters(name: str, query: str) -> bool:
    """Whether the letters of a query are in a name, in that order, as editors look for words."""
    letters = iter(name.lower())
    return all(letter in letters for letter in query.lower().removeprefix("@"))


def _content(path: str) -> str:
    try:
        if os.path.getsize(path) > _LARGEST_FILE:
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
