"""What many arrays bring to the beginning of a function, moved to where it is used.

The arguments and the bounds of each array are loaded once, before any tile block, and stay in registers.  With hundreds
of arrays they do not: each is alive through the whole function, and LLVM's register allocator takes time that grows
with the square of their number only to spill them all.  Then every basic block loads what it needs, again.
"""

from __future__ import annotations

import re
from typing import Final

from tileir.execute.cpu.emission.provenance import rewritten

# With more lines than these, which are some hundred arrays, they go to where they are used.
MANY_LINES: Final = 400

# Loads from the record, which does not change during the launch, and what is computed from them.
_MOVABLE: Final = re.compile(
    r"  (%[\w.]+) = (?:getelementptr i64, ptr %record,|load \w+, ptr %slot\d+, align|sub i64|call i64 @llvm\.usub\.sat)"
)
_NAME: Final = re.compile(r"%[\w.]+")


def near_uses(frame: list[str], body: list[str]) -> list[str]:
    """The lines of a function: its first ones, and the others."""
    if len(frame) <= MANY_LINES:
        return [*frame, *body]
    movable: dict[str, str] = {}
    fixed: set[str] = set()
    for line in frame:
        match = _MOVABLE.match(line)
        names = _NAME.findall(line)
        if match is not None and not fixed.intersection(names[1:]):
            movable[names[0]] = line
        elif "=" in line:
            fixed.add(names[0])
    sinking = _Sinking(movable)
    for line in frame:
        name = line.split(" = ", 1)[0].strip()
        if name not in movable:
            sinking.write(line)
    for line in body:
        sinking.write(line)
    return sinking.lines


class _Sinking:
    """Writes lines, each with what it needs in front, once for every basic block."""

    def __init__(self, movable: dict[str, str]) -> None:
        self._movable: dict[str, str] = movable
        self._here: dict[str, str] = {}
        self._block: int = 0
        self.lines: list[str] = []

    def write(self, line: str) -> None:
        if not line.startswith(" "):
            self._block += 1
            self._here = {}
        # Most lines have none of them, and finding that out is quicker than to go through their names one by one.
        elif not self._movable.keys().isdisjoint(_NAME.findall(line)):
            line = rewritten(line, _NAME.sub(self._replaced, line))
        self.lines.append(line)

    def _replaced(self, match: re.Match[str]) -> str:
        name = match[0]
        if name not in self._movable:
            return name
        found = self._here.get(name)
        if found is None:
            found = self._here[name] = f"{name}.at{self._block}"
            _, _, computed = self._movable[name].partition(" = ")
            self.write(f"  {found} = {computed}")
        return found
