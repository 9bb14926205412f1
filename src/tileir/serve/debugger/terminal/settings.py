"""Commands about the debugger itself: help, settings, files of commands."""

from __future__ import annotations

from tileir.execute.arguments.argument_text import natural
from tileir.serve.debugger.terminal.command_table import Command, CommandMistake
from tileir.serve.debugger.terminal.looking import INFO
from tileir.serve.debugger.terminal.shell import Shell

_GROUPS = {
    "running": "Running the launch, forwards and backwards",
    "breakpoints": "Making the launch stop at certain places",
    "data": "Looking at values and arrays",
    "stack": "Looking at the stack and the source",
    "support": "The debugger itself",
}
_SETTINGS = {
    "listsize": ("list_size", "lines that 'list' shows"),
    "print elements": ("print_elements", "elements that 'print' shows, 0 for all"),
}


def _help(shell: Shell, rest: str) -> None:
    if not rest:
        for group, title in _GROUPS.items():
            shell.say(f"{shell.paint(title, 'bold')}:")
            for command in shell.table.commands.values():
                if command.group == group:
                    shell.say(f"  {command.names:24} {command.summary}")
        shell.say('"help COMMAND" says more. Any prefix that is unique will do for a command.')
        return
    word, _, more = rest.partition(" ")
    command = shell.find(word)
    if command.name == "info" and more.strip():
        shell.say(INFO.find(more.strip()).help())
        return
    shell.say(command.help())
    if command.name == "info":
        for each in INFO.commands.values():
            shell.say(f"  info {each.name:16} {each.summary}")


def _set(shell: Shell, rest: str) -> None:
    for name, (attribute, _) in _SETTINGS.items():
        if rest.startswith(name) and rest[len(name) :][:1] in ("", " ", "="):
            text = rest[len(name) :].strip(" =")
            number = 0 if text == "unlimited" else natural(text)
            if number is None:
                raise CommandMistake(f'"{text}" is no number: set {name} N')
            setattr(shell, attribute, number)
            return
    if rest.startswith(("confirm", "pagination", "width", "height", "history")):
        # There is nothing to confirm, and no pager: files of commands that say so are right.
        return
    if rest.startswith("var") or "=" in rest:
        raise CommandMistake(
            "Nothing can be changed: a launch that is debugged is what it was, so that time can run both ways."
        )
    raise CommandMistake(f'No setting "{rest}": there is {", ".join(_SETTINGS)}.')


def _show(shell: Shell, rest: str) -> None:
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
        raise CommandMistake(f'No setting "{rest}": there is {", ".join(_SETTINGS)}.')
    for name in found:
        attribute, words = _SETTINGS[name]
        shell.say(f"{name}: {getattr(shell, attribute)}  ({words})")


def _source(shell: Shell, rest: str) -> None:
    if not rest:
        raise CommandMistake("source command requires file name of file to source.")
    shell.read_file(rest)


def _echo(shell: Shell, rest: str) -> None:
    shell.write(rest.replace("\\n", "\n").replace("\\t", "\t"))


def _history(shell: Shell, rest: str) -> None:
    _show(shell, "commands")


def _python(shell: Shell, rest: str) -> None:
    _ = shell.running
    shell.host.python()


COMMANDS = (
    Command("help", _help, "list commands, or describe one", short=["h"], usage="[COMMAND]", completes="command"),
    Command("set", _set, "change a setting", usage="NAME VALUE"),
    Command("show", _show, "show a setting, or the commands that were given", usage="[NAME | commands | version]"),
    Command("history", _history, "show the commands that were given"),
    Command("source", _source, "carry out the commands in a file", usage="FILE"),
    Command("echo", _echo, "print a text; \\n is a new line", usage="TEXT"),
    Command("python", _python, "open Python's debugger where the script launches the kernel", short=["pdb"]),
)
