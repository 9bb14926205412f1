"""Programs that commands read: files or standard input, text or bytecode recognized by content, launches of scripts."""

from __future__ import annotations

import os
import stat
import sys

from tileir.annotations import TYPE_CHECKING, Sequence
from tileir.bytecode import MAGIC, is_bytecode, is_text
from tileir.cpp import is_cpp
from tileir.ir.core import Operation
from tileir.ir.declaration import VerifyContext
from tileir.ir.diagnostics import Diagnostic, has_errors
from tileir.ir.location import CharacterLocation, TextLocation, resolved
from tileir.ir.verifier import verify_operation
from tileir.ir.versions import NEWEST, NEWEST_NAME, Version, version_named
from tileir.tools.arguments import EXIT_WRONG_INPUT, Arguments, ToolFailure
from tileir.tools.command import SYSTEM, print_diagnostics, refusing

if TYPE_CHECKING:
    from tileir.tools.scripts import ScriptLaunch

STANDARD_INPUT = "<stdin>"

# What a file may hold.
TEXT = "text"
BYTECODE = "bytecode"


class Program:
    """A program that was read and verified: the module if it is correct, and the findings.

    `offsets` are those of findings in bytecode, -1 if unknown.  `kind` is TEXT or BYTECODE.  `decoded` is true if there
    is a program at all: errors are then those of the verifier.  `text` is the source, also of C++, empty for bytecode;
    `launch` is the launch of a script for which the program was compiled.
    """

    def __init__(
        self, data: bytes, module: Operation | None, diagnostics: list[Diagnostic], decoded: bool, text: str = ""
    ) -> None:
        self.data = data
        self.module = module
        self.diagnostics = diagnostics
        self.kind = BYTECODE if is_bytecode(data) else TEXT
        self.offsets: list[int] = [-1] * len(diagnostics)
        self.decoded = decoded
        self.text = text
        self.launch: ScriptLaunch | None = None

    def checked(self, given: Arguments) -> Operation:
        """The module, after the diagnostics are printed; with errors among them the work on this file ends."""
        print_diagnostics(self.diagnostics, given)
        if self.module is None:
            raise ToolFailure("", EXIT_WRONG_INPUT)
        return self.module


def read_program(path: str, given: Arguments, arguments: Sequence[str] = (), choose: str = "--launch N") -> Program:
    """Read and verify what a file holds; of a script, the kernel of the launch that --launch names, or the only one.

    `choose` is how the user chooses one of several kernels.
    """
    programs = read_programs(path, given, arguments)
    if len(programs) > 1:
        launches = [each.launch for each in programs if each.launch is not None]
        listed = ", ".join([f"{each.number} ({each.kernel})" for each in launches])
        raise ToolFailure(f"the script '{path}' launches {len(programs)} kernels: choose one with {choose}: {listed}")
    return programs[0]


def read_programs(
    path: str, given: Arguments, arguments: Sequence[str] = (), *, repeated: bool = False
) -> list[Program]:
    """Read and verify what a file holds; of a script, each kernel, or what each launch runs with `repeated`."""
    if is_cpp(path):
        return [_cpp_program(path, given)]
    if not is_script(path):
        return [program_in(read_bytes(path), name_of(path), given)]
    from tileir.tools.scripts import kernels_of, script_launches

    found: list[Program] = []
    launches = script_launches(path, arguments, given.number("launch"))
    for launch in launches if repeated else kernels_of(launches):
        found.append(program_in(launch.data, path, given))
        found[-1].launch = launch
    return found


def _cpp_program(path: str, given: Arguments) -> Program:
    from tileir.cpp.errors import CppError
    from tileir.cpp.source import compile_cpp, keep_kernels
    from tileir.execute.arguments.argument_text import stated_instances

    # A macro without a value is 1, as for every C++ compiler.
    defines = dict([(text if "=" in text else f"{text}=1").split("=", 1) for text in given.values("define")])
    named = [*given.values("entry"), *given.values("instance")]
    source = read_bytes(path)
    text = source.decode("utf-8", "surrogateescape")
    try:
        found = compile_cpp(source, path, named or stated_instances(text), defines, given.values("include"))
    except CppError as error:
        return Program(source, None, error.diagnostics, False)
    program = program_in(found.data, path, given)
    program.diagnostics = [*found.diagnostics, *program.diagnostics]
    program.offsets = [*[-1] * len(found.diagnostics), *program.offsets]
    program.text = text
    if program.module is not None:
        keep_kernels(program.module, found.symbols if named else ())
    return program


def is_script(path: str) -> bool:
    """Whether a file is a Python script, whose launches a command works on."""
    return path.endswith(".py")


def refuse_script(path: str, instead: str) -> None:
    """Refuse a script where a command needs a file with a program; `instead` is a command that takes scripts."""
    if is_script(path) and os.path.isfile(path):
        raise ToolFailure(f"'{path}' is a Python script", help=instead.format(path))


def refuse_source(path: str, instead: str) -> None:
    """Refuse a script or a C++ source where a command needs a file with a program, as text or bytecode."""
    refuse_script(path, instead)
    refuse_cpp(path, instead)


def refuse_cpp(path: str, instead: str) -> None:
    if is_cpp(path) and os.path.isfile(path):
        raise ToolFailure(f"'{path}' is a C++ source", help=instead.format(path))


def script_arguments(given: Arguments, *for_files: str) -> list[str]:
    """The arguments of a script; without a script they are an error, as are the options `for_files` with one."""
    path, *arguments = given.operands
    if is_script(path):
        given.refuse(for_files, "is for a FILE: a script decides what it launches")
    elif arguments:
        raise ToolFailure(f"unexpected argument '{arguments[0]}'")
    check_launch(given, [path])
    return arguments


def check_launch(given: Arguments, paths: Sequence[str]) -> None:
    if given.has("launch") and not any(is_script(path) for path in paths):
        raise ToolFailure("--launch is for a script")
    given.number("launch")


def name_of(path: str) -> str:
    """A file, as messages name it."""
    return STANDARD_INPUT if path == "-" else path


def dialect_version(given: Arguments) -> Version:
    """The version that a text is written in."""
    return version_named(given.value("dialect-version", NEWEST_NAME))


def program_in(data: bytes, name: str, given: Arguments) -> Program:
    """Decode and verify what was in a file."""
    if is_bytecode(data):
        return _read_bytecode(data, given)
    from tileir.text.reading import read_text

    text = decode(data, name)
    version = dialect_version(given)
    found = read_text(
        text,
        name,
        version=version,
        allow_unregistered=given.has("allow-unregistered-dialect"),
        draft_spellings=not given.has("no-draft-spellings"),
    )
    module, diagnostics = found.module, found.diagnostics
    if module is None and not may_be_program(text, name):
        raise no_program(data, name)
    if module is not None:
        context = VerifyContext(version, given.value("hints", "ignore"))
        verify_operation(module, context)
        diagnostics = diagnostics + context.diagnostics
        # The module that the reader puts around a text, with nothing in it.
        is_empty = all(block.first is None for region in module.regions for block in region.blocks)
        if is_empty and isinstance(module.location, CharacterLocation):
            diagnostics.append(Diagnostic("warning", "there is no program in this text", resolved(module.location)))
    sound = None if has_errors(diagnostics) else module
    return Program(data, sound, sorted(diagnostics, key=_place), module is not None, text)


def _read_bytecode(data: bytes, given: Arguments) -> Program:
    """Read bytecode, whose header names its version, and verify it by the rules of the newest version."""
    from tileir.bytecode.layouts import from_bytes
    from tileir.bytecode.primitives import BytecodeError

    try:
        module = from_bytes(data)
    except BytecodeError as error:
        from tileir.bytecode.annotated import annotate

        # The offsets in the messages count from the start of a section or function; this one is that of the file.
        program = Program(data, None, error.diagnostics, False)
        program.offsets = [annotate(data).failure] * len(error.diagnostics)
        return program
    hints = given.value("hints", "ignore")
    context = VerifyContext(NEWEST, hints)
    verify_operation(module, context)
    found = context.diagnostics
    program = Program(data, None if has_errors(found) else module, found, True)
    if found:
        program.offsets = _offsets(data, hints) or program.offsets
    return program


def _offsets(data: bytes, hints: str) -> list[int]:
    """Where in a file that could be read the findings of the verifier are."""
    from tileir.bytecode.annotated import annotate

    found = annotate(data)
    if found.module is None:
        return []
    context = VerifyContext(NEWEST, hints)
    verify_operation(found.module, context)
    starts: dict[Operation | None, int] = {}
    waiting = list(found.nodes)
    while waiting:
        node = waiting.pop()
        starts.setdefault(node.operation, node.start)
        waiting.extend(node.children)
    return [-1 if subject is None else starts.get(subject, -1) for subject in context.subjects]


def _place(diagnostic: Diagnostic) -> tuple[int, int]:
    """The key that sorts findings by position in the text; those without a position come last."""
    if not isinstance(diagnostic.location, TextLocation):
        return (sys.maxsize, 0)
    _, line, column = diagnostic.position
    return (line, column)


# /dev/zero and its like would be read until there is no memory left.
_MOST_OF_A_DEVICE = 1 << 24


def read_bytes(path: str) -> bytes:
    with refusing(f"cannot read '{path}': ", SYSTEM):
        if path == "-":
            if sys.stdin is None:
                raise ToolFailure("cannot read standard input: it is closed")
            return sys.stdin.buffer.read()
        with open(path, "rb") as file:
            data = file.read(_MOST_OF_A_DEVICE)
            if len(data) < _MOST_OF_A_DEVICE:
                return data
            if stat.S_ISCHR(os.fstat(file.fileno()).st_mode):
                raise ToolFailure(f"cannot read '{path}': it is a device without an end")
            return data + file.read()


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
    # The beginning of an operation, in the pretty or the generic form, of its results, or of an alias.
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
    """The note about a file given where bytecode is expected; None if it is bytecode."""
    if is_bytecode(data):
        return None
    name = name_of(path)
    kind = "holds neither Tile IR text nor Tile IR bytecode"
    if is_text(data):
        kind = "is a text: 'tileir check' checks it, 'tileir opt -O0' prints it, 'tileir as' makes bytecode of it"
    return f"note: '{name}' {_kind(data) or kind}"
