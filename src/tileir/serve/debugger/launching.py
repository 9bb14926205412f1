"""Launches to be debugged, from words: a program's file, a grid and arguments as `tileir run` takes them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tileir.execute.arguments.argument_text import MARK, LaunchWords, argument, grid_of, stated_launch
from tileir.execute.errors import LaunchError
from tileir.execute.launching.entries import check_number, select_entry
from tileir.execute.launching.kernel import Kernel, compile
from tileir.interface import load
from tileir.ir.core import Operation
from tileir.ir.diagnostics import note
from tileir.ir.location import UNKNOWN


class ProgramLaunch:
    """The launch of a kernel of a program, its arrays made.  `uninitialized` are those that do not count as written."""

    def __init__(
        self, kernel: Kernel, grid: tuple[int, ...], arguments: list[object], uninitialized: list[object], path: str
    ) -> None:
        self.kernel: Kernel = kernel
        self.grid: tuple[int, ...] = grid
        self.arguments: list[object] = arguments
        self.uninitialized: list[object] = uninitialized
        self.path: str = path


def launch_in_words(module: Operation, words: LaunchWords, path: str, schedule: str = "forward") -> ProgramLaunch:
    """The launch of a program that was read from a file, in the words of `tileir run`."""
    entry = select_entry(module, words.entry)
    if not words.arguments:
        _check_any(entry)
    parameters = entry.regions[0].blocks[0].arguments
    types = [parameter.type for parameter in parameters]
    values: list[object] = []
    unwritten: list[object] = []
    for number, text in enumerate(words.arguments):
        values.append(argument(text, types[number] if number < len(types) else None))
        if text.startswith("empty:"):
            unwritten.append(values[-1])
    kernel = compile(module, words.entry, "interpreter", schedule=schedule)
    return ProgramLaunch(kernel, words.grid, values, unwritten, path)


def launch_of_file(
    path: str,
    *,
    entry: str | None = None,
    grid: str | None = None,
    arguments: Sequence[str] = (),
    schedule: str = "forward",
) -> ProgramLaunch:
    """The launch of a program in a file; what is left out is as the file states it."""
    module = load(path)
    stated = None
    if grid is None or not arguments:
        stated = stated_launch(_text(path), entry)
    extents = grid_of(grid) if grid is not None else stated.grid if stated is not None else (1,)
    if stated is not None:
        arguments, entry = arguments or stated.arguments, entry or stated.entry
    return launch_in_words(module, LaunchWords(extents, arguments, entry), path, schedule)


def _check_any(entry: Operation) -> None:
    """Say where arguments are given, where there are none."""
    try:
        check_number(entry, ())
    except LaunchError as error:
        example = f"'{MARK} --grid 4 --arg rand:f32:1024 --arg 3'"
        words = f"give them as for 'tileir run', or in a comment at the top of the program, as in {example}"
        error.diagnostics[0].notes.append(note(words, UNKNOWN))
        raise


def _text(path: str) -> str:
    with open(path, "rb") as file:
        return file.read().decode("utf-8", "replace")


def full_path(path: str) -> str:
    """A path by which editors and launches agree on a file."""
    return os.path.realpath(path)
