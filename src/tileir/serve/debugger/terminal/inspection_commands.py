"""Commands that show the launch where it stands: the stack, sources, values, arrays, expressions."""

from __future__ import annotations

import re
from functools import partial
from math import prod
from typing import Final

import numpy

from tileir.execute.arguments.argument_text import natural
from tileir.execute.dtypes import Array
from tileir.execute.locations.wording import several
from tileir.ir.diagnostics import TileIRError
from tileir.ir.types import Type
from tileir.serve.debugger.inspection import Variable
from tileir.serve.debugger.terminal.commands import COMMANDS, INFO, BadCommand, split
from tileir.serve.debugger.terminal.shell import Shell, named, short
from tileir.serve.debugger.values import FORMATS, formatted

_command = partial(COMMANDS.command, group="stack")

# --- the stack ---


@INFO.command("stack", "s", help="The stack.")
@_command("backtrace", "bt", "where", usage="[N | -N]")
def _backtrace(shell: Shell, rest: str) -> None:
    """Show the branches and loops that the launch is in, innermost first."""
    frames = shell.running.stack()
    count = natural(rest.lstrip("-")) if rest else len(frames)
    if count is None:
        raise BadCommand(f'"{rest}" is no number of frames.')
    numbered = list(enumerate(frames))
    for number, frame in numbered[-count:] if rest.startswith("-") else numbered[:count]:
        shell.say(f"#{number:<3}{shell.frame_text(frame)}")
    if count < len(frames) and not rest.startswith("-"):
        shell.say("(More stack frames follow...)")


@_command("frame", "f", usage="[N]")
def _frame(shell: Shell, rest: str) -> None:
    """Select a frame of the stack."""
    frames = shell.running.stack()
    if rest:
        number = natural(rest)
        if number is None or number >= len(frames):
            raise BadCommand(f"There is no frame {rest}: they are counted from 0 to {len(frames) - 1}.")
        shell.frame_number = number
    frame = shell.frame
    shell.say(f"#{shell.frame_number:<3}{shell.frame_text(frame)}")
    shell.show_location(frame.location, shell.debugger.recording.program.text(frame.operation))


def _select(direction: int, shell: Shell, rest: str) -> None:
    count = natural(rest) if rest else 1
    if count is None:
        raise BadCommand("Give a number of frames.")
    last = len(shell.running.stack()) - 1
    number = shell.frame_number + direction * count
    if number > last and shell.frame_number == last:
        raise BadCommand("Initial frame selected; you can't go up.")
    if number < 0 and shell.frame_number == 0:
        raise BadCommand("Bottom (innermost) frame selected; you can't go down.")
    shell.frame_number = max(min(number, last), 0)
    shell.listed = None
    _frame(shell, "")


_command("up", usage="[N]", repeats=True, help="Select the frame around this one.")(partial(_select, 1))
_command("down", "dow", usage="[N]", repeats=True, help="Select the frame inside this one.")(partial(_select, -1))


# --- sources ---


@_command("list", "l", usage="[LOCATION | FIRST,LAST | -]", repeats=True, again="list", completes="location")
def _list(shell: Shell, rest: str) -> None:
    """Show lines of the source."""
    file, line = shell.current_line()
    size = shell.settings["listsize"]
    first = max(line - size // 2, 1)
    last = 0
    if rest == "-" and shell.listed is not None:
        file, behind = shell.listed
        first, last = max(behind - 2 * size, 1), max(behind - size - 1, 1)
    elif "," in rest:
        begin, _, end = rest.partition(",")
        file, first = shell.location(begin) if begin.strip() else (file, line)
        last = shell.location(end)[1] if end.strip() else 0
    elif rest and rest != "-":
        file, line = shell.location(rest)
        first = max(line - size // 2, 1)
    elif shell.listed is not None:
        file, first = shell.listed
    lines = shell.source(file)
    if not lines:
        raise BadCommand(f"{short(file)}: the file is not at hand.")
    while lines and not lines[-1]:
        lines = lines[:-1]
    if first > len(lines):
        raise BadCommand(f"Line number {first} out of range; {short(file)} has {len(lines)} lines.")
    here = shell.debugger.location if shell.is_running else None
    end_line = min(last or first + size - 1, len(lines))
    for number in range(first, end_line + 1):
        is_here = here is not None and (here.file, here.line) == (file, number)
        shell.show_line(number, lines[number - 1], f"{shell.paint('=>', 'bold') if is_here else '  '} ")
    shell.listed = (file, end_line + 1)


# --- info ---


@_command("info", "i", "inf", usage="WHAT", completes="info")
def _info(shell: Shell, rest: str) -> None:
    """Show something about the launch."""
    word, more = split(rest) if rest else ("", "")
    if not word:
        raise BadCommand(f'"info" is followed by one of {", ".join(INFO.commands)}.')
    INFO.find(word).function(shell, more)


def _show(shell: Shell, found: list[Variable], none: str) -> None:
    for variable in found:
        old = shell.paint("  (of the round before)", "dim") if variable.is_old else ""
        type = f": {variable.type_text}" if variable.array is not None else ""
        shell.say(f"{shell.paint(variable.name, 'cyan')}{type} = {variable.text}{old}")
    if not found:
        shell.say(none)


@INFO.command("locals", "lo")
def _info_locals(shell: Shell, rest: str) -> None:
    """Variables of the script; of a text, values of the frame."""
    functions = shell.running.functions()
    if not functions:
        _info_expressions(shell, rest)
        return
    for number, (function, variables) in enumerate(functions):
        if len(functions) > 1:
            shell.say(f"{'In' if not number else 'Called from'} {function}:")
        _show(shell, variables, "No variables are assigned yet.")
    count = len(_values(shell))
    if count:
        shell.say(shell.paint(f'("info expressions" lists {several(count, "other value")}.)', "dim"))


@INFO.command("expressions", "ex")
def _info_expressions(shell: Shell, rest: str) -> None:
    """Values of the frame that are no variables."""
    _show(shell, _values(shell), "No values are computed yet.")


def _values(shell: Shell) -> list[Variable]:
    """The values of the selected frame, and of those around it."""
    frames = shell.running.stack()[shell.frame_number :]
    return [one for frame in frames for one in shell.debugger.values(frame) if one.value is not None]


@INFO.command("args")
def _info_args(shell: Shell, rest: str) -> None:
    """Parameters of the kernel."""
    _show(shell, shell.running.parameters(), "No parameters.")


@INFO.command("arrays")
def _info_arrays(shell: Shell, rest: str) -> None:
    """Arrays that the kernel works on, as they are now."""
    _show(shell, shell.running.arrays(), "No arrays.")


@INFO.command("accesses", "ac")
def _info_accesses(shell: Shell, rest: str) -> None:
    """What the last step has read and written."""
    accesses = shell.running.accesses()
    shell.say("\n".join([one.text for one in accesses]) or "The last step has accessed no memory.")


@INFO.command("frame", "f")
def _info_frame(shell: Shell, rest: str) -> None:
    """Where the launch stands."""
    frame = shell.frame
    block, step = shell.debugger.position
    shell.say(f"Frame {shell.frame_number}: {frame.name}")
    shell.say(f"  tile block {block} {shell.block_text(block)} of {shell.debugger.grid}, step {step}")
    shell.say(f"  operation {frame.operation}: {_operation(shell, frame.operation)}")
    if frame.location is not None:
        shell.say(f"  at {short(frame.location.file)}:{frame.location.line}")


@INFO.command("line", "li", usage="[LOCATION]")
def _info_line(shell: Shell, rest: str) -> None:
    """The operations of a line."""
    file, line = shell.location(rest) if rest else shell.current_line()
    begun, numbers = shell.debugger.lines.at(file, line)
    if not numbers:
        shell.say(f"Line {line} of {short(file)} has no operations, nor has any behind it.")
        return
    moved = "" if begun == line else f" is in or before line {begun}, which"
    shell.say(f"Line {line} of {short(file)}{moved} begins at {several(len(numbers), 'operation')}:")
    for number in numbers:
        shell.say(f"  {number}: {_operation(shell, number)}")


def _operation(shell: Shell, number: int) -> str:
    """An operation as its text has it; printed, where it comes from a script."""
    lines = shell.debugger.lines
    location = lines.location(number) if lines.kind == "text" else None
    line = shell.source_line(location.file, location.line) if location is not None else None
    return shell.debugger.recording.program.text(number) if line is None else line.strip()


@INFO.command("blocks", "threads")
def _info_blocks(shell: Shell, rest: str) -> None:
    """Tile blocks."""
    debugger = shell.running
    order = debugger.recording.order.tolist()
    current = debugger.position.block
    x, y, z = debugger.grid
    begun = f", {len(order)} of them begun" if len(order) < x * y * z else ""
    schedule = debugger.recording.schedule
    shell.say(f"The grid is {debugger.grid}: {several(x * y * z, 'tile block')}{begun}; schedule {schedule}.")
    unfinished = dict(debugger.unfinished_blocks())
    first = max(min(order.index(current) - 5, len(order) - 11), 0)
    for number in order[first : first + 11]:
        mark = "*" if number == current else " "
        at = f"step {unfinished[number]} of " if number in unfinished else ""
        shell.say(f"{mark} {number:<5} {shell.block_text(number)}  {at}{several(len(debugger.steps(number)), 'step')}")
    if len(order) > 11:
        shell.say(f"  .. {len(order) - 11} more")


@INFO.command("source")
def _info_source(shell: Shell, rest: str) -> None:
    """Whose lines are shown."""
    kinds = {"text": "the text it was read from", "script": "the script", "printed": "the program as it is printed"}
    shell.say(f"Lines are those of {kinds[shell.debugger.lines.kind]}.")
    for file in shell.debugger.lines.files:
        shell.say(f"  {short(file)}")


_FORMAT: Final = re.compile(r"/(\d*)([a-z]*)\s*")
_ELEMENT: Final = re.compile(r"(%?[\w$.#-]+)\s*(?:\[(.*)\])?$", re.DOTALL)
_ACROSS: Final = 8
"""Elements of a line that `x` writes."""
_MOST_EXAMINED: Final = 100_000

_data_command = partial(COMMANDS.command, group="data", completes="value")


def _format_in(rest: str) -> tuple[int, str, str]:
    """A count and a format, as in `/8x`, and what follows them."""
    found = _FORMAT.match(rest)
    if found is None:
        return 0, "", rest
    letters = found[2].rstrip("bhwg")
    if len(letters) > 1 or (letters and letters not in FORMATS):
        raise BadCommand(f'Undefined output format "{letters}": there is {", ".join(FORMATS)}.')
    return int(found[1][:9]) if found[1] else 0, letters, rest[found.end() :]


def _text(shell: Shell, result: Variable, format: str) -> str:
    """A result as `print` shows it: all elements, where there is room for them."""
    value = result.value
    if isinstance(value, int) and format:
        return {"x": f"{value:#x}", "o": f"0{value:o}", "t": f"{value:b}", "a": f"{value:#x}"}.get(format, str(value))
    limit = shell.settings["print elements"] or _MOST_EXAMINED
    if result.numbers is None or (not format and (not value.ndim or value.size > limit)):
        return result.text
    element, array = result.numbers
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


@_data_command("print", "p", "inspect", usage="[/FORMAT] EXPRESSION", repeats=True)
def _print(shell: Shell, rest: str) -> None:
    """Compute an expression over tiles and arrays, in NumPy's terms.

    Formats: x hexadecimal, d and u decimal, o octal, t binary, f float. As in: print (acc > 1).sum()
    $1 is the first value that was printed, $ the last, $$ the one before it: print $ - $1
    """
    _, format, expression = _format_in(rest)
    if not expression and not shell.printed:
        raise BadCommand('Argument required (an expression, as "acc.max()").')
    result = shell.evaluate(expression or "$")
    shell.printed.append(result.value)
    shell.say(f"{shell.paint(f'${len(shell.printed)}', 'cyan')} = {_text(shell, result, format)}")


@_data_command("x", usage="[/COUNT FORMAT] ARRAY[INDEX]")
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
    variable = named(name, [*shell.running.arrays(), *shell.running.variables()])
    if variable is None or variable.numbers is None:
        raise BadCommand(f'No array or tile "{name}" now.')
    return variable.numbers


def _offset(shell: Shell, text: str, shape: tuple[int, ...]) -> int:
    """The offset of an element, counted row by row."""
    index = [int(shell.evaluate(part).value) for part in text.split(",")]
    if len(index) == 1 and len(shape) != 1:
        return index[0]
    if len(index) != len(shape) or any(not 0 <= one < extent for one, extent in zip(index, shape, strict=True)):
        raise BadCommand(f"There is no element [{text}]: the shape is {list(shape)}.")
    return int(numpy.ravel_multi_index(index, shape))


@_data_command("whatis", "ptype", usage="EXPRESSION")
def _whatis(shell: Shell, rest: str) -> None:
    """Show the type of an expression."""
    if not rest:
        raise BadCommand("Argument required (an expression).")
    variable = named(rest, [*shell.running.variables(), *shell.running.parameters()])
    # A variable without a value has no type: the expression says why.
    type = (variable.type_text if variable is not None else "") or shell.evaluate(rest).type_text
    shell.say(f"type = {type}")


# --- displays ---


@_data_command("display", "disp", usage="[/FORMAT] EXPRESSION")
def _display(shell: Shell, rest: str) -> None:
    """Compute an expression at each stop."""
    if not rest:
        show_displays(shell)
        return
    _, format, expression = _format_in(rest)
    number = max(shell.displays, default=0) + 1
    shell.displays[number] = (format, expression)
    if shell.is_running:
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


@_data_command("undisplay", usage="[NUMBER ..]")
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
