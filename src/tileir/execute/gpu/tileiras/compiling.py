"""A kernel of a module to a cubin: written as bytecode, given to the assembler, kept in the cache.

What the assembler gets is the kernel alone, with the globals of its module; with globals that can be written to, all
kernels of the module, as those share them.  Drafts' operations are legalized, and the program is down-leveled if the
assembler is older than the dialect.  Operations are located by their number (`messages.py`), so that whatever it says
is about one of them, and the same program has the same bytecode wherever it stands.

The key of a cubin has the bytecode in the newest version, the GPU and the options, and not the version of the
assembler, which stands in the description.  So where another version is installed the cubin is made again, and where
there is none it is used as it is.
"""

from __future__ import annotations

import signal
import sys
from _blake2 import blake2b
from threading import Lock
from typing import Any, Final, NamedTuple

from tileir.bytecode.layouts import to_bytes
from tileir.dialect.ops import ENTRY, GLOBAL
from tileir.execute.code_cache import default_cache
from tileir.execute.errors import CompilationError, LaunchError, MissingDependencyError
from tileir.execute.gpu.cubin import Cubin, CubinError
from tileir.execute.gpu.targets import target_named
from tileir.execute.gpu.tileiras.command import Outcome, run_command
from tileir.execute.gpu.tileiras.messages import NUMBERED, Positions, read_messages, read_remarks
from tileir.execute.gpu.tileiras.reproducers import save_reproducer
from tileir.execute.gpu.tileiras.tool import Assembler, find_assembler, why_missing
from tileir.ir.clone import clone
from tileir.ir.core import Operation
from tileir.ir.declaration import NEWEST, Version
from tileir.ir.diagnostics import Diagnostic, OptionError, note
from tileir.ir.location import UNKNOWN, file_location
from tileir.ir.traversal import pre_order
from tileir.passes import debug_scopes, downlevel, legalize

TIME_LIMIT: Final = 120.0
MEMORY_LIMIT: Final = 16 << 30
HOSTS: Final = ("x86_64", "aarch64")
SYSTEMS: Final = ("linux", "windows")
_INPUT: Final = "program.tileirbc"
_OUTPUT: Final = "program.cubin"
_KIND: Final = "cubin"
_EXIT_REFUSED: Final = 3


class AssemblyOptions(NamedTuple):
    """What is asked of the assembler beside the GPU."""

    opt_level: int = 3
    lineinfo: bool = False
    """Whether profilers and debuggers find the lines of the source in the code."""
    host: str = ""
    """The kind of machine that launches: one of `HOSTS`, by default this one."""
    system: str = ""
    """Its operating system: one of `SYSTEMS`, by default this one."""
    remarks: bool = False
    time_limit: float = TIME_LIMIT
    """Seconds."""
    memory_limit: int = MEMORY_LIMIT
    """Bytes."""


class Assembled(NamedTuple):
    """A cubin, and what the assembler and the passes before it had to say: warnings and, if asked for, remarks."""

    cubin: Cubin
    diagnostics: list[Diagnostic]


class AssemblerError(CompilationError):
    """The assembler makes no cubin of a kernel; it says why, or it could not say anything."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__(diagnostics[0].message)
        self.diagnostics = diagnostics


class AssemblerCrash(AssemblerError):
    """The assembler was ended by a signal; what shows that is kept in `directory`, `command` is the way to see it."""

    def __init__(self, diagnostics: list[Diagnostic], signal: str, directory: str, command: str) -> None:
        super().__init__(diagnostics)
        self.signal: str = signal
        self.directory: str = directory
        self.command: str = command


class AssemblerTimeout(AssemblerError):
    """The assembler took longer than it may."""


_USUAL: Final = AssemblyOptions()


def make_cubin(entry: Operation, target: str, options: AssemblyOptions = _USUAL) -> Cubin:
    """The cubin of a kernel for a GPU."""
    return assemble(entry, target, options).cubin


_locks: dict[str, Lock] = {}


def assemble(entry: Operation, target: str, options: AssemblyOptions = _USUAL) -> Assembled:
    """The cubin of a kernel for a GPU, out of the cache or made; with what there is to say about it."""
    target = target_named(target)
    options = _checked(options)
    program = _Program(entry, NEWEST, options.lineinfo)
    key = program.key(target, options)
    # Threads that want the same wait for the first of them; other processes do the work twice.
    with _locks.setdefault(key, Lock()):
        tool = None if why_missing() else find_assembler()
        found = _stored(key, program, tool, options)
        if found is None:
            if tool is None:
                raise MissingDependencyError(
                    f"{why_missing()}, and no cubin of this kernel for {target} is in the cache"
                )
            found = _made(key, program, tool, target, options)
    return Assembled(found.cubin, [*program.warnings, *found.diagnostics])


def _checked(options: AssemblyOptions) -> AssemblyOptions:
    """The options, with what is left to this machine."""
    if options.opt_level not in (0, 1, 2, 3):
        raise OptionError(f"the optimization level is {options.opt_level!r}: choose one from 0 to 3")
    if not options.time_limit > 0 or options.memory_limit < 0:
        raise OptionError("the limits of the assembler are a number of seconds above 0 and a number of bytes")
    host = options.host or _machine()
    if host not in HOSTS:
        raise OptionError(f"'{host}' is no machine with a GPU: choose one of {', '.join(HOSTS)}")
    system = options.system or ("windows" if sys.platform == "win32" else "linux")
    if system not in SYSTEMS:
        raise OptionError(
            f"'{system}' is no operating system of a machine with a GPU: choose one of {', '.join(SYSTEMS)}"
        )
    return options._replace(host=host, system=system)


def _machine() -> str:
    import platform

    name = platform.machine().lower()
    return {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}.get(name, name)


class _Program:
    """A kernel as the assembler gets it."""

    def __init__(self, entry: Operation, version: Version, lineinfo: bool) -> None:
        self.entry: Final = entry
        self.name: Final = entry.symbol_name or ""
        self.warnings: Final[list[Diagnostic]] = []
        module = _alone(entry)
        legalize.run(module, self.warnings)
        if version < NEWEST:
            downlevel.run(module, version, self.warnings)
        operations = list(pre_order(module))
        locations = [operation.location for operation in operations]
        if not lineinfo:
            for number, operation in enumerate(operations, 1):
                operation.location = file_location(NUMBERED, number, 1)
        debug_scopes.run(module)
        self.data: Final = to_bytes(module, version)
        for operation, location in zip(operations, locations, strict=True):
            operation.location = location
        self.module: Final = module
        self.positions: Final = Positions(entry, operations)

    def key(self, target: str, options: AssemblyOptions) -> str:
        """The name of the cubin in the cache."""
        digest = blake2b(digest_size=20, person=b"tileir cubin")
        settings = (_KIND, target, options.opt_level, options.lineinfo, options.host, options.system)
        for part in (self.data, repr(settings).encode()):
            digest.update(len(part).to_bytes(8, "little") + part)
        return f"cubin-{digest.hexdigest()}"


def _alone(entry: Operation) -> Operation:
    """A copy of the module of a kernel, without the other kernels unless they share its memory."""
    parent = entry.parent_operation
    if parent is None:
        raise LaunchError("a kernel that is compiled stands in a module")
    module = clone(parent)
    contents = [operation for region in module.regions for block in region.blocks for operation in block]
    shares = any(each.declaration is GLOBAL and "constant" not in each.attributes for each in contents)
    if not shares:
        for operation in contents:
            if operation.declaration is ENTRY and operation.symbol_name != entry.symbol_name:
                operation.erase()
    return module


def _stored(key: str, program: _Program, tool: Assembler | None, options: AssemblyOptions) -> Assembled | None:
    """What is in the cache, if it is what would be made."""
    found = default_cache().get(key)
    if found is None:
        return None
    data, meta = found
    if tool is not None and meta.get("look") != tool.look and meta.get("version") != tool.version:
        return None
    if options.remarks and not meta.get("remarks"):
        return None
    try:
        cubin = Cubin(data, program.name, str(meta.get("version", "")))
    except CubinError:
        return None
    return Assembled(cubin, _said(str(meta.get("said", "")), program, options))


def _said(text: str, program: _Program, options: AssemblyOptions) -> list[Diagnostic]:
    """What the assembler said while it did its work."""
    found = read_messages(text, program.positions)
    return [*found, *read_remarks(text, program.positions)] if options.remarks else found


def _made(key: str, program: _Program, tool: Assembler, target: str, options: AssemblyOptions) -> Assembled:
    """Run the assembler."""
    if tool.bytecode_version < NEWEST:
        program = _Program(program.entry, tool.bytecode_version, options.lineinfo)
    arguments = [f"--gpu-name={target}", f"--opt-level={options.opt_level}"]
    arguments += [f"--host-arch={options.host}", f"--host-os={options.system}"]
    arguments += ["--lineinfo"] if options.lineinfo else []
    arguments += ["--remarks=all"] if options.remarks else []
    command = [tool.path, *arguments, _INPUT, "-o", _OUTPUT]
    try:
        outcome = run_command(
            command,
            {_INPUT: program.data},
            (_OUTPUT,),
            time_limit=options.time_limit,
            memory_limit=options.memory_limit,
        )
    except OSError as error:
        raise CompilationError(f"the assembler '{tool.path}' cannot be run: {error.strerror or error}") from None
    data = outcome.files.get(_OUTPUT, b"")
    if outcome.status != 0 or not data:
        raise _failure(outcome, command, program, tool, target, options)
    try:
        cubin = Cubin(data, program.name, tool.version)
    except CubinError as error:
        words = f"the assembler wrote what cannot be used: {error.message}"
        raise AssemblerError(_told(words, program, tool, target)) from None
    meta: dict[str, Any] = {
        "kind": _KIND,
        "version": tool.version,
        "look": tool.look,
        "said": outcome.output,
        "remarks": options.remarks,
    }
    default_cache().put(key, data, meta)
    return Assembled(cubin, _said(outcome.output, program, options))


# --- what goes wrong ---


def _failure(
    outcome: Outcome, command: list[str], program: _Program, tool: Assembler, target: str, options: AssemblyOptions
) -> AssemblerError:
    if outcome.timed_out:
        words = f"the assembler did not finish within {options.time_limit:g} s and was stopped"
        told = _told(words, program, tool, target)
        hint = "products of f32 and f64 with large tiles take it long: use smaller ones, or give it a longer time limit"
        told[0].notes.append(note(hint, UNKNOWN))
        return AssemblerTimeout(told)
    found = [each for each in read_messages(outcome.output, program.positions) if each.severity == "error"]
    if outcome.status < 0:
        return _crash(outcome, command, program, tool, target, options)
    if not found:
        how = f"ended with status {outcome.status}" if outcome.status else "ended without an error"
        said = outcome.output.strip()
        words = f"the assembler {how} and wrote no cubin" + (f"; it said: {said}" if said else "")
        found = _told(words, program, tool, target)
    else:
        found[0].notes.append(note(_who(tool, target), UNKNOWN))
    if _is_near(outcome.peak, options.memory_limit):
        found[0].notes.append(note(_memory_words(options), UNKNOWN))
    return AssemblerError(found)


def _crash(
    outcome: Outcome, command: list[str], program: _Program, tool: Assembler, target: str, options: AssemblyOptions
) -> AssemblerCrash:
    name = _signal_name(-outcome.status)
    saved = save_reproducer(
        f"{program.name}-{target}-{program.key(target, options)[-8:]}",
        [argument.replace(_INPUT, "{}/" + _INPUT) for argument in command[:-1]] + ["/dev/null"],
        program.data,
        program.module.text(),
        tool.version,
        f"was ended by {name}",
        outcome.output,
    )
    told = _told(f"the assembler crashed: {name}", program, tool, target)
    notes = told[0].notes
    if _is_near(outcome.peak, options.memory_limit):
        notes.append(note(_memory_words(options), UNKNOWN))
    if saved is None:
        notes.append(note("the program could not be saved: set TILEIR_CRASH_DIR to a directory", UNKNOWN))
        return AssemblerCrash(told, name, "", "")
    notes.append(note(f"the program that it crashes on is saved in {saved.directory}", UNKNOWN))
    notes.append(note(f"to see it again: {saved.command}", UNKNOWN))
    return AssemblerCrash(told, name, saved.directory, saved.command)


def _told(words: str, program: _Program, tool: Assembler, target: str) -> list[Diagnostic]:
    """A finding about the kernel as a whole."""
    found = program.positions.diagnostic("error", words, "")
    found.notes.append(note(_who(tool, target), UNKNOWN))
    return [found]


def _who(tool: Assembler, target: str) -> str:
    return f"compiled for {target} by NVIDIA's tileiras {tool.version}"


def _is_near(peak: int, limit: int) -> bool:
    """Whether a process that had so much memory may have failed for the limit."""
    return bool(limit) and peak > limit // 4


def _memory_words(options: AssemblyOptions) -> str:
    return f"it may take no more than {options.memory_limit / (1 << 30):.3g} GiB of memory, which may be the reason"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
