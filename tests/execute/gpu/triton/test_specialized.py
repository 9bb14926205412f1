"""Kernels with warps that load and warps that compute."""

from __future__ import annotations

import functools
import re

import pytest
from tests.execute.gpu.triton.attention_programs import attention
from tests.execute.gpu.triton.uniform_registers import undefined_reads

import tileir
from tileir.execute.gpu.nvidia_tools import disassembled
from tileir.execute.gpu.triton.code import CodeOptions, Limits, Schedule
from tileir.execute.gpu.triton.compiler import Made, make, stage_text
from tileir.execute.gpu.triton.toolchain import triton_target
from tileir.execute.gpu.triton.ttgir.plan import Copies, rotation_of
from tileir.execute.gpu.triton.ttgir.specialize import specialize
from tileir.execute.gpu.triton.ttgir.text import Kernel, Loop, Unfit, split_list
from tileir.execute.launching.entries import select_entry

pytestmark = pytest.mark.usefixtures("triton")
SPECIALIZED = CodeOptions(schedule=Schedule(num_warps=8, num_stages=2, warp_specialize=True))
SHARED = 227 * 1024


def made(program: tileir.Operation, target: str = "sm_90") -> Made:
    return make(select_entry(program, None), triton_target(target), SPECIALIZED)


def ttgir(program: tileir.Operation, options: CodeOptions = SPECIALIZED) -> str:
    return stage_text(select_entry(program, None), triton_target("sm_90"), options, "ttgir", Limits())


@functools.cache
def waiting() -> str:
    """What is changed: TTGIR in which everything is waited for."""
    return ttgir(attention(512, 64, 128, 128), CodeOptions(schedule=Schedule(num_warps=8, num_stages=1)))


@pytest.mark.parametrize(
    ("depth", "causal"),
    [
        (64, False),
        pytest.param(64, True, marks=pytest.mark.long),
        pytest.param(128, False, marks=pytest.mark.long),
        pytest.param(128, True, marks=pytest.mark.long),
    ],
)
def test_attention_has_two_groups_that_compute(depth: int, causal: bool) -> None:
    found = made(attention(512, depth, 128, 128, causal))
    assert found.code is not None and found.resources is not None
    assert found.code.threads == 384
    assert found.code.notes == ()
    assert not found.resources.spills
    # Descriptors of queries and of the result are those of a group, of keys and values those of all.
    boxes = [slot.content.box for slot in found.code.slots if slot.kind == "descriptor"]
    assert sorted(boxes) == [(1, 64, 64), (1, 64, 64), (1, 128, 64), (1, 128, 64)]
    sass = disassembled(found.code.cubin)
    assert "USETMAXREG" in sass
    assert undefined_reads(sass) == []
    # No product is waited for before the next may start: the waits are those of the text.
    loops = 2 if causal else 1
    assert len(re.findall(r"WARPGROUP\.DEPBAR", sass)) <= 2 * 4 * loops


def test_the_second_product_of_an_iteration_runs_while_the_next_begins() -> None:
    text = specialize(waiting(), 2, SHARED)
    assert text.count("ttg.warp_specialize(") == 1
    assert len(re.findall(r"warp_group_dot_wait \S+ {pendings = 1 : i32}", text)) == 2
    kernel_loops = [line for line in text.splitlines() if "scf.for" in line]
    assert len(kernel_loops) == 3
    assert text.count("scf.if") == 2, "a loop of each group may have no iteration"


def test_where_it_cannot_be_the_kernel_is_as_any_other_and_says_so() -> None:
    found = made(attention(512, 64, 64, 64))
    assert found.code is not None
    assert found.code.threads == 256
    assert found.code.notes == ("no warps are specialized: what is loaded has no rows for two groups",)
    other = made(attention(512, 64, 128, 64), "sm_80")
    assert other.code is not None
    assert other.code.notes == ("no warps are specialized: sm_80 has no matmuls by groups of warps",)


def test_rotation_is_of_loops_of_two_products_only() -> None:
    kernel = Kernel(waiting())
    copies = Copies(kernel)
    loop = next(each for each in kernel.body.statements if isinstance(each, Loop))
    found = rotation_of(loop, copies)
    assert found is not None
    assert [copy.loops for copy in found.copies] == [1, 1]
    assert [each.name for each in found.update][-1] == "arith.mulf"
    loop.regions[0].statements.remove(found.waits[1])
    assert rotation_of(loop, copies) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("arith.truncf ", "tt.histogram "), "'tt.histogram' may mix rows"),
        (("axis = 1 : i32}> ({", "axis = 0 : i32}> ({"), "it reduces along rows"),
        (("warpsPerCTA = [8, 1]", "warpsPerCTA = [4, 2]"), "it has no matmul of eight warps"),
        (("ttng.async_tma_copy_global_to_local", "ttng.other"), "it has barriers of its own"),
    ],
)
def test_what_does_not_fit_says_why(change: tuple[str, str], words: str) -> None:
    text = waiting()
    assert change[0] in text
    with pytest.raises(Unfit, match=re.escape(words)):
        specialize(text.replace(*change), 2, SHARED)


def test_fewer_tiles_are_loaded_ahead_where_shared_memory_ends() -> None:
    text = waiting()
    assert "memdesc<4x128x64xf16" in specialize(text, 4, SHARED)
    assert "memdesc<2x128x64xf16" in specialize(text, 4, 100 * 1024)
    with pytest.raises(Unfit, match="its tiles do not fit into shared memory"):
        specialize(text, 4, 48 * 1024)


def test_lists_of_types_are_split_outside_of_brackets() -> None:
    assert split_list("tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, i32, (a, b) -> c") == [
        "tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>",
        "i32",
        "(a, b) -> c",
    ]
    assert split_list("") == []
