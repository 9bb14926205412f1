"""The kernels that `triton_speed.py` runs beside those of `gpu_programs.py`: aligned, and nothing is at an edge."""

from __future__ import annotations

import tileir
from gpu_programs import RowVector, aligned, over_rows, spread, tiles
from tileir.types import f16, f32, ptr, tile


def copy(size: int, lanes: int) -> tileir.Operation:
    build = tileir.Builder("kernels")
    with build.entry("copy", ptr(f32), ptr(f32)) as (source, target):
        block, _, _ = build.get_tile_block_id()
        x_tiles, y_tiles = [tiles(build, each, (size,), (lanes,)) for each in aligned(build, source, target)]
        x, _ = build.load_view_tko(x_tiles, [block])
        build.store_view_tko(x, y_tiles, [block])
    return build.finish()


def transpose(size: int, rows: int, columns: int, element: tileir.types.Type = f16) -> tileir.Operation:
    """Of a square matrix; a tile block turns one tile."""
    build = tileir.Builder("kernels")
    with build.entry("transpose", ptr(element), ptr(element)) as (source, target):
        source, target = aligned(build, source, target)
        x_tiles = tiles(build, source, (size, size), (rows, columns))
        y_tiles = tiles(build, target, (size, size), (columns, rows))
        column, row, _ = build.get_tile_block_id()
        x, _ = build.load_view_tko(x_tiles, [row, column])
        build.store_view_tko(build.permute(x, (1, 0)), y_tiles, [column, row])
    return build.finish()


def rms_norm(rows: int, columns: int, persistent: bool = True) -> tileir.Operation:
    """Of the rows of an f16 matrix."""
    build = tileir.Builder("kernels")
    with build.entry("rms_norm", ptr(f16), ptr(f16), ptr(f16)) as (source, weight, target):
        source, weight, target = aligned(build, source, weight, target)
        x_tiles = tiles(build, source, (rows, columns), (1, columns))
        y_tiles = tiles(build, target, (rows, columns), (1, columns))
        w = RowVector(build, weight, columns, persistent)
        part = build.constant(1.0 / columns, tile((1,), f32))

        def one_row(row: tileir.Value) -> None:
            x, _ = build.load_view_tko(x_tiles, [row, 0])
            x = build.ftof(x, f32)
            squares = build.reduce(build.mulf(x, x), 1, 0.0, body=build.addf)
            mean = build.addf(build.mulf(squares, part), build.constant(1e-5, tile((1,), f32)))
            normal = build.mulf(x, spread(build, build.rsqrt(mean), (1, 1), (1, columns)))
            build.store_view_tko(build.ftof(build.mulf(normal, w.value()), f16), y_tiles, [row, 0])

        over_rows(build, rows, persistent, one_row)
    return build.finish()
