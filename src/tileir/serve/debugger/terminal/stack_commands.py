"""Commands that show the launch where it stands: the stack, sources, values, arrays."""

from __future__ import annotations

from functools import partial

from tileir.execute.arguments.argument_text import natural
from tileir.execute.locations.wording import several
from tileir.serve.debugger.terminal.commands import COMMANDS, INFO, BadCommand, split
from tileir.serve.debugger.terminal.shell import Shell, short
from tileir.serve.debugger.variables import Variable

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


@_command("up", usage="[N]", repeats=True)
def _up(shell: Shell, rest: str) -> None:
    """Select the frame around this one."""
    _select(shell, rest, 1)


@_command("down", "dow", usage="[N]", repeats=True)
def _down(shell: Shell, rest: str) -> None:
    """Select the frame inside this one."""
    _select(shell, rest, -1)


def _select(shell: Shell, rest: str, direction: int) -> None:
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
    here = shell.debugger.location if shell.host.is_running else None
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
