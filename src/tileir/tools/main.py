"""The `tileir` command: finds the command in a table and hands it the rest of the command line."""

from __future__ import annotations

import gc
import os
import sys

from tileir.tools.commands import COMMANDS, GROUPS
from tileir.tools.preloading import NEEDED, preload

# Type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn


def command() -> NoReturn:
    """The `tileir` script: `main`, and with it the process ends.

    Skip Python's finalization of modules at exit, except where something may be left to do: a thread,
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
        # The program that it runs keeps Python's streams and collector, and ends as under Python.
        from tileir.tools.cutile import emulate

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
    # The collection at exit would cost as much again.  A script turns collection on: its modules may have finalizers.
    if not gc.isenabled():
        gc.freeze()
    return status


def run(arguments: list[str]) -> int:
    """Run the command that a command line begins with."""
    from tileir.tools.arguments import EXIT_FINE, EXIT_USAGE, Arguments, UsageFailure, did_you_mean

    if not arguments:
        print(help_text(), file=sys.stderr)
        return EXIT_USAGE
    name, *rest = arguments
    if name == "help" and rest:
        name, rest = rest[0], ["--help"]
    if name in COMMANDS:
        command: Callable[[list[str]], int] = __import__(f"tileir.tools.{COMMANDS[name][1]}", fromlist=["run"]).run
        return command(rest)
    if name in ("--help", "-h", "help"):
        print(help_text())
        return EXIT_FINE
    if name in ("-V", "--version", "version"):
        print(identity_text())
        return EXIT_FINE
    from tileir.tools.command import complain

    kind = "option" if name.startswith("-") else "command"
    hint = _SANITIZE if name == "sanitize" else did_you_mean(name, COMMANDS)
    complain(Arguments("tileir"), UsageFailure(f"unknown {kind} '{name}'", help=hint))
    return EXIT_USAGE


def identity_text() -> str:
    """Which tileir this is."""
    from tileir import __version__
    from tileir.ir.versions import RELEASED_NAME

    return f"tileir {__version__} (CUDA Tile IR {RELEASED_NAME})"


def help_text() -> str:
    from tileir.tools.options import READING

    lines: list[str] = []
    for title, folder in GROUPS.items():
        commands = [(name, summary) for name, (summary, module) in COMMANDS.items() if module.startswith(f"{folder}.")]
        lines += ["", f"{title}:", *[f"  {name:10}  {summary}" for name, summary in commands]]
    common = [f"  {option.spelling}\n      {option.help}" for option in READING]
    return "\n".join([_HELP, *lines, "", "options of commands that read programs:", *common, "", _OPTIONS])


_SANITIZE = "'tileir emulate --sanitize SCRIPT.py' and 'tileir run --sanitize FILE' look for races"

_HELP = """\
The toolkit for CUDA Tile IR.

  tileir check examples/softmax.mlir
  tileir explain mmaf

usage: tileir COMMAND ..."""

_OPTIONS = """\
options:
  -h, --help     show this text; 'tileir COMMAND --help' describes a command
  -V, --version  show the version

exit status:
  0    success
  1    the input is wrong
  2    the command line is wrong, or a file cannot be read or written
  124  stopped by --timeout
  130  interrupted"""
