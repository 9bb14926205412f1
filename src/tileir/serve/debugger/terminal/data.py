"""Commands that compute with values and show them: print, x, display, whatis."""

from __future__ import annotations

import re
from math import prod
from typing import Final

import numpy

from tileir.dialect.types import TileType
from tileir.execute.arguments.argument_text import natural
from tileir.execute.dtypes import Array, element_of_dtype
from tileir.ir.diagnostics import TileIRError
from tileir.ir.types import Type
from tileir.serve.debugger.formats import FORMATS, formatted
from tileir.serve.debugger.terminal.command_table import Command, CommandMistake
from tileir.serve.debugger.terminal.shell import Shell
from tileir.serve.debugger.variables import Result

_SPELLED_FORMAT: Final = re.compile(r"/(\d*)([a-z]*)\s*")
_ELEMENT: Final = re.compile(r"(%?[\w$.#-]+)\s*(?:\[(.*)\])?$", re.DOTALL)
_ACROSS: Final = 8
"""Elements of a line that `x` writes."""
_MOST_EXAMINED: Final = 100_000


def _format_in(rest: str) -> tuple[int, str, str]:
    """A count and a format, as in `/8x`, and what follows them."""
    found = _SPELLED_FORMAT.match(rest)
    if found is None:
        return 0, "", rest
    letters = found[2].rstrip("bhwg")
    if len(letters) > 1 or (letters and letters not in FORMATS):
        raise CommandMistake(f'Undefined output format "{letters}": there is {", ".join(FORMATS)}.')
    return int(found[1][:9]) if found[1] else 0, letters, rest[found.end() :]


def shown(shell: Shell, result: Result, format: str) -> str:
    """What an expression gives, as `print` shows it: all elements, where there is room for them."""
    value = result.value
    if isinstance(value, int) and format:
        return formatted_number(int(value), format)
    element = element_of_dtype(value.dtype) if isinstance(value, (numpy.ndarray, numpy.generic)) else None
    limit = shell.print_elements or _MOST_EXAMINED
    if element is None or (not format and (not value.ndim or value.size > limit)):
        return result.shown
    array = numpy.asarray(value)
    if not array.ndim:
        return formatted(element, array, format)[0]
    corner = _corner(array, limit)
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


def _corner(array: Array, limit: int) -> Array:
    """As many of the first rows as there is room for."""
    if array.size <= limit:
        return array
    return array[: max(limit // max(prod(array.shape[1:]), 1), 1)]


def formatted_number(number: int, format: str) -> str:
    kinds = {"x": f"{number:#x}", "o": f"0{number:o}", "t": f"{number:b}", "a": f"{number:#x}"}
    return kinds.get(format, str(number))


def _print(shell: Shell, rest: str) -> None:
    _, format, expression = _format_in(rest)
    if not expression and not shell.history.last:
        raise CommandMistake('Argument required (an expression, as "acc.max()").')
    result = shell.evaluate(expression or "$")
    number = shell.history.add(result)
    shell.say(f"{shell.paint(f'${number}', 'cyan')} = {shown(shell, result, format)}")


def _whatis(shell: Shell, rest: str) -> None:
    if not rest:
        raise CommandMistake("Argument required (an expression).")
    for variable in [*shell.running.variables(), *shell.running.parameters()]:
        # A variable without a value has no type: the expression says why.
        if rest in (variable.name, variable.name.removeprefix("%")) and variable.type_text:
            shell.say(f"type = {variable.type_text}")
            return
    shell.say(f"type = {shell.evaluate(rest).type_text}")


def _examine(shell: Shell, rest: str) -> None:
    count, format, what = _format_in(rest)
    found = _ELEMENT.match(what.strip())
    if found is None:
        raise CommandMistake("Usage: x[/COUNT FORMAT] ARRAY[INDEX], as x/8x a[16]")
    name = found[1]
    element, array = _elements(shell, name)
    start = _place(shell, found[2], array.shape) if found[2] else 0
    flat = array.reshape(-1)
    end = min(start + min(count or 1, _MOST_EXAMINED), flat.size)
    texts = formatted(element, flat[start:end], format)
    width = max([len(text) for text in texts], default=0)
    for first in range(0, len(texts), _ACROSS):
        index = numpy.unravel_index(start + first, array.shape) if array.ndim else ()
        label = f"{name}[{', '.join([str(int(one)) for one in index])}]:"
        shell.say(
            f"{shell.paint(label, 'cyan')}\t{'  '.join([text.rjust(width) for text in texts[first : first + _ACROSS]])}"
        )
    if not texts:
        raise CommandMistake(f"{name} has {flat.size} elements, and none {start}.")


def _elements(shell: Shell, name: str) -> tuple[Type, Array]:
    """The elements of an array or a tile, and their type."""
    debugger = shell.running
    for variable in [*debugger.arrays(), *debugger.variables()]:
        if name not in (variable.name, variable.name.removeprefix("%")):
            continue
        if variable.array is not None:
            return variable.array.element, variable.value
        if isinstance(variable.type, TileType):
            return variable.type.element, numpy.asarray(variable.value)
    raise CommandMistake(f'No array or tile "{name}" now.')


def _place(shell: Shell, text: str, shape: tuple[int, ...]) -> int:
    """The place of an element among all, counted row by row."""
    numbers = [int(shell.evaluate(part).value) for part in text.split(",")]
    if len(numbers) == 1 and len(shape) != 1:
        return numbers[0]
    if len(numbers) != len(shape) or any(not 0 <= one < extent for one, extent in zip(numbers, shape, strict=False)):
        raise CommandMistake(f"There is no element [{text}]: the shape is {list(shape)}.")
    place = 0
    for one, extent in zip(numbers, shape, strict=True):
        place = place * extent + one
    return place


# --- what is shown at each stop ---


def _display(shell: Shell, rest: str) -> None:
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
    spelled = f"/{format} " if format else ""
    try:
        words = shown(shell, shell.evaluate(expression), format)
    except TileIRError as error:
        words = f"<{error.message}>"
    shell.say(f"{number}: {spelled}{expression} = {words}")


def _undisplay(shell: Shell, rest: str) -> None:
    if not rest:
        shell.displays.clear()
        return
    for word in rest.split():
        number = natural(word)
        if number not in shell.displays:
            raise CommandMistake(f"Arguments must be display numbers, and {word} is none.")
        del shell.displays[number]


COMMANDS = (
    Command(
        "print",
        _print,
        "compute an expression over tiles and arrays, in NumPy's terms",
        short=["p", "inspect"],
        usage="[/FORMAT] EXPRESSION",
        details="Formats: x hexadecimal, d and u decimal, o octal, t binary, f float. As in: print (acc > 1).sum()\n"
        "$1 is the first value that was printed, $ the last, $$ the one before it: print $ - $1",
        repeats=True,
        completes="value",
    ),
    Command(
        "x",
        _examine,
        "show elements of an array or a tile, from one on",
        usage="[/COUNT FORMAT] ARRAY[INDEX]",
        details="As in: x/8x a[16]",
        completes="value",
    ),
    Command(
        "whatis", _whatis, "show the type of an expression", short=["ptype"], usage="EXPRESSION", completes="value"
    ),
    Command(
        "display",
        _display,
        "compute an expression at each stop",
        short=["disp"],
        usage="[/FORMAT] EXPRESSION",
        completes="value",
    ),
    Command("undisplay", _undisplay, "no longer compute expressions at each stop", usage="[NUMBER ..]"),
)
