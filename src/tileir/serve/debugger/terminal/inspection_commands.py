"""Commands that show the launch where it stands: the stack, sources, values, arrays, expressions."""

from __future__ import annotations

import re
from functools import partial
from math import prod
from typing import Any, Final

import numpy

from tileir.execute.arguments.argument_text import natural
from tileir.execute.dtypes import Array
from tileir.execute.locations.wording import several
from tileir.ir.diagnostics import TileIRError
from tileir.ir.types import Type
from tileir.serve.debugger.inspection import Variable
from tileir.serve.debugger.terminal.shell import COMMANDS, INFO, BadCommand, Shell, named, short, split
from tileir.serve.debugger.values import FORMATS, formatted

_command = partial(COMMANDS.command, group="stack")
_data_command = partial(COMMANDS.command, group="data", completes="value")
_FORMAT: Final = re.compile(r"/(\d*)([a-z]*)\s*")
_ELEMENT: Final = re.compile(r"(%?[\w$.#-]+)\s*(?:\[(.*)\])?$", re.DOTALL)
_ACROSS: Final = 8  # Elements of a line that `x` writes.
_MOST_EXAMINED: Final = 100_000


class InspectionCommands(Shell):
    """The launch where it stands."""

    @INFO.command("stack", "s", help="The stack.")
    @_command("backtrace", "bt", "where", usage="[N | -N]")
    def _backtrace(self, rest: str) -> None:
        """Show the branches and loops that the launch is in, innermost first."""
        frames = self.running.stack()
        count = natural(rest.lstrip("-")) if rest else len(frames)
        if count is None:
            raise BadCommand(f'"{rest}" is no number of frames.')
        numbered = list(enumerate(frames))
        for number, frame in numbered[-count:] if rest.startswith("-") else numbered[:count]:
            self.say(f"#{number:<3}{self.frame_text(frame)}")
        if count < len(frames) and not rest.startswith("-"):
            self.say("(More stack frames follow...)")

    @_command("frame", "f", usage="[N]")
    def _frame(self, rest: str) -> None:
        """Select a frame of the stack."""
        frames = self.running.stack()
        if rest:
            number = natural(rest)
            if number is None or number >= len(frames):
                raise BadCommand(f"There is no frame {rest}: they are counted from 0 to {len(frames) - 1}.")
            self.frame_number = number
        frame = self.frame
        self.say(f"#{self.frame_number:<3}{self.frame_text(frame)}")
        self.show_location(frame.location, self.debugger.recording.program.text(frame.operation))

    def _select(self, rest: str, direction: int) -> None:
        count = natural(rest) if rest else 1
        if count is None:
            raise BadCommand("Give a number of frames.")
        last = len(self.running.stack()) - 1
        number = self.frame_number + direction * count
        if number > last and self.frame_number == last:
            raise BadCommand("Initial frame selected; you can't go up.")
        if number < 0 and self.frame_number == 0:
            raise BadCommand("Bottom (innermost) frame selected; you can't go down.")
        self.frame_number = max(min(number, last), 0)
        self.listed = None
        self._frame("")

    _command("up", usage="[N]", repeats=True, help="Select the frame around this one.")(partial(_select, direction=1))
    _command("down", "dow", usage="[N]", repeats=True, help="Select the frame inside this one.")(
        partial(_select, direction=-1)
    )

    @_command("list", "l", usage="[LOCATION | FIRST,LAST | -]", repeats=True, again="list", completes="location")
    def _list(self, rest: str) -> None:
        """Show lines of the source."""
        file, line = self.current_line()
        size = self.settings["listsize"]
        first, last = max(line - size // 2, 1), 0
        if rest == "-" and self.listed is not None:
            file, behind = self.listed
            first, last = max(behind - 2 * size, 1), max(behind - size - 1, 1)
        elif "," in rest:
            begin, _, end = rest.partition(",")
            file, first = self.location(begin) if begin.strip() else (file, line)
            last = self.location(end)[1] if end.strip() else 0
        elif rest and rest != "-":
            file, line = self.location(rest)
            first = max(line - size // 2, 1)
        elif self.listed is not None:
            file, first = self.listed
        lines = self.source(file)
        if not lines:
            raise BadCommand(f"{short(file)}: the file is not at hand.")
        while lines and not lines[-1]:
            lines = lines[:-1]
        if first > len(lines):
            raise BadCommand(f"Line number {first} out of range; {short(file)} has {len(lines)} lines.")
        here = self.debugger.location if self.is_running else None
        end_line = min(last or first + size - 1, len(lines))
        marked = here.line if here is not None and here.file == file else 0
        for number in range(first, end_line + 1):
            self.show_line(number, lines[number - 1], f"{self.paint('=>', 'bold') if number == marked else '  '} ")
        self.listed = (file, end_line + 1)

    @_command("info", "i", "inf", usage="WHAT", completes="info")
    def _info(self, rest: str) -> None:
        """Show something about the launch."""
        word, more = split(rest) if rest else ("", "")
        if not word:
            raise BadCommand(f'"info" is followed by one of {", ".join(INFO.commands)}.')
        INFO.find(word).function(self, more)

    def _show_variables(self, found: list[Variable], none: str) -> None:
        for variable in found:
            old = self.paint("  (of the round before)", "dim") if variable.is_old else ""
            type = f": {variable.type_text}" if variable.array is not None else ""
            self.say(f"{self.paint(variable.name, 'cyan')}{type} = {variable.text}{old}")
        if not found:
            self.say(none)

    @INFO.command("locals", "lo")
    def _info_locals(self, rest: str) -> None:
        """Variables of the script; of a text, values of the frame."""
        functions = self.running.functions()
        if not functions:
            self._info_expressions(rest)
            return
        for number, (function, variables) in enumerate(functions):
            if len(functions) > 1:
                self.say(f"{'In' if not number else 'Called from'} {function}:")
            self._show_variables(variables, "No variables are assigned yet.")
        count = len(self._values())
        if count:
            self.say(self.paint(f'("info expressions" lists {several(count, "other value")}.)', "dim"))

    @INFO.command("expressions", "ex")
    def _info_expressions(self, rest: str) -> None:
        """Values of the frame that are no variables."""
        self._show_variables(self._values(), "No values are computed yet.")

    def _values(self) -> list[Variable]:
        """The values of the selected frame, and of those around it."""
        frames = self.running.stack()[self.frame_number :]
        return [one for frame in frames for one in self.debugger.values(frame) if one.value is not None]

    @INFO.command("args")
    def _info_args(self, rest: str) -> None:
        """Parameters of the kernel."""
        self._show_variables(self.running.parameters(), "No parameters.")

    @INFO.command("arrays")
    def _info_arrays(self, rest: str) -> None:
        """Arrays that the kernel works on, as they are now."""
        self._show_variables(self.running.arrays(), "No arrays.")

    @INFO.command("accesses", "ac")
    def _info_accesses(self, rest: str) -> None:
        """What the last step has read and written."""
        self.say("\n".join(self.running.accesses()) or "The last step has accessed no memory.")

    @INFO.command("frame", "f")
    def _info_frame(self, rest: str) -> None:
        """Where the launch stands."""
        frame = self.frame
        block, step = self.debugger.position
        self.say(f"Frame {self.frame_number}: {frame.name}")
        self.say(f"  tile block {block} {self.block_text(block)} of {self.debugger.grid}, step {step}")
        self.say(f"  operation {frame.operation}: {self._operation(frame.operation)}")
        if frame.location is not None:
            self.say(f"  at {short(frame.location.file)}:{frame.location.line}")

    @INFO.command("line", "li", usage="[LOCATION]")
    def _info_line(self, rest: str) -> None:
        """The operations of a line."""
        file, line = self.location(rest) if rest else self.current_line()
        begun, numbers = self.debugger.lines.at(file, line)
        moved = "" if begun == line else f" is in or before line {begun}, which"
        begins = f"{moved} begins at {several(len(numbers), 'operation')}:"
        self.say(f"Line {line} of {short(file)}{begins if numbers else ' has no operations, nor has any behind it.'}")
        for number in numbers:
            self.say(f"  {number}: {self._operation(number)}")

    def _operation(self, number: int) -> str:
        """An operation as its text has it; printed, where it comes from a script."""
        lines = self.debugger.lines
        location = lines.location(number) if lines.kind == "text" else None
        line = self.source_line(location.file, location.line) if location is not None else None
        return self.debugger.recording.program.text(number) if line is None else line.strip()

    @INFO.command("blocks", "threads")
    def _info_blocks(self, rest: str) -> None:
        """Tile blocks."""
        debugger = self.running
        order = debugger.recording.order.tolist()
        current = debugger.position.block
        x, y, z = debugger.grid
        begun = f", {len(order)} of them begun" if len(order) < x * y * z else ""
        schedule = debugger.recording.schedule
        self.say(f"The grid is {debugger.grid}: {several(x * y * z, 'tile block')}{begun}; schedule {schedule}.")
        unfinished = dict(debugger.unfinished_blocks())
        first = max(min(order.index(current) - 5, len(order) - 11), 0)
        for number in order[first : first + 11]:
            mark = "*" if number == current else " "
            at = f"step {unfinished[number]} of " if number in unfinished else ""
            steps = several(len(debugger.steps(number)), "step")
            self.say(f"{mark} {number:<5} {self.block_text(number)}  {at}{steps}")
        if len(order) > 11:
            self.say(f"  .. {len(order) - 11} more")

    @INFO.command("source")
    def _info_source(self, rest: str) -> None:
        """Whose lines are shown."""
        kinds = {
            "text": "the text it was read from",
            "script": "the script",
            "source": "the source it was compiled from",
            "printed": "the program as it is printed",
        }
        self.say(f"Lines are those of {kinds[self.debugger.lines.kind]}.")
        for file in self.debugger.lines.files:
            self.say(f"  {short(file)}")

    def _text(self, result: Variable, format: str) -> str:
        """A result as `print` shows it: all elements, where there is room for them."""
        value = result.value
        if isinstance(value, int) and format:
            shown = {"x": f"{value:#x}", "o": f"0{value:o}", "t": f"{value:b}", "a": f"{value:#x}"}
            return shown.get(format, str(value))
        limit = self.settings["print elements"] or _MOST_EXAMINED
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
        justified: Any = {"all": lambda text: str(text).rjust(width)}
        size = max(table.size, 1)
        written = numpy.array2string(table, threshold=size, max_line_width=100, separator=", ", formatter=justified)
        more = "" if corner.size == array.size else f"  .. {array.size - corner.size} more elements"
        return f"{written}{more}" if array.ndim == 1 else f"\n{written}{more}"

    @_data_command("print", "p", "inspect", usage="[/FORMAT] EXPRESSION", repeats=True)
    def _print(self, rest: str) -> None:
        """Compute an expression over tiles and arrays, in NumPy's terms.

        Formats: x hexadecimal, d and u decimal, o octal, t binary, f float. As in: print (acc > 1).sum()
        $1 is the first value that was printed, $ the last, $$ the one before it: print $ - $1
        """
        _, format, expression = _format_in(rest)
        if not expression and not self.printed:
            raise BadCommand('Argument required (an expression, as "acc.max()").')
        result = self.evaluate(expression or "$")
        self.printed.append(result.value)
        self.say(f"{self.paint(f'${len(self.printed)}', 'cyan')} = {self._text(result, format)}")

    @_data_command("x", usage="[/COUNT FORMAT] ARRAY[INDEX]")
    def _examine(self, rest: str) -> None:
        """Show elements of an array or a tile, from one on.

        As in: x/8x a[16]
        """
        count, format, what = _format_in(rest)
        found = _ELEMENT.match(what.strip())
        if found is None:
            raise BadCommand("Usage: x[/COUNT FORMAT] ARRAY[INDEX], as x/8x a[16]")
        name = found[1]
        element, array = self._elements(name)
        start = self._offset(found[2], array.shape) if found[2] else 0
        flat = array.reshape(-1)
        texts = formatted(element, flat[start : start + min(count or 1, _MOST_EXAMINED)], format)
        if not texts:
            raise BadCommand(f"{name} has {flat.size} elements, and none {start}.")
        width = max([len(text) for text in texts])
        for first in range(0, len(texts), _ACROSS):
            index = numpy.unravel_index(start + first, array.shape) if array.ndim else ()
            label = self.paint(f"{name}[{', '.join([str(int(one)) for one in index])}]:", "cyan")
            self.say(f"{label}\t{'  '.join([text.rjust(width) for text in texts[first : first + _ACROSS]])}")

    def _elements(self, name: str) -> tuple[Type, Array]:
        """The elements of an array or a tile, and their type."""
        variable = named(name, [*self.running.arrays(), *self.running.variables()])
        if variable is None or variable.numbers is None:
            raise BadCommand(f'No array or tile "{name}" now.')
        return variable.numbers

    def _offset(self, text: str, shape: tuple[int, ...]) -> int:
        """The offset of an element, counted row by row."""
        index = [int(self.evaluate(part).value) for part in text.split(",")]
        if len(index) == 1 and len(shape) != 1:
            return index[0]
        if len(index) != len(shape) or any(not 0 <= one < extent for one, extent in zip(index, shape, strict=True)):
            raise BadCommand(f"There is no element [{text}]: the shape is {list(shape)}.")
        return int(numpy.ravel_multi_index(index, shape))

    @_data_command("whatis", "ptype", usage="EXPRESSION")
    def _whatis(self, rest: str) -> None:
        """Show the type of an expression."""
        if not rest:
            raise BadCommand("Argument required (an expression).")
        variable = named(rest, [*self.running.variables(), *self.running.parameters()])
        # A variable without a value has no type: evaluation reports why.
        type = (variable.type_text if variable is not None else "") or self.evaluate(rest).type_text
        self.say(f"type = {type}")

    @_data_command("display", "disp", usage="[/FORMAT] EXPRESSION")
    def _display(self, rest: str) -> None:
        """Compute an expression at each stop."""
        if not rest:
            self.show_displays()
            return
        _, format, expression = _format_in(rest)
        number = max(self.displays, default=0) + 1
        self.displays[number] = (format, expression)
        if self.is_running:
            self.show_displays(number)

    def show_displays(self, first: int = 0) -> None:
        for number, (format, expression) in self.displays.items():
            if number >= first:
                try:
                    text = self._text(self.evaluate(expression), format)
                except TileIRError as error:
                    text = f"<{error.message}>"
                self.say(f"{number}: {f'/{format} ' if format else ''}{expression} = {text}")

    @_data_command("undisplay", usage="[NUMBER ..]")
    def _undisplay(self, rest: str) -> None:
        """No longer compute expressions at each stop."""
        if not rest:
            self.displays.clear()
        for word in rest.split():
            if self.displays.pop(natural(word) or 0, None) is None:
                raise BadCommand(f"Arguments must be display numbers, and {word} is none.")

    @INFO.command("display")
    def _info_display(self, rest: str) -> None:
        """What is shown at each stop."""
        if not self.displays:
            self.say("There are no auto-display expressions now.")
        for number, (format, expression) in self.displays.items():
            self.say(f"{number}:  {f'/{format} ' if format else ''}{expression}")


def _format_in(rest: str) -> tuple[int, str, str]:
    """A count and a format, as in `/8x`, and what follows them."""
    found = _FORMAT.match(rest)
    if found is None:
        return 0, "", rest
    letters = found[2].rstrip("bhwg")
    if len(letters) > 1 or (letters and letters not in FORMATS):
        raise BadCommand(f'Undefined output format "{letters}": there is {", ".join(FORMATS)}.')
    return int(found[1][:9]) if found[1] else 0, letters, rest[found.end() :]
