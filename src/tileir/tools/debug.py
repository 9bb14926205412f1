"""`tileir debug`: a debugger for kernels, at a terminal with gdb's commands, or in an editor by its protocol."""

from __future__ import annotations

import gc
import os
import sys
from collections import deque
from typing import TYPE_CHECKING

from tileir.execute.schedule import check_schedule
from tileir.ir.diagnostics import TileIRError
from tileir.tools.arguments import COLOR, EXIT_FINE, EXIT_USAGE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.arrays import STATED, given_launch, grid_of, mistake, size_of
from tileir.tools.programs import READING_OPTIONS, SCRIPT_ARGUMENTS, Settings, guarded, read_program, tell, tell_error

if TYPE_CHECKING:
    from tileir.bridge.contexts import Watcher
    from tileir.serve.debugger.stops import Event

USAGE = Usage(
    "tileir debug",
    "Debugs a kernel: breakpoints, steps forwards and backwards, every tile and array at any moment.",
    "FILE|SCRIPT.py",
    (
        Option("grid", "the number of tile blocks along x, y and z (default: 1)", value="X[,Y[,Z]]"),
        Option("entry", "the kernel (default: the only one)", value="NAME"),
        Option("arg", "an argument, as for tileir run; repeat for each parameter, in order", value="WHAT"),
        Option("schedule", "the order of tile blocks: forward, reverse, random:SEED, interleaved", value="ORDER"),
        Option(
            "sanitize",
            "stop at mistakes of the kernel ('tileir docs sanitizer'); the same as the command 'catch sanitizer'",
        ),
        Option("watch-nan", "stop where a NaN or an infinity is made; the same as the command 'catch nan'"),
        Option(
            "names",
            "names of values and lines: those of the Python script, if the program is from one (default), or tile",
            choices=("script", "tile"),
        ),
        Option("kernel", "of a script, debug launches of this kernel only (default: all)", value="NAME"),
        Option("memory", "the most that the recording takes, as 512M or 4G (default: 1G)", value="BYTES"),
        Option("ex", "carry out a command of the debugger; repeat for several", value="COMMAND", short="ex"),
        Option("x", "carry out the commands in a file", value="FILE"),
        Option("batch", "end when these are done, and ask nothing; exit status 1 if one of them failed", short="batch"),
        Option("dap", "speak the debug adapter protocol, for editors, on standard input and output"),
        Option("tcp", "the same at an address, for one editor after the other", value="HOST:PORT"),
        COLOR,
        *READING_OPTIONS,
    ),
    least=0,
    most=-1,
    details=f"""\
Arguments are those of 'tileir run --help', as in --arg rand:f32:1024 --arg 42. {STATED}

A SCRIPT.py that launches cuTile kernels is run on this machine, as by tileir emulate, and stops at its first launch.
{SCRIPT_ARGUMENTS}
In a script of your own, tileir.debug(kernel, grid, args) does the same.

Commands are those of gdb: run, next, step, continue, backtrace, info, .., and reverse-next, reverse-continue, ..
to go back; 'help' lists them. Ctrl-C stops a launch that is running.

With --dap the editor says what is launched. FILE may be '-' for standard input where commands come by -ex or -x.
Exit status: 0 fine, 1 the program, the launch or a command of --batch is wrong, 2 the command line is wrong or a file
cannot be read.""",
)


def run(arguments: list[str]) -> int:
    return guarded("tileir debug", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    # This process stays: what is no longer used is collected after all.
    gc.enable()
    # The one that says what to install.
    __import__("tileir.execute.launching.kernel")
    if given.has("dap") or given.has("tcp"):
        return _adapter(given)
    if not given.operands:
        raise mistake("expected FILE or SCRIPT.py, or --dap for an editor")
    if given.operands[0].endswith(".py"):
        return _script(given)
    if len(given.operands) > 1:
        raise mistake(f"unexpected argument '{given.operands[1]}'")
    return _program(given)


def _program(given: Arguments) -> int:
    if given.has("kernel"):
        raise mistake("--kernel is for a script: of a FILE, --entry names the kernel")
    # Looked at before anything is read.
    grid_of(given.value("grid", "1"))
    check_schedule(given.value("schedule", "forward"))
    limit = size_of("memory", given.value("memory", "1G"))
    program = read_program(given.operands[0], Settings(given))
    tell(program.diagnostics, given)
    if program.module is None:
        return EXIT_WRONG_INPUT
    from tileir.serve.debugger.launches import program_debugger
    from tileir.serve.debugger.terminal.terminal import Terminal

    try:
        words = given_launch(given, program)
        debugger = program_debugger(
            program.module,
            words,
            given.value("schedule", "forward"),
            limit=limit,
            stop_on=_stop_on(given),
            names="tile" if given.value("names", "") == "tile" else "script",
        )
    except TileIRError as error:
        return tell_error(error, given)
    terminal = Terminal(debugger, sys.stdout.write, given.wants_colour(sys.stdout))
    commands = deque([(name, text) for name, text in given.sequence if name in ("ex", "x")])
    how = terminal.converse(commands, batch=given.has("batch"))
    return EXIT_WRONG_INPUT if how == "batch" and terminal.shell.failed else EXIT_FINE


def _script(given: Arguments) -> int:
    for option in ("grid", "arg", "entry", "schedule"):
        if given.has(option):
            raise mistake(f"--{option} is for a FILE: a script says itself what it launches")
    from tileir.serve.debugger.launches import ScriptDebugging
    from tileir.serve.debugger.terminal.terminal import ScriptTerminal

    commands = [(name, text) for name, text in given.sequence if name in ("ex", "x")]
    front = ScriptTerminal(commands, colors=given.wants_colour(sys.stdout), batch=given.has("batch"))
    debugging = ScriptDebugging(
        front,
        kernel=given.value("kernel", ""),
        stop_on=_stop_on(given),
        names="tile" if given.value("names", "") == "tile" else "script",
        limit=size_of("memory", given.value("memory", "1G")),
    )
    status = run_script(given.operands, debugging)
    if not debugging.count and not status:
        named = f" named '{given.value('kernel', '')}'" if given.has("kernel") else ""
        raise ToolFailure(f"the script launches no kernel{named}", EXIT_WRONG_INPUT)
    return EXIT_WRONG_INPUT if given.has("batch") and front.failed else status


def run_script(operands: list[str], watcher: Watcher) -> int:
    """Run a script as `tileir emulate` does, with somebody who is given its launches; its exit status."""
    from tileir.bridge.process import begin
    from tileir.bridge.settings import Settings as ScriptSettings
    from tileir.bridge.settings import SettingsMistake
    from tileir.tools.emulate import perform, program_of

    try:
        work = program_of({}, operands)
    except SettingsMistake as error:
        raise mistake(str(error)) from None
    process = begin(ScriptSettings(), watcher=watcher)
    try:
        perform(process, work)
    except BaseException:
        # Shown, as Python would; what it ends with is known.
        pass
    return process.status


def _stop_on(given: Arguments) -> list[Event]:
    found: list[Event] = ["failure"]
    if given.has("sanitize"):
        found.append("sanitizer")
    if given.has("watch-nan"):
        found.append("nan")
    return found


def _adapter(given: Arguments) -> int:
    for name in given.options:
        if name not in ("dap", "tcp"):
            raise mistake(f"--{name} is not for --dap: the editor says what is launched")
    if given.operands:
        raise mistake("--dap takes no FILE: the editor says what is launched")
    if given.has("tcp"):
        return _listen(given.value("tcp", ""))
    from tileir.serve.debugger.adapter.connections import GREETED, standard_channel
    from tileir.serve.debugger.adapter.editor import host

    # Taken out of the environment: a script that is debugged does not see it.
    host(standard_channel(is_greeted=os.environ.pop(GREETED, None) is not None), run_script)
    return EXIT_FINE


def _listen(text: str) -> int:
    from tileir.serve.addresses import BadAddress, Listener
    from tileir.serve.debugger.adapter.connections import serve

    try:
        listener = Listener(text)
    except BadAddress as error:
        raise ToolFailure(str(error), EXIT_USAGE) from None
    where = listener.described("in the editor's launch configuration")
    print(f"listening on {where}", file=sys.stderr, flush=True)
    try:
        serve(listener, ["-m", "tileir", "debug", "--dap"])
    except KeyboardInterrupt:
        # As it should end.
        pass
    return EXIT_FINE
