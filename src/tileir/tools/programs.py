"""Programs in and out of the tools: files or standard streams, text or bytecode told apart by content."""

from __future__ import annotations

import io
import os
import stat
import sys

from tileir.annotations import TYPE_CHECKING, Callable, Sequence
from tileir.bytecode import MAGIC, is_bytecode, is_text
from tileir.ir.core import Operation
from tileir.ir.declaration import HINT_MODES, VerifyContext
from tileir.ir.diagnostics import Diagnostic, OptionError, TileIRError, has_errors
from tileir.ir.location import CharacterLocation, TextLocation, resolved
from tileir.ir.quoting import harmless
from tileir.ir.verifier import verify_operation
from tileir.ir.versions import NEWEST, NEWEST_NAME, VERSION_NAMES, Version, version_named
from tileir.tools.arguments import (
    EXIT_BROKEN_PIPE,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    EXIT_WRONG_INPUT,
    Arguments,
    Option,
    ToolFailure,
)

if TYPE_CHECKING:
    from typing import TextIO

    from tileir.tools.scripts import ScriptLaunch

STANDARD_INPUT = "<stdin>"

# What a file may hold, in words.
TEXT = "text"
BYTECODE = "bytecode"

# What every tool that reads and verifies a program takes.
READING_OPTIONS = (
    Option("dialect-version", "the dialect a text is written in (default: the newest)", choices=VERSION_NAMES),
    Option("hints", "what to do about doubtful hints (default: ignore)", choices=HINT_MODES),
    Option("no-draft-spellings", "accept only the spellings NVIDIA's tools accept"),
    Option("allow-unregistered-dialect", "accept operations of other dialects, in the generic form"),
)


# What commands take that use one kernel of a script; and what their help says of scripts.
LAUNCH = Option("launch", "of a script, the launch whose kernel is taken, counted from 1", value="N")
SCRIPT = "A SCRIPT.py is run, as by tileir emulate; its output goes to standard error."
SCRIPT_ARGUMENTS = """\
Arguments after SCRIPT.py are passed to the script; put -- before those that begin with a dash."""


class Settings:
    """How a program is read and verified."""

    __slots__ = ("allow_unregistered", "hints", "draft_spellings", "version")

    def __init__(self, given: Arguments) -> None:
        self.version: Version = version_named(given.value("dialect-version", NEWEST_NAME))
        self.hints: str = given.value("hints", "ignore")
        self.draft_spellings: bool = not given.has("no-draft-spellings")
        self.allow_unregistered: bool = given.has("allow-unregistered-dialect")


class Program:
    """A program that was read and verified: the module if it is sound, and everything there is to say about it.

    Of findings in bytecode `offsets` says where in the file they are, -1 where nobody knows.  `kind` is TEXT or
    BYTECODE.  `decoded` says whether there is a program at all, be it unsound: errors are then those of the verifier.
    `text` is the text it was read from, empty for bytecode; `launch` the launch of a script that it was made for.
    """

    __slots__ = ("decoded", "diagnostics", "kind", "launch", "module", "offsets", "text")

    def __init__(
        self,
        module: Operation | None,
        diagnostics: list[Diagnostic],
        kind: str,
        offsets: list[int] | None = None,
        *,
        decoded: bool,
        text: str = "",
    ) -> None:
        self.decoded: bool = decoded
        self.launch: ScriptLaunch | None = None
        self.text: str = text
        self.module: Operation | None = module
        self.kind: str = kind
        self.diagnostics: list[Diagnostic] = diagnostics
        self.offsets: list[int] = offsets if offsets is not None else [-1] * len(diagnostics)


def read_program(
    path: str, settings: Settings, launch: int = 0, arguments: Sequence[str] = (), choose: str = "--launch N"
) -> Program:
    """Read and verify what a file holds; of a script, the kernel of the launch with a number, or the only one.

    `choose` is how the user chooses one of several kernels.
    """
    if is_script(path):
        from tileir.tools.scripts import only_kernel, script_launches

        return _of_launch(path, settings, only_kernel(path, script_launches(path, arguments, launch), choose))
    return program_in(read_bytes(path), STANDARD_INPUT if path == "-" else path, settings)


def read_programs(path: str, settings: Settings) -> list[Program]:
    """Read and verify what a file holds; of a script, all kernels that it launches."""
    if is_script(path):
        from tileir.tools.scripts import kernels_of, script_launches

        return [_of_launch(path, settings, each) for each in kernels_of(script_launches(path))]
    return [read_program(path, settings)]


def read_launches(path: str, settings: Settings, launch: int = 0, arguments: Sequence[str] = ()) -> list[Program]:
    """The same with a program for each launch of a script, or for the one with a number."""
    if is_script(path):
        from tileir.tools.scripts import script_launches

        return [_of_launch(path, settings, each) for each in script_launches(path, arguments, launch)]
    return [read_program(path, settings)]


def _of_launch(path: str, settings: Settings, launch: ScriptLaunch) -> Program:
    program = program_in(launch.data, path, settings)
    program.launch = launch
    return program


def is_script(path: str) -> bool:
    """Whether a file is a Python script, whose launches are what a command is about."""
    return path.endswith(".py")


def refuse_script(path: str, instead: str) -> None:
    """Refuse a script where a command needs a file with a program; `instead` is a command that takes scripts."""
    if is_script(path) and os.path.isfile(path):
        raise ToolFailure(f"'{path}' is a Python script: {instead.format(path)}", EXIT_USAGE)


def script_options(given: Arguments) -> tuple[int, list[str]]:
    """The number of the launch that is asked for, 0 for none, and the arguments of a script."""
    path, *arguments = given.operands
    if arguments and not is_script(path):
        raise ToolFailure(f"unexpected argument '{arguments[0]}'", EXIT_USAGE)
    return launch_number(given, [path]), arguments


def launch_number(given: Arguments, paths: Sequence[str]) -> int:
    """The number of the launch that is asked for, 0 for none."""
    if not given.has(LAUNCH.name):
        return 0
    if not any(is_script(path) for path in paths):
        raise ToolFailure("--launch is for a script", EXIT_USAGE)
    text = given.value(LAUNCH.name, "")
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text)):
        raise ToolFailure(f"'--launch {text}': give a number from 1 on", EXIT_USAGE)
    return int(text)


def program_in(data: bytes, name: str, settings: Settings) -> Program:
    """Decode and verify what was in a file."""
    if is_bytecode(data):
        return _read_bytecode(data, settings)
    # Imported here: who prints bytecode does not pay for the parser.
    from tileir.text.reading import read_text

    text = decode(data, name)
    found = read_text(
        text,
        name,
        version=settings.version,
        allow_unregistered=settings.allow_unregistered,
        draft_spellings=settings.draft_spellings,
    )
    diagnostics = found.diagnostics
    if found.module is not None:
        context = VerifyContext(settings.version, settings.hints)
        verify_operation(found.module, context)
        diagnostics = diagnostics + context.diagnostics
        if _is_made_up(found.module):
            warning = Diagnostic("warning", "there is no program in this text", resolved(found.module.location))
            diagnostics = [*diagnostics, warning]
    module = None if has_errors(diagnostics) else found.module
    if found.module is None and not may_be_program(text, name):
        raise no_program(data, name)
    return Program(module, sorted(diagnostics, key=_place), TEXT, decoded=found.module is not None, text=text)


def tell(diagnostics: list[Diagnostic], given: Arguments) -> None:
    """Diagnostics for people, on standard error."""
    for diagnostic in diagnostics:
        with_suggestions(diagnostic)
    if diagnostics and given.wants_colour(sys.stderr):
        # Imported here: only who watches pays for colours.
        from tileir.tools.colours import painted

        for diagnostic in diagnostics:
            print(painted(diagnostic), file=sys.stderr)
        return
    for diagnostic in diagnostics:
        print(diagnostic.render(), file=sys.stderr)


def tell_error(error: TileIRError, given: Arguments) -> int:
    """An error that ends a command, on standard error; its exit status."""
    if isinstance(error, OptionError):
        raise ToolFailure(error.message, EXIT_USAGE) from None
    tell(error.diagnostics, given)
    return EXIT_WRONG_INPUT


def with_suggestions(diagnostic: Diagnostic) -> None:
    """Add to an error what the tools know beyond the message."""
    if diagnostic.severity == "error":
        # Imported here: sound programs have no use for it.
        from tileir.analyze.suggestions import suggest

        suggest(diagnostic)


def _is_made_up(module: Operation) -> bool:
    """Whether a module is only what the reader puts around a text, with nothing in it."""
    empty = all(block.first is None for region in module.regions for block in region.blocks)
    return empty and isinstance(module.location, CharacterLocation)


def _read_bytecode(data: bytes, settings: Settings) -> Program:
    """Bytecode says itself which version it is written in, and is verified by the rules of the newest."""
    # Imported here: who checks a text does not pay for the bytecode.
    from tileir.bytecode.layouts import from_bytes
    from tileir.bytecode.primitives import BytecodeError

    try:
        module = from_bytes(data)
    except BytecodeError as error:
        from tileir.bytecode.annotated import annotate

        # The offsets in the messages count from the start of a section or function; this one is that of the file.
        offsets = [annotate(data).failure] * len(error.diagnostics)
        return Program(None, error.diagnostics, BYTECODE, offsets, decoded=False)
    context = VerifyContext(NEWEST, settings.hints)
    verify_operation(module, context)
    if not context.diagnostics:
        return Program(module, [], BYTECODE, decoded=True)
    sound = module if not has_errors(context.diagnostics) else None
    return Program(sound, context.diagnostics, BYTECODE, _offsets(data, settings) or None, decoded=True)


def _offsets(data: bytes, settings: Settings) -> list[int]:
    """Where in a file that could be read the findings of the verifier are."""
    from tileir.bytecode.annotated import annotate

    found = annotate(data)
    if found.module is None:
        return []
    context = VerifyContext(NEWEST, settings.hints)
    verify_operation(found.module, context)
    starts: dict[Operation, int] = {}
    waiting = list(found.nodes)
    while waiting:
        node = waiting.pop()
        if node.operation is not None:
            starts.setdefault(node.operation, node.start)
        waiting.extend(node.children)
    return [-1 if subject is None else starts.get(subject, -1) for subject in context.subjects]


def _place(diagnostic: Diagnostic) -> tuple[int, int]:
    """Findings go from the top of the text to its end; those that are not about a place in it come last."""
    if not isinstance(diagnostic.location, TextLocation):
        return (sys.maxsize, 0)
    _, line, column = diagnostic.position
    return (line, column)


# --- files and streams ---


# /dev/zero and its like would be read until there is no memory left.
_MOST_OF_A_DEVICE = 1 << 24


def read_bytes(path: str) -> bytes:
    try:
        if path == "-":
            if sys.stdin is None:
                raise ToolFailure("cannot read standard input: it is closed", EXIT_USAGE)
            return sys.stdin.buffer.read()
        with open(path, "rb") as file:
            data = file.read(_MOST_OF_A_DEVICE)
            if len(data) < _MOST_OF_A_DEVICE:
                return data
            if stat.S_ISCHR(os.fstat(file.fileno()).st_mode):
                raise ToolFailure(f"cannot read '{path}': it is a device without an end", EXIT_USAGE)
            return data + file.read()
    except (OSError, ValueError) as error:
        raise ToolFailure(f"cannot read '{path}': {reason(error)}", EXIT_USAGE) from None


def decode(data: bytes, name: str) -> str:
    """Bytes into text.  Bytes that are not UTF-8 may stand in strings and comments and are kept as they are."""
    if not is_text(data):
        raise no_program(data, name)
    return data.decode("utf-8", "surrogateescape")


def no_program(data: bytes, name: str) -> ToolFailure:
    kind = _kind(data) or "holds neither Tile IR text nor Tile IR bytecode"
    return ToolFailure(f"'{name}' is no Tile IR program: it {kind}", EXIT_WRONG_INPUT)


def may_be_program(text: str, name: str) -> bool:
    """Whether a text that cannot be read is meant as a program, by its name or its first words."""
    import re

    from tileir.ir.registry import REGISTRY
    from tileir.program_files import EXTENSIONS

    if name == STANDARD_INPUT or name.endswith(EXTENSIONS):
        return True
    # Of an operation, in the pretty form or the generic one, of its results, or of an alias.
    begin = re.compile(r'(?:\s|//.*)*(?:["%^]|\{-#|[#!][A-Za-z_][\w$.]*\s*=|([A-Za-z_][\w$.]*)\s*(\S?))').match(text)
    if begin is None:
        return False
    word, following = begin[1], begin[2]
    if word is None or "." in word or (following and following in "@%{<"):
        return True
    return f"cuda_tile.{word}" in REGISTRY.by_name


def _kind(data: bytes) -> str | None:
    """What a file that is neither a text nor bytecode seems to be."""
    if not data:
        return "is empty"
    if MAGIC.startswith(data):
        return f"ends within the first {len(MAGIC)} bytes of bytecode"
    if data.startswith(b"\x7fELF"):
        return "is an object file, such as a cubin: compiled, no longer Tile IR"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is a text in UTF-16: save it as UTF-8"
    if data.startswith(b"ML\xefR"):
        return "is MLIR's own bytecode, not that of Tile IR"
    return None


def not_bytecode(data: bytes, path: str) -> str | None:
    """What to tell who gave a file where bytecode is expected; None if it is bytecode."""
    if is_bytecode(data):
        return None
    name = STANDARD_INPUT if path == "-" else path
    kind = _kind(data)
    if kind is None and not is_text(data):
        kind = "holds neither Tile IR text nor Tile IR bytecode"
    elif kind is None:
        kind = "is a text: 'tileir check' checks it, 'tileir opt -O0' prints it, 'tileir as' makes bytecode of it"
    return f"note: '{name}' {kind}"


def reason(error: Exception) -> str:
    """The operating system's words, without Python's error number."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def guarded(name: str, tool: Callable[[list[str]], int], arguments: list[str]) -> int:
    """Run a tool; what ends it early becomes a one-line message and a status, never a traceback."""
    try:
        return tool(arguments)
    except ToolFailure as failure:
        print(f"{name}: {harmless(failure.message)}", file=sys.stderr)
        return failure.status
    except OptionError as error:
        print(f"{name}: {harmless(error.message)}", file=sys.stderr)
        return EXIT_USAGE
    except TileIRError as error:
        # As a package that is not installed, which shows wherever it is first needed.
        print(error, file=sys.stderr)
        return EXIT_WRONG_INPUT
    except ModuleNotFoundError as error:
        print(_missing(error), file=sys.stderr)
        return EXIT_WRONG_INPUT


def _missing(error: ModuleNotFoundError) -> TileIRError:
    """The message about a package that running programs needs; every other missing module is a mistake of ours."""
    if (error.name or "").partition(".")[0] in ("numpy", "ml_dtypes"):
        try:
            # The one that says what to install.
            __import__("tileir.execute.launching.kernel")
        except TileIRError as missing:
            return missing
    raise error


def run_process(name: str, tool: Callable[[list[str]], int], arguments: list[str]) -> int:
    """Run a tool as a whole process: `guarded`, with the standard streams made fit for any program text."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    status = EXIT_WRONG_INPUT
    try:
        status = guarded(name, tool, arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has gone, and needs no words.
        _silence(sys.stdout)
        status = EXIT_BROKEN_PIPE
    except OSError as error:
        # Files have messages of their own: this is a stream that takes no more.
        status = EXIT_USAGE
        _silence(sys.stdout)
        _tell(f"{name}: cannot write to standard output: {reason(error)}")
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    _tell("")
    return status


def _open_closed_streams() -> None:
    """Standard streams that are closed fail when they are written to, and no file gets their numbers by chance."""
    if sys.stdin is not None and sys.stdout is not None and sys.stderr is not None:
        return
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free, so this one.  Nobody reads from it, and it cannot be written to.
            os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        # Words that nobody wants to hear are no reason to fail.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _tell(message: str) -> None:
    """The last words, if anybody listens."""
    try:
        if message:
            print(message, file=sys.stderr)
        sys.stderr.flush()
    except OSError:
        _silence(sys.stderr)


def _silence(stream: TextIO) -> None:
    """Let a stream that takes no more lose what it still holds: Python would complain when it closes it."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        pass
