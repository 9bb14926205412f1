"""Where an operation comes from, as the author of the source knows it.

Bytecode of cuTile records for each operation the line of a Python function, and where that function was called.  That
includes cuTile's own functions (such as `astype`), which `user_location` skips.
"""

from __future__ import annotations

import re

from tileir.dialect.debug_info import DILocation
from tileir.ir.diagnostics import Diagnostic, note, position_of, source_of
from tileir.ir.location import (
    CallSiteLocation,
    CharacterLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    OpaqueLocation,
    SourceText,
    file_location,
)

_LIBRARIES = (
    "/cuda/tile/", "\\cuda\\tile\\", "/triton/language/", "\\triton\\language\\",
    "/cuda_tile.h", "\\cuda_tile.h", "/cuda_fp16.hpp", "/cuda_bf16.hpp", "/cuda_fp8.hpp", "/cccl/cuda/",
)  # fmt: skip
# A kernel that recurses may have thousands of frames, and call sites share their parts.
_MOST_FRAMES = 1000
_MOST_STEPS = 100_000
_NO_TOKEN = re.compile("(?!)")


def frames_of(location: Location) -> list[FileLocation]:
    """The file positions of a location, the innermost call first; of a very deep one as many as anyone reads."""
    frames: list[FileLocation] = []
    # An explicit stack of locations to visit, because call sites may nest deeply.  For the parts of a fused location,
    # of which the first that has a position counts, the number of frames when they were begun.
    pending: list[tuple[Location, int]] = [(location, -1)]
    steps = 0
    while pending and len(frames) < _MOST_FRAMES and steps < _MOST_STEPS:
        steps += 1
        part, begun = pending.pop()
        if 0 <= begun < len(frames):
            continue
        if isinstance(part, CallSiteLocation):
            pending += [(part.caller, -1), (part.callee, -1)]
        elif isinstance(part, DILocation):
            pending.append((part.source, -1))
        elif isinstance(part, (NameLocation, OpaqueLocation)):
            pending.append((part.child if isinstance(part, NameLocation) else part.fallback, -1))
        elif isinstance(part, FusedLocation):
            pending.extend([(inner, len(frames)) for inner in reversed(part.locations)])
        else:
            position = position_of(part)
            if position is not None:
                frames.append(position)
    return frames


def user_location(location: Location, known: dict[Location, Location] | None = None) -> Location:
    """The position to report: where the author of the kernel wrote it, if that is known.

    `known` keeps positions from call to call: deep call sites share their callees.
    """
    if source_of(location) is not None:
        return location
    known = {} if known is None else known
    callee, sites = location, []
    while callee not in known and isinstance(callee, CallSiteLocation):
        sites.append(callee)
        callee = callee.callee
    if callee not in known:
        frames = author_frames(callee)
        if not frames or _is_of_library(frames[0]):
            frames = author_frames(location)
            return _counted_from_one(frames[0]) if frames else location
        known[callee] = _counted_from_one(frames[0])
    known.update(dict.fromkeys(sites, known[callee]))
    return known[callee]


def location_notes(location: Location) -> list[Diagnostic]:
    """The callers of the function that a location is in, the innermost call first."""
    if source_of(location) is not None:
        return []
    return [note("called from here", with_source(_counted_from_one(frame))) for frame in author_frames(location)[1:]]


def with_source(location: Location) -> Location:
    """The position of a script with the text of the script, if it is at hand, so that messages show the line."""
    if not isinstance(location, FileLocation):
        return location
    import linecache

    lines = linecache.getlines(location.file)
    if not 0 < location.line <= len(lines):
        return location
    offset = sum(map(len, lines[: location.line - 1])) + max(location.column - 1, 0)
    return CharacterLocation(SourceText("".join(lines), location.file, _NO_TOKEN), 0, offset)


def _counted_from_one(frame: FileLocation) -> FileLocation:
    """A location with the column that editors show.  cuTile counts bytes from zero; other writers may not, so it is
    converted only where an expression begins there."""
    # Imported here: few programs go wrong, and what reads scripts takes a while to load.
    from tileir.execute.locations.python_source import character_column, expressions_at

    if not expressions_at(frame.file, frame.line, frame.column):
        return frame
    return file_location(frame.file, frame.line, character_column(source_line(frame), frame.column) + 1)


def source_line(location: Location) -> str:
    """The line of a source file; empty where the file is not at hand."""
    if not isinstance(location, FileLocation):
        return ""
    import linecache

    return linecache.getline(location.file, location.line).rstrip()


def author_frames(location: Location) -> list[FileLocation]:
    """The positions of a location without functions of cuTile or Triton, the innermost call first."""
    frames = frames_of(location)
    while len(frames) > 1 and _is_of_library(frames[0]):
        del frames[0]
    return frames


def _is_of_library(frame: FileLocation) -> bool:
    return any(name in frame.file for name in _LIBRARIES)
