"""`tileir completion`: scripts with which shells complete the command line.

They are made from the tables of options that the commands read, and have every word in them: completing starts no
Python.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import NamedTuple

from tileir.tools.arguments import Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command
from tileir.tools.commands import COMMANDS
from tileir.tools.more.documents import directory_of_pages, pages_in

SHELLS = ("bash", "zsh", "fish")

USAGE = Usage(
    "tileir completion",
    "|".join(SHELLS),
    ("tileir completion bash", "tileir completion zsh"),
    (),
    """\
To enable it permanently:
  bash  tileir completion bash > ~/.local/share/bash-completion/completions/tileir
        (or add to ~/.bashrc:  source <(tileir completion bash))
  zsh   tileir completion zsh > DIRECTORY/_tileir, for a DIRECTORY of $fpath
        (or add to ~/.zshrc after compinit:  source <(tileir completion zsh))
  fish  tileir completion fish > ~/.config/fish/completions/tileir.fish""",
    statuses={1: ""},
)

# Names of other packages are left out if a shell could take them for more than a name.
_WORD = re.compile(r"[\w.+-][\w.+/-]*")


@command(USAGE)
def run(given: Arguments) -> None:
    shell = given.operands[0]
    if shell not in SHELLS:
        raise ToolFailure(f"there is no script for '{shell}': use {', '.join(SHELLS)}")
    sys.stdout.write({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](described()))


class Flag(NamedTuple):
    """An option and the values to offer for it."""

    option: Option
    values: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        name, short = self.option.name, self.option.short
        return [*([f"-{short}"] if short else []), f"--{name}" if len(name) > 1 else f"-{name}"]

    @property
    def is_list(self) -> bool:
        return self.option.name in ("passes", "target")

    def value(self, words: str, directories: str, files: str, other: str) -> str:
        """The action that completes its value."""
        if self.values:
            return words
        return directories if self.option.value == "DIR" else files if _names_file(self.option.value) else other


class Command(NamedTuple):
    """A subcommand: its options, the operands to offer, and whether they are files."""

    name: str
    summary: str
    flags: list[Flag]
    operands: tuple[str, ...]
    takes_files: bool


def described() -> list[Command]:
    """The commands, as the scripts need them."""
    from tileir.analyze.documentation.vocabulary import all_entries
    from tileir.execute.engine.registry import AUTO, all_engines
    from tileir.execute.gpu.gpus import GPUS
    from tileir.execute.gpu.targets import TARGETS
    from tileir.passes.catalog import registered_passes

    engines = all_engines()[0]
    values: dict[str, Iterable[str]] = {
        "passes": [known.name for known in registered_passes()],
        "backend": [AUTO, *[engine.name for engine in engines]],
        "target": [*GPUS, *TARGETS],
        "dump": [stage for engine in engines for stage in engine.stages],
        "schedule": ("forward", "reverse", "random:", "interleaved"),
    }
    entries = [entry.name for entry in all_entries()]
    operands = {"explain": entries, "docs": pages_in(directory_of_pages()), "completion": SHELLS}
    found = [Command("help", "describe a command", [], tuple(COMMANDS), False)]
    for name, (summary, _) in COMMANDS.items():
        flags = [Flag(each, each.choices or _words(values.get(each.name, ()))) for each in usage_of(name).options]
        words = _words(operands.get(name, ()))
        takes_files = not words and _names_file(usage_of(name).operands)
        found.append(Command(name, summary, [Flag(Option("-h, --help", "show the help")), *flags], words, takes_files))
    return found


def usage_of(name: str) -> Usage:
    """The command line of a command."""
    usage: Usage = __import__(f"tileir.tools.{COMMANDS[name][1]}", fromlist=["USAGE"]).USAGE
    return usage


def _names_file(value: str) -> bool:
    return re.search("FILE|INPUT|PATH|SCRIPT", value) is not None


def _words(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([name for name in names if _WORD.fullmatch(name.removesuffix(":"))]))


def _quoted(text: str, quote: str = "'\\''") -> str:
    return "'" + text.replace("'", quote) + "'"


# --- bash ---

_BASH = """\
# Completion of tileir for bash, made by `tileir completion bash`.
_tileir_files() {
    local line
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$1" -- "$current")
    compopt -o filenames 2>/dev/null
}

# One word, or the last of a list with commas.
_tileir_words() {
    local head="" line
    case $current in *,*) head="${current%,*},";; esac
    while IFS= read -r line; do COMPREPLY+=("$head$line"); done < <(compgen -W "$1" -- "${current##*,}")
}

_tileir() {
    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}"
    COMPREPLY=()
    # bash makes three words of --option=value.
    if [ "$current" = "=" ]; then
        current="" previous="$previous="
    elif [ "$previous" = "=" ] && [ "$COMP_CWORD" -gt 2 ]; then
        previous="${COMP_WORDS[COMP_CWORD-2]}="
    fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        _tileir_words @COMMANDS@
        return
    fi
    case "$command" in
@CASES@    esac
}
complete -F _tileir tileir
"""


def _bash(commands: list[Command]) -> str:
    names = _quoted(" ".join([*[command.name for command in commands], "--help", "--version"]))
    cases = "".join([_bash_case(command) for command in commands])
    return _BASH.replace("@COMMANDS@", names).replace("@CASES@", cases)


def _bash_case(command: Command) -> str:
    lines = [f"    {command.name})", '        case "$previous" in']
    for flag in command.flags:
        if flag.option.value:
            # An optional value follows `=` only.
            spelled = [*([] if flag.option.bare is not None else flag.names), *[f"{name}=" for name in flag.names]]
            words = f"_tileir_words {_quoted(' '.join(flag.values))}"
            action = flag.value(words, "_tileir_files -d", "_tileir_files -f", ":")
            lines.append(f"        {'|'.join(spelled)}) {action}; return;;")
    offered = _quoted(" ".join([word for flag in command.flags for word in _spelled(flag)]))
    lines += ["        esac", f'        case "$current" in -*) _tileir_words {offered}; return;; esac']
    operands = f"_tileir_words {_quoted(' '.join(command.operands))}" if command.operands else ":"
    return "\n".join([*lines, f"        {'_tileir_files -f' if command.takes_files else operands};;\n"])


def _spelled(flag: Flag) -> list[str]:
    """How an option is offered; one whose value may be left out, or is a letter as in -O3, also with its values."""
    name = flag.names[-1]
    joint = "=" if flag.option.bare is not None else "" if len(name) == 2 else None
    return [*flag.names, *([] if joint is None else [f"{name}{joint}{value}" for value in flag.values])]


# --- zsh ---

_ZSH = """\
#compdef tileir
# Completion of tileir for zsh, made by `tileir completion zsh`.
_tileir() {
    local curcontext="$curcontext" state line
    local -a commands
    commands=(
@COMMANDS@    )
    _arguments -C '(- *)'{-h,--help}'[show the help]' '(- *)--version[show the version]' \\
        '1:command:->command' '*::argument:->argument' && return
    case $state in
    command)
        _describe -t commands 'tileir command' commands;;
    argument)
        case $words[1] in
@CASES@        esac;;
    esac
}

if [ "$funcstack[1]" = "_tileir" ]; then
    _tileir "$@"
else
    compdef _tileir tileir
fi
"""


def _zsh(commands: list[Command]) -> str:
    described = "".join([f"        {_quoted(c.name + ':' + _colons(c.summary))}\n" for c in commands])
    cases = "".join([_zsh_case(command) for command in commands])
    return _ZSH.replace("@COMMANDS@", described).replace("@CASES@", cases)


def _colons(text: str) -> str:
    return text.replace("\\", "\\\\").replace(":", "\\:")


def _zsh_case(command: Command) -> str:
    specifications = [_zsh_flag(flag) for flag in command.flags]
    if command.takes_files:
        specifications.append("'*:file:_files'")
    elif command.operands:
        specifications.append(_quoted(f"*:name:({' '.join(command.operands)})"))
    lines = " \\\n                ".join(specifications)
    return f"        {command.name})\n            _arguments -s -S \\\n                {lines};;\n"


def _zsh_flag(flag: Flag) -> str:
    """One specification for each spelling; several options of one name are allowed."""
    option = flag.option
    summary = _colons(option.help).replace("[", "\\[").replace("]", "\\]")
    if not option.value:
        return " ".join([_quoted(f"*{name}[{summary}]") for name in flag.names])
    words = " ".join([_colons(value) for value in flag.values])
    action = flag.value(f"_sequence compadd - {words}" if flag.is_list else f"({words})", "_files -/", "_files", "")
    label = _colons(option.value).replace("[", "").replace("]", "")
    # `=`: in the next word or after an equals sign; `=-`: only after it; `+`: in the next word or this one.
    joined = ["=-" if option.bare is not None else "=" if name.startswith("--") else "+" for name in flag.names]
    value = f"[{summary}]:{':' * (option.bare is not None)}{label}:{action}"
    return " ".join([_quoted(f"*{name}{how}{value}") for name, how in zip(flag.names, joined, strict=True)])


# --- fish ---


def _fish(commands: list[Command]) -> str:
    lines = [
        "# Completion of tileir for fish, made by `tileir completion fish`.",
        "complete -c tileir -f",
        "complete -c tileir -n __fish_use_subcommand -l version -d 'show the version'",
        "complete -c tileir -n __fish_use_subcommand -s h -l help -d 'show the help'",
    ]
    for each in commands:
        summary = _fish_quoted(each.summary)
        lines.append(f"complete -c tileir -n __fish_use_subcommand -a {each.name} -d {summary}")
    for each in commands:
        when = f"complete -c tileir -n '__fish_seen_subcommand_from {each.name}'"
        if each.takes_files:
            lines.append(f"{when} -F")
        elif each.operands:
            lines.append(f"{when} -a {_fish_quoted(' '.join(each.operands))}")
        lines.extend([f"{when} {_fish_flag(flag)}" for flag in each.flags])
    return "\n".join(lines) + "\n"


def _fish_quoted(text: str) -> str:
    return _quoted(text.replace("\\", "\\\\"), "\\'")


def _fish_flag(flag: Flag) -> str:
    spelled = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names]
    parts = [*spelled, f"-d {_fish_quoted(flag.option.help)}"]
    if flag.values:
        words = " ".join(flag.values)
        listed = f"(__fish_complete_list , \"printf '%s\\\\n' {words}\")"
        parts.append(f"-a {_fish_quoted(listed if flag.is_list else words)}")
    if flag.option.value and flag.option.bare is None:
        parts.append(flag.value("-x", "-x -a '(__fish_complete_directories)'", "-r -F", "-x"))
    return " ".join(parts)
