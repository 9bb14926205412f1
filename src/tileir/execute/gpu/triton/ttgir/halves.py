"""Types of half of the rows of a tile.

A group of four warps does half of what eight did: the first dimension of every tile whose rows are spread over warps is
half as long.  Which those are is what layouts say: that of a product (`#mma`), that of its left operand, and a row of
numbers along the first dimension of such a tile.
"""

from __future__ import annotations

import re
from typing import Final

from tileir.execute.gpu.triton.ttgir.text import Unfit

_LAYOUT: Final = re.compile(r"(#\w+) = #ttg\.nvidia_mma<\{versionMajor = 3, .*warpsPerCTA = \[8, 1\].*\}>")
_TENSOR: Final = re.compile(
    r"(?<!tensordesc<)tensor<(\d+)x((?:\d+x)*)([a-z]\w*), (#\w+|#ttg\.(?:slice|dot_op)<\{[^{}]*\}>)>"
)
_ANY_TENSOR: Final = re.compile(r"(?<!tensordesc<)tensor<")
_MEMORY: Final = re.compile(r"(memdesc<|tensordesc<(?:tensor<)?)((?:\d+x)+)")
_RANGE: Final = re.compile(r"tt\.make_range \{end = (\d+) : i32, start = (\d+) : i32\} : (.*)")
_WARPS: Final = '"ttg.num-warps" = 8 : i32'


class Halves:
    """How types change."""

    def __init__(self, head: list[str]) -> None:
        self._layouts: Final = {found[1] for line in head if (found := _LAYOUT.match(line))}
        if not self._layouts or not any(_WARPS in line for line in head):
            raise Unfit("it has no product of eight warps with rows of its own for each")
        self.head: Final = [
            line.replace("warpsPerCTA = [8, 1]", "warpsPerCTA = [4, 1]").replace(_WARPS, _WARPS.replace("8", "4"))
            for line in head
        ]

    def text(self, text: str, group: int) -> str:
        """A statement, or a list of types, for one of the two groups."""
        if len(_ANY_TENSOR.findall(text)) != len(_TENSOR.findall(text)):
            raise Unfit("it has tiles in layouts of other kinds")
        found = _RANGE.fullmatch(text)
        if found is not None and self.has_rows(found[3]):
            end, start = int(found[1]), int(found[2])
            half = (end - start) // 2
            start += group * half
            text = f"tt.make_range {{end = {start + half} : i32, start = {start} : i32}} : {found[3]}"
        return _TENSOR.sub(self._half, text)

    def has_rows(self, type: str) -> bool:
        """Whether the first dimension of a tile is that of rows."""
        found = _TENSOR.fullmatch(type)
        return found is not None and self._half(found) != type

    def _half(self, found: re.Match[str]) -> str:
        rows, layout = int(found[1]), found[4]
        parent = re.search(r"parent = (#\w+)", layout)
        name = parent[1] if parent is not None else layout
        if name not in self._layouts or "opIdx = 1" in layout:
            raise Unfit("it has tiles in layouts of other kinds")
        if rows == 1 or "dim = 0" in layout:
            return found[0]
        if rows % 128:
            raise Unfit(f"a tile has {rows} rows, which are not 64 for each of two groups")
        return f"tensor<{rows // 2}x{found[2]}{found[3]}, {layout}>"


def half_memory(type: str) -> str:
    """The type of shared memory or of a descriptor for half of the rows: the dimension before the last."""

    def half(found: re.Match[str]) -> str:
        sizes = [int(size) for size in found[2].split("x")[:-1]]
        if len(sizes) < 2 or sizes[-2] % 128:
            raise Unfit("what is loaded has no rows for two groups")
        sizes[-2] //= 2
        return found[1] + "".join([f"{size}x" for size in sizes])

    return _MEMORY.sub(half, type, count=1)


def rows_of(type: str) -> int:
    """How many rows shared memory has."""
    found = re.match(r"!ttg\.memdesc<((?:\d+x)+)", type)
    assert found is not None
    return int(found[1].split("x")[:-1][-2])
