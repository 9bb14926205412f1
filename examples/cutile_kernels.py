"""The example kernels in cuTile, NVIDIA's Python language for tile programs: pip install cuda-tile."""

import math

import cuda.tile as ct


@ct.kernel
def vector_add(a, b, c):
    block = ct.bid(0)
    ct.store(c, (block,), ct.load(a, (block,), (128,)) + ct.load(b, (block,), (128,)))


@ct.kernel
def softmax(source, target):
    row = ct.bid(0)
    x = ct.load(source, (row, 0), (1, 1024), padding_mode=ct.PaddingMode.NEG_INF)
    powers = ct.exp(x - ct.max(x, axis=1, keepdims=True))
    ct.store(target, (row, 0), powers / ct.sum(powers, axis=1, keepdims=True))


@ct.kernel
def layer_norm(source, weight, bias, target, epsilon):
    row, count = ct.bid(0), source.shape[1]
    x = ct.load(source, (row, 0), (1, 1024), padding_mode=ct.PaddingMode.ZERO)
    inside = (ct.arange(1024, dtype=ct.int32) < count)[None, :]
    centered = ct.where(inside, x - ct.sum(x, axis=1, keepdims=True) / count, 0.0)
    variance = ct.sum(centered * centered, axis=1, keepdims=True) / count
    w = ct.load(weight, (0,), (1024,), padding_mode=ct.PaddingMode.ZERO)
    b = ct.load(bias, (0,), (1024,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(target, (row, 0), centered * ct.rsqrt(variance + epsilon) * w[None, :] + b[None, :])


@ct.kernel
def matmul(a, b, c):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((64, 64), ct.float32)
    for k in range(ct.num_tiles(a, 1, (64, 32))):
        x = ct.load(a, (row, k), (64, 32), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, (k, column), (32, 64), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(x, y, total)
    ct.store(c, (row, column), total)


@ct.kernel
def attention(q, k, v, out, scale):
    """Each tile block handles 64 queries, in one pass over the keys and the values."""
    block = ct.bid(0)
    query = ct.load(q, (block, 0), (64, 64), padding_mode=ct.PaddingMode.ZERO)
    mixed = ct.zeros((64, 64), ct.float32)
    peak = ct.full((64, 1), -math.inf, ct.float32)
    total = ct.zeros((64, 1), ct.float32)
    for step in range(ct.num_tiles(k, 0, (64, 64))):
        keys = ct.load(k, (0, step), (64, 64), order=(1, 0), padding_mode=ct.PaddingMode.ZERO)
        score = ct.mma(query, keys, ct.zeros((64, 64), ct.float32)) * scale
        inside = step * 64 + ct.arange(64, dtype=ct.int32) < k.shape[0]
        score = ct.where(inside[None, :], score, -math.inf)
        higher = ct.maximum(peak, ct.max(score, axis=1, keepdims=True))
        weight = ct.exp(score - higher)
        shrink = ct.exp(peak - higher)
        values = ct.load(v, (step, 0), (64, 64), padding_mode=ct.PaddingMode.ZERO)
        mixed = ct.mma(weight.astype(values.dtype), values, mixed * shrink)
        total = total * shrink + ct.sum(weight, axis=1, keepdims=True)
        peak = higher
    ct.store(out, (block, 0), mixed / total)


@ct.kernel
def histogram(values, counts):
    index = ct.bid(0) * 128 + ct.arange(128, dtype=ct.int32)
    bucket = ct.gather(values, index, padding_value=-1)
    # An index outside the array, as -1 is, takes no part.
    ct.atomic_add(counts, bucket, 1, memory_order=ct.MemoryOrder.RELAXED)


@ct.kernel
def racy(values, total):
    """Wrong on purpose: two tile blocks may read the same old total."""
    x = ct.load(values, (ct.bid(0),), (128,), padding_mode=ct.PaddingMode.ZERO)
    ct.scatter(total, 0, ct.gather(total, 0) + ct.sum(x))


@ct.kernel
def swish(x, out, TILE: ct.Constant[int]):
    place = ct.bid(0)
    tile = ct.load(x, (place,), (TILE,))
    ct.store(out, (place,), tile / (1.0 + ct.exp(-tile)))


@ct.kernel
def swish_backward(grad_out, x, grad_x, TILE: ct.Constant[int]):
    place = ct.bid(0)
    tile = ct.load(x, (place,), (TILE,))
    sigmoid = 1.0 / (1.0 + ct.exp(-tile))
    slope = sigmoid * (1.0 + tile * (1.0 - sigmoid))
    ct.store(grad_x, (place,), ct.load(grad_out, (place,), (TILE,)) * slope)
