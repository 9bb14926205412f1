"""Kernels of the engine of NVIDIA's assembler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tileir.execute.engine.interface import LocatedText, located_lines
from tileir.execute.gpu.cubin import Cubin, cubin_of
from tileir.execute.gpu.driver.devices import target_here
from tileir.execute.gpu.launching import GpuKernel
from tileir.execute.gpu.targets import target_named
from tileir.execute.gpu.tileiras.cached import make_cubin
from tileir.execute.launching.entries import select_entry
from tileir.execute.memory import Region
from tileir.ir.core import Operation
from tileir.ir.versions import NEWEST, Version

if TYPE_CHECKING:
    from tileir.execute.gpu.tileiras.program import Program


class TileirasKernel(GpuKernel):
    """A kernel that NVIDIA's assembler compiles when it is first launched on a GPU of some kind."""

    def __init__(self, entry: Operation, globals: dict[str, Region], ready: bytes | None = None) -> None:
        """`ready` is a cubin with the kernel, which is not compiled then."""
        made = None if ready is None else cubin_of(entry, ready)
        self._ready_cubin: Final = made
        super().__init__(entry, globals, self._made, operation_at=self._operation_at_position)

    def _made(self, target: str) -> Cubin:
        return self._ready_cubin if self._ready_cubin is not None else make_cubin(self.entry, target)

    def dump(self, stage: str, *, sanitize: bool = False, unchecked: bool = False, target: str | None = None) -> str:
        if stage == "sass":
            from tileir.execute.gpu.disassembly import disassembled

            return disassembled(self._cubin_for(target))
        return self._program().module.text()

    def _cubin_for(self, target: str | None) -> Cubin:
        """The cubin for a GPU that is named; by default the one that was given, else for the GPU of this machine."""
        ready = self._ready_cubin
        if ready is not None and (target is None or target_named(target) == ready.target):
            return ready
        return make_cubin(self.entry, target_here() if target is None else target)

    def located(self, stage: str) -> LocatedText:
        from tileir.execute.gpu.disassembly import disassembled_lines
        from tileir.execute.gpu.tileiras.compiling import assemble
        from tileir.execute.gpu.tileiras.messages import NUMBERED
        from tileir.execute.gpu.tileiras.options import SASS, AssemblyOptions
        from tileir.execute.gpu.tileiras.tool import find_assembler

        options = AssemblyOptions(lineinfo=True, numbered=True)
        made = assemble(self.entry, stage.removeprefix(SASS), options)
        lines, numbers = disassembled_lines(made.cubin)
        program = self._program(find_assembler().bytecode_version)
        operations = [program.positions.operation_at(NUMBERED, number) for number in numbers]
        entry = select_entry(program.module, made.cubin.kernel)
        # The kernel as such is what all of it is of.
        linked = [[] if each is None or each is entry else [each] for each in operations]
        return located_lines(entry, lines, linked, [each.message for each in made.diagnostics])

    def _program(self, version: Version = NEWEST) -> Program:
        module = self.entry.parent_operation
        assert module is not None, "a kernel stands in a module"
        # Imported here: a kernel from the cache runs without what compiles it.
        from tileir.execute.gpu.tileiras.program import Program

        return Program(module, self.entry, lineinfo=False, version=version)

    def _operation_at_position(self, file: str, line: int) -> Operation | None:
        return self._program().positions.operation_at(file, line)
