"""Launches that a command line describes: grids, arguments, arrays in files; who runs them, and for how long."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tileir.execute.arguments.argument_text import MARK, LaunchDescription, argument, grid_of, of_devices, stated_launch
from tileir.execute.errors import HostCopyWarning, LaunchError
from tileir.execute.launching.entries import check_number
from tileir.ir.core import Operation
from tileir.ir.diagnostics import note
from tileir.ir.location import UNKNOWN
from tileir.tools.arguments import Arguments
from tileir.tools.input import Program
from tileir.tools.output import write_file

if TYPE_CHECKING:
    from tileir.execute.launching.kernel import Kernel

_EXAMPLE = f"'{MARK} --grid 4 --arg rand:f32:1024 --arg 3'"
STATED = f"""A program may state its launch itself: without --grid and --arg, they are those of a comment at its
top, as in {_EXAMPLE}. FILE may be '-' for standard input."""


def given_launch(given: Arguments, program: Program) -> LaunchDescription:
    """The launch that a command line describes; what it leaves out is as the program states it."""
    entry = given.value("entry") or None
    arguments = given.values("arg")
    stated = None if program.launch is None else program.launch.words
    if stated is None and (not arguments or not given.has("grid")):
        stated = stated_launch(program.text, entry)
    grid = grid_of(given.value("grid", "1"))
    if stated is None:
        return LaunchDescription(grid, arguments, entry)
    return LaunchDescription(
        grid if given.has("grid") else stated.grid, arguments or stated.arguments, entry or stated.entry
    )


def compiled(module: Operation, description: LaunchDescription, backend: str, **options: Any) -> Kernel:
    # Imported here: its error names what to install where NumPy is missing.
    from tileir.execute.launching import kernel

    return kernel.compile(module, entry=description.entry, backend=backend, **options)


@contextmanager
def host_arrays() -> Iterator[None]:
    """A block in which arrays of the host may go to a GPU: they are made here, so nobody can place them elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HostCopyWarning)
        yield


def check_given(entry: Operation, arguments: Sequence[str]) -> None:
    """Refuse a launch without any arguments that needs some, and explain where to pass them."""
    if arguments:
        return
    try:
        check_number(entry, tuple(arguments))
    except LaunchError as error:
        where = f"give each with --arg, or all in a comment at the top of the program, as in {_EXAMPLE}"
        error.diagnostics[0].notes.append(note(where, UNKNOWN))
        raise


def made_arguments(entry: Operation, texts: Sequence[str]) -> list[Any]:
    """The arguments of a kernel, made from their descriptions."""
    types = [parameter.type for parameter in entry.regions[0].blocks[0].arguments]
    return [argument(text, types[number] if number < len(types) else None) for number, text in enumerate(texts)]


def uninitialized(values: Sequence[Any], texts: Sequence[str]) -> list[Any]:
    """The arrays that count as never written."""
    pairs = [
        pair
        for value, text in zip(values, texts, strict=True)
        for pair in zip(arrays_of(value), of_devices(text), strict=False)
    ]
    return [array for (_, array), text in pairs if text.startswith("empty:")]


def arrays_of(value: Any) -> list[tuple[int | None, Any]]:
    """The array that an argument is, or with its number that of each device; none of a scalar."""
    # Imported here, as NumPy is.
    from tileir.execute.arguments.multicast import MulticastArray

    if isinstance(value, MulticastArray):
        return list(enumerate(value.arrays))
    return [(None, value)] if is_array(value) else []


def is_array(value: object) -> bool:
    import numpy

    return isinstance(value, numpy.ndarray)


def plain(array: Any) -> Any:
    """What NumPy's files take: they have no name for the types of ml_dtypes, whose bytes can be read again anyway."""
    return array if array.dtype.isbuiltin == 1 else array.view(f"V{array.dtype.itemsize}")


def save(path: str, write: Callable[..., None], *array: Any, **arrays: Any) -> None:
    """Write what `numpy.save` or `numpy.savez` makes of arrays."""
    contents = io.BytesIO()
    write(contents, *map(plain, array), **{name: plain(each) for name, each in arrays.items()})
    write_file(path, contents.getbuffer())
