"""The findings of a recorded launch with their steps and accesses: the answers to `findings` and `numbers`.

Recording does not check for NaNs and infinities, as few users need them: tile blocks run again for them.
"""

from __future__ import annotations

import os
from typing import Any, Final

import numpy

from tileir.execute.locations.source_locations import user_location
from tileir.execute.locations.wording import several
from tileir.execute.recording.accesses import OUT_OF_BOUNDS, missed_array
from tileir.execute.recording.recorder import Seen
from tileir.execute.recording.recording import Recording
from tileir.execute.sanitizer.number_watch import NumberWatch, is_float
from tileir.execute.sanitizer.report import Finding, FindingLocation, Kind
from tileir.execute.schedule import block_number
from tileir.ir.diagnostics import position_of
from tileir.ir.location import FileLocation


def other_row(recording: Recording, finding: Finding, seen: Seen) -> int:
    """The row of the second access of a finding, as of a race: the last one before that touches the same element."""
    other = finding.other
    if other is None or other.block is None or seen.row < 0:
        return -1
    accesses = recording.accesses
    operation = recording.program.operation_numbers.get(other.operation, -1)
    rows = recording.rows(block_number(other.block, recording.grid))
    rows = rows[(rows < seen.row) & (accesses.operation[rows] == operation)]
    rows = rows[accesses.array[rows] == accesses.array[seen.row]]
    for row in reversed(rows.tolist()):
        if seen.element < 0 or accesses.touches(row, seen.element):
            return int(row)
    return -1


def findings_answer(recording: Recording) -> dict[str, Any]:
    """The answer to `findings`."""
    report = recording.report
    found = []
    for finding in [*report.findings, *report.notes]:
        seen = recording.seen.get(finding, Seen(-1))
        other = other_row(recording, finding, seen)
        found.append(described(recording, finding, seen, other))
    checked: dict[Kind, str] = {}
    notes = ["The launch was not sanitized."]
    if recording.sanitize:
        checked.update(CHECKED)
        notes = ["Elements that no store writes, or one store writes twice, are found with sanitize='all'."]
    if recording.sanitize == "all":
        checked.update(COVERED)
        notes = []
    looked_for = [{"kind": kind, "text": text} for kind, text in checked.items()]
    return {"findings": found, "checked": looked_for, "notes": notes}


def described(recording: Recording, finding: Finding, seen: Seen, other: int = -1) -> dict[str, Any]:
    """A finding with its locations, and with the names of the script; `other` is the row of its second access."""
    names = recording.report.names
    worded = finding.worded(names)
    row = _outside_row(recording, seen.row) if finding.kind == "out-of-bounds" else seen.row
    return {
        "kind": finding.kind,
        "title": worded.title,
        "text": finding.render(names),
        "details": worded.details,
        "help": worded.help,
        "count": finding.count,
        "note": finding.kind == "note",
        "place": _place(recording, finding.location, seen.step, row),
        "relation": finding.relation,
        "other": None if finding.other is None else _place(recording, finding.other, -1, other),
    }


def _outside_row(recording: Recording, row: int) -> int:
    """The row of the part of an access that is out of bounds; the one given if there is none."""
    accesses = recording.accesses
    for other in range(max(row, 0), len(accesses)):
        if accesses.block[other] != accesses.block[row] or accesses.step[other] != accesses.step[row]:
            break
        if accesses.array[other] <= OUT_OF_BOUNDS:
            return other
    return row


def _place(recording: Recording, place: FindingLocation, step: int, row: int) -> dict[str, Any]:
    accesses = recording.accesses
    if row >= 0:
        step = int(accesses.step[row])
    array = int(accesses.array[row]) if row >= 0 else -1
    missed = missed_array(array)
    position = position_of(user_location(place.operation.location))
    return {
        "operation": recording.program.operation_numbers.get(place.operation),
        "block": None if place.block is None else block_number(place.block, recording.grid),
        "step": step if step >= 0 else None,
        "element": list(place.element) if place.element is not None else None,
        "access": row if row >= 0 else None,
        "array": array if array >= 0 else missed if missed >= 0 else None,
        "outside": array <= OUT_OF_BOUNDS,
        "position": f"{os.path.basename(position.file)}:{position.line}" if isinstance(position, FileLocation) else "",
    }


CHECKED: Final[dict[Kind, str]] = {
    "out-of-bounds": "accesses outside of the array that the pointer comes from",
    "misaligned": "addresses that are not multiples of the element's size",
    "read-only": "writes to read-only arrays and constants",
    "index-space": "indices of views beyond their index space",
    "inbounds": "tiles that reach outside of a tensor against a promise",
    "uninitialized": "reads of memory that was never written",
    "race": "tile blocks that access the same bytes in no order, at least one of them writing",
    "unordered": "operations of one tile block that access the same bytes without a token between them",
    "assume": "assumptions that do not hold",
    "overflow": "results that do not fit against a promise",
    "division-by-zero": "divisions of integers by zero",
    "shift": "shifts by the width of the type or more",
    "index": "indices of `extract` and `insert` without a sub-tile",
    "assert": "asserts that fail",
    "error": "anything else that ends a tile block",
}
"""What the sanitizer looks for."""
COVERED: Final[dict[Kind, str]] = {
    "unwritten": "elements that are never written, of an array that the kernel stores to",
    "written-twice": "elements of one store that go to the same address",
}
"""What it also looks for if all checks are on."""


MOST_BLOCKS: Final = 256
"""So many tile blocks run again, the first ones."""
_MOST_STEPS: Final = 1024

_LOOKED_FOR: Final = {
    "nan": "operations that make a NaN of numbers that are none",
    "infinity": "operations that make an infinity of finite numbers",
}


def numbers_answer(recording: Recording) -> dict[str, Any]:
    """The operations that make a NaN or an infinity, each with the first step at which it does."""
    watch = NumberWatch()
    report = watch.report
    blocks = recording.blocks.number[:MOST_BLOCKS].tolist()
    seen: list[tuple[Finding, Seen]] = []
    for block in blocks:
        known = len(report.findings)
        recording.watch(block, watch)
        seen += [(finding, Seen(_step(recording, block, finding))) for finding in report.findings[known:]]
    # Counts go on growing while others run.
    found = [described(recording, *each) for each in [*seen, *[(note, Seen(-1)) for note in report.notes]]]
    total = len(recording.blocks)
    notes = [f"{len(blocks):,} of {several(total, 'tile block')} were examined."] if total > len(blocks) else []
    checked = [{"kind": kind, "text": text} for kind, text in _LOOKED_FOR.items()]
    return {"findings": found, "checked": checked, "notes": notes}


def _step(recording: Recording, block: int, finding: Finding) -> int:
    """The step at which a tile block first makes what a finding is about; -1 if it cannot be found."""
    operation = recording.program.step_operation(finding.operation)
    number = recording.program.operation_numbers[operation]
    steps: list[int] = (numpy.flatnonzero(recording.steps(block) == number) + 1).tolist()
    value = next((result for result in operation.results if is_float(result)), None)
    test = numpy.isnan if finding.kind == "nan" else numpy.isinf
    if operation is finding.operation and value is not None and len(steps) > 1:
        for step in steps[:_MOST_STEPS]:
            tile = numpy.asarray(recording.tile(block, step, recording.program.value_numbers[value]), numpy.float64)
            if bool(test(tile[finding.element or ()]).any()):
                return step
    return steps[0] if steps else -1
