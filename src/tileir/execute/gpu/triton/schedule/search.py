"""The search for a schedule: candidates are compiled, checked against the default's result, and timed beside it.

Everything runs on the arrays of the launch, and what the kernel writes is restored: the launch itself has not been made
when the search is done.

The schedule may change what the dialect leaves open: the order of sums and the last bits of functions.  Kernels without
such operations have to give the same bits, others the same numbers up to a part of the largest one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Final

import numpy

from tileir.dialect.types import PointerType, TileType
from tileir.execute.analysis.values import leaves_bits_open
from tileir.execute.dtypes import is_float_dtype, memory_dtype
from tileir.execute.errors import CompilationError, LaunchError
from tileir.execute.gpu.arrays import synchronize
from tileir.execute.gpu.driver.devices import copy_from_gpu
from tileir.execute.gpu.driver.library import driver
from tileir.execute.gpu.loading import LaunchedCode, Launching, NotDescribed, launch_again
from tileir.execute.gpu.timing import MemoryRange, Repeatable, SavedMemory, has_space, measured, repeatable
from tileir.execute.gpu.triton.code import Code, Schedule, Specialization, Trial, Tuning
from tileir.execute.gpu.triton.preparing.splitting import split
from tileir.execute.gpu.triton.program import Program
from tileir.execute.gpu.triton.schedule.candidates import candidates
from tileir.execute.gpu.triton.schedule.features import features_of
from tileir.execute.gpu.triton.schedule.trial import trial_words
from tileir.execute.gpu.triton.toolchain import TritonTarget
from tileir.ir.core import Operation
from tileir.ir.types import Type

_TOLERANCES: Final = {1: 2.0**-3, 2: 2.0**-7, 4: 2.0**-12, 8: 2.0**-40}
"""By bytes of a float: differences of this part of the largest number are last bits."""

Compile = Callable[[Schedule | None], Code]
"""The code of the kernel with a schedule, or with the default."""
Load = Callable[[Code], LaunchedCode]
Progress = Callable[[int, int, Trial], None]
"""Told after each candidate: how many are done, of how many, and what became of it."""
_MOST_COMPILERS: Final = 4
_WIN: Final = 0.99
"""What takes more than this part of the default's time is no better."""
_ATTEMPT: Final = "tuning a launch"


def leaves_open(entry: Operation) -> bool:
    """Whether results of a kernel may depend on how it is compiled."""
    return any(leaves_bits_open(each) for each in entry.walk())


def agree(expected: Any, found: Any, element: Type, is_open: bool) -> bool:
    """Whether what two codes wrote, given as bytes, is the same."""
    if numpy.array_equal(expected, found):
        return True
    dtype = memory_dtype(element)
    if not is_open or not is_float_dtype(dtype) or expected.size % dtype.itemsize:
        return False
    ours, theirs = expected.view(dtype).astype(numpy.float64), found.view(dtype).astype(numpy.float64)
    special = ~numpy.isfinite(ours)
    if not numpy.array_equal(ours[special], theirs[special], equal_nan=True):
        return False
    largest = numpy.abs(ours[~special]).max(initial=0.0)
    return bool((numpy.abs(ours - theirs)[~special] <= _TOLERANCES[dtype.itemsize] * largest).all())


class Launches:
    """Launches of one kernel with the same arguments, by several codes; the context is current."""

    def __init__(self, entry: Operation, launching: Launching, load: Load, plan: Repeatable, stack: ExitStack) -> None:
        self._entry: Final = entry
        self._launching: Final = launching
        self._load: Final = load
        self._stream: Final = launching.stream
        assert launching.bound is not None, "the arguments were looked at"
        self.written: Final[list[tuple[MemoryRange, Type]]] = []
        for buffer, label in launching.bound.buffers:
            low = int(launching.values[label.number]) - (buffer.address - buffer.low)
            if label.number in plan.written and buffer.low < buffer.high:
                type = entry.regions[0].blocks[0].arguments[label.number].type
                assert isinstance(type, TileType) and isinstance(type.element, PointerType)
                self.written.append(((low, buffer.high - buffer.low), type.element.pointee))
        ranges = [each for each, _ in self.written]
        if not has_space(ranges):
            raise LaunchError(f"@{entry.symbol_name} cannot be tuned: the GPU has no memory for copies of its results")
        self.saved: Final = SavedMemory(ranges, self._stream, stack)
        self.is_open: Final = leaves_open(entry)

    def once(self, code: Code) -> Callable[[], None]:
        """A launch by some code, made each time it is called."""
        loaded = self._load(code)
        launching = self._launching
        kernel = loaded.loader.kernel(launching.place, launching.context)
        record = loaded.packer.make()
        loaded.fill(record, launching, True)
        function = kernel.function_in(launching.context, self._entry.symbol_name or "")
        attempt = f"launching @{self._entry.symbol_name}"
        return launch_again(record, function, lambda code: driver().error("cuLaunchKernelEx", code, attempt))

    def results(self, launch: Callable[[], None]) -> list[Any]:
        """What a launch writes, as bytes."""
        self.saved.restore()
        launch()
        found = [numpy.empty(size, numpy.uint8) for (_, size), _ in self.written]
        for array, ((address, size), _) in zip(found, self.written, strict=True):
            copy_from_gpu(array.ctypes.data, address, size, self._stream)
        synchronize(self._stream, _ATTEMPT)
        return found

    def agree(self, expected: list[Any], found: list[Any]) -> bool:
        pairs = zip(expected, found, self.written, strict=True)
        return all(agree(ours, theirs, element, self.is_open) for ours, theirs, (_, element) in pairs)

    def compared(self, default: Callable[[], None], other: Callable[[], None]) -> tuple[float, float]:
        """Seconds of two launches, made in turn."""
        first, second = measured([default, other], self._stream, [each for each, _ in self.written])
        return first, second


class Search:
    """One search: the launch that it is for, and what makes code of the kernel."""

    def __init__(
        self, entry: Operation, launching: Launching, target: TritonTarget, fast: bool, compile: Compile, load: Load
    ) -> None:
        self._entry: Final = entry
        self._launching: Final = launching
        self._target: Final = target
        self._fast: Final = fast
        self._compile: Final = compile
        self._load: Final = load

    def run(self, kind: Specialization, progress: Progress | None = None) -> tuple[Tuning, Code]:
        """Try schedules for launches of a kind; gives what was seen, and the fastest code.  An interrupt ends it."""
        entry, launching = self._entry, self._launching
        plan = repeatable(entry)
        if plan is None:
            raise LaunchError(
                f"@{entry.symbol_name} cannot be tuned: it prints, asserts, or writes where its arguments do not say: "
                "launches of such kernels cannot be made again and again"
            )
        default = self._compile(None)
        program = Program(entry)
        split(program.entry, self._target, self._fast)
        wanted = candidates(features_of(program.entry, self._target.name, self._fast), self._target, default.schedule)
        with ExitStack() as stack:
            launches = Launches(entry, launching, self._load, plan, stack)
            try:
                by_default = launches.once(default)
                expected = launches.results(by_default)
                seconds, _ = launches.compared(by_default, by_default)
                tuning = Tuning(entry.symbol_name or "", launching.place.name, Trial(default.schedule, seconds))
                trials = Trials(tuning, launches, by_default, expected, default)
                try:
                    self._try(trials, wanted, kind, progress)
                except KeyboardInterrupt:
                    tuning.is_interrupted = True
            finally:
                launches.saved.end()
        best = tuning.best
        if best.seconds > _WIN * tuning.trials[0].seconds:
            return tuning, default
        return tuning, trials.codes[best.schedule]

    def _try(self, trials: Trials, wanted: list[Schedule], kind: Specialization, progress: Progress | None) -> None:
        pool = ThreadPoolExecutor(min(_MOST_COMPILERS, os.cpu_count() or 1))
        try:
            pending = [(schedule, pool.submit(self._compile, schedule)) for schedule in wanted]
            for number, (schedule, future) in enumerate(pending):
                trial = self._tried(trials, schedule, future, kind)
                trials.tuning.trials.append(trial)
                if progress is not None:
                    progress(number + 1, len(pending), trial)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _tried(self, trials: Trials, schedule: Schedule, future: Future[Code], kind: Specialization) -> Trial:
        try:
            code = future.result()
        except CompilationError as error:
            return Trial(schedule, 0.0, error.message.splitlines()[0])
        if code.shared > self._target.shared:
            return Trial(schedule, 0.0, f"it needs {code.shared} bytes of shared memory")
        if trials.is_known(code):
            return Trial(schedule, 0.0, "the same code as another")
        if schedule.warp_specialize:
            # A barrier that nobody arrives at would wait forever.
            words = trial_words(self._entry, self._fast, schedule, kind, self._launching)
            if words:
                return Trial(schedule, 0.0, words)
        try:
            return trials.timed(schedule, code)
        except NotDescribed:
            return Trial(schedule, 0.0, "the driver makes no descriptor of an array")


class Trials:
    """What was seen so far, and how a code is compared with the default's."""

    def __init__(
        self, tuning: Tuning, launches: Launches, by_default: Callable[[], None], expected: list[Any], default: Code
    ) -> None:
        self.tuning: Final = tuning
        self.codes: Final = {default.schedule: default}
        self._launches: Final = launches
        self._by_default: Final = by_default
        self._expected: Final = expected
        self._seen: Final = {default.cubin.data}

    def is_known(self, code: Code) -> bool:
        """Whether the same code has been tried before."""
        if code.cubin.data in self._seen:
            return True
        self._seen.add(code.cubin.data)
        return False

    def timed(self, schedule: Schedule, code: Code) -> Trial:
        launch = self._launches.once(code)
        if not self._launches.agree(self._expected, self._launches.results(launch)):
            return Trial(schedule, 0.0, "its results differ")
        default, seconds = self._launches.compared(self._by_default, launch)
        self.codes[schedule] = code
        # As if the default took as long each time: clocks rise and fall.
        return Trial(schedule, seconds / default * self.tuning.trials[0].seconds)
