"""A kernel of a module to a cubin: written as bytecode, given to the assembler, kept in the cache.

The key of a cubin has the newest bytecode, the GPU and the options.  The version of the assembler is in the
description: another version makes the cubin again, and without an assembler it is used as it is.

Where the assembler only reports that it failed, a bisection runs it on prefixes of the kernel, with unused values
printed so that it keeps them.  The shortest failing prefix ends in the operation to report, also inside loops and
branches.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections.abc import Callable
from typing import Final, NamedTuple

from tileir.dialect.ops import CONTINUE, ENTRY, FOR, FTOF, IF, PRINT_TKO, PTR_TO_INT
from tileir.dialect.types import TOKEN, PointerType, TileType
from tileir.execute.cache.code_cache import default_cache
from tileir.execute.errors import CompilationError, LaunchError, MissingDependencyError
from tileir.execute.gpu.cache import KeyLocks, is_made_by
from tileir.execute.gpu.cubin import Cubin, CubinError, Resources, spill_warning
from tileir.execute.gpu.errors import AssemblerCrash, AssemblerError, AssemblerTimeout
from tileir.execute.gpu.gpus import target_named
from tileir.execute.gpu.reproducer import memory_note, save_reproducer
from tileir.execute.gpu.tileiras.program import Program, has_no_reason, read_messages, read_remarks, written
from tileir.execute.gpu.tileiras.tool import (
    CUDA_VARIABLES,
    INSTALL,
    MISSING,
    Assembler,
    AssemblyOptions,
    installed_assembler,
)
from tileir.execute.launching.entries import entries_of
from tileir.ir.attributes import string_attribute
from tileir.ir.core import Block, Operation
from tileir.ir.diagnostics import Diagnostic, TileIRError, note
from tileir.ir.location import UNKNOWN
from tileir.ir.symbols import lookup_symbol
from tileir.ir.traversal import clone, pre_order
from tileir.ir.types import BF16, F16, F32, F64, I64, IntegerType
from tileir.ir.values import Value
from tileir.ir.versions import RELEASED
from tileir.passes.emit import Emit
from tileir.processes.command import Outcome, run_command
from tileir.processes.exit_status import signal_name

_PRINTED: Final = (F16, BF16, F32, F64)
_INPUT: Final = "program.tileirbc"
_OUTPUT: Final = "program.cubin"
_SEARCH_SECONDS: Final = 15.0  # The limit of the search for the operation at which the assembler fails.
_PARTS: Final = (
    "the assembler states no reason; it needs ptxas and libnvvm of its own version, of the packages nvidia-cuda-nvcc "
    "and nvidia-nvvm"
)
_USUAL: Final = AssemblyOptions()
_locks: Final = KeyLocks()  # By the names of cubins that are being made.


class Assembled(NamedTuple):
    """A cubin, and its diagnostics: warnings and, on request, the assembler's remarks."""

    cubin: Cubin
    diagnostics: list[Diagnostic]
    resources: dict[str, Resources]
    """What each kernel in it takes of a GPU, by the kernel's own name, which need not be that in the cubin."""
    key: str  # Its name in the cache.


def assemble(root: Operation, target: str, options: AssemblyOptions = _USUAL) -> Assembled:
    """The cubin of a kernel, or of all kernels of a module, for a GPU, out of the cache or made."""
    if root.declaration is ENTRY and root.parent_operation is None:
        raise LaunchError("only a kernel that stands in a module can be compiled")
    target = target_named(target)
    options = options.checked()
    program = Program(root, options.lineinfo and not options.numbered)
    key = program.key(target, options)
    with _locks.of(key):
        tool = installed_assembler()
        found = _stored(key, program, tool, options)
        if found is None:
            if tool is None:
                raise MissingDependencyError(f"{MISSING}; the cache has no cubin of this kernel for {target} either")
            found = _made(key, program, tool, target, options)
    return found


def _stored(key: str, program: Program, tool: Assembler | None, options: AssemblyOptions) -> Assembled | None:
    found = default_cache().get(key)
    if found is None or not is_made_by(found[1], tool) or (options.remarks and not found[1].get("remarks")):
        return None
    data, meta = found
    try:
        cubin = Cubin(data, program.name, str(meta.get("version", "")))
    except CubinError:
        return None
    return _assembled(key, cubin, str(meta.get("said", "")), program, options)


def _made(key: str, program: Program, tool: Assembler, target: str, options: AssemblyOptions) -> Assembled:
    _check_tool(tool, target, options)
    if tool.bytecode_version != RELEASED:
        program = Program(program.root, options.lineinfo and not options.numbered, tool.bytecode_version)
    attempt = _Attempt(program, tool, target, options)
    outcome = attempt.run(program.data, options.time_limit)
    data = outcome.files.get(_OUTPUT, b"")
    if outcome.status != 0 or not data:
        raise attempt.failure(outcome)
    try:
        cubin = Cubin(data, program.name, tool.version)
    except CubinError as error:
        raise AssemblerError(attempt.diagnostics(f"what the assembler wrote cannot be used: {error.message}")) from None
    if cubin.target != target:
        raise AssemblerError(attempt.diagnostics(f"the assembler made code for {cubin.target}"))
    meta = {"version": tool.version, "stamp": tool.stamp, "said": outcome.output, "remarks": options.remarks}
    default_cache().put(key, data, meta)
    return _assembled(key, cubin, outcome.output, program, options)


def _assembled(key: str, cubin: Cubin, output: str, program: Program, options: AssemblyOptions) -> Assembled:
    found = [*program.warnings, *read_messages(output, program.positions)]
    if options.remarks:
        found += read_remarks(output, program.positions)
    resources = {name: Cubin(cubin.data, kernel).resources for name, kernel in program.kernels.items()}
    entries = entries_of(program.source)
    found += [spill_warning(entries[name], taken) for name, taken in resources.items() if taken.spills]
    return Assembled(cubin, found, resources, key)


def _check_tool(tool: Assembler, target: str, options: AssemblyOptions) -> None:
    """Raise an error for what an older assembler cannot do."""
    if tool.targets and target not in tool.targets:
        raise CompilationError(
            f"NVIDIA's tileiras {tool.version} makes no code for {target}, only for {', '.join(tool.targets)}: "
            f"a newer one may, {INSTALL} --upgrade"
        )
    if options.remarks and not tool.has_remarks:
        raise CompilationError(
            f"NVIDIA's tileiras {tool.version} makes no remarks: a newer one does, {INSTALL} --upgrade"
        )


class _Attempt:
    def __init__(self, program: Program, tool: Assembler, target: str, options: AssemblyOptions) -> None:
        self.program: Final = program
        self.tool: Final = tool
        self.target: Final = target
        self.options: Final = options
        self._who: Final = f"compiled for {target} by NVIDIA's tileiras {tool.version}"
        command = [tool.path, f"--gpu-name={target}", f"--opt-level={options.opt_level}"]
        command += [f"--host-arch={options.host}", f"--host-os={options.system}"]
        command += ["--lineinfo"] if options.lineinfo else []
        command += ["--remarks=all"] if options.remarks else []
        self.command: Final = [*command, _INPUT, "-o"]

    def run(self, data: bytes, seconds: float) -> Outcome:
        """What comes of bytecode."""
        try:
            return run_command(
                [*self.command, _OUTPUT],
                {_INPUT: data},
                (_OUTPUT,),
                time_limit=seconds,
                memory_limit=self.options.memory_limit,
                without=self.tool.misleading,
            )
        except OSError as error:
            words = f"the assembler '{self.tool.path}' cannot be run: {error.strerror or error}"
            raise CompilationError(words) from None

    def diagnostics(self, words: str, *notes: str) -> list[Diagnostic]:
        """A finding about the kernel as a whole."""
        found = self.program.positions.diagnostic("error", words, "")
        found.notes += [note(each, UNKNOWN) for each in (*notes, self._who) if each]
        return [found]

    def failure(self, outcome: Outcome) -> AssemblerError:
        """What to raise for an outcome without a cubin."""
        if outcome.timed_out:
            words = f"the assembler did not finish within {self.options.time_limit:g} s and was stopped"
            hint = "matmuls of f32 and f64 on large tiles take it long: use smaller tiles, or give it a longer limit"
            return AssemblerTimeout(self.diagnostics(words, hint))
        limit = self.options.memory_limit
        # A process may fail in any way at the limit for memory.
        memory = "" if outcome.peak < limit // 4 else memory_note(limit)
        if outcome.status < 0:
            return self._crash(outcome, memory)
        found = [each for each in read_messages(outcome.output, self.program.positions) if each.severity == "error"]
        if has_no_reason(outcome.output):
            found = self._narrowed(found)
        if found:
            found[0].notes += [note(each, UNKNOWN) for each in (memory, self._who) if each]
            return AssemblerError(found)
        how = f"with status {outcome.status}" if outcome.status else "without an error"
        printed = f"; it printed: {outcome.output.strip()}" if outcome.output.strip() else ""
        return AssemblerError(self.diagnostics(f"the assembler ended {how} and wrote no cubin{printed}", memory))

    def _narrowed(self, found: list[Diagnostic]) -> list[Diagnostic]:
        """The operation at which the assembler fails, where its messages do not name it."""
        program = self.program
        end = time.monotonic() + _SEARCH_SECONDS

        def fails(module: Operation) -> bool:
            try:
                outcome = self.run(written(module, program.version), max(end - time.monotonic(), 0.0))
            except TileIRError:
                # An older version of the bytecode cannot encode this prefix.
                raise OutOfTime from None
            if outcome.timed_out:
                raise OutOfTime
            return outcome.status != 0

        operation = narrowed(program.module, program.name, fails)
        if operation is None:
            named = [name for name in CUDA_VARIABLES if name in os.environ and name not in self.tool.misleading]
            words = f"; {' and '.join(named)} of the environment may name another version" if named else ""
            found[0].notes.append(note(_PARTS + words, UNKNOWN))
            return found
        located = program.positions.diagnostic_at("error", "failed to compile Tile IR program", operation)
        located.notes.append(
            note("the assembler states no reason; it fails from this operation of the kernel on", UNKNOWN)
        )
        return [located]

    def _crash(self, outcome: Outcome, memory: str) -> AssemblerCrash:
        name = signal_name(-outcome.status)
        program = self.program
        # What is kept from the assembler here, and a limit without which it may well succeed.
        unset = [f"-u {name}" for name in self.tool.misleading if name in os.environ]
        before = f"ulimit -v {self.options.memory_limit // 1024}; " if memory else ""
        saved = save_reproducer(
            f"{program.name}-{self.target}-{program.key(self.target, self.options)[-8:]}",
            {_INPUT: program.data, "program.mlir": program.module.text().encode("utf-8", "surrogateescape")},
            [argument.replace(_INPUT, os.path.join("{}", _INPUT)) for argument in [*self.command, os.devnull]],
            f"tileiras {self.tool.version} was ended by {name}",
            outcome.output,
            before + (f"env {' '.join(unset)} " if unset else ""),
        )
        found = self.diagnostics(f"the assembler crashed: {name}", memory, *saved.notes)
        return AssemblerCrash(found, outcome.output, name, *saved)


# --- the operation at which the assembler fails ---


class OutOfTime(Exception):
    """The search cannot go on, or not in time; raised by `fails`."""


def narrowed(module: Operation, kernel: str, fails: Callable[[Operation], bool]) -> Operation | None:
    """The operation of a kernel at which the assembler fails; None if it fails at a kernel without operations too."""
    entry = lookup_symbol(module, kernel)
    found: Operation | None = None
    block = None if entry is None else entry.regions[0].blocks[0]
    try:
        while block is not None:
            inside = _first_in(module, block, fails)
            if inside is None:
                break
            found = inside
            goes_on = inside.declaration is FOR or (inside.declaration is IF and not inside.results)
            block = inside.regions[0].blocks[0] if goes_on else None
    except OutOfTime:
        pass
    return found


def _first_in(module: Operation, block: Block, fails: Callable[[Operation], bool]) -> Operation | None:
    """The operation of a block at which the assembler fails; None if without any."""
    operations = list(block)[:-1]
    if not operations or fails(_beginning(module, block, 0)):
        return None
    # It fails with all of them.
    counts = range(1, len(operations))
    return operations[bisect_left(counts, True, key=lambda count: fails(_beginning(module, block, count)))]


def _beginning(module: Operation, block: Block, count: int) -> Operation:
    """A copy of a module in which a block has its first operations only, and nothing comes after it."""
    copy = clone(module)
    twins = dict(zip(pre_order(module), pre_order(copy), strict=True))
    first = block.first
    assert first is not None, "a block has a terminator"
    parent = twins[first].parent
    while parent is not None:
        _truncate(parent, count)
        around = parent.parent_operation
        if around is None or around.declaration is ENTRY or around.parent is None:
            break
        parent = around.parent
        count = list(parent).index(around) + 1
    return copy


def _truncate(block: Block, count: int) -> None:
    """Leave so many operations of a block, and its terminator."""
    operations = list(block)
    last = operations[-1]
    kept, gone = operations[:count], operations[count:-1]
    if last.declaration is CONTINUE:
        # The values of the iteration before are as good as any.
        carried = block.arguments[len(block.arguments) - len(last.operands) :]
        for index, value in enumerate(carried):
            last.set_operand(index, value)
    for operation in reversed(gone):
        operation.erase()
    emit = Emit(last)
    for operation in kept:
        for result in operation.results:
            if not list(result.users):
                _print(emit, result)


def _print(emit: Emit, value: Value) -> None:
    """Use a value, if it can be printed in any way."""
    type = value.type
    if not isinstance(type, TileType):
        return
    if isinstance(type.element, PointerType):
        value = emit.convert(PTR_TO_INT, value, I64)
    elif not isinstance(type.element, IntegerType) and type.element not in _PRINTED:
        value = emit.convert(FTOF, value, F32)
    conversion = "%d" if isinstance(value.type, TileType) and isinstance(value.type.element, IntegerType) else "%f"
    emit.create(PRINT_TKO, [value], [TOKEN], {"str": string_attribute(conversion)}, segments=(1, 0))
