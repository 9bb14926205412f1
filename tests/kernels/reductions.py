"""Reductions: the named ones on each kind of element, over several axes, and with regions of our own."""

import cuda.tile as ct
from tests.kernels.case import KernelCase, array


@ct.kernel
def sum_and_product(a, out):
    t = ct.load(a, (0, 0), (16, 32))
    total = ct.sum(t) + ct.prod(t, axis=0).reshape((2, 16)).extract((0, 0), (1, 1)).item()
    ct.store(out, (0,), ct.sum(t, axis=1) + total)


@ct.kernel
def minimum_and_maximum_of_rows(a, out):
    t = ct.load(a, (0, 0), (16, 32))
    ct.store(out, (0,), ct.max(t, axis=1) - ct.min(t, axis=1) + ct.max(t, axis=(0, 1)))


@ct.kernel
def reductions_with_flags(a, out):
    t = ct.load(a, (0, 0), (16, 32))
    s = ct.sum(t, axis=1, rounding_mode=ct.RoundingMode.RZ, flush_to_zero=True)
    p = ct.prod(t, axis=1, rounding_mode=ct.RoundingMode.RP)
    high = ct.max(t, axis=1, flush_to_zero=True, propagate_nan=True)
    low = ct.min(t, axis=1, propagate_nan=True)
    ct.store(out, (0,), s + p + high + low)


@ct.kernel
def positions_of_extremes(a, out):
    t = ct.load(a, (0, 0), (16, 32))
    first = ct.argmax(t, axis=1) + ct.argmin(t, axis=1) + ct.argmax(t)
    ct.store(out, (0,), first)


@ct.kernel
def positions_of_extremes_with_nan(a, out):
    t = ct.load(a, (0, 0), (16, 32))
    ct.store(out, (0, 0), ct.argmax(t, axis=0, keepdims=True, propagate_nan=True) + ct.argmin(t, axis=1, keepdims=True))


@ct.kernel
def layer_norm(x, weight, bias, out, eps: ct.Constant[float]):
    row = ct.bid(0)
    t = ct.load(x, (row, 0), (1, 1024), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    mean = ct.sum(t, axis=1, keepdims=True) / x.shape[1]
    centered = t - mean
    variance = ct.sum(centered * centered, axis=1, keepdims=True) / x.shape[1]
    w = ct.load(weight, (0,), (1024,))
    b = ct.load(bias, (0,), (1024,))
    ct.store(out, (row, 0), (centered * ct.rsqrt(variance + eps) * w + b).astype(out.dtype))


@ct.kernel
def own_reduction(a, out):
    """The element of largest magnitude: a region with several operations."""
    t = ct.load(a, (0, 0), (16, 32))
    ct.store(out, (0,), ct.reduce(t, 1, lambda x, y: ct.where(abs(x) >= abs(y), x, y), 0.0))


def _merge_moments(count_x, mean_x, square_x, count_y, mean_y, square_y):
    count = count_x + count_y
    delta = mean_y - mean_x
    share = count_y / ct.maximum(count, 1.0)
    return count, mean_x + delta * share, square_x + square_y + delta * delta * count_x * share


@ct.kernel
def moments(a, out):
    """Three values reduced together, with three identities and three results."""
    t = ct.load(a, (0, 0), (16, 32))
    one, zero = ct.ones((16, 32), ct.float32), ct.zeros((16, 32), ct.float32)
    _, mean, square = ct.reduce((one, t, zero), 1, _merge_moments, (0.0, 0.0, 0.0))
    ct.store(out, (0,), mean + square)


@ct.kernel
def all_and_any(a, out):
    t = ct.load(a, (0, 0), (8, 64)) > 0
    every = ct.reduce(t, 1, lambda x, y: x & y, True)
    some = ct.reduce(t, 1, lambda x, y: x | y, False)
    ct.store(out, (0,), ct.where(every, 2, ct.where(some, 1, 0)))


@ct.kernel
def integer_extremes(a, out):
    t = ct.load(a, (0, 0), (16, 32))
    ct.store(out, (0,), ct.max(t, axis=1) ^ ct.min(t, axis=1) ^ ct.sum(t, axis=1) ^ ct.prod(t, axis=1))


F32, BF16 = array(ct.float32, 2), array(ct.bfloat16, 2)

CASES = [
    KernelCase("sum_and_product_f32", sum_and_product, (F32, array(ct.float32))),
    KernelCase("sum_and_product_f16", sum_and_product, (array(ct.float16, 2), array(ct.float16))),
    KernelCase("sum_and_product_f64", sum_and_product, (array(ct.float64, 2), array(ct.float64))),
    KernelCase("sum_and_product_i64", sum_and_product, (array(ct.int64, 2), array(ct.int64))),
    KernelCase("extremes_of_rows_f32", minimum_and_maximum_of_rows, (F32, array(ct.float32))),
    KernelCase("extremes_of_rows_bf16", minimum_and_maximum_of_rows, (array(ct.bfloat16, 2), array(ct.bfloat16))),
    KernelCase("extremes_of_rows_f64", minimum_and_maximum_of_rows, (array(ct.float64, 2), array(ct.float64))),
    *(
        KernelCase(f"integer_extremes_{dtype.name}", integer_extremes, (array(dtype, 2), array(dtype)))
        for dtype in (ct.int8, ct.uint8, ct.int16, ct.uint32, ct.int64, ct.uint64)
    ),
    KernelCase("reductions_with_flags", reductions_with_flags, (F32, array(ct.float32))),
    KernelCase("positions_of_extremes_f32", positions_of_extremes, (F32, array(ct.int32))),
    KernelCase("positions_of_extremes_i16", positions_of_extremes, (array(ct.int16, 2), array(ct.int32))),
    KernelCase("positions_of_extremes_with_nan", positions_of_extremes_with_nan, (F32, array(ct.int32, 2))),
    KernelCase("layer_norm", layer_norm, (BF16, array(ct.float32), array(ct.float32), BF16, 1e-5)),
    KernelCase("own_reduction", own_reduction, (F32, array(ct.float32))),
    KernelCase("moments", moments, (F32, array(ct.float32))),
    KernelCase("all_and_any", all_and_any, (F32, array(ct.int32))),
]
