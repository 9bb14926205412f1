"""The kernels that `gpu_speed.py` runs, with their sizes in them: all is aligned, and nothing is at an edge."""

from __future__ import annotations

import math
from collections.abc import Callable

import tileir
from tileir.types import f16, f32, i32, ptr, tile

Shape = tuple[int, ...]


def spread(build: tileir.Builder, value: tileir.Value, between: Shape, shape: Shape) -> tileir.Value:
    """A value repeated along dimensions; `between` is its own shape with those dimensions added."""
    return build.broadcast(build.reshape(value, between), shape)


def aligned(build: tileir.Builder, *pointers: tileir.Value) -> list[tileir.Value]:
    return [build.assume(pointer, tileir.attributes.div_by(16)) for pointer in pointers]


def tiles(
    build: tileir.Builder, pointer: tileir.Value, shape: Shape, size: Shape, dim_map: Shape | None = None
) -> tileir.Value:
    """A row-major tensor, cut into tiles."""
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    tensor = build.make_tensor_view(pointer, list(shape), strides)
    return build.make_partition_view(tensor, size, dim_map=dim_map)


def small_add() -> tileir.Operation:
    """What launches cost: 128 elements, three pointers and a number."""
    build = tileir.Builder("kernels")
    with build.entry("small_add", ptr(f32), ptr(f32), ptr(f32), i32) as (a, b, c, n):
        block, _, _ = build.get_tile_block_id()
        views = []
        for pointer in aligned(build, a, b, c):
            tensor = build.make_tensor_view(pointer, [n], [1])
            views.append(build.make_partition_view(tensor, (128,), padding="zero"))
        x, _ = build.load_view_tko(views[0], [block])
        y, _ = build.load_view_tko(views[1], [block])
        build.store_view_tko(build.addf(x, y), views[2], [block])
    return build.finish()


def vector_add(size: int, lanes: int) -> tileir.Operation:
    build = tileir.Builder("kernels")
    with build.entry("vector_add", ptr(f32), ptr(f32), ptr(f32)) as (a, b, c):
        block, _, _ = build.get_tile_block_id()
        x_tiles, y_tiles, z_tiles = [tiles(build, each, (size,), (lanes,)) for each in aligned(build, a, b, c)]
        x, _ = build.load_view_tko(x_tiles, [block])
        y, _ = build.load_view_tko(y_tiles, [block])
        build.store_view_tko(build.addf(x, y), z_tiles, [block])
    return build.finish()


def matmul(
    size: int,
    rows: int,
    columns: int,
    depth: int,
    group: int = 8,
    element: tileir.types.Type = f16,
    result: tileir.types.Type = f16,
    transposed: bool = False,
    persistent: bool = True,
) -> tileir.Operation:
    """C = A * B with sums in f32; a tile block computes one tile after the other, in groups that share columns.

    `transposed`: B is stored by columns.  Without `persistent` there is a tile block for every tile.
    """
    assert size // rows % group == 0, "groups are whole"
    build = tileir.Builder("kernels")
    with build.entry("matmul", ptr(element), ptr(element), ptr(result)) as (a, b, c):
        a, b, c = aligned(build, a, b, c)
        a_tiles = tiles(build, a, (size, size), (rows, depth))
        b_tiles = tiles(build, b, (size, size), (depth, columns), dim_map=(1, 0) if transposed else None)
        c_tiles = tiles(build, c, (size, size), (rows, columns))
        block, _, _ = build.get_tile_block_id()
        blocks, _, _ = build.get_num_tile_blocks()
        across = size // columns
        count = (size // rows) * across

        def one_tile(number: tileir.Value) -> None:
            band = build.divi(number, group * across, "signed")
            inside = build.remi(number, group * across, "signed")
            row = build.addi(build.muli(band, group), build.remi(inside, group, "signed"))
            column = build.divi(inside, group, "signed")
            empty = build.constant(0.0, tile((rows, columns), f32))
            with build.for_(0, size // depth, 1, init=[empty]) as loop:
                x, _ = build.load_view_tko(a_tiles, [row, loop.index])
                y, _ = build.load_view_tko(b_tiles, [loop.index, column])
                build.continue_(build.mmaf(x, y, loop.value))
            build.store_view_tko(build.ftof(loop.result, result), c_tiles, [row, column])

        if persistent:
            with build.for_(block, build.constant(count, tile((), i32)), blocks) as outer:
                one_tile(outer.index)
                build.continue_()
        else:
            one_tile(block)
    return build.finish()


def over_rows(build: tileir.Builder, rows: int, persistent: bool, one_row: Callable[[tileir.Value], None]) -> None:
    """The work on a row, by a tile block for each or, `persistent`, by tile blocks that take one after the other."""
    block, _, _ = build.get_tile_block_id()
    if not persistent:
        one_row(block)
        return
    blocks, _, _ = build.get_num_tile_blocks()
    with build.for_(block, build.constant(rows, tile((), i32)), blocks) as loop:
        one_row(loop.index)
        build.continue_()


class RowVector:
    """A vector that all rows use, f16: loaded before the first, or where a tile block has but one, where it is used."""

    def __init__(self, build: tileir.Builder, pointer: tileir.Value, columns: int, persistent: bool) -> None:
        self._build = build
        self._tiles = tiles(build, pointer, (1, columns), (1, columns))
        self._before = self._load() if persistent else None

    def _load(self) -> tileir.Value:
        found, _ = self._build.load_view_tko(self._tiles, [0, 0])
        return self._build.ftof(found, f32)

    def value(self) -> tileir.Value:
        return self._load() if self._before is None else self._before


def softmax(rows: int, columns: int, persistent: bool = True) -> tileir.Operation:
    """Of the rows of an f16 matrix."""
    build = tileir.Builder("kernels")
    with build.entry("softmax", ptr(f16), ptr(f16)) as (source, target):
        source, target = aligned(build, source, target)
        x_tiles = tiles(build, source, (rows, columns), (1, columns))
        y_tiles = tiles(build, target, (rows, columns), (1, columns))

        def one_row(row: tileir.Value) -> None:
            x, _ = build.load_view_tko(x_tiles, [row, 0])
            x = build.ftof(x, f32)
            largest = build.reduce(x, 1, -math.inf, body=build.maxf)
            powers = build.exp(build.subf(x, spread(build, largest, (1, 1), (1, columns))))
            total = build.reduce(powers, 1, 0.0, body=build.addf)
            result = build.divf(powers, spread(build, total, (1, 1), (1, columns)))
            build.store_view_tko(build.ftof(result, f16), y_tiles, [row, 0])

        over_rows(build, rows, persistent, one_row)
    return build.finish()


def layer_norm(rows: int, columns: int, persistent: bool = True) -> tileir.Operation:
    """Of the rows of an f16 matrix."""
    build = tileir.Builder("kernels")
    with build.entry("layer_norm", ptr(f16), ptr(f16), ptr(f16), ptr(f16)) as (source, weight, bias, target):
        source, weight, bias, target = aligned(build, source, weight, bias, target)
        x_tiles = tiles(build, source, (rows, columns), (1, columns))
        y_tiles = tiles(build, target, (rows, columns), (1, columns))
        w, b = [RowVector(build, each, columns, persistent) for each in (weight, bias)]
        part = build.constant(1.0 / columns, tile((1,), f32))

        def one_row(row: tileir.Value) -> None:
            x, _ = build.load_view_tko(x_tiles, [row, 0])
            x = build.ftof(x, f32)
            mean = build.mulf(build.reduce(x, 1, 0.0, body=build.addf), part)
            centered = build.subf(x, spread(build, mean, (1, 1), (1, columns)))
            squares = build.reduce(build.mulf(centered, centered), 1, 0.0, body=build.addf)
            variance = build.addf(build.mulf(squares, part), build.constant(1e-5, tile((1,), f32)))
            normal = build.mulf(centered, spread(build, build.rsqrt(variance), (1, 1), (1, columns)))
            result = build.fma(normal, w.value(), b.value())
            build.store_view_tko(build.ftof(result, f16), y_tiles, [row, 0])

        over_rows(build, rows, persistent, one_row)
    return build.finish()


def attention(heads: int, length: int, depth: int, queries: int, keys: int, causal: bool = False) -> tileir.Operation:
    """softmax(Q * K^T / sqrt(depth)) * V of each head, f16; a tile block handles some queries of a head.

    `causal`: a query sees the keys up to its own position.  Keys before all of a block's queries need no mask, and have
    a loop of their own; blocks with more work come first.
    """
    build = tileir.Builder("kernels")
    with build.entry("attention", ptr(f16), ptr(f16), ptr(f16), ptr(f16)) as (q, k, v, out):
        q, k, v, out = aligned(build, q, k, v, out)
        shape = (heads, length, depth)
        q_tiles = tiles(build, q, shape, (1, queries, depth))
        k_tiles = tiles(build, k, shape, (1, depth, keys), dim_map=(0, 2, 1))
        v_tiles = tiles(build, v, shape, (1, keys, depth))
        out_tiles = tiles(build, out, shape, (1, queries, depth))
        block, head, _ = build.get_tile_block_id()
        if causal:
            block = build.subi(build.constant(length // queries - 1, tile((), i32)), block)
        query, _ = build.load_view_tko(q_tiles, [head, block, 0])
        query = build.reshape(query, (queries, depth))
        # Powers of two: exp(x) is exp2(x * log2(e)).
        scale = math.log2(math.e) / math.sqrt(depth)
        scales = build.constant(scale, tile((queries, keys), f32))
        narrow = build.constant(scale, tile((queries, 1), f32))
        state = [
            build.constant(0.0, tile((queries, depth), f32)),
            build.constant(-math.inf, tile((queries, 1), f32)),
            build.constant(0.0, tile((queries, 1), f32)),
        ]

        def over_keys(begin: tileir.Value | int, end: tileir.Value | int, masked: bool) -> None:
            with build.for_(begin, end, 1, init=state) as loop:
                mixed, peak, total = loop.values
                columns, _ = build.load_view_tko(k_tiles, [head, 0, loop.index])
                columns = build.reshape(columns, (depth, keys))
                score = build.mmaf(query, columns, build.constant(0.0, tile((queries, keys), f32)))
                if masked:
                    first = build.subi(build.muli(loop.index, keys), build.muli(block, queries))
                    ahead = build.subi(
                        build.broadcast(build.reshape(build.iota(tile((keys,), i32)), (1, keys)), (queries, keys)),
                        build.broadcast(
                            build.reshape(build.iota(tile((queries,), i32)), (queries, 1)), (queries, keys)
                        ),
                    )
                    ahead = build.addi(ahead, spread(build, first, (1, 1), (queries, keys)))
                    seen = build.cmpi(ahead, build.constant(0, ahead.type), "less_than_or_equal", "signed")
                    score = build.select(seen, score, build.constant(-math.inf, score.type))
                largest = build.reshape(build.reduce(score, 1, -math.inf, body=build.maxf), (queries, 1))
                higher = build.maxf(peak, build.mulf(largest, narrow))
                shifted = build.fma(score, scales, build.broadcast(build.negf(higher), (queries, keys)))
                # As in f16, what is next to nothing is nothing: one instruction instead of four.
                weight = build.exp2(shifted, flush_to_zero=True)
                shrink = build.exp2(build.subf(peak, higher), flush_to_zero=True)
                sums = build.reshape(build.reduce(weight, 1, 0.0, body=build.addf), (queries, 1))
                values, _ = build.load_view_tko(v_tiles, [head, loop.index, 0])
                mixed = build.mulf(mixed, build.broadcast(shrink, (queries, depth)))
                mixed = build.mmaf(build.ftof(weight, f16), build.reshape(values, (keys, depth)), mixed)
                build.continue_(mixed, higher, build.fma(total, shrink, sums))
            state[:] = loop.results

        if causal:
            assert queries % keys == 0, "the first key that a block needs a mask for is the first of a tile"
            whole = build.muli(block, queries // keys)
            over_keys(0, whole, masked=False)
            over_keys(whole, build.addi(whole, queries // keys), masked=True)
        else:
            over_keys(0, length // keys, masked=False)
        mixed, _, total = state
        # A division for each row, and not for each element.
        part = build.divf(build.constant(1.0, total.type), total)
        result = build.ftof(build.mulf(mixed, build.broadcast(part, (queries, depth))), f16)
        build.store_view_tko(build.reshape(result, (1, queries, depth)), out_tiles, [head, block, 0])
    return build.finish()
