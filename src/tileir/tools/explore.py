"""`tileir explore`: a launch as a page in the browser, or in a file."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from tileir.execute.arguments.argument_text import natural
from tileir.execute.schedule import check_schedule
from tileir.ir.diagnostics import OptionError, TileIRError
from tileir.ir.quoting import harmless
from tileir.tools.arguments import COLOR, EXIT_FINE, EXIT_USAGE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.arrays import STATED, argument, given_launch, grid_of, mistake, size_of
from tileir.tools.output import check_target, write_output
from tileir.tools.programs import READING_OPTIONS, SCRIPT_ARGUMENTS, Settings, guarded, read_program, tell, tell_error

if TYPE_CHECKING:
    from tileir.serve.explorer.exploring import Exploration

USAGE = Usage(
    "tileir explore",
    "Shows what a kernel does as a page: its forms, the memory it touches, values, findings, cost.",
    "FILE|SCRIPT.py",
    (
        Option("grid", "the number of tile blocks along x, y and z (default: 1)", value="X[,Y[,Z]]"),
        Option("entry", "the kernel (default: the only one)", value="NAME"),
        Option("arg", "an argument, as for tileir run; repeat for each parameter, in order", value="WHAT"),
        Option("schedule", "the order of tile blocks: forward, reverse, random:SEED, interleaved", value="ORDER"),
        Option("launch", "of a script, the launch to show, counted from 1 (default: the first)", value="N"),
        Option("export", "write the page to a file that needs no server, instead of serving it", value="FILE.html"),
        Option("blocks", "tile blocks whose values an exported page carries, as 0,7,16-31, or all", value="LIST"),
        Option(
            "picture",
            "draw an array (default: the first that is written) by block, time or count; repeat for several",
            value="[ARRAY[:COLOUR]=]FILE.svg",
        ),
        Option(
            "compare",
            "a recording to look at beside this launch, as --record writes it; repeat for several",
            value="FILE",
        ),
        Option(
            "sanitize",
            "what is looked for: mistakes (the default), all (also elements never written), or none",
            choices=("mistakes", "all", "none"),
        ),
        Option("record", "write the recording of the launch to a file", value="FILE"),
        Option("targets", "what costs are estimated for, as h200,b200 (default: all)", value="NAMES"),
        Option("memory", "the most that the recording takes, as 512M or 4G (default: 1G)", value="BYTES"),
        Option("port", "where the page is served on 127.0.0.1 (default: a port that is free)", value="N"),
        Option("no-browser", "print the address of the page and open no browser"),
        COLOR,
        *READING_OPTIONS,
    ),
    least=1,
    most=-1,
    details=f"""\
Arguments are those of 'tileir run --help', as in --arg rand:f32:1024 --arg 42. Without any, a kernel
that has parameters does not run, and the page shows the program in its forms, and estimates of costs.

{STATED}

A SCRIPT.py that launches cuTile kernels is run on this machine, as by tileir emulate, up to the launch that is shown.
{SCRIPT_ARGUMENTS}

The page is served to this machine only, at an address that nobody can guess, until Ctrl-C. FILE may be '-' for standard
input. Exit status: 0 fine, 1 the program or the launch is wrong, 2 the command line is wrong or a file cannot be read
or written.""",
)


def run(arguments: list[str]) -> int:
    return guarded("tileir explore", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    is_script = given.operands[0].endswith(".py")
    if not is_script and len(given.operands) > 1:
        raise mistake(f"unexpected argument '{given.operands[1]}'")
    options = _Options(given, is_script)
    # This process stays: what is no longer used is collected after all.
    gc.enable()
    found = _script(given, options) if is_script else _program(given, options)
    if found is None:
        return EXIT_WRONG_INPUT
    if options.export or options.pictures:
        _write(found, options)
        return EXIT_FINE
    _serve(found, not given.has("no-browser"))
    return EXIT_FINE


class _Options:
    """What the command line asks for, looked at before anything runs."""

    def __init__(self, given: Arguments, is_script: bool) -> None:
        for option in ("grid", "arg", "entry"):
            if is_script and given.has(option):
                raise mistake(f"--{option} is for a FILE: a script says itself what it launches")
        if given.has("launch") and not is_script:
            raise mistake("--launch is for a script: a FILE is launched once")
        if given.has("blocks") and not given.has("export"):
            raise mistake("--blocks is about the page that --export writes: others show all tile blocks")
        self.export: str = given.value("export", "")
        self.pictures: list[tuple[str, str, str]] = [
            _picture(text) for name, text in given.sequence if name == "picture"
        ]
        self.record: str = given.value("record", "")
        self.compare: list[str] = [text for name, text in given.sequence if name == "compare"]
        for path in (self.export, self.record, *[path for _, _, path in self.pictures]):
            if path and path != "-":
                check_target(path)
        grid_of(given.value("grid", "1"))
        self.schedule: str | None = given.value("schedule", "") or None
        if self.schedule is not None:
            check_schedule(self.schedule)
        self.launch: int = _positive("launch", given.value("launch", "1"))
        self.limit: int | None = size_of("memory", given.value("memory", "")) if given.has("memory") else None
        looked_for: dict[str, bool | Literal["all"]] = {"mistakes": True, "all": "all", "none": False}
        self.sanitize: bool | Literal["all"] = looked_for[given.value("sanitize", "mistakes")]
        self.port: int = _port(given.value("port", "0"))
        self.targets: list[str] | None = given.value("targets", "").split(",") if given.has("targets") else None
        self.blocks: str = given.value("blocks", "")
        if self.targets is not None:
            from tileir.analyze.cost.targets import target_named

            try:
                for name in self.targets:
                    target_named(name)
            except OptionError as error:
                raise mistake(f"--targets: {error.message}") from None


def _program(given: Arguments, options: _Options) -> Exploration | None:
    program = read_program(given.operands[0], Settings(given))
    tell(program.diagnostics, given)
    if program.module is None:
        return None
    try:
        from tileir.execute.launching.entries import select_entry

        wanted = given_launch(given, program)
        entry, specifications = wanted.entry, wanted.arguments
        parameters = select_entry(program.module, entry).regions[0].blocks[0].arguments
        values = [
            argument(text, parameters[number].type if number < len(parameters) else None)
            for number, text in enumerate(specifications)
        ]
        # Without parameters, there is nothing that a launch waits for.
        runs = bool(values) or not parameters
        for option in ("record", "compare", "blocks"):
            if given.has(option) and not runs:
                raise mistake(f"--{option} is about a launch, and nothing runs: give --arg for each parameter")
        name = "standard input" if given.operands[0] == "-" else os.path.basename(given.operands[0])
        unwritten = [v for v, text in zip(values, specifications, strict=True) if text.startswith("empty:")]
        return _explored(options, program.module, wanted.grid, values if runs else None, entry, name, unwritten)
    except TileIRError as error:
        tell_error(error, given)
        return None


def _script(given: Arguments, options: _Options) -> Exploration | None:
    """Run a script up to the launch that is shown."""
    from tileir.bridge.process import begin
    from tileir.bridge.settings import Settings as ScriptSettings
    from tileir.bridge.settings import SettingsMistake
    from tileir.bridge.watching import LaunchCounter
    from tileir.tools.emulate import perform, program_of
    from tileir.tools.scripts import missing_launch

    found: list[Exploration] = []
    failures: list[Exception] = []

    def see(number: int, kernel: Any, grid: Any, args: Any) -> None:
        if number != options.launch:
            return
        try:
            found.append(_explored(options, kernel, grid, args, None, ""))
        except (TileIRError, ToolFailure) as error:
            # Not for the script to catch: it is about what was asked of this command.
            failures.append(error)

    counter = LaunchCounter(options.launch, see)
    try:
        work = program_of({}, given.operands)
    except SettingsMistake as error:
        raise mistake(str(error)) from None

    process = begin(ScriptSettings(), watcher=counter)
    try:
        perform(process, work)
    except SystemExit:
        if not found and not failures and process.status:
            return None
    except Exception:
        # A script may go on after the launch, and fail where it needs the results.
        if not found and not failures:
            raise
    for failure in failures:
        if isinstance(failure, TileIRError):
            tell_error(failure, given)
            return None
        raise failure
    if not found:
        raise missing_launch(given.operands[0], counter.count, options.launch)
    return found[0]


def _short_name(path: str, paths: Sequence[str]) -> str:
    """A file as a page names it: a page that is given away says nothing of directories, unless it must."""
    name = os.path.basename(path)
    return name if [os.path.basename(other) for other in paths].count(name) == 1 else path


def _explored(
    options: _Options,
    kernel: Any,
    grid: Any,
    args: Any,
    entry: str | None,
    title: str,
    unwritten: Sequence[object] = (),
) -> Exploration:
    # Imported here: mistakes are told sooner.
    from tileir.execute.recording.file_reader import load_recording
    from tileir.execute.recording.recording import LIMIT
    from tileir.serve.explorer.exploring import Exploration
    from tileir.serve.explorer.opening import launch_of, opened

    launch = launch_of(kernel, grid, args, entry, title)
    limit = options.limit if options.limit is not None else LIMIT
    try:
        others = {_short_name(path, options.compare): load_recording(path) for path in options.compare}
    except OSError as error:
        raise ToolFailure(f"cannot read '{error.filename}': {error.strerror}", EXIT_USAGE) from None
    made = opened(
        launch,
        limit=limit,
        schedule=options.schedule,
        targets=options.targets,
        compare=others,
        uninitialized=unwritten,
        sanitize=options.sanitize,
    )
    if options.record and made.recording is not None:
        try:
            made.recording.save(options.record)
        except OSError as error:
            raise ToolFailure(f"cannot write '{options.record}': {error.strerror}", EXIT_USAGE) from None
    return Exploration(made, options.port)


def _write(found: Exploration, options: _Options) -> None:
    for array, colour, path in options.pictures:
        write_output(path, found.picture(array or None, colour or "block"))
    if not options.export:
        return
    count = int(found.answer("summary")["recording"]["order"]["shape"][0])
    page = found.page(blocks=_blocks(options.blocks, count) if options.blocks else None)
    write_output(options.export, page.text)
    if options.export != "-":
        size = len(page.text.encode())
        print(f"{harmless(options.export)}: {size / 1e6:.1f} MB, values of {len(page.blocks)} of {count} tile blocks")
    for note in page.notes:
        print(harmless(note), file=sys.stderr)


def _serve(found: Exploration, opens: bool) -> None:
    """Until the user interrupts, or whoever started this asks it to end."""
    try:
        url = found.url
    except OSError as error:
        raise ToolFailure(f"cannot serve the page: {error.strerror or error}", EXIT_USAGE) from None

    def end(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), end)
    try:
        print(f"{url}\nCtrl-C ends it.", flush=True)
        if opens and not found.open():
            print("There is no browser to open: visit the address above.", file=sys.stderr)
        found.wait()
    except KeyboardInterrupt:
        # As it should end.
        found.close()


# --- what the command line says ---


def _picture(text: str) -> tuple[str, str, str]:
    """Array, colour and file of `--picture`."""
    what, equals, path = text.rpartition("=")
    array, _, colour = what.partition(":")
    if not path or (equals and not array):
        raise mistake(f"'--picture {text}' makes no sense: give a file, or an array and a file, as c=memory.svg")
    if path != "-" and not path.endswith(".svg"):
        raise mistake(f"'--picture {text}': pictures are written as .svg; the page saves .png as well")
    return array, colour, path


def _positive(name: str, text: str) -> int:
    number = natural(text)
    if not number:
        raise mistake(f"'--{name} {text}': give a number from 1 on")
    return number


def _port(text: str) -> int:
    number = natural(text)
    if number is None or number > 65535:
        raise mistake(f"'--port {text}' is no port: give a number up to 65535")
    return number


def _blocks(text: str, count: int) -> list[int]:
    """The tile blocks of a list, by number."""
    if text == "all":
        return list(range(count))
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        begin, end = natural(first.strip()), natural(last.strip()) if dash else natural(first.strip())
        if begin is None or end is None or end < begin:
            raise mistake(f"'--blocks {text}' is no list of tile blocks: give numbers and ranges, as 0,7,16-31")
        if end >= count:
            raise mistake(f"'--blocks {text}': there is no tile block {end}: they are counted from 0 to {count - 1}")
        found.extend(range(begin, end + 1))
    return found
