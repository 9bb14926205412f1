"""Commands that run the launch, and end it."""

from __future__ import annotations

from functools import partial

from tileir.execute.arguments.argument_text import natural
from tileir.serve.debugger.session import How, Unit
from tileir.serve.debugger.terminal.breakpoint_commands import read_spec
from tileir.serve.debugger.terminal.commands import COMMANDS, BadCommand
from tileir.serve.debugger.terminal.shell import Shell, count_in

_command = partial(COMMANDS.command, group="running")


@_command("run", "r")
def _run(shell: Shell, rest: str) -> None:
    """Launch the kernel, and run it up to the first stop."""
    shell.host.begin(False)


@_command("start")
def _start(shell: Shell, rest: str) -> None:
    """Launch the kernel, and stop at its beginning."""
    shell.host.begin(True)


@_command("continue", "c", "fg", usage="[N]", repeats=True)
def _continue(shell: Shell, rest: str) -> None:
    """Run on to the next stop; N: pass the breakpoint N - 1 times more."""
    debugger = shell.running
    times = count_in(rest) - 1
    for one in debugger.breakpoints:
        if times and debugger.operation in one.operations:
            one.hit_condition = (">", one.hits + times)
            shell.say(f"Will ignore next {times} crossings of breakpoint {one.number}.")
    shell.run(debugger.resume)


def _step(how: How, by: Unit, reverse: bool, shell: Shell, rest: str) -> None:
    debugger = shell.running
    times = count_in(rest)
    shell.run(lambda: debugger.step(how, reverse, by, times), stops_at_end=not debugger.finished)


def _add_steps(prefix: str, letter: str, reverse: bool, line: str, out: str) -> None:
    over, into = "a function of a script is passed", "into functions of a script"
    steps: tuple[tuple[str, str, How, Unit, str], ...] = (
        ("next", "n", "over", "line", f"{line} line; {over}."),
        ("step", "s", "into", "line", f"{line} line, {into}."),
        ("nexti", "ni", "over", "operation", f"{line} operation; {over}."),
        ("stepi", "si", "into", "operation", f"{line} operation, {into}."),
        ("finish", "fin", "out", "line", out),
    )
    for name, short, how, by, help in steps:
        add = _command(prefix + name, letter + short, usage="" if how == "out" else "[N]", repeats=True, help=help)
        add(partial(_step, how, by, reverse))


_add_steps("", "", False, "Go to the next", "Run until the loop, the branch or the tile block is left.")


@_command("until", "u", usage="[LOCATION]", completes="location", repeats=True)
def _until(shell: Shell, rest: str) -> None:
    """Go to a line behind this one, or to a location; rounds of a loop are passed."""
    debugger = shell.running
    if rest:
        _advance(shell, rest)
    else:
        shell.run(debugger.until, stops_at_end=not debugger.finished)


@_command("advance", usage="LOCATION", completes="location")
def _advance(shell: Shell, rest: str) -> None:
    """Run on to a location."""
    if not rest:
        raise BadCommand("Argument required (a location).")
    debugger, spec = shell.running, read_spec(shell, rest)
    shell.run(lambda: debugger.run_to(spec))


@_command("reverse-continue", "rc", usage="[N]", repeats=True)
def _reverse_continue(shell: Shell, rest: str) -> None:
    """Run back to the stop before."""
    debugger = shell.running
    for _ in range(count_in(rest)):
        shell.run(lambda: debugger.resume(reverse=True))


_add_steps("reverse-", "r", True, "Go back one", "Run back to where the loop, the branch or the tile block began.")


@_command("block", "thread", usage="[N | X,Y,Z]")
def _block(shell: Shell, rest: str) -> None:
    """Go to a tile block, where it stands or begins; without a number, say which one it is."""
    debugger = shell.running
    if not rest:
        block, step = debugger.position
        shell.say(f"[Current tile block is {block} {shell.block_text(block)}, at step {step}]")
        return
    number = debugger.block_number(rest)
    shell.run(lambda: debugger.select_block(number))


@_command("goto", usage="[BLOCK] STEP")
def _goto(shell: Shell, rest: str) -> None:
    """Go to a position: before step STEP + 1 of a tile block."""
    debugger = shell.running
    block, _, text = f" {rest}".rpartition(" ")
    step = natural(text)
    if step is None or " " in block.strip():
        raise BadCommand("Usage: goto [BLOCK] STEP")
    number = debugger.block_number(block) if block.strip() else debugger.position.block
    shell.run(lambda: debugger.go_to(number, step))


def _leave(how: str, shell: Shell, rest: str) -> None:
    if how in ("kill", "skip", "next-launch"):
        _ = shell.running
    shell.host.leave(how)


for _name, _short, _help in (
    ("kill", ("k",), "End the launch where it is; arrays are as they were before it."),
    ("skip", (), "Run this launch of a script to its end, whatever there is to stop at."),
    ("next-launch", (), "Run to the end, and stop at the next launch of the script."),
    ("detach", (), "Let everything run to its end without the debugger."),
    ("quit", ("q", "exit"), "Leave the debugger."),
):
    _command(_name, *_short, help=_help)(partial(_leave, _name))
