"""`tileir explore`: a launch as a page in the browser, or in a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from tileir.analyze.cost.targets import target_named
from tileir.execute.arguments.argument_text import grid_of, natural
from tileir.execute.launching.entries import select_entry
from tileir.execute.schedule import check_schedule
from tileir.ir.diagnostics import TileIRError
from tileir.ir.quoting import harmless
from tileir.terminal import Progress, launch_bar
from tileir.tools import options
from tileir.tools.arguments import EXIT_INTERRUPTED, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import SYSTEM, command, refusing, stay
from tileir.tools.cutile.emulate import run_script
from tileir.tools.input import is_script, read_program, script_arguments
from tileir.tools.launches import STATED, given_launch, made_arguments, uninitialized
from tileir.tools.output import check_target, write_output
from tileir.tools.scripts import missing_launch

if TYPE_CHECKING:
    from tileir.serve.explorer.exploring import Exploration

USAGE = Usage(
    "tileir explore",
    "FILE|SCRIPT.py",
    (
        "tileir explore examples/histogram.mlir --grid 8 --arg rand:i32:1000 --arg zeros:i32:100 --arg 1000",
        "tileir explore examples/cutile_script.py --html page.html --target h200 -- --rows 8",
    ),
    (
        *options.LAUNCHING,
        options.SCHEDULE,
        options.LAUNCH.with_help("of a script, the launch to show, counted from 1 (default: the first)"),
        options.HTML.with_help("write the page to a file that needs no server, instead of serving it"),
        Option("--blocks LIST", "tile blocks whose values the page of --html carries, as 0,7,16-31, or all"),
        Option(
            "--picture [ARRAY[:COLOR]=]FILE.svg", "draw an array (default: the first written) by block, time, count"
        ),
        Option("--compare FILE", "a recording, as --record writes it, to compare with this launch; may be repeated"),
        Option("--sanitize[=errors|all|none]", "what the sanitizer reports (default: errors), as in tileir run"),
        Option("--record FILE", "write the recording of the launch to a file"),
        options.TARGET.with_help("what costs are estimated for, as h200 or sm_90; may be repeated (default: all)"),
        options.RECORDING_LIMIT,
        Option("--port N", "where the page is served on 127.0.0.1 (default: a port that is free)"),
        Option("--no-browser", "print the address of the page and open no browser"),
        *options.READING,
    ),
    f"""\
Arguments are those of 'tileir run --help'. Without any, a kernel that has parameters does not run, and the page shows
the program at its stages, and estimates of costs. {STATED}

A SCRIPT.py that launches kernels of cuTile or Triton is run here, as by tileir emulate, up to the launch that is shown.
{options.SCRIPT_ARGUMENTS}

The page is served to this machine only, at an address that nobody can guess, until Ctrl-C.""",
    most=-1,
)

_PORTS = (0, 65535)
_SANITIZE: dict[str, bool | Literal["all"]] = {"errors": True, "all": "all", "none": False}


@command(USAGE)
def run(given: Arguments) -> None:
    script_arguments(given, "grid", "arg", "entry")
    _check(given)
    stay()
    found = _script(given) if is_script(given.operands[0]) else _program(given)
    if given.has("html") or given.has("picture"):
        _write(found, given)
    else:
        _serve(found, not given.has("no-browser"))


def _check(given: Arguments) -> None:
    """Refuse what makes no sense before anything runs."""
    if not given.has("html"):
        given.refuse(("blocks",), "is about the page that --html writes: others show all tile blocks")
    pictures = [path for _, _, path in map(_picture, given.values("picture"))]
    for path in (given.value("html"), given.value("record"), *pictures):
        check_target(path or "-")
    grid_of(given.value("grid", "1"))
    check_schedule(given.value("schedule", "forward"))
    given.size("memory-limit", 0)
    given.number("port", 0, *_PORTS)
    with refusing("--target: "):
        for name in given.names("target"):
            target_named(name)


def _program(given: Arguments) -> Exploration:
    program = read_program(given.operands[0], given)
    module = program.checked(given)
    description = given_launch(given, program)
    entry = select_entry(module, description.entry)
    values = made_arguments(entry, description.arguments)
    # Without parameters, there is nothing that a launch waits for.
    runs = bool(values) or not entry.regions[0].blocks[0].arguments
    if not runs:
        why = "is about a launch, and nothing runs: give --arg for each parameter"
        given.refuse(("record", "compare", "blocks"), why)
    title = "standard input" if given.operands[0] == "-" else os.path.basename(given.operands[0])
    unwritten = uninitialized(values, description.arguments)
    return _explored(given, (module, description.grid, values if runs else None, description.entry, title), unwritten)


def _script(given: Arguments) -> Exploration:
    """Run a script up to the launch that is shown."""
    from tileir.bridge.watching import LaunchCounter

    selected = given.number("launch", 1)
    found: list[Exploration] = []
    failures: list[Exception] = []

    def see(number: int, kernel: Any, grid: Any, args: Any) -> None:
        if number != selected:
            return
        try:
            found.append(_explored(given, (kernel, grid, args, None, "")))
        except (TileIRError, ToolFailure) as error:
            # Not for the script to catch: it is about this command's work.
            failures.append(error)

    counter = LaunchCounter(selected, see)
    status = run_script(given.operands, counter)
    if status == EXIT_INTERRUPTED:
        raise KeyboardInterrupt
    # A script may go on after the launch, and fail where it needs the results.
    for failure in failures:
        raise failure
    if found:
        return found[0]
    if status:
        raise ToolFailure(f"the script '{given.operands[0]}' fails, with status {status}", EXIT_WRONG_INPUT)
    raise missing_launch(given.operands[0], counter.count, selected)


def _explored(given: Arguments, parts: tuple[Any, ...], unwritten: Sequence[object] = ()) -> Exploration:
    """A launch as a page; `parts` are its kernel, grid, arguments and entry, and the title of the page."""
    # Imported here: errors of the command line are reported sooner.
    from tileir.execute.recording.file_reader import load as load_recording
    from tileir.execute.recording.recording import LIMIT
    from tileir.serve.explorer.exploring import Exploration
    from tileir.serve.explorer.opening import launch_of, opened

    launch = launch_of(*parts)
    # A page may be shared: it shows directories only where names are equal.
    compared = given.values("compare")
    names = [os.path.basename(path) for path in compared]
    others = {}
    for name, path in zip(names, compared, strict=True):
        with refusing(f"cannot read '{path}': ", OSError):
            others[name if names.count(name) == 1 else path] = load_recording(path)
    with Progress() as progress:
        progress.step("recording the launch")
        bar = launch_bar(progress)
        made = opened(
            launch,
            limit=given.size("memory-limit", LIMIT),
            schedule=given.value("schedule") or None,
            targets=given.names("target") or None,
            compare=others,
            uninitialized=unwritten,
            sanitize=_SANITIZE[given.value("sanitize", "errors")],
            progress=bar,
        )
    record = given.value("record")
    if record and made.recording is not None:
        with refusing(f"cannot write '{record}': ", SYSTEM):
            made.recording.save(record)
    return Exploration(made, given.number("port", 0, *_PORTS))


def _write(found: Exploration, given: Arguments) -> None:
    for array, color, path in map(_picture, given.values("picture")):
        write_output(path, found.picture(array or None, color or "block"))
    target, blocks = given.value("html"), given.value("blocks")
    if not target:
        return
    count = int(found.answer("summary")["recording"]["order"]["shape"][0])
    with Progress() as progress:
        progress.step(f"writing {harmless(target)}")
        page = found.page(blocks=_blocks(blocks, count) if blocks else None)
    write_output(target, page.text)
    if target != "-":
        size = len(page.text.encode())
        print(f"{harmless(target)}: {size / 1e6:.1f} MB, values of {len(page.blocks)} of {count} tile blocks")
    for note in page.notes:
        print(harmless(note), file=sys.stderr)


def _serve(found: Exploration, opens: bool) -> None:
    """Serve the page until the user interrupts, or a signal ends the process."""
    with refusing("cannot serve the page: ", SYSTEM):
        url = found.url
    stay(interruptible=True)
    try:
        print(f"{url}\nCtrl-C ends it.", flush=True)
        if opens and not found.open():
            print("There is no browser to open: visit the address above.", file=sys.stderr)
        found.wait()
    except KeyboardInterrupt:
        # As it should end.
        found.close()


def _picture(text: str) -> tuple[str, str, str]:
    """Array, color and file of `--picture`."""
    subject, equals, path = text.rpartition("=")
    array, _, color = subject.partition(":")
    if not path or (equals and not array):
        raise ToolFailure(f"'--picture {text}' makes no sense: give a file, or an array and a file, as c=memory.svg")
    if path != "-" and not path.endswith(".svg"):
        raise ToolFailure(f"'--picture {text}': pictures are written as .svg; the page saves .png as well")
    return array, color, path


def _blocks(text: str, count: int) -> list[int]:
    """The tile blocks of a list, by number."""
    if text == "all":
        return list(range(count))
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        begin, end = natural(first.strip()), natural((last if dash else first).strip())
        if begin is None or end is None or end < begin:
            raise ToolFailure(f"'--blocks {text}' is no list of tile blocks: give numbers and ranges, as 0,7,16-31")
        if end >= count:
            raise ToolFailure(f"'--blocks {text}': there is no tile block {end}: they go from 0 to {count - 1}")
        found.extend(range(begin, end + 1))
    return found
