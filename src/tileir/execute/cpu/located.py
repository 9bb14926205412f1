"""A kernel on its way to machine code, with the locations of the operations that each line does the work of.

LLVM carries them through its passes as line numbers: each number stands for some operations.
"""

from __future__ import annotations

from tileir.execute.cpu.loops.options import Options
from tileir.execute.cpu.lowered import Lowered, loop_lines, lower, lowered_program, optimized
from tileir.execute.cpu.native import compilation
from tileir.execute.cpu.native.record import Layout
from tileir.execute.cpu.native.target import Target
from tileir.execute.engine.interface import LocatedText, located_lines
from tileir.execute.locations import llvm_line_numbers as line_numbers
from tileir.ir.core import Operation
from tileir.text.listing import printed_lines


def located(entry: Operation, target: Target, layout: Layout, options: Options, stage: str) -> LocatedText:
    """A stage of a kernel, line by line: "tiles", "loops", "llvm", "llvm-opt" or "asm"."""
    if stage == "tiles":
        kernel = optimized(entry, keep_locations=True)
        text = printed_lines(kernel.parent_operation or kernel)
        return located_lines(kernel, text.lines, text.operations)
    if stage == "loops":
        program = lowered_program(entry, target, options, keep_locations=True)
        loops = loop_lines(program, target, options)
        return located_lines(program.entry, [line.text for line in loops], [line.operations for line in loops])
    lowered = lower(entry, target, layout, options, provenance=True)
    if stage == "llvm":
        lines = _lines(lowered.text)
        operations = [list(each) for each in _operations(lowered)]
    else:
        lines, operations = _compiled(lowered, target, stage)
    return located_lines(lowered.program.entry, lines, operations)


def _compiled(lowered: Lowered, target: Target, stage: str) -> tuple[list[str], list[list[Operation]]]:
    """What LLVM makes of a kernel, and the operations of each line."""
    sets: dict[tuple[Operation, ...], int] = {}
    numbers = [sets.setdefault(each, len(sets) + 1) if each else 0 for each in _operations(lowered)]
    numbered = line_numbers.with_line_numbers(lowered.text, [*numbers, 0])
    if stage == "asm":
        plain = compilation.assembly(lowered.text, target)
        found = line_numbers.numbers_of_assembly(compilation.assembly(numbered, target), plain)
    else:
        plain = compilation.optimized(lowered.text, target)
        found = line_numbers.numbers_of_text(compilation.optimized(numbered, target), plain, numbered)
    named: list[list[Operation]] = [[], *[list(each) for each in sets]]
    lines = _lines(plain)
    return lines, [named[number] for number in found[: len(lines)]]


def _operations(lowered: Lowered) -> list[tuple[Operation, ...]]:
    assert lowered.operations is not None, "it was asked for"
    return lowered.operations


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines and not lines[-1] else lines
