"""Builds the tiled matmul of matmul.mlir in Python and prints it: python examples/build_matmul.py"""

import tileir
from tileir.types import f16, f32, i32, ptr, tile

ROWS, COLUMNS, DEPTH = 64, 64, 32  # of the tiles


def build_matmul() -> tileir.Operation:
    """C = A * B: each tile block computes one ROWS x COLUMNS tile of C."""
    build = tileir.Builder("kernels")
    with build.entry("matmul", ptr(f16), ptr(f16), ptr(f32), i32, i32, i32) as (a, b, c, m, n, k):
        row, column, _ = build.get_tile_block_id()

        # What the caller promises: aligned pointers, so that wide loads are possible.
        a, b, c = [build.assume(pointer, tileir.attributes.div_by(16)) for pointer in (a, b, c)]

        # A tensor view is a pointer with a shape; a partition view splits it into tiles. Elements outside the matrix
        # read as zero, so the last tile of the loop needs no special case.
        a_tensor = build.make_tensor_view(a, shape=[m, k], strides=[k, 1])
        b_tensor = build.make_tensor_view(b, shape=[k, n], strides=[n, 1])
        c_tensor = build.make_tensor_view(c, shape=[m, n], strides=[n, 1])
        a_tiles = build.make_partition_view(a_tensor, tile=(ROWS, DEPTH), padding="zero")
        b_tiles = build.make_partition_view(b_tensor, tile=(DEPTH, COLUMNS), padding="zero")
        c_tiles = build.make_partition_view(c_tensor, tile=(ROWS, COLUMNS))

        # The accumulator travels through the loop.
        _, count = build.get_index_space_shape(a_tiles)
        empty = build.constant(0.0, tile((ROWS, COLUMNS), f32))
        with build.for_(0, count, 1, init=[empty]) as loop:
            x, _ = build.load_view_tko(a_tiles, [row, loop.index])
            y, _ = build.load_view_tko(b_tiles, [loop.index, column])
            build.continue_(build.mmaf(x, y, loop.value))

        build.store_view_tko(loop.result, c_tiles, [row, column])
    return build.finish()


if __name__ == "__main__":
    print(build_matmul())
