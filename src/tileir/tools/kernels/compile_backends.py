"""What compiles kernels for `tileir compile`: NVIDIA's assembler, or Triton."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tileir.execute.gpu.targets import target_named
from tileir.ir.diagnostics import Diagnostic
from tileir.tools.arguments import Arguments, ToolFailure

if TYPE_CHECKING:
    from tileir.execute.gpu.cubin import Resources
    from tileir.ir.core import Operation

DUMPED = ("schedule", "tile", "ttir", "ttgir", "llvm", "ptx", "amdgcn", "cubin")
"""The stages that can be looked at."""


class Piece(NamedTuple):
    """What is written: the code of a module or of one of its kernels, or the text of a stage."""

    kernel: str
    """Empty for all of the module."""
    data: bytes
    resources: list[Resources]
    diagnostics: list[Diagnostic]


class CompileBackend:
    """One that compiles.

    `others` are the options that only the other one has, `other` what that is and what to do.  `is_whole` says whether
    all kernels of a module come as one.
    """

    name = others = other = ""
    is_whole = False

    def __init__(self, given: Arguments) -> None:
        self.stage: str = given.value("dump")
        given.refuse(tuple(self.others.split()), f"is an option of {self.other}")

    def target(self, text: str) -> str:
        """The target that a text names."""
        return target_named(text)

    def extension(self, target: str) -> str:
        """Of files with code or text for a target."""
        return ".cubin" if not self.stage else ".sass" if self.stage == "cubin" else f".{self.stage}"

    def compile(self, entry: Operation | None, module: Operation, target: str) -> Piece:
        """Compile a kernel, or with none all of a module."""
        raise NotImplementedError


class AssemblerBackend(CompileBackend):
    name = "tileiras"
    others = "fast"
    other = "Triton's: add --backend triton"
    is_whole = True

    def __init__(self, given: Arguments) -> None:
        from tileir.execute.gpu.tileiras.tool import MEMORY_LIMIT, TIME_LIMIT, AssemblyOptions

        super().__init__(given)
        if self.stage not in ("", "cubin"):
            raise ToolFailure(f"--dump {self.stage} shows a stage of Triton's: add --backend triton")
        self._options = AssemblyOptions(
            int(given.value("opt-level", "3")),
            given.has("lineinfo"),
            given.value("host"),
            given.value("host-system"),
            given.has("remarks"),
            given.seconds("time-limit", TIME_LIMIT),
            given.gibibytes("memory-limit", MEMORY_LIMIT),
        )

    def compile(self, entry: Operation | None, module: Operation, target: str) -> Piece:
        from tileir.execute.gpu.tileiras.assembly import assemble

        options = self._options
        made = assemble(module if entry is None else entry, target, options)
        data = made.cubin.data
        if self.stage:
            from tileir.execute.gpu.nvidia_tools import disassembled

            data = disassembled(made.cubin).encode("utf-8", "surrogateescape")
        return Piece("", data, list(made.resources.values()), made.diagnostics)


class TritonBackend(CompileBackend):
    name = "triton"
    others = "opt-level remarks host host-system"
    other = "NVIDIA's assembler, and Triton has none like it: leave it out"

    def __init__(self, given: Arguments) -> None:
        from tileir.execute.gpu.triton.code import CodeOptions, Limits
        from tileir.execute.gpu.triton.toolchain import why_missing
        from tileir.execute.gpu.triton.worker.pool import start_worker

        super().__init__(given)
        usual = Limits()
        self._options = CodeOptions(fast=given.has("fast"), lineinfo=given.has("lineinfo"))
        self._limits = Limits(given.seconds("time-limit", usual.seconds), given.gibibytes("memory-limit", usual.memory))
        if self.stage not in ("tile", "ttir") and not why_missing():
            # It imports Triton while this reads the program.
            start_worker()

    def target(self, text: str) -> str:
        from tileir.execute.gpu.triton.toolchain import triton_target

        found = triton_target(text)
        stage = self.stage
        if stage and stage not in found.stages:
            stages = ", ".join([each for each in found.stages if each in DUMPED])
            raise ToolFailure(f"code for {found.name} has no stage '{stage}' to dump: it has {stages}")
        return found.name

    def extension(self, target: str) -> str:
        from tileir.execute.gpu.triton.toolchain import triton_target

        return ".hsaco" if not self.stage and triton_target(target).is_amd else super().extension(target)

    def compile(self, entry: Operation | None, module: Operation, target: str) -> Piece:
        from tileir.execute.gpu.triton.compiler import make, stage_text
        from tileir.execute.gpu.triton.toolchain import NOT_RUN, triton_target
        from tileir.execute.locations.source_locations import user_location

        assert entry is not None, "kernels come one by one"
        gpu = triton_target(target)
        kernel = entry.symbol_name or ""
        notes = [NOT_RUN] if gpu.is_amd else []
        diagnostics: list[Diagnostic] = []
        resources: list[Resources] = []
        if self.stage:
            text = stage_text(entry, gpu, self._options, self.stage, self._limits)
            data = text.encode("utf-8", "surrogateescape")
        else:
            made = make(entry, gpu, self._options, self._limits)
            data, diagnostics = made.data, list(made.diagnostics)
            notes += made.code.notes if made.code is not None else []
            resources += [made.resources] if made.resources is not None else []
        place = user_location(entry.location)
        diagnostics += [Diagnostic("remark", f"kernel @{kernel}: {each}", place) for each in notes]
        return Piece(kernel, data, resources, diagnostics)


BACKENDS: dict[str, type[CompileBackend]] = {each.name: each for each in (AssemblerBackend, TritonBackend)}
