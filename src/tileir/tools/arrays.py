"""Arrays and numbers of a command line: made as it says, and written to files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from tileir.execute import argument_words
from tileir.tools.arguments import EXIT_USAGE
from tileir.tools.output import Sink, write_file
from tileir.tools.programs import ToolFailure

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def mistake(message: str) -> ToolFailure:
    return ToolFailure(message, EXIT_USAGE)


def _said(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """A function that reads words, for a command line: words without a meaning are a mistake of its user's."""

    def call(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        try:
            return function(*arguments, **options)
        except argument_words.WordError as error:
            raise mistake(error.message) from None

    return call


argument = _said(argument_words.argument)
grid_of = _said(argument_words.grid_of)
number = _said(argument_words.number)
specification = _said(argument_words.specification)


def is_array(value: object) -> bool:
    import numpy

    return isinstance(value, numpy.ndarray)


def save(path: str, array: Any) -> None:
    import numpy

    # The format has no name for the types of ml_dtypes: as bytes without a meaning all of them can be read again.
    plain = array if array.dtype.isbuiltin == 1 else array.view(f"V{array.dtype.itemsize}")

    def write(sink: Sink) -> None:
        # Not the file itself: NumPy would ask for its position, which a pipe does not have.
        numpy.save(cast(Any, _Through(sink)), plain)

    write_file(path, write)


class _Through:
    """What NumPy takes for a file that can only be written."""

    def __init__(self, sink: Sink) -> None:
        self._sink: Sink = sink

    def write(self, data: Any) -> int:
        self._sink.write(data)
        return len(data)
