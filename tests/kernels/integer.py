"""Integer arithmetic: division in its three roundings, shifts, bitwise operations, signed and unsigned comparison."""

import cuda.tile as ct
from tests.kernels.case import KernelCase, array, scalar


@ct.kernel
def arithmetic(a, b, out):
    x = ct.load(a, (0,), (64,))
    y = ct.load(b, (0,), (64,))
    ct.store(out, (0,), x * y - x + y * y + x % y)


@ct.kernel
def signed_only(a, b, out):
    x = ct.load(a, (0,), (64,))
    y = ct.load(b, (0,), (64,))
    quotient, remainder = ct.divmod(x, y)
    ct.store(out, (0,), abs(x) - (-y) + ct.cdiv(x, y) * ct.negative(x) + quotient * remainder + x // y)


@ct.kernel
def bitwise(a, b, out):
    x = ct.load(a, (0,), (64,))
    y = ct.load(b, (0,), (64,))
    t = (x & y) | (x ^ y) | ~x
    ct.store(out, (0,), ct.bitwise_lshift(t, y) ^ ct.bitwise_rshift(t, y))


@ct.kernel
def comparisons(a, b, out):
    x = ct.load(a, (0,), (64,))
    y = ct.load(b, (0,), (64,))
    mask = (x < y) | ((x <= y) & (x > y)) | ((x >= y) ^ (x == y)) | (x != y)
    ct.store(out, (0,), ct.where(mask, ct.maximum(x, y), ct.minimum(x, y)))


@ct.kernel
def booleans(a, b, out):
    x = ct.load(a, (0,), (64,))
    y = ct.load(b, (0,), (64,))
    t = (x & y) | ~x ^ ct.bitwise_not(y)
    t = t & (x == y) | (x != y)
    ct.store(out, (0,), t & ct.full((64,), True, ct.bool_) | ct.zeros((64,), ct.bool_))


@ct.kernel
def random_bits(out, seed):
    """A counter-based generator: wide constants and wrapping arithmetic."""
    counter = ct.arange(128, dtype=ct.uint64) + (ct.bid(0) * 128).astype(ct.uint64)
    state = counter * 0x9E3779B97F4A7C15 + seed
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB
    ct.store(out, (ct.bid(0),), state ^ (state >> 31))


@ct.kernel
def sequences(out):
    up = ct.arange(64, dtype=out.dtype)
    down = ct.arange(64, dtype=out.dtype, start=63, step=-1)
    spread = ct.arange(64, dtype=out.dtype, start=5, step=3)
    ct.store(out, (0,), up * down + spread)


@ct.kernel
def scalar_arithmetic(out, a, b):
    t = a // b + a % b - (a << 2) + (b >> 1) + (-a) + abs(b) + (a & b) + (a | b) + (a ^ b) + (~a)
    t = max(t, a) + min(t, b) + ct.cdiv(a, b)
    ct.scatter(out, 0, t if a > b else b)


@ct.kernel
def extreme_constants(out):
    t = ct.zeros((32,), out.dtype)
    for value in ct.static_iter((0, 1, -1, 127, -128, 100)):
        t = ct.maximum(t, ct.full((32,), value, out.dtype))
    ct.store(out, (0,), t)


INTEGERS = (ct.int8, ct.int16, ct.int32, ct.int64, ct.uint8, ct.uint16, ct.uint32, ct.uint64)
SIGNED = INTEGERS[:4]

CASES = [
    *(KernelCase(f"integer_arithmetic_{t.name}", arithmetic, (array(t),) * 3) for t in INTEGERS),
    *(KernelCase(f"signed_arithmetic_{t.name}", signed_only, (array(t),) * 3) for t in SIGNED),
    *(KernelCase(f"bitwise_{t.name}", bitwise, (array(t),) * 3) for t in (ct.int32, ct.uint8, ct.int64, ct.uint64)),
    *(
        KernelCase(f"integer_comparisons_{t.name}", comparisons, (array(t),) * 3)
        for t in (ct.int32, ct.uint16, ct.int64)
    ),
    KernelCase("boolean_arithmetic", booleans, (array(ct.bool_),) * 3),
    KernelCase("random_bits", random_bits, (array(ct.uint64), scalar(ct.uint64))),
    *(KernelCase(f"sequences_{t.name}", sequences, (array(t),)) for t in (ct.int16, ct.int32, ct.int64, ct.float32)),
    KernelCase("scalar_arithmetic_i32", scalar_arithmetic, (array(ct.int32), scalar(ct.int32), scalar(ct.int32))),
    KernelCase("scalar_arithmetic_i64", scalar_arithmetic, (array(ct.int64), scalar(ct.int64), scalar(ct.int64))),
    *(KernelCase(f"extreme_constants_{t.name}", extreme_constants, (array(t),)) for t in SIGNED),
]
