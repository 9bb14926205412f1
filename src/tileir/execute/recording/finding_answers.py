"""The findings of a recorded launch with the moments and accesses that they are about: the answer to `findings`."""

from __future__ import annotations

import os
from typing import Any

from tileir.execute.places import place_of
from tileir.execute.recording.accesses import OUT_OF_BOUNDS, missed_array
from tileir.execute.recording.findings import CHECKED, COVERED, Seen
from tileir.execute.recording.recording import Recording
from tileir.execute.sanitizer.report import Finding, Kind, Place
from tileir.ir.diagnostics import position_of
from tileir.ir.location import FileLocation


def other_row(recording: Recording, finding: Finding, seen: Seen) -> int:
    """The row of the second access of a finding, as of a race: the last one before that touches the same element."""
    other = finding.other
    if other is None or other.block is None or seen.row < 0:
        return -1
    accesses = recording.accesses
    operation = recording.program.operation_numbers.get(other.operation, -1)
    width, height, _ = recording.grid
    block = other.block[0] + width * (other.block[1] + height * other.block[2])
    rows = recording.rows(block)
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
    notes: list[str] = []
    if recording.sanitize:
        checked.update(CHECKED)
    else:
        notes.append("The launch was not sanitized: nothing was looked for.")
    if recording.sanitize == "all":
        checked.update(COVERED)
    elif recording.sanitize:
        notes.append("Elements that no store writes, or one store writes twice, were not looked for: sanitize='all'.")
    return {
        "findings": found,
        "checked": [{"kind": kind, "text": text} for kind, text in checked.items()],
        "notes": notes,
    }


def described(recording: Recording, finding: Finding, seen: Seen, other: int = -1) -> dict[str, Any]:
    """A finding with its places, in the words of the script; `other` is the row of its second access."""
    names = recording.report.names
    worded = finding.worded(names)
    row = _outside_row(recording, seen.row) if finding.kind == "out-of-bounds" else seen.row
    return {
        "kind": finding.kind,
        "title": worded.title,
        "text": finding.render(names),
        "details": worded.details,
        "hint": worded.hint,
        "count": finding.count,
        "note": finding.kind == "note",
        "place": _place(recording, finding.place, seen.step, row),
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


def _place(recording: Recording, place: Place, step: int, row: int) -> dict[str, Any]:
    accesses = recording.accesses
    if row >= 0:
        step = int(accesses.step[row])
    array = int(accesses.array[row]) if row >= 0 else -1
    missed = missed_array(array)
    width, height, _ = recording.grid
    block = place.block
    position = position_of(place_of(place.operation.location))
    return {
        "operation": recording.program.operation_numbers.get(place.operation),
        "block": None if block is None else block[0] + width * (block[1] + height * block[2]),
        "step": step if step >= 0 else None,
        "element": list(place.element) if place.element is not None else None,
        "access": row if row >= 0 else None,
        "array": array if array >= 0 else missed if missed >= 0 else None,
        "outside": array <= OUT_OF_BOUNDS,
        "position": f"{os.path.basename(position.file)}:{position.line}" if isinstance(position, FileLocation) else "",
    }
