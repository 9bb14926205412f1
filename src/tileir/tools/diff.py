"""`tileir diff`: what is different about two programs, in structure and in what they compute."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING

from tileir.execute.arguments.argument_text import natural
from tileir.ir.quoting import harmless
from tileir.tools.arguments import COLOR, EXIT_FINE, EXIT_USAGE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.arrays import given_launch, grid_of, mistake, stated_launch
from tileir.tools.guard import in_child
from tileir.tools.programs import READING_OPTIONS, Program, Settings, guarded, read_program, tell
from tileir.tools.time_limit import limited, seconds_of

if TYPE_CHECKING:
    from tileir.analyze.difference.difference import ProgramDifference
    from tileir.execute.arguments.argument_text import LaunchWords

USAGE = Usage(
    "tileir diff",
    "Shows what is different about two programs: operations removed, added, moved, changed, renamed.",
    "FILE|SCRIPT.py OTHER",
    (
        Option("side-by-side", "both programs beside each other (default)", short="y"),
        Option("unified", "one below the other, as diff -u", short="u"),
        Option("summary", "one sentence", short="s"),
        Option("json", "one JSON object"),
        Option("context", "how many lines to show around differences, or all (default: 3)", value="LINES"),
        Option("width", "the width of both columns together (default: that of the terminal)", value="COLUMNS"),
        Option("names", "whether names count: of functions, and those given to values", choices=("count", "ignore")),
        Option("locations", "locations that the programs state count, too"),
        Option("semantic", "run both on the same arguments, and show which results differ and where that begins"),
        Option("runs", "how often, with other random arguments each time (default: 3)", value="N"),
        Option("seed", "of random arguments (default: 0)", value="N"),
        Option("entry", "the kernel to run (default: all that both have)", value="NAME"),
        Option("grid", "the number of tile blocks along x, y and z", value="X[,Y[,Z]]"),
        Option("arg", "an argument, as for tileir run; repeat for each parameter, in order", value="WHAT"),
        Option(
            "backend", "the engine: cpu, interpreter, another one (see tileir info), or auto (default)", value="NAME"
        ),
        Option("timeout", "stop runs that take longer; exit status 124", value="SECONDS"),
        COLOR,
        *READING_OPTIONS,
    ),
    least=2,
    most=2,
    details="""\
Both are text or bytecode, of any version; one of them may be '-' for standard input. A SCRIPT.py that launches one
cuTile kernel is run on this machine, as by tileir emulate. Operations go together by what they are computed from and
what they are used for, functions by name. Signs between the columns: | changed, < removed, > added, ^ and v moved: they
point to where the operation is in the other program.

With --semantic arguments are those of --grid and --arg, else those that a comment at the top of a program states, else
random ones that are found by trying. Only results count then, also for the exit status.

Exit status: 0 no difference, 1 there are differences, 2 trouble: a program or the command line is wrong.""",
)
_FORMS = ("side-by-side", "unified", "summary", "json")
_WIDTH_OF_A_PIPE = 160


def run(arguments: list[str]) -> int:
    return guarded("tileir diff", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    chosen = [form for form in _FORMS if given.has(form)]
    if len(chosen) > 1:
        raise mistake(f"--{chosen[0]} and --{chosen[1]} exclude each other")
    form = chosen[0] if chosen else _FORMS[0]
    context, width = _context(given), _width(given)
    _check_launch(given, form)
    seconds = seconds_of(given.value("timeout", "")) if given.has("timeout") else None
    if not given.has("semantic"):
        return _compare(given, form, width, context)

    def work(_: object = None) -> int:
        return limited(seconds, lambda: _compare(given, form, width, context))

    # A run can be ended at any time only with its process.
    return work() if seconds is None else in_child(lambda: guarded("tileir diff", work, arguments), seconds)


def _check_launch(given: Arguments, form: str) -> None:
    for option in ("runs", "seed", "entry", "grid", "arg", "backend", "timeout"):
        if given.has(option) and not given.has("semantic"):
            raise mistake(f"--{option} is about running the programs: add --semantic")
    if given.has("semantic") and form in ("unified", "summary"):
        raise mistake(f"--semantic shows results, and --{form} the programs")
    grid_of(given.value("grid", "1"))


def _compare(given: Arguments, form: str, width: int, context: int | None) -> int:
    programs = _programs(given)
    if programs is None:
        return EXIT_USAGE
    from tileir.analyze.difference.difference import ProgramDifference

    left, right = programs
    assert left.module is not None and right.module is not None
    difference = ProgramDifference(
        left.module,
        right.module,
        names=given.value("names", "count") == "count",
        locations=given.has("locations"),
        titles=(given.operands[0], given.operands[1]),
    )
    if given.has("semantic"):
        return _run_both(given, difference, left, right)
    sys.stdout.write(_text(difference, form, width, context, given.wants_colour(sys.stdout)))
    return EXIT_WRONG_INPUT if difference else EXIT_FINE


def _run_both(given: Arguments, difference: ProgramDifference, left: Program, right: Program) -> int:
    """Compare what the programs compute."""
    from tileir.dialect.ops import ENTRY
    from tileir.execute.engine.registry import AUTO, find_engine
    from tileir.ir.diagnostics import TileIRError
    from tileir.ir.traversal import functions

    backend = given.value("backend", AUTO)
    if backend != AUTO:
        find_engine(backend)
    launches: dict[str, LaunchWords] = {}
    for kernel in functions(difference.left):
        name = kernel.symbol_name or ""
        partner = difference.partner(kernel)
        stated = stated_launch(left.text, name)
        if stated is None and partner is not None:
            stated = stated_launch(right.text, partner.symbol_name)
        if given.has("arg") or given.has("grid"):
            stated = given_launch(given, left)
            if not stated.arguments and kernel.regions[0].blocks[0].arguments:
                raise mistake("--grid alone is no launch: give --arg for each parameter, too")
        if kernel.declaration is ENTRY and stated is not None:
            launches[name] = stated
    try:
        found = difference.semantic(
            runs=_number(given, "runs", 3, 1),
            seed=_number(given, "seed", 0, 0),
            backend=backend,
            entry=given.value("entry", "") or None,
            launch=launches,
        )
    except TileIRError as error:
        raise ToolFailure(error.message, EXIT_USAGE) from None
    print(json.dumps(found.to_dict()) if given.has("json") else harmless(found.text(), keep="\n"))
    return EXIT_WRONG_INPUT if found else EXIT_FINE


def _number(given: Arguments, option: str, default: int, least: int) -> int:
    text = given.value(option, str(default))
    number = natural(text)
    if number is None or number < least:
        raise mistake(f"'--{option} {text}' is no number from {least} on")
    return number


def _text(difference: ProgramDifference, form: str, width: int, context: int | None, color: bool) -> str:
    if form == "json":
        return json.dumps(difference.to_dict()) + "\n"
    if form == "summary":
        return harmless(difference.summary()) + "\n"
    if not difference:
        return ""
    if form == "unified":
        return difference.unified(color, context)
    return f"{difference.side_by_side(width, color, context)}\n{harmless(difference.summary())}\n"


def _context(given: Arguments) -> int | None:
    text = given.value("context", "3")
    number = natural(text)
    if number is None and text != "all":
        raise mistake(f"'{text}' is no number of lines: give one, or all")
    return number


def _width(given: Arguments) -> int:
    if not given.has("width"):
        return shutil.get_terminal_size((_WIDTH_OF_A_PIPE, 24)).columns if sys.stdout.isatty() else _WIDTH_OF_A_PIPE
    number = natural(given.value("width", ""))
    if number is None or number < 40:
        raise mistake(f"'{given.value('width', '')}' is no width: give a number of columns from 40 on")
    return number


def _programs(given: Arguments) -> tuple[Program, Program] | None:
    if given.operands == ["-", "-"]:
        raise mistake("standard input can be one of the programs, not both")
    try:
        choose = "'tileir as {} --launch N -o k.tileirbc'"
        left, right = [read_program(path, Settings(given), choose=choose.format(path)) for path in given.operands]
    except ToolFailure as failure:
        # As with diff, 1 says that there are differences.
        raise ToolFailure(failure.message, EXIT_USAGE) from None
    for program in (left, right):
        tell(program.diagnostics, given)
    return None if left.module is None or right.module is None else (left, right)
