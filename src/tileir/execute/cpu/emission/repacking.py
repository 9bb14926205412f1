"""`pack` and `unpack` of elements narrower than a byte; all others are the same bytes under another type."""

from __future__ import annotations

from typing import cast

from tileir.dialect.ops import PACK
from tileir.dialect.types import TileType
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.loops.expressions import Stored
from tileir.execute.cpu.loops.statements import Repack
from tileir.execute.cpu.vector.builder import Number
from tileir.ir.types import I1, I4


def emit_repack(emission: Emission, statement: Repack) -> None:
    """Element by element: bits move between bytes that hold one element and bytes that hold several."""
    operation = statement.operation
    packing = operation.declaration is PACK
    narrow = cast(TileType, (operation.operands[0] if packing else operation.results[0]).type)
    builder = emission.builder
    assert isinstance(statement.source, Stored)
    source = emission.buffer(statement.source.buffer)
    target = emission.buffer(statement.buffer)
    suffix = emission.arena_suffix
    width = 1 if narrow.element is I1 else 4
    per_byte = 8 // width

    def pack(position: Number) -> None:
        total = "0"
        for place in range(per_byte):
            where = builder.moved(source, builder.add(builder.multiply(position, per_byte), place))
            loaded = builder.emit(f"load i8, ptr {where}, align 1{suffix}")
            low = builder.emit(f"and i8 {loaded}, {(1 << width) - 1}")
            moved = builder.emit(f"shl i8 {low}, {place * width}")
            total = builder.emit(f"or i8 {total}, {moved}")
        builder.do(f"store i8 {total}, ptr {builder.moved(target, position)}, align 1{suffix}")

    def unpack(position: Number) -> None:
        loaded = builder.emit(f"load i8, ptr {builder.moved(source, position)}, align 1{suffix}")
        for place in range(per_byte):
            moved = builder.emit(f"lshr i8 {loaded}, {place * width}")
            low = builder.emit(f"and i8 {moved}, {(1 << width) - 1}")
            if narrow.element is I4:
                flipped = builder.emit(f"xor i8 {low}, 8")
                low = builder.emit(f"sub i8 {flipped}, 8")
            where = builder.moved(target, builder.add(builder.multiply(position, per_byte), place))
            builder.do(f"store i8 {low}, ptr {where}, align 1{suffix}")

    builder.count(0, max(narrow.count // per_byte, 1), 1, pack if packing else unpack)
