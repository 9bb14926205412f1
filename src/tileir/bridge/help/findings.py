"""Findings of the sanitizer: the corrected lines of a script, where the numbers of a finding imply them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from tileir.bridge.help.source import LOAD, STORE, Changes, Place, changed, first_of, here, place_of, shown
from tileir.bridge.help.triton import with_mask
from tileir.execute.locations.python_source import character_column
from tileir.execute.locations.source_locations import user_location
from tileir.ir.diagnostics import position_of
from tileir.ir.quoting import harmless

if TYPE_CHECKING:
    from types import FrameType

    from tileir.execute.sanitizer.report import Finding

_ANY: Final = re.compile("")
_PRODUCT: Final = r"(\w+(?:\(\d\))?) ?\* ?(\w+)"


def add_corrections(findings: Sequence[Finding], caller: FrameType | None) -> None:
    """Add the corrected lines to the help of findings of a launch, which `caller` makes; the same lines only once."""
    known: set[tuple[str, str]] = set()
    for finding in findings:
        position = position_of(user_location(finding.operation.location))
        if position is None or not position.file.endswith(".py"):
            continue
        found = _ANY.match("")
        assert found is not None
        file = position.file
        place = place_of(file, position.line, found, column=max(position.column - 1, 0))
        corrections = _CORRECTIONS.get(finding.kind, ())
        changes = first_of(*[partial(each, finding) for each in corrections])(place)
        if not changes and caller is not None:
            file = caller.f_code.co_filename
            place = place_of(file, caller.f_lineno, found)
            changes = changed(_grid(finding, place), place.lines)
        lines = harmless(shown(changes), keep="\n\t")
        if (file, lines) not in known:
            known.add((file, lines))
            finding.correction = lines


def _atomic(_: Finding, place: Place) -> Changes:
    """An atomic addition instead of a load, an addition and a store."""
    cutile = r"ct\.scatter\((\w+), (\w+), ct\.gather\(\1, \2\) \+ (.+)\)$"
    triton = r"tl\.store\(([^,()]+), tl\.load\(\1\) \+ (.+)\)$"
    if re.search(cutile, place.line):
        return here(cutile, r"ct.atomic_add(\1, \2, \3)")(place)
    return here(triton, r"tl.atomic_add(\1, \2)")(place)


def _tile_index(_: Finding, place: Place) -> Changes:
    """An index in tiles instead of one in elements: `i * 16` for tiles of 16."""

    def change(found: re.Match[str]) -> str:
        shape = found[3] if found.re.groups > 2 else _stored_shape(place)
        extents = {word.strip() for word in shape.strip("()").split(",")}
        return found[0].replace(
            found[2],
            re.sub(_PRODUCT, lambda each: each[1] if each[2] in extents else each[0], found[2]),
            1,
        )

    return {place.number: re.sub(LOAD if "ct.load" in place.line else STORE, change, place.line)}


def _stored_shape(place: Place) -> str:
    loaded = place.first(LOAD)
    return loaded[3] if loaded else ""


def _swapped(finding: Finding, place: Place) -> Changes:
    """Two indices of the access in the other order, where one is past its axis and inside of the other."""
    text = " ".join(finding.worded().details)
    outside = re.search(r"index (\d+) along axis ([01])", text)
    space = re.search(r"the tile space is \((\d+), (\d+)\)", text)
    if finding.help.startswith("launch a grid") or not outside or not space:
        return {}
    if int(outside[1]) >= int(space[2 - int(outside[2])]):
        return {}
    start = character_column(place.line, place.column)
    before, access = place.line[:start], place.line[start:]
    swapped = re.sub(r"^(ct\.(?:load|store)\(\w+, ?(?:index ?= ?)?)\((\w+), (\w+)\)", r"\1(\3, \2)", access)
    return {place.number: before + swapped}


def _own_part(_: Finding, place: Place) -> Changes:
    """The offsets of a block begin where those of the block before end: `pid * BLOCK + arange(BLOCK)`."""
    pattern = r"= (\w+|\w+\.\w+\(\d\))(?: \* (\w+))? \+ (ct|tl)\.arange\((?:0, ?)?(\w+)"
    for number in place.kernel:
        found = re.search(pattern, place.text(number))
        if found is None or found[2] == found[4]:
            continue
        first = place.first(rf"\b{re.escape(found[1])} = (?:ct\.bid|tl\.program_id)\(")
        if first or "." in found[1]:
            return {
                number: re.sub(
                    pattern, r"= \1 * \4 + \3.arange(" + ("0, " if found[3] == "tl" else "") + r"\4", place.text(number)
                )
            }
    return {}


def _grid(finding: Finding, launch: Place) -> Changes:
    """The grid that the help names, at the launch: rounded up where it was rounded down, and is too small for that."""
    advised = re.match(r"launch a grid of \(([\d, ]+)\)", finding.help)
    if advised is None:
        return {}
    function = "triton.cdiv" if any(line.startswith("import triton") for line in launch.lines) else "ct.cdiv"
    floor = r"(\w+(?:\.\w+)*(?:\[[^\[\]]*\])?) // (\w+(?:\[[^\[\]]*\])?)"
    grids = [number for number, line in enumerate(launch.lines, 1) if re.match(r"\s*grid\b.*=", line)]
    for number in (launch.number, *grids):
        if "round up" in finding.help and re.search(floor, launch.text(number)):
            return {number: re.sub(floor, rf"{function}(\1, \2)", launch.text(number))}
    extents = [word.strip() for word in advised[1].split(",")]
    while len(extents) > 1 and extents[-1] == "1":
        extents.pop()
    grid = f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"
    call = r"(ct\.launch\([^,()]*(?:\([^()]*\))?, ?)(?:\((?:[^()]|\([^()]*\))*\)|\w+)"
    return here(call, rf"\g<1>{grid}")(launch)


def _mask(_: Finding, place: Place) -> Changes:
    return with_mask(place)


_CORRECTIONS: Final = {
    "out-of-bounds": (_mask,),
    "race": (_atomic, _own_part),
    "index-space": (_tile_index, _swapped),
    "unwritten": (_own_part, _tile_index),
}
