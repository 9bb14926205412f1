"""cuTile kernels of many kinds, as people write them; `kernel_kinds.py` measures them beside PyTorch."""

import cuda.tile as ct

ZERO = ct.PaddingMode.ZERO
LONG, WIDE = 4096, 512


@ct.kernel
def add(x, y, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (1024,), padding_mode=ZERO) + ct.load(y, (i,), (1024,), padding_mode=ZERO))


@ct.kernel
def gelu(x, out):
    t = ct.load(x, (ct.bid(0),), (LONG,))
    ct.store(out, (ct.bid(0),), 0.5 * t * (1 + ct.tanh(t * 0.7978845608 * (1 + 0.044715 * t * t))))


@ct.kernel
def swiglu(x, gate, out):
    t = ct.load(x, (ct.bid(0),), (LONG,))
    ct.store(out, (ct.bid(0),), t / (1 + ct.exp(-t)) * ct.load(gate, (ct.bid(0),), (LONG,)))


@ct.kernel
def choose(x, y, out):
    t, u = ct.load(x, (ct.bid(0),), (LONG,)), ct.load(y, (ct.bid(0),), (LONG,))
    ct.store(out, (ct.bid(0),), ct.where(t > u, t * 2, u - 1))


@ct.kernel
def sine(x, out):
    t = ct.load(x, (ct.bid(0),), (LONG,))
    ct.store(out, (ct.bid(0),), ct.sin(t) * ct.cos(t))


@ct.kernel
def mixed(x, out):
    """A hash of integers."""
    t = ct.load(x, (ct.bid(0),), (LONG,))
    t = (t ^ (t >> 16)) * 0x45D9F3B
    t = (t ^ (t >> 16)) * 0x45D9F3B
    ct.store(out, (ct.bid(0),), t ^ (t >> 16))


@ct.kernel
def bias_relu(x, bias, out):
    i = ct.bid(0)
    ct.store(out, (i, 0), ct.maximum(ct.load(x, (i, 0), (8, 1024)) + ct.load(bias, (0,), (1024,))[None, :], 0.0))


@ct.kernel
def rms_norm(x, weight, out):
    i = ct.bid(0)
    t = ct.load(x, (i, 0), (1, LONG))
    scale = ct.rsqrt(ct.sum(t * t, axis=1, keepdims=True) / LONG + 1e-6)
    ct.store(out, (i, 0), t * scale * ct.load(weight, (0,), (LONG,))[None, :])


@ct.kernel
def short_softmax(x, out):
    t = ct.load(x, (ct.bid(0), 0), (16, 64))
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(out, (ct.bid(0), 0), e / ct.sum(e, axis=1, keepdims=True))


@ct.kernel
def log_sum_exp(x, out):
    """In one pass, a part of the row in each turn."""
    i = ct.bid(0)
    most, total = ct.full((8, 1), -1e30, ct.float32), ct.zeros((8, 1), ct.float32)
    for k in range(LONG // 256):
        t = ct.load(x, (i, k), (8, 256))
        larger = ct.maximum(most, ct.max(t, axis=1, keepdims=True))
        total = total * ct.exp(most - larger) + ct.sum(ct.exp(t - larger), axis=1, keepdims=True)
        most = larger
    ct.store(out, (i, 0), most + ct.log(total))


@ct.kernel
def sum_of_rows(x, out):
    ct.store(out, (ct.bid(0),), ct.sum(ct.load(x, (ct.bid(0), 0), (4, LONG)), axis=1))


@ct.kernel
def sum_of_columns(x, out):
    j = ct.bid(0)
    total = ct.zeros((64,), ct.float32)
    for k in range(x.shape[0] // 64):
        total = total + ct.sum(ct.load(x, (k, j), (64, 64)), axis=0)
    ct.store(out, (j,), total)


@ct.kernel
def running_sum(x, out):
    ct.store(out, (ct.bid(0), 0), ct.cumsum(ct.load(x, (ct.bid(0), 0), (1, LONG)), axis=1))


@ct.kernel
def place_of_largest(x, out):
    ct.store(out, (ct.bid(0),), ct.argmax(ct.load(x, (ct.bid(0), 0), (4, LONG)), axis=1))


@ct.kernel
def transpose(x, out):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, (j, i), ct.transpose(ct.load(x, (i, j), (64, 64))))


@ct.kernel
def rotary(x, cosine, sine_, out):
    i = ct.bid(0)
    a, b = ct.load(x, (i, 0), (64, 64)), ct.load(x, (i, 1), (64, 64))
    u, v = ct.load(cosine, (i, 0), (64, 64)), ct.load(sine_, (i, 0), (64, 64))
    ct.store(out, (i, 0), a * u - b * v)
    ct.store(out, (i, 1), a * v + b * u)


@ct.kernel
def matrix_vector(a, x, out):
    i = ct.bid(0)
    total = ct.zeros((16,), ct.float32)
    for k in range(a.shape[1] // WIDE):
        total = total + ct.sum(ct.load(a, (i, k), (16, WIDE)) * ct.load(x, (k,), (WIDE,))[None, :], axis=1)
    ct.store(out, (i,), total)


@ct.kernel
def rows_by_index(index, x, out):
    i = ct.bid(0)
    rows, columns = ct.load(index, (i,), (16,)), ct.arange(1024, dtype=ct.int32)
    ct.store(out, (i, 0), ct.gather(x, (rows[:, None], columns[None, :])))


@ct.kernel
def add_by_index(index, x, out):
    ct.atomic_add(out, ct.load(index, (ct.bid(0),), (1024,)), ct.load(x, (ct.bid(0),), (1024,)))


@ct.kernel
def neighbors(x, out):
    i = ct.bid(0)
    at = ct.arange(1024, dtype=ct.int32) + i * 1024
    ct.store(out, (i,), (ct.gather(x, at) + ct.gather(x, at + 1) + ct.gather(x, at + 2)) * 0.25)


@ct.kernel
def product(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tk)):
        left = ct.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        total = ct.mma(left, ct.load(b, (k, j), (tk, tn), padding_mode=ZERO), total)
    ct.store(c, (i, j), ct.astype(total, c.dtype))


@ct.kernel
def persistent_product(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    columns = ct.cdiv(b.shape[1], tn)
    for tile in range(ct.bid(0), columns * ct.cdiv(a.shape[0], tm), ct.num_blocks(0)):
        i, j = tile // columns, tile % columns
        total = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.cdiv(a.shape[1], tk)):
            left = ct.load(a, (i, k), (tm, tk), padding_mode=ZERO)
            total = ct.mma(left, ct.load(b, (k, j), (tk, tn), padding_mode=ZERO), total)
        ct.store(c, (i, j), ct.astype(total, c.dtype))


@ct.kernel
def split_product(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """A quarter of k in each tile block, added up by atomics."""
    i, j, part = ct.bid(0), ct.bid(1), ct.bid(2)
    count = a.shape[1] // tk // 4
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(part * count, part * count + count):
        total = ct.mma(ct.load(a, (i, k), (tm, tk)), ct.load(b, (k, j), (tk, tn)), total)
    rows, columns = ct.arange(tm, dtype=ct.int32) + i * tm, ct.arange(tn, dtype=ct.int32) + j * tn
    ct.atomic_add(c, (rows[:, None], columns[None, :]), total)


@ct.kernel
def small_products(a, b, c, side: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(c, (i, 0, 0), ct.matmul(ct.load(a, (i, 0, 0), (1, side, side)), ct.load(b, (i, 0, 0), (1, side, side))))
