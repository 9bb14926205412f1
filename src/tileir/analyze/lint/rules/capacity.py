"""Tiles that a target has too little of: in registers, in shared memory."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.cost.live_tiles import LiveTiles, live_tiles, register_capacity
from tileir.analyze.lint.rule import LintFinding, Rule
from tileir.analyze.lint.subject import Subject
from tileir.analyze.lint.targets import architectures_where, named
from tileir.annotations import Final
from tileir.dialect.attributes import hint_of
from tileir.dialect.ops import LOAD_PTR_TKO, LOAD_VIEW_TKO
from tileir.dialect.types import TileType
from tileir.execute.gpu.targets import Architecture
from tileir.execute.work.evaluation import element_size
from tileir.execute.work.operations import goes_into_products
from tileir.ir.core import Operation
from tileir.ir.values import Value

_SHOWN: Final = 3
_MORE_WARPS: Final = 8


def _spills(subject: Subject) -> Iterable[LintFinding]:
    entry = subject.entry
    if entry is None:
        return
    known: dict[Architecture, LiveTiles | None] = {}

    def has_too_little(architecture: Architecture) -> bool:
        live = known[architecture] = live_tiles(entry, architecture)
        return live is not None and live.registers >= _capacity(entry, architecture)

    lacking = architectures_where(subject, has_too_little)
    if not lacking:
        return
    most = max(lacking, key=lambda each: _registers(known[each]))
    live = known[most]
    assert live is not None
    capacity = min([_capacity(entry, each) for each in lacking])
    words = (
        f"tiles that are needed at once take {live.registers} registers; a tile block has {capacity} on "
        f"{named(lacking)}"
    )
    notes = [(_part(value, registers), value.defining_operation) for value, registers in live.tiles[:_SHOWN]]
    if live.factors:
        notes.append((f"{live.factors} of them are factors of the product, which has no tensor cores", None))
    yield LintFinding(live.operation, words, notes=notes, remedy=_remedy(entry, live, lacking))


def _capacity(entry: Operation, architecture: Architecture) -> int:
    """A tile block that is spread over a cluster has the registers of several."""
    warps = hint_of(entry, "num_worker_warps_per_cta", architecture.name) or 0
    return register_capacity(architecture, warps) * (hint_of(entry, "num_cta_in_cga", architecture.name) or 1)


def _registers(live: LiveTiles | None) -> int:
    return 0 if live is None else live.registers


def _part(value: Value, registers: int) -> str:
    where = "made here" if value.defining_operation is not None else "carried by the loop"
    return f"a {value.type.spelling}, {where}, takes {registers}"


def _remedy(entry: Operation, live: LiveTiles, lacking: list[Architecture]) -> str:
    if live.factors or any(live.registers >= register_capacity(each, _MORE_WARPS) for each in lacking):
        return ""
    hints = ", ".join([f"{each.name} = {{num_worker_warps_per_cta = {_MORE_WARPS} : i32}}" for each in lacking])
    return f"Use smaller tiles, or advise more warps: `optimization_hints = <{hints}>`."


def _program(columns: int, depth: int, marked: bool) -> str:
    """A loop of products of 128 rows, of so many columns and so deep."""
    left = f"partition_view<tile=(128x{depth}), tensor_view<4096x4096xf16, strides=[4096,1]>>"
    right = f"partition_view<tile=({depth}x{columns}), tensor_view<4096x4096xf16, strides=[4096,1]>>"
    total = f"partition_view<tile=(128x{columns}), tensor_view<4096x4096xf32, strides=[4096,1]>>"
    sums = f"tile<128x{columns}xf32>"
    return f"""\
entry @k(%a: {left}, %b: {right}, %c: {total}) {{
  %x, %y, %z = get_tile_block_id : tile<i32>
  %0 = constant <i32: 0> : tile<i32>
  %1 = constant <i32: 1> : tile<i32>
  %n = constant <i32: {4096 // depth}> : tile<i32>
  %none = constant <f32: 0.0> : {sums}
  %sum = for %i in (%0 to %n, step %1) : tile<i32> iter_values(%s = %none) -> ({sums}) {{{" // here" * marked}
    %l, %t = load_view_tko weak %a[%x, %i] : {left}, tile<i32> -> tile<128x{depth}xf16>, token
    %r, %u = load_view_tko weak %b[%i, %y] : {right}, tile<i32> -> tile<{depth}x{columns}xf16>, token
    %next = mmaf %l, %r, %s : tile<128x{depth}xf16>, tile<{depth}x{columns}xf16>, {sums}
    continue %next : {sums}
  }}
  %v = store_view_tko weak %sum, %c[%x, %y] : {sums}, {total}, tile<i32> -> token
  return
}}
"""


REGISTER_SPILL: Final = Rule(
    "register-spill",
    "hardware",
    "Tiles that are needed at the same time take more registers than a tile block has",
    reason="What does not fit into registers is kept in memory and fetched again and again, often in the innermost "
    "loop.",
    remedy="Use smaller tiles, or spread them over more warps: `num_worker_warps_per_cta` in `optimization_hints`.",
    positive=_program(256, 32, True),
    negative=_program(128, 32, False),
    check=_spills,
    targets=("sm_90",),
)


# --- shared memory ---


def _stages(subject: Subject) -> Iterable[LintFinding]:
    loads: dict[Operation, list[Operation]] = {}
    for load in subject.operations(LOAD_VIEW_TKO, LOAD_PTR_TKO):
        loop = subject.loop_of(load)
        if loop is not None and goes_into_products(load.results[0]):
            loads.setdefault(loop, []).append(load)
    for loop, found in loads.items():
        needed = sum([_bytes(load.results[0]) for load in found])

        def is_too_small(architecture: Architecture, needed: int = needed) -> bool:
            return needed > architecture.shared_memory_per_block

        lacking = architectures_where(subject, is_too_small)
        if lacking:
            capacity = max([each.shared_memory_per_block for each in lacking]) // 1024
            words = (
                f"the factors of an iteration take {-(-needed // 1024)} KiB of shared memory; "
                f"a tile block has no more than {capacity} KiB on {named(lacking)}"
            )
            notes = [(f"{_bytes(load.results[0]) // 1024} KiB are loaded here", load) for load in found[:_SHOWN]]
            yield LintFinding(loop, words, notes=[(text, about) for text, about in notes])


def _bytes(value: Value) -> int:
    type = value.type
    return type.count * element_size(type.element) if isinstance(type, TileType) else 0


SHARED_MEMORY: Final = Rule(
    "shared-memory-exceeded",
    "hardware",
    "The factors of products that an iteration loads do not fit into shared memory",
    reason="Tensor cores read factors from there, and those of the next iteration should arrive in the meantime: what "
    "does not fit goes through registers, which then run out.",
    remedy="Use tiles that are less deep along K: a row of 64 to 128 bytes is enough.",
    positive=_program(128, 512, True),
    negative=_program(128, 64, False),
    check=_stages,
)
