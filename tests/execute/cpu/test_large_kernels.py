"""Kernels with so many loops that LLVM is asked for less: their results are the same."""

from __future__ import annotations

import numpy
import pytest

import tileir
from tileir.execute.cpu.kernel import CpuKernel

pytest.importorskip("llvmlite")


def program(count: int) -> str:
    lines = []
    for i in range(count):
        before = f"%r{i - 1}" if i else "%zero"
        lines.append(
            f"%r{i} = for %i{i} in (%zero to %n, step %one) : tile<i32> iter_values(%a{i} = {before}) -> (tile<i32>) {{\n"
            f"      %s{i} = addi %a{i}, %i{i} : tile<i32>\n      continue %s{i} : tile<i32>\n    }}"
        )
    body = "\n    ".join(lines)
    return (
        "cuda_tile.module @m {\n  entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {\n"
        "    %zero = constant <i32: 0> : tile<i32>\n    %one = constant <i32: 1> : tile<i32>\n"
        f"    {body}\n    %t = store_ptr_tko weak %p, %r{count - 1} : tile<ptr<i32>>, tile<i32> -> token\n"
        "    return\n  }\n}\n"
    )


@pytest.mark.parametrize("count", [30, 70, 150, 2100])
def test_many_loops_give_the_sum_of_all_turns(count):
    kernel = tileir.compile(tileir.parse(program(count)), backend="cpu")
    found = numpy.zeros(1, "i4")
    kernel.launch(1, (found, 7))
    assert found[0] == count * 21


def test_kernels_compiled_after_a_large_one_get_the_full_effort():
    """What a large kernel turns off for itself is on again."""

    def assembly(count: int) -> str:
        module = tileir.parse(program(count))
        entry = next(operation for operation in module.walk() if operation.name == "cuda_tile.entry")
        return CpuKernel(entry, {}).dump("asm")

    before = assembly(100)
    assembly(150)
    assert assembly(100) == before
