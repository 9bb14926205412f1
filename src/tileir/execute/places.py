"""Where an operation comes from, in the words of the one who wrote it.

Bytecode of cuTile says for each operation which line of which Python function it comes from, and where that function
was called.  Its own functions are in there too (`astype`, say), which nobody wants to hear of first.
"""

from __future__ import annotations

from tileir.dialect.attributes import DILocation
from tileir.ir.diagnostics import Diagnostic, note, position_of, source_of
from tileir.ir.location import (
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    OpaqueLocation,
)

_LIBRARIES = ("/cuda/tile/", "\\cuda\\tile\\")


def frames_of(location: Location) -> list[FileLocation]:
    """The file positions of a location, the innermost call first."""
    if isinstance(location, DILocation):
        return frames_of(location.source)
    if isinstance(location, CallSiteLocation):
        return frames_of(location.callee) + frames_of(location.caller)
    if isinstance(location, NameLocation):
        return frames_of(location.child)
    if isinstance(location, OpaqueLocation):
        return frames_of(location.fallback)
    if isinstance(location, FusedLocation):
        for part in location.locations:
            found = frames_of(part)
            if found:
                return found
        return []
    position = position_of(location)
    return [] if position is None else [position]


def place_of(location: Location) -> tuple[Location, list[Diagnostic]]:
    """The position to report, and notes that lead the reader there: the line itself, and who called it."""
    if source_of(location) is not None:
        return location, []
    frames = frames_of(location)
    while len(frames) > 1 and any(name in frames[0].file for name in _LIBRARIES):
        del frames[0]
    if not frames:
        return location, []
    notes = [note(f"called from here{_line_of(frame)}", frame) for frame in frames[1:]]
    line = _line_of(frames[0])
    if line:
        notes.insert(0, note(f"the line is{line}", frames[0]))
    return frames[0], notes


def _line_of(position: FileLocation) -> str:
    import linecache

    text = linecache.getline(position.file, position.line).strip()
    return f": {text}" if text else ""
