"""The code of a kernel, compiled or from the disk cache, in each version that launches need.

Versions differ by arguments that share memory or not, by checks, and by the sanitizer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from tileir.dialect import ops
from tileir.execute.analysis.parameters import accesses_several_devices
from tileir.execute.cache import code_cache
from tileir.execute.cpu.ir.options import Options
from tileir.execute.cpu.runtime import launch_record as record
from tileir.execute.cpu.runtime import loader
from tileir.execute.cpu.runtime.target import Target
from tileir.execute.engine.interface import LocatedText
from tileir.execute.errors import CompilationError, LaunchError, converted, raise_if_interrupted
from tileir.execute.memory import Region, available_memory
from tileir.forking import cached_property
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError

if TYPE_CHECKING:
    from tileir.execute.cpu.pipeline import Lowered

MANY_CHECKS: Final = 2000  # Branches of a sanitized kernel beyond which it is compiled quickly rather than well.


class Version:
    """A version of a kernel in memory, ready to run."""

    def __init__(self, loaded: loader.Loaded, meta: dict[str, Any], options: Options) -> None:
        self.loaded: loader.Loaded = loaded
        self.scratch_bytes: int = meta["scratch_bytes"]
        self.print_count: int = meta["prints"]
        self.is_simple: bool = not (meta["prints"] or meta["repeats"])
        if meta["repeats"]:
            loaded.has_loops(meta["deciding"])
        self.options: Options = options
        self.lowered: Lowered | None = None  # How the kernel was lowered, where the sanitizer has to know.


class KernelCode:
    """The versions of a kernel for one machine."""

    def __init__(
        self,
        entry: Operation,
        globals: dict[str, Region],
        fast: bool,
        exact: bool,
        target: Target,
        layout: record.Layout,
    ) -> None:
        self.entry: Operation = entry
        self.globals: dict[str, Region] = globals
        self.fast: bool = fast
        self.exact: bool = exact
        self.target: Target = target
        self._layout: record.Layout = layout
        self._versions: dict[tuple[bool, bool, bool], Version] = {}

    def lower(self, options: Options) -> Lowered:
        """Lower and emit, without compiling."""
        with _errors():
            found: Lowered = _pipeline().lower(self.entry, self.target, self._layout, options)
        return found

    def dump(self, stage: str, *, overlapping: bool = False, sanitize: bool = False, unchecked: bool = False) -> str:
        """A version of the kernel as text: "tiles", "loops", "llvm", "llvm-opt" or "asm" (docs/internals/cpu.md)."""
        if sanitize and accesses_several_devices(self.entry):
            raise LaunchError("the interpreter sanitizes kernels that access several devices: there is no such code")
        if stage == "tiles":
            entry = self.entry if sanitize else _pipeline().optimized(self.entry)
            return f"{entry.parent_operation or entry}\n"
        options = self._options(overlapping, sanitize, unchecked)
        lowered = self.lower(options)
        if stage == "loops":
            return lowered.loop_text(self.target, options)
        if stage == "llvm":
            return lowered.text
        from tileir.execute.cpu.runtime import llvm_compile

        make = {"llvm-opt": llvm_compile.optimized, "asm": llvm_compile.assembly}[stage]
        return make(lowered.text, self.target)

    def located(self, stage: str) -> LocatedText:
        """The version for arrays apart, line by line; operations that were merged count with all their locations."""
        options = self._options(False, False, False)
        found: LocatedText = _pipeline().located(self.entry, self.target, self._layout, options, stage)
        return found

    def version(self, overlapping: bool, sanitize: bool, unchecked: bool = False) -> Version:
        key = (overlapping, sanitize, unchecked)
        found = self._versions.get(key)
        if found is None:
            with _errors():
                compiled = self._compiled(self._options(overlapping, sanitize, unchecked))
            # Two threads may make one each: the first that is ready is what both use.
            found = self._versions.setdefault(key, compiled)
        return found

    def _options(self, overlapping: bool, sanitize: bool, unchecked: bool) -> Options:
        return Options(overlapping, self.fast, sanitize, unchecked, self.exact)

    @cached_property
    def _printed(self) -> str:
        return str(self.entry.parent_operation or self.entry)

    def _compiled(self, options: Options) -> Version:
        store = code_cache.default_cache()
        flags = f"{self.entry.symbol_name} {options.overlapping} {options.mode} {options.sanitize} {options.unchecked}"
        if any(operation.declaration is ops.ALLOCA for operation in self.entry.walk()):
            # What is refused for its size is refused by the code.
            flags += f" {available_memory()}"
        key = loader.key_of(self.target, [self._printed, flags, ",".join(self.globals)])
        found = store.get(key)
        if found is not None:
            self.target.require_runnable()
            try:
                return Version(loader.load(found[0]), found[1], options)
            except (KeyError, TypeError, CompilationError):
                # The stored data is damaged: compile again and replace it.
                pass
        lowered = self.lower(options)
        from tileir.execute.cpu.runtime.llvm_compile import assemble

        # The time LLVM takes for good code grows with the square of the number of checks.
        many = options.sanitize and lowered.text.count("br i1 ") > MANY_CHECKS
        data = assemble(lowered.text, self.target, 0 if many else 3)
        meta = lowered.description()
        store.put(key, data, meta)
        self.target.require_runnable()
        version = Version(loader.load(data), meta, options)
        version.lowered = lowered if options.sanitize else None
        return version


def _pipeline() -> ModuleType:
    """What compiles a kernel, which one from the cache does without."""
    try:
        from tileir.execute.cpu import pipeline
    except ImportError:
        raise_if_interrupted("tileir.execute.cpu.pipeline", "lower")
        raise_if_interrupted("tileir.execute.cpu.runtime.llvm_compile", "assemble")
        raise
    return pipeline


@contextmanager
def _errors() -> Iterator[None]:
    """Raise what is no error of this package as one."""
    try:
        yield
    except TileIRError:
        raise
    except Exception as error:
        raise converted(error) from error
