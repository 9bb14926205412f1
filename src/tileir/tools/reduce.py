"""`tileir reduce`: a program made smaller while a command keeps succeeding."""

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING

from tileir.ir.escapes import harmless
from tileir.tools.arguments import (
    COLOR,
    EXIT_FINE,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    EXIT_WRONG_INPUT,
    Arguments,
    Option,
    Usage,
)
from tileir.tools.output import check_target, write_bytes, write_output
from tileir.tools.programs import BYTECODE, READING_OPTIONS, Settings, ToolFailure, guarded, read_program, tell
from tileir.tools.time_limit import seconds_of

if TYPE_CHECKING:
    from tileir.analyze.reducing.commands import Ended
    from tileir.analyze.reducing.reduce import Progress

USAGE = Usage(
    "tileir reduce",
    "Makes a Tile IR program smaller while a command keeps succeeding on it.",
    "FILE",
    (
        Option("interesting", "the command; it gets the path of a candidate, and 0 says yes", value="CMD"),
        Option("shell", "CMD is for the shell; without it, it is split into words"),
        Option("timeout", "the seconds a command may take (default: 60)", value="SECONDS"),
        Option("output", "where to write the result (default: standard output)", value="OUT", short="o"),
        Option("jobs", "how many candidates are tested at a time (default: 1)", value="N", short="j"),
        Option("state", "keep what was found out there, and go on from it", value="DIR"),
        Option("quiet", "show no progress", short="q"),
        COLOR,
        *READING_OPTIONS,
    ),
    details="""\
The path of the candidate takes the place of {} in CMD, or comes last. The result does not depend on --jobs. Ctrl-C
ends the search; the best program so far is written. Exit status: 0 fine, 1 the program has errors or the command does
not succeed on it, 2 the command line is wrong or a file cannot be read or written, 130 interrupted.""",
)

_TIMEOUT = 60.0


def run(arguments: list[str]) -> int:
    return guarded("tileir reduce", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    words = _command(given)
    timeout = seconds_of(given.value("timeout", str(_TIMEOUT)))
    jobs = _jobs(given)
    output = given.value("output", "-")
    if output != "-":
        check_target(output)
    program = read_program(given.operands[0], Settings(given))
    tell(program.diagnostics, given)
    if program.module is None:
        return EXIT_WRONG_INPUT
    # Imported here: mistakes are told without it.
    from tileir.analyze.reducing.commands import Command, CommandTest, succeeds
    from tileir.analyze.reducing.files import ProgramFile
    from tileir.analyze.reducing.program import Program
    from tileir.analyze.reducing.reduce import NotInterestingError, search_program
    from tileir.analyze.reducing.verdicts import StoredVerdicts, Verdicts
    from tileir.bytecode.origin import origin_of
    from tileir.ir.declaration import NEWEST

    form = ProgramFile()
    if program.kind == BYTECODE:
        origin = origin_of(program.module)
        form = ProgramFile(NEWEST if origin is None else origin.version)
    ends: list[Ended] = []

    def judge(ended: Ended) -> bool:
        ends[:] = [ended]
        return succeeds(ended)

    original = Program.original(program.module)
    about = {"program": original.digest().hex(), "test": " ".join(words)}
    verdicts = StoredVerdicts(given.value("state", ""), about) if given.has("state") else Verdicts()
    test = CommandTest(Command(words, timeout, form.extension), form.data, judge)
    shown = _Shown(given)
    try:
        found = search_program(original, test, jobs, verdicts, shown)
    except NotInterestingError:
        print(_not_interesting(words, ends), file=sys.stderr)
        return EXIT_WRONG_INPUT
    except FileNotFoundError as error:
        raise ToolFailure(f"cannot run '{error.filename}': there is no such command", EXIT_USAGE) from None
    except PermissionError as error:
        raise ToolFailure(f"cannot run '{error.filename}': it may not be executed", EXIT_USAGE) from None
    shown.end(found.operations, found.original, found.tests)
    data = form.data(Program(found.module))
    assert data is not None
    if form.version is None:
        write_output(output, data.decode("utf-8", "surrogateescape"))
    else:
        write_bytes(output, data)
    if not found.complete:
        where = "" if output == "-" else f" in '{harmless(output)}'"
        print(f"tileir reduce: interrupted; the best program so far is{where or ' above'}", file=sys.stderr)
        return EXIT_INTERRUPTED
    return EXIT_FINE


def _command(given: Arguments) -> list[str]:
    line = given.value("interesting", "")
    if not line.strip():
        raise ToolFailure("say what is interesting: '--interesting CMD'", EXIT_USAGE)
    if given.has("shell"):
        from tileir.analyze.reducing.commands import shell_words

        return shell_words(line)
    try:
        return shlex.split(line)
    except ValueError as error:
        raise ToolFailure(f"'{line}' is no command line: {error}", EXIT_USAGE) from None


def _jobs(given: Arguments) -> int:
    text = given.value("jobs", "1")
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= 1024):
        raise ToolFailure(f"'{text}' is no number of jobs: give one from 1 to 1024", EXIT_USAGE)
    return int(text)


def _not_interesting(words: list[str], ends: list[Ended]) -> str:
    lines = ["tileir reduce: the program is not interesting to begin with"]
    if ends:
        shown = " ".join([shlex.quote(word) for word in words])
        lines = [f"{lines[0]}: the command {ends[0].words}", f"  command: {harmless(shown)}"]
        printed = ends[0].output.rstrip()
        lines.append("  it printed nothing" if not printed else "  it printed:")
        lines += ["    " + harmless(line) for line in printed.splitlines()[-20:]]
    return "\n".join(lines)


class _Shown:
    """Progress for people: one line that changes on a terminal, a line for every so many seconds elsewhere."""

    def __init__(self, given: Arguments) -> None:
        self._quiet: bool = given.has("quiet")
        self._terminal: bool = sys.stderr.isatty()
        self._pause: float = 0.1 if self._terminal else 10.0
        self._start: float = time.monotonic()
        self._next: float = self._start + self._pause

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if self._quiet or now < self._next:
            return
        self._next = now + self._pause
        self._write(progress.operations, progress.original, progress.tests)

    def _write(self, operations: int, original: int, tests: int) -> None:
        seconds = time.monotonic() - self._start
        line = f"{operations} of {original} operations, {tests} tests, {seconds:.0f} s"
        sys.stderr.write(f"\r\x1b[K{line}" if self._terminal else f"tileir reduce: {line}\n")
        sys.stderr.flush()

    def end(self, operations: int, original: int, tests: int) -> None:
        if not self._quiet:
            self._write(operations, original, tests)
            if self._terminal:
                sys.stderr.write("\n")
