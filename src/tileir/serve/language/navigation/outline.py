"""The structure of a program for an editor: its outline, the symbols of a workspace, folding, growing selections.

An outline has what a person jumps to: modules, globals and kernels, and in these what has a body of its own (loops,
branches, reductions), with the line that begins it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from itertools import groupby, islice

from lsprotocol import types as lsp

from tileir.dialect.ops import BUILTIN_MODULE, CONSTANT, ENTRY, FOR, GLOBAL, IF, LOOP, MODULE, REDUCE, SCAN
from tileir.execute.locations.python_source import shortened
from tileir.ir.declaration import OperationDeclaration
from tileir.program_files import ProgramFiles
from tileir.serve.language.document.document import Document, uri_of
from tileir.serve.language.document.scanner import CLOSING, CLOSING_OF, OperationNode
from tileir.serve.language.document.tree import ALIAS, is_subsequence

_KINDS: dict[OperationDeclaration | None, lsp.SymbolKind] = {
    **dict.fromkeys((BUILTIN_MODULE, MODULE), lsp.SymbolKind.Module),
    ENTRY: lsp.SymbolKind.Function,
    GLOBAL: lsp.SymbolKind.Variable,
    **dict.fromkeys((FOR, LOOP, IF), lsp.SymbolKind.Namespace),
    **dict.fromkeys((REDUCE, SCAN), lsp.SymbolKind.Operator),
}
_NAMED = (BUILTIN_MODULE, MODULE, ENTRY, GLOBAL)
# Longer ones are cut off in the outline.
_LONGEST_DETAIL = 120
# Deeper symbols are shown as siblings of their parents: JSON with more levels cannot be written.
_DEEPEST = 50

# The most files of a workspace that are searched, and the most symbols in an answer.
_MOST_FILES = 5_000
_LARGEST_FILE = 8 << 20
_MOST_SYMBOLS = 1_000
_DEFINITION = re.compile(
    r'^[ \t]*(?:cuda_tile\.|builtin\.)?(module|entry|global)\b[^@"{\n]*@("(?:[^"\\\n]|\\.)*"|[\w$.\-]+)', re.MULTILINE
)
_WORDS = {"module": lsp.SymbolKind.Module, "entry": lsp.SymbolKind.Function, "global": lsp.SymbolKind.Variable}


def document_symbols(document: Document) -> list[lsp.DocumentSymbol]:
    """The outline of a text."""
    roots: list[lsp.DocumentSymbol] = []
    # For each operation of the outline, where those go that are in it, and how deep that is.
    inside: dict[OperationNode, tuple[list[lsp.DocumentSymbol], int]] = {}
    for operation in document.syntax.operations:
        kind = _KINDS.get(operation.declaration)
        if kind is None or operation.name < 0:
            continue
        beside, depth = next((inside[each] for each in operation.outwards() if each in inside), (roots, 0))
        children: list[lsp.DocumentSymbol] = []
        beside.append(_symbol(document, operation, kind, children))
        inside[operation] = (children, depth + 1) if depth < _DEEPEST else (beside, depth)
    return roots


def _symbol(
    document: Document, operation: OperationNode, kind: lsp.SymbolKind, children: list[lsp.DocumentSymbol]
) -> lsp.DocumentSymbol:
    """An operation under its symbol, or under its name and what it defines."""
    syntax, tokens, name = document.syntax, document.syntax.tokens, operation.name
    word = tokens[name].strip('"').rpartition(".")[2]
    is_named = operation.declaration in _NAMED
    chosen = operation.results[0] if operation.results and not is_named else name
    if is_named:
        chosen = next((token for token in range(name, operation.head_end) if tokens[token][:1] == "@"), name)
    title = word if chosen == name else tokens[chosen] if is_named else f"{word} {tokens[chosen]}"
    behind = syntax.text[syntax.end(chosen if is_named else name) : syntax.end(operation.head_end - 1)]
    detail = " ".join(behind.split())
    if is_named and chosen != name and operation.declaration is not ENTRY:
        detail = f"{word} {detail}".strip()
    whole = document.token_range(operation.first, operation.last)
    detail = shortened(detail, _LONGEST_DETAIL)
    return lsp.DocumentSymbol(title, kind, whole, document.token_range(chosen), detail or None, children=children)


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
        if not is_subsequence(query.removeprefix("@"), name):
            continue
        line += text.count("\n", place, match.start(2))
        place = match.start(2)
        # Symbols and what stands before them on a line are ASCII in all but the strangest files.
        column = match.start(2) - 1 - (text.rfind("\n", 0, match.start(2)) + 1)
        area = lsp.Range(lsp.Position(line, column), lsp.Position(line, column + 1 + len(match[2])))
        found.append(lsp.WorkspaceSymbol(lsp.Location(uri, area), f"@{match[2]}", _WORDS[match[1]]))
    return found


def _content(path: str) -> str:
    try:
        if os.path.getsize(path) > _LARGEST_FILE:
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


# Fewer lines than this are no run.
_SHORTEST_RUN = 3


def folding_ranges(document: Document) -> list[lsp.FoldingRange]:
    """All that can be folded, in order of the text."""
    syntax = document.syntax
    found = [*_runs(document), *_comments(document)]
    for operation in syntax.operations:
        begun = document.line_of(syntax.starts[operation.first])
        for region in operation.regions:
            first = document.line_of(syntax.starts[region.opening])
            if first > begun:
                # The operation begins on several lines, as a kernel with parameters does.
                found.append(lsp.FoldingRange(begun, first - 1))
            # The line with `}` stays in sight.
            last = document.line_of(syntax.starts[region.closing]) - (syntax.tokens[region.closing] == "}")
            if last > first:
                found.append(lsp.FoldingRange(first, last))
            begun = last + 1
    return sorted(found, key=lambda area: (area.start_line, -area.end_line))


def _runs(document: Document) -> list[lsp.FoldingRange]:
    """Constants one after the other, and definitions of aliases."""
    syntax = document.syntax
    # The lines of such a kind; a run is of one kind, in one operation.
    kinds: dict[int, object] = {}
    for operation in syntax.operations:
        if operation.declaration is CONSTANT:
            kinds[document.line_of(syntax.starts[operation.first])] = operation.parent
    for name in syntax.names:
        if name.kind == ALIAS and name.definition is not None:
            kinds[document.line_of(syntax.starts[name.definition])] = ALIAS
    found: list[lsp.FoldingRange] = []
    numbered = enumerate(sorted(kinds))
    for (_, kind), run in groupby(numbered, lambda each: (each[1] - each[0], kinds[each[1]])):
        lines = [line for _, line in run]
        words, fold = ("aliases", lsp.FoldingRangeKind.Imports) if kind == ALIAS else ("constants", None)
        if len(lines) >= _SHORTEST_RUN:
            found.append(lsp.FoldingRange(lines[0], lines[-1], kind=fold, collapsed_text=f"{len(lines)} {words}"))
    return found


def _comments(document: Document) -> list[lsp.FoldingRange]:
    """Comments on lines of their own, one below the other; and what `// #region` and `// #endregion` enclose."""
    found: list[lsp.FoldingRange] = []
    marks: list[int] = []
    start = -1
    lines = document.text.split("\n")
    for number, line in enumerate([*lines, ""]):
        content = line.strip()
        words = content.removeprefix("//").strip() if content[:2] == "//" else ""
        if words.startswith("#region"):
            marks.append(number)
        elif words.startswith("#endregion") and marks:
            found.append(lsp.FoldingRange(marks.pop(), number, kind=lsp.FoldingRangeKind.Region))
        if content[:2] == "//" and not words.startswith(("#region", "#endregion")):
            start = number if start < 0 else start
            continue
        if start >= 0 and number - start > 1:
            found.append(lsp.FoldingRange(start, number - 1, kind=lsp.FoldingRangeKind.Comment))
        start = -1
    return found


# The most nested selections in an answer; of more, the outermost are left out, as no user grows one so often.
_MOST = 64


def selection_ranges(document: Document, positions: list[lsp.Position]) -> list[lsp.SelectionRange]:
    """For each position the selections around it, the innermost first."""
    return [_selection(document, document.offset(position)) for position in positions]


def _selection(document: Document, offset: int) -> lsp.SelectionRange:
    syntax = document.syntax
    token = syntax.token_at(offset)
    found = [syntax.span(token)] if token is not None else []
    place, opened = syntax.token_before(offset), list[int]()
    for index in range(syntax.count):
        if syntax.tokens[index] in CLOSING_OF:
            opened.append(index)
        elif syntax.tokens[index] in CLOSING and opened:
            opening = opened.pop()
            if opening <= place < index:
                found.append(syntax.span(opening, index))
                if index > opening + 1:
                    found.append(syntax.span(opening + 1, index - 1))
        if index > place and not opened:
            break
    innermost = syntax.operation_at(offset)
    for operation in islice(innermost.outwards(), _MOST) if innermost is not None else ():
        # All of it, and what computes its results.
        found.append(syntax.span(operation.first, operation.last))
        found.append(syntax.span(max(operation.name, operation.first), operation.last))
    around = sorted({each for each in found if each[0] <= offset <= each[1]}, key=lambda each: each[1] - each[0])
    # From the outside in: each is in the one before, or it is left out.
    start, end = 0, len(syntax.text)
    selection = lsp.SelectionRange(document.range(start, end))
    for inner in [*reversed(around[:_MOST]), (offset, offset)]:
        if start <= inner[0] and inner[1] <= end and inner != (start, end):
            start, end = inner
            selection = lsp.SelectionRange(document.range(start, end), selection)
    return selection
