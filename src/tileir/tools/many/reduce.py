"""`tileir reduce`: a program made smaller while a command keeps succeeding."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from tileir.analyze.reducing.candidate_tests import (
    FINE,
    CommandTest,
    Ended,
    ObservationTest,
    Question,
    ask_check,
    ask_contents,
    ask_difference,
    ask_engine,
    ask_passes,
    is_crash,
    kind_of_crash,
    same_difference,
    shell_words,
    succeeds,
)
from tileir.analyze.reducing.contents import CONTENTS, reduce_contents
from tileir.analyze.reducing.program import Program, ProgramFile, stated_launches
from tileir.analyze.reducing.reduce import program_kind, reduce_program
from tileir.analyze.reducing.search import NotInterestingError, Search, Test, Verdicts
from tileir.bytecode import is_bytecode
from tileir.bytecode.container import origin_of
from tileir.execute.arguments.argument_text import LaunchDescription, grid_of, stated_launch
from tileir.interface import from_bytecode, load
from tileir.ir.diagnostics import TileIRError
from tileir.ir.quoting import harmless
from tileir.ir.versions import NEWEST
from tileir.tools import options
from tileir.tools.arguments import EXIT_FINE, EXIT_INTERRUPTED, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, print_diagnostics, reason, refusing
from tileir.tools.input import name_of, program_in, read_bytes, refuse_script
from tileir.tools.output import check_target, write_bytes, write_output
from tileir.tools.terminal import Progress

USAGE = Usage(
    "tileir reduce",
    "Makes a Tile IR program smaller while it stays interesting.",
    "FILE",
    (
        Option("--interesting CMD", "a command; it gets the path of a candidate, and 0 says yes"),
        Option("--shell", "CMD is for the shell; without it, it is split into words"),
        Option("--crashes WHAT", "tileiras, or an engine that runs the kernel, crashes or takes too long"),
        options.TARGET.with_help("the GPU that tileiras compiles for (default: sm_90)"),
        Option("--differs ENGINES", "two engines give different results: --differs interpreter cpu"),
        Option("--message TEXT", "this is said by the check, or by what --crashes, --backend or --passes name"),
        Option("--backend NAME", "the engine that says it"),
        Option("--passes PIPELINE", "the passes that crash, or say it"),
        *options.LAUNCH_OPTIONS,
        options.TIMEOUT.with_help("the seconds a test may take (default: 60)"),
        options.OUTPUT,
        options.JOBS.with_help("how many candidates are tested at a time (default: 1)"),
        Option("--state DIR", "keep what was found out there, and go on from it"),
        Option("--allow-invalid", "candidates need not be valid: also lines, words and bytes are taken away"),
        options.QUIET.with_help("show no progress"),
        *options.READING_OPTIONS,
    ),
    details="""\
The path of the candidate takes the place of {} in CMD, or comes last. The arguments of a launch are those of --arg, of
a comment '// tileir: --grid 4 --arg ..' at the top of FILE, or random. The result does not depend on --jobs. Ctrl-C
ends the search; the best program so far is written. Exit status: 0 fine, 1 the program has errors or is not interesting
itself, 2 the command line is wrong or a file cannot be read or written, 130 interrupted.""",
)

ASSEMBLER = "tileiras"
WAYS = ("interesting", "crashes", "differs", "message")


def run(words: list[str]) -> int:
    """Run the command; `--differs A B` names two engines, all other options have one value."""
    found = list(words)
    for place, word in enumerate(found[:-2]):
        if word == "--differs" and "," not in found[place + 1] and not found[place + 2].startswith("-"):
            found[place + 1 : place + 3] = [f"{found[place + 1]},{found[place + 2]}"]
            break
    return _run(found)


@command(USAGE)
def _run(given: Arguments) -> int:
    _check_ways(given)
    check_target(given.value("output", "-"))
    try:
        return _Reducing(given).run()
    except (FileNotFoundError, PermissionError) as error:
        raise ToolFailure(f"cannot run '{error.filename}': {reason(error)}") from None


class _Reducing:
    """One run of the tool: the file, what is interesting about it, and what it comes to."""

    def __init__(self, given: Arguments) -> None:
        self._given = given
        self._output: str = given.value("output", "-")
        self._jobs: int = given.number("jobs", 1, most=1024)
        self._timeout: float = given.seconds("timeout", 60.0)
        self._path: str = given.operands[0]
        refuse_script(self._path, "'tileir as {} -o k.tileirbc' writes the program of its kernel")
        self._data: bytes = read_bytes(self._path)
        self._text: str = self._data.decode("utf-8", "surrogateescape")
        self._invalid: bool = given.has("allow-invalid")
        self._progress = Progress(is_quiet=given.has("quiet"), every=10.0, prefix="tileir reduce: ")

    def run(self) -> int:
        given = self._given
        original, valid = self._read()
        form = self._form(original)
        launch = None
        if given.has("differs") or given.has("backend") or given.value("crashes", ASSEMBLER) != ASSEMBLER:
            launch = self._launch(original)
            form.launches[:] = [launch]
        if original is not None and len(form.launches) == 1:
            original.grid = form.launches[0].grid
        interest = interest_of(given, form, original, launch, self._timeout)
        verdicts = Verdicts()
        if given.has("state"):
            import hashlib

            about = {"program": hashlib.sha256(self._data).hexdigest(), "test": interest.about}
            verdicts = Verdicts(given.value("state"), {**about, "candidates": "any" if self._invalid else "valid"})
        try:
            data, complete = self._reduced(original, valid, form, interest, verdicts)
        except NotInterestingError:
            why = f"the program is not interesting to begin with: {interest.why_not()}"
            print(f"tileir reduce: {why}", file=sys.stderr)
            return EXIT_WRONG_INPUT
        finally:
            verdicts.close()
        if is_bytecode(data):
            write_bytes(self._output, data)
        else:
            write_output(self._output, data.decode("utf-8", "surrogateescape"))
        if complete:
            return EXIT_FINE
        where = "above" if self._output == "-" else f"in '{harmless(self._output)}'"
        print(f"tileir reduce: interrupted; the best program so far is {where}", file=sys.stderr)
        return EXIT_INTERRUPTED

    def _read(self) -> tuple[Program | None, bool]:
        """The program, if there is one, and whether it is valid."""
        read = program_in(self._data, name_of(self._path), self._given)
        if read.module is not None or not self._invalid:
            print_diagnostics(read.diagnostics, self._given)
        if read.module is not None:
            return Program.original(read.module), True
        if not self._invalid:
            raise ToolFailure("with --allow-invalid, what is no valid program is reduced too", EXIT_WRONG_INPUT)
        try:
            return Program.original(load(self._data, verify=False)), False
        except TileIRError:
            return None, False

    def _form(self, original: Program | None) -> ProgramFile:
        if not is_bytecode(self._data):
            return ProgramFile(launches=[] if original is None else stated_launches(self._text, original))
        origin = None if original is None else origin_of(from_bytecode(self._data, verify=False))
        return ProgramFile(NEWEST if origin is None else origin.version)

    def _launch(self, original: Program | None) -> LaunchDescription:
        """What the kernel is launched with: as given, as stated, or random."""
        # Its error says what to install where NumPy is missing.
        __import__("tileir.execute.launching.kernel")
        if original is None:
            raise ToolFailure("what cannot be read cannot be launched", EXIT_WRONG_INPUT)
        from tileir.analyze.random_arguments import random_launch
        from tileir.execute.launching.entries import select_entry

        given, name = self._given, self._given.options.get("entry")
        entry = select_entry(original.module, name)
        if given.has("arg") or given.has("grid"):
            return LaunchDescription(grid_of(given.value("grid", "1")), given.values("arg"), name)
        stated = stated_launch(self._text, entry.symbol_name)
        words = random_launch(entry, 0).words if stated is None else stated
        return LaunchDescription(
            words.grid, words.arguments, name if stated is None or name is not None else stated.entry
        )

    def _reduced(
        self, original: Program | None, valid: bool, form: ProgramFile, interest: Interest, verdicts: Verdicts
    ) -> tuple[bytes, bool]:
        """The contents of the smallest file, and whether the search came to its end."""
        data, complete = self._data, True
        contents = interest.contents if self._invalid else None
        if original is not None:
            count = len(original.operations)

            def words(best: Program) -> str:
                return f"{len(best.operations)} of {count} operations, {self._size(form.data(best) or b'')}"

            show = self._shower(words)
            search = Search(original, program_kind(valid, form), interest.programs, verdicts, self._jobs, show)
            try:
                found = search.run(reduce_program)
                data, complete = form.data(found.best) or data, found.complete
                self._end(words(found.best), found.tests)
            except NotInterestingError:
                # What matters may be how it is written.
                if contents is None:
                    raise
        if contents is not None and complete:
            shower = self._shower(self._size)
            smallest = Search(data, CONTENTS, contents, verdicts, self._jobs, shower).run(reduce_contents)
            self._end(self._size(smallest.best), smallest.tests)
            return smallest.best, smallest.complete
        return data, complete

    def _size(self, data: bytes) -> str:
        return f"{len(data)} of {len(self._data)} bytes"

    def _shower(self, words: Callable[[Any], str]) -> Callable[[Search[Any]], None]:
        """What shows how far a search is."""
        return lambda search: self._progress.show(lambda: self._line(words(search.best), search.tests))

    def _line(self, words: str, tests: int) -> str:
        return f"{words}, {tests} tests, {self._progress.seconds:.0f} s"

    def _end(self, words: str, tests: int) -> None:
        """Show the last line of a search."""
        if not self._progress.is_quiet:
            self._progress.write(self._line(words, tests))
            self._progress.keep()


# --- what is interesting: a command, or one of the questions that are ready-made ---


class Interest(NamedTuple):
    """What is interesting."""

    programs: Test[Program]
    contents: Test[bytes] | None
    """A test of the contents of files, if there is one."""
    about: str
    why_not: Callable[[], str]
    """The result for the original, where that is not interesting."""


def _check_ways(given: Arguments) -> None:
    """Refuse a command line that does not say what is interesting, or says it twice."""
    if given.has("passes"):
        from tileir.passes.pipeline import check_steps
        from tileir.passes.registry import parse_passes

        with refusing():
            check_steps(parse_passes(given.value("passes")))
    ways = [way for way in WAYS if given.has(way)]
    if len(ways) != 1 and ways != ["crashes", "message"] and (ways or not given.has("passes")):
        words = " or ".join([f"--{way}" for way in WAYS])
        raise ToolFailure(f"say what is interesting with one of {words}")


def interest_of(
    given: Arguments, form: ProgramFile, original: Program | None, launch: LaunchDescription | None, timeout: float
) -> Interest:
    """What a command line says is interesting."""

    def observed(question: Question[Program], about: str, missed: str, same: Callable[[str, str], bool]) -> Interest:
        """What has the same answer as the original; `missed` says what is wrong if that has none."""
        first = ""
        test: ObservationTest[Program] = ObservationTest(question, lambda answer: same(answer, first), timeout)
        if original is not None:
            first = test.observe(original)
        return Interest(test, None, about, lambda: missed if first == FINE else f"{missed}: {harmless(first)}")

    if given.has("interesting"):
        return _tested(_command_words(given), timeout, form, succeeds)
    message = given.options.get("message")
    if given.value("crashes") == ASSEMBLER:
        return _assembler(given, message, timeout)
    if given.has("differs"):
        names = [name.strip() for name in given.value("differs").split(",")]
        if len(names) != 2:
            raise ToolFailure(f"'{given.value('differs')}' names no two engines: '--differs interpreter cpu'")
        first, second = map(_present, names)
        assert launch is not None
        about, missed = f"differs {first} {second}", f"{first} and {second} give the same results"
        return observed(ask_difference(first, second, launch), about, missed, same_difference)
    engine = given.value("backend", given.value("crashes"))
    if engine:
        assert launch is not None
        question, about = ask_engine(_present(engine), launch), f"engine {engine}"
    elif given.has("passes"):
        question, about = ask_passes(given.value("passes")), f"passes {given.value('passes')}"
    elif message is not None:
        question, about = ask_check, "check"
    else:
        raise ToolFailure("say what crashes: '--crashes tileiras' or the name of an engine")
    if message is None:
        same = lambda answer, first: is_crash(first) and kind_of_crash(answer) == kind_of_crash(first)  # noqa: E731
        return observed(question, f"{about} crashes", "nothing crashes", same)
    subject = "a check does not say" if about == "check" else "what is said does not have"
    missed = f"{subject} '{harmless(message)}'"
    found = observed(question, f"{about} says {message}", missed, lambda answer, _: message in answer)
    if about != "check":
        return found
    return found._replace(contents=ObservationTest(ask_contents, lambda answer: message in answer, timeout))


def _present(engine: str) -> str:
    """The name of an engine; of one that is not there, it is a mistake of the command line."""
    from tileir.execute.engine.registry import find_engine, require

    with refusing():
        require(find_engine(engine))
    return engine


def _command_words(given: Arguments) -> list[str]:
    line = given.value("interesting")
    try:
        words = shell_words(line) if given.has("shell") else shlex.split(line)
    except ValueError as error:
        raise ToolFailure(f"'{line}' is no command line: {error}") from None
    if not words or not line.strip():
        raise ToolFailure("the command of '--interesting' is empty")
    return words


def _assembler(given: Arguments, message: str | None, timeout: float) -> Interest:
    """NVIDIA's assembler crashes, takes too long, or says something."""
    from tileir.execute.gpu.targets import target_named
    from tileir.execute.gpu.tileiras.tool import find_assembler

    tool = find_assembler()
    target = target_named(given.value("target", "sm_90"))
    words = [tool.path, f"--gpu-name={target}", "{}", "-o", "/dev/null"]
    # It takes bytecode, whatever the file is.
    form = ProgramFile(tool.bytecode_version)

    def judge(ended: Ended) -> bool:
        if message is not None:
            return message in ended.output
        return bool(ended.status.reason) or ended.status.code < 0

    return _tested(words, timeout, form, judge)


def _tested(words: list[str], timeout: float, form: ProgramFile, judge: Callable[[Ended], bool]) -> Interest:
    ends: list[Ended] = []

    def kept(ended: Ended) -> bool:
        if not ends:
            ends.append(ended)
        return judge(ended)

    def why_not() -> str:
        if not ends:
            return "it cannot be written as bytecode of the version"
        shown = " ".join([shlex.quote(word) for word in words])
        lines = [f"the command {ends[0].status.message}", f"  command: {harmless(shown)}"]
        printed = ends[0].output.rstrip()
        lines.append("  it printed:" if printed else "  it printed nothing")
        lines += ["    " + harmless(line) for line in printed.splitlines()[-20:]]
        return "\n".join(lines)

    programs: CommandTest[Program] = CommandTest(words, timeout, form.extension, form.data, kept)
    contents: CommandTest[bytes] = CommandTest(words, timeout, form.extension, bytes, kept)
    return Interest(programs, contents, " ".join(words), why_not)
