"""The `tileir` command: finds the subcommand and hands it the rest of the command line."""

from __future__ import annotations

import gc
import os
import sys

from tileir.tools.preloading import NEEDED, preload

# Type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

COMMANDS = {
    "check": "report every mistake in a program at its position",
    "lint": "give advice about programs that are correct: what is useless, slow or doubtful",
    "format": "lay out texts, keeping names and comments",
    "opt": "read a program, verify it, optimize it on request, and print it",
    "as": "write a program as bytecode",
    "dis": "print the program in a bytecode file, as NVIDIA's disassembler does",
    "objdump": "show every byte of a bytecode file and what it means",
    "compile": "make a cubin for a GPU, which need not be here",
    "run": "run a kernel and show what it wrote",
    "tune": "search for the schedule with which Triton's code of a kernel is fastest",
    "diff": "show what is different about two programs",
    "cost": "estimate what a launch costs on a GPU, which need not be here, and why",
    "explore": "show what a kernel does as a page in the browser",
    "debug": "debug a kernel at a terminal or in an editor, forwards and backwards",
    "smith": "write random programs with their expected results, for anyone's compiler",
    "reduce": "make a program smaller while a command keeps succeeding on it",
    "sweep": "judge many programs, in processes within limits, into a table",
    "report": "show what a sweep found: a table, failures grouped by cause, a page",
    "emulate": "run a Python program that launches cuTile kernels, without a GPU",
    "explain": "show the documentation of an operation, type, attribute or opcode",
    "info": "show what is in a program, or versions and engines",
    "docs": "print a page of the documentation",
    "lsp": "serve editors: the language server",
    "completion": "print a script that completes command lines in bash, zsh or fish",
}


def command() -> NoReturn:
    """The `tileir` script: `main`, and with it the process ends.

    Python takes modules and objects apart one by one on its way out, for which nobody waits.  Not so where somebody may
    have something left to do: a thread, a function that is called at the end (coverage has one), `python -i`, a program
    that was run, or a stream with what a command had written when it was interrupted.
    """
    is_over = sys.argv[1:2] != ["emulate"] and not sys.flags.inspect
    status = main()
    from tileir.tools.arguments import EXIT_INTERRUPTED

    if is_over and status != EXIT_INTERRUPTED and "threading" not in sys.modules and "atexit" not in sys.modules:
        # Both streams are flushed.
        os._exit(status)
    sys.exit(status)


def main() -> int:
    # The process ends with the command, so garbage need not be looked for: a tenth of the start-up time.
    gc.disable()
    if sys.argv[1:2] == ["emulate"]:
        # The program that it runs has the streams that Python gives it, and ends as Python ends it.
        from tileir.tools import emulate

        return emulate.main(sys.argv[2:])
    try:
        preload(NEEDED.get(sys.argv[1], "") if len(sys.argv) > 1 else "")
        from tileir.tools.programs import run_process
    except KeyboardInterrupt:
        # Most of the time of a short command passes here.
        from tileir.tools.arguments import EXIT_INTERRUPTED

        return EXIT_INTERRUPTED
    status = run_process("tileir", run, sys.argv[1:])
    # Nor does Python look for any on its way out: as much again.
    gc.freeze()
    return status


def run(arguments: list[str]) -> int:
    from tileir.tools.arguments import EXIT_FINE, EXIT_USAGE

    if not arguments:
        print(help_text(), file=sys.stderr)
        return EXIT_USAGE
    command, rest = arguments[0], arguments[1:]
    if command == "help" and rest:
        command, rest = rest[0], ["--help"]
    if command in ("--help", "-h", "help"):
        print(help_text())
        return EXIT_FINE
    if command in ("--version", "version"):
        from tileir.tools.info import identity_text

        print(identity_text())
        return EXIT_FINE
    # Imported here: a command pays for itself only.
    if command == "check":
        from tileir.tools import check

        return check.run(rest)
    if command == "lint":
        from tileir.tools import lint

        return lint.run(rest)
    if command == "format":
        from tileir.tools import format as format_tool

        return format_tool.run(rest)
    if command == "opt":
        from tileir.tools import opt

        return opt.run(rest)
    if command == "as":
        from tileir.tools import assemble

        return assemble.run(rest)
    if command == "dis":
        from tileir.tools import disassemble

        return disassemble.run(rest)
    if command == "objdump":
        from tileir.tools import objdump

        return objdump.run(rest)
    if command == "compile":
        from tileir.tools import compile as compile_tool

        return compile_tool.run(rest)
    if command == "run":
        from tileir.tools import run as run_tool

        return run_tool.run(rest)
    if command == "diff":
        from tileir.tools import diff

        return diff.run(rest)
    if command == "cost":
        from tileir.tools import cost

        return cost.run(rest)
    if command == "tune":
        from tileir.tools import tune

        return tune.run(rest)
    if command == "explore":
        from tileir.tools import explore

        return explore.run(rest)
    if command == "debug":
        from tileir.tools import debug

        return debug.run(rest)
    if command == "smith":
        from tileir.tools import smith

        return smith.run(rest)
    if command == "reduce":
        from tileir.tools import reduce

        return reduce.run(rest)
    if command == "report":
        from tileir.tools import report

        return report.run(rest)
    if command == "emulate":
        from tileir.tools import emulate

        return emulate.run(rest)
    if command == "sweep":
        from tileir.tools import sweep

        return sweep.run(rest)
    if command == "explain":
        from tileir.tools import explain

        return explain.run(rest)
    if command == "info":
        from tileir.tools import info

        return info.run(rest)
    if command == "docs":
        from tileir.tools import documents

        return documents.run(rest)
    if command == "lsp":
        from tileir.tools import lsp

        return lsp.run(rest)
    if command == "completion":
        from tileir.tools import completion

        return completion.run(rest, COMMANDS)
    from tileir.ir.quoting import harmless

    what = "option" if command.startswith("-") else "command"
    print(f"tileir: unknown {what} '{harmless(command)}'{_suggestion(command)}", file=sys.stderr)
    print("Try 'tileir --help'.", file=sys.stderr)
    return EXIT_USAGE


def _suggestion(command: str) -> str:
    import difflib

    close = difflib.get_close_matches(command, list(COMMANDS), 1, 0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def help_text() -> str:
    lines = ["usage: tileir COMMAND ...", "", "The toolkit for CUDA Tile IR.", "", "commands:"]
    lines.extend([f"  {name:10}  {summary}" for name, summary in COMMANDS.items()])
    lines.extend(
        [
            "",
            "options:",
            "  -h, --help  show this text; 'tileir COMMAND --help' describes a command",
            "  --version   show the version",
            "",
            "Exit status of every command: 0 fine, 1 the input is wrong, 2 the command line is wrong.",
        ]
    )
    return "\n".join(lines)
