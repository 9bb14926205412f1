"""The cost of every example, beside counts of their own: by watching the interpreter, and by formulas."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir
from tileir.dialect.ops import FMA, MMAF, MMAF_SCALED, MMAI
from tileir.execute.observing.observer import Access, Observer, TileBlock

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = ("vector_add", "softmax", "layer_norm", "matmul", "attention", "histogram", "racy")


@pytest.fixture(scope="module")
def examples() -> Iterator[Any]:
    sys.path.insert(0, str(EXAMPLES))
    yield importlib.import_module("run_all")
    sys.path.remove(str(EXAMPLES))


class Counted(Observer):
    """What a launch is seen to move and compute."""

    def __init__(self, arrays: list[Any]) -> None:
        self.spans = [(array.ctypes.data, array.ctypes.data + array.nbytes) for array in arrays]
        self.read = [0] * len(arrays)
        self.written = [0] * len(arrays)
        self._touched: dict[str, list[Any]] = {"read": [], "write": []}
        self.operations: dict[str, int] = {}

    def access(self, access: Access) -> None:
        touched = access.touched
        for whose, (low, high) in enumerate(self.spans):
            count = int(((touched >= low) & (touched < high)).sum()) * access.size
            # An atomic operation does both.
            self.read[whose] += count if access.kind != "write" else 0
            self.written[whose] += count if access.kind != "read" else 0
        for kind in ("read", "write"):
            if access.kind in (kind, "atomic"):
                self._touched[kind].append((touched, access.size))

    @property
    def footprint(self) -> int:
        """Bytes of the places that were read, and of those that were written, each once."""
        found = 0
        for touched in self._touched.values():
            for size in {size for _, size in touched}:
                places = numpy.concatenate([addresses for addresses, each in touched if each == size])
                found += size * len(numpy.unique(places))
        return found

    def after(self, operation: tileir.Operation, block: TileBlock, results: list[Any]) -> None:
        declaration = operation.declaration
        if declaration.chapter not in ("Floating point", "Integer", "Bitwise", "Conversions"):
            return
        if declaration in (MMAF, MMAF_SCALED, MMAI):
            rows, depth = operation.operands[0].type.shape
            amount = 2 * rows * depth * operation.operands[1].type.shape[1]
        else:
            amount = numpy.asarray(results[0]).size * (2 if declaration is FMA else 1)
        name = declaration.mnemonic
        self.operations[name] = self.operations.get(name, 0) + amount


def by_mnemonic(cost: tileir.costs.Cost) -> dict[str, int]:
    found: dict[str, int] = {}
    for kind, count in cost.operations.items():
        name = kind.partition(" ")[0]
        found[name] = found.get(name, 0) + count
    return found


@pytest.mark.parametrize("name", NAMES)
def test_counts_are_what_the_interpreter_is_seen_to_do(name: str, examples: Any) -> None:
    example = getattr(examples, name)()
    arrays = [*example.inputs, example.output]
    path = EXAMPLES / f"{name}.mlir"
    seen = Counted(arrays)
    tileir.compile(path, backend="interpreter").launch(example.grid, (*arrays, *example.scalars), observer=seen)
    cost = tileir.cost(path, example.grid, (*arrays, *example.scalars), assemble=False)
    assert [(array.read, array.written) for array in cost.memory] == list(zip(seen.read, seen.written, strict=True))
    assert cost.bytes_moved == sum(seen.read) + sum(seen.written)
    assert cost.footprint == seen.footprint
    found = by_mnemonic(cost)
    assert found == {each: count for each, count in seen.operations.items() if each in found}
    # What moves numbers without computing any is not counted.
    assert {each for each in seen.operations if each not in found} <= {"bitcast", "exti", "trunci", "mulhii", "iota"}


@pytest.mark.parametrize("name", NAMES)
def test_estimate_is_no_less_than_the_roofline_allows(name: str, examples: Any) -> None:
    example = getattr(examples, name)()
    arguments = [*example.inputs, example.output, *example.scalars]
    for target in ("a100", "h200", "b200", "rtx5090"):
        cost = tileir.cost(EXAMPLES / f"{name}.mlir", example.grid, arguments, target=target, assemble=False)
        assert cost.seconds >= cost.footprint / cost.roofline.memory
        if cost.roofline.attainable:
            assert cost.flops / cost.seconds <= cost.roofline.attainable


@pytest.mark.parametrize("name", ["vector_add", "matmul", "histogram"])
def test_cutile_kernel_costs_what_it_is_seen_to_move(name: str, examples: Any) -> None:
    if importlib.util.find_spec("cuda") is None or examples.cutile_kernels is None:
        pytest.skip("cuda-tile is not installed: pip install cuda-tile")
    example = getattr(examples, name)()
    arrays = [*example.inputs, example.output]
    kernel = getattr(examples.cutile_kernels, name)
    arguments = (*arrays, *example.cutile_scalars)
    seen = Counted(arrays)
    tileir.launch(kernel, example.grid, arguments, backend="interpreter", observer=seen)
    cost = tileir.cost(kernel, example.grid, arguments, target="h100", assemble=False)
    moved = sum(seen.read) + sum(seen.written)
    if name == "histogram":
        # Which of its last tile are counted depends on what was read.
        assert moved < cost.bytes_moved < 1.01 * moved
        assert any("its mask counts as true everywhere" in note for note in cost.notes)
    else:
        assert cost.bytes_moved == moved
    assert cost.footprint == seen.footprint
    # By the names that they have in the script.
    assert [array.name for array in cost.memory] == list(kernel._annotated_function.pysig.parameters)[: len(arrays)]


# --- by hand, for sizes that nobody would run here ---


class Array:
    """As large as one, and nothing else."""

    def __init__(self, elements: int, size: int) -> None:
        self.nbytes = elements * size


def test_large_matmul() -> None:
    m, n, k = 8192, 4096, 2048
    arguments = (Array(m * k, 2), Array(k * n, 2), Array(m * n, 4), m, n, k)
    cost = tileir.cost(EXAMPLES / "matmul.mlir", (m // 64, n // 64), arguments, assemble=False)
    assert cost.flops == 2 * m * n * k
    assert cost.footprint == 2 * m * k + 2 * k * n + 4 * m * n
    assert cost.bytes_moved == 2 * m * k * (n // 64) + 2 * k * n * (m // 64) + 4 * m * n
    assert cost.intensity == cost.flops / cost.footprint
    assert cost.roofline.attainable == 989.4e12


def test_large_softmax() -> None:
    rows, columns = 1 << 20, 1000
    arguments = (Array(rows * columns, 4), Array(rows * columns, 4), rows, columns)
    cost = tileir.cost(EXAMPLES / "softmax.mlir", rows, arguments, assemble=False)
    assert cost.bytes_moved == cost.footprint == 2 * 4 * rows * columns
    # Tiles of 1,024 elements: the difference, the exponential and the quotient of each, and two reductions.
    assert cost.flops == rows * (3 * 1024 + 2 * 1023)


def test_large_attention() -> None:
    length, depth = 16384, 64
    arrays = [Array(length * depth, 2)] * 3 + [Array(length * depth, 4)]
    arrays = [Array(array.nbytes, 1) for array in arrays]
    blocks = length // 64
    cost = tileir.cost(EXAMPLES / "attention.mlir", blocks, (*arrays, length, 0.125), assemble=False)
    assert cost.operations["mmaf f16 -> f32"] == 2 * 2 * length * length * depth
    assert cost.bytes_moved == 2 * length * depth * (1 + 2 * blocks) + 4 * length * depth


def test_grid_with_a_tail() -> None:
    n = 128 * 133
    arrays = [Array(n, 4) for _ in range(3)]
    cost = tileir.cost(EXAMPLES / "vector_add.mlir", 133, (*arrays, n), target="h200", assemble=False)
    waves = cost.waves
    assert waves.waves == ceil(133 / waves.at_once) and waves.at_once % 132 == 0
    assert waves.tail == pytest.approx(133 / waves.at_once - (waves.waves - 1))
