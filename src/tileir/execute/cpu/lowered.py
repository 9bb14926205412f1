"""A kernel as LLVM IR: optimized, lowered, emitted.

Imported when a kernel is compiled, or looked at for an error: one from the cache runs without any of this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tileir.execute.analysis.parameters import deciding_parameters
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.entry import emit_worker
from tileir.execute.cpu.emission.provenance import ProvenanceModule
from tileir.execute.cpu.emission.statements import EMITTERS
from tileir.execute.cpu.loops import arena, traffic
from tileir.execute.cpu.loops.checks import Check, refused_allocation
from tileir.execute.cpu.loops.options import Options
from tileir.execute.cpu.loops.printer import LoopLine, LoopPrinter
from tileir.execute.cpu.loops.sites import Site
from tileir.execute.cpu.loops.statements import Matmul, Program, Repeat, Reserve, Statement, statements
from tileir.execute.cpu.lowering import carried_pointers
from tileir.execute.cpu.lowering.context import Lowering
from tileir.execute.cpu.lowering.roster import HANDLERS
from tileir.execute.cpu.matmul import store_target
from tileir.execute.cpu.native.record import Layout
from tileir.execute.cpu.native.target import Target
from tileir.execute.errors import ExecutionError, LaunchError
from tileir.ir.core import Operation
from tileir.ir.traversal import clone
from tileir.passes.pipeline import PassReport, run_passes


@dataclass(eq=False, repr=False, slots=True)
class Lowered:
    """A kernel as LLVM IR, and what its failures and prints mean."""

    program: Program
    text: str
    checks: list[Check]
    prints: list[Operation]
    sites: list[Site]
    may_restart: bool
    """Whether a launch of it may have to begin again with another version."""
    operations: list[tuple[Operation, ...]] | None = None
    """Where asked for: for each line of the text the operations it does the work of."""

    @property
    def reserves(self) -> list[Reserve]:
        """What reserves memory for a tile block."""
        return [each for each in statements(self.program.body) if isinstance(each, Reserve)]

    def description(self) -> dict[str, Any]:
        """What a launch has to know of the code, to be stored with it."""
        return {
            "arena_bytes": self.program.arena_bytes,
            "prints": len(self.prints),
            "repeats": any(_repeats(statement) for statement in statements(self.program.body)),
            "restarts": self.may_restart,
            "deciding": deciding_parameters(self.program.entry),
        }

    def loop_text(self, target: Target, options: Options) -> str:
        """The loop form, to read."""
        return "\n".join([*[line.text for line in loop_lines(self.program, target, options)], ""])

    def too_large(self, arena_bytes: int) -> ExecutionError | None:
        """The largest `alloca` of a kernel for which there is no scratch memory, if that is what takes most of it."""
        reserves = self.reserves
        if not reserves or 2 * sum([each.buffer.bytes for each in reserves]) < arena_bytes:
            return None
        operation = max(reserves, key=lambda each: each.buffer.bytes).operation
        return refused_allocation(operation).error(None, 0, 0)


def _repeats(statement: Statement) -> bool:
    return isinstance(statement, Repeat) or (isinstance(statement, Matmul) and statement.loop is not None)


def loop_lines(program: Program, target: Target, options: Options) -> list[LoopLine]:
    """The loop form by lines, with the operations that each does the work of."""
    machine = f"{target.name}, vectors of {target.vector_bytes} bytes, {options.mode}"
    return LoopPrinter(program).lines(machine)


def lower(entry: Operation, target: Target, layout: Layout, options: Options, provenance: bool = False) -> Lowered:
    """Lower and emit, without compiling.

    With `provenance` it is said of each line which operations it does the work of, and an operation that several were
    merged into has the locations of all.
    """
    program = lowered_program(entry, target, options, provenance)
    emission = Emission(program, target, layout, EMITTERS, options, provenance)
    text = emit_worker(emission)
    module = emission.module
    operations = module.operations() if isinstance(module, ProvenanceModule) else None
    return Lowered(program, text, emission.checks, emission.prints, emission.sites, emission.may_restart, operations)


def lowered_program(entry: Operation, target: Target, options: Options, keep_locations: bool = False) -> Program:
    """A kernel in loop form."""
    # The sanitizer looks at the program as it is, at promises too that nothing is made of.
    if not options.sanitize:
        entry = optimized(entry, keep_locations)
    program = Lowering(entry, target, options, HANDLERS).run()
    arena.assign(program)
    if not options.sanitize:
        traffic.choose(program, target, options.overlapping)
        store_target.choose(program, options.overlapping)
    return program


def optimized(entry: Operation, keep_locations: bool = False) -> Operation:
    """The kernel in a copy of its module, with passes that keep every bit of the results."""
    parent = entry.parent_operation
    if parent is None:
        raise LaunchError("the kernel is in no module")
    module = clone(parent)
    passes = ["canonicalize", "cse", "loop-invariant-code-motion", "canonicalize", "dce"]
    run_passes(module, passes, report=PassReport(verify=False, keep_locations=keep_locations))
    for operation in module.regions[0].blocks[0]:
        if operation.symbol_name == entry.symbol_name:
            if carried_pointers.run(operation):
                run_passes(
                    module, ["canonicalize", "dce"], report=PassReport(verify=False, keep_locations=keep_locations)
                )
            return operation
    raise LaunchError(f"the kernel '{entry.symbol_name}' is gone after optimization")
