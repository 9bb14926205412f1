"""A kernel on its way to machine code, with the locations of the operations that each line does the work of."""

from __future__ import annotations

from tileir.execute.cpu.loops.options import Options
from tileir.execute.cpu.lowered import lower
from tileir.execute.cpu.native.record import Layout
from tileir.execute.cpu.native.target import Target
from tileir.execute.engine_forms import LocatedText, located_lines
from tileir.ir.core import Operation


def located(entry: Operation, target: Target, layout: Layout, options: Options, stage: str) -> LocatedText:
    """A stage of a kernel, line by line."""
    lowered = lower(entry, target, layout, options, keep_locations=True)
    lines = lowered.loop_lines(target, options.fast)
    operations = [line.operations for line in lines]
    return located_lines(lowered.program.entry, [line.text for line in lines], operations)
