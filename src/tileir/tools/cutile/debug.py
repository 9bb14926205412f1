"""`tileir debug`: a debugger for kernels, at a terminal with gdb's commands, or in an editor by its protocol."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tileir.execute.arguments.argument_text import grid_of
from tileir.execute.schedule import check_schedule
from tileir.tools import options
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage, UsageFailure
from tileir.tools.command import command, need_packages, stay
from tileir.tools.input import is_script, read_program, script_arguments
from tileir.tools.launches import STATED, given_launch

if TYPE_CHECKING:
    from tileir.serve.debugger.terminal.terminal import Terminal

USAGE = Usage(
    "tileir debug",
    "FILE|SCRIPT.py",
    (
        "tileir debug examples/histogram.mlir --grid 8 --arg rand:i32:1000 --arg zeros:i32:100 --arg 1000",
        "tileir debug examples/cutile_script.py -ex next -ex 'info locals' -batch",
    ),
    (
        options.GRID,
        options.ENTRY.with_help("the kernel (default: the only one; of a script, all)"),
        options.ARG,
        options.SCHEDULE,
        Option("--sanitize", "stop at findings of the sanitizer, as 'catch sanitizer' does"),
        options.WATCH_NAN.with_help("stop where a NaN or an infinity is made, as 'catch nan' does"),
        options.NAMES,
        options.RECORDING_LIMIT,
        Option("-ex, --ex COMMAND", "carry out a command of the debugger; repeat for several"),
        Option("-x FILE", "carry out the commands in a file"),
        Option("-batch, --batch", "end when these are done, without a prompt; exit status 1 if one of them failed"),
        Option("--dap", "speak the debug adapter protocol, for editors, on standard input and output"),
        Option("--tcp HOST:PORT", "the same at an address, for one editor after the other"),
        *options.READING,
    ),
    f"""\
Arguments are those of 'tileir run --help'. {STATED}

A SCRIPT.py that launches kernels of cuTile or Triton is run here, as by tileir emulate, and stops at its first launch.
{options.SCRIPT_ARGUMENTS}
In a script of your own, tileir.debug(kernel, grid, args) does the same.

Commands are those of gdb: run, next, step, continue, backtrace, info, .., and reverse-next, reverse-continue, ..
to go back; 'help' lists them. Ctrl-C stops a launch that is running.

With --dap the editor chooses what is launched. Where FILE is '-', commands come by -ex or -x.""",
    least=0,
    most=-1,
)

_MOST = 1 << 30
"""Bytes of a recording where the command line names no limit."""


@command(USAGE)
def run(given: Arguments) -> int:
    stay()
    need_packages()
    if given.has("dap") or given.has("tcp"):
        return _adapter(given)
    if not given.operands:
        raise UsageFailure("expected FILE or SCRIPT.py, or --dap for an editor")
    script_arguments(given, "grid", "arg", "schedule")
    return _script(given) if is_script(given.operands[0]) else _program(given)


def _program(given: Arguments) -> int:
    # Checked before anything is read.
    grid_of(given.value("grid", "1"))
    schedule = given.value("schedule", "forward")
    check_schedule(schedule)
    how = _how(given)
    program = read_program(given.operands[0], given)
    module = program.checked(given)
    from tileir.serve.debugger.launches import program_debugger

    terminal = _terminal(given)
    terminal.launch = program_debugger(module, given_launch(given, program), schedule, **how)
    end = terminal.converse()
    return EXIT_WRONG_INPUT if end == "batch" and terminal.failed else EXIT_FINE


def _script(given: Arguments) -> int:
    from tileir.serve.debugger.launches import ScriptDebugging
    from tileir.tools.cutile.emulate import run_script

    front, kernel = _terminal(given), given.value("entry")
    debugging = ScriptDebugging(front, kernel=kernel, **_how(given))
    status = run_script(given.operands, debugging)
    if not debugging.count and not status:
        named = f" named '{kernel}'" if kernel else ""
        raise ToolFailure(f"the script launches no kernel{named}", EXIT_WRONG_INPUT)
    return EXIT_WRONG_INPUT if given.has("batch") and front.failed else status


def _terminal(given: Arguments) -> Terminal:
    from tileir.serve.debugger.terminal.terminal import Terminal

    commands = [(name, text) for name, text in given.sequence if name in ("ex", "x")]
    return Terminal(commands, colors=given.wants_color(sys.stdout), batch=given.has("batch"))


def _how(given: Arguments) -> dict[str, Any]:
    """What a debugger stops on, whose names it shows, and the most that its recording takes."""
    stop_on = {"failure": True, "sanitizer": given.has("sanitize"), "nan": given.has("watch-nan")}
    limit = given.size("memory-limit", _MOST)
    return {"stop_on": [*filter(stop_on.get, stop_on)], "names": given.value("names", "script"), "limit": limit}


def _adapter(given: Arguments) -> int:
    given.refuse([name for name in given.options if name not in ("dap", "tcp")], "is not for --dap: the editor sets it")
    if given.operands:
        raise ToolFailure("--dap takes no FILE: the editor chooses what is launched")
    from tileir.serve.debugger.adapter.editor import GREETED, host, serve, standard_channel

    if given.has("tcp"):
        from tileir.tools.more.lsp import announced

        listener = announced(given.value("tcp"), "in the editor's launch configuration")
        with suppress(KeyboardInterrupt):
            serve(listener, ["-m", "tileir", "debug", "--dap"])
        return EXIT_FINE
    from tileir.tools.cutile.emulate import run_script

    # Taken out of the environment: a script that is debugged does not see it.
    host(standard_channel(is_greeted=os.environ.pop(GREETED, None) is not None), run_script)
    return EXIT_FINE
