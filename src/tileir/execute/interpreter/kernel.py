"""A kernel in the interpreter and its launches, and how each operation is compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy

from tileir.dialect import ops
from tileir.execute.arguments.binding import bind, known_memory
from tileir.execute.engine.interface import LaunchOptions, PreparedKernel, Progress
from tileir.execute.errors import BlockId, Callbacks, ExecutionError, LaunchError, converted
from tileir.execute.interpreter import control_flow, kernels, pointers, printing, views
from tileir.execute.interpreter.compiler import (
    BLOCK_SLOT,
    BROKEN,
    CONTINUED,
    RETURNED,
    Compiler,
    Operations,
    Options,
    Registers,
    Step,
    copy_step,
    run_steps,
)
from tileir.execute.interpreter.control_flow import release_to
from tileir.execute.interpreter.kernels import KERNELS, compile_elementwise
from tileir.execute.memory import Region
from tileir.execute.observing.observer import Observer, Observers, TileBlock
from tileir.execute.schedule import Order, RunBlock, block_at, block_order, run_interleaved
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError

if TYPE_CHECKING:
    from tileir.execute.sanitizer.report import SanitizerReport


def _compile_cast(compiler: Compiler, operation: Operation) -> Step:
    """A cast that changes nothing; any other stands in for something that is not there."""
    sources, results = operation.operands, operation.results
    if [value.type for value in sources] != [value.type for value in results]:
        raise LaunchError(
            "'cuda_tile.unrealized_conversion_cast' stands in for a conversion: replace it before the program runs"
        )
    return copy_step(compiler.slots_of(sources), compiler.slots_of(results), None)


def _compile_nothing(compiler: Compiler, operation: Operation) -> Step:
    """Tokens order what is in order anyway, and only the sanitizer checks promises."""
    return copy_step([], [], None)


OPERATIONS: Final[Operations] = {
    **dict.fromkeys(KERNELS, compile_elementwise),
    **dict.fromkeys(kernels.SHAPES, kernels.compile_shape),
    # core
    ops.EXTRACT: kernels.compile_extract,
    ops.GET_GLOBAL: kernels.compile_get_global,
    ops.GET_NUM_TILE_BLOCKS: lambda compiler, operation: kernels.compile_numbers(
        compiler, operation, lambda block: block.grid
    ),
    ops.GET_TILE_BLOCK_ID: lambda compiler, operation: kernels.compile_numbers(
        compiler, operation, lambda block: block.id
    ),
    ops.INSERT: kernels.compile_insert,
    ops.REDUCE: control_flow.compile_reduce,
    ops.SCAN: control_flow.compile_scan,
    # control flow
    ops.ASSERT: control_flow.compile_assert,
    ops.BREAK: lambda compiler, operation: compiler.end(operation, compiler.breaks[-1], BROKEN),
    ops.CONTINUE: lambda compiler, operation: compiler.end(operation, compiler.continues[-1], CONTINUED),
    ops.FOR: control_flow.compile_for,
    ops.IF: control_flow.compile_if,
    ops.LOOP: control_flow.compile_loop,
    ops.RETURN: lambda compiler, operation: copy_step([], [], RETURNED),
    ops.YIELD: lambda compiler, operation: compiler.end(operation, compiler.yields[-1], None),
    # memory
    ops.ALLOCA: pointers.compile_alloca,
    ops.ATOMIC_CAS_TKO: pointers.compile_atomic_cas,
    ops.ATOMIC_LOAD_TKO: pointers.compile_load,
    ops.ATOMIC_RED_VIEW_TKO: views.compile_atomic_view,
    ops.ATOMIC_RMW_TKO: pointers.compile_atomic_rmw,
    ops.ATOMIC_STORE_TKO: pointers.compile_store,
    ops.BARRIER: _compile_nothing,
    ops.GDC_LAUNCH_DEPENDENTS_TKO: _compile_nothing,
    ops.GDC_WAIT_TKO: _compile_nothing,
    ops.JOIN_TOKENS: _compile_nothing,
    ops.LOAD_PTR_TKO: pointers.compile_load,
    ops.MAKE_TOKEN: _compile_nothing,
    ops.MEMORY_FENCE_ALIAS_TKO: _compile_nothing,
    ops.STORE_PTR_TKO: pointers.compile_store,
    # views
    ops.GET_INDEX_SPACE_SHAPE: lambda compiler, operation: views.compile_numbers(
        compiler, operation, lambda view: view.index_space()
    ),
    ops.GET_TENSOR_SHAPE: lambda compiler, operation: views.compile_numbers(
        compiler, operation, lambda tensor: tensor.shape
    ),
    ops.LOAD_VIEW_TKO: views.compile_load_view,
    ops.MAKE_GATHER_SCATTER_VIEW: views.compile_tile_view,
    ops.MAKE_PARTITION_VIEW: views.compile_tile_view,
    ops.MAKE_STRIDED_VIEW: views.compile_tile_view,
    ops.MAKE_TENSOR_VIEW: views.compile_tensor_view,
    ops.STORE_VIEW_TKO: views.compile_store_view,
    # miscellaneous
    ops.ASSUME_COND: _compile_nothing,
    ops.PRINT_TKO: printing.compile_print,
    ops.UNREALIZED_CONVERSION_CAST: _compile_cast,
}


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
