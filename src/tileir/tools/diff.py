"""`tileir diff`: what is different about two programs, in structure and in what they compute."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING

from tileir.execute.argument_words import natural
from tileir.ir.escapes import harmless
from tileir.tools.arguments import COLOR, EXIT_FINE, EXIT_USAGE, EXIT_WRONG_INPUT, Arguments, Option, Usage
from tileir.tools.arrays import mistake
from tileir.tools.programs import READING_OPTIONS, Program, Settings, guarded, read_program, tell

if TYPE_CHECKING:
    from tileir.analyze.difference.difference import ProgramDifference

USAGE = Usage(
    "tileir diff",
    "Shows what is different about two programs: operations removed, added, moved, changed, renamed.",
    "FILE OTHER",
    (
        Option("side-by-side", "both programs beside each other (default)", short="y"),
        Option("unified", "one below the other, as diff -u", short="u"),
        Option("summary", "one sentence", short="s"),
        Option("json", "one JSON object"),
        Option("context", "how many lines to show around differences, or all (default: 3)", value="LINES"),
        Option("width", "the width of both columns together (default: that of the terminal)", value="COLUMNS"),
        Option("names", "whether names count: of functions, and those given to values", choices=("count", "ignore")),
        Option("locations", "locations that the programs state count, too"),
        COLOR,
        *READING_OPTIONS,
    ),
    least=2,
    most=2,
    details="""\
Both are text or bytecode, of any version; one of them may be '-' for standard input. Operations go together by what
they are computed from and what they are used for, functions by name. Signs between the columns: | changed, < removed,
> added, ^ and v moved: they point to where the operation is in the other program.

Exit status: 0 no difference, 1 there are differences, 2 trouble: a program or the command line is wrong.""",
)
_FORMS = ("side-by-side", "unified", "summary", "json")
_WIDTH_OF_A_PIPE = 160


def run(arguments: list[str]) -> int:
    status = guarded("tileir diff", _run, arguments)
    return status


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    chosen = [form for form in _FORMS if given.has(form)]
    if len(chosen) > 1:
        raise mistake(f"--{chosen[0]} and --{chosen[1]} exclude each other")
    form = chosen[0] if chosen else _FORMS[0]
    context, width = _context(given), _width(given)
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
    sys.stdout.write(_text(difference, form, width, context, given.wants_colour(sys.stdout)))
    return EXIT_WRONG_INPUT if difference else EXIT_FINE


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
    left, right = [read_program(path, Settings(given)) for path in given.operands]
    for program in (left, right):
        tell(program.diagnostics, given)
    return None if left.module is None or right.module is None else (left, right)
