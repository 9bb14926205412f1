"""What an editor may fold away: regions, long heads of operations, comments, and runs of constants and aliases."""

from __future__ import annotations

from lsprotocol import types as lsp

from tileir.dialect.ops import CONSTANT
from tileir.serve.language.document import Document

# Fewer lines than this are no run.
_SHORTEST_RUN = 3


def folding_ranges(document: Document) -> list[lsp.FoldingRange]:
    """All that can be folded, in order of the text."""
    found = [*_regions(document), *_runs(document), *_comments(document)]
    found.sort(key=lambda area: (area.start_line, -area.end_line))
    return found


def _regions(document: Document) -> list[lsp.FoldingRange]:
    syntax = document.syntax
    found: list[lsp.FoldingRange] = []
    for operation in syntax.operations:
        begun = document.line_of(syntax.starts[operation.first])
        for region in operation.regions:
            first = document.line_of(syntax.starts[region.opening])
            if first > begun:
                # A head on several lines: the parameters of a kernel, say.
                found.append(lsp.FoldingRange(begun, first - 1))
            # The line with `}` stays in sight.
            last = document.line_of(syntax.starts[region.closing])
            if syntax.tokens[region.closing] == "}":
                last -= 1
            if last > first:
                found.append(lsp.FoldingRange(first, last))
            begun = last + 1
    return found


def _runs(document: Document) -> list[lsp.FoldingRange]:
    """Constants one after the other, and definitions of aliases."""
    syntax = document.syntax
    found: list[lsp.FoldingRange] = []
    # Each line of such a kind; a run ends where a line is of another kind, or the operation around is another one.
    marked: list[tuple[int, object]] = []
    for operation in syntax.operations:
        if operation.declaration is CONSTANT:
            marked.append((document.line_of(syntax.starts[operation.first]), (id(operation.parent), "constants")))
    for name in syntax.names:
        if name.kind == "alias" and name.definition is not None:
            marked.append((document.line_of(syntax.starts[name.definition]), "aliases"))
    marked.sort(key=lambda item: item[0])
    begin = 0
    for index in range(1, len(marked) + 1):
        if (
            index < len(marked)
            and marked[index][1] == marked[begin][1]
            and marked[index][0] <= marked[index - 1][0] + 1
        ):
            continue
        first, last = marked[begin][0], marked[index - 1][0]
        if last - first + 1 >= _SHORTEST_RUN:
            aliases = marked[begin][1] == "aliases"
            kind = lsp.FoldingRangeKind.Imports if aliases else None
            words = f"{last - first + 1} {'aliases' if aliases else 'constants'}"
            found.append(lsp.FoldingRange(first, last, kind=kind, collapsed_text=words))
        begin = index
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
