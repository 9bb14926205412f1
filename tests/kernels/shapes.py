"""Reshaping tiles, taking parts of them, joining them, and constants that are written out element by element."""

import cuda.tile as ct
from tests.kernels.case import SINCE_13_4, KernelCase, array

TABLE = tuple(tuple((7 * i + 3 * j) % 11 for j in range(8)) for i in range(4))
WAVE = tuple(((i * i) % 97) / 8 for i in range(128))
PARITY = tuple(bin(i).count("1") % 2 == 1 for i in range(16))
LONG_PARITY = PARITY * 8


@ct.kernel
def permutations(a, out):
    t = ct.load(a, (0, 0, 0), (4, 8, 16))
    t = ct.permute(t, (2, 0, 1)).transpose(0, 2)
    t = t.reshape((16, 2, 16)).permute((1, 0, 2)).reshape((2, -1))
    ct.store(out, (0, 0), ct.transpose(t))


@ct.kernel
def joins_and_parts(a, b, out):
    x = ct.load(a, (0, 0), (16, 16))
    y = ct.load(b, (0, 0), (16, 16))
    tall = ct.cat((x, y), 0)
    wide = ct.cat((x, y), axis=-1)
    part = ct.extract(tall, (1, 0), (16, 8)) + wide.extract((0, ct.bid(0)), (16, 8))
    # tileir: ignore[same-store-in-every-block]: launched as one tile block
    ct.store(out, (0, 0), part)


@ct.kernel
def insertions(a, out):
    t = ct.load(a, (0, 0), (32, 32))
    patch = ct.full((8, 16), 1.5, t.dtype)
    t = ct.insert(t, (ct.bid(0), 1), patch)
    # tileir: ignore[same-store-in-every-block]: launched as one tile block
    ct.store(out, (0, 0), t.insert((3, 3), ct.ones((1, 1), t.dtype)))


@ct.kernel
def dimensions(a, out):
    t = ct.load(a, (0,), (16,))
    grid = ct.expand_dims(t, 0) + t[:, None]
    cube = ct.broadcast_to(grid[None, :, :], (2, 16, 16))
    ct.store(out, (0, 0), ct.sum(cube, axis=0) + t.extract((3,), (1,)).item())


@ct.kernel
def tables(out):
    small = ct.astile(TABLE, dtype=out.dtype)
    halves = ct.astile(((0.5, -0.25), (1.5, float("inf"))), dtype=ct.float16)
    ct.store(out, (0, 0), small)
    ct.store(out, (1, 0), ct.sum(halves).astype(out.dtype))


@ct.kernel
def large_table(out):
    ct.store(out, (0,), ct.astile(WAVE, dtype=out.dtype))


@ct.kernel
def boolean_table(a, out):
    chosen = ct.astile(PARITY, dtype=ct.bool_)
    ct.store(out, (0,), ct.where(chosen, ct.load(a, (0,), (16,)), 0))


@ct.kernel
def large_boolean_table(out):
    ct.store(out, (0,), ct.astile(LONG_PARITY, dtype=ct.bool_))


@ct.kernel
def dynamic_table(out, a, b):
    """A tile made of run-time scalars."""
    # tileir: ignore[same-store-in-every-block]: launched as one tile block
    ct.store(out, (0, 0), ct.astile(((ct.bid(0), 1), (2, ct.bid(1))), dtype=out.dtype))


F32 = array(ct.float32)

CASES = [
    KernelCase("permutations", permutations, (array(ct.float32, 3), array(ct.float32, 2))),
    KernelCase("joins_and_parts", joins_and_parts, (array(ct.bfloat16, 2),) * 3),
    KernelCase("insertions", insertions, (array(ct.float32, 2),) * 2, SINCE_13_4),
    KernelCase("dimensions", dimensions, (F32, array(ct.float32, 2))),
    *(
        KernelCase(f"tables_{t.name}", tables, (array(t, 2),))
        for t in (ct.int8, ct.int64, ct.float32, ct.bfloat16, ct.float64)
    ),
    *(
        KernelCase(f"large_table_{t.name}", large_table, (array(t),))
        for t in (ct.float16, ct.float32, ct.float64, ct.int32, ct.uint8)
    ),
    KernelCase("boolean_table", boolean_table, (F32, F32)),
    KernelCase("large_boolean_table", large_boolean_table, (array(ct.bool_),)),
    KernelCase("dynamic_table", dynamic_table, (array(ct.int32, 2), 1, 2)),
]
