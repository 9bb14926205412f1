"""Hints for scripts: applying one removes the finding, and a hint that would not is not given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.bridge.script_runs import HEAD, report, run

pytest.importorskip("cuda.tile", reason="scripts launch cuTile kernels")

GUARD = "  = help: guard the access with `if`, or correct the index: the behavior is undefined, even with padding"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def hints(text: str) -> list[str]:
    """Each help, with its corrected lines."""
    found = "\n".join(report(text, sanitize=True))
    return [each.partition("\n\n")[0] for each in re.split("^(?=  = help: )", found, flags=re.MULTILINE)[1:]]


def corrected(text: str, hint: str) -> str:
    """A script with the corrected lines of a hint."""
    lines = (HEAD + text).splitlines()
    for number, line in re.findall(r"^ *(\d+) \| (.*)$", hint, re.MULTILINE):
        lines[int(number) - 1] = line
    return "\n".join(lines).removeprefix(HEAD) + "\n"


COPY = """
@ct.kernel
def copy(x, out):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, (i, j), ct.load(x, (i, j), (16, 16)))

ct.launch(None, (2, 4), copy, (numpy.zeros((32, 64), "f4"), numpy.zeros((32, 64), "f4")))
"""


def test_swapped_indices_do_not_ask_for_fewer_tile_blocks() -> None:
    hint = f"{GUARD}:\n    7 |     ct.store(out, (i, j), ct.load(x, (i, j), (16, 16)))"
    for access in ("ct.store(out, ", "ct.load(x, "):
        swapped = COPY.replace(f"{access}(i, j)", f"{access}(j, i)")
        assert hints(swapped) == [hint]
        assert corrected(swapped, hint) == COPY
    run(COPY, sanitize=True)


@pytest.mark.parametrize(("grid", "wanted"), [((3, 4), (2, 4, 1)), ((2, 7), (2, 4, 1)), ((5, 5), (2, 4, 1))])
def test_a_grid_that_is_too_large(grid: tuple[int, int], wanted: tuple[int, int, int]) -> None:
    text = COPY.replace("(2, 4)", str(grid))
    hint = f"  = help: launch a grid of {wanted}, or guard the access with `if`"
    # The corrected line stands below the first of the two findings.
    first, second = hints(text)
    assert first.startswith(f"{hint}:\n    9 | ct.launch(")
    assert second == hint
    assert corrected(text, first) == COPY
    run(COPY.replace("(2, 4)", str(wanted)), sanitize=True)


def test_a_grid_that_is_too_large_is_not_rounded_up() -> None:
    text = COPY.replace("(2, 4)", "(n // 8, 4)").replace("ct.launch(", "n = 32\nct.launch(")
    first, second = hints(text)
    assert first.startswith("  = help: launch a grid of (2, 4, 1), or guard the access with `if`:\n   10 | ct.launch(")
    assert "\n" not in second
    run(corrected(text, first), sanitize=True)


LOOP = """
@ct.kernel
def add_up(x, out, count):
    total = ct.zeros((16,), ct.float32)
    for k in range(count):
        total = total + ct.load(x, (k,), (16,))
    ct.store(out, (ct.bid(0),), total)

ct.launch(None, (2,), add_up, (numpy.zeros(64, "f4"), numpy.zeros(32, "f4"), 4))
"""


PERSISTENT = """
@ct.kernel
def add_one(x, out):
    for k in range(2):
        i = ct.bid(0) + k * 8
        ct.store(out, (i,), ct.load(x, (i,), (8,)) + 1.0)

ct.launch(None, (8,), add_one, (numpy.zeros(96, "f4"), numpy.zeros(96, "f4")))
"""

PRODUCT = """
@ct.kernel
def product(a, b, c):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((8, 8), ct.float32)
    for k in range(4):
        total = ct.mma(ct.load(a, (i, k), (8, 8)), ct.load(b, (k, j), (8, 8)), total)
    ct.store(c, (i, j), total)

ct.launch(None, (5, 4), product, [numpy.zeros((32, 32), "f4") for _ in range(3)])
"""


def test_tile_blocks_that_are_outside_in_some_iterations_are_needed() -> None:
    assert hints(PERSISTENT) == [GUARD, GUARD]


def test_tile_blocks_that_are_outside_in_every_iteration_are_not_needed() -> None:
    hint = "  = help: launch a grid of (4, 4, 1), or guard the access with `if`"
    first, second = hints(PRODUCT)
    assert first.startswith(f"{hint}:\n   12 | ct.launch(")
    assert second == hint
    assert corrected(PRODUCT, first) == PRODUCT.replace("(5, 4)", "(4, 4)")
    run(PRODUCT.replace("(5, 4)", "(4, 4)"), sanitize=True)


def test_a_loop_that_runs_once_too_often_does_not_ask_for_fewer_tile_blocks() -> None:
    assert hints(LOOP.replace(", 4))", ", 5))")) == [GUARD]
    run(LOOP, sanitize=True)


GEMM = """
@ct.kernel
def matmul(a, b, c):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((16, 16), ct.float32)
    for k in range(ct.num_tiles(a, 1, (16, 16))):
        total = ct.mma(ct.load(a, (i, k), (16, 16)), ct.load(b, (k, j), (16, 16)), total)
    ct.store(c, (i, j), total)

a, b, c = numpy.zeros((32, 48), "f4"), numpy.zeros((48, 64), "f4"), numpy.zeros((32, 64), "f4")
ct.launch(None, (2, 4), matmul, (a, b, c))
"""


def test_a_grid_that_is_too_large_for_a_product() -> None:
    hint = "  = help: launch a grid of (2, 4, 1), or guard the access with `if`"
    text = GEMM.replace("(2, 4)", "(2, 5)")
    first, second = hints(text)
    assert first == f"{hint}:\n   13 | ct.launch(None, (2, 4), matmul, (a, b, c))"
    assert second == hint
    assert corrected(text, first) == GEMM
    run(GEMM, sanitize=True)


@pytest.mark.parametrize(
    "access",
    [
        "ct.scatter(x, at, ct.gather(x, at, check_bounds=False))",
        "ct.atomic_add(x, at, 1.0, check_bounds=False)",
        "ct.scatter(x, at, 1.0, check_bounds=False)",
    ],
)
def test_check_bounds_of_single_elements(access: str) -> None:
    text = f"""
@ct.kernel
def touch(x):
    at = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    {access}

ct.launch(None, (4,), touch, (numpy.zeros(60, "f4"),))
"""
    assert hints(text) == ["  = help: remove check_bounds=False: elements outside are then left out"]
    run(text.replace(", check_bounds=False", ""), sanitize=True)


def test_check_bounds_of_tiles() -> None:
    text = """
@ct.kernel
def touch(x):
    tile = ct.load(x, (ct.bid(0),), (16,), check_bounds=False)
    ct.store(x, (ct.bid(0),), tile)

ct.launch(None, (4,), touch, (numpy.zeros(60, "f4"),))
"""
    lines = report(text, sanitize=True)
    assert lines[2] == "inbounds: ct.load has check_bounds=False, and its tile reaches outside of x along axis 0"
    assert "  12 of the tile's 16 positions along axis 0 are inside: x has 60 there" in lines
    assert lines[-1] == (
        "  = help: check_bounds=False turns off padding and clipping: drop it, or guard the access with `if`"
    )
    run(text.replace(", check_bounds=False", ""), sanitize=True)


def test_check_bounds_of_a_tile_that_is_wholly_outside() -> None:
    text = """
@ct.kernel
def touch(x, out):
    ct.store(out, (0,), ct.load(x, (9,), (16,), check_bounds=False))

ct.launch(None, (1,), touch, (numpy.zeros(60, "f4"), numpy.zeros(16, "f4")))
"""
    assert hints(text) == [
        GUARD,
        "  = help: guard the access with `if`: dropping check_bounds=False does not help where the whole tile is outside",
    ]
