"""Triton's own tests that cannot pass here, and why: each is a pattern for the names of tests."""

from __future__ import annotations

EXCEPTIONS: list[tuple[str, str]] = [
    (r"test_compile_only\.py|test_line_info\.py|test_pipeliner\.py|test_reproducer\.py", "is about code for a GPU"),
    (r"test_warp_specialization\.py|test_clc\.py", "is about code for a GPU"),
]
