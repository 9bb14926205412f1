"""Kernels of the engine `triton`: a code for each kind of launches (`variants.py`), cached or made at the first.

After many kinds, launches get code made for less than is known of them: compiling takes longer than it wins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Final

from tileir.execute.engine.interface import LaunchOptions, LocatedText, located_lines
from tileir.execute.errors import BlockId, ChoiceError, CompilationError
from tileir.execute.gpu.cache import KeyLocks
from tileir.execute.gpu.driver.devices import Device, current_ordinal, device, require_driver, target_here
from tileir.execute.gpu.driver.library import OLDEST_DRIVER
from tileir.execute.gpu.launch_record import Packer
from tileir.execute.gpu.launcher import GpuLauncher
from tileir.execute.gpu.loaded_code import LaunchedCode, Launching
from tileir.execute.gpu.output import write_output
from tileir.execute.gpu.triton.code import Code, CodeOptions, Limits, Schedule, Specialization
from tileir.execute.gpu.triton.hidden_parameters import HiddenParameters, launch_form
from tileir.execute.gpu.triton.stored_code import keep_schedule, kept_schedule, program_key, stored_code
from tileir.execute.gpu.triton.toolchain import NOT_RUN, TritonTarget, installed_triton, triton_target
from tileir.execute.gpu.triton.variants import Classifier, coarser, general, launch_views
from tileir.execute.memory import Region
from tileir.forking import cached_property
from tileir.ir.core import Operation

if TYPE_CHECKING:
    from tileir.execute.gpu.triton.code import Tuning
    from tileir.execute.gpu.triton.schedule.search import Progress

_USUAL: Final = CodeOptions()
_USUAL_LIMITS: Final = Limits()
_locks: Final = KeyLocks()

FINE_KINDS: Final = 8
"""Kinds of launches that a kernel has codes of their own for, on GPUs of one architecture; further ones are coarser."""
MOST_KINDS: Final = 24  # Codes that are made for it at all, but for one that is right for all launches.


def compile_kernel(
    entry: Operation, target: str, options: CodeOptions = _USUAL, limits: Limits = _USUAL_LIMITS
) -> Code:
    gpu = triton_target(target)
    if gpu.is_amd:
        raise CompilationError(
            f"kernels for {gpu.name} cannot be launched: {NOT_RUN}; 'tileir compile' makes their code"
        )
    # Its structure does not say where a program stands, which line information does.
    key = "" if options.lineinfo else program_key(entry, gpu, options)
    with _locks.of(key or "lines"):
        found = stored_code(key, installed_triton()) if key else None
        if found is None:
            # Imported here: a kernel from the cache runs without what compiles it.
            from tileir.execute.gpu.triton.worker.pool import start_worker

            if installed_triton() is not None:
                # It imports Triton while this imports what lowers kernels.
                start_worker()
            from tileir.execute.gpu.triton.compiler import make

            found = make(entry, gpu, options, limits).code
    assert found is not None, "it is code for NVIDIA"
    return found


class TritonKernel(GpuLauncher):
    """A kernel that Triton compiles when it is first launched in some way on a GPU of some kind."""

    def __init__(self, entry: Operation, globals: dict[str, Region], fast: bool = False, tunes: bool = False) -> None:
        """`tunes` has the first launch of each kind search for its schedule."""
        super().__init__(entry, oldest_driver=OLDEST_DRIVER)
        self._globals: Final = globals
        self._fast: Final = fast
        self._tunes: Final = tunes
        self._codes: Final[dict[tuple[str, Specialization], LaunchedCode]] = {}
        """By target and kind of launches; one code may be for several kinds."""
        self._made: Final[Counter[str]] = Counter()  # By target: how many kinds of launches code was made for.
        self._making: Final = Lock()
        self.notes: Final[list[str]] = []

    @cached_property
    def _classifier(self) -> Classifier:
        return Classifier(self.packer.types, launch_views(self.entry))

    @property
    def key_parts(self) -> tuple[str, ...]:
        return self._classifier.parts

    def kind_of(self, launching: Launching) -> Specialization:
        has_tma = triton_target(launching.place.target).has_tma
        return self._classifier.specialization(launching.values, launching.is_described and has_tma)

    def code_for(self, launching: Launching) -> LaunchedCode | None:
        target = triton_target(launching.place.target)
        requested = self.kind_of(launching)
        found = self._codes.get((target.name, requested))
        if found is None and self._tunes and launching.bound is None:
            return None
        return found if found is not None else self._code(target, requested, launching)

    def _code(self, target: TritonTarget, requested: Specialization, launching: Launching) -> LaunchedCode:
        """Code for a kind of launches, made or found among what was made for others."""
        with self._making:
            found = self._codes.get((target.name, requested))
            if found is None:
                kind = self._kind(target, requested)
                found = self._codes.get((target.name, kind))
                if found is None:
                    code = self._best(target, kind, launching)
                    self.notes.extend([each for each in code.notes if each not in self.notes])
                    found = self._launched(code)
                    self._made[target.name] += 1
                    self._codes[target.name, kind] = found
                self._codes[target.name, requested] = found
        return found

    def _kind(self, target: TritonTarget, requested: Specialization) -> Specialization:
        """The kind of launches to have code for: the one that is requested, unless there are many."""
        if self._made[target.name] < FINE_KINDS:
            return requested
        kind = coarser(requested)
        is_made = (target.name, kind) in self._codes or self._made[target.name] < MOST_KINDS
        return kind if is_made else general(len(requested.divisors))

    def _best(self, target: TritonTarget, kind: Specialization, launching: Launching) -> Code:
        """The code for a kind of launches: with the schedule that a search has found, or finds now, or the model's."""
        kept = kept_schedule(self.entry, target.name, launching.place.name, kind, self._fast)
        if kept is not None:
            try:
                return self.compiled(target, kind, kept)
            except CompilationError:
                # Another version of this package may not make it.
                return self.compiled(target, kind)
        if self._tunes and launching.bound is not None:
            return self._search(target, kind, launching)[1]
        return self.compiled(target, kind)

    def compiled(self, target: TritonTarget, kind: Specialization, schedule: Schedule | None = None) -> Code:
        options = CodeOptions(self._fast, schedule=schedule, specialization=kind)
        code = compile_kernel(self.entry, target.name, options)
        if code.shared > target.shared:
            raise CompilationError(
                f"a tile block of @{self.name} needs {code.shared} bytes of shared memory, and {target.name} has "
                f"{target.shared}: make its tiles smaller, or choose backend='tileiras'"
            )
        return code

    def _search(
        self, target: TritonTarget, kind: Specialization, launching: Launching, progress: Progress | None = None
    ) -> tuple[Tuning, Code]:
        # Imported here: few search.
        from tileir.execute.gpu.triton.schedule.search import Search

        def compile(schedule: Schedule | None) -> Code:
            return self.compiled(target, kind, schedule)

        found = Search(self.entry, launching, target, self._fast, compile, self._launched)
        tuning, code = found.run(progress)
        keep_schedule(self.entry, target.name, launching.place.name, kind, self._fast, code.schedule)
        return tuning, code

    def tune(
        self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions, progress: Progress | None = None
    ) -> Tuning:
        """Search the schedule for launches like this one, and use it from now on; arrays stay as they are."""
        with self.arguments_on_gpu(grid, arguments, options, copies_back=False) as launching:
            target = triton_target(launching.place.target)
            kind = self.kind_of(launching)
            with self._making:
                tuning, code = self._search(target, kind, launching, progress)
                self._codes[target.name, kind] = self._launched(code)
                self._made[target.name] += 1
                self.variants.clear()
        return tuning

    def _launched(self, code: Code) -> LaunchedCode:
        require_driver(code.cubin.oldest_driver)
        packer = Packer(self.entry, launch_form(code))
        hidden = HiddenParameters(packer, code.slots, self._globals, self._classifier.signed)
        # Its global variables are no symbols in the code: nothing is to be filled in there.
        return LaunchedCode(packer, self.entry, {}, lambda target: code.cubin, hidden.complete())

    def listen(self, stream: int, options: LaunchOptions, place: Device, report: object) -> None:
        from tileir.execute.gpu.triton.device_memory import Report

        self.wait(stream, place)
        if isinstance(report, Report):
            text, failed = report.read(self.device_output)
            write_output(text, options.output)
            if failed is not None:
                raise failed

    def located(self, stage: str) -> LocatedText:
        form, _, target = stage.partition("-")
        if form != "ttir":
            lines = self.dump(form, target=target).splitlines()
            return LocatedText(lines, [[] for _ in lines], [])
        from tileir.execute.gpu.triton.compiler import Prepared

        prepared = Prepared(self.entry, triton_target(target), CodeOptions(self._fast), installed_triton())
        lowered, entry = prepared.lowered, prepared.program.entry
        # The kernel as such is what all of it is of.
        linked = [[] if each is None or each is entry else [each] for each in lowered.operations]
        return located_lines(entry, lowered.text.splitlines(), linked, list(lowered.notes))

    def dump(self, stage: str, *, sanitize: bool = False, unchecked: bool = False, target: str | None = None) -> str:
        # Imported here: a kernel from the cache runs without what compiles it.
        from tileir.execute.gpu.triton.compiler import stage_text

        machine = triton_target(target_here() if target is None else target)
        stages = ("amdgcn",) if machine.is_amd else ("ptx", "sass")
        if stage in ("ptx", "sass", "amdgcn") and stage not in stages:
            raise ChoiceError(f"code for {machine.name} has no stage '{stage}' to dump: it has {' and '.join(stages)}")
        options = CodeOptions(self._fast)
        if stage == "schedule" and target is None:
            # Launches of the usual kind on this GPU have the schedule that a search found, if there was one.
            place, kind = device(current_ordinal()), self._classifier.usual(machine.has_tma)
            options = options._replace(schedule=kept_schedule(self.entry, machine.name, place.name, kind, self._fast))
        return stage_text(self.entry, machine, options, stage, Limits())


def compile_ahead(entry: Operation, target: str, values: Sequence[int | float], fast: bool = False) -> Code:
    """The code, cached from now on, for a launch with these values; only the last bits of addresses matter."""
    types = [parameter.type for parameter in entry.regions[0].blocks[0].arguments]
    kind = Classifier(types, launch_views(entry)).specialization(values, triton_target(target).has_tma)
    return compile_kernel(entry, target, CodeOptions(fast, specialization=kind))
