"""Loads and stores through pointers, and through gather-scatter views."""

import cuda.tile as ct
from tests.kernels.case import SINCE_13_3, KernelCase, array, scalar


@ct.kernel
def permuted_copy(source, indices, out):
    where = ct.load(indices, (ct.bid(0),), (64,))
    ct.scatter(out, where, ct.gather(source, where))


@ct.kernel
def transposed_copy(source, out):
    row = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)[:, None]
    column = ct.bid(1) * 32 + ct.arange(32, dtype=ct.int32)[None, :]
    t = ct.gather(source, (row, column), padding_value=-1, latency=4)
    ct.scatter(out, (column, row), t, latency=7)


@ct.kernel
def masked_copy(source, out, bound):
    lanes = ct.arange(64, dtype=ct.int64)
    keep = lanes < bound
    t = ct.gather(source, lanes, mask=keep, padding_value=ct.full((64,), 2, source.dtype), check_bounds=False)
    t += ct.gather(source, lanes, check_bounds=False)
    # tileir: ignore[dead-store]: every way to scatter
    ct.scatter(out, lanes, t, mask=keep)
    ct.scatter(out, lanes, t, check_bounds=False)


@ct.kernel
def single_elements(source, out, at):
    value = ct.gather(source, (at, 0)) * ct.gather(source, (0, at), check_bounds=False)
    ct.scatter(out, at, value)


@ct.kernel
def embedding(table, tokens, out):
    rows = ct.load(tokens, (ct.bid(0),), (8,))
    t = ct.load_advanced_indexing(table, (rows, ct.Slice(0, 64)), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (ct.bid(0), 0), t)


@ct.kernel
def sparse_columns(source, columns, out):
    chosen = ct.load(columns, (0,), (16,))
    t = ct.load_advanced_indexing(source, (ct.Slice(ct.bid(0) * 8, 8), chosen), latency=3, allow_tma=False)
    # tileir: ignore[same-store-in-every-block]: launched as one tile block
    ct.store_advanced_indexing(out, (ct.Slice(0, 8), chosen), t, latency=2)
    # tileir: ignore[same-store-in-every-block]: launched as one tile block
    ct.store_advanced_indexing(out, (chosen.extract((0,), (8,)), ct.Slice(4, 16)), t)


@ct.kernel
def sparse_planes(source, planes, out):
    chosen = ct.load(planes, (0,), (4,))
    index = (ct.Slice(0, 2), chosen, ct.Slice(ct.bid(0) * 16, 16))
    # tileir: ignore[same-store-in-every-block]: launched as one tile block
    ct.store(out, (0, 0, 0), ct.load_advanced_indexing(source, index, padding_mode=ct.PaddingMode.NEG_ZERO))


@ct.kernel
def histogram(values, counts):
    t = ct.load(values, (ct.bid(0),), (256,), padding_mode=ct.PaddingMode.NEG_INF)
    bucket = ct.floor(t * 16.0).astype(ct.int32)
    inside = (bucket >= 0) & (bucket < 16)
    ct.atomic_add(counts, ct.where(inside, bucket, -1), 1, memory_order=ct.MemoryOrder.RELAXED)


F32, I32 = array(ct.float32), array(ct.int32)

CASES = [
    KernelCase("permuted_copy_f32", permuted_copy, (F32, I32, F32)),
    KernelCase("permuted_copy_bool", permuted_copy, (array(ct.bool_), I32, array(ct.bool_))),
    KernelCase(
        "permuted_copy_u16_unaligned",
        permuted_copy,
        (array(ct.uint16, base_divisible_by=1), array(ct.uint32), array(ct.uint16)),
    ),
    KernelCase("transposed_copy_f16", transposed_copy, (array(ct.float16, 2), array(ct.float16, 2, contiguous=False))),
    KernelCase("transposed_copy_i8", transposed_copy, (array(ct.int8, 2), array(ct.int8, 2, index_dtype=ct.int64))),
    KernelCase("masked_copy_f64", masked_copy, (array(ct.float64), array(ct.float64), scalar(ct.int64))),
    KernelCase("masked_copy_i32", masked_copy, (I32, I32, scalar(ct.int32))),
    KernelCase("single_elements", single_elements, (array(ct.float32, 2), F32, scalar(ct.int32))),
    KernelCase("embedding", embedding, (array(ct.bfloat16, 2), I32, array(ct.bfloat16, 2)), SINCE_13_3),
    KernelCase("sparse_columns", sparse_columns, (array(ct.float32, 2), I32, array(ct.float32, 2)), SINCE_13_3),
    KernelCase("sparse_planes", sparse_planes, (array(ct.float16, 3), I32, array(ct.float16, 3)), SINCE_13_3),
    KernelCase("histogram", histogram, (F32, I32)),
]
