"""The pipeline from a kernel to LLVM IR: optimize, lower, emit; and its stages to read, with locations.

Imported when a kernel is compiled, or an error needs its checks: one from the cache runs without any of this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tileir.execute.analysis.parameters import deciding_parameters
from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.codegen.statements import EMITTERS
from tileir.execute.cpu.codegen.worker import emit_worker
from tileir.execute.cpu.ir import memory_hints, scratch_layout
from tileir.execute.cpu.ir.checks import Check, refused_allocation
from tileir.execute.cpu.ir.options import Options
from tileir.execute.cpu.ir.printer import LoopLine, LoopPrinter
from tileir.execute.cpu.ir.statements import Alloca, LoopStatement, Matmul, Program, Statement, statements
from tileir.execute.cpu.lowering import pointer_induction
from tileir.execute.cpu.lowering.context import Lowering
from tileir.execute.cpu.lowering.table import HANDLERS
from tileir.execute.cpu.matmul import operands, recognize
from tileir.execute.cpu.runtime import llvm_compile
from tileir.execute.cpu.runtime.launch_record import Layout
from tileir.execute.cpu.runtime.target import Target
from tileir.execute.cpu.sanitizer.sites import Site
from tileir.execute.engine.interface import LocatedText, located_lines
from tileir.execute.errors import ExecutionError, LaunchError
from tileir.execute.locations import llvm_line_numbers as line_numbers
from tileir.ir.core import Operation
from tileir.ir.traversal import clone
from tileir.passes.pipeline import PassReport, run_passes
from tileir.text.listing import printed_lines


@dataclass(eq=False, repr=False, slots=True)
class Lowered:
    """A kernel as LLVM IR, and what its failures and prints mean."""

    program: Program
    text: str
    checks: list[Check]
    prints: list[Operation]
    sites: list[Site]
    operations: list[tuple[Operation, ...]] | None = None  # The operations of each line, if requested

    @property
    def reserves(self) -> list[Alloca]:
        """What reserves memory for a tile block."""
        return [each for each in statements(self.program.body) if isinstance(each, Alloca)]

    def description(self) -> dict[str, Any]:
        """What a launch has to know of the code, to be stored with it."""
        return {
            "scratch_bytes": self.program.scratch_bytes,
            "prints": len(self.prints),
            "repeats": any(_repeats(statement) for statement in statements(self.program.body)),
            "deciding": deciding_parameters(self.program.entry),
        }

    def loop_text(self, target: Target, options: Options) -> str:
        return "\n".join([*[line.text for line in loop_lines(self.program, target, options)], ""])

    def too_large(self, scratch_bytes: int) -> ExecutionError | None:
        """The largest `alloca` of a kernel for which there is no scratch memory, if that is what takes most of it."""
        reserves = self.reserves
        if not reserves or 2 * sum([each.buffer.bytes for each in reserves]) < scratch_bytes:
            return None
        operation = max(reserves, key=lambda each: each.buffer.bytes).operation
        return refused_allocation(operation).error(None, 0, 0)


def _repeats(statement: Statement) -> bool:
    return isinstance(statement, LoopStatement) or (isinstance(statement, Matmul) and statement.loop is not None)


def loop_lines(program: Program, target: Target, options: Options) -> list[LoopLine]:
    """The loop IR by lines, with the operations that each does the work of."""
    machine = f"{target.name}, vectors of {target.vector_bytes} bytes, {options.mode}"
    return LoopPrinter(program).lines(machine)


def lower(entry: Operation, target: Target, layout: Layout, options: Options, provenance: bool = False) -> Lowered:
    """Lower and emit, without compiling.  With `provenance` each line names the operations it does the work of, and a
    merged operation has the locations of all."""
    program = lowered_program(entry, target, options, provenance)
    emission = Emission(program, target, layout, EMITTERS, options, provenance)
    text = emit_worker(emission)
    operations = None
    if emission.provenance is not None:
        text, operations = emission.provenance.unmarked(text)
    return Lowered(program, text, emission.checks, emission.prints, emission.sites, operations)


def lowered_program(entry: Operation, target: Target, options: Options, keep_locations: bool = False) -> Program:
    """A kernel in the loop IR."""
    # The sanitizer looks at the program as it is, at promises too that nothing is made of.
    if not options.sanitize:
        entry = optimized(entry, keep_locations)
    program = Lowering(entry, target, options, HANDLERS).run()
    recognize.allocate(program)
    scratch_layout.assign(program)
    if not options.sanitize:
        memory_hints.choose(program, target, options.overlapping)
        operands.choose_stores(program, options.overlapping)
    return program


def optimized(entry: Operation, keep_locations: bool = False) -> Operation:
    """The kernel in a copy of its module, with passes that keep every bit of the results."""
    parent = entry.parent_operation
    if parent is None:
        raise LaunchError("the kernel is in no module")
    module = clone(parent)
    passes = ["canonicalize", "cse", "loop-invariant-code-motion", "canonicalize", "dce"]
    report = PassReport(verify=False, keep_locations=keep_locations)
    run_passes(module, passes, report=report)
    for operation in module.regions[0].blocks[0]:
        if operation.symbol_name == entry.symbol_name:
            if pointer_induction.run(operation):
                run_passes(module, ["canonicalize", "dce"], report=report)
            return operation
    raise LaunchError(f"the kernel '{entry.symbol_name}' is gone after optimization")


# --- stages with the locations that each line is from ---


def located(entry: Operation, target: Target, layout: Layout, options: Options, stage: str) -> LocatedText:
    """A stage of a kernel, line by line: "tiles", "loops", "llvm", "llvm-opt" or "asm".  LLVM's passes carry locations
    as line numbers, each for some operations."""
    if stage == "tiles":
        kernel = optimized(entry, keep_locations=True)
        text = printed_lines(kernel.parent_operation or kernel)
        return located_lines(kernel, text.lines, text.operations)
    if stage == "loops":
        program = lowered_program(entry, target, options, keep_locations=True)
        loops = loop_lines(program, target, options)
        return located_lines(program.entry, [line.text for line in loops], [line.operations for line in loops])
    lowered = lower(entry, target, layout, options, provenance=True)
    by_line = lowered.operations or []
    if stage == "llvm":
        lines, operations = lowered.text.splitlines(), [list(each) for each in by_line]
    else:
        lines, operations = _compiled(lowered, by_line, target, stage)
    return located_lines(lowered.program.entry, lines, operations)


def _compiled(
    lowered: Lowered, by_line: list[tuple[Operation, ...]], target: Target, stage: str
) -> tuple[list[str], list[list[Operation]]]:
    """What LLVM makes of a kernel, and the operations of each line."""
    sets: dict[tuple[Operation, ...], int] = {}
    numbers = [sets.setdefault(each, len(sets) + 1) if each else 0 for each in by_line]
    numbered = line_numbers.with_line_numbers(lowered.text, [*numbers, 0])
    if stage == "asm":
        plain = llvm_compile.assembly(lowered.text, target)
        found = line_numbers.numbers_of_assembly(llvm_compile.assembly(numbered, target), plain)
    else:
        plain = llvm_compile.optimized(lowered.text, target)
        found = line_numbers.numbers_of_text(llvm_compile.optimized(numbered, target), plain, numbered)
    named: list[list[Operation]] = [[], *[list(each) for each in sets]]
    lines = plain.splitlines()
    return lines, [named[number] for number in found[: len(lines)]]
