"""A Python text with cuTile kernels: what its names of `cuda.tile` mean, and where the nodes of its tree stand."""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator

from tileir.serve.language.cutile.library import library

LIBRARY = "cuda.tile"
KERNELS = ("kernel", "function")
# An import statement of a text that is no Python yet: at the beginning of a line, or behind a colon or a semicolon.
_IMPORT = re.compile(
    r"(?:^|[:;])[ \t]*((?:import|from)\b(?:\\\r?\n|\((?:#[^\n]*\n|[^)#])*\)|[^\n;#(\\])*)", re.MULTILINE
)
_LINE_END = re.compile(r"\r\n|\n|\r")


class Script:
    """A text; `tree` is None where it is no Python."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.modules: set[str] = set()
        """What the library is called: "ct", or "cuda.tile"."""
        self.names: dict[str, str] = {}
        """Names of the library's that were imported one by one, with what they are there."""
        self._starts = [0, *[match.end() for match in _LINE_END.finditer(text)]]
        self.tree: ast.Module | None = None
        if "cuda" not in text:
            return
        tree = _parsed(text)
        for node in _imports(text) if tree is None else ast.walk(tree):
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                self._import_from(node)
        if self.uses_library:
            self.tree = tree

    @property
    def uses_library(self) -> bool:
        return bool(self.modules or self.names)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name == LIBRARY:
                self.modules.add(alias.asname or LIBRARY)
            elif alias.name.startswith(f"{LIBRARY}.") and alias.asname is None:
                # `import cuda.tile.tune` binds `cuda`, which has `tile`.
                self.modules.add(LIBRARY)

    def _import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if node.module == "cuda" and alias.name == "tile":
                self.modules.add(alias.asname or alias.name)
            elif node.module == LIBRARY and alias.name == "*":
                known = library()
                self.names |= {} if known is None else {name: name for name in known.members}
            elif node.module == LIBRARY:
                self.names[alias.asname or alias.name] = alias.name

    # --- places ---

    def offset(self, line: int, column: int) -> int:
        """Where a place of the tree is in the text: the tree counts lines from 1, and bytes of UTF-8."""
        if line > len(self._starts):
            return len(self.text)
        start = self._starts[line - 1]
        if self.text.isascii():
            return start + column
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        return start + len(self.text[start:end].encode("utf-8", "replace")[:column].decode("utf-8", "replace"))

    def span(self, node: ast.AST) -> tuple[int, int]:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        start = self.offset(line, column)
        end_line, end_column = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
        return start, start if end_line is None or end_column is None else self.offset(end_line, end_column)

    def line(self, offset: int) -> int:
        """The number of a line, from 1."""
        return bisect_right(self._starts, offset)

    # --- names ---

    def member_of(self, node: ast.AST) -> str | None:
        """What a node names of the library: "load" for `ct.load`; also where the library has no such name."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.Attribute):
            base = dotted(node.value)
            return node.attr if base in self.modules else None
        return None

    def kernels(self) -> list[tuple[ast.FunctionDef, str]]:
        """The functions that become tile code, each with how: "kernel" or "function"."""
        found: list[tuple[ast.FunctionDef, str]] = []
        for node in ast.walk(self.tree) if self.tree is not None else ():
            if not isinstance(node, ast.FunctionDef):
                continue
            for decorator in node.decorator_list:
                member = self.member_of(decorator.func if isinstance(decorator, ast.Call) else decorator)
                if member in KERNELS:
                    found.append((node, member))
                    break
        return found


def dotted(node: ast.AST) -> str:
    """`a.b.c` of names; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _imports(text: str) -> Iterator[ast.AST]:
    """The import statements of a text that is no Python, as most are while they are typed."""
    for match in _IMPORT.finditer(text):
        tree = _parsed(match[1])
        if tree is not None:
            yield from tree.body


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
