"""`tileir completion`: scripts with which shells complete the command line.

They are made from the same tables of options that the commands read, and have every word in them: completing starts
no Python.
"""

from __future__ import annotations

import re
import sys

from tileir.tools.arguments import EXIT_FINE, EXIT_USAGE, Option, ToolFailure, Usage
from tileir.tools.completion_scripts import DIRECTORIES, FILES, Command, Flag, script
from tileir.tools.programs import guarded

SHELLS = ("bash", "zsh", "fish")

USAGE = Usage(
    "tileir completion",
    "Prints a script that makes a shell complete the commands, options and values of tileir.",
    "|".join(SHELLS),
    (),
    details="""\
To enable it permanently:
  bash  tileir completion bash > ~/.local/share/bash-completion/completions/tileir
        (or add to ~/.bashrc:  source <(tileir completion bash))
  zsh   tileir completion zsh > DIRECTORY/_tileir, for a DIRECTORY of $fpath
        (or add to ~/.zshrc after compinit:  source <(tileir completion zsh))
  fish  tileir completion fish > ~/.config/fish/completions/tileir.fish""",
)

# Names that other packages may have brought are left out if a shell could take them for more than a name.
_WORD = re.compile(r"[\w.+-][\w.+/-]*")


def run(arguments: list[str], commands: dict[str, str]) -> int:
    """`commands` are those of tileir, with a line about each."""
    return guarded("tileir completion", lambda rest: _run(rest, commands), arguments)


def _run(arguments: list[str], commands: dict[str, str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    shell = given.operands[0]
    if shell not in SHELLS:
        raise ToolFailure(f"there is no script for '{shell}': use {', '.join(SHELLS)}", EXIT_USAGE)
    sys.stdout.write(script(shell, described(commands)))
    return EXIT_FINE


def described(commands: dict[str, str]) -> list[Command]:
    found = [_command(name, summary) for name, summary in commands.items()]
    return [*found, Command("help", "describe a command", (), tuple(commands), "")]


def usage_of(name: str) -> Usage:
    """The command line of a command."""
    module = __import__(f"tileir.tools.{_MODULES.get(name, name)}", fromlist=["USAGE"])
    usage: Usage = module.USAGE
    return usage


def _command(name: str, summary: str) -> Command:
    usage = usage_of(name)
    flags = [_flag(name, option) for option in usage.options]
    flags.append(Flag(("-h", "--help"), "show the help", "", (), "", False, False))
    words = _operands(name)
    kind = FILES if not words and ("FILE" in usage.operands or "SCRIPT" in usage.operands) else ""
    return Command(name, summary, tuple(flags), words, kind)


_MODULES = {"as": "assemble", "dis": "disassemble", "docs": "documents"}


def _flag(command: str, option: Option) -> Flag:
    long = f"--{option.name}" if len(option.name) > 1 else f"-{option.name}"
    names = (f"-{option.short}", long) if option.short else (long,)
    values = option.choices or _values(command, option.name)
    kind = ""
    if option.value and not values:
        kind = DIRECTORIES if option.value == "DIR" else FILES if re.search("FILE|OUT|SCRIPT", option.value) else ""
    is_list = (command, option.name) == ("opt", "passes")
    return Flag(names, option.help, option.value, values, kind, is_list, option.bare is not None)


def _values(command: str, option: str) -> tuple[str, ...]:
    """Values that an option may have among others."""
    if option == "passes":
        from tileir.passes.catalogue import registered_passes

        return _words([known.name for known in registered_passes()])
    if option == "backend":
        from tileir.execute.engine.registry import AUTO, all_engines

        return _words([AUTO, *[engine.name for engine in all_engines()[0]]])
    if option == "gpu":
        from tileir.execute.gpu.gpus import GPUS

        return tuple(GPUS)
    if (command, option) == ("cost", "target"):
        from tileir.analyze.cost.targets import target_names

        return tuple(target_names())
    if option == "target":
        from tileir.execute.gpu.targets import TARGETS

        return TARGETS
    if option == "dump":
        from tileir.execute.engine.registry import all_engines

        return _words([stage for engine in all_engines()[0] for stage in engine.stages])
    if option == "schedule":
        return ("forward", "reverse", "random:", "interleaved")
    return ()


def _operands(command: str) -> tuple[str, ...]:
    if command == "explain":
        from tileir.analyze.documentation.vocabulary import all_entries

        return _words([entry.name for entry in all_entries()])
    if command == "docs":
        from tileir.tools.documents import directory_of_pages, page_names

        return _words(page_names(directory_of_pages()))
    return SHELLS if command == "completion" else ()


def _words(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([name for name in names if _WORD.fullmatch(name)]))
