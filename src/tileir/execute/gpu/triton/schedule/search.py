"""The search for a schedule: candidates are compiled, checked against the default's result, and timed beside it.

Everything runs on the arrays of the launch, which are restored before the launch itself.  A schedule may change the
order of sums and the last bits of functions: kernels without these have to give the same bits, others the same numbers
up to a part of the largest one.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any, Final

import numpy

from tileir.execute.analysis.values import leaves_bits_open, pointee_of
from tileir.execute.array_difference import near
from tileir.execute.dtypes import is_float_dtype, memory_dtype
from tileir.execute.errors import CompilationError, LaunchError
from tileir.execute.gpu.arrays import synchronize
from tileir.execute.gpu.driver.devices import copy_from_gpu
from tileir.execute.gpu.driver.library import driver
from tileir.execute.gpu.loaded_code import LaunchedCode, Launching, NotDescribed, launch_filled
from tileir.execute.gpu.timing import MemoryRange, Repeatable, SavedMemory, has_space, measured, repeatable
from tileir.execute.gpu.triton.code import Code, Schedule, Tuning, TuningTrial
from tileir.execute.gpu.triton.program import Program
from tileir.execute.gpu.triton.schedule.features import Features, features_of
from tileir.execute.gpu.triton.schedule.model import shared_bytes
from tileir.execute.gpu.triton.tile_halves import split
from tileir.execute.gpu.triton.toolchain import TritonTarget
from tileir.execute.gpu.triton.worker.pool import module_folders
from tileir.ir.core import Operation
from tileir.ir.types import Type
from tileir.processes.command import run_command

MOST: Final = 24
_FEWEST_STAGES: Final = 2
_MOST_STAGES: Final = 8
_TOLERANCES: Final = {1: 2.0**-3, 2: 2.0**-7, 4: 2.0**-12, 8: 2.0**-40}
"""By bytes of a float: differences of this part of the largest number are last bits."""
_MOST_COMPILERS: Final = 4
_WIN: Final = 0.99  # What takes more than this part of the default's time is no better.
TRIAL_SECONDS: Final = 60.0
"""How long a process with one launch of specialized warps may take; most of it is for its start."""
_MOST_TRIAL_BYTES: Final = 2 << 30
_REQUEST: Final = "request"
_TRIAL: Final = (
    "import sys; _, request, *sys.path[:] = sys.argv; "
    "from tileir.execute.gpu.triton.schedule import trial; trial.main(request)"
)

Compile = Callable[[Schedule | None], Code]
Load = Callable[[Code], LaunchedCode]
Progress = Callable[[int, int, TuningTrial], None]
"""Called after each candidate: how many are done, of how many, and what became of it."""


def candidates(features: Features, target: TritonTarget, chosen: Schedule) -> list[Schedule]:
    """Others than the one that is chosen, those that differ least first."""
    if features.loops:
        near = [chosen.num_stages + step for step in (0, -1, 1, -2, 2)]
        stages = [each for each in near if _FEWEST_STAGES <= each <= _MOST_STAGES]
        is_special = chosen.warp_specialize
        found = [
            chosen._replace(num_warps=8 if special else warps, num_stages=each, warp_specialize=special)
            for special in ((is_special, not is_special) if target.has_wgmma else (is_special,))
            for warps in (chosen.num_warps, 12 - chosen.num_warps)
            for each in stages
        ]
        found.append(chosen._replace(descriptors=False, warp_specialize=False))
    else:
        counts = sorted((1, 2, 4, 8, 16), key=lambda each: abs(each.bit_length() - chosen.num_warps.bit_length()))
        found = [chosen._replace(num_warps=each) for each in counts]
        if features.row_loops:
            found += [chosen._replace(row_stages=n, num_warps=each) for n in (1, 2, 3, 4) for each in counts[:3]]
    fitting = [each for each in found if shared_bytes(features, each) <= target.shared and each != chosen]
    return list(dict.fromkeys(fitting))[:MOST]


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
    largest = numpy.abs(ours[numpy.isfinite(ours)]).max(initial=0.0)
    return bool(near(theirs, ours, 0.0, _TOLERANCES[dtype.itemsize] * largest).all())


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
        self._written: Final[list[tuple[MemoryRange, Type]]] = []  # What launches write, with the type of its elements.
        self._is_open: Final = leaves_open(entry)

    def run(self, progress: Progress | None = None) -> tuple[Tuning, Code]:
        """Try schedules; returns what was seen, and the fastest code.  An interrupt ends it."""
        entry = self._entry
        plan = repeatable(entry)
        if plan is None:
            raise LaunchError(
                f"@{entry.symbol_name} cannot be tuned: it prints, asserts, or writes memory that its arguments do not "
                "show, so that it cannot be launched repeatedly"
            )
        self._find_written(plan)
        default = self._compile(None)
        program = Program(entry)
        split(program.entry, self._target, self._fast)
        features = features_of(program.entry, self._target.name, self._fast)
        schedules = candidates(features, self._target, default.schedule)
        codes = {default.schedule: default}
        with ExitStack() as stack:
            saved = SavedMemory([each for each, _ in self._written], self._launching.stream, stack)
            try:
                by_default = self._launch_of(default)
                expected = self._results(by_default, saved)
                seconds, _ = self._compared(by_default, by_default)
                tuning = Tuning(
                    entry.symbol_name or "", self._launching.place.name, TuningTrial(default.schedule, seconds)
                )
                pool = ThreadPoolExecutor(min(_MOST_COMPILERS, os.cpu_count() or 1))
                try:
                    pending = [(schedule, pool.submit(self._compile, schedule)) for schedule in schedules]
                    for number, (schedule, future) in enumerate(pending):
                        made = self._made(future, codes)
                        if isinstance(made, str):
                            trial = TuningTrial(schedule, 0.0, made)
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
        assert launching.bound is not None, "the arguments were examined"
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
    ) -> TuningTrial:
        reason = self._trial_failure(schedule) if schedule.warp_specialize else ""
        if reason:
            return TuningTrial(schedule, 0.0, reason)
        try:
            launch = self._launch_of(code)
        except NotDescribed:
            return TuningTrial(schedule, 0.0, "the driver makes no descriptor of an array")
        found = zip(expected, self._results(launch, saved), self._written, strict=True)
        if not all(agree(ours, theirs, element, self._is_open) for ours, theirs, (_, element) in found):
            return TuningTrial(schedule, 0.0, "its results differ")
        # As if the default took as long each time: clocks rise and fall.
        default, taken = self._compared(by_default, launch)
        return TuningTrial(schedule, taken / default * seconds)

    def _trial_failure(self, schedule: Schedule) -> str:
        """Why a launch in a process of its own fails, with copies of the arrays; empty where it ends as it should."""
        launching, arguments = self._launching, list(self._launching.values)
        assert launching.bound is not None, "the arguments were examined"
        buffers = launching.bound.buffers
        if sum([buffer.high - buffer.low for buffer, _ in buffers]) > _MOST_TRIAL_BYTES:
            return "not tried: its arrays are too large for a process of its own"
        parameters = self._entry.regions[0].blocks[0].arguments
        for buffer, label in buffers:
            dtype, before = memory_dtype(pointee_of(parameters[label.number])), buffer.address - buffer.low
            data = self._copied(int(arguments[label.number]) - before, buffer.high - buffer.low)[before:]
            arguments[label.number] = data[: data.size // dtype.itemsize * dtype.itemsize].view(dtype)
        request = pickle.dumps((self._entry, self._fast, schedule, launching.grid, tuple(arguments)))
        # A new interpreter: a fork of a process that has used CUDA cannot use it.
        command = [sys.executable, "-c", _TRIAL, _REQUEST, *module_folders()]
        outcome = run_command(command, {_REQUEST: request}, time_limit=TRIAL_SECONDS)
        if outcome.timed_out:
            return f"a launch did not end within {TRIAL_SECONDS:.0f} seconds"
        printed = outcome.output.strip().splitlines() or [f"exit status {outcome.status}"]
        return f"a launch failed: {printed[-1]}" if outcome.status else ""

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
        saved.restore()
        launch()
        return [self._copied(address, size) for (address, size), _ in self._written]

    def _copied(self, address: int, size: int) -> Any:
        """Memory of the GPU, as bytes, once all launches are done."""
        found = numpy.empty(size, numpy.uint8)
        if size:
            copy_from_gpu(found.ctypes.data, address, size, self._launching.stream)
        synchronize(self._launching.stream, "tuning a launch")
        return found

    def _compared(self, default: Callable[[], None], other: Callable[[], None]) -> tuple[float, float]:
        first, second = measured([default, other], self._launching.stream, [each for each, _ in self._written])
        return first, second
