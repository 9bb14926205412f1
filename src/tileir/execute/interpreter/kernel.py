"""A kernel in the interpreter and its launches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from tileir.execute.arguments.binding import bind, known_memory
from tileir.execute.engine.interface import LaunchOptions, PreparedKernel, Progress
from tileir.execute.errors import BlockId, Callbacks, ExecutionError, converted
from tileir.execute.interpreter.compiler import BLOCK_SLOT, Compiler, Options, Registers, Step, run_steps
from tileir.execute.interpreter.control_flow import release_to
from tileir.execute.interpreter.operations import OPERATIONS
from tileir.execute.memory import Region
from tileir.execute.observing.observer import Observer, Observers, TileBlock
from tileir.execute.schedule import Order, RunBlock, block_at, block_order, run_interleaved
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError

if TYPE_CHECKING:
    from tileir.execute.sanitizer.report import SanitizerReport


class Program:
    """A kernel compiled for one set of options."""

    def __init__(self, entry: Operation, options: Options, globals: dict[str, Region]) -> None:
        addresses = {name: region.start for name, region in globals.items()}
        compiler = Compiler(options, addresses, OPERATIONS)
        body = entry.regions[0].blocks[0]
        self._parameters: list[int] = compiler.slots_of(body.arguments)
        self._steps: list[Step] = compiler.block(body)
        self._slot_count: int = compiler.slot_count

    def run(self, values: list[Any], block: TileBlock) -> None:
        """Run one tile block on the values of the parameters."""
        registers: Registers = [None] * self._slot_count
        registers[BLOCK_SLOT] = block
        for slot, value in zip(self._parameters, values, strict=True):
            registers[slot] = value
        try:
            run_steps(self._steps, registers)
        finally:
            release_to(block, 0)


class InterpretedKernel(PreparedKernel):
    """A kernel ready to run in the interpreter."""

    def __init__(self, entry: Operation, globals: dict[str, Region], exact: bool) -> None:
        self.entry: Operation = entry
        self.globals: dict[str, Region] = globals
        self.exact: bool = exact
        self._plain: Program | None = None

    def launch(self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions) -> None:
        self._launch(grid, arguments, options, options.observer)

    def sanitize(self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions) -> SanitizerReport:
        from tileir.execute.sanitizer.coverage import Coverage
        from tileir.execute.sanitizer.sanitizer import Sanitizer

        sanitizer = Sanitizer()
        watchers: list[Observer] = [sanitizer]
        if options.sanitize == "all":
            watchers.append(Coverage(report=sanitizer.report))
        if options.observer is not None:
            watchers.append(options.observer)
        self._launch(grid, arguments, options, watchers[0] if len(watchers) == 1 else Observers(watchers))
        return sanitizer.report

    def _launch(
        self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions, observer: Observer | None
    ) -> None:
        bound = bind(self.entry, arguments)
        known = known_memory(self.globals.values(), bound, options.memory)
        order = block_order(options.schedule, grid)
        callbacks = Callbacks()
        write = callbacks.noted(options.output if options.output is not None else sys.stdout.write)
        progress = callbacks.noted(options.progress) if options.progress is not None else None
        program = self._program(observer, order.interleaved)
        launch = TileBlock((0, 0, 0), 0, grid, known, write, observer)
        if observer is not None:
            observer.launch_started(grid, known)
        try:
            # Infinities and NaNs are values here, wrapping is a rule: NumPy need not warn of them.
            with numpy.errstate(all="ignore"):
                run = block_runner(program, bound.values, launch)
                if order.interleaved:
                    run_interleaved(order, run, progress)
                else:
                    run_in_order(order, run, progress)
        except Exception as error:
            # What an observer or a callback raises is the caller's.
            if isinstance(error, TileIRError) or error in callbacks.raised:
                raise
            if observer is not None and not isinstance(error, RecursionError):
                raise
            raise converted(error) from error
        finally:
            if observer is not None:
                observer.launch_finished()

    def _program(self, observer: Observer | None, interleaved: bool) -> Program:
        if observer is not None or interleaved:
            return self._compiled(Options(self.exact, observer, interleaved))
        if self._plain is None:
            self._plain = self._compiled(Options(self.exact))
        return self._plain

    def _compiled(self, options: Options) -> Program:
        try:
            with numpy.errstate(all="ignore"):
                return Program(self.entry, options, self.globals)
        except Exception as error:
            # `Observer.watches` may raise: that error is the caller's.
            theirs = options.observer is not None and not isinstance(error, RecursionError)
            if theirs or isinstance(error, TileIRError):
                raise
            raise converted(error) from error


def block_runner(program: Program, values: list[Any], launch: TileBlock) -> RunBlock:
    """Return what runs the block of a number."""
    grid, observer = launch.grid, launch.observer

    def run(number: int, switch: Callable[[], None] | None) -> None:
        block = TileBlock(block_at(number, grid), number, grid, launch.memory, launch.write, observer, switch)
        if observer is not None:
            observer.block_started(block)
        try:
            program.run(values, block)
        except ExecutionError as error:
            if observer is None or not observer.failed(error, block):
                raise
        if observer is not None:
            observer.block_finished(block)

    return run


def run_in_order(order: Order, run: RunBlock, progress: Progress | None) -> None:
    for done, number in enumerate(order.numbers):
        if progress is not None:
            progress(done, order.count)
        run(number, None)
    if progress is not None:
        progress(order.count, order.count)
