"""The source that a program was written in: a cuTile script, or the text of the tile program as its author wrote it."""

from __future__ import annotations

import ast
import linecache
import os
from typing import Final, NamedTuple

from tileir.analyze.forms.form import Form, operations_of
from tileir.execute.locations.python_source import expressions_at
from tileir.execute.locations.source_locations import author_frames
from tileir.ir.core import Operation
from tileir.ir.diagnostics import source_of
from tileir.ir.location import FileLocation, SourceText

NO_SOURCE: Final = "the program does not say what it comes from"


class Source(NamedTuple):
    """What a kernel was written in; `reason` says why it cannot be shown, None if it can."""

    title: str
    reason: str | None


def source_of_kernel(entry: Operation) -> Source:
    """What a kernel was written in, without looking at all its operations."""
    text = source_of(entry.location)
    if text is not None:
        return Source(os.path.basename(text.name) or "Source", None)
    first = next(iter(operations_of(entry)), entry)
    file = next((frames[0].file for frames in map(author_frames, (entry.location, first.location)) if frames), "")
    if not file:
        return Source("Source", NO_SOURCE)
    return Source(os.path.basename(file), None if linecache.getlines(file) else f"{file} cannot be read")


def source_form(entry: Operation) -> Form:
    """The source of a kernel, which must be one that can be shown."""
    text = source_of(entry.location)
    return _text_form(entry, text) if text is not None else _script_form(entry)


def _text_form(entry: Operation, source: SourceText) -> Form:
    lines = [line.rstrip("\r") for line in source.text.split("\n")]
    if lines and not lines[-1]:
        lines.pop()
    links: list[list[int]] = [[] for _ in lines]
    for number, operation in enumerate(operations_of(entry)):
        if source_of(operation.location) is source:
            for line in dict.fromkeys([frame.line - source.first_line for frame in author_frames(operation.location)]):
                if 0 <= line < len(links):
                    links[line].append(number)
    return Form("source", os.path.basename(source.name) or "Source", "tile", lines, links)


def _script_form(entry: Operation) -> Form:
    places: dict[str, dict[int, list[int]]] = {}
    first = author_frames(entry.location)
    if first:
        places[first[0].file] = {}
    for number, operation in enumerate(operations_of(entry)):
        for frame in author_frames(operation.location):
            for line in _lines_of(frame):
                places.setdefault(frame.file, {}).setdefault(line, []).append(number)
    files = {file: [line.rstrip("\r\n") for line in linecache.getlines(file)] for file in places}
    readable = {file: lines for file, lines in files.items() if lines}
    lines: list[str] = []
    links: list[list[int]] = []
    for position, (file, content) in enumerate(readable.items()):
        if position:
            # Functions that the kernel calls, of other files: the first file has its own line numbers.
            lines += ["", f"# {file}"]
            links += [[], []]
        for number in _functions_around(content, places[file]) if position else range(len(content)):
            lines.append(content[number])
            links.append(sorted(set(places[file].get(number + 1, []))))
    notes = [f"{file} cannot be read." for file in files if file not in readable]
    return Form("source", os.path.basename(next(iter(readable))), "python", lines, links, notes=notes)


def _lines_of(frame: FileLocation) -> range:
    """The lines of the expression at a place; of a statement with a body the first."""
    last = frame.line
    for expression in expressions_at(frame.file, frame.line, frame.column)[:1]:
        if isinstance(expression.node, ast.expr):
            last = max(last, expression.node.end_lineno or last)
    return range(frame.line, last + 1)


def _functions_around(content: list[str], linked: dict[int, list[int]]) -> list[int]:
    """The lines of the functions that have linked lines, of a file beside the kernel's."""
    try:
        tree = ast.parse("\n".join(content))
    except (SyntaxError, ValueError, RecursionError):
        return [line - 1 for line in sorted(linked) if line <= len(content)]
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *[each.lineno for each in node.decorator_list]])
            lines = range(first, (node.end_lineno or node.lineno) + 1)
            if any(line in linked for line in lines):
                found.update(lines)
    found.update(linked)
    return [line - 1 for line in sorted(found) if line <= len(content)]
