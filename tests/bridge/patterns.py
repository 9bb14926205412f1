"""The patterns cuTile is used for, small: each kernel is launched in `test_patterns` against a NumPy reference."""

import math

import cuda.tile as ct

LOG2_E = math.log2(math.e)
ConstInt = ct.Constant[int]


# --- matrix products ---


@ct.kernel
def swizzled_matmul(a, b, out, TM: ConstInt, TN: ConstInt, TK: ConstInt, GROUP: ConstInt):
    """Blocks are numbered so that neighbors share columns; the edges are padded with zeros."""
    rows, columns = ct.cdiv(out.shape[0], TM), ct.cdiv(out.shape[1], TN)
    per_group = GROUP * columns
    group = ct.bid(0) // per_group
    first = group * GROUP
    height = min(rows - first, GROUP)
    row = first + (ct.bid(0) % per_group) % height
    column = (ct.bid(0) % per_group) // height
    accumulator = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.cdiv(a.shape[1], TK)):
        left = ct.load(a, (row, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, column), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
        accumulator = ct.mma(left, right, accumulator)
    ct.store(out, (row, column), accumulator.astype(out.dtype))


@ct.kernel
def split_k_matmul(a, b, out, TILE: ConstInt, PARTS: ConstInt):
    """The sum over k is shared among blocks, which add their parts with atomics."""
    row, column, part = ct.bid(0), ct.bid(1), ct.bid(2)
    accumulator = ct.zeros((TILE, TILE), ct.float32)
    for k in range(part, ct.num_tiles(a, 1, (TILE, TILE)), PARTS):
        accumulator = ct.mma(ct.load(a, (row, k), (TILE, TILE)), ct.load(b, (k, column), (TILE, TILE)), accumulator)
    rows = row * TILE + ct.arange(TILE, dtype=ct.int32)[:, None]
    columns = column * TILE + ct.arange(TILE, dtype=ct.int32)[None, :]
    ct.atomic_add(out, (rows, columns), accumulator, memory_order=ct.MemoryOrder.RELAXED)


@ct.kernel
def matmul_bias_gelu(x, weight, bias, out, TILE: ConstInt):
    row, column = ct.bid(0), ct.bid(1)
    t = ct.zeros((TILE, TILE), ct.float32)
    for k in range(ct.num_tiles(x, 1, (TILE, TILE))):
        # The weight is stored with its outputs first.
        right = ct.load(weight, (k, column), (TILE, TILE), order=(1, 0))
        t = ct.mma(ct.load(x, (row, k), (TILE, TILE)), right, t)
    t = t + ct.load(bias, (column,), (TILE,))[None, :]
    ct.store(out, (row, column), 0.5 * t * (1.0 + ct.tanh(0.7978845608 * (t + 0.044715 * t * t * t))))


@ct.kernel
def mixture_of_experts(tokens, weights, order, expert_of_block, gates, out, TM: ConstInt, TN: ConstInt, TK: ConstInt):
    """Rows sorted by expert and padded to whole tiles; a row number past the end is padding."""
    expert = ct.gather(expert_of_block, ct.bid(0))
    rows = ct.gather(order, ct.bid(0) * TM + ct.arange(TM, dtype=ct.int32))
    t = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.cdiv(tokens.shape[1], TK)):
        columns = k * TK + ct.arange(TK, dtype=ct.int32)
        left = ct.gather(tokens, (rows[:, None], columns[None, :]), padding_value=0)
        right = ct.load(weights, (expert, k, ct.bid(1)), (1, TK, TN)).reshape((TK, TN))
        t = ct.mma(left, right, t)
    t = t * ct.gather(gates, rows, padding_value=0)[:, None]
    ct.scatter(out, (rows[:, None], ct.bid(1) * TN + ct.arange(TN, dtype=ct.int32)[None, :]), t.astype(out.dtype))


# --- attention ---


@ct.kernel
def grouped_query_attention(q, k, v, out, scale: float, SHARED: ConstInt, TILE: ConstInt, D: ConstInt):
    """Causal attention with several query heads for each head of keys, one pass over the keys."""
    block, head = ct.bid(0), ct.bid(1)
    source = head // SHARED
    query = ct.load(q, (head, block, 0), (1, TILE, D)).reshape((TILE, D))
    peak = ct.full((TILE, 1), -math.inf, ct.float32)
    total = ct.zeros((TILE, 1), ct.float32)
    mixed = ct.zeros((TILE, D), ct.float32)
    rows = block * TILE + ct.arange(TILE, dtype=ct.int32)[:, None]
    for step in range(block + 1):
        keys = ct.load(k, (source, 0, step), (1, D, TILE), order=(0, 2, 1)).reshape((D, TILE))
        score = ct.mma(query, keys, ct.zeros((TILE, TILE), ct.float32)) * (scale * LOG2_E)
        columns = step * TILE + ct.arange(TILE, dtype=ct.int32)[None, :]
        score = ct.where(rows >= columns, score, -math.inf)
        higher = ct.maximum(peak, ct.max(score, axis=1, keepdims=True))
        share = ct.exp2(score - higher)
        shrink = ct.exp2(peak - higher)
        total = total * shrink + ct.sum(share, axis=1, keepdims=True)
        values = ct.load(v, (source, step, 0), (1, TILE, D)).reshape((TILE, D))
        mixed = ct.mma(share.astype(values.dtype), values, mixed * shrink)
        peak = higher
    ct.store(out, (head, block, 0), (mixed / total).reshape((1, TILE, D)).astype(out.dtype))


@ct.kernel
def decode_part(q, k, v, partial, peaks, totals, scale: float, TILE: ConstInt, D: ConstInt):
    """One query against one part of a long cache."""
    part = ct.bid(0)
    query = ct.load(q, (0,), (D,))
    score = ct.sum(ct.load(k, (part, 0), (TILE, D)) * query[None, :], axis=1) * scale
    lanes = part * TILE + ct.arange(TILE, dtype=ct.int32)
    score = ct.where(lanes < k.shape[0], score, -math.inf)
    peak = ct.max(score)
    share = ct.exp(score - peak)
    values = ct.load(v, (part, 0), (TILE, D), padding_mode=ct.PaddingMode.ZERO)
    ct.store(partial, (part, 0), ct.sum(share[:, None] * values, axis=0, keepdims=True))
    ct.scatter(peaks, part, peak)
    ct.scatter(totals, part, ct.sum(share))


@ct.kernel
def decode_combine(partial, peaks, totals, out, PARTS: ConstInt, D: ConstInt):
    peak = ct.load(peaks, (0,), (PARTS,), padding_mode=ct.PaddingMode.NEG_INF)
    share = ct.exp(peak - ct.max(peak))
    total = ct.sum(share * ct.load(totals, (0,), (PARTS,), padding_mode=ct.PaddingMode.ZERO))
    mixed = ct.load(partial, (0, 0), (PARTS, D), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (0,), ct.sum(mixed * share[:, None], axis=0) / total)


# --- norms, softmax, losses ---


@ct.kernel
def long_softmax(x, out, TILE: ConstInt):
    """Rows longer than a tile: one pass for the maximum and the sum, one for the result."""
    row = ct.bid(0)
    peak = ct.full((1, 1), -math.inf, ct.float32)
    total = ct.zeros((1, 1), ct.float32)
    for step in range(ct.num_tiles(x, 1, (1, TILE))):
        t = ct.load(x, (row, step), (1, TILE), padding_mode=ct.PaddingMode.NEG_INF)
        higher = ct.maximum(peak, ct.max(t, axis=1, keepdims=True))
        total = total * ct.exp(peak - higher) + ct.sum(ct.exp(t - higher), axis=1, keepdims=True)
        peak = higher
    for step in range(ct.num_tiles(x, 1, (1, TILE))):
        t = ct.load(x, (row, step), (1, TILE), padding_mode=ct.PaddingMode.NEG_INF)
        ct.store(out, (row, step), ct.exp(t - peak) / total)


@ct.kernel
def rms_norm(x, weight, out, eps: ct.Constant[float], TILE: ConstInt):
    t = ct.load(x, (ct.bid(0), 0), (1, TILE), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    scale = ct.rsqrt(ct.sum(t * t, axis=1, keepdims=True) / x.shape[1] + eps)
    w = ct.load(weight, (0,), (TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (ct.bid(0), 0), (t * scale * w[None, :]).astype(out.dtype))


@ct.kernel
def layer_norm_backward(x, gradient, weight, out, partial_weight, eps: ct.Constant[float], R: ConstInt, C: ConstInt):
    t = ct.load(x, (ct.bid(0), 0), (R, C))
    g = ct.load(gradient, (ct.bid(0), 0), (R, C))
    w = ct.load(weight, (0,), (C,))[None, :]
    centered = t - ct.sum(t, axis=1, keepdims=True) / C
    spread = ct.rsqrt(ct.sum(centered * centered, axis=1, keepdims=True) / C + eps)
    normal = centered * spread
    weighted = g * w
    along = ct.sum(weighted * normal, axis=1, keepdims=True) / C
    mean = ct.sum(weighted, axis=1, keepdims=True) / C
    ct.store(out, (ct.bid(0), 0), (weighted - normal * along - mean) * spread)
    ct.atomic_add(partial_weight, ct.arange(C, dtype=ct.int32), ct.sum(g * normal, axis=0))


@ct.kernel
def group_norm(x, out, eps: ct.Constant[float], GROUP: ConstInt, SPACE: ConstInt):
    t = ct.load(x, (ct.bid(0), ct.bid(1), 0), (1, GROUP, SPACE))
    count = GROUP * SPACE
    mean = ct.sum(t) / count
    centered = t - mean
    ct.store(out, (ct.bid(0), ct.bid(1), 0), centered * ct.rsqrt(ct.sum(centered * centered) / count + eps))


@ct.kernel
def cross_entropy(logits, labels, losses, TILE: ConstInt):
    row = ct.bid(0)
    t = ct.load(logits, (row, 0), (1, TILE), padding_mode=ct.PaddingMode.NEG_INF)
    peak = ct.max(t)
    right = ct.gather(logits, (row, ct.gather(labels, row)))
    ct.scatter(losses, row, ct.log(ct.sum(ct.exp(t - peak))) + peak - right)


# --- gather, scatter, scan, histogram, sort ---


@ct.kernel
def embedding_gradient(gradient, tokens, table, ROWS: ConstInt, D: ConstInt):
    """Rows of the gradient are added to the rows of the table they came from; tokens repeat."""
    rows = ct.load(tokens, (ct.bid(0),), (ROWS,))
    t = ct.load(gradient, (ct.bid(0), 0), (ROWS, D))
    ct.atomic_add(table, (rows[:, None], ct.arange(D, dtype=ct.int32)[None, :]), t)


@ct.kernel
def block_sums(values, sums, TILE: ConstInt):
    ct.scatter(sums, ct.bid(0), ct.sum(ct.load(values, (ct.bid(0),), (TILE,), padding_mode=ct.PaddingMode.ZERO)))


@ct.kernel
def scan_with_offsets(values, sums, out, TILE: ConstInt, BLOCKS: ConstInt):
    before = ct.load(sums, (0,), (BLOCKS,), padding_mode=ct.PaddingMode.ZERO)
    lanes = ct.arange(BLOCKS, dtype=ct.int32)
    offset = ct.sum(ct.where(lanes < ct.bid(0), before, 0))
    ct.store(out, (ct.bid(0),), ct.cumsum(ct.load(values, (ct.bid(0),), (TILE,))) + offset)


@ct.kernel
def histogram_of_bytes(values, counts, TILE: ConstInt):
    t = ct.load(values, (ct.bid(0),), (TILE,)).astype(ct.int32)
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    # An index outside the array takes no part.
    ct.atomic_add(counts, ct.where(lanes < values.shape[0], t, -1), 1)


@ct.kernel
def top_k(x, values, places, K: ConstInt, TILE: ConstInt):
    row = ct.bid(0)
    t = ct.load(x, (row, 0), (1, TILE), padding_mode=ct.PaddingMode.NEG_INF).reshape((TILE,))
    lanes = ct.arange(TILE, dtype=ct.int32)
    for rank in range(K):
        place = ct.argmax(t)
        ct.scatter(values, (row, rank), ct.max(t))
        ct.scatter(places, (row, rank), place)
        t = ct.where(lanes == place, -math.inf, t)


@ct.kernel
def bitonic_sort(x, out, TILE: ConstInt, BITS: ConstInt):
    """The compare-exchange network; partners are met through memory of the output."""
    lanes = ct.arange(TILE, dtype=ct.int32)
    ct.store(out, (0,), ct.load(x, (0,), (TILE,)))
    for size in ct.static_iter(range(1, BITS + 1)):
        for distance in ct.static_iter(range(size - 1, -1, -1)):
            t = ct.gather(out, lanes)
            other = ct.gather(out, lanes ^ (1 << distance))
            ascending = (lanes >> size) & 1 == 0
            lower = (lanes >> distance) & 1 == 0
            ct.scatter(out, lanes, ct.where(ascending == lower, ct.minimum(t, other), ct.maximum(t, other)))


# --- signals and images ---


@ct.kernel
def fft(real, imaginary, dft_1, dft_2, twiddle, out_real, out_imaginary, N1: ConstInt, N2: ConstInt):
    """A transform of N1 * N2 points in four steps: columns, twiddles, rows, transposition.

    `dft_1`, `dft_2` and `twiddle` hold cosines and sines in two planes.
    """
    row = ct.bid(0)
    a = ct.load(real, (row, 0), (1, N1 * N2)).reshape((N1, N2))
    b = ct.load(imaginary, (row, 0), (1, N1 * N2)).reshape((N1, N2))
    c1 = ct.load(dft_1, (0, 0, 0), (1, N1, N1)).reshape((N1, N1))
    s1 = ct.load(dft_1, (1, 0, 0), (1, N1, N1)).reshape((N1, N1))
    x, y = c1 @ a - s1 @ b, c1 @ b + s1 @ a
    c = ct.load(twiddle, (0, 0, 0), (1, N1, N2)).reshape((N1, N2))
    s = ct.load(twiddle, (1, 0, 0), (1, N1, N2)).reshape((N1, N2))
    x, y = x * c - y * s, x * s + y * c
    c2 = ct.load(dft_2, (0, 0, 0), (1, N2, N2)).reshape((N2, N2))
    s2 = ct.load(dft_2, (1, 0, 0), (1, N2, N2)).reshape((N2, N2))
    x, y = x @ c2 - y @ s2, x @ s2 + y @ c2
    ct.store(out_real, (row, 0), ct.transpose(x).reshape((1, N1 * N2)))
    ct.store(out_imaginary, (row, 0), ct.transpose(y).reshape((1, N1 * N2)))


@ct.kernel
def convolution(image, weight, out, TILE: ConstInt):
    """Three by three, with zeros around the image."""
    rows = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)[:, None]
    columns = ct.bid(1) * TILE + ct.arange(TILE, dtype=ct.int32)[None, :]
    total = ct.zeros((TILE, TILE), ct.float32)
    for dy in range(3):
        for dx in range(3):
            w = ct.gather(weight, (dy, dx))
            total = total + w * ct.gather(image, (rows + dy - 1, columns + dx - 1), padding_value=0)
    ct.store(out, (ct.bid(0), ct.bid(1)), total)


@ct.kernel
def rotary_embedding(x, cosines, sines, out, HALF: ConstInt):
    position, head = ct.bid(0), ct.bid(1)
    even = ct.load(x, (position, head, 0), (1, 1, HALF))
    odd = ct.load(x, (position, head, 1), (1, 1, HALF))
    c = ct.load(cosines, (position, 0), (1, HALF)).reshape((1, 1, HALF))
    s = ct.load(sines, (position, 0), (1, HALF)).reshape((1, 1, HALF))
    ct.store(out, (position, head, 0), even * c - odd * s)
    ct.store(out, (position, head, 1), odd * c + even * s)


@ct.kernel
def swiglu(gate, up, out):
    g = ct.load(gate, (ct.bid(0),), (128,)).astype(ct.float32)
    u = ct.load(up, (ct.bid(0),), (128,)).astype(ct.float32)
    ct.store(out, (ct.bid(0),), (g / (1.0 + ct.exp(-g)) * u).astype(out.dtype))


@ct.kernel
def heat_equation(field, out, rate: float, steps, N: ConstInt):
    """Explicit steps on a ring, between two halves of one array."""
    lanes = ct.arange(N, dtype=ct.int32)
    ct.store(out, (0, 0), ct.load(field, (0,), (N,)).reshape((1, N)))
    for step in range(steps):
        here, there = step % 2, (step + 1) % 2
        t = ct.gather(out, (here, lanes))
        left = ct.gather(out, (here, (lanes + N - 1) % N))
        right = ct.gather(out, (here, (lanes + 1) % N))
        ct.scatter(out, (there, lanes), t + rate * (left - 2.0 * t + right))
