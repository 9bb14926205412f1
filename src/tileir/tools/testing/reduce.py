"""`tileir reduce`: a program made smaller while a command keeps succeeding."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import Any

from tileir.analyze.reducing import interest
from tileir.analyze.reducing.candidate_tests import ask_engine, ask_passes, shell_words, succeeds
from tileir.analyze.reducing.contents import CONTENTS, reduce_contents
from tileir.analyze.reducing.program import Program, ProgramFile, stated_launches, text_of_cpp
from tileir.analyze.reducing.reduce import program_kind, reduce_program
from tileir.analyze.reducing.search import NotInterestingError, Search, Verdicts
from tileir.bytecode import is_bytecode
from tileir.bytecode.container import origin_of
from tileir.cpp import is_cpp
from tileir.execute.arguments.argument_text import LaunchDescription, grid_of, stated_launch
from tileir.execute.engine.registry import find_engine, require
from tileir.execute.gpu.gpus import target_named
from tileir.interface import from_bytecode, load
from tileir.ir.diagnostics import Diagnostic, TileIRError, note
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import harmless
from tileir.ir.versions import RELEASED
from tileir.terminal import Progress
from tileir.tools import options
from tileir.tools.arguments import EXIT_FINE, EXIT_INTERRUPTED, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, need_packages, print_diagnostics, reason, refusing
from tileir.tools.input import name_of, program_in, read_bytes, read_program, refuse_script
from tileir.tools.output import check_target, write_bytes, write_output

USAGE = Usage(
    "tileir reduce",
    "FILE",
    (
        "tileir reduce examples/softmax.mlir --interesting 'grep -q reduce' -o small.mlir",
        "tileir reduce examples/broken.mlir --allow-invalid --message 'must be tile of' -q",
    ),
    (
        Option("--interesting CMD", "this command succeeds; it gets the path of a candidate"),
        Option("--shell", "CMD is for the shell; without it, it is split into words"),
        Option("--crashes", "what --backend or --passes name crashes or takes too long"),
        Option("--differs", "the two backends give different results: --differs --backend interpreter,cpu"),
        Option("--message TEXT", "this is printed by the check, or by what --backend or --passes name"),
        options.BACKEND.with_help("what runs the kernel, or tileiras, which compiles it"),
        Option("--passes PASSES", "the passes that crash, or print the message"),
        options.TARGET.with_help("the GPU that tileiras compiles for, as h100 or sm_90 (default: sm_90)"),
        *options.LAUNCHING,
        options.TIMEOUT.with_help("how long one test may take (default: 60)"),
        options.OUTPUT,
        options.JOBS.with_help("how many candidates are tested at a time (default: 1)"),
        Option("--state DIR", "keep what was found out there, and go on from it"),
        Option("--allow-invalid", "candidates need not be valid: also lines, words and bytes are taken away"),
        options.QUIET,
        *options.READING,
    ),
    """\
One of --interesting, --crashes, --differs and --message decides when a candidate is interesting. The path of the
candidate replaces {} in CMD, or is its last argument. The arguments of a launch are those of --arg, of a comment
'// tileir: --grid 4 --arg ..' at the top of FILE, or random. The result does not depend on --jobs. Ctrl-C ends the
search; the best program so far is written.""",
    statuses={1: "the program has errors, or is not interesting itself"},
)

ASSEMBLER = "tileiras"
WAYS = ("interesting", "crashes", "differs", "message")


@command(USAGE)
def run(given: Arguments) -> int:
    _check(given)
    check_target(given.value("output", "-"))
    try:
        return _Reducing(given).run()
    except (FileNotFoundError, PermissionError) as error:
        raise ToolFailure(f"cannot run '{error.filename}': {reason(error)}") from None


def _content(path: str, given: Arguments) -> bytes:
    """The content of a file; of a C++ source its program."""
    if not is_cpp(path):
        return read_bytes(path)
    program = read_program(path, given)
    return text_of_cpp(program.text, program.checked(given))


class _Reducing:
    """One run of the tool: the file, what is interesting about it, and what it comes to."""

    def __init__(self, given: Arguments) -> None:
        self._given = given
        self._output: str = given.value("output", "-")
        self._jobs: int = given.number("jobs", 1, most=1024)
        self._timeout: float = given.seconds("timeout", 60.0)
        self._path: str = given.operands[0]
        refuse_script(self._path, "'tileir as {} -o k.tileirbc' writes the program of its kernel")
        self._data: bytes = _content(self._path, given)
        self._text: str = self._data.decode("utf-8", "surrogateescape")
        self._invalid: bool = given.has("allow-invalid")
        self._progress = Progress(is_quiet=given.has("quiet"), every=10.0, prefix="tileir reduce: ")

    def run(self) -> int:
        given = self._given
        original, valid = self._read()
        form = self._form(original)
        launch = None
        if _engines(given):
            launch = self._launch(original)
            form.launches[:] = [launch]
        if original is not None and len(form.launches) == 1:
            original.grid = form.launches[0].grid
        wanted = _interest(given, form, original, launch, self._timeout)
        verdicts = Verdicts()
        if given.has("state"):
            import hashlib

            about = {"program": hashlib.sha256(self._data).hexdigest(), "test": wanted.about}
            verdicts = Verdicts(given.value("state"), {**about, "candidates": "any" if self._invalid else "valid"})
        try:
            data, complete = self._reduced(original, valid, form, wanted, verdicts)
        except NotInterestingError:
            why, *details = wanted.why_not()
            notes = [note(detail, UNKNOWN) for detail in details]
            message = f"the program is not interesting itself: {why}"
            raise TileIRError([Diagnostic("error", message, UNKNOWN, notes)]) from None
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
        return ProgramFile(RELEASED if origin is None else origin.version)

    def _launch(self, original: Program | None) -> LaunchDescription:
        """What the kernel is launched with: as given, as stated, or random."""
        need_packages()
        if original is None:
            raise ToolFailure("what cannot be read cannot be launched", EXIT_WRONG_INPUT)
        from tileir.analyze.random_arguments import random_launch
        from tileir.execute.launching.entries import select_entry

        given, name = self._given, self._given.options.get("entry")
        entry = select_entry(original.module, name)
        name = entry.symbol_name if name is not None else None
        if given.has("arg") or given.has("grid"):
            return LaunchDescription(grid_of(given.value("grid", "1")), given.values("arg"), name)
        stated = stated_launch(self._text, entry.symbol_name)
        words = random_launch(entry, 0).words if stated is None else stated
        return LaunchDescription(
            words.grid, words.arguments, name if stated is None or name is not None else stated.entry
        )

    def _reduced(
        self, original: Program | None, valid: bool, form: ProgramFile, wanted: interest.Interest, verdicts: Verdicts
    ) -> tuple[bytes, bool]:
        """The contents of the smallest file, and whether the search came to its end."""
        data, complete = self._data, True
        contents = wanted.contents if self._invalid else None
        if original is not None:
            count = len(original.operations)

            def words(best: Program) -> str:
                return f"{len(best.operations)} of {count} operations, {self._size(form.data(best) or b'')}"

            show = self._shower(words)
            search = Search(original, program_kind(valid, form), wanted.programs, verdicts, self._jobs, show)
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
            self._progress.clear("\n")


def _check(given: Arguments) -> None:
    """Refuse a command line that does not define what is interesting, or defines it twice."""
    if sum(map(given.has, WAYS)) != 1:
        raise ToolFailure(f"choose what is interesting with one of {' or '.join([f'--{way}' for way in WAYS])}")
    given.only_one("backend", "passes")
    engines = _engines(given)
    if given.has("interesting"):
        given.refuse(("backend", "passes"), "is not for --interesting: CMD chooses what runs")
    elif given.has("differs") and len(engines) != 2:
        raise ToolFailure("--differs is about two backends: add --backend interpreter,cpu")
    elif given.has("crashes") and not given.has("backend") and not given.has("passes"):
        raise ToolFailure("name what crashes: add --backend NAME or --passes PASSES")
    elif not given.has("differs") and len(engines) > 1:
        raise ToolFailure("several backends are for --differs: name one")
    with refusing():
        for name in engines:
            find_engine(name)
        if given.has("passes"):
            from tileir.passes.pipeline import check_steps
            from tileir.passes.registry import parse_passes

            check_steps(parse_passes(given.value("passes")))


def _engines(given: Arguments) -> list[str]:
    """The engines of --backend; NVIDIA's assembler only compiles."""
    given.names("backend")
    return [name.strip() for name in given.value("backend").split(",") if name and name != ASSEMBLER]


def _interest(
    given: Arguments, form: ProgramFile, original: Program | None, launch: LaunchDescription | None, timeout: float
) -> interest.Interest:
    """What the command line defines as interesting."""
    if given.has("interesting"):
        return interest.command(_command_words(given), timeout, form, succeeds)
    message, engines = given.options.get("message"), _engines(given)
    with refusing():
        for name in engines:
            require(find_engine(name))
    if given.value("backend") == ASSEMBLER:
        return interest.assembly(target_named(given.value("target", "sm_90")), message, timeout)
    if given.has("differs"):
        assert launch is not None
        return interest.difference(engines[0], engines[1], launch, original, timeout)
    if engines:
        assert launch is not None
        return interest.answer(ask_engine(engines[0], launch), f"backend {engines[0]}", message, original, timeout)
    if given.has("passes"):
        passes = given.value("passes")
        return interest.answer(ask_passes(passes), f"passes {passes}", message, original, timeout)
    return interest.check(message or "", original, timeout)


def _command_words(given: Arguments) -> list[str]:
    line = given.value("interesting")
    try:
        words = shell_words(line) if given.has("shell") else shlex.split(line)
    except ValueError as error:
        raise ToolFailure(f"'{line}' is no command line: {error}") from None
    if not words or not line.strip():
        raise ToolFailure("the command of '--interesting' is empty")
    return words
