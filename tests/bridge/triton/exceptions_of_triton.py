"""Triton's own tests that cannot pass here, and why: each is a pattern for the names of tests.

`checkout.py --left-out` runs these alone: one that passes is no exception any more.
"""

from __future__ import annotations

GPU_CODE = "is about code for a GPU"
NEWER = "is written for a frontend newer than Triton 3.9's, which refuses the kernel or accepts it"
OUTSIDE = "accesses memory outside of its arrays, which a GPU does not notice"

EXCEPTIONS: list[tuple[str, str]] = [
    (r"test_compile_only\.py|test_line_info\.py|test_pipeliner\.py|test_reproducer\.py", GPU_CODE),
    (r"test_warp_specialization\.py|test_clc\.py", GPU_CODE),
    (r"test_core\.py::test_atomic_poll_no_timeout_uses_no_shared_memory", GPU_CODE),
    (
        r"test_core\.py::test_tensor_atomic_use_result\[cas-1-b?float16\]",
        "replaces an array of 16 bits by compare and swap: Tile IR has that for 32 bits, which are not all in the array",
    ),
    (r"tutorials/(09-persistent|10-block-scaled)-matmul\.py", "is compared with NVIDIA's cuBLAS, at sizes for a GPU"),
    (
        r"test_tensor_descriptor\.py::test_mxfp8_mxfp4_matmul_tma\[.*-8192-8192-8192",
        "multiplies matrices of 8192 rows, which takes minutes without a GPU",
    ),
    (r"test_libdevice\.py::test_bessel", "calls Bessel functions, which Tile IR cannot express in a few operations"),
    (r"test_conversions\.py::test_typeconvert_upcast\[float8e4b15", "is a conversion that Triton writes in assembly"),
    (r"test_core\.py::test_reduce\[.*-None-True\]", NEWER),
    (r"test_core\.py::test_(inline_asm|globaltimer|smid)", "is about assembly for a GPU, which is refused by name"),
    (r"test_core\.py::test_unroll_attr", "counts the copies of loops that Triton unrolls: here they stay loops"),
    (r"test_frontend\.py::test_named_expr_without_prior_annotation_decays", NEWER),
    (r"test_frontend\.py::test_atomic_poll_rejects_tensor_pointer", NEWER),
    (r"test_annotations\.py::test_int_annotation", OUTSIDE),
    (r"test_matmul\.py::test_blocked_scale_mxfp\[\w+-\d-(256-\d+|\d+-256)-\d+-63-128-", OUTSIDE),
    (
        r"test_subprocess\.py::test_print\[(?!static)",
        "expects one line of output for each element: here a tile is printed as a whole",
    ),
]
