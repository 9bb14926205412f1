"""A candidate that is right and slow: it reads its row twice for every eight columns."""

import cuda.tile as ct
import numpy


@ct.kernel
def softmax(x, out):
    row, part = ct.bid(0), ct.bid(1)
    highest = ct.full((1, 1), -numpy.inf, ct.float32)
    total = ct.zeros((1, 1), ct.float32)
    for step in range(ct.num_tiles(x, 1, (1, 8))):
        tile = ct.load(x, (row, step), (1, 8), padding_mode=ct.PaddingMode.NEG_INF)
        highest = ct.maximum(highest, ct.max(tile, axis=1, keepdims=True))
    for step in range(ct.num_tiles(x, 1, (1, 8))):
        tile = ct.load(x, (row, step), (1, 8), padding_mode=ct.PaddingMode.NEG_INF)
        total = total + ct.sum(ct.exp(tile - highest), axis=1, keepdims=True)
    tile = ct.load(x, (row, part), (1, 8), padding_mode=ct.PaddingMode.NEG_INF)
    ct.store(out, (row, part), ct.exp(tile - highest) / total)


def run(x):
    out = numpy.empty_like(x)
    ct.launch(None, (x.shape[0], -(-x.shape[1] // 8)), softmax, (x, out))
    return out
