"""The copies by TMA from global memory in a kernel, and the buffers for them.

Triton's text for one is a buffer and a barrier, both allocated for it, and statements that wait until it is done.
Copies of one descriptor that follow each other share buffers, one after the other: a ring.
"""

from __future__ import annotations

import re
from typing import Final

from tileir.execute.gpu.triton.ttgir.text import Kernel, Loop, Region, Statement, Unfit

_COPY: Final = re.compile(
    r"ttng\.async_tma_copy_global_to_local (%\S+?)\[(.*?)\] (%\S+), (%\S+), (%\S+)(.*?) : "
    r"(!tt\.tensordesc<.*>), (!ttg\.memdesc<1xi64.*>) -> (!ttg\.memdesc<.*>)"
)
_EXPECT: Final = re.compile(r"ttng\.barrier_expect %\S+, (\d+).*")
_BARRIER_STATEMENTS: Final = frozenset(
    ("ttng.init_barrier", "ttng.barrier_expect", "ttng.wait_barrier", "ttng.inval_barrier")
)
_VIEWS: Final = frozenset(
    ("ttg.memdesc_trans", "ttg.memdesc_reshape", "ttg.memdesc_subslice", "ttg.memdesc_reinterpret")
)
"""Statements whose result is the same memory in another form."""


class Copy:
    """A copy."""

    def __init__(self, statement: Statement, region: Region, loops: int) -> None:
        found = _COPY.fullmatch(statement.text)
        if found is None:
            raise Unfit("it has a copy of an unusual kind")
        self.statement: Final = statement
        self.region: Final = region
        """Where it stands."""
        self.loops: Final = loops
        """In how many loops."""
        self.descriptor: Final = found[1]
        self.place: Final = found[2].split(", ")
        self.buffer: Final = found[3]
        self.barrier: Final = found[4]
        self.condition: Final = found[5]
        self.options: Final = found[6]
        self.descriptor_type: Final = found[7]
        self.barrier_type: Final = found[8]
        self.type: Final = found[9]
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
                if found := _EXPECT.fullmatch(statement.text):
                    copy.bytes += int(found[1])
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
            if statement.name == "ttng.async_tma_copy_global_to_local":
                copy = Copy(statement, region, loops)
                self.all.append(copy)
                self.of[statement] = copy
            elif statement.name == "scf.if" and any("async_tma" in each.text for each in walk(statement)):
                raise Unfit("it has a copy under a condition")
            for inner in statement.regions:
                self._find(inner, loops + isinstance(statement, Loop))

    def _find_uses(self, copy: Copy) -> None:
        derived = {copy.buffer}
        for statement in copy.region.statements:
            if statement in self.dropped or statement is copy.statement:
                continue
            for each in walk(statement):
                if not derived.intersection(each.operands()):
                    continue
                if each.name in _VIEWS:
                    derived.add(each.result)
                    if each is not statement:
                        raise Unfit("a tile that is loaded has another form in a loop")
                    copy.views.append(each)
                    self.dropped.add(each)
                elif each.name == "ttng.warp_group_dot":
                    left, right = each.operands()[:2]
                    if left in derived:
                        if left != copy.buffer or right in derived:
                            raise Unfit("a tile that is loaded is a left operand in another form")
                        copy.is_own = True
                elif each.name == "ttng.warp_group_dot_wait":
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
        if copy.last_use.name == _DOT:
            raise Unfit("a product is not waited for with what it reads")
        for value in derived:
            self.views[value] = copy
        uses = [each for statement in copy.region.statements for each in walk(statement) if each.name == _DOT]
        rights = any(each.operands()[1] in derived for each in uses)
        if copy.is_own and rights:
            raise Unfit("a tile that is loaded is a left and a right operand")


_DOT: Final = "ttng.warp_group_dot"


def walk(statement: Statement) -> list[Statement]:
    """A statement, and all in it."""
    return [statement, *[each for region in statement.regions for each in region.walk()]]


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

    Those that one product is the last to use are one: they are waited for, and free, together.  One that is needed
    until a loop with copies has ended has a ring of its own: that loop would wait for its buffer.
    """
    bundles: dict[object, list[Copy]] = {}
    for copy in copies.all:
        is_product = copy.last_use is not None and not isinstance(copy.last_use, Loop)
        bundles.setdefault(copy.last_use if copy.loops and is_product else copy, []).append(copy)
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
    return any(inner in copies.of for each in between if isinstance(each, Loop) for inner in walk(each))


def _ordinal(copies: Copies, copy: Copy) -> int:
    """How many of its descriptor stand before it."""
    earlier = copies.all[: copies.all.index(copy)]
    return sum(each.descriptor == copy.descriptor and each.region is copy.region for each in earlier)
