"""The copies by TMA from global memory in a kernel, the buffers for them, and types of half of the rows.

Triton's text for a copy is a buffer and a barrier, both allocated for it, and statements that wait until it is done.
Copies of one descriptor that follow each other share buffers, one after the other: a ring.

A group of four warps does half of what eight did: the first dimension of every tile whose rows are spread over warps is
half as long.  Which those are is what layouts say: that of a matmul (`#mma`), that of its left operand, and a row of
numbers along the first dimension of such a tile.
"""

from __future__ import annotations

import re
from typing import Final

from tileir.execute.gpu.triton.ttgir.text import DOT, LOAD, WAIT, Kernel, Loop, Region, Statement, Unfit

_LAYOUT: Final = re.compile(r"(#\w+) = #ttg\.nvidia_mma<\{versionMajor = 3, .*warpsPerCTA = \[8, 1\].*\}>")
_TENSOR: Final = re.compile(
    r"(?<!tensordesc<)tensor<(\d+)x((?:\d+x)*)([a-z]\w*), (#\w+|#ttg\.(?:slice|dot_op)<\{[^{}]*\}>)>"
)
_ANY_TENSOR: Final = re.compile(r"(?<!tensordesc<)tensor<")
_MEMORY: Final = re.compile(r"(memdesc<|tensordesc<(?:tensor<)?)((?:\d+x)+)")
_RANGE: Final = re.compile(r"tt\.make_range \{end = (\d+) : i32, start = (\d+) : i32\} : (.*)")
_WARPS: Final = '"ttg.num-warps" = 8 : i32'

_BARRIER_STATEMENTS: Final = frozenset(
    ("ttng.init_barrier", "ttng.barrier_expect", "ttng.wait_barrier", "ttng.inval_barrier")
)
_VIEWS: Final = frozenset(
    ("ttg.memdesc_trans", "ttg.memdesc_reshape", "ttg.memdesc_subslice", "ttg.memdesc_reinterpret")
)
"""Statements whose result is the same memory in another form."""


class Halves:
    """How types change."""

    def __init__(self, head: list[str]) -> None:
        self._layouts: Final = {found[1] for line in head if (found := _LAYOUT.match(line))}
        if not self._layouts or not any(_WARPS in line for line in head):
            raise Unfit("it has no matmul of eight warps with rows of its own for each")
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


class Copy:
    """A copy."""

    def __init__(self, statement: Statement, region: Region, loops: int) -> None:
        if len(statement.types) != 3 or len(statement.operands()) < 5:
            raise Unfit("it has a copy of an unusual kind")
        self.statement: Final = statement
        self.region: Final = region
        """Where it stands."""
        self.loops: Final = loops
        """In how many loops."""
        self.descriptor, *self.place, self.buffer, self.barrier, self.condition = statement.operands()
        self.type: Final = statement.types[-1]
        """Of the buffer."""
        self.bytes: int = 0
        self.is_own: bool = False
        """Whether it is rows of the result: each group has its own."""
        self.views: Final[list[Statement]] = []
        """Those that give its buffer another form, in order."""
        self.last_use: Statement | None = None
        """The statement beside it after which the buffer is free."""


class Copies:
    """All of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.all: Final[list[Copy]] = []
        self.of: Final[dict[Statement, Copy]] = {}
        self.dropped: Final[set[Statement]] = set()
        """Statements that are written anew."""
        self.views: Final[dict[str, Copy]] = {}
        """What is, by any name, the buffer of a copy."""
        self._find(kernel.body, 0)
        barriers = {copy.barrier: copy for copy in self.all}
        buffers = {copy.buffer: copy for copy in self.all}
        constants = {}
        for statement in kernel.body.walk():
            name, operands = statement.name, statement.operands()
            if name in _BARRIER_STATEMENTS:
                copy = barriers.get(operands[0])
                if copy is None:
                    raise Unfit("it has barriers of its own")
                self.dropped.add(statement)
                if name == "ttng.barrier_expect":
                    copy.bytes += int(statement.text.split(", ")[1])
            elif name == "ttg.local_alloc" and (statement.result in barriers or statement.result in buffers):
                self.dropped.add(statement)
            elif statement.text == "arith.constant true":
                constants[statement.result] = True
        for copy in self.all:
            if copy.condition not in constants or not copy.bytes:
                raise Unfit("it has a copy under a condition")
            self._find_uses(copy)

    def _find(self, region: Region, loops: int) -> None:
        for statement in region.statements:
            if statement.name == LOAD:
                copy = Copy(statement, region, loops)
                self.all.append(copy)
                self.of[statement] = copy
            elif statement.name == "scf.if" and any("async_tma" in each.text for each in statement.walk()):
                raise Unfit("it has a copy under a condition")
            for inner in statement.regions:
                self._find(inner, loops + isinstance(statement, Loop))

    def _find_uses(self, copy: Copy) -> None:
        derived = {copy.buffer}
        for statement in copy.region.statements:
            if statement in self.dropped or statement is copy.statement:
                continue
            for each in statement.walk():
                if not derived.intersection(each.operands()):
                    continue
                if each.name in _VIEWS:
                    derived.add(each.result)
                    if each is not statement:
                        raise Unfit("a tile that is loaded has another form in a loop")
                    copy.views.append(each)
                    self.dropped.add(each)
                elif each.name == DOT:
                    left, right = each.operands()[:2]
                    if left in derived:
                        if left != copy.buffer or right in derived:
                            raise Unfit("a tile that is loaded is a left operand in another form")
                        copy.is_own = True
                elif each.name == WAIT:
                    derived.update(
                        value
                        for value, operand in zip(each.values(), each.operands(), strict=False)
                        if operand in derived
                    )
                else:
                    raise Unfit(f"a tile that is loaded is used by '{each.name}'")
                copy.last_use = statement
        if copy.last_use is None:
            # Nobody would say that its buffer is free.
            raise Unfit("a tile that is loaded is not used")
        if copy.last_use.name == DOT:
            raise Unfit("a matmul is not waited for with what it reads")
        for value in derived:
            self.views[value] = copy
        uses = [each for statement in copy.region.statements for each in statement.walk() if each.name == DOT]
        rights = any(each.operands()[1] in derived for each in uses)
        if copy.is_own and rights:
            raise Unfit("a tile that is loaded is a left and a right operand")


class Part:
    """What copies of one descriptor have in a ring."""

    def __init__(self, copies: list[Copy]) -> None:
        self.copies: Final = copies
        first = copies[0]
        self.is_own: Final = first.is_own
        self.type: Final = first.type
        self.bytes: Final = first.bytes


class Ring:
    """Buffers that copies use in turn, each with a part for every tile that is waited for together."""

    def __init__(self, number: int, bundles: list[list[Copy]], depth: int) -> None:
        self.number: Final = number
        self.parts: Final = [Part(list(copies)) for copies in zip(*bundles, strict=True)]
        copies = [copy for bundle in bundles for copy in bundle]
        # What a loop inside this one uses again and again is loaded once for it.
        is_streamed = any(copy.loops and not isinstance(copy.last_use, Loop) for copy in copies)
        self.depth: Final = depth if is_streamed else 1
        self.bytes: Final = sum([part.bytes for part in self.parts])
        self.is_reused: Final = len(bundles) > self.depth or any(copy.loops for copy in copies)
        """Whether a buffer holds one tile after another."""


def rings_of(copies: Copies, depth: int) -> list[Ring]:
    """The first copies of a descriptor in each loop share a ring, the second ones another.

    Those that one matmul is the last to use are one: they are waited for, and free, together.  One that is needed
    until a loop with copies has ended has a ring of its own: that loop would wait for its buffer.
    """
    bundles: dict[object, list[Copy]] = {}
    for copy in copies.all:
        is_matmul = copy.last_use is not None and not isinstance(copy.last_use, Loop)
        bundles.setdefault(copy.last_use if copy.loops and is_matmul else copy, []).append(copy)
    rings: dict[object, list[list[Copy]]] = {}
    for bundle in bundles.values():
        key = tuple([(copy.descriptor, copy.type, copy.is_own, _ordinal(copies, copy)) for copy in bundle])
        is_held = any(_is_held(copies, copy) for copy in bundle)
        rings.setdefault(bundle[0] if is_held else key, []).append(bundle)
    return [Ring(number, each, depth) for number, each in enumerate(rings.values())]


def _is_held(copies: Copies, copy: Copy) -> bool:
    """Whether its buffer is free only behind a loop that copies as well."""
    statements = copy.region.statements
    assert copy.last_use is not None, "all that is copied is used"
    between = statements[statements.index(copy.statement) : statements.index(copy.last_use) + 1]
    return any(inner in copies.of for each in between if isinstance(each, Loop) for inner in each.walk())


def _ordinal(copies: Copies, copy: Copy) -> int:
    """How many of its descriptor stand before it."""
    earlier = copies.all[: copies.all.index(copy)]
    return sum(each.descriptor == copy.descriptor and each.region is copy.region for each in earlier)
