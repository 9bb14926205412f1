"""Whole kernels as users write them agree with the interpreter bit for bit: on several threads, for several machines, whether
stores stream or not, and nothing is written beside the arrays."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from tests.execute.cpu.both_engines import both_engines
from tests.execute.cpu.emulated_amx import emulate
from tests.execute.cpu.kernels import Array, WholeKernel, whole_kernel, whole_product
from tests.sampling import one_in

import tileir
from tileir.dialect.types import PointerType, TileType
from tileir.execute.cpu.codegen import nontemporal
from tileir.execute.cpu.ir.memory_hints import STREAMED_BYTES
from tileir.execute.cpu.runtime import parallel_launch, target
from tileir.execute.cpu.runtime.target import host
from tileir.execute.dtypes import is_float_dtype, memory_dtype
from tileir.execute.launching.kernel import Kernel

MACHINES = [name for name in ("native", "x86-64-v3", "x86-64-v2") if host(name).runnable]
GUARD = 512
"""Bytes before and after every array that nobody may change."""
PATTERN = 0xA5


@pytest.fixture(autouse=True)
def _threads_and_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE", "0")
    # However short a launch is.
    monkeypatch.setattr(parallel_launch, "WORTH_WAKING", 0)
    monkeypatch.setattr(parallel_launch, "_SHARE", 1)
    monkeypatch.setattr(target, "cached_bytes", lambda threads: 0)


# --- memory ---


def numbers(rng: Any, dtype: Any, count: int) -> Any:
    if dtype == numpy.bool_:
        return rng.integers(0, 2, count).astype(dtype)
    if not is_float_dtype(dtype):
        return rng.integers(-120, 120, count).astype(dtype)
    values = rng.standard_normal(count) * rng.choice([0.5, 1.0, 1.0, 20.0])
    special = [0.0, -0.0, 1e-40, -1e-7, 300.0, 1.0, 65504.0, 3e38, numpy.inf, -numpy.inf, numpy.nan]
    # What is not finite soon makes everything NaN.
    known = rng.choice([0, 0, 6, len(special)])
    if known:
        places = rng.integers(0, count, 1 + count // 200)
        values[places] = rng.choice(special[:known], len(places))
    with numpy.errstate(all="ignore"):
        return values.astype(dtype)


class Memories:
    """The memory of a launch, with guards around every array; `moved` says how much further on in it arrays begin."""

    def __init__(self, kernel: WholeKernel, dtypes: list[Any], seed: int, moved: int = 0) -> None:
        self.whole: dict[int, Any] = {}
        self.arguments: list[Any] = list(kernel.arguments)
        arrays = [(number, array) for number, array in enumerate(kernel.arguments) if isinstance(array, Array)]
        self.used: dict[int, Any] = {}
        for memory in {array.memory for _, array in arrays}:
            group = [(number, array) for number, array in arrays if array.memory == memory]
            dtype = dtypes[group[0][0]]
            size = max([(array.start + array.count) * dtype.itemsize for _, array in group])
            raw = numpy.full(size + 2 * GUARD + 128, PATTERN, numpy.uint8)
            # From a multiple of 64 bytes on, wherever the allocator puts it.
            begin = -raw.ctypes.data % 64 + moved * (1 + 3 * memory) * dtype.itemsize % 64
            self.whole[memory] = raw[begin : begin + size + 2 * GUARD]
            used = numpy.zeros(size + 2 * GUARD, numpy.bool_)
            rng = numpy.random.default_rng((seed, memory))
            first = min([array.start for _, array in group])
            last = max([array.start + array.count for _, array in group])
            content = numbers(rng, dtype, last - first)
            start = GUARD + first * dtype.itemsize
            self.whole[memory][start : start + content.nbytes] = content.view(numpy.uint8)
            for number, array in group:
                low = GUARD + array.start * dtype.itemsize
                high = low + array.count * dtype.itemsize
                used[low:high] = True
                self.arguments[number] = self.whole[memory][low:high].view(dtype)
            # Arrays that are shifted far have a gap between them.
            self.whole[memory][~used] = PATTERN
            self.used[memory] = used

    def check_guards(self) -> None:
        for memory, whole in self.whole.items():
            assert (whole[~self.used[memory]] == PATTERN).all(), f"memory {memory} is changed beside its arrays"

    def differences(self, other: Memories) -> list[tuple[int, int, Any, Any]]:
        """The first element of each argument that is not the same, but for which NaN a NaN is."""
        found = []
        for number, (mine, theirs) in enumerate(zip(self.arguments, other.arguments, strict=True)):
            if not isinstance(mine, numpy.ndarray):
                continue
            bits = numpy.dtype(f"u{mine.itemsize}")
            wrong = mine.view(bits) != theirs.view(bits)
            if wrong.any() and is_float_dtype(mine.dtype):
                with numpy.errstate(invalid="ignore"):
                    wrong &= ~(numpy.isnan(mine.astype("f8")) & numpy.isnan(theirs.astype("f8")))
            if wrong.any():
                place = int(numpy.flatnonzero(wrong)[0])
                found.append((number, place, mine[place], theirs[place]))
        return found


def dtypes_of(kernel: Kernel) -> list[Any]:
    found = []
    for argument in kernel.entry.regions[0].block.arguments:
        assert isinstance(argument.type, TileType)
        element = argument.type.element
        found.append(memory_dtype(element.pointee) if isinstance(element, PointerType) else None)
    return found


# --- comparison ---


def check(seed: int, monkeypatch: pytest.MonkeyPatch, ways: list[tuple[str, int]]) -> None:
    """Run a kernel on the interpreter, and on the CPU backend for machines with what a launch writes to stream."""
    written = whole_kernel(seed)
    module = tileir.parse(written.text)
    reference = tileir.compile(module, backend="interpreter", exact=True)
    dtypes = dtypes_of(reference)
    wanted = Memories(written, dtypes, seed)
    reference.launch(written.grid, wanted.arguments)
    wanted.check_guards()
    moved = 0
    for machine, streamed in ways:
        monkeypatch.setattr(nontemporal, "STREAMED_BYTES", streamed)
        kernel = tileir.compile(module, backend="cpu", exact=True, cpu=None if machine == "native" else machine)
        for threads in (1, 1) if written.is_racy else (3, 1, 2):
            found = Memories(written, dtypes, seed, moved)
            kernel.launch(written.grid, found.arguments, threads=threads)
            wrong = wanted.differences(found)
            assert not wrong, ((seed, machine, streamed, threads, moved), wrong)
            found.check_guards()
            moved += 1


def all_ways(seed: int) -> list[tuple[str, int]]:
    """Every machine where all streams, and one as it is: few of these launches write enough to stream then."""
    return [*[(machine, 1) for machine in MACHINES], (MACHINES[seed % len(MACHINES)], STREAMED_BYTES)]


@pytest.mark.parametrize("start", [0, *(pytest.param(start, marks=pytest.mark.long) for start in (4, 8, 12))])
def test_whole_kernels_agree(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(start, start + 4):
        check(seed, monkeypatch, all_ways(seed))


GATHERED = """cuda_tile.module @m { entry @k(%p: tile<ptr<f64>>, %q: tile<ptr<f32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %tp = make_tensor_view %p, shape = [64], strides = [3] : tensor_view<64xf64, strides=[3]>
  %vp = make_partition_view %tp : partition_view<tile=(64), tensor_view<64xf64, strides=[3]>>
  %tq = make_tensor_view %q, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %vq = make_partition_view %tq : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>
  %a, %k = load_view_tko weak %vp[%zero] : partition_view<tile=(64), tensor_view<64xf64, strides=[3]>>, tile<i32>
    -> tile<64xf64>, token
  %b = ftof %a : tile<64xf64> -> tile<64xf32>
  %r = sin %b : tile<64xf32>
  %s = store_view_tko weak %r, %vq[%zero] : tile<64xf32>, partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>,
    tile<i32> -> token
  return } }"""


@pytest.mark.parametrize("machine", MACHINES)
def test_elements_are_gathered_from_memory_and_from_the_tables_of_functions(machine: str) -> None:
    """One intrinsic does both, and may be declared in one way only."""
    source, result = numpy.random.default_rng(1).uniform(-1e6, 1e6, 192), numpy.zeros(64, "f4")
    with both_engines(None if machine == "native" else machine) as compared:
        tileir.compile(tileir.parse(GATHERED), backend="interpreter").launch(1, (source, result))
    assert compared.launches == 1
    assert result.any()


def check_by_default(written: WholeKernel, seed: int, machine: str | None = None) -> bool:
    """Whether a kernel gives the same in every launch, whatever units its products are computed by; which is told."""
    module = tileir.parse(written.text)
    dtypes = dtypes_of(tileir.compile(module, backend="interpreter"))
    kernel = tileir.compile(module, backend="cpu", cpu=machine)
    first: Memories | None = None
    ways: list[dict[str, Any]] = [{"threads": 1}, {"threads": 1, "unchecked": True}]
    # The tiles that are emulated are those of all threads.
    if not written.is_racy and machine != "emulated":
        ways += [{"threads": 3}, {"threads": 2}]
    for options in [*ways, {"threads": 1, "observer": tileir.sanitizer.Sanitizer()}]:
        found = Memories(written, dtypes, seed)
        kernel.launch(written.grid, found.arguments, **options)
        first = first if first is not None else found
        wrong = first.differences(found)
        assert not wrong, ((seed, options), wrong)
    return "mmaf" in written.text and "plan: amx," in kernel.dump("loops")


@pytest.mark.parametrize("start", one_in(4, (0, 5, 10, 15)))
def test_whole_kernels_give_the_same_in_every_launch(start: int) -> None:
    for seed in range(start, start + 5):
        check_by_default(whole_kernel(seed), seed)


@pytest.mark.skipif(host().has_amx, reason="the machine has tiles of its own")
@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 200), marks=pytest.mark.long)])
def test_products_of_emulated_matrix_tiles_are_the_same_in_every_launch(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = emulate(monkeypatch)
    units = [check_by_default(whole_product(seed), seed, machine) for seed in seeds]
    assert sum(units) >= len(seeds) // 6


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 1500, 50))
def test_many_whole_kernels_agree(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(start, start + 50):
        check(seed, monkeypatch, all_ways(seed))
        check_by_default(whole_kernel(seed), seed)
        check_by_default(whole_product(seed), seed)
