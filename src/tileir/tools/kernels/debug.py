"""`tileir debug`: a debugger for kernels, at a terminal with gdb's commands, or in an editor by its protocol."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tileir.execute.arguments.argument_text import grid_of
from tileir.execute.schedule import check_schedule
from tileir.tools import options
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage, UsageMistake
from tileir.tools.command import command
from tileir.tools.input import is_script, read_program, script_arguments
from tileir.tools.launches import STATED, given_launch, recording_limit

if TYPE_CHECKING:
    from tileir.serve.debugger.terminal.terminal import Terminal

USAGE = Usage(
    "tileir debug",
    "Debugs a kernel: breakpoints, steps forwards and backwards, every tile and array at any step.",
    "FILE|SCRIPT.py",
    (
        *options.LAUNCH_OPTIONS,
        options.SCHEDULE,
        Option("--sanitize", "stop at mistakes of the kernel ('tileir docs sanitizer'), as 'catch sanitizer' does"),
        options.WATCH_NAN.with_help("stop where a NaN or an infinity is made, as 'catch nan' does"),
        options.NAMES,
        Option("--kernel NAME", "of a script, debug launches of this kernel only (default: all)"),
        options.RECORDING_LIMIT,
        Option("-ex, --ex COMMAND", "carry out a command of the debugger; repeat for several"),
        Option("-x FILE", "carry out the commands in a file"),
        Option("-batch, --batch", "end when these are done, and ask nothing; exit status 1 if one of them failed"),
        Option("--dap", "speak the debug adapter protocol, for editors, on standard input and output"),
        Option("--tcp HOST:PORT", "the same at an address, for one editor after the other"),
        *options.READING_OPTIONS,
    ),
    least=0,
    most=-1,
    details=f"""\
Arguments are those of 'tileir run --help', as in --arg rand:f32:1024 --arg 42. {STATED}

A SCRIPT.py that launches cuTile kernels is run on this machine, as by tileir emulate, and stops at its first launch.
{options.SCRIPT_ARGUMENTS}
In a script of your own, tileir.debug(kernel, grid, args) does the same.

Commands are those of gdb: run, next, step, continue, backtrace, info, .., and reverse-next, reverse-continue, ..
to go back; 'help' lists them. Ctrl-C stops a launch that is running.

With --dap the editor says what is launched. Where FILE is '-', commands come by -ex or -x.""",
)

_MOST = 1 << 30
"""Bytes of a recording where the command line names no limit."""


@command(USAGE)
def run(given: Arguments) -> int:
    # This process stays, so its garbage is collected.
    gc.enable()
    # Its error says what to install where NumPy is missing.
    __import__("tileir.execute.launching.kernel")
    if given.has("dap") or given.has("tcp"):
        return _adapter(given)
    if not given.operands:
        raise UsageMistake("expected FILE or SCRIPT.py, or --dap for an editor")
    script_arguments(given, "grid", "arg", "entry", "schedule")
    return _script(given) if is_script(given.operands[0]) else _program(given)


def _program(given: Arguments) -> int:
    given.refuse(("kernel",), "is for a script: of a FILE, --entry names the kernel")
    # Checked before anything is read.
    grid_of(given.value("grid", "1"))
    schedule = given.value("schedule", "forward")
    check_schedule(schedule)
    recording_limit(given, _MOST)
    program = read_program(given.operands[0], given)
    module = program.checked(given)
    from tileir.serve.debugger.launches import program_debugger

    terminal = _terminal(given)
    terminal.launch = program_debugger(module, given_launch(given, program), schedule, **_how(given))
    how = terminal.converse()
    return EXIT_WRONG_INPUT if how == "batch" and terminal.failed else EXIT_FINE


def _script(given: Arguments) -> int:
    from tileir.serve.debugger.launches import ScriptDebugging
    from tileir.tools.kernels.emulate import run_script

    front, kernel = _terminal(given), given.value("kernel")
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
    events = {"failure": True, "sanitizer": given.has("sanitize"), "nan": given.has("watch-nan")}
    stop_on = [event for event, stops in events.items() if stops]
    return {"stop_on": stop_on, "names": given.value("names", "script"), "limit": recording_limit(given, _MOST)}


def _adapter(given: Arguments) -> int:
    others = tuple([name for name in given.options if name not in ("dap", "tcp")])
    given.refuse(others, "is not for --dap: the editor says what is launched")
    if given.operands:
        raise ToolFailure("--dap takes no FILE: the editor says what is launched")
    from tileir.serve.debugger.adapter.editor import GREETED, host, serve, standard_channel

    if given.has("tcp"):
        from tileir.tools.help.lsp import announced

        with suppress(KeyboardInterrupt):
            serve(
                announced(given.value("tcp"), "in the editor's launch configuration"),
                ["-m", "tileir", "debug", "--dap"],
            )
        return EXIT_FINE
    from tileir.tools.kernels.emulate import run_script

    # Taken out of the environment: a script that is debugged does not see it.
    host(standard_channel(is_greeted=os.environ.pop(GREETED, None) is not None), run_script)
    return EXIT_FINE
