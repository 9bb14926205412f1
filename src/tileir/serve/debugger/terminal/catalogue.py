"""All commands of the debugger."""

from __future__ import annotations

from tileir.serve.debugger.terminal import breaking, data, looking, running, settings
from tileir.serve.debugger.terminal.command_table import CommandTable


def all_commands() -> CommandTable:
    table = CommandTable()
    table.add(running.COMMANDS, "running")
    table.add(breaking.COMMANDS, "breakpoints")
    table.add(data.COMMANDS, "data")
    table.add(looking.COMMANDS, "stack")
    table.add(settings.COMMANDS, "support")
    return table
