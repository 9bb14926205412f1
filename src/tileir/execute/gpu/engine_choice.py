"""Which of the engines for GPUs runs a launch that names none: the faster one, by measurement.

The first launch of its kind is measured before it is made: each engine's code runs on its arrays, which are restored
where the kernel reads what it writes.  Then the faster one makes the launch, so all results are of one engine.  The
choice is kept on disk for a program, a kind of launches, tile blocks up to a factor of two, a GPU and both compilers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any, Final

from tileir.execute.engine.interface import Backend, KernelSettings, LaunchOptions
from tileir.execute.errors import CompilationError, LaunchError, MissingDependencyError
from tileir.execute.gpu.arrays import is_capturing
from tileir.execute.gpu.cache import Choice, choice_key, keep_choice, kept_choice
from tileir.execute.gpu.driver.devices import Device
from tileir.execute.gpu.driver.library import OLDEST_DRIVER, DriverError
from tileir.execute.gpu.launcher import GpuLauncher
from tileir.execute.gpu.loaded_code import LaunchedCode, Launching, launch_filled
from tileir.execute.gpu.tileiras.tool import installed_assembler
from tileir.execute.gpu.timing import repeatable, writes_globals
from tileir.execute.gpu.triton.kernel import TritonKernel
from tileir.execute.gpu.triton.stored_code import structure_key
from tileir.execute.gpu.triton.toolchain import installed_triton
from tileir.execute.memory import Region
from tileir.ir.core import Operation

_MOST_MEASURED: Final = 16  # Kinds of launches of a kernel that are measured: further ones go where most of those went.


class ChosenKernel(GpuLauncher):
    """A kernel as several engines have it; the first launch of a kind decides which of them runs such launches."""

    # Launches of more or fewer tile blocks, by a factor of two, are measured again.
    key_of_grid: str = "(x * y * z).bit_length()"

    def __init__(
        self, entry: Operation, globals: dict[str, Region], settings: KernelSettings, engines: list[Backend]
    ) -> None:
        super().__init__(entry, oldest_driver=OLDEST_DRIVER)
        self._kernels: Final[dict[str, GpuLauncher]] = {}
        for engine in engines:
            made = engine.prepare(entry, globals, settings)
            assert isinstance(made, GpuLauncher), "backends of this package have such kernels"
            self._kernels[engine.name] = made
        self._triton: Final = next(each for each in self._kernels.values() if isinstance(each, TritonKernel))
        self._fast: Final = settings.fast
        self.choices: Final[dict[tuple[object, ...], Choice]] = {}  # What was chosen so far, by kind of launches.
        self._choosing: Final = Lock()
        self.chosen_backend: str = ""

    @property
    def key_parts(self) -> tuple[str, ...]:
        return self._triton.key_parts

    def listen(self, stream: int, options: LaunchOptions, place: Device, report: Any) -> None:
        # Code of Triton writes its output to a report, other code to standard output.
        listeners = [each for each in self._kernels.values() if isinstance(each, TritonKernel) is (report is not None)]
        listeners[0].listen(stream, options, place, report)

    def code_for(self, launching: Launching) -> LaunchedCode | None:
        x, y, z = launching.grid
        kind = self._triton.kind_of(launching)
        circumstances = (launching.place.target, launching.place.name, kind, (x * y * z).bit_length())
        choice = self.choices.get(circumstances)
        if choice is None:
            if launching.bound is None:
                return None
            with self._choosing:
                choice = self.choices.get(circumstances) or self._choose(circumstances, launching)
        self.chosen_backend = choice.engine
        return self._kernels[choice.engine].code_for(launching)

    def _choose(self, circumstances: tuple[object, ...], launching: Launching) -> Choice:
        if writes_globals(self.entry):
            # Each engine has its own: all kernels of the module have to be the same engine's, whatever else there is.
            choice = Choice(next(iter(self._kernels)), {}, {})
        elif len(self.choices) >= _MOST_MEASURED:
            engines = [choice.engine for choice in self.choices.values()]
            choice = self._first(launching, max(self._kernels, key=engines.count))
        else:
            key = choice_key((structure_key(self.entry), self._fast, *compiler_stamps(), *map(_plain, circumstances)))
            kept = kept_choice(key)
            if kept is not None and kept.engine in self._kernels:
                choice = self._first(launching, kept.engine)
                choice = kept if choice.engine == kept.engine else choice
            else:
                choice, is_kept = self._made(launching)
                if not is_kept:
                    return choice
                keep_choice(key, choice)
        self.choices[circumstances] = choice
        return choice

    def _made(self, launching: Launching) -> tuple[Choice, bool]:
        """A choice, and whether it is worth keeping."""
        if is_capturing(launching.stream):
            # Nothing runs now: a later launch is measured.
            return self._first(launching), False
        # Imported here: where a choice is kept, nothing is measured.
        from tileir.execute.gpu.timing import has_space, measured, restored

        plan = repeatable(self.entry)
        ranges = [] if plan is None or launching.bound is None else restored(plan, launching.bound)
        if plan is None or not has_space(ranges):
            return self._first(launching), True
        compiled, errors = self._compiled(launching)
        failures = {name: str(error) for name, error in errors.items()}
        if not compiled:
            raise _most_specific(errors)
        if len(compiled) == 1:
            return Choice(compiled[0], {}, failures), True
        times = measured([self._launch_of(name, launching) for name in compiled], launching.stream, ranges)
        seconds = dict(zip(compiled, times, strict=True))
        return Choice(min(seconds, key=lambda name: seconds[name]), seconds, failures), True

    def _first(self, launching: Launching, preferred: str = "") -> Choice:
        """The first engine that has code for a launch that is not measured, the preferred one before the others."""
        errors: dict[str, LaunchError] = {}
        for name in sorted(self._kernels, key=lambda name: name != preferred):
            try:
                _load(self._kernels[name], launching)
                return Choice(name, {}, {name: str(error) for name, error in errors.items()})
            except (CompilationError, MissingDependencyError) as error:
                errors[name] = error
        raise _most_specific(errors)

    def _compiled(self, launching: Launching) -> tuple[list[str], dict[str, LaunchError]]:
        """The engines that have code, compiled by all at the same time; and why the others have none."""
        # Imported here: where a choice is kept, nothing is compiled for it.
        from concurrent.futures import ThreadPoolExecutor

        errors: dict[str, LaunchError] = {}
        with ThreadPoolExecutor(len(self._kernels)) as pool:
            made = {name: pool.submit(_load, kernel, launching) for name, kernel in self._kernels.items()}
        for name, future in made.items():
            try:
                future.result()
            except LaunchError as error:
                errors[name] = error
        return [name for name in made if name not in errors], errors

    def _launch_of(self, name: str, launching: Launching) -> Callable[[], None]:
        _, record, function = self._kernels[name].filled(launching)
        return partial(launch_filled, record, function, lambda code: self.error(code, launching.place))


def compiler_stamps() -> list[str]:
    return ["" if each is None else each.stamp for each in (installed_assembler(), installed_triton())]


def _load(kernel: GpuLauncher, launching: Launching) -> None:
    code = kernel.code_for(launching)
    assert code is not None, "there is code for arguments that were examined"
    code.load(launching.place, launching.context)


def _most_specific(errors: dict[str, LaunchError]) -> LaunchError:
    """The error most specific to the program: that of an engine that is installed."""
    return min(errors.values(), key=lambda error: isinstance(error, (MissingDependencyError, DriverError)))


def _plain(part: object) -> object:
    """A part of a key in a form that is the same in each process."""
    if isinstance(part, frozenset):
        return sorted(part)
    return tuple([_plain(each) for each in part]) if isinstance(part, tuple) else part
