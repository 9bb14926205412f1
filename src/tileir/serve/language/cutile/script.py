"""A Python text with cuTile kernels: its names of `cuda.tile`, its calls, and the launches that its comments state.

    # tileir: double --grid 4 --arg zeros:f32:1024 --arg 256

The words after the name of the kernel are those of `tileir run`: an array or a number for each of its parameters.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from tileir.execute.arguments.argument_text import LaunchDescription, LaunchDescriptionError, read_launch
from tileir.execute.locations.python_source import character_column
from tileir.serve.language.cutile.library import library
from tileir.serve.language.document.document import line_starts

LIBRARY = "cuda.tile"
KERNELS = ("kernel", "function")
# An import statement of a text that is no Python yet: at the beginning of a line, or after a colon or a semicolon.
_IMPORT = re.compile(
    r"(?:^|[:;])[ \t]*((?:import|from)\b(?:\\\r?\n|\((?:#[^\n]*\n|[^)#])*\)|[^\n;#(\\])*)", re.MULTILINE
)


class Script:
    """A text; `tree` is None where it is no Python."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.modules: set[str] = set()
        """What the library is called: "ct", or "cuda.tile"."""
        self.names: dict[str, str] = {}
        """Names of the library's that were imported one by one, with what they are there."""
        self._starts = [*line_starts(text), len(text)]
        self.tree: ast.Module | None = None
        if "cuda" not in text:
            return
        tree = _parsed(text)
        for node in _imports(text) if tree is None else ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    self._import(alias, node)
        if self.uses_library:
            self.tree = tree

    @property
    def launches(self) -> list[StatedLaunch]:
        return stated_launches(self.text) if self.uses_library else []

    @property
    def uses_library(self) -> bool:
        return bool(self.modules or self.names)

    def _import(self, alias: ast.alias, node: ast.Import | ast.ImportFrom) -> None:
        local = alias.asname or alias.name
        if isinstance(node, ast.Import):
            if alias.name == LIBRARY:
                self.modules.add(local)
            elif alias.name.startswith(f"{LIBRARY}.") and alias.asname is None:
                # `import cuda.tile.tune` binds `cuda`, which has `tile`.
                self.modules.add(LIBRARY)
        elif node.level == 0 and node.module == "cuda" and alias.name == "tile":
            self.modules.add(local)
        elif node.level == 0 and node.module == LIBRARY and alias.name == "*":
            known = library()
            self.names |= {name: name for name in known.members} if known is not None else {}
        elif node.level == 0 and node.module == LIBRARY:
            self.names[local] = alias.name

    def offset(self, line: int, column: int) -> int:
        """The offset in the text of a position in the tree, which counts lines from 1, and bytes of UTF-8."""
        start = self._starts[line - 1]
        return start + character_column(self.text[start : self._starts[line]], column)

    def span(self, node: ast.AST) -> tuple[int, int]:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        start = self.offset(line, column)
        end_line, end_column = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
        return start, start if end_line is None or end_column is None else self.offset(end_line, end_column)

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


# Characters that are looked through; calls are not longer.
_FARTHEST = 4000
_TOKEN = re.compile(r"""[\w.]+|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|[=!<>]=|#.*|\S""")


@dataclass
class WrittenCall:
    """A call around an offset, up to that offset."""

    name: str
    """As written: "ct.load"; empty for other brackets."""
    argument: int = 0
    """The number of the argument that contains the offset."""
    keyword: str = ""
    """Its name, where it has one."""
    keywords: tuple[str, ...] = ()
    """The names of the arguments before it."""


def call_at(text: str, offset: int) -> WrittenCall | None:
    """The innermost call around an offset."""
    opened: list[WrittenCall] = []
    before, end, begins = "", 0, False
    for match in _TOKEN.finditer(text, max(offset - _FARTHEST, 0), offset):
        token = match[0]
        if token[0] == "#":
            continue
        if token in ("(", "[", "{"):
            is_call = token == "(" and match.start() == end and re.fullmatch(r"[\w.]+", before)
            opened.append(WrittenCall(before if is_call else ""))
        elif token in (")", "]", "}"):
            del opened[-1:]
        elif opened and token == ",":
            call = opened[-1]
            call.argument += 1
            call.keywords += (call.keyword,) if call.keyword else ()
            call.keyword = ""
        elif opened and token == "=" and begins:
            opened[-1].keyword = before
        begins = before in ("(", ",")
        before, end = token, match.end()
    return next((call for call in reversed(opened) if call.name), None)


_COMMENT = re.compile(r"^[ \t]*(#[ \t]*tileir:[ \t]*(?!ignore)([A-Za-z_]\w*)[ \t]+(--[^\r\n]*))", re.MULTILINE)


@dataclass(frozen=True)
class StatedLaunch:
    """A comment; if it states no launch, `words` is None and `error` is the reason."""

    kernel: str
    start: int
    end: int
    words: LaunchDescription | None
    error: str = ""


def stated_launches(text: str) -> list[StatedLaunch]:
    """From the top of a script to its end."""
    found: list[StatedLaunch] = []
    for match in _COMMENT.finditer(text):
        words, error = None, ""
        try:
            words = read_launch(match[3], "# tileir: ")
        except LaunchDescriptionError as failure:
            error = failure.message
        found.append(StatedLaunch(match[2], *match.span(1), words, error))
    return found
