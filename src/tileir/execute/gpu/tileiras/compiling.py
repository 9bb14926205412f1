"""A kernel of a module to a cubin: written as bytecode, given to the assembler, kept in the cache.

The key of a cubin has the bytecode in the newest version, the GPU and the options, and not the version of the
assembler, which stands in the description.  So where another version is installed the cubin is made again, and where
there is none it is used as it is.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tileir.execute.cache.code_cache import default_cache
from tileir.execute.errors import CompilationError, LaunchError, MissingDependencyError
from tileir.execute.gpu.cache import KeyLocks, is_made_by
from tileir.execute.gpu.cubin import Cubin, CubinError, Resources, spill_warning
from tileir.execute.gpu.errors import AssemblerError
from tileir.execute.gpu.targets import target_named
from tileir.execute.gpu.tileiras.failures import OUTPUT, Attempt
from tileir.execute.gpu.tileiras.messages import read_messages, read_remarks
from tileir.execute.gpu.tileiras.program import Program
from tileir.execute.gpu.tileiras.tool import INSTALL, MISSING, Assembler, AssemblyOptions, installed_assembler
from tileir.execute.launching.entries import entries_of
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.versions import NEWEST

_USUAL: Final = AssemblyOptions()


class Assembled(NamedTuple):
    """A cubin, and what there is to say about it: warnings and, if asked for, the assembler's remarks."""

    cubin: Cubin
    diagnostics: list[Diagnostic]
    resources: dict[str, Resources]
    """What each kernel in it takes of a GPU, by the kernel's own name, which need not be that in the cubin."""
    key: str
    """Its name in the cache."""


def assemble(entry: Operation, target: str, options: AssemblyOptions = _USUAL) -> Assembled:
    """The cubin of a kernel for a GPU, out of the cache or made; with what there is to say about it."""
    module = entry.parent_operation
    if module is None:
        raise LaunchError("only a kernel that stands in a module can be compiled")
    return _assemble(module, entry, target, options)


def assemble_module(module: Operation, target: str, options: AssemblyOptions = _USUAL) -> Assembled:
    """A cubin with all kernels of a module."""
    return _assemble(module, None, target, options)


_locks: Final = KeyLocks()
"""By the names of cubins that are being made."""


def _assemble(module: Operation, entry: Operation | None, target: str, options: AssemblyOptions) -> Assembled:
    target = target_named(target)
    options = options.checked()
    program = Program(module, entry, options.lineinfo and not options.numbered)
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
    """What is in the cache, if it is what would be made."""
    found = default_cache().get(key)
    if found is None:
        return None
    data, meta = found
    if not is_made_by(meta, tool):
        return None
    if options.remarks and not meta.get("remarks"):
        return None
    try:
        cubin = Cubin(data, program.name, str(meta.get("version", "")))
    except CubinError:
        return None
    return _assembled(key, cubin, str(meta.get("said", "")), program, options)


def _assembled(key: str, cubin: Cubin, output: str, program: Program, options: AssemblyOptions) -> Assembled:
    found = [*program.warnings, *read_messages(output, program.positions)]
    if options.remarks:
        found += read_remarks(output, program.positions)
    resources = {name: Cubin(cubin.data, kernel).resources for name, kernel in program.kernels.items()}
    entries = entries_of(program.source)
    found += [spill_warning(entries[name], taken) for name, taken in resources.items() if taken.spills]
    return Assembled(cubin, found, resources, key)


def _made(key: str, program: Program, tool: Assembler, target: str, options: AssemblyOptions) -> Assembled:
    """Run the assembler."""
    _check_tool(tool, target, options)
    if tool.bytecode_version < NEWEST:
        lineinfo = options.lineinfo and not options.numbered
        program = Program(program.source, program.entry, lineinfo, tool.bytecode_version)
    arguments = [f"--gpu-name={target}", f"--opt-level={options.opt_level}"]
    arguments += [f"--host-arch={options.host}", f"--host-os={options.system}"]
    arguments += ["--lineinfo"] if options.lineinfo else []
    arguments += ["--remarks=all"] if options.remarks else []
    attempt = Attempt(program, tool, target, options, arguments)
    outcome = attempt.run(program.data, options.time_limit)
    data = outcome.files.get(OUTPUT, b"")
    if outcome.status != 0 or not data:
        raise attempt.failure(outcome)
    try:
        cubin = Cubin(data, program.name, tool.version)
    except CubinError as error:
        raise AssemblerError(attempt.diagnostics(f"what the assembler wrote cannot be used: {error.message}")) from None
    if cubin.target != target:
        raise AssemblerError(attempt.diagnostics(f"the assembler made code for {cubin.target}"))
    meta: dict[str, Any] = {
        "version": tool.version,
        "stamp": tool.stamp,
        "said": outcome.output,
        "remarks": options.remarks,
    }
    default_cache().put(key, data, meta)
    return _assembled(key, cubin, outcome.output, program, options)


def _check_tool(tool: Assembler, target: str, options: AssemblyOptions) -> None:
    """Refuse what an older assembler cannot do, in words."""
    if tool.targets and target not in tool.targets:
        raise CompilationError(
            f"NVIDIA's tileiras {tool.version} makes no code for {target}, only for {', '.join(tool.targets)}: "
            f"a newer one may, {INSTALL} --upgrade"
        )
    if options.remarks and not tool.has_remarks:
        raise CompilationError(
            f"NVIDIA's tileiras {tool.version} makes no remarks: a newer one does, {INSTALL} --upgrade"
        )
