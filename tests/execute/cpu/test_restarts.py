"""Launches that begin again with another version: what they leave behind is what one version would have left."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import pytest
from tests.execute.cpu.native import cpu_kernel
from tests.execute.cpu.pointer_products import program

import tileir

pytest.importorskip("llvmlite", reason="the CPU engine needs llvmlite")

from tileir.execute.cpu.code import Version

TILE = (16, 32, 8)
SIZES = (48, 96, 24)
GRID = (3, 3)
STRIDED = program(TILE, adds=False, columns="%n")
"""The columns of B are `n` elements apart: with 1 it is a chain."""

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
    compiled(STRIDED, "interpreter").launch(GRID, *arrays, *numbers(columns))
    return arrays[2].tobytes()


def found(kernel: tileir.Kernel, columns: int, **options: Any) -> bytes:
    arrays = matrices(columns)
    kernel.launch(GRID, *arrays, *numbers(columns), **options)
    return arrays[2].tobytes()


def version_of(kernel: tileir.Kernel, unchecked: bool = False) -> Version:
    return cpu_kernel(kernel).version(False, False, unchecked)


def test_the_loop_beside_a_chain_is_made_when_a_launch_needs_it() -> None:
    kernel = compiled(STRIDED)
    assert found(kernel, 1) == wanted(1)
    first = version_of(kernel)
    assert first.may_restart
    assert found(kernel, 2) == wanted(2)
    second = version_of(kernel)
    assert not second.may_restart
    # Both are done by that from now on.
    assert [found(kernel, columns) for columns in (1, 2)] == [wanted(columns) for columns in (1, 2)]
    assert version_of(kernel) is second


@pytest.mark.parametrize("threads", [1, 4])
def test_it_is_made_by_the_first_launch_too(threads: int) -> None:
    kernel = compiled(STRIDED)
    assert found(kernel, 2, num_threads=threads) == wanted(2)
    assert not version_of(kernel).may_restart


def test_the_code_that_may_begin_again_has_no_other_loop() -> None:
    kernel = cpu_kernel(compiled(STRIDED))
    short, whole = (kernel.lower(kernel._options(False, False, False, whole)).text for whole in (False, True))
    assert "bounds.elements" not in short
    assert "bounds.elements" in whole
    assert 4 * len(short) < 3 * len(whole)


def test_launches_of_several_threads_at_once() -> None:
    kernel = compiled(STRIDED)
    results: dict[int, list[bytes]] = {}
    begin = threading.Barrier(4)

    def work(number: int) -> None:
        begin.wait()
        results[number] = [found(kernel, 1 + (number + turn) % 2) for turn in range(4)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    both = wanted(1), wanted(2)
    assert results == {number: [both[(number + turn) % 2] for turn in range(4)] for number in range(4)}


def test_a_bound_launch_begins_again() -> None:
    kernel = compiled(STRIDED)
    arrays = matrices(2)
    launch = kernel.bind(GRID, *arrays, *numbers(2))
    for _ in range(3):
        arrays[2][:] = 7
        launch()
        assert arrays[2].tobytes() == wanted(2)


def test_launches_that_others_wait_for_never_begin_again() -> None:
    kernel = compiled(STRIDED)
    again = matrices(2)
    with tileir.overlap():
        kernel.launch(GRID, *again, *numbers(2))
    assert not version_of(kernel).may_restart
    assert again[2].tobytes() == wanted(2)


def test_progress_does_not_go_back() -> None:
    kernel = compiled(STRIDED)
    told: list[int] = []
    assert found(kernel, 2, progress=lambda done, _: told.append(done)) == wanted(2)
    assert told == sorted(told)
    assert not version_of(kernel).may_restart


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
                kernel.launch(GRID, *arrays, *SIZES, SIZES[2], SIZES[1], SIZES[1], num_threads=1)
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
            compiled(text, backend).launch(GRID, a[:-1], b, c[:20], *SIZES, SIZES[2], SIZES[1], SIZES[1], num_threads=1)
        said.append(str(caught.value).split(" at address")[0])
    assert said[0] == said[1]
    assert "store" in said[0]


@pytest.mark.parametrize(
    "text",
    [
        program(TILE),
        program(TILE, adds=False).replace("store_ptr_tko weak", "store_ptr_tko release device"),
        program(TILE, adds=False, before='print_tko "%d", %m : tile<i32> -> token'),
        program(TILE, adds=False, before='assert %is, "m" : tile<i1>').replace(
            "assert %is", "%is = cmpi less_than %zero, %m, signed : tile<i32> -> tile<i1>\nassert %is"
        ),
    ],
    ids=["reads what it writes", "orders memory", "prints", "asserts"],
)
def test_what_must_not_be_done_twice_is_not(text: str) -> None:
    kernel = cpu_kernel(compiled(text))
    lowered = kernel.lower(kernel._options(False, False, False))
    assert kernel._options(False, False, False).restarts
    assert not lowered.may_restart


def test_a_store_that_leaves_its_array_begins_again_before_it_is_made() -> None:
    """The three arrays follow each other in memory.  The second tile block writes to B behind C, and the third reads C
    behind A, which is no chain: to begin again only then would read the changed B."""
    m, n, k = SIZES
    results = []
    for backend in ("cpu", "interpreter"):
        a, b, c = (each.ravel() for each in matrices())
        a, memory = a[: 40 * k], numpy.concatenate([a[: 40 * k], c, b, c])
        arrays = [memory[: a.size], memory[a.size + c.size :], memory[a.size : a.size + c.size]]
        compiled(program(TILE, adds=False), backend).launch((3, 1), *arrays, m, n, k, k, n, 2 * n, num_threads=1)
        results.append(memory.tobytes())
    assert results[0] == results[1]


def test_unchecked_loads_beside_the_chain_keep_it_whole() -> None:
    """Nobody sees whether they go to what is written."""
    writer_text = program(TILE, adds=False)
    load = "%extra, %extra.t = load_ptr_tko weak %spread : tile<16x32xptr<f32>> -> tile<16x32xf32>, token"
    spread = (
        "%bias.1 = reshape %b : tile<ptr<f32>> -> tile<1x1xptr<f32>>\n"
        "%spread = broadcast %bias.1 : tile<1x1xptr<f32>> -> tile<16x32xptr<f32>>\n"
        f"{load}\n%sum.0 = addf %sum, %extra rounding<nearest_even> : tile<16x32xf32>\n%stored ="
    )
    text = writer_text.replace("%stored =", spread).replace(", %sum :", ", %sum.0 :")
    for unchecked, restarts in ((False, True), (True, False)):
        kernel = compiled(text)
        assert version_of(kernel, unchecked).may_restart == restarts
    arrays, same = matrices(), matrices()
    compiled(text).launch(GRID, *arrays, *SIZES, SIZES[2], SIZES[1], SIZES[1])
    compiled(text, "interpreter").launch(GRID, *same, *SIZES, SIZES[2], SIZES[1], SIZES[1])
    assert arrays[2].tobytes() == same[2].tobytes()
