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
from functools import partial
from typing import Any, Final

import numpy

from tileir.execute.analysis.values import leaves_bits_open, pointee_of
from tileir.execute.dtypes import is_float_dtype, memory_dtype
from tileir.execute.errors import CompilationError, LaunchError
from tileir.execute.gpu.arrays import synchronize
from tileir.execute.gpu.driver.devices import copy_from_gpu
from tileir.execute.gpu.driver.library import driver
from tileir.execute.gpu.loaded_code import LaunchedCode, Launching, NotDescribed, launch_filled
from tileir.execute.gpu.timing import MemoryRange, Repeatable, SavedMemory, has_space, measured, repeatable
from tileir.execute.gpu.triton.code import Code, Schedule, Trial, Tuning
from tileir.execute.gpu.triton.preparing.splitting import split
from tileir.execute.gpu.triton.program import Program
from tileir.execute.gpu.triton.schedule.features import Features, features_of
from tileir.execute.gpu.triton.schedule.model import is_persistent, shared_bytes
from tileir.execute.gpu.triton.toolchain import TritonTarget
from tileir.ir.core import Operation
from tileir.ir.types import Type

MOST: Final = 24
"""Candidates."""
_FEWEST_STAGES: Final = 2
_MOST_STAGES: Final = 8
_TOLERANCES: Final = {1: 2.0**-3, 2: 2.0**-7, 4: 2.0**-12, 8: 2.0**-40}
"""By bytes of a float: differences of this part of the largest number are last bits."""
_MOST_COMPILERS: Final = 4
_WIN: Final = 0.99
"""What takes more than this part of the default's time is no better."""

Compile = Callable[[Schedule | None], Code]
"""The code of the kernel with a schedule, or with the default."""
Load = Callable[[Code], LaunchedCode]
Progress = Callable[[int, int, Trial], None]
"""Called after each candidate: how many are done, of how many, and what became of it."""


def candidates(features: Features, target: TritonTarget, chosen: Schedule) -> list[Schedule]:
    """Others than the one that is chosen, those that differ least first."""
    tried = _of_matmuls(features, target, chosen) if features.loops else _of_rows(features, chosen)
    fitting = [each for each in tried if shared_bytes(features, each, target) <= target.shared and each != chosen]
    return list(dict.fromkeys(fitting))[:MOST]


def _of_matmuls(features: Features, target: TritonTarget, chosen: Schedule) -> list[Schedule]:
    near = [chosen.num_stages + step for step in (-1, 1, -2, 2)]
    stages = [each for each in near if _FEWEST_STAGES <= each <= _MOST_STAGES]
    warps = 4 if chosen.num_warps == 8 else 8
    found = [chosen._replace(num_stages=each) for each in stages]
    found += [chosen._replace(num_warps=warps, num_stages=each) for each in (chosen.num_stages, *stages)]
    if chosen.descriptors:
        found.append(chosen._replace(descriptors=False, warp_specialize=False))
    if is_persistent(features, target):
        found.append(chosen._replace(flatten=not chosen.flatten))
        for parts in (1, 2, 4):
            for each in (chosen.num_stages, *stages):
                found.append(chosen._replace(epilogue_parts=parts, num_stages=each))
    if target.has_wgmma:
        for each in (chosen.num_stages, *stages):
            found.append(chosen._replace(num_warps=8, num_stages=each, warp_specialize=not chosen.warp_specialize))
    return found


def _of_rows(features: Features, chosen: Schedule) -> list[Schedule]:
    warps = [each for each in (1, 2, 4, 8, 16) if each != chosen.num_warps]
    warps.sort(key=lambda each: abs(each.bit_length() - chosen.num_warps.bit_length()))
    found = [chosen._replace(num_warps=each) for each in warps]
    if features.row_loops:
        for stages in (1, 2, 3, 4):
            found += [chosen._replace(row_stages=stages, num_warps=each) for each in (chosen.num_warps, *warps[:2])]
    return found


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


class Search:
    """One search: the launch that it is for, what makes code of the kernel, and what was seen so far."""

    def __init__(
        self, entry: Operation, launching: Launching, target: TritonTarget, fast: bool, compile: Compile, load: Load
    ) -> None:
        self._entry: Final = entry
        self._launching: Final = launching
        self._target: Final = target
        self._fast: Final = fast
        self._compile: Final = compile
        self._load: Final = load
        self._written: Final[list[tuple[MemoryRange, Type]]] = []
        """What launches write, with the type of its elements."""
        self._is_open: Final = leaves_open(entry)

    def run(self, progress: Progress | None = None) -> tuple[Tuning, Code]:
        """Try schedules; gives what was seen, and the fastest code.  An interrupt ends it."""
        entry = self._entry
        plan = repeatable(entry)
        if plan is None:
            raise LaunchError(
                f"@{entry.symbol_name} cannot be tuned: it prints, asserts, or writes where its arguments do not say: "
                "launches of such kernels cannot be made again and again"
            )
        self._find_written(plan)
        default = self._compile(None)
        program = Program(entry)
        split(program.entry, self._target, self._fast)
        features = features_of(program.entry, self._target.name, self._fast)
        wanted = candidates(features, self._target, default.schedule)
        codes = {default.schedule: default}
        with ExitStack() as stack:
            saved = SavedMemory([each for each, _ in self._written], self._launching.stream, stack)
            try:
                by_default = self._launch_of(default)
                expected = self._results(by_default, saved)
                seconds, _ = self._compared(by_default, by_default)
                tuning = Tuning(entry.symbol_name or "", self._launching.place.name, Trial(default.schedule, seconds))
                pool = ThreadPoolExecutor(min(_MOST_COMPILERS, os.cpu_count() or 1))
                try:
                    pending = [(schedule, pool.submit(self._compile, schedule)) for schedule in wanted]
                    for number, (schedule, future) in enumerate(pending):
                        made = self._made(future, codes)
                        if isinstance(made, str):
                            trial = Trial(schedule, 0.0, made)
                        else:
                            trial = self._timed(schedule, made, by_default, expected, saved, seconds)
                            codes[schedule] = made
                        tuning.trials.append(trial)
                        if progress is not None:
                            progress(number + 1, len(pending), trial)
                except KeyboardInterrupt:
                    tuning.is_interrupted = True
                finally:
                    pool.shutdown(wait=False, cancel_futures=True)
            finally:
                saved.end()
        best = tuning.best
        return tuning, default if best.seconds > _WIN * tuning.trials[0].seconds else codes[best.schedule]

    def _find_written(self, plan: Repeatable) -> None:
        launching = self._launching
        assert launching.bound is not None, "the arguments were looked at"
        parameters = self._entry.regions[0].blocks[0].arguments
        for buffer, label in launching.bound.buffers:
            low = int(launching.values[label.number]) - (buffer.address - buffer.low)
            if label.number in plan.written and buffer.low < buffer.high:
                self._written.append(((low, buffer.high - buffer.low), pointee_of(parameters[label.number])))
        if not has_space([each for each, _ in self._written]):
            name = self._entry.symbol_name
            raise LaunchError(f"@{name} cannot be tuned: the GPU has no memory for copies of its results")

    def _made(self, future: Future[Code], codes: dict[Schedule, Code]) -> Code | str:
        """The code of a candidate; or why it is not tried."""
        try:
            code = future.result()
        except CompilationError as error:
            return error.message.splitlines()[0]
        if code.shared > self._target.shared:
            return f"it needs {code.shared} bytes of shared memory"
        is_known = any(code.cubin.data == other.cubin.data for other in codes.values())
        return "the same code as another" if is_known else code

    def _timed(
        self,
        schedule: Schedule,
        code: Code,
        by_default: Callable[[], None],
        expected: list[Any],
        saved: SavedMemory,
        seconds: float,
    ) -> Trial:
        try:
            launch = self._launch_of(code)
        except NotDescribed:
            return Trial(schedule, 0.0, "the driver makes no descriptor of an array")
        found = zip(expected, self._results(launch, saved), self._written, strict=True)
        if not all(agree(ours, theirs, element, self._is_open) for ours, theirs, (_, element) in found):
            return Trial(schedule, 0.0, "its results differ")
        # As if the default took as long each time: clocks rise and fall.
        default, taken = self._compared(by_default, launch)
        return Trial(schedule, taken / default * seconds)

    def _launch_of(self, code: Code) -> Callable[[], None]:
        """A launch by some code, made each time it is called."""
        loaded, launching = self._load(code), self._launching
        name = self._entry.symbol_name or ""
        function = loaded.function(launching.place, launching.context)
        record = loaded.packer.take()
        loaded.fill(record, launching, True)
        failed = partial(driver().error, "cuLaunchKernelEx", attempt=f"launching @{name}")
        return partial(launch_filled, record, function, failed)

    def _results(self, launch: Callable[[], None], saved: SavedMemory) -> list[Any]:
        """What a launch writes, as bytes."""
        saved.restore()
        launch()
        found = [numpy.empty(size, numpy.uint8) for (_, size), _ in self._written]
        for array, ((address, size), _) in zip(found, self._written, strict=True):
            copy_from_gpu(array.ctypes.data, address, size, self._launching.stream)
        synchronize(self._launching.stream, "tuning a launch")
        return found

    def _compared(self, default: Callable[[], None], other: Callable[[], None]) -> tuple[float, float]:
        first, second = measured([default, other], self._launching.stream, [each for each, _ in self._written])
        return first, second
