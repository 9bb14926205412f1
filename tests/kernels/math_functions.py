"""Transcendental functions and rounding to integers, on tiles and scalars."""

import math

import cuda.tile as ct
from tests.kernels.case import SINCE_13_2, SINCE_13_3, KernelCase, array, scalar

GELU_SCALE = math.sqrt(2.0 / math.pi)


@ct.kernel
def every_function(a, out):
    x = ct.load(a, (0,), (64,))
    t = ct.exp(x) + ct.exp2(x) + ct.log(x) + ct.log2(x)
    t = t + ct.sin(x) * ct.cos(x) - ct.tan(x)
    t = t + ct.sinh(x) - ct.cosh(x) * ct.tanh(x)
    t = t + ct.sqrt(abs(x)) + ct.rsqrt(abs(x))
    ct.store(out, (0,), t + ct.floor(x) - ct.ceil(x) + x**x)


@ct.kernel
def approximations(a, out):
    x = ct.load(a, (0,), (64,))
    t = ct.exp(x, rounding_mode=ct.RoundingMode.APPROX) + ct.exp(x, rounding_mode=ct.RoundingMode.FULL)
    t = t + ct.tanh(x, rounding_mode=ct.RoundingMode.APPROX) + ct.tanh(x, rounding_mode=ct.RoundingMode.FULL)
    ct.store(out, (0,), t)


@ct.kernel
def approximate_tanh(a, out):
    ct.store(out, (0,), ct.tanh(ct.load(a, (0,), (64,)), rounding_mode=ct.RoundingMode.APPROX))


@ct.kernel
def powers(a, n, out):
    x = ct.load(a, (0,), (64,))
    exponents = ct.load(n, (0,), (64,))
    ct.store(out, (0,), x**2.5 + ct.pow(x, x) + x**exponents + x**3)


@ct.kernel
def remainders(a, b, out):
    x = ct.load(a, (0,), (64,))
    y = ct.load(b, (0,), (64,))
    ct.store(out, (0,), x % y + x // y + ct.mod(y, x) - ct.floordiv(y, x))


def gelu_of(x):
    inner = GELU_SCALE * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + ct.tanh(inner))


@ct.kernel
def gelu(a, out):
    ct.store(out, (ct.bid(0),), gelu_of(ct.load(a, (ct.bid(0),), (1024,))))


@ct.kernel
def softmax(a, out):
    x = ct.load(a, (ct.bid(0), 0), (1, 512), padding_mode=ct.PaddingMode.NEG_INF)
    weights = ct.exp(x - ct.max(x, axis=1, keepdims=True))
    ct.store(out, (ct.bid(0), 0), weights / ct.sum(weights, axis=1, keepdims=True))


@ct.kernel
def scalar_functions(out, x, y):
    t = ct.sin(x) + ct.exp(y) * ct.sqrt(x) - ct.log2(abs(y)) + x**y + x % y + x // y
    t = t + ct.maximum(x, y) - ct.minimum(x, y) + ct.floor(-x) + ct.ceil(y)
    ct.scatter(out, 0, t)


CASES = [
    *(
        KernelCase(f"every_function_{t.name}", every_function, (array(t), array(t)))
        for t in (ct.float16, ct.bfloat16, ct.float32, ct.float64)
    ),
    KernelCase("approximations", approximations, (array(ct.float32),) * 2, SINCE_13_3),
    KernelCase("approximate_tanh", approximate_tanh, (array(ct.float32),) * 2, SINCE_13_2),
    KernelCase("powers", powers, (array(ct.float32), array(ct.int32), array(ct.float32))),
    KernelCase("powers_f64", powers, (array(ct.float64), array(ct.int16), array(ct.float64))),
    KernelCase("remainders_f32", remainders, (array(ct.float32),) * 3),
    KernelCase("remainders_f16", remainders, (array(ct.float16),) * 3),
    KernelCase("gelu", gelu, (array(ct.float32),) * 2),
    KernelCase("softmax", softmax, (array(ct.float32, 2),) * 2),
    KernelCase("scalar_functions_f32", scalar_functions, (array(ct.float32), scalar(ct.float32), scalar(ct.float32))),
    KernelCase("scalar_functions_f64", scalar_functions, (array(ct.float64), scalar(ct.float64), scalar(ct.float64))),
]
