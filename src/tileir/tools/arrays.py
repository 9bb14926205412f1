"""Arrays and numbers of a command line: made as it says, and written to files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from tileir.execute.arguments import argument_text
from tileir.execute.arguments.argument_text import MARK, LaunchWords
from tileir.ir.core import Operation
from tileir.ir.diagnostics import note
from tileir.ir.location import UNKNOWN
from tileir.tools.arguments import EXIT_USAGE, Arguments, ToolFailure
from tileir.tools.output import Sink, write_file
from tileir.tools.programs import Program

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def mistake(message: str) -> ToolFailure:
    return ToolFailure(message, EXIT_USAGE)


def _said(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """A function that reads words, for a command line: words without a meaning are a mistake of its user's."""

    def call(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        try:
            return function(*arguments, **options)
        except argument_text.WordError as error:
            raise mistake(error.message) from None

    return call


argument = _said(argument_text.argument)
grid_of = _said(argument_text.grid_of)
number = _said(argument_text.number)
specification = _said(argument_text.specification)
stated_launch = _said(argument_text.stated_launch)


def size_of(option: str, text: str) -> int:
    """A number of bytes that an option gives."""
    try:
        return argument_text.size_of(text)
    except argument_text.WordError:
        raise mistake(f"'--{option} {text}' is no size: give one as 512M or 4G") from None


_EXAMPLE = f"'{MARK} --grid 4 --arg rand:f32:1024 --arg 3'"
STATED = f"""A program may state its launch itself: without --grid and --arg, they are those of a comment at its
top, as in {_EXAMPLE}."""
"""For the help of commands that launch."""


def given_launch(given: Arguments, program: Program) -> LaunchWords:
    """The launch that a command line describes; what it leaves out is as the program states it."""
    entry = given.value("entry", "") or None
    arguments = [text for name, text in given.sequence if name == "arg"]
    stated = None if program.launch is None else program.launch.words
    if stated is None and (not arguments or not given.has("grid")):
        stated = stated_launch(program.text, entry)
    grid = grid_of(given.value("grid", "1"))
    if stated is None:
        return LaunchWords(grid, arguments, entry)
    return LaunchWords(grid if given.has("grid") else stated.grid, arguments or stated.arguments, entry or stated.entry)


def check_given(entry: Operation, arguments: tuple[str, ...]) -> None:
    """Refuse a launch without any arguments that needs some, and say where to give them."""
    from tileir.execute.errors import LaunchError
    from tileir.execute.launching.entries import check_number

    if arguments:
        return
    try:
        check_number(entry, arguments)
    except LaunchError as error:
        where = f"give each with --arg, or all in a comment at the top of the program, as in {_EXAMPLE}"
        error.diagnostics[0].notes.append(note(where, UNKNOWN))
        raise


def is_array(value: object) -> bool:
    import numpy

    return isinstance(value, numpy.ndarray)


def plain(array: Any) -> Any:
    """What NumPy's files take: they have no name for the types of ml_dtypes, whose bytes can be read again anyway."""
    return array if array.dtype.isbuiltin == 1 else array.view(f"V{array.dtype.itemsize}")


def save(path: str, array: Any) -> None:
    import numpy

    def write(sink: Sink) -> None:
        # Not the file itself: NumPy would ask for its position, which a pipe does not have.
        numpy.save(cast(Any, _Through(sink)), plain(array))

    write_file(path, write)


class _Through:
    """What NumPy takes for a file that can only be written."""

    def __init__(self, sink: Sink) -> None:
        self._sink: Sink = sink

    def write(self, data: Any) -> int:
        self._sink.write(data)
        return len(data)
