"""A candidate that is wrong where a row does not fill its tile: padding with zeros counts in the sum."""

import cuda.tile as ct
import numpy


@ct.kernel
def softmax(x, out):
    block = ct.bid(0)
    tile = ct.load(x, (block, 0), (4, 256), padding_mode=ct.PaddingMode.ZERO)
    powers = ct.exp(tile - ct.max(tile, axis=1, keepdims=True))
    ct.store(out, (block, 0), powers / ct.sum(powers, axis=1, keepdims=True))


def run(x):
    out = numpy.empty_like(x)
    ct.launch(None, (-(-x.shape[0] // 4),), softmax, (x, out))
    return out
