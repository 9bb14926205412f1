"""What is known of a kernel before it is written for groups of warps, and whether it can be."""

from __future__ import annotations

import re
from typing import Final

from tileir.execute.gpu.triton.ttgir.copies import Copies, Ring, rings_of
from tileir.execute.gpu.triton.ttgir.halves import Halves, half_memory
from tileir.execute.gpu.triton.ttgir.text import Kernel, Loop, Region, Statement, Unfit

STAGED: Final = re.compile(r"ttg\.local_alloc (%\S+) : \((.*)\) -> (.*)")
"""A tile put into shared memory."""
STORE: Final = re.compile(
    r"ttng\.async_tma_copy_local_to_global (%\S+?)\[(.*?)\] (%\S+)(.*?) : (!tt\.tensordesc<.*>), (.*)"
)
_SPARE: Final = 2048
"""Bytes for barriers, and for what Triton hands to the groups."""
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


class Plan:
    """A kernel, its copies and its rings; raises `Unfit`."""

    def __init__(self, text: str, stages: int, shared: int) -> None:
        self.kernel: Final = Kernel(text)
        self.halves: Final = Halves(self.kernel.head)
        self.copies: Final = Copies(self.kernel)
        _check(self.kernel, self.copies)
        self.all_rings: Final = _rings(self.kernel, self.copies, stages, shared)
        pairs = [(ring, part, copy) for ring in self.all_rings for part in ring.parts for copy in part.copies]
        self.rings: Final = {copy: ring for ring, _, copy in pairs}
        self.parts: Final = {copy: part for _, part, copy in pairs}
        copies = self.copies.all
        stores = {found[1] for each in self.kernel.body.walk() if (found := STORE.fullmatch(each.text))}
        halved = stores | {copy.descriptor for copy in copies if copy.is_own}
        if halved & {copy.descriptor for copy in copies if not copy.is_own}:
            raise Unfit("what has rows of the result is read whole as well")
        self.staged: Final = [
            each
            for loop in self.kernel.body.statements
            if isinstance(loop, Loop)
            for each in loop.regions[0].walk()
            if STAGED.fullmatch(each.text)
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
        raise Unfit("no loop of it loads tiles by TMA for products")
    if not any(copy.is_own for copy in copies.all):
        raise Unfit("no tile that it loads is the left operand of a product")
    for each in kernel.body.walk():
        name = each.name
        if name not in _ALLOWED and not name.startswith(_PURE):
            raise Unfit(f"'{name}' may mix rows")
        if name == "tt.reduce" and "axis = 1 " not in each.text:
            raise Unfit("it reduces along rows")
        if name == "arith.constant" and "dense<[" in each.text:
            raise Unfit("it has a table of numbers")


def _rings(kernel: Kernel, copies: Copies, stages: int, shared: int) -> list[Ring]:
    """As many buffers as there is shared memory for."""
    staged = sum(_staged_bytes(each) for each in kernel.body.walk())
    for depth in range(max(stages, 1), 0, -1):
        rings = rings_of(copies, depth)
        if sum(ring.bytes * ring.depth for ring in rings) + staged + _SPARE <= shared:
            return rings
    raise Unfit("its tiles do not fit into shared memory")


def _staged_bytes(statement: Statement) -> int:
    found = STAGED.fullmatch(statement.text)
    sizes = re.match(r"!ttg\.memdesc<((?:\d+x)+)[a-z]+(\d+)", found[3]) if found else None
    if sizes is None:
        return 0
    total = int(sizes[2]) // 8
    for size in sizes[1].split("x")[:-1]:
        total *= int(size)
    return total


def staged_type(statement: Statement) -> str:
    """The type of the shared memory that half of a tile is put into."""
    found = STAGED.fullmatch(statement.text)
    assert found is not None, "it is put there"
    return half_memory(found[3])


def mutable(type: str) -> str:
    """A type of shared memory, of such as is written more than once."""
    return type if type.endswith("mutable>") else f"{type[:-1]}, mutable>"
