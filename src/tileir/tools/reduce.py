"""`tileir reduce`: a program made smaller while a command keeps succeeding."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tileir.ir.diagnostics import OptionError
from tileir.ir.quoting import harmless
from tileir.tools.arguments import (
    COLOR,
    EXIT_FINE,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    EXIT_WRONG_INPUT,
    Arguments,
    Option,
    ToolFailure,
    Usage,
)
from tileir.tools.output import check_target, write_bytes, write_output
from tileir.tools.programs import (
    READING_OPTIONS,
    STANDARD_INPUT,
    Settings,
    guarded,
    program_in,
    read_bytes,
    refuse_script,
    tell,
)
from tileir.tools.time_limit import seconds_of

if TYPE_CHECKING:
    from tileir.analyze.reducing.program import Program, ProgramFile
    from tileir.analyze.reducing.verdicts import Verdicts
    from tileir.execute.arguments.argument_text import LaunchWords
    from tileir.tools.interesting import Interest

USAGE = Usage(
    "tileir reduce",
    "Makes a Tile IR program smaller while it stays interesting.",
    "FILE",
    (
        Option("interesting", "a command; it gets the path of a candidate, and 0 says yes", value="CMD"),
        Option("shell", "CMD is for the shell; without it, it is split into words"),
        Option("crashes", "tileiras, or an engine that runs the kernel, crashes or takes too long", value="WHAT"),
        Option("target", "the GPU that tileiras compiles for (default: sm_90)", value="GPU"),
        Option("differs", "two engines give different results: --differs interpreter cpu", value="ENGINES"),
        Option("message", "this is said by the check, or by what --crashes, --backend or --passes name", value="TEXT"),
        Option("backend", "the engine that says it", value="NAME"),
        Option("passes", "the passes that crash, or say it", value="PIPELINE"),
        Option("grid", "the number of tile blocks of a launch, as for tileir run", value="X[,Y[,Z]]"),
        Option("entry", "the kernel to launch (default: the only one)", value="NAME"),
        Option("arg", "an argument of the launch, as for tileir run", value="WHAT"),
        Option("timeout", "the seconds a test may take (default: 60)", value="SECONDS"),
        Option("output", "where to write the result (default: standard output)", value="OUT", short="o"),
        Option("jobs", "how many candidates are tested at a time (default: 1)", value="N", short="j"),
        Option("state", "keep what was found out there, and go on from it", value="DIR"),
        Option("allow-invalid", "candidates need not be valid: also lines, words and bytes are taken away"),
        Option("quiet", "show no progress", short="q"),
        COLOR,
        *READING_OPTIONS,
    ),
    details="""\
The path of the candidate takes the place of {} in CMD, or comes last. The arguments of a launch are those of --arg, of
a comment '// tileir: --grid 4 --arg ..' at the top of FILE, or random. The result does not depend on --jobs. Ctrl-C
ends the search; the best program so far is written. Exit status: 0 fine, 1 the program has errors or is not interesting
itself, 2 the command line is wrong or a file cannot be read or written, 130 interrupted.""",
)

_TIMEOUT = 60.0


def run(arguments: list[str]) -> int:
    return guarded("tileir reduce", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(_joined(arguments))
    if given.status is not None:
        return given.status
    # Imported here: who asks for help does not wait for it.
    from tileir.tools.interesting import cannot_run, check_ways

    check_ways(given)
    output = given.value("output", "-")
    if output != "-":
        check_target(output)
    try:
        return _Reducing(given, output).run()
    except (FileNotFoundError, PermissionError) as error:
        raise cannot_run(error) from None


def _joined(arguments: list[str]) -> list[str]:
    """`--differs A B` names two engines; all other options have one value."""
    found = list(arguments)
    for place, word in enumerate(found[:-2]):
        if word == "--differs" and "," not in found[place + 1] and not found[place + 2].startswith("-"):
            found[place + 1 : place + 3] = [f"{found[place + 1]},{found[place + 2]}"]
            break
    return found


class _Reducing:
    """One run of the tool: the file, what is interesting about it, and what it comes to."""

    def __init__(self, given: Arguments, output: str) -> None:
        self._given: Arguments = given
        self._output: str = output
        self._jobs: int = _jobs(given)
        self._timeout: float = seconds_of(given.value("timeout", str(_TIMEOUT)))
        self._path: str = given.operands[0]
        refuse_script(self._path, "'tileir as {} -o k.tileirbc' writes the program of its kernel")
        self._data: bytes = read_bytes(self._path)
        self._invalid: bool = given.has("allow-invalid")
        self._shown: _Shown = _Shown(given)

    def run(self) -> int:
        from tileir.analyze.reducing.search import NotInterestingError
        from tileir.tools.interesting import interest_of

        original, valid = self._read()
        if original is None and not self._invalid:
            # Told already.
            return EXIT_WRONG_INPUT
        form = self._form(original)
        launch = self._launch(original)
        if launch is not None:
            form.launches[:] = [launch]
        if original is not None and len(form.launches) == 1:
            original.grid = form.launches[0].grid
        interest = interest_of(self._given, form, original, launch, self._timeout)
        verdicts = self._verdicts(interest)
        try:
            data, complete = self._reduced(original, valid, form, interest, verdicts)
        except NotInterestingError:
            print(f"tileir reduce: the program is not interesting to begin with: {interest.why_not()}", file=sys.stderr)
            return EXIT_WRONG_INPUT
        finally:
            verdicts.close()
        return self._write(data, complete)

    def _read(self) -> tuple[Program | None, bool]:
        """The program, if there is one, and whether it is valid."""
        from tileir.analyze.reducing.program import Program
        from tileir.interface import load
        from tileir.ir.diagnostics import TileIRError

        settings = Settings(self._given)
        read = program_in(self._data, STANDARD_INPUT if self._path == "-" else self._path, settings)
        if read.module is not None:
            tell(read.diagnostics, self._given)
            return Program.original(read.module), True
        if not self._invalid:
            tell(read.diagnostics, self._given)
            print("tileir reduce: with --allow-invalid, what is no valid program is reduced too", file=sys.stderr)
            return None, False
        try:
            return Program.original(load(self._data, verify=False)), False
        except TileIRError:
            return None, False

    def _form(self, original: Program | None) -> ProgramFile:
        from tileir.analyze.reducing.program import ProgramFile, stated_launches
        from tileir.bytecode import is_bytecode
        from tileir.bytecode.container import origin_of
        from tileir.interface import from_bytecode
        from tileir.ir.versions import NEWEST

        if not is_bytecode(self._data):
            text = self._data.decode("utf-8", "surrogateescape")
            return ProgramFile(launches=[] if original is None else stated_launches(text, original))
        if original is None:
            return ProgramFile(NEWEST)
        origin = origin_of(from_bytecode(self._data, verify=False))
        return ProgramFile(NEWEST if origin is None else origin.version)

    def _launch(self, original: Program | None) -> LaunchWords | None:
        """What the kernel is launched with: as given, as stated, or random."""
        from tileir.tools.interesting import needs_launch

        given = self._given
        if not needs_launch(given):
            return None
        # It says what to install where NumPy is missing.
        from tileir.execute.launching import kernel as _  # noqa: F401

        if original is None:
            raise ToolFailure("what cannot be read cannot be launched", EXIT_WRONG_INPUT)
        from tileir.analyze.random_arguments import random_launch
        from tileir.execute.arguments.argument_text import LaunchWords, grid_of, stated_launch
        from tileir.execute.launching.entries import select_entry

        entry = select_entry(original.module, given.options.get("entry"))
        name = given.options.get("entry")
        arguments = [value for option, value in given.sequence if option == "arg"]
        if arguments or given.has("grid"):
            return LaunchWords(grid_of(given.value("grid", "1")), arguments, name)
        text = self._data.decode("utf-8", "surrogateescape")
        stated = stated_launch(text, entry.symbol_name)
        if stated is not None:
            return LaunchWords(stated.grid, stated.arguments, name if name is not None else stated.entry)
        words = random_launch(entry, 0).words
        return LaunchWords(words.grid, words.arguments, name)

    def _verdicts(self, interest: Interest) -> Verdicts:
        import hashlib

        from tileir.analyze.reducing.verdicts import StoredVerdicts, Verdicts

        if not self._given.has("state"):
            return Verdicts()
        about = {"program": hashlib.sha256(self._data).hexdigest(), "test": interest.about}
        about["candidates"] = "any" if self._invalid else "valid"
        try:
            return StoredVerdicts(self._given.value("state", ""), about)
        except OptionError as error:
            raise ToolFailure(error.message, EXIT_USAGE) from None

    def _reduced(
        self, original: Program | None, valid: bool, form: ProgramFile, interest: Interest, verdicts: Verdicts
    ) -> tuple[bytes, bool]:
        """The contents of the smallest file, and whether the search came to its end."""
        from tileir.analyze.reducing.reduce import ProgramKind, search_contents, search_program
        from tileir.analyze.reducing.search import NotInterestingError

        data, complete = self._data, True
        if original is not None:
            count = len(original.operations)

            def words(best: Program) -> str:
                size = len(form.data(best) or b"")
                return f"{len(best.operations)} of {count} operations, {size} of {len(self._data)} bytes"

            try:
                found = search_program(
                    original,
                    ProgramKind(valid, form),
                    interest.programs,
                    self._jobs,
                    verdicts,
                    lambda search: self._shown.tell(lambda: words(search.best), search.tests),
                )
            except NotInterestingError:
                # What matters may be how it is written.
                if not self._invalid or interest.contents is None:
                    raise
            else:
                data = form.data(found.best) or data
                complete = found.complete
                self._shown.end(words(found.best), found.tests)
        if self._invalid and complete and interest.contents is not None:

            def size(best: bytes) -> str:
                return f"{len(best)} of {len(self._data)} bytes"

            contents = search_contents(
                data,
                interest.contents,
                self._jobs,
                verdicts,
                lambda search: self._shown.tell(lambda: size(search.best), search.tests),
            )
            self._shown.end(size(contents.best), contents.tests)
            return contents.best, contents.complete
        return data, complete

    def _write(self, data: bytes, complete: bool) -> int:
        from tileir.bytecode import is_bytecode

        if is_bytecode(data):
            write_bytes(self._output, data)
        else:
            write_output(self._output, data.decode("utf-8", "surrogateescape"))
        if complete:
            return EXIT_FINE
        where = "above" if self._output == "-" else f"in '{harmless(self._output)}'"
        print(f"tileir reduce: interrupted; the best program so far is {where}", file=sys.stderr)
        return EXIT_INTERRUPTED


def _jobs(given: Arguments) -> int:
    text = given.value("jobs", "1")
    if not (text.isascii() and text.isdecimal() and len(text) < 5 and 0 < int(text) <= 1024):
        raise ToolFailure(f"'{text}' is no number of jobs: give one from 1 to 1024", EXIT_USAGE)
    return int(text)


class _Shown:
    """Progress for people: one line that changes on a terminal, a line for every so many seconds elsewhere."""

    def __init__(self, given: Arguments) -> None:
        self._quiet: bool = given.has("quiet")
        self._terminal: bool = sys.stderr.isatty()
        self._pause: float = 0.1 if self._terminal else 10.0
        self._start: float = time.monotonic()
        self._next: float = self._start + self._pause

    def tell(self, words: Callable[[], str], tests: int) -> None:
        """Show how far a search is, if it is time to."""
        now = time.monotonic()
        if not self._quiet and now >= self._next:
            self._next = now + self._pause
            self._write(words(), tests)

    def _write(self, words: str, tests: int) -> None:
        seconds = time.monotonic() - self._start
        line = f"{words}, {tests} tests, {seconds:.0f} s"
        sys.stderr.write(f"\r\x1b[K{line}" if self._terminal else f"tileir reduce: {line}\n")
        sys.stderr.flush()

    def end(self, words: str, tests: int) -> None:
        """The last line of a search."""
        if not self._quiet:
            self._write(words, tests)
            if self._terminal:
                sys.stderr.write("\n")
