"""K-loops through pointers beside the loop as it is: each launch takes the one that suits it."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from tests.execute.cpu.pointer_products import program

import tileir

pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite")

TILE = (16, 32, 8)
SIZES = (48, 96, 24)
GRID = (3, 3)
STRIDED = program(TILE, adds=False, columns="%n")
"""The columns of B are `n` elements apart: with 1 it is a k-loop."""

Arrays = list[numpy.ndarray]


def compiled(text: str, backend: str = "cpu") -> tileir.Kernel:
    return tileir.compile(tileir.parse(text), backend=backend, exact=True)


def matrices(columns: int = 1) -> Arrays:
    m, n, k = SIZES
    random = numpy.random.default_rng(columns)
    return [random.standard_normal(shape).astype("f4") for shape in ((m, k), (k, n * columns), (m, n))]


def numbers(columns: int) -> tuple[int, ...]:
    m, n, k = SIZES
    return m, columns, k, k, n * columns, n


def wanted(columns: int) -> bytes:
    arrays = matrices(columns)
    compiled(STRIDED, "interpreter").launch(GRID, (*arrays, *numbers(columns)))
    return arrays[2].tobytes()


def found(kernel: tileir.Kernel, columns: int, **options: Any) -> bytes:
    arrays = matrices(columns)
    kernel.launch(GRID, (*arrays, *numbers(columns)), **options)
    return arrays[2].tobytes()


@pytest.mark.parametrize("threads", [1, 4])
def test_each_launch_takes_the_loop_that_suits_it(threads: int) -> None:
    kernel = compiled(STRIDED)
    for columns in (1, 2, 1):
        assert found(kernel, columns, threads=threads) == wanted(columns)


@pytest.mark.parametrize("masks", ["", "mnk"])
@pytest.mark.parametrize("short", range(3))
def test_mistakes_are_those_of_the_interpreter(short: int, masks: str) -> None:
    """One of the arrays ends a row too soon: tile blocks before the last row of them have run by then."""
    text = program(TILE, masks=masks, adds=False)
    said = []
    for backend in ("cpu", "interpreter"):
        arrays = matrices()
        arrays[short] = arrays[short][:-1]
        kernel = compiled(text, backend)
        for _ in range(2):
            with pytest.raises(tileir.ExecutionError) as caught:
                kernel.launch(GRID, (*arrays, *SIZES, SIZES[2], SIZES[1], SIZES[1]), threads=1)
            said.append((str(caught.value).split(" at address")[0], arrays[2].tobytes() if backend == "cpu" else b""))
    assert len({words for words, _ in said}) == 1
    assert said[0] == said[1]


def test_of_two_mistakes_the_first_is_told() -> None:
    """Of a tile block that reads too far and of one before that writes too far."""
    text = program(TILE, adds=False)
    said = []
    for backend in ("cpu", "interpreter"):
        a, b, c = matrices()
        with pytest.raises(tileir.ExecutionError) as caught:
            compiled(text, backend).launch(GRID, (a[:-1], b, c[:20], *SIZES, SIZES[2], SIZES[1], SIZES[1]), threads=1)
        said.append(str(caught.value).split(" at address")[0])
    assert said[0] == said[1]
    assert "store" in said[0]


def test_a_store_that_leaves_its_array_is_seen_by_later_loads() -> None:
    """The three arrays follow each other in memory.  The second tile block writes to B behind C, and the third reads C
    behind A, which is no k-loop."""
    m, n, k = SIZES
    results = []
    for backend in ("cpu", "interpreter"):
        a, b, c = (each.ravel() for each in matrices())
        a, memory = a[: 40 * k], numpy.concatenate([a[: 40 * k], c, b, c])
        arrays = [memory[: a.size], memory[a.size + c.size :], memory[a.size : a.size + c.size]]
        compiled(program(TILE, adds=False), backend).launch((3, 1), (*arrays, m, n, k, k, n, 2 * n), threads=1)
        results.append(memory.tobytes())
    assert results[0] == results[1]
