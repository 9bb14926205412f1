"""Where a recorded launch makes a NaN or an infinity: the answer to `numbers`.

It is not looked for while the launch is recorded, as most launches are not asked: tile blocks run again for it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from tileir.execute.number_watch import NumberWatch, is_float
from tileir.execute.recording.finding_answers import described
from tileir.execute.recording.findings import Seen
from tileir.execute.recording.recording import Recording
from tileir.execute.sanitizer.report import Finding
from tileir.execute.wording import several
from tileir.ir.core import Operation

MOST_BLOCKS: Final = 256
"""So many tile blocks run again, the first ones."""
_MOST_STEPS: Final = 1024

_LOOKED_FOR: Final = {
    "nan": "operations that make a NaN of numbers that are none",
    "infinity": "operations that make an infinity of finite numbers",
}


def numbers_answer(recording: Recording) -> dict[str, Any]:
    """The operations that make a NaN or an infinity, each with the first moment at which it does."""
    watch = NumberWatch()
    report = watch.report
    blocks = recording.blocks.number[:MOST_BLOCKS].tolist()
    seen: list[tuple[Finding, Seen]] = []
    for block in blocks:
        known = len(report.findings)
        recording.watch(block, watch)
        seen += [(finding, Seen(_step(recording, block, finding))) for finding in report.findings[known:]]
    # Counts go on growing while others run.
    found = [described(recording, finding, when) for finding, when in seen]
    found += [described(recording, note, Seen(-1)) for note in report.notes]
    total = len(recording.blocks)
    notes = [f"{len(blocks):,} of {several(total, 'tile block')} were looked at."] if total > len(blocks) else []
    checked = [{"kind": kind, "text": text} for kind, text in _LOOKED_FOR.items()]
    return {"findings": found, "checked": checked, "notes": notes}


def _step(recording: Recording, block: int, finding: Finding) -> int:
    """The step at which a tile block first makes what a finding is about; -1 if it is not to be told."""
    operation: Operation | None = finding.operation
    # What is inside of a reduction has no step of its own.
    while operation is not None and operation in recording.program.in_reductions:
        operation = operation.parent_operation
    if operation is None:
        return -1
    number = recording.program.operation_numbers[operation]
    steps = (numpy.flatnonzero(recording.steps(block) == number) + 1).tolist()
    value = next((result for result in operation.results if is_float(result)), None)
    if operation is not finding.operation or value is None or len(steps) <= 1:
        return int(steps[0]) if steps else -1
    test = numpy.isnan if finding.kind == "nan" else numpy.isinf
    for step in steps[:_MOST_STEPS]:
        tile = numpy.asarray(recording.tile(block, step, recording.program.value_numbers[value]), numpy.float64)
        if bool(test(tile[finding.element or ()]).any()):
            return int(step)
    return int(steps[0])
