"""Commands about the debugger itself: help, settings, files of commands."""

from __future__ import annotations

from functools import partial
from typing import Final

from tileir.execute.arguments.argument_text import natural
from tileir.serve.debugger.terminal.commands import COMMANDS, INFO, BadCommand
from tileir.serve.debugger.terminal.shell import Shell

_GROUPS: Final = {
    "running": "Running the launch, forwards and backwards",
    "breakpoints": "Making the launch stop at certain places",
    "data": "Showing values and arrays",
    "stack": "Showing the stack and the source",
    "support": "The debugger itself",
}
_SETTINGS: Final = {"listsize": "lines that 'list' shows", "print elements": "elements that 'print' shows, 0 for all"}

_command = partial(COMMANDS.command, group="support")


@_command("help", "h", usage="[COMMAND]", completes="command")
def _help(shell: Shell, rest: str) -> None:
    """List commands, or describe one."""
    if not rest:
        for group, title in _GROUPS.items():
            shell.say(f"{shell.paint(title, 'bold')}:")
            for command in COMMANDS.commands.values():
                if command.group == group:
                    shell.say(f"  {command.names:24} {command.summary}")
        shell.say('"help COMMAND" says more. Any prefix that is unique will do for a command.')
        return
    word, _, more = rest.partition(" ")
    command = COMMANDS.find(word)
    if command.name == "info" and more.strip():
        command = INFO.find(more.strip())
    shell.say(command.help())
    if command.name == "info":
        for each in INFO.commands.values():
            shell.say(f"  info {each.name:16} {each.summary}")


@_command("set", usage="NAME VALUE")
def _set(shell: Shell, rest: str) -> None:
    """Change a setting."""
    for name in _SETTINGS:
        if rest.startswith(name) and rest[len(name) :][:1] in ("", " ", "="):
            text = rest[len(name) :].strip(" =")
            number = 0 if text == "unlimited" else natural(text)
            if number is None:
                raise BadCommand(f'"{text}" is no number: set {name} N')
            shell.settings[name] = number
            return
    if rest.startswith(("confirm", "pagination", "width", "height", "history")):
        # Files of commands for gdb set these; there is nothing to confirm, and no pager.
        return
    if rest.startswith("var") or "=" in rest:
        raise BadCommand(
            "Nothing can be changed: a launch that is debugged is what it was, so that time can run both ways."
        )
    raise BadCommand(f'No setting "{rest}": there is {", ".join(_SETTINGS)}.')


@_command("show", usage="[NAME | commands | version]")
def _show(shell: Shell, rest: str) -> None:
    """Show a setting, or the commands that were given."""
    if rest in ("commands", "history"):
        for number, line in enumerate(shell.typed, 1):
            shell.say(f"{number:5}  {line}")
        return
    if rest == "version":
        from tileir import __version__

        shell.say(f"tileir {__version__}")
        return
    found = [name for name in _SETTINGS if name.startswith(rest)]
    if not found:
        raise BadCommand(f'No setting "{rest}": there is {", ".join(_SETTINGS)}.')
    for name in found:
        shell.say(f"{name}: {shell.settings[name]}  ({_SETTINGS[name]})")


@_command("history")
def _history(shell: Shell, rest: str) -> None:
    """Show the commands that were given."""
    _show(shell, "commands")


@_command("source", usage="FILE")
def _source(shell: Shell, rest: str) -> None:
    """Carry out the commands in a file."""
    if not rest:
        raise BadCommand("source command requires file name of file to source.")
    shell.read_file(rest)


@_command("echo", usage="TEXT")
def _echo(shell: Shell, rest: str) -> None:
    """Print a text; \\n is a new line."""
    shell.write(rest.replace("\\n", "\n").replace("\\t", "\t"))


@_command("python", "pdb")
def _python(shell: Shell, rest: str) -> None:
    """Open Python's debugger where the script launches the kernel."""
    _ = shell.running
    shell.host.python()
