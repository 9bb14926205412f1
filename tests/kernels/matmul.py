"""Matrix products: `mmaf` and `mmai` on every element type that has one, in loops, batched, with entry hints."""

import cuda.tile as ct
from tests.kernels.case import SINCE_13_3, KernelCase, array, scalar


@ct.kernel
def matmul(a, b, out, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    accumulator = ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(a, 1, (M, K))):
        left = ct.load(a, (row, k), (M, K), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, column), (K, N), padding_mode=ct.PaddingMode.ZERO)
        # tileir: ignore[f32-matmul]: it is what is tested
        accumulator = ct.mma(left, right, accumulator)
    ct.store(out, (row, column), accumulator.astype(out.dtype))


@ct.kernel(num_ctas=2, occupancy=1)
def matmul_of_transposed(a, b, out):
    row, column = ct.bid(0), ct.bid(1)
    accumulator = ct.full((64, 64), 0, ct.float32)
    for k in range(ct.cdiv(a.shape[1], 32)):
        left = ct.load(a, (row, k), (64, 32), latency=3)
        right = ct.load(b, (k, column), (32, 64), order=(1, 0), latency=5, allow_tma=False)
        accumulator = ct.mma(left, right, accumulator)
    ct.store(out, (row, column), accumulator.astype(out.dtype), allow_tma=True)


@ct.kernel(num_ctas=ct.ByTarget(sm_100=4, sm_120=2, default=1), occupancy=ct.ByTarget(sm_90=2))
def persistent_matmul(a, b, out):
    """Each block walks over output tiles, grouped so that neighbors share columns."""
    rows = ct.num_tiles(a, 0, (64, 32))
    columns = ct.num_tiles(b, 1, (32, 64))
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        group = tile // (columns * 8)
        first = group * 8
        height = min(rows - first, 8)
        row = first + (tile % (columns * 8)) % height
        column = (tile % (columns * 8)) // height
        accumulator = ct.zeros((64, 64), ct.float32)
        for k in range(ct.num_tiles(a, 1, (64, 32))):
            accumulator = ct.mma(
                ct.load(a, (row, k), (64, 32)).astype(ct.tfloat32),
                ct.load(b, (k, column), (32, 64)).astype(ct.tfloat32),
                accumulator,
            )
        ct.store(out, (row, column), accumulator)


@ct.kernel(num_worker_warps=ct.ByTarget(sm_100=8, default=4), opt_level=2)
def batched_matmul(a, b, out):
    batch = ct.bid(0)
    left = ct.load(a, (batch, 0, 0), (2, 16, 32))
    right = ct.load(b, (batch, 0, 0), (2, 32, 16))
    ct.store(out, (batch, 0, 0), left @ right)


@ct.kernel
def integer_matmul(a, b, out):
    accumulator = ct.zeros((32, 32), ct.int32)
    left = ct.load(a, (0, 0), (32, 64))
    right = ct.load(b, (0, 0), (64, 32))
    ct.store(out, (0, 0), ct.mma(left, right, accumulator))


@ct.kernel
def vector_products(a, x, out, alpha):
    matrix = ct.load(a, (ct.bid(0), 0), (16, 64))
    vector = ct.load(x, (0,), (64,))
    # tileir: ignore[f32-matmul]: it is what is tested
    product = ct.matmul(matrix, vector) * alpha
    # tileir: ignore[f32-matmul]: it is what is tested
    norm = vector @ vector
    ct.store(out, (ct.bid(0),), product + norm)


@ct.kernel
def matmul_half_accumulator(a, b, out):
    left = ct.load(a, (0, 0), (32, 32))
    right = ct.load(b, (0, 0), (32, 32))
    accumulator = ct.zeros((32, 32), ct.float16)
    ct.store(out, (0, 0), ct.mma(left, right, accumulator))


@ct.kernel
def attention(q, k, v, out, scale, CAUSAL: ct.Constant[bool]):
    """Softmax of a row block computed online: three loop-carried values."""
    block = ct.bid(0)
    query = ct.load(q, (block, 0), (64, 32))
    peak = ct.full((64, 1), -float("inf"), ct.float32)
    total = ct.zeros((64, 1), ct.float32)
    accumulator = ct.zeros((64, 32), ct.float32)
    rows = block * 64 + ct.arange(64, dtype=ct.int32)[:, None]
    stop = block + 1 if CAUSAL else ct.num_tiles(k, 0, (64, 32))
    for step in range(stop):
        keys = ct.load(k, (0, step), (32, 64), order=(1, 0), latency=2)
        score = ct.mma(query, keys, ct.zeros((64, 64), ct.float32)) * (scale * 1.44269504)
        if CAUSAL:
            columns = step * 64 + ct.arange(64, dtype=ct.int32)[None, :]
            score = ct.where(rows >= columns, score, -float("inf"))
        higher = ct.maximum(peak, ct.max(score, axis=1, keepdims=True))
        weights = ct.exp2(score - higher, flush_to_zero=True)
        shrink = ct.exp2(peak - higher, flush_to_zero=True)
        total = total * shrink + ct.sum(weights, axis=1, keepdims=True)
        values = ct.load(v, (step, 0), (64, 32), latency=4)
        accumulator = ct.mma(weights.astype(values.dtype), values, accumulator * shrink)
        peak = higher
    result = ct.truediv(accumulator, total, rounding_mode=ct.RoundingMode.APPROX, flush_to_zero=True)
    ct.store(out, (block, 0), result.astype(out.dtype))


F16, BF16, F32 = array(ct.float16, 2), array(ct.bfloat16, 2), array(ct.float32, 2)
ALIGNED = {"shape_divisible_by": 16, "stride_divisible_by": (16, 1), "base_divisible_by": 128}
ALIGNED_F16 = array(ct.float16, 2, **ALIGNED)

CASES = [
    KernelCase("matmul_f16", matmul, (ALIGNED_F16, ALIGNED_F16, ALIGNED_F16, 64, 64, 32)),
    KernelCase("matmul_bf16", matmul, (BF16, BF16, F32, 128, 64, 64)),
    KernelCase("matmul_f32", matmul, (F32, F32, F32, 16, 16, 16)),
    KernelCase("matmul_of_transposed", matmul_of_transposed, (F16, F16, F16)),
    KernelCase("matmul_of_transposed_sm_100", matmul_of_transposed, (BF16, BF16, BF16), architecture="sm_100"),
    KernelCase("persistent_matmul", persistent_matmul, (F32, F32, F32)),
    KernelCase("persistent_matmul_sm_120", persistent_matmul, (F32, F32, F32), ("13.1",), architecture="sm_120"),
    KernelCase("batched_matmul_f16", batched_matmul, (array(ct.float16, 3),) * 3, SINCE_13_3),
    KernelCase("batched_matmul_f64", batched_matmul, (array(ct.float64, 3),) * 3, SINCE_13_3),
    KernelCase("integer_matmul_signed", integer_matmul, (*(array(ct.int8, 2),) * 2, array(ct.int32, 2))),
    KernelCase("integer_matmul_unsigned", integer_matmul, (*(array(ct.uint8, 2),) * 2, array(ct.int32, 2))),
    KernelCase("integer_matmul_mixed", integer_matmul, (array(ct.uint8, 2), array(ct.int8, 2), array(ct.int32, 2))),
    KernelCase("vector_products", vector_products, (F32, array(ct.float32), array(ct.float32), scalar(ct.float32))),
    KernelCase("matmul_half_accumulator", matmul_half_accumulator, (F16, F16, F16)),
    KernelCase("attention", attention, (F16, F16, F16, F16, scalar(ct.float32), False)),
    KernelCase("attention_causal", attention, (BF16, BF16, BF16, BF16, scalar(ct.float32), True)),
]
