"""What may stand next in a command: names of commands, of values, of operations."""

from __future__ import annotations

from tileir.serve.debugger.terminal.command_table import CommandMistake, split
from tileir.serve.debugger.terminal.looking import INFO
from tileir.serve.debugger.terminal.shell import Shell, short


def completions(shell: Shell, line: str) -> list[str]:
    """Words that the last one of a line may become."""
    stripped = line.lstrip()
    name, _ = split(stripped) if stripped else ("", "")
    if stripped == name:
        return [each for each in shell.table.names() if each.startswith(name)]
    word = stripped.rpartition(" ")[2]
    try:
        command = shell.find(name)
    except CommandMistake:
        return []
    found: list[str] = []
    if command.completes == "command":
        found = shell.table.names()
    elif command.completes == "info":
        found = INFO.names()
    elif command.completes in ("location", "break"):
        found = _locations(shell)
    elif command.completes == "value":
        found = names_known(shell)
    return [each for each in found if each.startswith(word)]


def names_known(shell: Shell) -> list[str]:
    """Values, parameters and arrays by the names that expressions take."""
    if not shell.host.is_running:
        return []
    debugger = shell.running
    found = [variable.name for variable in [*debugger.variables(), *debugger.parameters()]]
    found += [array.name for array in debugger.recording.arrays]
    return list(dict.fromkeys([*found, *[name.removeprefix("%") for name in found]]))


def _locations(shell: Shell) -> list[str]:
    debugger = shell.host.debugger
    if debugger is None:
        return []
    program = debugger.recording.program
    operations = dict.fromkeys([operation.declaration.mnemonic for operation in program.operations])
    return [*operations, *[f"{short(file)}:" for file in debugger.lines.files]]
