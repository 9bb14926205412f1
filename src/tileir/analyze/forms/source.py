"""The source that a program was written in: a script, a C++ file, or the text of the tile program by its author."""

from __future__ import annotations

import ast
import linecache
import os
from typing import Final, NamedTuple

from tileir.analyze.forms.form import Representation, operations_of
from tileir.execute.locations.python_source import expressions_at
from tileir.execute.locations.source_locations import author_frames
from tileir.ir.core import Operation
from tileir.ir.diagnostics import source_of

NO_SOURCE: Final = "the program does not state its source"


class Source(NamedTuple):
    """What a kernel was written in; `reason` is why it cannot be shown, None if it can."""

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


def source_form(entry: Operation) -> Representation:
    """The source of a kernel, which must be one that can be shown."""
    source = source_of(entry.location)
    if source is None:
        return _script_form(entry)
    lines = [line.rstrip("\r") for line in source.text.removesuffix("\n").split("\n")] if source.text else []
    links: list[list[int]] = [[] for _ in lines]
    for number, operation in enumerate(operations_of(entry)):
        if source_of(operation.location) is source:
            for line in dict.fromkeys([frame.line - source.first_line for frame in author_frames(operation.location)]):
                if 0 <= line < len(links):
                    links[line].append(number)
    return Representation("source", os.path.basename(source.name) or "Source", "tile", lines, links)


def _script_form(entry: Operation) -> Representation:
    places: dict[str, dict[int, list[int]]] = {}
    first = author_frames(entry.location)
    if first:
        places[first[0].file] = {}
    for number, operation in enumerate(operations_of(entry)):
        for frame in author_frames(operation.location):
            # All lines of an expression; of a statement with a body the first.
            nodes = [each.node for each in expressions_at(frame.file, frame.line, frame.column)[:1]]
            last = max([frame.line, *[node.end_lineno or 0 for node in nodes if isinstance(node, ast.expr)]])
            for line in range(frame.line, last + 1):
                places.setdefault(frame.file, {}).setdefault(line, []).append(number)
    files = {file: [line.rstrip("\r\n") for line in linecache.getlines(file)] for file in places}
    readable = {file: lines for file, lines in files.items() if lines}
    name = os.path.basename(next(iter(readable)))
    is_cpp = name.endswith((".cu", ".cuh", ".h", ".hpp"))
    lines: list[str] = []
    links: list[list[int]] = []
    for position, (file, content) in enumerate(readable.items()):
        if position:
            # Functions that the kernel calls, of other files: the first file has its own line numbers.
            lines += ["", f"{'//' if is_cpp else '#'} {file}"]
            links += [[], []]
        for number in _functions_around(content, places[file]) if position else range(len(content)):
            lines.append(content[number])
            links.append(sorted(set(places[file].get(number + 1, []))))
    notes = [f"{file} cannot be read." for file in files if file not in readable]
    return Representation("source", name, "cpp" if is_cpp else "python", lines, links, notes=notes)


def _functions_around(content: list[str], linked: dict[int, list[int]]) -> list[int]:
    """The lines of the functions that have linked lines, of a file beside the kernel's."""
    found: set[int] = set()
    try:
        nodes = list(ast.walk(ast.parse("\n".join(content))))
    except (SyntaxError, ValueError, RecursionError):
        nodes = []
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *[each.lineno for each in node.decorator_list]])
            lines = range(first, (node.end_lineno or node.lineno) + 1)
            if any(line in linked for line in lines):
                found.update(lines)
    return [line - 1 for line in sorted(found.union(linked)) if line <= len(content)]
