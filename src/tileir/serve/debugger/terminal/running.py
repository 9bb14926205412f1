"""Commands that make the launch run, and end it."""

from __future__ import annotations

from tileir.execute.arguments.argument_text import natural
from tileir.serve.debugger.moments import Stop
from tileir.serve.debugger.session import Debugger, How, Unit
from tileir.serve.debugger.terminal.breaking import run_to
from tileir.serve.debugger.terminal.command_table import Command, CommandMistake, Function
from tileir.serve.debugger.terminal.shell import Shell, count_in


def _run(shell: Shell, rest: str) -> None:
    shell.host.begin(False)


def _start(shell: Shell, rest: str) -> None:
    shell.host.begin(True)


def _continue(shell: Shell, rest: str) -> None:
    debugger = shell.running
    times = count_in(rest)
    if times > 1:
        _pass(shell, debugger, times - 1)
    shell.run(debugger.resume)


def _pass(shell: Shell, debugger: Debugger, times: int) -> None:
    """As gdb: the breakpoint that the launch stands at is passed so many times more."""
    operation = debugger.operation
    for one in debugger.breakpoints:
        if operation in one.operations:
            one.hit_condition = (">", one.hits + times)
            shell.say(f"Will ignore next {times} crossings of breakpoint {one.number}.")


def _reverse_continue(shell: Shell, rest: str) -> None:
    debugger = shell.running
    for _ in range(count_in(rest)):
        shell.run(lambda: debugger.resume(reverse=True))


def _stepping(how: How, by: Unit = "line", reverse: bool = False) -> Function:
    def step(shell: Shell, rest: str) -> None:
        debugger = shell.running
        times = count_in(rest)
        shell.run(lambda: debugger.step(how, reverse, by, times), stops_at_end=not debugger.finished)

    return step


def _until(shell: Shell, rest: str) -> None:
    debugger = shell.running
    if rest:
        run_to(shell, rest)
        return
    shell.run(lambda: _past_line(debugger), stops_at_end=not debugger.finished)


def _past_line(debugger: Debugger) -> Stop:
    """Over lines until one behind this one, or until the loop is left: a step that does not go back."""
    place = debugger.place
    line = place.line if place is not None else 0
    depth = len(debugger.stack())
    while True:
        stop = debugger.step("over")
        now = debugger.place
        if stop.reason != "step" or now is None or now.line > line or len(debugger.stack()) < depth:
            return stop


def block_in(shell: Shell, text: str) -> int:
    """A tile block by number, or by its place in the grid."""
    grid = shell.debugger.grid
    numbers = [natural(word) for word in text.strip().strip("()").replace(",", " ").split()]
    places = [number for number in numbers if number is not None]
    if not places or len(places) != len(numbers) or len(places) > 3:
        raise CommandMistake(f'Invalid tile block "{text}": give a number, or X,Y,Z.')
    if len(places) == 1:
        number = places[0]
    else:
        x, y, z = [*places, 0, 0][:3]
        if x >= grid[0] or y >= grid[1] or z >= grid[2]:
            raise CommandMistake(f"There is no tile block ({x}, {y}, {z}) in the grid {grid}.")
        number = x + grid[0] * (y + grid[1] * z)
    if number >= grid[0] * grid[1] * grid[2]:
        raise CommandMistake(f"There is no tile block {number} in the grid {grid}.")
    return number


def _block(shell: Shell, rest: str) -> None:
    debugger = shell.running
    if not rest:
        block, step = debugger.moment
        shell.say(f"[Current tile block is {block} {shell.block_words(block)}, at step {step}]")
        return
    block = block_in(shell, rest)
    shell.run(lambda: debugger.select_block(block))


def _goto(shell: Shell, rest: str) -> None:
    debugger = shell.running
    words = rest.split()
    numbers = [natural(word) for word in words]
    if len(words) not in (1, 2) or None in numbers:
        raise CommandMistake("Usage: goto [BLOCK] STEP")
    step = numbers[-1]
    assert step is not None
    block = block_in(shell, words[0]) if len(words) == 2 else debugger.moment.block
    shell.run(lambda: debugger.go_to(block, step))


def _leaving(how: str) -> Function:
    def leave(shell: Shell, rest: str) -> None:
        if how in ("kill", "skip", "next-launch"):
            _ = shell.running
        shell.host.leave(how)

    return leave


COMMANDS = (
    Command("run", _run, "launch the kernel, and run it up to the first stop", short=["r"]),
    Command("start", _start, "launch the kernel, and stop at its beginning"),
    Command(
        "continue",
        _continue,
        "run on to the next stop; N: pass the breakpoint N - 1 times more",
        short=["c", "fg"],
        usage="[N]",
        repeats=True,
    ),
    Command(
        "next",
        _stepping("over"),
        "go on to the next line; a function of a script is passed",
        short=["n"],
        usage="[N]",
        repeats=True,
    ),
    Command(
        "step",
        _stepping("into"),
        "go on to the next line, into functions of a script",
        short=["s"],
        usage="[N]",
        repeats=True,
    ),
    Command(
        "nexti",
        _stepping("over", "operation"),
        "go on to the next operation; a function of a script is passed",
        short=["ni"],
        usage="[N]",
        repeats=True,
    ),
    Command(
        "stepi",
        _stepping("into", "operation"),
        "go on to the next operation, into functions of a script",
        short=["si"],
        usage="[N]",
        repeats=True,
    ),
    Command(
        "finish",
        _stepping("out"),
        "run until the loop, the branch or the tile block is left",
        short=["fin"],
        repeats=True,
    ),
    Command(
        "until",
        _until,
        "go on to a line behind this one, or to a location; rounds of a loop are passed",
        short=["u"],
        usage="[LOCATION]",
        completes="break",
        repeats=True,
    ),
    Command(
        "reverse-continue", _reverse_continue, "run back to the stop before", short=["rc"], usage="[N]", repeats=True
    ),
    Command(
        "reverse-next",
        _stepping("over", reverse=True),
        "go back a line; a function of a script is passed",
        short=["rn"],
        usage="[N]",
        repeats=True,
    ),
    Command(
        "reverse-step",
        _stepping("into", reverse=True),
        "go back a line, into functions of a script",
        short=["rs"],
        usage="[N]",
        repeats=True,
    ),
    Command(
        "reverse-nexti",
        _stepping("over", "operation", True),
        "go back an operation; a function of a script is passed",
        short=["rni"],
        usage="[N]",
        repeats=True,
    ),
    Command(
        "reverse-stepi",
        _stepping("into", "operation", True),
        "go back an operation, into functions of a script",
        short=["rsi"],
        usage="[N]",
        repeats=True,
    ),
    Command(
        "reverse-finish",
        _stepping("out", reverse=True),
        "run back to where the loop, the branch or the tile block began",
        repeats=True,
    ),
    Command(
        "block",
        _block,
        "go to where a tile block begins, by number or place; without, say which one it is",
        short=["thread"],
        usage="[N | X,Y,Z]",
    ),
    Command("goto", _goto, "go to a moment: before step STEP + 1 of a tile block", usage="[BLOCK] STEP"),
    Command("kill", _leaving("kill"), "end the launch where it is; arrays are as they were before it", short=["k"]),
    Command("skip", _leaving("skip"), "run this launch of a script to its end, whatever there is to stop at"),
    Command("next-launch", _leaving("next-launch"), "run to the end, and stop at the next launch of the script"),
    Command("detach", _leaving("detach"), "let everything run to its end without the debugger"),
    Command("quit", _leaving("quit"), "leave the debugger", short=["q", "exit"]),
)
