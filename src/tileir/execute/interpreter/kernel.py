"""A kernel in the interpreter and its launches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from tileir.execute.arguments.binding import bind, known_memory
from tileir.execute.engine.interface import LaunchOptions, PreparedKernel, Progress
from tileir.execute.errors import BlockId, Callbacks, ExecutionError, converted
from tileir.execute.interpreter.compiler import (
    AT_COMPILATION,
    AT_LAUNCH,
    BLOCK_SLOT,
    Compiler,
    Options,
    Registers,
    Step,
    run_checked,
)
from tileir.execute.interpreter.control_flow import release_to, reserves_memory
from tileir.execute.interpreter.operations import ROSTER
from tileir.execute.memory import Memory, Region
from tileir.execute.observing.observer import Observer, Observers, TileBlock, overrides
from tileir.execute.schedule import Order, RunBlock, block_at, block_order, run_interleaved
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError

if TYPE_CHECKING:
    from tileir.execute.sanitizer.report import SanitizerReport


class Program:
    """A kernel compiled for one set of options."""

    def __init__(self, entry: Operation, options: Options, globals: dict[str, Region]) -> None:
        addresses = {name: region.start for name, region in globals.items()}
        compiler = Compiler(options, addresses, ROSTER)
        body = entry.regions[0].blocks[0]
        self.parameters: list[int] = [compiler.slot(argument) for argument in body.arguments]
        for slot in self.parameters:
            compiler.known[slot] = AT_LAUNCH
        self.steps: list[Step]
        self.steps, _ = compiler.block(body)
        self.uniform: list[Step] = compiler.uniform
        self.closing: list[int] = compiler.closing
        self.template: Registers = compiler.template
        self.reserves: bool = reserves_memory(body)
        assert compiler.known[BLOCK_SLOT] != AT_COMPILATION

    def prepared(self, values: list[Any], launch: TileBlock) -> Registers:
        """The registers every tile block of a launch begins with."""
        registers = list(self.template)
        registers[BLOCK_SLOT] = launch
        for slot, value in zip(self.parameters, values, strict=True):
            registers[slot] = value
        for step in self.uniform:
            step(registers)
        return registers

    def close(self, prepared: Registers) -> None:
        """The launch is over."""
        for slot in self.closing:
            prepared[slot].close()

    def run(self, prepared: Registers, block: TileBlock) -> None:
        registers = prepared.copy()
        registers[BLOCK_SLOT] = block
        run_checked(self.steps, registers)
        if self.reserves:
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
                prepared = program.prepared(bound.values, launch)
                run = block_runner(program, prepared, launch)
                try:
                    if order.interleaved:
                        run_interleaved(order, run, progress)
                    else:
                        run_in_order(order, run, progress, known)
                finally:
                    program.close(prepared)
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
            # An observer says what it watches.
            theirs = options.observer is not None and not isinstance(error, RecursionError)
            if theirs or isinstance(error, TileIRError):
                raise
            raise converted(error) from error


def block_runner(program: Program, prepared: Registers, launch: TileBlock) -> RunBlock:
    """What runs the block of a number."""
    grid = launch.grid
    observer = launch.observer
    started = observer.block_started if observer is not None and overrides(observer, "block_started") else None
    finished = observer.block_finished if observer is not None and overrides(observer, "block_finished") else None

    def run(number: int, switch: Callable[[], None] | None) -> None:
        block = TileBlock(block_at(number, grid), number, grid, launch.memory, launch.write, observer, switch)
        if started is not None:
            started(block)
        try:
            program.run(prepared, block)
        except ExecutionError as error:
            release_to(block, 0)
            if observer is None or not observer.failed(error, block):
                raise
        except BaseException:
            # Another tile block has failed, or nobody wants to see more: memory may go on to be used.
            release_to(block, 0)
            raise
        if finished is not None:
            finished(block)

    return run


def run_in_order(order: Order, run: RunBlock, progress: Progress | None, memory: Memory) -> None:
    if progress is None:
        for number in order.numbers:
            run(number, None)
        return
    for done, number in enumerate(order.numbers):
        progress(done, order.count)
        # Who is told may have changed an array.
        memory.changed()
        run(number, None)
    progress(order.count, order.count)
