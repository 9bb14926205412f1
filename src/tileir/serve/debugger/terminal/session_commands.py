"""Commands that run the launch and end it, and those about the debugger itself: help, settings, files of commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from tileir import __version__
from tileir.execute.arguments.argument_text import natural
from tileir.serve.debugger.expressions import UNCHANGED
from tileir.serve.debugger.session import How, Unit
from tileir.serve.debugger.terminal.breakpoint_commands import BreakpointCommands
from tileir.serve.debugger.terminal.inspection_commands import InspectionCommands
from tileir.serve.debugger.terminal.shell import COMMANDS, INFO, BadCommand, count_in, sentence

_command = partial(COMMANDS.command, group="running")
_GROUPS: Final = {
    "running": "Running the launch, forwards and backwards",
    "breakpoints": "Making the launch stop at certain points",
    "data": "Showing values and arrays",
    "stack": "Showing the stack and the source",
    "support": "The debugger itself",
}
_SETTINGS: Final = {"listsize": "lines that 'list' shows", "print elements": "elements that 'print' shows, 0 for all"}
_support_command = partial(COMMANDS.command, group="support")


def _add_steps(function: Callable[..., None], prefix: str, letter: str, reverse: bool, line: str, out: str) -> None:
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
        add(partial(function, how=how, by=by, reverse=reverse))


class SessionCommands(BreakpointCommands, InspectionCommands):
    """The launch as it runs, and the debugger itself."""

    @_command("run", "r")
    def _run(self, rest: str) -> None:
        """Launch the kernel, and run it up to the first stop."""
        self.begin(False)

    @_command("start")
    def _start(self, rest: str) -> None:
        """Launch the kernel, and stop at its beginning."""
        self.begin(True)

    @_command("continue", "c", "fg", usage="[N]", repeats=True)
    def _continue(self, rest: str) -> None:
        """Run on to the next stop; N: pass the breakpoint N - 1 times more."""
        debugger = self.running
        times = count_in(rest) - 1
        for one in debugger.breakpoints.values():
            if times and debugger.operation in one.operations:
                one.hit_condition = (">", one.hits + times)
                self.say(f"Will ignore next {times} crossings of breakpoint {one.number}.")
        self.run(debugger.resume)

    def _step(self, rest: str, how: How, by: Unit, reverse: bool) -> None:
        debugger = self.running
        times = count_in(rest)
        self.run(lambda: debugger.step(how, reverse, by, times), stops_at_end=not debugger.finished)

    _add_steps(_step, "", "", False, "Go to the next", "Run until the loop, the branch or the tile block is left.")

    @_command("until", "u", usage="[LOCATION]", completes="location", repeats=True)
    def _until(self, rest: str) -> None:
        """Go to a line after this one, or to a location, without a stop at each iteration of a loop."""
        debugger = self.running
        if rest:
            self._advance(rest)
        else:
            self.run(debugger.until, stops_at_end=not debugger.finished)

    @_command("advance", usage="LOCATION", completes="location")
    def _advance(self, rest: str) -> None:
        """Run on to a location."""
        if not rest:
            raise BadCommand("Argument required (a location).")
        debugger, spec = self.running, self.read_spec(rest)
        self.run(lambda: debugger.run_to(spec))

    @_command("reverse-continue", "rc", usage="[N]", repeats=True)
    def _reverse_continue(self, rest: str) -> None:
        """Run back to the stop before."""
        debugger = self.running
        for _ in range(count_in(rest)):
            self.run(lambda: debugger.resume(reverse=True))

    _began = "Run back to where the loop, the branch or the tile block began."
    _add_steps(_step, "reverse-", "r", True, "Go back one", _began)

    @_command("block", "thread", usage="[N | X,Y,Z]")
    def _block(self, rest: str) -> None:
        """Go to a tile block, where it stands or begins; without a number, print the current one."""
        debugger = self.running
        if not rest:
            block, step = debugger.position
            self.say(f"[Current tile block is {block} {self.block_text(block)}, at step {step}]")
            return
        number = debugger.block_number(rest)
        self.run(lambda: debugger.select_block(number))

    @_command("goto", usage="[BLOCK] STEP")
    def _goto(self, rest: str) -> None:
        """Go to a position: before step STEP + 1 of a tile block."""
        debugger = self.running
        block, _, text = f" {rest}".rpartition(" ")
        step = natural(text)
        if step is None or " " in block.strip():
            raise BadCommand("Usage: goto [BLOCK] STEP")
        number = debugger.block_number(block) if block.strip() else debugger.position.block
        self.run(lambda: debugger.go_to(number, step))

    def _leave(self, rest: str, how: str) -> None:
        if how in ("kill", "skip", "next-launch"):
            _ = self.running
        self.leave(how)

    _command("kill", "k", help="End the launch where it is; arrays are as they were before it.")(
        partial(_leave, how="kill")
    )
    _command("skip", help="Run this launch of a script to its end, whatever there is to stop at.")(
        partial(_leave, how="skip")
    )
    _command("next-launch", help="Run to the end, and stop at the next launch of the script.")(
        partial(_leave, how="next-launch")
    )
    _command("detach", help="Let everything run to its end without the debugger.")(partial(_leave, how="detach"))
    _command("quit", "q", "exit", help="Leave the debugger.")(partial(_leave, how="quit"))

    @_support_command("help", "h", usage="[COMMAND]", completes="command")
    def _help(self, rest: str) -> None:
        """List commands, or describe one."""
        if not rest:
            for group, title in _GROUPS.items():
                self.say(f"{self.paint(title, 'bold')}:")
                for command in COMMANDS.commands.values():
                    if command.group == group:
                        self.say(f"  {command.names:24} {command.summary}")
            self.say('"help COMMAND" describes it. Any prefix that is unique will do for a command.')
            return
        word, _, more = rest.partition(" ")
        command = COMMANDS.find(word)
        if command.name == "info" and more.strip():
            command = INFO.find(more.strip())
        self.say(command.help())
        if command.name == "info":
            for each in INFO.commands.values():
                self.say(f"  info {each.name:16} {each.summary}")

    @_support_command("set", usage="NAME VALUE")
    def _set(self, rest: str) -> None:
        """Change a setting."""
        for name in _SETTINGS:
            if rest.startswith(name) and rest[len(name) :][:1] in ("", " ", "="):
                text = rest[len(name) :].strip(" =")
                number = 0 if text == "unlimited" else natural(text)
                if number is None:
                    raise BadCommand(f'"{text}" is no number: set {name} N')
                self.settings[name] = number
                return
        if rest.startswith(("confirm", "pagination", "width", "height", "history")):
            # Files of commands for gdb set these; there is nothing to confirm, and no pager.
            return
        if rest.startswith("var") or "=" in rest:
            raise BadCommand(sentence(UNCHANGED))
        raise BadCommand(f'No setting "{rest}": there is {", ".join(_SETTINGS)}.')

    @_support_command("show", usage="[NAME | commands | version]")
    def _show(self, rest: str) -> None:
        """Show a setting, or the commands that were given."""
        if rest in ("commands", "history"):
            for number, line in enumerate(self.typed, 1):
                self.say(f"{number:5}  {line}")
        elif rest == "version":
            self.say(f"tileir {__version__}")
        else:
            found = [name for name in _SETTINGS if name.startswith(rest)]
            if not found:
                raise BadCommand(f'No setting "{rest}": there is {", ".join(_SETTINGS)}.')
            for name in found:
                self.say(f"{name}: {self.settings[name]}  ({_SETTINGS[name]})")

    @_support_command("history")
    def _history(self, rest: str) -> None:
        """Show the commands that were given."""
        self._show("commands")

    @_support_command("source", usage="FILE")
    def _source(self, rest: str) -> None:
        """Carry out the commands in a file."""
        if not rest:
            raise BadCommand("source command requires file name of file to source.")
        self.read_file(rest)

    @_support_command("echo", usage="TEXT")
    def _echo(self, rest: str) -> None:
        """Print a text; \\n is a new line."""
        self.write(rest.replace("\\n", "\n").replace("\\t", "\t"))

    @_support_command("python", "pdb")
    def _python(self, rest: str) -> None:
        """Open Python's debugger where the script launches the kernel."""
        _ = self.running
        self.python()
