"""Commands that look at the launch where it stands: the stack, sources, values, arrays."""

from __future__ import annotations

from collections.abc import Callable

from tileir.execute.arguments.argument_text import natural
from tileir.execute.locations.wording import several
from tileir.serve.debugger.terminal.command_table import Command, CommandMistake, CommandTable, split
from tileir.serve.debugger.terminal.shell import Shell, short
from tileir.serve.debugger.variables import Variable

# --- the stack ---


def _backtrace(shell: Shell, rest: str) -> None:
    frames = shell.running.stack()
    count = natural(rest.lstrip("-")) if rest else None
    if rest and count is None:
        raise CommandMistake(f'"{rest}" is no number of frames.')
    numbered = list(enumerate(frames))
    if count is not None:
        numbered = numbered[-count:] if rest.startswith("-") else numbered[:count]
    for number, frame in numbered:
        shell.say(f"#{number:<3}{shell.frame_words(frame)}")
    if count is not None and len(numbered) < len(frames) and not rest.startswith("-"):
        shell.say("(More stack frames follow...)")


def _frame(shell: Shell, rest: str) -> None:
    frames = shell.running.stack()
    if rest:
        number = natural(rest)
        if number is None or number >= len(frames):
            raise CommandMistake(f"There is no frame {rest}: they are counted from 0 to {len(frames) - 1}.")
        shell.frame_number = number
    show_frame(shell)


def show_frame(shell: Shell) -> None:
    frame = shell.frame
    shell.say(f"#{shell.frame_number:<3}{shell.frame_words(frame)}")
    shell.show_place(frame.place, shell.debugger.recording.program.text(frame.operation))


def _up(shell: Shell, rest: str) -> None:
    _move(shell, natural(rest) if rest else 1)


def _down(shell: Shell, rest: str) -> None:
    count = natural(rest) if rest else 1
    _move(shell, None if count is None else -count)


def _move(shell: Shell, count: int | None) -> None:
    if count is None:
        raise CommandMistake("Give a number of frames.")
    frames = shell.running.stack()
    wanted = shell.frame_number + count
    if wanted >= len(frames) and shell.frame_number == len(frames) - 1:
        raise CommandMistake("Initial frame selected; you can't go up.")
    if wanted < 0 and shell.frame_number == 0:
        raise CommandMistake("Bottom (innermost) frame selected; you can't go down.")
    shell.frame_number = max(min(wanted, len(frames) - 1), 0)
    shell.listed = None
    show_frame(shell)


# --- sources ---


def _list(shell: Shell, rest: str) -> None:
    """`list`, `list LINE`, `list FILE:LINE`, `list FIRST,LAST`, `list -`."""
    file, line = _current(shell)
    size = shell.list_size
    if rest == "-" and shell.listed is not None:
        file, behind = shell.listed
        first = max(behind - 2 * size, 1)
        last = max(behind - size - 1, 1)
    elif "," in rest:
        begin, _, end = rest.partition(",")
        file, first = shell.location(begin) if begin.strip() else (file, line)
        last = shell.location(end)[1] if end.strip() else first + size - 1
    elif rest and rest != "-":
        file, line = shell.location(rest)
        first = max(line - size // 2, 1)
        last = first + size - 1
    elif shell.listed is not None:
        file, first = shell.listed
        last = first + size - 1
    else:
        first = max(line - size // 2, 1)
        last = first + size - 1
    lines = shell.lines_of(file)
    if lines is None:
        raise CommandMistake(f"{short(file)}: the file is not at hand.")
    while lines and not lines[-1]:
        lines = lines[:-1]
    if first > len(lines):
        raise CommandMistake(f"Line number {first} out of range; {short(file)} has {len(lines)} lines.")
    here = shell.debugger.place if shell.host.is_running else None
    for number in range(first, min(last, len(lines)) + 1):
        is_here = here is not None and here.line == number and here.file == file
        arrow = shell.paint("=>", "bold") if is_here else "  "
        shell.say(f"{arrow} {number}\t{shell.paint.code(lines[number - 1].rstrip())}")
    shell.listed = (file, min(last, len(lines)) + 1)


def _current(shell: Shell) -> tuple[str, int]:
    """The file and the line that is looked at; before the launch, where the kernel begins."""
    place = shell.frame.place if shell.host.is_running else shell.debugger.lines.head
    if place is None:
        files = shell.debugger.lines.files
        if not files:
            raise CommandMistake("The program has no source.")
        return files[0], 1
    return place.file, place.line


# --- info ---


def _variables(shell: Shell, found: list[Variable], none: str) -> None:
    for variable in found:
        old = shell.paint("  (of the round before)", "dim") if variable.is_old else ""
        type = f": {variable.type_text}" if variable.array is not None else ""
        shell.say(f"{shell.paint(variable.name, 'cyan')}{type} = {variable.shown}{old}")
    if not found:
        shell.say(none)


def _info_locals(shell: Shell, rest: str) -> None:
    functions = shell.running.functions()
    if not functions:
        _variables(shell, _values(shell), "No values are computed yet.")
        return
    for number, (function, variables) in enumerate(functions):
        if len(functions) > 1:
            shell.say(f"{'In' if not number else 'Called from'} {function}:")
        _variables(shell, variables, "No variables are assigned yet.")
    count = len(_values(shell))
    if count:
        shell.say(shell.paint(f'("info expressions" lists {several(count, "other value")}.)', "dim"))


def _info_expressions(shell: Shell, rest: str) -> None:
    _variables(shell, _values(shell), "No values are computed yet.")


def _values(shell: Shell) -> list[Variable]:
    """The values of the frame that is looked at, and of those around it."""
    frames = shell.running.stack()
    found = [variable for frame in frames[shell.frame_number :] for variable in shell.debugger.values(frame)]
    return [variable for variable in found if variable.value is not None]


def _info_args(shell: Shell, rest: str) -> None:
    _variables(shell, shell.running.parameters(), "No parameters.")


def _info_arrays(shell: Shell, rest: str) -> None:
    for variable in shell.running.arrays():
        shell.say(f"{shell.paint(variable.name, 'cyan')}: {variable.type_text} = {variable.shown}")


def _info_frame(shell: Shell, rest: str) -> None:
    frame = shell.frame
    debugger = shell.debugger
    block, step = debugger.moment
    shell.say(f"Frame {shell.frame_number}: {frame.name}")
    shell.say(f"  tile block {block} {shell.block_words(block)} of {debugger.grid}, step {step}")
    shell.say(f"  operation {frame.operation}: {_operation(shell, frame.operation)}")
    if frame.place is not None:
        shell.say(f"  at {short(frame.place.file)}:{frame.place.line}")


def _info_line(shell: Shell, rest: str) -> None:
    file, line = shell.location(rest) if rest else _current(shell)
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
    place = lines.place(number) if lines.kind == "text" else None
    line = shell.line_of(place.file, place.line) if place is not None else None
    return shell.debugger.recording.program.text(number) if line is None else line.strip()


def _info_blocks(shell: Shell, rest: str) -> None:
    debugger = shell.running
    recording = debugger.recording
    order = recording.order.tolist()
    current = debugger.moment.block
    place = order.index(current)
    x, y, z = debugger.grid
    begun = f", {len(order)} of them begun" if len(order) < x * y * z else ""
    shell.say(f"The grid is {debugger.grid}: {several(x * y * z, 'tile block')}{begun}; schedule {recording.schedule}.")
    under_way = dict(debugger.under_way())
    first = max(min(place - 5, len(order) - 11), 0)
    for number in order[first : first + 11]:
        mark = "*" if number == current else " "
        at = f"step {under_way[number]} of " if number in under_way else ""
        shell.say(f"{mark} {number:<5} {shell.block_words(number)}  {at}{several(len(debugger.steps(number)), 'step')}")
    if len(order) > 11:
        shell.say(f"  .. {len(order) - 11} more")


def _info_accesses(shell: Shell, rest: str) -> None:
    touched = shell.running.accesses()
    for one in touched:
        shell.say(one.shown)
    if not touched:
        shell.say("The last step has accessed no memory.")


def _info_source(shell: Shell, rest: str) -> None:
    kinds = {"text": "the text it was read from", "script": "the script", "printed": "the program as it is printed"}
    shell.say(f"Lines are those of {kinds[shell.debugger.lines.kind]}.")
    for file in shell.debugger.lines.files:
        shell.say(f"  {short(file)}")


def _info_display(shell: Shell, rest: str) -> None:
    if not shell.displays:
        shell.say("There are no auto-display expressions now.")
    for number, (format, expression) in shell.displays.items():
        shell.say(f"{number}:  {f'/{format} ' if format else ''}{expression}")


INFO = CommandTable('"info" command')
INFO.add(
    (
        Command("locals", _info_locals, "variables of the script; of a text, values of the frame", short=["lo"]),
        Command("expressions", _info_expressions, "values of the frame that are no variables", short=["ex"]),
        Command("args", _info_args, "parameters of the kernel"),
        Command("arrays", _info_arrays, "arrays that the kernel works on, as they are now"),
        Command("accesses", _info_accesses, "what the last step has read and written", short=["ac"]),
        Command("frame", _info_frame, "where the launch stands", short=["f"]),
        Command("line", _info_line, "the operations of a line", usage="[LOCATION]", short=["li"]),
        Command("blocks", _info_blocks, "tile blocks", short=["threads"]),
        Command("source", _info_source, "whose lines are shown"),
        Command("display", _info_display, "what is shown at each stop"),
        Command("stack", _backtrace, "the stack", short=["s"]),
    )
)


def _info(shell: Shell, rest: str) -> None:
    word, more = split(rest) if rest else ("", "")
    if not word:
        raise CommandMistake(f'"info" is followed by one of {", ".join(INFO.names())}.')
    INFO.find(word).function(shell, more)


COMMANDS = (
    Command(
        "backtrace",
        _backtrace,
        "show the branches and loops that the launch is in, innermost first",
        short=["bt", "where"],
        usage="[N | -N]",
    ),
    Command("frame", _frame, "look at a frame of the stack", short=["f"], usage="[N]"),
    Command("up", _up, "look at the frame around this one", usage="[N]", repeats=True),
    Command("down", _down, "look at the frame inside this one", short=["dow"], usage="[N]", repeats=True),
    Command(
        "list",
        _list,
        "show lines of the source",
        short=["l"],
        usage="[LOCATION | FIRST,LAST | -]",
        repeats=True,
        again="list",
        completes="location",
    ),
    Command("info", _info, "show something about the launch", short=["i", "inf"], usage="WHAT", completes="info"),
)

Function = Callable[[Shell, str], None]
