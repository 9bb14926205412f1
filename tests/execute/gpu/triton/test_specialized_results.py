"""Kernels with warps that load and warps that compute, run in a model: their results are those of the kernel before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy
import pytest
from tests.execute.gpu.triton.attention_programs import attention, attention_by_first_values
from tests.execute.gpu.triton.evaluating import Memory, run
from tests.execute.gpu.triton.product_programs import matmul
from tests.execute.gpu.triton.ttgir_model import run_specialized

import tileir
from tileir.execute.gpu.triton.code import CodeOptions, Limits, Schedule
from tileir.execute.gpu.triton.compiler import Prepared
from tileir.execute.gpu.triton.toolchain import find_triton, triton_target
from tileir.execute.gpu.triton.ttgir.specialize import specialize
from tileir.execute.gpu.triton.ttgir.text import Unfit
from tileir.execute.launching.entries import select_entry
from tileir.types import f8E4M3FN

pytestmark = pytest.mark.usefixtures("triton")
WAITING = CodeOptions(schedule=Schedule(num_warps=8, num_stages=1))
ORDERS = [(0, 1, 2), (2, 1, 0), (1, 0, 2)]


def prepared(program: tileir.Operation) -> tuple[Any, str]:
    """A lowered kernel, and its TTGIR."""
    found = Prepared(select_entry(program, None), triton_target("sm_90"), WAITING, find_triton())
    return found.lowered, found.compiled("ttgir", Limits()).data.decode()


def check(
    program: tileir.Operation,
    stages: int,
    grid: Sequence[int],
    blocks: Sequence[Sequence[int]],
    shapes: Sequence[tuple[int, ...]],
    dtype: Any = numpy.float16,
    tolerance: float = 0.0,
) -> str:
    """That results are the same bits, or nearly so, whichever group is fast; the text of the kernel."""
    lowered, text = prepared(program)
    changed = specialize(text, stages, 227 * 1024)
    random = numpy.random.default_rng(1)
    given = [random.standard_normal(shape).astype(dtype) for shape in shapes]
    expected = numpy.zeros(shapes[-1], numpy.float16)
    run(lowered, grid, [*given[:-1], expected], Memory())
    for order in ORDERS:
        made = numpy.zeros_like(expected)
        run_specialized(changed, lowered, (*grid, 1, 1)[:3], blocks, order, *given[:-1], made)
        written = made != 0
        assert written.any()
        assert numpy.allclose(made[written], expected[written], rtol=0.0, atol=tolerance)
    return changed


@pytest.mark.sampled(2)
@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    shapes = [(2, 512, 64)] * 4
    blocks = [(0, 0, 0), (3, 1, 0)]
    text = check(attention(512, 64, 128, 128, causal), 2, (4, 2, 1), blocks, shapes)
    assert "pendings = 1" in text


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("rows", "persistent"), [(128, False), (128, True), (256, True)])
def test_products(rows: int, persistent: bool) -> None:
    grid = (1 if persistent else 256 // rows * 2, 1, 1)
    blocks = [(0, 0, 0)] if persistent else [(0, 0, 0), (3, 0, 0)]
    program = matmul(rows, 128, 64, size=256, persistent=persistent)
    text = check(program, 3, grid, blocks, [(256, 256)] * 3)
    assert ("ttg.local_store" in text) == persistent, "what is stored again and again has a buffer of its own"


def test_products_where_one_buffer_is_all_there_is_room_for() -> None:
    check(matmul(128, 128, 64, size=256), 1, (4, 1, 1), [(3, 0, 0)], [(256, 256)] * 3)


@pytest.mark.parametrize("stages", [1, 2])
def test_a_tile_that_is_kept_is_in_no_buffer_that_a_loop_waits_for(stages: int) -> None:
    shapes = [(256, 64), (512, 64), (256, 64)]
    check(attention_by_first_values(512), stages, (2, 1, 1), [(1, 0, 0)], shapes, tolerance=0.01)


def test_loads_that_wait_for_stores_are_not_made_early() -> None:
    program = matmul(128, 128, 64, size=512, persistent=True, ordered=True)
    _, text = prepared(program)
    with pytest.raises(Unfit, match=r"may mix rows|barriers"):
        specialize(text, 3, 227 * 1024)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        # The first product is not done where its result is worked on.
        (("pendings = 1 : i32", "pendings = 2 : i32"), "used before it is waited for"),
        # The last products are not waited for.
        (("pendings = 0 : i32", "pendings = 1 : i32"), "used before it is waited for"),
        # Nobody says that buffers are free.
        (("ttng.arrive_barrier", "ttng.fence_async_shared"), "all groups wait for each other"),
    ],
)
def test_the_model_sees_what_is_wrong(change: tuple[str, str], words: str) -> None:
    lowered, text = prepared(attention(512, 64, 128, 128))
    changed = specialize(text, 2, 227 * 1024)
    assert change[0] in changed
    random = numpy.random.default_rng(1)
    given = [random.standard_normal((2, 512, 64)).astype(numpy.float16) for _ in range(4)]
    with pytest.raises(AssertionError, match=words):
        run_specialized(changed.replace(*change), lowered, (4, 2, 1), [(0, 0, 0)], ORDERS[0], *given)


def test_the_model_sees_that_a_buffer_is_free_too_early() -> None:
    lowered, text = prepared(attention(512, 64, 128, 128))
    changed = specialize(text, 1, 227 * 1024)
    early, count = re.subn(r"( +%\S+ = ttng.warp_group_dot_wait .*\n)( +ttng.arrive_barrier .*\n)", r"\2\1", changed)
    assert count
    random = numpy.random.default_rng(1)
    given = [random.standard_normal((2, 512, 64)).astype(numpy.float16) for _ in range(3)]
    results = [numpy.zeros_like(given[0]) for _ in range(2)]
    for kernel, result in zip((changed, early), results, strict=True):
        run_specialized(kernel, lowered, (4, 2, 1), [(0, 0, 0)], ORDERS[0], *given, result)
    assert not numpy.array_equal(results[0], results[1])


def test_a_mask_that_is_added_to_the_first_product() -> None:
    """Triton makes it what the product adds to."""
    program = attention(512, 64, 128, 128, causal=True, added=True)
    text = check(program, 2, (4, 2, 1), [(0, 0, 0), (3, 1, 0)], [(2, 512, 64)] * 4)
    assert len(re.findall("pendings = 1", text)) == 4


def test_products_of_bytes_are_added_to_sums_with_all_bits() -> None:
    program = matmul(128, 128, 128, size=256, element=f8E4M3FN, persistent=True, transposed=True)
    shapes = [(256, 256)] * 3
    text = check(program, 3, (1, 1, 1), [(0, 0, 0)], shapes, ml_dtypes.float8_e4m3fn, tolerance=0.05)
    assert "pendings = 1" not in text, "each is waited for"
    assert "maxNumImpreciseAcc = 1073741824" in text
    assert "arith.addf" in text
