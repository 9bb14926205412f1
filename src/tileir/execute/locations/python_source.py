"""The Python that a location points into: its expressions, statements, and the names they are assigned to.

cuTile records for an operation the line and the column where an expression begins, counted as `ast` counts them:
columns from zero, in bytes of UTF-8.  Several expressions may begin there, as `a * b` and `a * b + c`.  Sources are
from `linecache`, which has those of notebook cells.  Without the source, or with a changed one, nothing is found.
"""

from __future__ import annotations

import ast
import copy
import linecache
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

_MOST_CHARACTERS = 100
_MOST_OF_LABEL = 64


@dataclass(slots=True, eq=False)
class Expression:
    """A part of a Python source that computes something; `name` is the variable that its value goes to, or empty."""

    file: str
    node: ast.expr | ast.stmt
    name: str
    text: str  # The source, on one line.
    statement: Statement
    is_returned: bool  # Whether its value is that of its function.

    @property
    def line(self) -> int:
        return self.node.lineno

    @property
    def column(self) -> int:
        return self.node.col_offset  # In bytes, from zero.

    @property
    def end(self) -> int:
        """The column behind it; 0 where it ends on another line."""
        return (self.node.end_col_offset or 0) if self.node.end_lineno == self.node.lineno else 0

    @property
    def is_dropped(self) -> bool:
        statement = self.statement.node
        return isinstance(statement, ast.Expr) and statement.value is self.node

    @property
    def label(self) -> str:
        """What its value is called: the variable, or else the expression itself."""
        return self.name or shortened(self.text, _MOST_OF_LABEL)

    @property
    def called(self) -> str:
        """What happens here, in a word: the function of a call, else the expression."""
        return ast.unparse(self.node.func) if isinstance(self.node, ast.Call) else self.text


@dataclass(slots=True, eq=False)
class Statement:
    """A statement up to its body; `depth` is its indentation within its function."""

    file: str
    node: ast.stmt
    text: str
    depth: int

    @property
    def line(self) -> int:
        return self.node.lineno


_COMPUTING: Final = (
    ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Subscript, ast.AugAssign, ast.For,
    ast.While, ast.If,
)  # fmt: skip


def expressions_at(file: str, line: int, column: int) -> list[Expression]:
    """The expressions that begin at a position and compute something, the innermost first."""
    source = _source(file)
    return source.expressions_at(line, column) if source is not None else []


def character_column(text: str, column: int) -> int:
    """A column in bytes of UTF-8 as one in characters, both from zero."""
    return len(text.encode("utf-8", "replace")[:column].decode("utf-8", "replace"))


class _Source:
    def __init__(self, file: str, lines: list[str], tree: ast.Module) -> None:
        self.lines: list[str] = lines
        self._file: str = file
        self._at: dict[tuple[int, int], list[ast.expr | ast.stmt]] = {}
        self._names: dict[ast.AST, str] = {}
        self._statements: dict[ast.AST, Statement] = {}
        self._returned: set[ast.AST] = set()
        self._found: dict[tuple[int, int], list[Expression]] = {}
        # An explicit stack: expressions may nest more deeply than Python recurses.
        pending: list[tuple[ast.AST, Statement | None, int]] = [(tree, None, 0)]
        while pending:
            node, statement, first = pending.pop()
            if isinstance(node, ast.stmt):
                line = lines[node.lineno - 1]
                statement = Statement(file, node, self._head(node), max(len(line) - len(line.lstrip()) - first, 0))
                self._note_names(node)
            elif isinstance(node, ast.NamedExpr):
                self._names[node.value] = node.target.id
            elif isinstance(node, ast.Lambda):
                self._returned.add(node.body)
            if statement is not None and isinstance(node, _COMPUTING):
                self._statements[node] = statement
                self._at.setdefault((node.lineno, node.col_offset), []).append(node)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                line = lines[node.body[0].lineno - 1]
                first = len(line) - len(line.lstrip())
            pending.extend([(child, statement, first) for child in ast.iter_child_nodes(node)])

    def expressions_at(self, line: int, column: int) -> list[Expression]:
        if (line, column) not in self._found:
            # Parents were met before their children.
            found = self._found[line, column] = []
            for node in reversed(self._at.get((line, column), [])):
                name, text = self._names.get(node, ""), shortened(self._segment(node))
                is_returned = node in self._returned
                found.append(Expression(self._file, node, name, text, self._statements[node], is_returned))
        return self._found[line, column]

    def _note_names(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._note_target(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._note_target(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            self._names[node] = self._segment(node.target)
        elif isinstance(node, ast.Return) and node.value is not None:
            self._returned.add(node.value)

    def _note_target(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                for one, part in zip(target.elts, value.elts, strict=True):
                    self._note_target(one, part)
                return
        # Of `a = b = f()` the first name is enough.
        self._names.setdefault(value, shortened(self._segment(target)))

    def _head(self, node: ast.stmt) -> str:
        body = getattr(node, "body", None)
        if not isinstance(body, list) or not body:
            return shortened(self._segment(node))
        if body[0].lineno == node.lineno + 1:
            return shortened(self.lines[node.lineno - 1].strip())
        alone = copy.copy(node)
        vars(alone).update(body=[ast.Pass()], orelse=[], decorator_list=[])
        return shortened(ast.unparse(alone).partition("\n")[0])

    def _segment(self, node: ast.AST) -> str:
        # `ast.get_source_segment` splits the whole source each time.
        first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", None) or 1
        if last != first:
            # Without line breaks and comments.
            return ast.unparse(node)
        line = self.lines[first - 1].encode("utf-8", "replace") if first <= len(self.lines) else b""
        start, end = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", None)
        return line[start:end].decode("utf-8", "replace").strip()


def shortened(text: str, most: int = _MOST_CHARACTERS) -> str:
    """A text on one line, of bearable length."""
    text = " ".join(text.split("\n"))
    return text if len(text) <= most else f"{text[: most - 3].rstrip()} .."


_SOURCES: Final[dict[str, _Source | None]] = {}
_MOST_SOURCES: Final = 64


def _source(file: str) -> _Source | None:
    lines = linecache.getlines(file)
    known = _SOURCES.get(file)
    if known is not None and known.lines == lines:
        return known
    found: _Source | None = None
    if lines:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            found = _Source(file, lines, ast.parse("".join(lines)))
    while len(_SOURCES) >= _MOST_SOURCES:
        del _SOURCES[next(iter(_SOURCES))]
    _SOURCES[file] = found
    return found
