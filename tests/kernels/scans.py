"""Scans: running sums and products, forward and reverse, and with regions of our own."""

import cuda.tile as ct
from tests.kernels.case import KernelCase, array


@ct.kernel
def running_sum(a, out):
    t = ct.load(a, (0, 0), (16, 32))
    ct.store(out, (0, 0), ct.cumsum(t, axis=1) + ct.cumsum(t, axis=0, reverse=True))


@ct.kernel
def running_product(a, out):
    t = ct.load(a, (0, 0), (16, 32))
    forward = ct.cumprod(t, axis=1, rounding_mode=ct.RoundingMode.RM, flush_to_zero=True)
    ct.store(out, (0, 0), forward - ct.cumprod(t, axis=-1, reverse=True))


@ct.kernel
def running_maximum(a, out):
    t = ct.load(a, (0,), (128,))
    ct.store(out, (0,), ct.scan(t, 0, lambda x, y: ct.maximum(x, y), -float("inf")))


def _compose(scale_x, shift_x, scale_y, shift_y):
    return scale_x * scale_y, shift_x * scale_y + shift_y


@ct.kernel
def linear_recurrence(a, b, out):
    """y[i] = a[i] * y[i-1] + b[i], as a scan over affine maps."""
    scale = ct.load(a, (ct.bid(0), 0), (4, 64))
    shift = ct.load(b, (ct.bid(0), 0), (4, 64))
    _, state = ct.scan((scale, shift), 1, _compose, (1.0, 0.0))
    ct.store(out, (ct.bid(0), 0), state)


@ct.kernel
def scan_across_tiles(a, out):
    carry = ct.zeros((), ct.float32)
    for step in range(ct.num_tiles(a, 0, (64,))):
        t = ct.load(a, (step,), (64,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, (step,), ct.cumsum(t) + carry)
        carry = carry + ct.sum(t)


F32 = array(ct.float32, 2)

CASES = [
    KernelCase("running_sum_f32", running_sum, (F32, F32)),
    KernelCase("running_sum_i32", running_sum, (array(ct.int32, 2),) * 2),
    KernelCase("running_sum_u64", running_sum, (array(ct.uint64, 2),) * 2),
    KernelCase("running_sum_f64", running_sum, (array(ct.float64, 2),) * 2),
    KernelCase("running_product", running_product, (F32, F32)),
    KernelCase("running_maximum_f32", running_maximum, (array(ct.float32),) * 2),
    KernelCase("running_maximum_f16", running_maximum, (array(ct.float16),) * 2),
    KernelCase("linear_recurrence", linear_recurrence, (F32, F32, F32)),
    KernelCase("scan_across_tiles", scan_across_tiles, (array(ct.float32),) * 2),
]
