"""`tileir completion`: scripts with which shells complete the command line.

They are made from the tables of options that the commands read, and have every word in them: completing starts no
Python.
"""

from __future__ import annotations

import re
import sys

from tileir.tools.arguments import EXIT_FINE, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command
from tileir.tools.completion_scripts import DIRECTORIES, FILES, Command, Flag, script
from tileir.tools.main import COMMANDS, module_of

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


@command(USAGE)
def run(given: Arguments) -> int:
    shell = given.operands[0]
    if shell not in SHELLS:
        raise ToolFailure(f"there is no script for '{shell}': use {', '.join(SHELLS)}")
    sys.stdout.write(script(shell, described()))
    return EXIT_FINE


def described() -> list[Command]:
    """The commands, as the scripts need them."""
    found = [_command(name, summary) for name, (summary, _) in COMMANDS.items()]
    return [*found, Command("help", "describe a command", (), tuple(COMMANDS), "")]


def usage_of(name: str) -> Usage:
    """The command line of a command."""
    usage: Usage = __import__(module_of(name), fromlist=["USAGE"]).USAGE
    return usage


def _command(name: str, summary: str) -> Command:
    usage = usage_of(name)
    flags = [_flag(name, option) for option in usage.options]
    flags.append(Flag(("-h", "--help"), "show the help", "", (), "", False, False))
    words = _operands(name)
    kind = FILES if not words and ("FILE" in usage.operands or "SCRIPT" in usage.operands) else ""
    return Command(name, summary, tuple(flags), words, kind)


def _flag(command: str, option: Option) -> Flag:
    long = f"--{option.name}" if len(option.name) > 1 else f"-{option.name}"
    names = (f"-{option.short}", long) if option.short else (long,)
    values = option.choices or _words(_values(command, option.name))
    kind = ""
    if option.value and not values:
        kind = DIRECTORIES if option.value == "DIR" else FILES if re.search("FILE|OUT|SCRIPT", option.value) else ""
    is_list = (command, option.name) == ("opt", "passes")
    return Flag(names, option.help, option.value, values, kind, is_list, option.bare is not None)


def _values(command: str, option: str) -> list[str]:
    """Values that an option may have among others."""
    from tileir.analyze.cost.targets import target_names
    from tileir.execute.engine.registry import AUTO, all_engines
    from tileir.execute.gpu.gpus import GPUS
    from tileir.execute.gpu.targets import TARGETS
    from tileir.passes.catalog import registered_passes

    match option:
        case "passes":
            return [known.name for known in registered_passes()]
        case "backend":
            return [AUTO, *[engine.name for engine in all_engines()[0]]]
        case "gpu":
            return list(GPUS)
        case "target":
            return list(target_names() if command == "cost" else TARGETS)
        case "dump":
            return [stage for engine in all_engines()[0] for stage in engine.stages]
        case "schedule":
            return ["forward", "reverse", "random:", "interleaved"]
    return []


def _operands(command: str) -> tuple[str, ...]:
    if command == "explain":
        from tileir.analyze.documentation.vocabulary import all_entries

        return _words([entry.name for entry in all_entries()])
    if command == "docs":
        from tileir.tools.documents import directory_of_pages, page_names

        return _words(page_names(directory_of_pages()))
    return SHELLS if command == "completion" else ()


def _words(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([name for name in names if _WORD.fullmatch(name.removesuffix(":"))]))
