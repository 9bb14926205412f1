"""How many tile blocks a multiprocessor holds, and the waves of a grid: figures of NVIDIA's occupancy calculator."""

from __future__ import annotations

import pytest

from tileir.analyze.cost.occupancy import occupancy_of, waves_of
from tileir.execute.gpu.cubin import Resources
from tileir.execute.gpu.gpus import GPUS


def resources(registers: int, threads: int, shared: int = 0) -> Resources:
    return Resources("k", "sm_90", registers, 0, 0, 0, shared, 1, threads, 1024, ())


@pytest.mark.parametrize(
    ("gpu", "registers", "threads", "shared", "blocks", "limit"),
    [
        ("h200", 24, 128, 0, 16, "warps"),
        ("h200", 32, 64, 0, 32, "registers, warps, thread blocks"),
        ("h200", 16, 32, 0, 32, "thread blocks"),
        # 33 registers are 40: 65536 / (40 * 32) = 51 warps, of which 48 in parts of four.
        ("h200", 33, 128, 0, 12, "registers"),
        ("h200", 255, 128, 0, 2, "registers"),
        ("h200", 255, 256, 0, 1, "registers"),
        ("h200", 168, 128, 0, 3, "registers"),
        # 227 KiB and one of the system's.
        ("h200", 32, 128, 227 * 1024, 1, "shared memory"),
        ("h200", 32, 128, 113 * 1024, 2, "shared memory"),
        ("h200", 32, 128, 113 * 1024 + 1, 1, "shared memory"),
        ("a100", 32, 128, 32 * 1024, 4, "shared memory"),
        ("rtx5090", 32, 128, 0, 12, "warps"),
        ("rtx5090", 16, 32, 0, 24, "thread blocks"),
        ("a10", 16, 32, 0, 16, "thread blocks"),
        ("b200", 128, 128, 0, 4, "registers"),
    ],
)
def test_blocks_on_a_multiprocessor(
    gpu: str, registers: int, threads: int, shared: int, blocks: int, limit: str
) -> None:
    found = occupancy_of(resources(registers, threads, shared), GPUS[gpu])
    assert (found.blocks, found.limit) == (blocks, limit)
    assert found.warps == threads // 32
    assert found.share == blocks * threads / GPUS[gpu].limits.threads
    assert found.reason is None


def test_kernel_that_leaves_its_threads_open_is_not_known() -> None:
    found = occupancy_of(resources(32, 0), GPUS["h200"])
    assert found.blocks is None and found.reason == "the compiled kernel does not state how many threads it has"


def test_tile_block_that_is_spread_over_a_cluster() -> None:
    found = occupancy_of(resources(64, 128)._replace(cluster=2), GPUS["b200"])
    # Parts of tile blocks.
    assert (found.blocks, found.cluster) == (8, 2)


@pytest.mark.parametrize(
    ("blocks", "at_once", "waves", "tail"), [(1, 132, 1, 1 / 132), (132, 132, 1, 1.0), (133, 132, 2, 1 / 132), (528, 264, 2, 1.0)]
)  # fmt: skip
def test_waves_and_tail(blocks: int, at_once: int, waves: int, tail: float) -> None:
    found = waves_of(blocks, at_once)
    assert (found.blocks, found.at_once, found.waves, found.tail) == (blocks, at_once, waves, tail)
