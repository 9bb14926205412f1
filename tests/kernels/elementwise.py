"""Element-wise arithmetic: float operations with every rounding mode, comparison, selection, broadcasting."""

import cuda.tile as ct
from tests.kernels.case import KernelCase, array, scalar

RN, RZ, RM, RP = ct.RoundingMode.RN, ct.RoundingMode.RZ, ct.RoundingMode.RM, ct.RoundingMode.RP
INF, NAN = float("inf"), float("nan")
SHORT_IN_DECIMAL = (1.0, -1.0, 0.1, -0.0, 1e-30, 1e30, 3.5, 1e-45, 65504.0)
LONG_IN_DECIMAL = (1e-5, 1.44269504, 12345678.0, 16777216.0, -1234567.0)


@ct.kernel
def add(a, b, out):
    block = ct.bid(0)
    ct.store(out, (block,), ct.load(a, (block,), (256,)) + ct.load(b, (block,), (256,)))


@ct.kernel
def scaled_difference(a, b, out, scale):
    row, column = ct.bid(0), ct.bid(1)
    left = ct.load(a, (row, column), (16, 64))
    right = ct.load(b, (row, column), (16, 64))
    ct.store(out, (row, column), ((left - right) * scale + 0.5).astype(out.dtype))


@ct.kernel
def rounding_of_arithmetic(a, b, out):
    x = ct.load(a, (0,), (64,))
    y = ct.load(b, (0,), (64,))
    up = ct.add(x, y, rounding_mode=RP)
    down = ct.sub(up, y, rounding_mode=RM)
    chopped = ct.mul(down, x, rounding_mode=RZ)
    near = ct.truediv(chopped, y, rounding_mode=RN)
    for mode in ct.static_iter((RZ, RM, RP, RN)):
        near = ct.add(near, x, rounding_mode=mode)
        near = ct.sub(near, y, rounding_mode=mode)
        near = ct.mul(near, x, rounding_mode=mode)
        near = ct.truediv(near, y, rounding_mode=mode)
        near = ct.sqrt(near, rounding_mode=mode)
    ct.store(out, (0,), near)


@ct.kernel
def flush_to_zero_and_approximations(a, b, out):
    x = ct.load(a, (0,), (64,))
    y = ct.load(b, (0,), (64,))
    t = ct.add(x, y, flush_to_zero=True)
    t = ct.sub(t, y, rounding_mode=RZ, flush_to_zero=True)
    t = ct.mul(t, x, flush_to_zero=True)
    t = ct.truediv(t, y, flush_to_zero=True)
    t = ct.truediv(t, y, rounding_mode=ct.RoundingMode.APPROX)
    t = ct.truediv(t, y, rounding_mode=ct.RoundingMode.FULL, flush_to_zero=True)
    t = ct.sqrt(t, flush_to_zero=True)
    t = ct.sqrt(t, rounding_mode=ct.RoundingMode.APPROX, flush_to_zero=True)
    t = ct.rsqrt(t) + ct.rsqrt(y, flush_to_zero=True)
    t = ct.exp2(t) + ct.exp2(y, flush_to_zero=True)
    ct.store(out, (0,), t)


@ct.kernel
def fused_multiply_add(a, b, c, out):
    x = ct.load(a, (0,), (128,))
    y = ct.load(b, (0,), (128,))
    z = ct.load(c, (0,), (128,))
    product = ct.mul(x, z, flush_to_zero=True)
    ct.store(out, (0,), (x * y + z) - (z * y) + ct.add(product, y, flush_to_zero=True))


@ct.kernel
def multiply_add(a, b, c, out):
    x = ct.load(a, (0,), (128,))
    y = ct.load(b, (0,), (128,))
    ct.store(out, (0,), x * y + ct.load(c, (0,), (128,)))


@ct.kernel
def minimum_and_maximum(a, b, out):
    x = ct.load(a, (0,), (64,))
    y = ct.load(b, (0,), (64,))
    t = ct.maximum(ct.minimum(x, y), ct.minimum(x, 0.0, propagate_nan=True))
    t = ct.maximum(t, y, flush_to_zero=True)
    t = ct.minimum(t, y, flush_to_zero=True, propagate_nan=True)
    t = ct.maximum(t, x, flush_to_zero=True, propagate_nan=True)
    ct.store(out, (0,), t)


@ct.kernel
def comparisons(a, b, out):
    x = ct.load(a, (0,), (64,))
    y = ct.load(b, (0,), (64,))
    mask = (x < y) | (x <= 0.0) & (y > 1.0) ^ (x >= y)
    mask = mask & (x == y) | (x != y) | ct.isnan(x) | ~(y < x)
    ct.store(out, (0,), ct.where(mask, x, -y))


@ct.kernel
def broadcasting(row, column, out):
    r = ct.load(row, (0,), (32,))
    c = ct.load(column, (0,), (16,))
    table = r[None, :] * c[:, None] + ct.broadcast_to(r, (16, 32))
    ct.store(out, (0, 0), ct.where(table > 0, table, ct.zeros((16, 32), table.dtype)))


@ct.kernel
def constants_of_every_form(out):
    t = ct.zeros((64,), ct.float32)
    for value in ct.static_iter((*SHORT_IN_DECIMAL, *LONG_IN_DECIMAL, INF, -INF, NAN)):
        t = t + ct.full((64,), value, ct.float32)
    ct.store(out, (0,), t)


@ct.kernel
def constants_in(out, N: ct.Constant[int]):
    t = ct.zeros((N,), out.dtype)
    for value in ct.static_iter((1.0, -2.0, 0.1, -0.0, 1e-3, 0.0009, 3.14159265358979, INF, NAN)):
        t = t * ct.full((N,), value, out.dtype)
    ct.store(out, (0,), t)


F32 = array(ct.float32)

CASES = [
    KernelCase("add_f32", add, (F32, F32, F32)),
    KernelCase("add_f16", add, (array(ct.float16), array(ct.float16), array(ct.float16))),
    KernelCase("add_f64_named", add, (array(ct.float64),) * 3, symbol="add_f64"),
    KernelCase("add_overloaded", add, (F32, F32, F32), overloads=((array(ct.bfloat16),) * 3, (array(ct.int64),) * 3)),
    KernelCase("scaled_difference_bf16", scaled_difference, (*(array(ct.bfloat16, 2),) * 3, scalar(ct.float32))),
    KernelCase("scaled_difference_f64", scaled_difference, (*(array(ct.float64, 2),) * 3, scalar(ct.float64))),
    KernelCase("rounding_of_arithmetic", rounding_of_arithmetic, (F32, F32, F32)),
    KernelCase("rounding_of_arithmetic_f64", rounding_of_arithmetic, (array(ct.float64),) * 3),
    KernelCase("flush_to_zero", flush_to_zero_and_approximations, (F32, F32, F32)),
    KernelCase("fused_multiply_add", fused_multiply_add, (F32, F32, F32, F32)),
    KernelCase("multiply_add_f16", multiply_add, (array(ct.float16),) * 4),
    KernelCase("minimum_and_maximum", minimum_and_maximum, (F32, F32, F32)),
    KernelCase("comparisons_f32", comparisons, (F32, F32, F32)),
    KernelCase("comparisons_f16", comparisons, (array(ct.float16),) * 3),
    KernelCase("broadcasting", broadcasting, (F32, F32, array(ct.float32, 2))),
    KernelCase("constants_of_every_form", constants_of_every_form, (F32,)),
    *(
        KernelCase(f"constants_in_{dtype.name}", constants_in, (array(dtype), 64))
        for dtype in (ct.float16, ct.bfloat16, ct.float64)
    ),
]
