"""The completion scripts of the shells, from the commands and their options."""

from __future__ import annotations

from typing import NamedTuple

# What a value or an operand is completed with, where it is not one of some words.
FILES = "files"
DIRECTORIES = "directories"


class Flag(NamedTuple):
    """An option: how it is spelled, what it does, whether it takes a value and what may stand there."""

    names: tuple[str, ...]
    summary: str
    value: str
    values: tuple[str, ...]
    kind: str
    is_list: bool
    is_optional: bool


class Command(NamedTuple):
    """A subcommand: its options, and what its operands may be."""

    name: str
    summary: str
    flags: tuple[Flag, ...]
    operands: tuple[str, ...]
    kind: str


def script(shell: str, commands: list[Command]) -> str:
    made = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return made(commands)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# --- bash ---

_BASH = """\
# Completion of tileir for bash, made by `tileir completion bash`.
_tileir_files() {
    local line
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$1" -- "$current")
    compopt -o filenames 2>/dev/null
}

_tileir_words() {
    local line
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -W "$1" -- "$current")
}

# The last of a list with commas.
_tileir_list() {
    local head="" line
    case $current in *,*) head="${current%,*},";; esac
    while IFS= read -r line; do COMPREPLY+=("$head$line"); done < <(compgen -W "$1" -- "${current##*,}")
    compopt -o nospace 2>/dev/null
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
    lines = [f"    {command.name})"]
    # A value that may be left out is given with `=` only.
    taking = [flag for flag in command.flags if flag.value]
    if taking:
        lines.append('        case "$previous" in')
        for flag in taking:
            spelled = [f"{name}=" for name in flag.names]
            lines.append(f"        {'|'.join(spelled if flag.is_optional else [*flag.names, *spelled])})")
            lines.append(f"            {_bash_value(flag)}")
            lines.append("            return;;")
        lines.append("        esac")
    words = [name for flag in command.flags for name in _spelled(flag)]
    lines.append('        case "$current" in')
    lines.append("        -*)")
    lines.append(f"            _tileir_words {_quoted(' '.join(words))}")
    lines.append("            return;;")
    lines.append("        esac")
    if command.operands:
        lines.append(f"        _tileir_words {_quoted(' '.join(command.operands))};;")
    elif command.kind == FILES:
        lines.append("        _tileir_files -f;;")
    else:
        lines.append("        ;;")
    return "\n".join(lines) + "\n"


def _spelled(flag: Flag) -> list[str]:
    """How an option is offered; one whose value may be left out, or is a letter as in -O3, also with its values."""
    name = flag.names[-1]
    if flag.is_optional:
        return [*flag.names, *[f"{name}={value}" for value in flag.values]]
    return [*flag.names, *[f"{name}{value}" for value in flag.values if len(name) == 2]]


def _bash_value(flag: Flag) -> str:
    if flag.values:
        helper = "_tileir_list" if flag.is_list else "_tileir_words"
        return f"{helper} {_quoted(' '.join(flag.values))}"
    return {FILES: "_tileir_files -f", DIRECTORIES: "_tileir_files -d"}.get(flag.kind, ":")


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
    action = "_files" if command.kind == FILES else f"({' '.join(command.operands)})" if command.operands else ""
    if action:
        specifications.append(_quoted(f"*:{'file' if command.kind else 'name'}:{action}"))
    lines = " \\\n                ".join(specifications)
    return f"        {command.name})\n            _arguments -s -S \\\n                {lines};;\n"


def _zsh_flag(flag: Flag) -> str:
    """One specification for each spelling; several options of one name are allowed."""
    words = _colons(flag.summary).replace("[", "\\[").replace("]", "\\]")
    found = []
    for name in flag.names:
        if not flag.value:
            found.append(_quoted(f"*{name}[{words}]"))
            continue
        # `=`: in the next word or after an equals sign; `=-`: only after it; `+`: in the next word or this one.
        joined = "=-" if flag.is_optional else "=" if name.startswith("--") else "+"
        colons = "::" if flag.is_optional else ":"
        label = _colons(flag.value).replace("[", "").replace("]", "")
        found.append(_quoted(f"*{name}{joined}[{words}]{colons}{label}:{_zsh_action(flag)}"))
    return " ".join(found)


def _zsh_action(flag: Flag) -> str:
    if flag.values:
        words = " ".join([_colons(value) for value in flag.values])
        return f"_sequence compadd - {words}" if flag.is_list else f"({words})"
    return {FILES: "_files", DIRECTORIES: "_files -/"}.get(flag.kind, "")


# --- fish ---


def _fish(commands: list[Command]) -> str:
    lines = [
        "# Completion of tileir for fish, made by `tileir completion fish`.",
        "complete -c tileir -f",
        "complete -c tileir -n __fish_use_subcommand -l version -d 'show the version'",
        "complete -c tileir -n __fish_use_subcommand -s h -l help -d 'show the help'",
    ]
    for command in commands:
        summary = _fish_quoted(command.summary)
        lines.append(f"complete -c tileir -n __fish_use_subcommand -a {command.name} -d {summary}")
    for command in commands:
        when = f"complete -c tileir -n '__fish_seen_subcommand_from {command.name}'"
        if command.kind == FILES:
            lines.append(f"{when} -F")
        elif command.operands:
            lines.append(f"{when} -a {_fish_quoted(' '.join(command.operands))}")
        lines.extend([f"{when} {_fish_flag(flag)}" for flag in command.flags])
    return "\n".join(lines) + "\n"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_flag(flag: Flag) -> str:
    spelled = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names]
    parts = [*spelled, f"-d {_fish_quoted(flag.summary)}"]
    if flag.values:
        words = " ".join(flag.values)
        listed = f"(__fish_complete_list , \"printf '%s\\\\n' {words}\")"
        parts.append(f"-a {_fish_quoted(listed if flag.is_list else words)}")
    if flag.value and not flag.is_optional:
        parts.append({FILES: "-r -F", DIRECTORIES: "-x -a '(__fish_complete_directories)'"}.get(flag.kind, "-x"))
    return " ".join(parts)
