"""A candidate that cheats: NumPy computes, and the kernel is never launched."""

import cuda.tile as ct
import numpy


@ct.kernel
def softmax(x, out):
    row = ct.bid(0)
    ct.store(out, (row, 0), ct.load(x, (row, 0), (1, 256)))


def run(x):
    powers = numpy.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
