"""Kernels of the engine `tileiras`, with cubins out of the cache or made.

What writes bytecode, of which the key of a cubin is made, takes longer to import than the rest of a first launch.  So
the cache also maps the module's structure to the key, and to whether there are warnings, whose text has locations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tileir.execute.cache.code_cache import default_cache, hash_of_installed, hash_of_sources
from tileir.execute.engine.interface import LocatedText, located_lines
from tileir.execute.gpu.cache import is_made_by, program_digest
from tileir.execute.gpu.cubin import Cubin, CubinError, cubin_of, warn_of
from tileir.execute.gpu.driver.devices import target_here
from tileir.execute.gpu.gpus import target_named
from tileir.execute.gpu.launcher import GpuKernel
from tileir.execute.gpu.tileiras.tool import AssemblyOptions, installed_assembler
from tileir.execute.launching.entries import select_entry
from tileir.execute.memory import Region
from tileir.ir.core import Operation
from tileir.ir.versions import RELEASED, Version

if TYPE_CHECKING:
    from tileir.execute.gpu.tileiras.program import Program


_USUAL: Final = AssemblyOptions()
PARTS: Final = ("bytecode", "dialect", "execute/gpu/tileiras", "ir", "passes", "rewrite")
"""The folders of the package that decide what bytecode the assembler gets."""
_sources: bytes = b""


def cubin_for(
    entry: Operation, target: str | None, ready: bytes | None, options: AssemblyOptions = _USUAL, warns: bool = False
) -> Cubin:
    """A cubin that is `ready` if it fits the request, else one that is made; None is the GPU of this machine."""
    if ready is not None and options == _USUAL:
        found = cubin_of(entry, ready)
        if target is None or target_named(target) == found.target:
            return found
    return make_cubin(entry, target_here() if target is None else target, options, warns=warns)


def make_cubin(entry: Operation, target: str, options: AssemblyOptions = _USUAL, *, warns: bool = False) -> Cubin:
    """The cubin of a kernel for a GPU; if it `warns`, findings are warnings at the caller's line: not in launches."""
    target = target_named(target)
    options = options.checked()
    # Its structural hash leaves out locations, which decide on line information.
    short = "" if options.lineinfo else _short_key(entry, target, options)
    found = _found(short, warns) if short else None
    if found is None:
        from tileir.execute.gpu.tileiras.assembly import assemble

        made = assemble(entry, target, options)
        found = made.cubin
        if short:
            warnings = sum([each.severity == "warning" for each in made.diagnostics])
            default_cache().put(short, b"", {"key": made.key, "kernel": found.kernel, "warnings": warnings})
        if warns:
            warn_of(made.diagnostics)
    return found


def _short_key(entry: Operation, target: str, options: AssemblyOptions) -> str:
    global _sources
    if not _sources:
        _sources = hash_of_installed() or hash_of_sources((), PARTS)
    settings = (entry.symbol_name, target, options.opt_level, options.host, options.system)
    return f"program-{program_digest(entry, settings, _sources, b'tileir cubins')}"


def _found(short: str, warns: bool) -> Cubin | None:
    """The cubin, if it is in the cache; where one `warns`, only if there are no warnings about it."""
    cache = default_cache()
    known = cache.get(short)
    if known is not None and warns and known[1].get("warnings") != 0:
        return None
    stored = None if known is None else cache.get(str(known[1].get("key")))
    if known is None or stored is None or not is_made_by(stored[1], installed_assembler()):
        return None
    try:
        return Cubin(stored[0], str(known[1].get("kernel")), str(stored[1].get("version", "")))
    except CubinError:
        return None


class TileirasKernel(GpuKernel):
    """A kernel that NVIDIA's assembler compiles when it is first launched on a GPU of some kind."""

    def __init__(self, entry: Operation, globals: dict[str, Region], ready: bytes | None = None) -> None:
        """`ready` is a cubin with the kernel, which is not compiled then."""
        made = None if ready is None else cubin_of(entry, ready)
        self._ready: Final = ready
        super().__init__(
            entry,
            globals,
            lambda target: make_cubin(entry, target) if made is None else made,
            operation_at=lambda file, line: self._program().positions.operation_at(file, line),
        )

    def dump(self, stage: str, *, sanitize: bool = False, unchecked: bool = False, target: str | None = None) -> str:
        if stage == "sass":
            from tileir.execute.gpu.nvidia_tools import disassembled

            return disassembled(cubin_for(self.entry, target, self._ready))
        return self._program().module.text()

    def located(self, stage: str) -> LocatedText:
        from tileir.execute.gpu.nvidia_tools import disassembled_lines
        from tileir.execute.gpu.tileiras.assembly import assemble
        from tileir.execute.gpu.tileiras.program import NUMBERED
        from tileir.execute.gpu.tileiras.tool import SASS, find_assembler

        options = AssemblyOptions(lineinfo=True, numbered=True)
        made = assemble(self.entry, stage.removeprefix(SASS), options)
        lines, numbers = disassembled_lines(made.cubin)
        program = self._program(find_assembler().bytecode_version)
        operations = [program.positions.operation_at(NUMBERED, number) for number in numbers]
        entry = select_entry(program.module, made.cubin.kernel)
        # The kernel as such is what all of it is of.
        linked = [[] if each is None or each is entry else [each] for each in operations]
        return located_lines(entry, lines, linked, [each.message for each in made.diagnostics])

    def _program(self, version: Version = RELEASED) -> Program:
        # Imported here: a kernel from the cache runs without what compiles it.
        from tileir.execute.gpu.tileiras.program import Program

        return Program(self.entry, version=version)
