"""The `tileir` command: finds the command in a table and hands it the rest of the command line."""

from __future__ import annotations

import gc
import os
import sys

from tileir.tools.preloading import NEEDED, preload

# Type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

# The commands under the headings of the help: a line about each, and its file where that has another name.  The folder
# has the first word of the heading for its name.
GROUPS = {
    "programs": {
        "check": ("report every mistake in a program at its position", ""),
        "lint": ("give advice about programs that are correct: what is useless, slow or doubtful", ""),
        "format": ("lay out texts, keeping names and comments", ""),
        "opt": ("read a program, verify it, optimize it on request, and print it", ""),
        "as": ("write a program as bytecode", "assemble"),
        "dis": ("print the program in a bytecode file, as NVIDIA's disassembler does", "disassemble"),
        "objdump": ("show every byte of a bytecode file and what it means", ""),
        "diff": ("show what is different about two programs", ""),
        "info": ("show what is in a program, or versions and engines", ""),
    },
    "kernels": {
        "compile": ("compile kernels for a GPU; no GPU is needed", ""),
        "run": ("run a kernel and show what it wrote", ""),
        "debug": ("debug a kernel at a terminal or in an editor, forwards and backwards", ""),
        "explore": ("show what a kernel does as a page in the browser", ""),
        "cost": ("estimate what a launch costs on a GPU, and why; no GPU is needed", ""),
        "tune": ("search for the schedule with which Triton's code of a kernel is fastest", ""),
        "emulate": ("run a Python program that launches cuTile kernels, without a GPU", ""),
    },
    "many programs": {
        "smith": ("write random programs with their expected results, for anyone's compiler", ""),
        "reduce": ("make a program smaller while a command keeps succeeding on it", ""),
        "sweep": ("run many programs in sandboxes; store results in SQLite", ""),
        "report": ("show what a sweep found: a table, failures grouped by cause, a page", ""),
    },
    "help": {
        "explain": ("show the documentation of an operation, type, attribute or opcode", ""),
        "docs": ("print a page of the documentation", "documents"),
        "lsp": ("serve editors: the language server", ""),
        "completion": ("print a script that completes command lines in bash, zsh or fish", ""),
    },
}
# Each command with the line about it and its module: `USAGE` is its command line, `run` runs it.
COMMANDS = {
    name: (summary, f"tileir.tools.{heading.partition(' ')[0]}.{module or name}")
    for heading, commands in GROUPS.items()
    for name, (summary, module) in commands.items()
}


def command() -> NoReturn:
    """The `tileir` script: `main`, and with it the process ends.

    Skip that Python takes modules apart on its way out, except where somebody may have something left to do: a thread,
    a function that is called at the end, `python -i`, a program that was run, the streams of an interrupted command.
    """
    is_over = sys.argv[1:2] != ["emulate"] and not sys.flags.inspect
    status = main()
    from tileir.tools.arguments import EXIT_INTERRUPTED

    if is_over and status != EXIT_INTERRUPTED and "threading" not in sys.modules and "atexit" not in sys.modules:
        # Both streams are flushed.
        os._exit(status)
    sys.exit(status)


def main() -> int:
    if sys.argv[1:2] == ["emulate"]:
        # The program that it runs has the streams and the collector that Python gives it, and ends as Python ends it.
        from tileir.tools.kernels import emulate

        return emulate.run(sys.argv[2:])
    # The process ends with the command, so collecting garbage would only cost: a tenth of the start-up time.
    gc.disable()
    try:
        preload(NEEDED.get(sys.argv[1], "") if len(sys.argv) > 1 else "")
        from tileir.tools.command import run_process
    except KeyboardInterrupt:
        # Most of the time of a short command passes here.
        from tileir.tools.arguments import EXIT_INTERRUPTED

        return EXIT_INTERRUPTED
    status = run_process("tileir", run, sys.argv[1:])
    # Nor does Python collect any on its way out: as much again.
    gc.freeze()
    return status


def run(arguments: list[str]) -> int:
    """Run the command that a command line begins with."""
    from tileir.tools.arguments import EXIT_FINE, EXIT_USAGE, UsageMistake, did_you_mean

    if not arguments:
        print(help_text(), file=sys.stderr)
        return EXIT_USAGE
    name, *rest = arguments
    if name == "help" and rest:
        name, rest = rest[0], ["--help"]
    if name in COMMANDS:
        # Imported here: a command pays for itself only.
        command: Callable[[list[str]], int] = __import__(COMMANDS[name][1], fromlist=["run"]).run
        return command(rest)
    if name in ("--help", "-h", "help"):
        print(help_text())
        return EXIT_FINE
    if name in ("--version", "version"):
        print(identity_text())
        return EXIT_FINE
    from tileir.tools.command import complain

    kind = "option" if name.startswith("-") else "command"
    complain("tileir", UsageMistake(f"unknown {kind} '{name}'{did_you_mean(name, COMMANDS)}"))
    return EXIT_USAGE


def identity_text() -> str:
    """Which tileir this is."""
    from tileir import __version__
    from tileir.ir.versions import NEWEST_NAME

    return f"tileir {__version__} (CUDA Tile IR {NEWEST_NAME})"


def help_text() -> str:
    lines: list[str] = []
    for group, commands in GROUPS.items():
        lines += [f"{group}:", *[f"  {name:10}  {summary}" for name, (summary, _) in commands.items()], ""]
    listed = "\n".join(lines)
    return f"""\
usage: tileir COMMAND ...

The toolkit for CUDA Tile IR.

{listed}
options:
  -h, --help  show this text; 'tileir COMMAND --help' describes a command
  --version   show the version

Exit status of every command: 0 fine, 1 the input is wrong, 2 the command line is wrong."""
