"""The end of a kernel: what it computed is stored, every tile block in a part of the arrays of its own."""

from __future__ import annotations

from tileir.analyze.smith.tiles import Tile, count_of
from tileir.analyze.smith.writer import WEAK, Writer
from tileir.dialect import ops
from tileir.dialect.types import TOKEN
from tileir.ir.types import BF16, F16, F32, F64, I32, I64, FloatType, IntegerType, Type

TOLERANCES: dict[Type, float] = {F64: 1e-9, F32: 1e-4, F16: 1e-2, BF16: 5e-2}
"""How far a result may be from the interpreter's where bits are left open: times one and its magnitude together."""


def expose(writer: Writer) -> None:
    """Store values that nothing else used, the last ones first, and a few others."""
    bits = writer.bits
    tiles = [tile for tile in writer.scopes[0].all if _is_stored(tile) and tile is not writer.place]
    unused = [tile for tile in reversed(tiles) if not tile.value.has_uses]
    others = [tile for tile in reversed(tiles) if tile.value.has_uses and bits.chance(20)]
    chosen = [*unused, *others][: writer.stores]
    if not chosen and tiles:
        chosen = tiles[-1:]
    room: dict[Type, int] = {}
    for tile in chosen:
        room[tile.element] = room.get(tile.element, 0) + count_of(tile.shape)
    arrays: dict[Type, Tile] = {}
    begun: dict[Type, int] = {}
    for tile in chosen:
        element = tile.element
        if element not in arrays:
            base = writer.array(element, room[element] * writer.blocks, None)
            arrays[element] = writer.own_part(base, room[element])
            begun[element] = 0
        _store(writer, arrays[element], tile, begun[element])
        begun[element] += count_of(tile.shape)


def expose_loose(writer: Writer) -> dict[int, float]:
    """Store what the dialect leaves open to some degree, in arrays apart; the tolerance of each, by argument."""
    found: dict[int, float] = {}
    for tile in writer.loose[: writer.stores]:
        count = count_of(tile.shape)
        base = writer.own_part(writer.array(tile.element, count * writer.blocks, None), count)
        found[len(writer.arguments) - 1] = TOLERANCES[tile.element]
        _store(writer, base, tile, 0)
    return found


def _is_stored(tile: Tile) -> bool:
    """Pointers differ from launch to launch, and four bits are less than a byte of memory."""
    element = tile.element
    return isinstance(element, (IntegerType, FloatType)) and (element.width >= 8 or element.width == 1)


def _store(writer: Writer, base: Tile, tile: Tile, start: int) -> None:
    number = writer.numeric(tile)
    flat = writer.reshaped(number, (count_of(tile.shape),)) if tile.shape else number
    if not tile.shape:
        places = writer.constant((), I64, start)
    else:
        places = writer.lanes(count_of(tile.shape))
        if start:
            places = writer.apply(ops.ADDI, places, writer.constant(flat.shape, I32, start))
    pointers = writer.pointers(base, places)
    writer.add(ops.STORE_PTR_TKO, [pointers.value, flat.value], [TOKEN], WEAK, segments=(1, 1, 0, 0))
