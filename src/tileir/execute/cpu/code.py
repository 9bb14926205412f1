"""The code of a kernel: lowered, emitted, compiled or taken from the cache, in each version that launches ask for.

Versions are for arguments that share memory or not, checked or not, and for the sanitizer.  Each is compiled when a
launch asks for it, and kept on disk.
"""

from __future__ import annotations

from typing import Any, Final

from tileir.execute.cpu.analysis import trip_counts
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.entry import emit_worker
from tileir.execute.cpu.emission.statements import EMITTERS
from tileir.execute.cpu.loops import arena, order, traffic
from tileir.execute.cpu.loops.checks import Check
from tileir.execute.cpu.loops.options import Options
from tileir.execute.cpu.loops.sites import Site
from tileir.execute.cpu.loops.statements import Program, Repeat, statements
from tileir.execute.cpu.lowering.context import Lowering
from tileir.execute.cpu.lowering.roster import HANDLERS
from tileir.execute.cpu.native import cache, compilation, record, runtime
from tileir.execute.cpu.native.target import Target
from tileir.execute.errors import CompilationError, LaunchError, converted
from tileir.execute.memory import Region, available_memory
from tileir.ir.clone import clone
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError

MANY_CHECKS: Final = 2000
"""Branches of a sanitized kernel beyond which it is compiled quickly rather than well."""


class Lowered:
    """A kernel as LLVM IR, and what its failures and prints mean."""

    __slots__ = ("checks", "prints", "program", "sites", "text")

    def __init__(
        self, program: Program, text: str, checks: list[Check], prints: list[Operation], sites: list[Site]
    ) -> None:
        self.sites: list[Site] = sites
        self.program: Program = program
        self.text: str = text
        self.checks: list[Check] = checks
        self.prints: list[Operation] = prints


class Version:
    """A version of a kernel in memory, ready to run."""

    __slots__ = ("arena_bytes", "loaded", "lowered", "options", "print_count", "shared_axis")

    def __init__(self, loaded: runtime.Loaded, meta: dict[str, Any], options: Options) -> None:
        self.loaded: runtime.Loaded = loaded
        self.arena_bytes: int = meta["arena_bytes"]
        self.print_count: int = meta["prints"]
        self.shared_axis: int = meta["shared_axis"]
        if meta["repeats"]:
            loaded.has_loops(meta["deciding"])
        self.options: Options = options
        self.lowered: Lowered | None = None
        """How the kernel was lowered, where the sanitizer has to know."""


class KernelCode:
    """The versions of a kernel for one machine."""

    def __init__(
        self, entry: Operation, globals: dict[str, Region], fast: bool, target: Target, layout: record.Layout
    ) -> None:
        self.entry: Operation = entry
        self.globals: dict[str, Region] = globals
        self.fast: bool = fast
        self.target: Target = target
        self._layout: record.Layout = layout
        self._versions: dict[tuple[bool, bool, bool], Version] = {}
        self._text: str | None = None

    def lower(self, options: Options) -> Lowered:
        """Lower and emit, without compiling."""
        try:
            return self._lowered(options)
        except TileIRError:
            raise
        except Exception as error:
            raise converted(error) from error

    def _lowered(self, options: Options) -> Lowered:
        # The sanitizer looks at the program as it is, at promises too that nothing is made of.
        entry = self.entry if options.sanitize else optimized(self.entry)
        program = Lowering(entry, self.target, options, HANDLERS).run()
        arena.assign(program)
        if not options.sanitize:
            traffic.choose(program, self.target, options.overlapping)
        emission = Emission(program, self.target, self._layout, EMITTERS, options)
        text = emit_worker(emission)
        return Lowered(program, text, emission.checks, emission.prints, emission.sites)

    def dump(self, stage: str, *, overlapping: bool = False, sanitize: bool = False, unchecked: bool = False) -> str:
        """A version of the kernel as text, to read: "tiles", "loops", "llvm", "llvm-opt" or "asm" (docs/cpu.md)."""
        from tileir.execute.cpu.loops import printer

        if stage == "tiles":
            entry = self.entry if sanitize else optimized(self.entry)
            return f"{entry.parent_operation or entry}\n"
        lowered = self.lower(Options(overlapping, self.fast, sanitize, unchecked))
        if stage == "loops":
            mode = "fast" if self.fast else "exact"
            vectors = f"{self.target.name}, vectors of {self.target.vector_bytes} bytes, {mode}"
            return printer.program_text(lowered.program, vectors)
        if stage == "llvm":
            return lowered.text
        make = {"llvm-opt": compilation.optimized, "asm": compilation.assembly}[stage]
        return make(lowered.text, self.target)

    def version(self, overlapping: bool, sanitize: bool, unchecked: bool = False) -> Version:
        found = self._versions.get((overlapping, sanitize, unchecked))
        if found is None:
            options = Options(overlapping, self.fast, sanitize, unchecked)
            try:
                compiled = self._compiled(options)
            except TileIRError:
                raise
            except Exception as error:
                raise converted(error) from error
            # Two threads may make one each: the first that is ready is what both use.
            found = self._versions.setdefault((overlapping, sanitize, unchecked), compiled)
        return found

    def _compiled(self, options: Options) -> Version:
        store = cache.default_cache()
        if self._text is None:
            parent = self.entry.parent_operation
            self._text = str(parent if parent is not None else self.entry)
        flags = f"{self.entry.symbol_name} {options.overlapping} {options.fast} {options.sanitize} {options.unchecked}"
        if "alloca" in self._text:
            # What is refused for its size is refused by the code.
            flags += f" {available_memory()}"
        key = cache.key_of(self.target, [self._text, flags, ",".join(self.globals)])
        found = store.get(key)
        if found is not None:
            self.target.require_runnable()
            try:
                return Version(runtime.load(found[0]), found[1], options)
            except (KeyError, TypeError, CompilationError):
                # Not what was meant to be stored: made again, and stored in its place.
                pass
        lowered = self.lower(options)
        # The time LLVM takes for good code grows with the square of the number of checks.
        many = options.sanitize and lowered.text.count("br i1 ") > MANY_CHECKS
        data = compilation.assemble(lowered.text, self.target, 0 if many else 3)
        meta: dict[str, Any] = {
            "arena_bytes": lowered.program.arena_bytes,
            "prints": len(lowered.prints),
            "shared_axis": order.shared_axis(lowered.program),
            "repeats": any(isinstance(statement, Repeat) for statement in statements(lowered.program.body)),
            "deciding": trip_counts.deciding_parameters(lowered.program.entry),
        }
        store.put(key, data, meta)
        self.target.require_runnable()
        version = Version(runtime.load(data), meta, options)
        version.lowered = lowered if options.sanitize else None
        return version


def optimized(entry: Operation) -> Operation:
    """The kernel in a copy of its module, with passes that keep every bit of the results."""
    from tileir.passes.pipeline import run_passes

    parent = entry.parent_operation
    if parent is None:
        raise LaunchError("the kernel is in no module")
    module = clone(parent)
    run_passes(module, ["canonicalize", "cse", "loop-invariant-code-motion", "canonicalize", "dce"], verify_each=False)
    for operation in module.regions[0].blocks[0]:
        if operation.symbol_name == entry.symbol_name:
            return operation
    raise LaunchError(f"the kernel '{entry.symbol_name}' is gone after optimization")
