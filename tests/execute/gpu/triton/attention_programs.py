"""Small programs of attention, and what looks like it."""

from __future__ import annotations

import math

import tileir
from tileir.types import f16, f32, i32, ptr, tile


def attention(
    length: int, depth: int, queries: int, keys: int, causal: bool = False, added: bool = False
) -> tileir.Operation:
    """softmax(Q * K^T) * V of two heads, f16; of the whole or of what is no later than each query.

    The mask is a choice, or `added`.
    """
    build = tileir.Builder("kernels")
    with build.entry("attention", ptr(f16), ptr(f16), ptr(f16), ptr(f16)) as pointers:
        strides = [length * depth, depth, 1]
        views = [
            build.make_tensor_view(build.assume(pointer, tileir.attributes.div_by(16)), [2, length, depth], strides)
            for pointer in pointers
        ]
        q_tiles = build.make_partition_view(views[0], (1, queries, depth))
        k_tiles = build.make_partition_view(views[1], (1, depth, keys), dim_map=(0, 2, 1))
        v_tiles = build.make_partition_view(views[2], (1, keys, depth))
        out_tiles = build.make_partition_view(views[3], (1, queries, depth))
        block, head, _ = build.get_tile_block_id()
        query = build.reshape(build.load_view_tko(q_tiles, [head, block, 0])[0], (queries, depth))
        state = [
            build.constant(0.0, tile((queries, depth), f32)),
            build.constant(-math.inf, tile((queries, 1), f32)),
            build.constant(0.0, tile((queries, 1), f32)),
        ]

        def over_keys(begin: tileir.Value | int, end: tileir.Value | int, masked: bool) -> None:
            with build.for_(begin, end, 1, init=state) as loop:
                mixed, peak, total = loop.values
                columns, _ = build.load_view_tko(k_tiles, [head, 0, loop.index])
                zero = build.constant(0.0, tile((queries, keys), f32))
                score = build.mmaf(query, build.reshape(columns, (depth, keys)), zero)
                if masked:
                    first = build.subi(build.muli(loop.index, keys), build.muli(block, queries))
                    across = build.reshape(build.iota(tile((keys,), i32)), (1, keys))
                    down = build.reshape(build.iota(tile((queries,), i32)), (queries, 1))
                    ahead = build.subi(build.broadcast(across, (queries, keys)), build.broadcast(down, (queries, keys)))
                    ahead = build.addi(ahead, build.broadcast(build.reshape(first, (1, 1)), (queries, keys)))
                    seen = build.cmpi(ahead, build.constant(0, ahead.type), "less_than_or_equal", "signed")
                    nothing = build.constant(-math.inf, score.type)
                    if added:
                        score = build.addf(score, build.select(seen, zero, nothing))
                    else:
                        score = build.select(seen, score, nothing)
                largest = build.reshape(build.reduce(score, 1, -math.inf, body=build.maxf), (queries, 1))
                higher = build.maxf(peak, largest)
                weight = build.exp2(build.subf(score, build.broadcast(higher, (queries, keys))))
                shrink = build.exp2(build.subf(peak, higher))
                sums = build.reshape(build.reduce(weight, 1, 0.0, body=build.addf), (queries, 1))
                values, _ = build.load_view_tko(v_tiles, [head, loop.index, 0])
                mixed = build.mulf(mixed, build.broadcast(shrink, (queries, depth)))
                mixed = build.mmaf(build.ftof(weight, f16), build.reshape(values, (keys, depth)), mixed)
                build.continue_(mixed, higher, build.fma(total, shrink, sums))
            state[:] = loop.results

        if causal:
            whole = build.muli(block, queries // keys)
            over_keys(0, whole, masked=False)
            over_keys(whole, build.addi(whole, queries // keys), masked=True)
        else:
            over_keys(0, length // keys, masked=False)
        mixed, _, total = state
        result = build.ftof(build.divf(mixed, build.broadcast(total, (queries, depth))), f16)
        build.store_view_tko(build.reshape(result, (1, queries, depth)), out_tiles, [head, block, 0])
    return build.finish()


def attention_by_first_values(length: int) -> tileir.Operation:
    """The sum of (X * V[0]) * V[i], f16, 128 rows of 64: one view is read before a loop, for all of it, and in it."""
    build = tileir.Builder("kernels")
    with build.entry("mixed", ptr(f16), ptr(f16), ptr(f16)) as pointers:
        x_tiles, v_tiles, out_tiles = [
            build.make_partition_view(
                build.make_tensor_view(build.assume(pointer, tileir.attributes.div_by(16)), [rows, 64], [64, 1]),
                (tile_rows, 64),
            )
            for pointer, rows, tile_rows in zip(pointers, (256, length, 256), (128, 64, 128), strict=True)
        ]
        block, _, _ = build.get_tile_block_id()
        x, _ = build.load_view_tko(x_tiles, [block, 0])
        first, _ = build.load_view_tko(v_tiles, [0, 0])
        zero = build.constant(0.0, tile((128, 64), f32))
        with build.for_(0, length // 64, 1, init=[zero]) as loop:
            score = build.mmaf(x, first, zero)
            values, _ = build.load_view_tko(v_tiles, [loop.index, 0])
            weight = build.ftof(build.mulf(score, build.constant(0.01, score.type)), f16)
            build.continue_(build.mmaf(weight, values, loop.values[0]))
        build.store_view_tko(build.ftof(loop.results[0], f16), out_tiles, [block, 0])
    return build.finish()
