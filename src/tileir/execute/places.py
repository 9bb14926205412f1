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


def place_of(location: Location) -> Location:
    """The position to report: where the author of the kernel wrote it, if that is known."""
    if source_of(location) is not None:
        return location
    frames = _frames_of_author(location)
    return frames[0] if frames else location


def notes_of(location: Location) -> list[Diagnostic]:
    """What leads the reader to the place of a location: the line itself, and who called it."""
    if source_of(location) is not None:
        return []
    notes: list[Diagnostic] = []
    for depth, frame in enumerate(_frames_of_author(location)):
        line = line_at(frame).strip()
        if depth:
            notes.append(note(f"called from here{f': {line}' if line else ''}", frame))
        elif line:
            notes.append(note(f"the line is: {line}", frame))
    return notes


def line_at(location: Location) -> str:
    """The line of a source file; empty where the file is not at hand."""
    if not isinstance(location, FileLocation):
        return ""
    import linecache

    return linecache.getline(location.file, location.line).rstrip()


def _frames_of_author(location: Location) -> list[FileLocation]:
    frames = frames_of(location)
    while len(frames) > 1 and any(name in frames[0].file for name in _LIBRARIES):
        del frames[0]
    return frames
