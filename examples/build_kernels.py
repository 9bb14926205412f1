"""The other example kernels, built in Python: python examples/build_kernels.py prints them.

Each is the same program as the .mlir file of its name, so the comments there hold here too.
"""

import math
from typing import Literal

import tileir
from tileir.types import f16, f32, i32, ptr, tile

LANES = 128  # elements of a vector that one tile block handles
WIDTH = 1024  # of a row, at most
LENGTH, DEPTH = 64, 64  # of the tiles of attention


def build_vector_add() -> tileir.Operation:
    build = tileir.Builder("kernels")
    with build.entry("vector_add", ptr(f32), ptr(f32), ptr(f32), i32) as (a, b, c, n):
        index, mask = lanes_of_block(build, n)
        x, _ = build.load_ptr_tko(pointers(build, a, index), mask, 0.0)
        y, _ = build.load_ptr_tko(pointers(build, b, index), mask, 0.0)
        build.store_ptr_tko(pointers(build, c, index), build.addf(x, y), mask)
    return build.finish()


def build_softmax() -> tileir.Operation:
    build = tileir.Builder("kernels")
    with build.entry("softmax", ptr(f32), ptr(f32), i32, i32) as (source, target, rows, columns):
        row, _, _ = build.get_tile_block_id()
        x, _ = build.load_view_tko(row_tiles(build, source, rows, columns, "neg_inf"), [row, 0])
        largest = build.reduce(x, 1, -math.inf, body=build.maxf)
        powers = build.exp(build.subf(x, spread(build, largest, (1, 1), (1, WIDTH))))
        total = build.reduce(powers, 1, 0.0, body=build.addf)
        result = build.divf(powers, spread(build, total, (1, 1), (1, WIDTH)))
        build.store_view_tko(result, row_tiles(build, target, rows, columns), [row, 0])
    return build.finish()


def build_layer_norm() -> tileir.Operation:
    build = tileir.Builder("kernels")
    parameters = (ptr(f32), ptr(f32), ptr(f32), ptr(f32), i32, i32, f32)
    with build.entry("layer_norm", *parameters) as (source, weight, bias, target, rows, columns, epsilon):
        row, _, _ = build.get_tile_block_id()
        x, _ = build.load_view_tko(row_tiles(build, source, rows, columns, "zero"), [row, 0])
        count = spread(build, build.itof(columns, f32, "signed"), (1,), (1,))

        mean = build.divf(build.reduce(x, 1, 0.0, body=build.addf), count)
        centered = build.subf(x, spread(build, mean, (1, 1), (1, WIDTH)))
        lane = spread(build, build.iota(tile((WIDTH,), i32)), (1, WIDTH), (1, WIDTH))
        inside = build.cmpi(lane, spread(build, columns, (1, 1), (1, WIDTH)), "less_than", "signed")
        centered = build.select(inside, centered, 0.0)

        squares = build.reduce(build.mulf(centered, centered), 1, 0.0, body=build.addf)
        variance = build.addf(build.divf(squares, count), spread(build, epsilon, (1,), (1,)))
        normal = build.mulf(centered, spread(build, build.rsqrt(variance), (1, 1), (1, WIDTH)))

        w, _ = build.load_view_tko(row_tiles(build, weight, 1, columns, "zero"), [0, 0])
        b, _ = build.load_view_tko(row_tiles(build, bias, 1, columns, "zero"), [0, 0])
        result = build.fma(normal, w, b)
        build.store_view_tko(result, row_tiles(build, target, rows, columns), [row, 0])
    return build.finish()


def build_attention() -> tileir.Operation:
    build = tileir.Builder("kernels")
    parameters = (ptr(f16), ptr(f16), ptr(f16), ptr(f32), i32, f32)
    with build.entry("attention", *parameters) as (q, k, v, out, length, scale):
        block, _, _ = build.get_tile_block_id()
        tensors = [build.make_tensor_view(pointer, [length, DEPTH], [DEPTH, 1]) for pointer in (q, k, v, out)]
        q_tiles = build.make_partition_view(tensors[0], (LENGTH, DEPTH), padding="zero")
        k_tiles = build.make_partition_view(tensors[1], (DEPTH, LENGTH), padding="zero", dim_map=(1, 0))
        v_tiles = build.make_partition_view(tensors[2], (LENGTH, DEPTH), padding="zero")
        out_tiles = build.make_partition_view(tensors[3], (LENGTH, DEPTH))
        query, _ = build.load_view_tko(q_tiles, [block, 0])
        scales = spread(build, scale, (1, 1), (LENGTH, LENGTH))
        limit = spread(build, length, (1, 1), (LENGTH, LENGTH))
        lane = spread(build, build.iota(tile((LENGTH,), i32)), (1, LENGTH), (LENGTH, LENGTH))

        zero = build.constant(0.0, tile((LENGTH, DEPTH), f32))
        peak = build.constant(-math.inf, tile((LENGTH, 1), f32))
        total = build.constant(0.0, tile((LENGTH, 1), f32))
        count, _ = build.get_index_space_shape(v_tiles)
        with build.for_(0, count, 1, init=[zero, peak, total]) as loop:
            mixed, peak, total = loop.values
            keys, _ = build.load_view_tko(k_tiles, [0, loop.index])
            score = build.mmaf(query, keys, build.constant(0.0, tile((LENGTH, LENGTH), f32)))
            first = spread(build, build.muli(loop.index, LENGTH), (1, 1), (LENGTH, LENGTH))
            inside = build.cmpi(build.addi(first, lane), limit, "less_than", "signed")
            score = build.select(inside, build.mulf(score, scales), -math.inf)

            largest = build.reshape(build.reduce(score, 1, -math.inf, body=build.maxf), (LENGTH, 1))
            higher = build.maxf(peak, largest)
            weight = build.exp(build.subf(score, build.broadcast(higher, (LENGTH, LENGTH))))
            shrink = build.exp(build.subf(peak, higher))
            sums = build.reshape(build.reduce(weight, 1, 0.0, body=build.addf), (LENGTH, 1))
            values, _ = build.load_view_tko(v_tiles, [loop.index, 0])
            mixed = build.mulf(mixed, build.broadcast(shrink, (LENGTH, DEPTH)))
            mixed = build.mmaf(build.ftof(weight, f16), values, mixed)
            build.continue_(mixed, higher, build.fma(total, shrink, sums))
        mixed, _, total = loop.results
        build.store_view_tko(build.divf(mixed, build.broadcast(total, (LENGTH, DEPTH))), out_tiles, [block, 0])
    return build.finish()


def build_histogram() -> tileir.Operation:
    build = tileir.Builder("kernels")
    with build.entry("histogram", ptr(i32), ptr(i32), i32) as (values, counts, n):
        index, mask = lanes_of_block(build, n)
        bucket, _ = build.load_ptr_tko(pointers(build, values, index), mask, 0)
        one = build.constant(1, tile((LANES,), i32))
        places = pointers(build, counts, bucket)
        build.atomic_rmw_tko(places, one, mask, memory_ordering_semantics="relaxed", memory_scope="device", mode="add")
    return build.finish()


def build_racy() -> tileir.Operation:
    build = tileir.Builder("kernels")
    with build.entry("racy", ptr(i32), ptr(i32), i32) as (values, total, n):
        index, mask = lanes_of_block(build, n)
        x, _ = build.load_ptr_tko(pointers(build, values, index), mask, 0)
        so_far, token = build.load_ptr_tko(total)
        build.store_ptr_tko(total, build.addi(so_far, build.reduce(x, 0, 0, body=build.addi)), token=token)
    return build.finish()


# --- what the kernels share ---


Shape = tuple[int, ...]


def spread(build: tileir.Builder, value: tileir.Value, between: Shape, shape: Shape) -> tileir.Value:
    """A value repeated along dimensions; `between` is its own shape with those dimensions added."""
    return build.broadcast(build.reshape(value, between), shape)


def pointers(build: tileir.Builder, base: tileir.Value, index: tileir.Value) -> tileir.Value:
    return build.offset(spread(build, base, (1,), (LANES,)), index)


def lanes_of_block(build: tileir.Builder, n: tileir.Value) -> tuple[tileir.Value, tileir.Value]:
    """The indices of this tile block's elements, and which of them exist."""
    block, _, _ = build.get_tile_block_id()
    first = spread(build, build.muli(block, LANES), (1,), (LANES,))
    index = build.addi(first, build.iota(tile((LANES,), i32)))
    return index, build.cmpi(index, spread(build, n, (1,), (LANES,)), "less_than", "signed")


def row_tiles(
    build: tileir.Builder,
    pointer: tileir.Value,
    rows: tileir.Value | int,
    columns: tileir.Value,
    padding: Literal["zero", "neg_inf"] | None = None,
) -> tileir.Value:
    """A row-major matrix, one row to a tile."""
    tensor = build.make_tensor_view(pointer, [rows, columns], [columns, 1])
    return build.make_partition_view(tensor, (1, WIDTH), padding=padding)


if __name__ == "__main__":
    for build_one in (
        build_vector_add,
        build_softmax,
        build_layer_norm,
        build_attention,
        build_histogram,
        build_racy,
    ):
        print(build_one())
