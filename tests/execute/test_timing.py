"""How long launches take, and what that says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

import tileir
from tileir.execute.engine.interface import Measurement
from tileir.execute.gpu.gpus import GPUS, Gpu
from tileir.execute.gpu.peaks import PEAKS, peaks_of
from tileir.execute.launching.timing import FEWEST, MOST, Timing, duration, enough
from tileir.execute.work.counting import count_work
from tileir.tools.bytecode import run as run_tool

EXAMPLES = Path(__file__).parents[2] / "examples"


class Bytes:
    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


def matmul_work(size: int) -> tileir.kernels.Work:
    module = tileir.load(EXAMPLES / "matmul.mlir")
    entry = next(each for each in module.walk() if each.name == "cuda_tile.entry")
    blocks = size // 64
    arrays = Bytes(2 * size * size), Bytes(2 * size * size), Bytes(4 * size * size)
    return count_work(entry, (blocks, blocks, 1), [*arrays, size, size, size])


def test_median_best_and_spread() -> None:
    timing = Timing(Measurement([4.0, 1.0, 3.0, 2.0, 5.0], "", "a clock"), matmul_work(64), "cpu")
    assert (timing.median, timing.best, timing.count) == (3.0, 1.0, 5)
    assert timing.spread == pytest.approx((4 - 2) / 3)
    assert timing.peaks is None and timing.memory_share is None and timing.compute_share is None


def test_rates_and_shares_of_the_peaks_of_an_h200() -> None:
    size = 4096
    # 2 * 4096^3 operations at 989.4 TFLOP/s take 138.9 us, and 128 MiB at 4.8 TB/s take 28 us.
    timing = Timing(Measurement([200e-6], "NVIDIA H200", "CUDA events"), matmul_work(size), "tileiras")
    assert timing.flops == pytest.approx(2 * size**3 / 200e-6)
    assert timing.bandwidth == pytest.approx(8 * size * size / 200e-6)
    assert timing.moved == pytest.approx((2 * 64 * 2 * size * size + 4 * size * size) / 200e-6)
    assert timing.compute_share == pytest.approx(138.9 / 200, rel=1e-3)
    assert timing.memory_share == pytest.approx(28.0 / 200, rel=2e-3)
    assert repr(timing) == (
        "<Timing of matmul by tileiras: median 200 us, best 200 us, 671.1 GB/s (14.0% of the peak), "
        "687.2 TFLOP/s (69.5% of the peak)>"
    )
    assert timing.text().splitlines()[0] == (
        "time: median 200 us, best 200 us, spread 0.0%, 1 launches (CUDA events, NVIDIA H200)"
    )
    assert json.loads(json.dumps(timing.to_dict()))["work"]["matrix_flops"] == {"f16": 2 * size**3}


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_kernel_is_launched_as_often_as_asked_and_once_before(backend: str) -> None:
    text = (EXAMPLES / "vector_add.mlir").read_text().replace("offset %c_base, %index", "offset %a_base, %index")
    kernel = tileir.compile(tileir.parse(text), backend=backend)
    total, one, unused = numpy.zeros(256, numpy.float32), numpy.ones(256, numpy.float32), numpy.zeros(1, numpy.float32)
    timing = kernel.time((2,), (total, one, unused, 256), repeat=7)
    assert timing.count == 7 and timing.backend == backend and timing.best > 0
    # Two that do not count: one compiles, one tells how long it takes.
    assert (total == 9).all()
    assert timing.work.bytes_moved == 3 * 256 * 4


@pytest.mark.parametrize("repeat", [0, -1, 1.5, True, "3"])
def test_number_of_launches_that_makes_no_sense_is_refused(repeat: object) -> None:
    kernel = tileir.compile(tileir.load(EXAMPLES / "vector_add.mlir"))
    array = numpy.zeros(128, numpy.float32)
    with pytest.raises(tileir.LaunchError, match="pass the number of launches"):
        kernel.time((1,), (array, array, array, 128), repeat=repeat)  # type: ignore[arg-type]


def test_option_that_a_timed_launch_does_not_have_is_refused() -> None:
    kernel = tileir.compile(tileir.load(EXAMPLES / "vector_add.mlir"))
    array = numpy.zeros(128, numpy.float32)
    with pytest.raises(TypeError, match="a timed launch has no option 'sanitize'"):
        kernel.time((1,), (array, array, array, 128), sanitize=True)


def test_short_launches_are_repeated_more_often_than_long_ones() -> None:
    assert enough(1e-6) == MOST and enough(10.0) == FEWEST and FEWEST < enough(0.01) < MOST


@pytest.mark.parametrize(
    ("seconds", "words"), [(2.5, "2.5 s"), (12.34e-3, "12.34 ms"), (1.5e-6, "1.5 us"), (2e-9, "2 ns")]
)
def test_durations_have_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words


# --- peaks ---


@pytest.mark.parametrize("gpu", GPUS.values(), ids=lambda gpu: gpu.key)
def test_peaks_of_every_gpu_that_can_be_emulated_are_known_by_its_name(gpu: Gpu) -> None:
    peaks = peaks_of(gpu.name)
    assert peaks is not None and peaks.key == gpu.key
    # Two transfers a clock, at the clock that the driver reports.
    by_clock = 2 * gpu.memory_clock * 1e3 * gpu.memory_bus / 8 / 1e12
    assert peaks.memory == pytest.approx(by_clock, rel=0.05)


def test_peaks_are_found_by_whole_words() -> None:
    h100, pcie = peaks_of("NVIDIA H100 80GB HBM3"), peaks_of("NVIDIA H100 PCIe")
    assert h100 is not None and pcie is not None and h100.memory > pcie.memory
    assert peaks_of("NVIDIA L40") is None and peaks_of("NVIDIA A1000") is None and peaks_of("") is None
    assert all(each.source and each.memory and each.f32 for each in PEAKS)


def test_each_type_of_factor_has_its_peak() -> None:
    h200 = peaks_of("NVIDIA H200")
    assert h200 is not None
    assert h200.matrix_peak("bf16") == h200.matrix_peak("f16") == 989.4
    assert h200.matrix_peak("f8E4M3FN") == h200.matrix_peak("i8") == 1978.9
    assert h200.matrix_peak("tf32") == 494.7
    assert h200.matrix_peak("f32") == h200.f32
    assert h200.matrix_peak("f4E2M1FN") is None


# --- the command ---


def arguments(*more: str) -> list[str]:
    parts = [f"--arg={text}" for text in ("rand:f32:1000", "rand:f32:1000", "zeros:f32:1000", "1000")]
    return [str(EXAMPLES / "vector_add.mlir"), "--grid", "8", *parts, *more]


def test_run_shows_times_and_rates(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_tool.run(arguments("--time=3", "--backend", "interpreter")) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith("argument 2: float32[1000]")
    assert lines[1].startswith("time: median ") and "3 launches (the clock of the host)" in lines[1]
    assert lines[2].startswith("memory: 12 kB, ")
    assert lines[3].startswith("arithmetic: 1.024 kFLOP, ")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--time=0"], "'--time 0' is not valid\nhelp: give a number from 1 on"),
        (["--time", "--sanitize"], "--sanitize and --time exclude each other"),
        (["--time", "--trace", "0"], "--trace and --time exclude each other"),
    ],
)
def test_run_refuses_what_makes_no_sense(capfd: pytest.CaptureFixture[str], more: list[str], words: str) -> None:
    assert run_tool.run(arguments(*more)) == 2
    assert words in capfd.readouterr().err
