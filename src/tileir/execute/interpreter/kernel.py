"""A kernel in the interpreter and its launches, and how each operation is compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import numpy

from tileir.dialect import ops
from tileir.dialect.types import TOKEN, TileType, TileViewType
from tileir.execute.analysis.values import pointee_of, tile_of
from tileir.execute.arguments.binding import bind, known_memory
from tileir.execute.engine.interface import LaunchOptions, PreparedKernel, Progress
from tileir.execute.errors import BlockId, Callbacks, ExecutionError, LaunchError, cannot_run, converted
from tileir.execute.interpreter import control_flow, kernels, pointers, printing, views
from tileir.execute.interpreter.frame import LARGEST_RANK, Action, Ending, Frame, Options, PreparedProgram, Run
from tileir.execute.interpreter.kernels import KERNELS, SHAPES, Factory
from tileir.execute.interpreter.pointers import atomic_kernel
from tileir.execute.interpreter.views import multimem_kernel
from tileir.execute.memory import Region
from tileir.execute.observing.observer import Observer, Observers, TileBlock, overrides
from tileir.execute.schedule import Order, RunBlock, block_at, block_order, run_interleaved
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.diagnostics import TileIRError
from tileir.ir.traits import TOKEN_ORDERED

if TYPE_CHECKING:
    from tileir.execute.sanitizer.report import SanitizerReport


def _check_cast(operation: Operation, exact: bool) -> None:
    """A cast that changes nothing runs; any other stands in for something that is not there."""
    if [value.type for value in operation.operands] != [value.type for value in operation.results]:
        raise LaunchError(
            "'cuda_tile.unrealized_conversion_cast' stands in for a conversion: replace it before the program runs"
        )


def _run_nothing(operation: Operation, frame: Frame) -> None:
    """Tokens order what is in order anyway, and only the sanitizer checks promises."""


def _multimem_load_parts(operation: Operation) -> tuple[Any, Any]:
    type = cast(TileViewType, operation.view.type)
    return views.padding_value(type), multimem_kernel(operation.reduction, type.tensor.element, True)


OPERATIONS: Final[dict[OperationDeclaration, Run]] = {
    **dict.fromkeys((*KERNELS, *SHAPES), kernels.run_function),
    **dict.fromkeys(
        (ops.ASSUME_COND, ops.BARRIER, ops.GDC_LAUNCH_DEPENDENTS_TKO, ops.GDC_WAIT_TKO, ops.JOIN_TOKENS), _run_nothing
    ),
    **dict.fromkeys((ops.MAKE_TOKEN, ops.MEMORY_FENCE_ALIAS_TKO), _run_nothing),
    # core
    ops.EXTRACT: kernels.run_extract,
    ops.GET_GLOBAL: kernels.run_get_global,
    ops.GET_NUM_TILE_BLOCKS: kernels.run_grid,
    ops.GET_TILE_BLOCK_ID: kernels.run_grid,
    ops.INSERT: kernels.run_insert,
    ops.REDUCE: control_flow.run_reduce,
    ops.SCAN: control_flow.run_scan,
    # control flow
    ops.ASSERT: control_flow.run_assert,
    **dict.fromkeys((ops.BREAK, ops.CONTINUE, ops.RETURN, ops.YIELD), control_flow.run_terminator),
    ops.FOR: control_flow.run_for,
    ops.IF: control_flow.run_if,
    ops.LOOP: control_flow.run_loop,
    # memory
    ops.ALLOCA: pointers.run_alloca,
    ops.ATOMIC_CAS_TKO: pointers.run_atomic_cas,
    ops.ATOMIC_LOAD_TKO: pointers.run_load,
    ops.ATOMIC_RED_VIEW_TKO: views.run_atomic_view,
    ops.ATOMIC_RMW_TKO: pointers.run_atomic_rmw,
    ops.ATOMIC_STORE_TKO: pointers.run_store,
    ops.LOAD_PTR_TKO: pointers.run_load,
    ops.STORE_PTR_TKO: pointers.run_store,
    # views
    ops.GET_INDEX_SPACE_SHAPE: views.run_extents,
    ops.GET_TENSOR_SHAPE: views.run_extents,
    ops.LOAD_VIEW_TKO: views.run_load_view,
    ops.MAKE_GATHER_SCATTER_VIEW: views.run_tile_view,
    ops.MAKE_PARTITION_VIEW: views.run_tile_view,
    ops.MAKE_STRIDED_VIEW: views.run_tile_view,
    ops.MAKE_TENSOR_VIEW: views.run_tensor_view,
    ops.MULTIMEM_LOAD_REDUCE_VIEW_TKO: views.run_multimem_load,
    ops.MULTIMEM_REDUCE_VIEW_TKO: views.run_multimem_reduce,
    ops.MULTIMEM_STORE_VIEW_TKO: views.run_multimem_store,
    ops.STORE_VIEW_TKO: views.run_store_view,
    # miscellaneous
    ops.PRINT_TKO: printing.run_print,
    ops.UNREALIZED_CONVERSION_CAST: lambda op, frame: frame.assign(op.results, frame.values_of(op.operands)),
}

_PREPARATIONS: Final[dict[OperationDeclaration, Factory]] = {
    ops.ATOMIC_RED_VIEW_TKO: lambda op, exact: (op.view, op.index, atomic_kernel(op.mode, tile_of(op.value).element)),
    ops.ATOMIC_RMW_TKO: lambda op, exact: atomic_kernel(op.mode, pointee_of(op.operands[0])),
    ops.LOAD_VIEW_TKO: lambda op, exact: (op.view, op.index, views.padding_value(cast(TileViewType, op.view.type))),
    ops.MAKE_TENSOR_VIEW: lambda op, exact: (op.dynamic_shape, op.dynamic_strides),
    ops.STORE_VIEW_TKO: lambda op, exact: (op.view, op.index, op.tile),
    ops.MULTIMEM_LOAD_REDUCE_VIEW_TKO: lambda op, exact: (op.view, op.index, _multimem_load_parts(op)),
    ops.MULTIMEM_REDUCE_VIEW_TKO: lambda op, exact: (
        *(op.view, op.index),
        multimem_kernel(op.reduction, tile_of(op.tile).element, False),
    ),
    ops.MULTIMEM_STORE_VIEW_TKO: lambda op, exact: (op.view, op.index, None),
    ops.PRINT_TKO: lambda op, exact: printing.parts_of(op.str_, [tile_of(value).element for value in op.args]),
    **dict.fromkeys((ops.REDUCE, ops.SCAN), lambda op, exact: control_flow.is_elementwise(op.regions[0].block)),
    ops.UNREALIZED_CONVERSION_CAST: _check_cast,
}
"""What of an operation is the same each time it runs, beside the functions of `KERNELS` and `SHAPES`."""


class Program(PreparedProgram):
    """A kernel, or another operation, made ready to run with some options."""

    def __init__(self, entry: Operation, options: Options, globals: dict[str, Region]) -> None:
        super().__init__(options, globals)
        self._entry: Operation = entry
        if entry.declaration is not ops.ENTRY:
            self.action(entry)
        for operation in entry.walk():
            for block in [block for region in operation.regions for block in region.blocks]:
                self.actions[block] = [self.action(inner) for inner in block]

    def run(self, values: list[Any], block: TileBlock) -> None:
        frame = Frame(self, block)
        try:
            frame.run(self._entry.regions[0].block, values)
        finally:
            frame.release_to(0)

    def action(self, operation: Operation) -> Action:
        declaration = operation.declaration
        if declaration not in OPERATIONS:
            raise cannot_run("the interpreter", operation)
        for rank in [len(value.type.shape) for value in operation.results if isinstance(value.type, TileType)]:
            if rank > LARGEST_RANK:
                raise LaunchError(
                    f"the program has tiles of {rank} dimensions, and the interpreter takes {LARGEST_RANK}, as NumPy "
                    "does: compile with backend='cpu', or leave out dimensions of one"
                )
        prepare = KERNELS.get(declaration) or SHAPES.get(declaration) or _PREPARATIONS.get(declaration)
        if prepare is not None:
            self.prepared[operation] = prepare(operation, self.options.exact)
        return self._watched(operation, partial(OPERATIONS[declaration], operation))

    def _watched(self, operation: Operation, action: Action) -> Action:
        observer, declaration = self.options.observer, operation.declaration
        switches = self.options.interleaved and declaration.has_trait(TOKEN_ORDERED)
        watcher = observer if observer is not None and observer.watches(operation) else None
        before = watcher.before if watcher is not None and overrides(watcher, "before") else None
        after = watcher.after if watcher is not None and overrides(watcher, "after") else None
        operands = [*operation.operands, *watcher.wants(operation)] if watcher is not None else []
        giver = observer if observer is not None and overrides(observer, "token") and not operation.regions else None
        made = [value for value in operation.results if giver is not None and value.type is TOKEN]
        taken = [value for value in operation.operands if value.type is TOKEN]
        if not (switches or before or after or made):
            return action

        def watched(frame: Frame) -> Ending | None:
            block = frame.block
            if switches and block.switch is not None:
                block.switch()
            if before is not None:
                before(operation, block, frame.values_of(operands))
            token = giver.token(operation, block, frame.values_of(taken)) if made and giver is not None else None
            ending = action(frame)
            frame.update(dict.fromkeys(made, token))
            # An operation that a `break` or `return` inside it ends has no results.
            if after is not None and (ending is None or not operation.results):
                after(operation, block, frame.values_of(operation.results))
            return ending

        return watched


class InterpretedKernel(PreparedKernel):
    def __init__(self, entry: Operation, globals: dict[str, Region], exact: bool) -> None:
        self.entry: Operation = entry
        self.globals: dict[str, Region] = globals
        self.exact: bool = exact

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
        launch = TileBlock((0, 0, 0), 0, grid, known, write, observer)
        try:
            # Infinities and NaNs are values here, wrapping is a rule: NumPy need not warn of them.
            with numpy.errstate(all="ignore"):
                program = Program(self.entry, Options(self.exact, observer, order.interleaved), self.globals)
                run = block_runner(program, bound.values, launch)
                if observer is not None:
                    observer.launch_started(grid, known)
                try:
                    (run_interleaved if order.interleaved else run_in_order)(order, run, progress)
                finally:
                    if observer is not None:
                        observer.launch_finished()
        except Exception as error:
            # What an observer or a callback raises is the caller's.
            if isinstance(error, TileIRError) or error in callbacks.raised:
                raise
            if observer is not None and not isinstance(error, RecursionError):
                raise
            raise converted(error) from error


def block_runner(program: Program, values: list[Any], launch: TileBlock) -> RunBlock:
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
