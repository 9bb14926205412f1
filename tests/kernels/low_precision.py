"""Eight and four bit floats: conversion, matrix products, and products with block scales."""

# tileir: ignore-file[unsupported-on-target]: cuTile has formats that only later GPUs will have

import cuda.tile as ct
from tests.kernels.case import ALL_VERSIONS, SINCE_13_2, SINCE_13_3, SINCE_13_4, KernelCase, array

E4M3, E5M2, E2M1 = ct.float8_e4m3fn, ct.float8_e5m2, ct.float4_e2m1fn
E8M0, E5M3 = ct.float8_e8m0fnu, ct.float8_e5m3fnu
INF, NAN = float("inf"), float("nan")


@ct.kernel
def quantize(a, out, scale: ct.Constant[float]):
    t = ct.load(a, (ct.bid(0), 0), (16, 64)).astype(ct.float32)
    peak = ct.max(abs(t), axis=1, keepdims=True)
    ct.store(out, (ct.bid(0), 0), (t * (scale / peak)).astype(out.dtype))


@ct.kernel
def dequantize(a, out):
    ct.store(out, (0, 0), ct.load(a, (0, 0), (16, 64)).astype(out.dtype))


@ct.kernel
def fp8_matmul(a, b, out, FAST: ct.Constant[bool]):
    accumulator = ct.zeros((32, 32), out.dtype)
    for k in range(ct.num_tiles(a, 1, (32, 64))):
        left = ct.load(a, (0, k), (32, 64))
        right = ct.load(b, (k, 0), (64, 32))
        if FAST:
            accumulator = ct.mma(left, right, accumulator, use_fast_acc=True)
        else:
            accumulator = ct.mma(left, right, accumulator)
    ct.store(out, (0, 0), accumulator)


@ct.kernel
def scaled_matmul(a, a_scale, b, b_scale, out, K: ct.Constant[int], BLOCK: ct.Constant[int]):
    left = ct.load(a, (0, 0), (32, K))
    right = ct.load(b, (0, 0), (K, 32))
    left_scale = ct.load(a_scale, (0, 0), (32, K // BLOCK))
    right_scale = ct.load(b_scale, (0, 0), (K // BLOCK, 32))
    ct.store(out, (0, 0), ct.mma_scaled(left, left_scale, right, right_scale, ct.zeros((32, 32), ct.float32)))


@ct.kernel
def scaled_matmul_of_packed(a, a_scale, b, b_scale, out, BLOCK: ct.Constant[int]):
    """Four bit operands travel as bytes, two to each."""
    left = ct.unpack_from_bytes(ct.load(a, (0, 0), (32, 64)).reshape((-1,)), E2M1).reshape((32, 128))
    right = ct.unpack_from_bytes(ct.load(b, (0, 0), (32, 64)).reshape((-1,)), E2M1).reshape((32, 128)).transpose()
    left_scale = ct.load(a_scale, (0, 0), (32, 128 // BLOCK))
    right_scale = ct.load(b_scale, (0, 0), (32, 128 // BLOCK)).transpose()
    ct.store(out, (0, 0), ct.mma_scaled(left, left_scale, right, right_scale, ct.zeros((32, 32), ct.float32)))


@ct.kernel
def batched_scaled_matmul(a, a_scale, b, b_scale, out):
    left = ct.load(a, (0, 0, 0), (2, 16, 64))
    right = ct.load(b, (0, 0, 0), (1, 64, 16))
    left_scale = ct.load(a_scale, (0, 0, 0), (2, 16, 2))
    right_scale = ct.load(b_scale, (0, 0, 0), (1, 2, 16))
    ct.store(out, (0, 0, 0), ct.mma_scaled(left, left_scale, right, right_scale, ct.zeros((2, 16, 16), ct.float32)))


@ct.kernel
def microscale(a, data, scales):
    """Split into a power-of-two scale per block of 32 and an eight bit remainder."""
    t = ct.load(a, (0, 0), (16, 128)).reshape((16, 4, 32))
    peak = ct.max(abs(t), axis=2, keepdims=True)
    scale = ct.astype(peak / 448.0, E8M0, rounding_mode=ct.RoundingMode.RP)
    lower = ct.astype(peak, E8M0, rounding_mode=ct.RoundingMode.RZ).astype(ct.float32)
    quotient = t / scale.astype(ct.float32) + lower
    ct.store(data, (0, 0), quotient.reshape((16, 128)).astype(E4M3))
    ct.store(scales, (0, 0), scale.reshape((16, 4)))


@ct.kernel
def constants(out, A: ct.Constant[float], B: ct.Constant[float], C: ct.Constant[float]):
    t = ct.full((16,), A, out.dtype)
    lanes = ct.arange(16, dtype=ct.int32)
    t = ct.where(lanes > 2, ct.full((16,), B, out.dtype), t)
    t = ct.where(lanes > 4, ct.full((16,), C, out.dtype), t)
    ct.store(out, (0,), t)


@ct.kernel
def packed_four_bits(a, out):
    t = ct.load(a, (0,), (64,)).astype(E2M1)
    limit = ct.full((64,), -6.0, E2M1).astype(ct.float32)
    ct.store(out, (0,), ct.pack_to_bytes((t.astype(ct.float32) + limit).astype(E2M1)))


F32 = array(ct.float32, 2)
BYTES = array(ct.uint8, 2)

CASES = [
    KernelCase("quantize_e4m3", quantize, (array(ct.bfloat16, 2), array(E4M3, 2), 448.0)),
    KernelCase("quantize_e5m2", quantize, (array(ct.float16, 2), array(E5M2, 2), 57344.0)),
    KernelCase("dequantize_e4m3", dequantize, (array(E4M3, 2), array(ct.float16, 2))),
    KernelCase("dequantize_e5m2", dequantize, (array(E5M2, 2), array(ct.bfloat16, 2))),
    KernelCase("dequantize_e8m0", dequantize, (array(E8M0, 2), F32), SINCE_13_2, architecture="sm_100"),
    KernelCase("dequantize_e5m3", dequantize, (array(E5M3, 2), F32), SINCE_13_4, symbol="dequantize_e5m3"),
    KernelCase("quantize_e5m3", quantize, (F32, array(E5M3, 2), 114688.0), SINCE_13_4, symbol="quantize_e5m3"),
    KernelCase("fp8_matmul_e4m3", fp8_matmul, (array(E4M3, 2), array(E4M3, 2), F32, False)),
    KernelCase("fp8_matmul_e5m2_f16", fp8_matmul, (array(E5M2, 2), array(E5M2, 2), array(ct.float16, 2), False)),
    KernelCase("fp8_matmul_fast", fp8_matmul, (array(E4M3, 2), array(E4M3, 2), F32, True), SINCE_13_3),
    *(
        KernelCase(
            f"scaled_matmul_{dtype.name}",
            scaled_matmul,
            (array(dtype, 2), array(E8M0, 2), array(dtype, 2), array(E8M0, 2), F32, width, 32),
            SINCE_13_3,
        )
        for dtype, width in ((E4M3, 64), (E5M2, 128))
    ),
    *(
        KernelCase(
            f"scaled_matmul_of_packed_{scale.name}_{block}",
            scaled_matmul_of_packed,
            (BYTES, array(scale, 2), BYTES, array(scale, 2), F32, block),
            versions,
            symbol="scaled_matmul_of_packed",
        )
        for scale, block, versions in (
            (E8M0, 32, SINCE_13_3),
            (E8M0, 16, SINCE_13_3),
            (E4M3, 16, SINCE_13_3),
            (E5M3, 16, SINCE_13_4),
        )
    ),
    KernelCase(
        "batched_scaled_matmul",
        batched_scaled_matmul,
        (array(E4M3, 3), array(E8M0, 3), array(E4M3, 3), array(E8M0, 3), array(ct.float32, 3)),
        SINCE_13_3,
    ),
    KernelCase("microscale", microscale, (F32, array(E4M3, 2), array(E8M0, 2)), SINCE_13_3),
    *(
        KernelCase(f"constants_in_{dtype.name}", constants, (array(dtype), *values), versions, "sm_100", "constants")
        for dtype, values, versions in (
            (E4M3, (448.0, -0.017578125, NAN), ALL_VERSIONS),
            (E5M2, (-57344.0, 1.1, INF), ALL_VERSIONS),
            (E8M0, (2.0**127, 2.0**-126, NAN), SINCE_13_2),
            # tileirdisasm 13.4 crashes on constants of this type from 2.0 on.
            (E5M3, (1.875, 2.0**-14, 0.1), SINCE_13_4),
        )
    ),
    KernelCase("packed_four_bits", packed_four_bits, (array(ct.float32), array(ct.uint8)), SINCE_13_3),
]
