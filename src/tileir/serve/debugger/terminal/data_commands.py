"""Commands that compute with values and show them: print, x, display, whatis."""

from __future__ import annotations

import re
from functools import partial
from math import prod
from typing import Final

import numpy

from tileir.dialect.types import TileType
from tileir.execute.arguments.argument_text import natural
from tileir.execute.dtypes import Array, element_of_dtype
from tileir.ir.diagnostics import TileIRError
from tileir.ir.types import Type
from tileir.serve.debugger.terminal.commands import COMMANDS, INFO, BadCommand
from tileir.serve.debugger.terminal.shell import Shell, named
from tileir.serve.debugger.values import FORMATS, formatted
from tileir.serve.debugger.variables import Result

_FORMAT: Final = re.compile(r"/(\d*)([a-z]*)\s*")
_ELEMENT: Final = re.compile(r"(%?[\w$.#-]+)\s*(?:\[(.*)\])?$", re.DOTALL)
_ACROSS: Final = 8
"""Elements of a line that `x` writes."""
_MOST_EXAMINED: Final = 100_000

_command = partial(COMMANDS.command, group="data", completes="value")


def _format_in(rest: str) -> tuple[int, str, str]:
    """A count and a format, as in `/8x`, and what follows them."""
    found = _FORMAT.match(rest)
    if found is None:
        return 0, "", rest
    letters = found[2].rstrip("bhwg")
    if len(letters) > 1 or (letters and letters not in FORMATS):
        raise BadCommand(f'Undefined output format "{letters}": there is {", ".join(FORMATS)}.')
    return int(found[1][:9]) if found[1] else 0, letters, rest[found.end() :]


def _text(shell: Shell, result: Result, format: str) -> str:
    """A result as `print` shows it: all elements, where there is room for them."""
    value = result.value
    if isinstance(value, int) and format:
        return {"x": f"{value:#x}", "o": f"0{value:o}", "t": f"{value:b}", "a": f"{value:#x}"}.get(format, str(value))
    element = element_of_dtype(value.dtype) if isinstance(value, (numpy.ndarray, numpy.generic)) else None
    limit = shell.settings["print elements"] or _MOST_EXAMINED
    if element is None or (not format and (not value.ndim or value.size > limit)):
        return result.text
    array = numpy.asarray(value)
    if not array.ndim:
        return formatted(element, array, format)[0]
    # As many of the first rows as there is room for.
    corner = array if array.size <= limit else array[: max(limit // max(prod(array.shape[1:]), 1), 1)]
    texts = formatted(element, corner, format)
    width = max([len(text) for text in texts], default=0)
    table = numpy.array(texts, object).reshape(corner.shape)
    written = numpy.array2string(
        table,
        threshold=max(table.size, 1),
        max_line_width=100,
        separator=", ",
        formatter={"all": lambda text: str(text).rjust(width)},
    )
    more = "" if corner.size == array.size else f"  .. {array.size - corner.size} more elements"
    return f"{written}{more}" if array.ndim == 1 else f"\n{written}{more}"


@_command("print", "p", "inspect", usage="[/FORMAT] EXPRESSION", repeats=True)
def _print(shell: Shell, rest: str) -> None:
    """Compute an expression over tiles and arrays, in NumPy's terms.

    Formats: x hexadecimal, d and u decimal, o octal, t binary, f float. As in: print (acc > 1).sum()
    $1 is the first value that was printed, $ the last, $$ the one before it: print $ - $1
    """
    _, format, expression = _format_in(rest)
    if not expression and not shell.printed:
        raise BadCommand('Argument required (an expression, as "acc.max()").')
    result = shell.evaluate(expression or "$")
    shell.printed.append(result.content)
    shell.say(f"{shell.paint(f'${len(shell.printed)}', 'cyan')} = {_text(shell, result, format)}")


@_command("x", usage="[/COUNT FORMAT] ARRAY[INDEX]")
def _examine(shell: Shell, rest: str) -> None:
    """Show elements of an array or a tile, from one on.

    As in: x/8x a[16]
    """
    count, format, what = _format_in(rest)
    found = _ELEMENT.match(what.strip())
    if found is None:
        raise BadCommand("Usage: x[/COUNT FORMAT] ARRAY[INDEX], as x/8x a[16]")
    name = found[1]
    element, array = _elements(shell, name)
    start = _offset(shell, found[2], array.shape) if found[2] else 0
    flat = array.reshape(-1)
    texts = formatted(element, flat[start : start + min(count or 1, _MOST_EXAMINED)], format)
    if not texts:
        raise BadCommand(f"{name} has {flat.size} elements, and none {start}.")
    width = max([len(text) for text in texts])
    for first in range(0, len(texts), _ACROSS):
        index = numpy.unravel_index(start + first, array.shape) if array.ndim else ()
        label = shell.paint(f"{name}[{', '.join([str(int(one)) for one in index])}]:", "cyan")
        shell.say(f"{label}\t{'  '.join([text.rjust(width) for text in texts[first : first + _ACROSS]])}")


def _elements(shell: Shell, name: str) -> tuple[Type, Array]:
    """The elements of an array or a tile, and their type."""
    tiles = [one for one in shell.running.variables() if isinstance(one.type, TileType)]
    variable = named(name, [*shell.running.arrays(), *tiles])
    if variable is None:
        raise BadCommand(f'No array or tile "{name}" now.')
    assert isinstance(variable.type, TileType)
    return variable.type.element, numpy.asarray(variable.value)


def _offset(shell: Shell, text: str, shape: tuple[int, ...]) -> int:
    """The offset of an element, counted row by row."""
    index = [int(shell.evaluate(part).value) for part in text.split(",")]
    if len(index) == 1 and len(shape) != 1:
        return index[0]
    if len(index) != len(shape) or any(not 0 <= one < extent for one, extent in zip(index, shape, strict=True)):
        raise BadCommand(f"There is no element [{text}]: the shape is {list(shape)}.")
    return int(numpy.ravel_multi_index(index, shape))


@_command("whatis", "ptype", usage="EXPRESSION")
def _whatis(shell: Shell, rest: str) -> None:
    """Show the type of an expression."""
    if not rest:
        raise BadCommand("Argument required (an expression).")
    variable = named(rest, [*shell.running.variables(), *shell.running.parameters()])
    # A variable without a value has no type: the expression says why.
    type = (variable.type_text if variable is not None else "") or shell.evaluate(rest).type_text
    shell.say(f"type = {type}")


# --- displays ---


@_command("display", "disp", usage="[/FORMAT] EXPRESSION")
def _display(shell: Shell, rest: str) -> None:
    """Compute an expression at each stop."""
    if not rest:
        show_displays(shell)
        return
    _, format, expression = _format_in(rest)
    number = max(shell.displays, default=0) + 1
    shell.displays[number] = (format, expression)
    if shell.host.is_running:
        _show_display(shell, number)


def show_displays(shell: Shell) -> None:
    for number in shell.displays:
        _show_display(shell, number)


def _show_display(shell: Shell, number: int) -> None:
    format, expression = shell.displays[number]
    try:
        text = _text(shell, shell.evaluate(expression), format)
    except TileIRError as error:
        text = f"<{error.message}>"
    shell.say(f"{number}: {f'/{format} ' if format else ''}{expression} = {text}")


@_command("undisplay", usage="[NUMBER ..]")
def _undisplay(shell: Shell, rest: str) -> None:
    """No longer compute expressions at each stop."""
    if not rest:
        shell.displays.clear()
    for word in rest.split():
        number = natural(word)
        if number not in shell.displays:
            raise BadCommand(f"Arguments must be display numbers, and {word} is none.")
        del shell.displays[number]


@INFO.command("display")
def _info_display(shell: Shell, rest: str) -> None:
    """What is shown at each stop."""
    if not shell.displays:
        shell.say("There are no auto-display expressions now.")
    for number, (format, expression) in shell.displays.items():
        shell.say(f"{number}:  {f'/{format} ' if format else ''}{expression}")
