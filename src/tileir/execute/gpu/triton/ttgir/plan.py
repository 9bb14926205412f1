"""What is known of a kernel before it is written for groups of warps, and whether it can be.

Loops of two matmuls, as in attention, are rotated, so that the tensor cores have the second matmul of the iteration
before while f is computed: `loop: S = Q * K[i]; P, .. = f(S, ..); A = g(A, ..); A = A + P * V[i]` becomes

    S = Q * K[0]; P, .. = f(S, ..); A = g(A, ..)
    loop from 1: start S = Q * K[i]; start A = A + P * V[i - 1]; wait for S; P, .. = f(S, ..); wait for A; A = g(A, ..)
    A = A + P * V[n - 1]

Triton's text for a copy is a buffer and a barrier, both allocated for it, and statements that wait until it is done.
Copies of one descriptor that follow each other share buffers, one after the other: a ring.
"""

from __future__ import annotations

import re
from math import prod
from typing import Final, NamedTuple

from tileir.execute.gpu.triton.ttgir.text import (
    DOT,
    LOAD,
    STORE,
    WAIT,
    Halves,
    Kernel,
    Loop,
    Region,
    Statement,
    Unfit,
    half_memory,
)

_BARRIER_STATEMENTS: Final = frozenset(
    ("ttng.init_barrier", "ttng.barrier_expect", "ttng.wait_barrier", "ttng.inval_barrier")
)
_VIEWS: Final = frozenset(
    ("ttg.memdesc_trans", "ttg.memdesc_reshape", "ttg.memdesc_subslice", "ttg.memdesc_reinterpret")
)
"""Statements whose result is the same memory in another form."""


class Copy:
    def __init__(self, statement: Statement, region: Region, loops: int) -> None:
        if len(statement.types) != 3 or len(statement.operands()) < 5:
            raise Unfit("it has a copy of an unusual kind")
        self.statement: Final = statement
        self.region: Final = region
        self.loops: Final = loops
        self.descriptor, *self.coordinates, self.buffer, self.barrier, self.condition = statement.operands()
        self.type: Final = statement.types[-1]
        self.bytes: int = 0
        self.is_own: bool = False  # Whether it is rows of the result: each group has its own.
        self.views: Final[list[Statement]] = []  # Views of its buffer, in order.
        self.last_use: Statement | None = None  # The statement beside it after which the buffer is free.


class Copies:
    def __init__(self, kernel: Kernel) -> None:
        self.all: Final[list[Copy]] = []
        self.of: Final[dict[Statement, Copy]] = {}
        self.dropped: Final[set[Statement]] = set()  # Statements that are written anew.
        self.views: Final[dict[str, Copy]] = {}  # What is, by any name, the buffer of a copy.
        self._find(kernel.body, 0)
        barriers = {copy.barrier: copy for copy in self.all}
        buffers = {copy.buffer: copy for copy in self.all}
        constants = {each.result for each in kernel.body.walk() if each.text == "arith.constant true"}
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
                    pairs = zip(each.values(), each.operands(), strict=False)
                    derived.update([value for value, operand in pairs if operand in derived])
                else:
                    raise Unfit(f"a tile that is loaded is used by '{each.name}'")
                copy.last_use = statement
        if copy.last_use is None:
            # No statement would signal that its buffer is free.
            raise Unfit("a tile that is loaded is not used")
        if copy.last_use.name == DOT:
            raise Unfit("a matmul is not waited for with what it reads")
        for value in derived:
            self.views[value] = copy
        dots = [each for statement in copy.region.statements for each in statement.walk() if each.name == DOT]
        if copy.is_own and any(each.operands()[1] in derived for each in dots):
            raise Unfit("a tile that is loaded is a left and a right operand")


class Ring:
    """Buffers that copies use in turn, each with a part for every tile that is waited for together."""

    def __init__(self, bundles: list[list[Copy]], depth: int) -> None:
        copies = [copy for bundle in bundles for copy in bundle]
        self.parts: Final = bundles[0]
        """The first copy of every tile that is waited for together; it represents all copies of the tile."""
        self.part_of: Final = {copy: part for bundle in bundles for copy, part in zip(bundle, bundles[0], strict=True)}
        # What a loop inside this one uses again and again is loaded once for it.
        is_streamed = any(copy.loops and not isinstance(copy.last_use, Loop) for copy in copies)
        self.depth: Final = depth if is_streamed else 1
        self.bytes: Final = sum([part.bytes for part in self.parts])
        self.is_reused: Final = len(bundles) > self.depth or any(copy.loops for copy in copies)
        """Whether a buffer holds one tile after another."""


def rings_of(copies: Copies, depth: int) -> list[Ring]:
    """The first copies of a descriptor in each loop share a ring, the second ones another.

    Copies that one matmul is the last to use form one ring: they are waited for, and freed, together.
    A copy needed until a loop with copies has ended has its own: that loop would wait for its buffer.
    """
    bundles: dict[object, list[Copy]] = {}
    for copy in copies.all:
        is_matmul = copy.last_use is not None and not isinstance(copy.last_use, Loop)
        bundles.setdefault(copy.last_use if copy.loops and is_matmul else copy, []).append(copy)
    ordinals: dict[Copy, int] = {}
    for copy in copies.all:
        earlier = [each for each in ordinals if each.descriptor == copy.descriptor and each.region is copy.region]
        ordinals[copy] = len(earlier)
    rings: dict[object, list[list[Copy]]] = {}
    for bundle in bundles.values():
        key = tuple([(copy.descriptor, copy.type, copy.is_own, ordinals[copy]) for copy in bundle])
        is_held = any(_is_held(copies, copy) for copy in bundle)
        rings.setdefault(bundle[0] if is_held else key, []).append(bundle)
    return [Ring(each, depth) for each in rings.values()]


def _is_held(copies: Copies, copy: Copy) -> bool:
    """Whether its buffer is free only behind a loop that copies as well."""
    statements = copy.region.statements
    assert copy.last_use is not None, "all that is copied is used"
    between = statements[statements.index(copy.statement) : statements.index(copy.last_use) + 1]
    return any(inner in copies.of for each in between if isinstance(each, Loop) for inner in each.walk())


_PRECISE_AFTER: Final = re.compile(r"maxNumImpreciseAcc = (\d+) : i32")
_NEVER: Final = 1 << 30
_SPARE: Final = 2048  # Bytes for barriers, and for what Triton hands to the groups.
_PURE: Final = ("arith.", "math.")
_ALLOWED: Final = frozenset(
    (
        "tt.bitcast", "tt.broadcast", "tt.clampf", "tt.elementwise_inline_asm", "tt.expand_dims",
        "tt.extern_elementwise", "tt.fp_to_fp",
        "tt.get_num_programs", "tt.get_program_id", "tt.make_range", "tt.mulhiui", "tt.precise_divf",
        "tt.precise_sqrt", "tt.reduce", "tt.reduce.return", "tt.return", "tt.splat", "scf.for", "scf.yield",
        "ttg.convert_layout", "ttg.local_alloc", "ttg.memdesc_trans", "ttng.async_tma_copy_global_to_local",
        "ttng.async_tma_copy_local_to_global", "ttng.async_tma_store_wait", "ttng.barrier_expect",
        "ttng.fence_async_shared", "ttng.init_barrier", "ttng.inval_barrier", "ttng.wait_barrier",
        "ttng.warp_group_dot", "ttng.warp_group_dot_wait",
    )
)  # fmt: skip
"""What works on rows without mixing them, or is written anew."""


class Rotation(NamedTuple):
    dots: list[Statement]
    waits: list[Statement]
    copies: list[Copy]
    accumulator: int
    beginning: list[Statement]  # What the first matmul adds to, if that is not zero.
    middle: list[Statement]  # f, and all else that needs neither matmul.
    update: list[Statement]


def rotation_of(loop: Loop, copies: Copies) -> Rotation | None:
    """How a loop is rotated; None if it is not of this kind."""
    body = [each for each in loop.body if each not in copies.dropped]
    dots, waits = [[each for each in body if each.name == name] for name in (DOT, WAIT)]
    inside = [copies.of[each] for each in body if each in copies.of]
    if len(dots) != 2 or len(waits) != 2 or len(inside) != 2 or any(isinstance(each, Loop) for each in body):
        return None
    (first, second), (first_wait, second_wait) = dots, waits
    rights = [copies.views.get(dot.operands()[1]) for dot in dots]
    if rights != inside or rights[0] is rights[1]:
        return None
    if first_wait.operands()[0] != first.result or second_wait.operands()[0] != second.result:
        return None
    defined = {value for each in body for value in each.values()} | set(loop.carried) | {loop.counter}
    left, _, start = first.operands()[:3]
    if left in defined or second.operands()[0] not in defined:
        return None
    total = second_wait.result
    if loop.yielded.count(total) != 1:
        return None
    number = loop.yielded.index(total)
    needed = _needed_for(start, body)
    found = Rotation(dots, waits, inside, number, [], [], [])
    dependent = {loop.carried[number]}
    for each in body:
        if each in dots or each in waits or each in copies.of:
            continue
        if dependent & each.uses():
            found.update.append(each)
            dependent.update(each.values())
        else:
            (found.beginning if each in needed else found.middle).append(each)
    # The accumulator is used for nothing but the next one, and nothing else needs the second matmul.
    late = dependent | {total, second.result}
    outside = [each for each in (*found.beginning, *found.middle, first) if each.uses() & late]
    early = {first.result, *first_wait.values()}
    outside += [each for each in found.beginning if each.uses() & early]
    others = {value for position, value in enumerate(loop.yielded) if position != number}
    if outside or others & (dependent | {total}) or total in {use for each in found.update for use in each.uses()}:
        return None
    left_of_second, _, added_to = second.operands()[:3]
    if left_of_second in dependent or added_to not in dependent:
        return None
    # In shared memory, what the second matmul reads would be overwritten by the next iteration's.
    return found if second.types[0].startswith("tensor<") else None


def _needed_for(value: str, statements: list[Statement]) -> set[Statement]:
    defined = {result: each for each in statements for result in each.values()}
    found: set[Statement] = set()
    pending = [value]
    while pending:
        statement = defined.get(pending.pop())
        if statement is not None and statement not in found:
            found.add(statement)
            pending += statement.uses()
    return found


class Plan:
    """A kernel, its copies and its rings; raises `Unfit`."""

    def __init__(self, text: str, stages: int, shared: int) -> None:
        self.kernel: Final = Kernel(text)
        self.halves: Final = Halves(self.kernel.head)
        self.copies: Final = Copies(self.kernel)
        _check(self.kernel, self.copies)
        self.all_rings: Final = _rings(self.kernel, self.copies, stages, shared)
        self.rings: Final = {copy: ring for ring in self.all_rings for copy in ring.part_of}
        copies = self.copies.all
        stores = {each.operands()[0] for each in self.kernel.body.walk() if each.name == STORE}
        halved = stores | {copy.descriptor for copy in copies if copy.is_own}
        if halved & {copy.descriptor for copy in copies if not copy.is_own}:
            raise Unfit("what has rows of the result is read whole as well")
        self.staged: Final = [
            each
            for loop in self.kernel.body.statements
            if isinstance(loop, Loop)
            for each in loop.regions[0].walk()
            if each.is_alloc_of_tile
        ]
        """Tiles that are put into shared memory, to be stored, again and again."""
        self.parameters: Final = [
            (name, half_memory(type) if name in halved else type) for name, type in self.kernel.parameters
        ]

    def rings_in(self, region: Region) -> list[Ring]:
        """Those whose buffers change in a region."""
        inside = {self.rings[self.copies.of[each]] for each in region.walk() if each in self.copies.of}
        return [ring for ring in self.all_rings if ring in inside and ring.is_reused]


def _check(kernel: Kernel, copies: Copies) -> None:
    if not any(copy.loops and not copy.is_own for copy in copies.all):
        raise Unfit("no loop of it loads tiles by TMA for matmuls")
    if not any(copy.is_own for copy in copies.all):
        raise Unfit("no tile that it loads is the left operand of a matmul")
    for each in kernel.body.walk():
        name = each.name
        if name not in _ALLOWED and not name.startswith(_PURE):
            raise Unfit(f"'{name}' may mix rows")
        if name == "tt.reduce" and "axis = 1 " not in each.text:
            raise Unfit("it reduces along rows")
        if name == "arith.constant" and "dense<[" in each.text:
            raise Unfit("it has a table of numbers")
        precise_after = _PRECISE_AFTER.search(each.text) if name == DOT and "xf8E" in each.text else None
        if precise_after is not None and 0 < int(precise_after[1]) < _NEVER:
            # Of f8, added to f32 after some elements of K: lowering emits one matmul for that.
            raise Unfit("it has a matmul that is added up in parts")


def _rings(kernel: Kernel, copies: Copies, stages: int, shared: int) -> list[Ring]:
    """As many buffers as there is shared memory for."""
    staged = sum(_staged_bytes(each) for each in kernel.body.walk())
    for depth in range(max(stages, 1), 0, -1):
        rings = rings_of(copies, depth)
        if sum(ring.bytes * ring.depth for ring in rings) + staged + _SPARE <= shared:
            return rings
    raise Unfit("its tiles do not fit into shared memory")


def _staged_bytes(statement: Statement) -> int:
    if not statement.is_alloc_of_tile:
        return 0
    sizes = re.match(r"!ttg\.memdesc<((?:\d+x)+)[a-z]+(\d+)", statement.types[-1])
    return 0 if sizes is None else prod(map(int, sizes[1].split("x")[:-1])) * int(sizes[2]) // 8
