"""What the assembler says, as diagnostics at the operations that it means.

Errors and warnings are lines `PLACE: error: words`, where the place is a location as MLIR spells it, with the debug
scope it is in, or missing; lines without a severity belong to the one before.  Remarks are blocks of lines:

    remark[failed]: Failed to select TMA load instruction
      --> "matmul.mlir":28:22
       |
       = name: RemarkMemoryTmaLoadFailed
       = reason: loc("matmul.mlir":28:22): stride not 16-byte aligned

All have positions out of the debug information of the bytecode.  There the file is `NUMBERED` and the line the number
of an operation, unless the positions were to be those of the source (`--lineinfo`).
"""

from __future__ import annotations

import re
from typing import Final

from tileir.dialect.ops import ENTRY
from tileir.execute.locations.source_locations import frames_of, location_notes, user_location
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, note, source_of
from tileir.ir.location import UNKNOWN

NUMBERED: Final = "<tileir>"
"""The name of the file in positions whose lines are numbers of operations; without a percent sign, since the assembler
puts it into the format string of what a failed assert prints."""

_MESSAGE: Final = re.compile(r"(?:(?P<place>.*?): )??(?P<severity>error|warning|remark|note): (?P<words>.*)")
_REMARK: Final = re.compile(r"remark\[(?P<kind>\w+)\]: (?P<words>.*)")
_POSITION: Final = re.compile(r'"(?P<file>(?:[^"\\]|\\.)*)":(?P<line>\d+):(?P<column>\d+)')
_DETAIL: Final = re.compile(r"= (?P<what>reason|note): (?P<words>.*)")
_OWN_PLACE: Final = re.compile(r"loc\(.*?\): ")
_LAST_WORDS: Final = ("failed to compile Tile IR program", "failed to read provided Tile IR bytecode")
"""What it ends with, after what it was about."""


class Positions:
    """The operations of the program that the assembler was given, in order, and where they are."""

    def __init__(self, entry: Operation, operations: list[Operation]) -> None:
        self._entry: Final = entry
        self._operations: Final = operations
        self._at: dict[tuple[str, int, int | None], Operation] | None = None

    def operation_at(self, file: str, line: int, column: int | None = None) -> Operation | None:
        """The operation at a position of the debug information."""
        if file == NUMBERED:
            return self._operations[line - 1] if 0 < line <= len(self._operations) else None
        if self._at is None:
            self._at = {}
            for operation in self._operations:
                for frame in frames_of(operation.location)[:1]:
                    self._at.setdefault((frame.file, frame.line, frame.column), operation)
                    self._at.setdefault((frame.file, frame.line, None), operation)
        return self._at.get((file, line, column))

    def _operation_in(self, place: str) -> Operation | None:
        """The operation that a place of the assembler's words names."""
        found = _POSITION.search(place)
        return self.operation_at(found["file"], int(found["line"]), int(found["column"])) if found else None

    def diagnostic(self, severity: str, words: str, place: str) -> Diagnostic:
        """A finding of the assembler's at the operation it means, or at the kernel if it means none."""
        return self.diagnostic_at(severity, words, self._operation_in(place) or self._entry)

    def diagnostic_at(self, severity: str, words: str, operation: Operation) -> Diagnostic:
        """A finding at an operation, in the words of the script that it comes from, if it does."""
        location = user_location(operation.location)
        notes = location_notes(operation.location)
        if operation is self._entry:
            what = "kernel" if operation.declaration is ENTRY else "module"
            return Diagnostic(severity, f"{what} @{operation.symbol_name}: {words}", location, notes)
        subject = f"'{operation.name}' op"
        if source_of(location) is None:
            # Imported here: few programs are refused, and what reads scripts takes a while to load.
            from tileir.execute.locations.script import ScriptMessages

            script = ScriptMessages()
            if script.expression(operation) is not None:
                subject = script.subject(operation)
            elif not operation.regions and severity == "error":
                notes.append(note(f"the operation is: {operation.text()}", UNKNOWN))
        return Diagnostic(severity, f"{subject}: {words}", location, notes)


def read_messages(text: str, positions: Positions) -> list[Diagnostic]:
    """The errors and warnings in what the assembler said."""
    found: list[Diagnostic] = []
    ended: list[Diagnostic] = []
    is_remark = False
    for line in text.splitlines():
        if _REMARK.search(line) or line.startswith(("in function: ", "  category: ")):
            is_remark = True
        matched = None if is_remark and line.startswith(" ") else _MESSAGE.fullmatch(line)
        if matched is None:
            if found and not is_remark and line.strip():
                found[-1].message += f"\n{line.rstrip()}"
            continue
        is_remark = False
        words = matched["words"].strip()
        if words in _LAST_WORDS:
            ended.append(positions.diagnostic("error", words, ""))
        elif matched["severity"] == "note" and found:
            found[-1].notes.append(positions.diagnostic("note", words, matched["place"] or ""))
        else:
            found.append(positions.diagnostic(matched["severity"], words, matched["place"] or ""))
    return found if any(each.severity == "error" for each in found) else found + ended


def gives_no_reason(text: str) -> bool:
    """Whether the assembler says no more than that it failed."""
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(line.removeprefix("error: ") in _LAST_WORDS for line in lines)


def read_remarks(text: str, positions: Positions) -> list[Diagnostic]:
    """The remarks in what the assembler said, each once: it says those of a function that it makes twice twice."""
    found: dict[tuple[str, str], Diagnostic] = {}
    for block in re.split(r"^(?=\s*remark\[)", text, flags=re.MULTILINE)[1:]:
        lines = [line.strip() for line in block.splitlines()]
        head = _REMARK.match(lines[0])
        if head is None:
            continue
        place = next((line for line in lines if line.startswith("-->")), "")
        details = [_DETAIL.fullmatch(line) for line in lines]
        more = ", ".join([_OWN_PLACE.sub("", each["words"]) for each in details if each is not None])
        words = f"{head['words']}: {more}" if more else head["words"]
        found.setdefault((place, words), positions.diagnostic("remark", words, place))
    return sorted(found.values(), key=lambda remark: (remark.position, remark.message))
