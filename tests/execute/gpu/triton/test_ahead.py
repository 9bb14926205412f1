"""Code that is compiled ahead is the code that the launch takes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.execute.gpu.triton.lowered_programs import loading

import tileir
from tileir.execute.gpu.triton.kernel import TritonKernel, compile_ahead
from tileir.execute.gpu.triton.toolchain import triton_target
from tileir.execute.launching.entries import select_entry

ADD = loading("partition_view<tile=(256), padding_value = zero, tensor_view<?xf32, strides=[1]>>", "%x")


@pytest.mark.parametrize(("start", "count"), [(0, 1024), (4, 1024), (0, 1001)])
def test_the_launch_finds_it(triton: None, start: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = [(1 << 40) + start, 2 << 40, count]
    made = compile_ahead(select_entry(tileir.parse(ADD), None), "sm_90", values)
    assert made.specialization.divisors == (start or 16, 16, 16 if count % 16 == 0 else 1)

    def not_again(*given: Any) -> None:
        raise AssertionError("it is in the cache")

    kernel = TritonKernel(select_entry(tileir.parse(ADD), None), {})
    monkeypatch.setattr("tileir.execute.gpu.triton.compiler.make", not_again)
    found = kernel.compiled(triton_target("sm_90"), made.specialization)
    assert found.cubin.data == made.cubin.data
