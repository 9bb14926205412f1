"""The faster of the engines for GPUs, by measurement, with a clock that does what it is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.execute.gpu.fake_cuda import PRIMARY, FakeDriver, FakeTorch, Tensor, TextCubin, entry_of
from tests.execute.gpu.triton.fake_code import FakeTriton, fake_code

import tileir
from tileir.execute.engine.interface import Backend, KernelSettings, LaunchOptions
from tileir.execute.engine.registry import _CHOICE, choose
from tileir.execute.errors import CompilationError, MissingDependencyError
from tileir.execute.gpu.cache import choices_words
from tileir.execute.gpu.engine_choice import ChosenKernel
from tileir.execute.gpu.errors import TritonCrash
from tileir.execute.gpu.launcher import GpuKernel, GpuLauncher
from tileir.execute.gpu.timing import repeatable
from tileir.execute.gpu.triton.code import Code, Schedule, Specialization
from tileir.execute.gpu.triton.toolchain import TritonTarget
from tileir.execute.memory import Globals
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import UNKNOWN

ORDINARY = LaunchOptions()
PARAMETERS = "%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %n: tile<i32>"
PURE = """
%x, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
%s = store_ptr_tko weak %b, %x : tile<ptr<f32>>, tile<f32> -> token
"""
COUNTING = """
%x, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
%y = addf %x, %x : tile<f32>
%s = store_ptr_tko weak %a, %y : tile<ptr<f32>>, tile<f32> -> token
"""


class FakeEngine(Backend):
    """An engine whose kernels take some time, or cannot be compiled."""

    on_gpu = True

    def __init__(self, name: str, takes: int, make: Callable[[FakeEngine, Any], GpuLauncher]) -> None:
        self.name = name
        self.takes = takes
        self.error: Exception | None = None
        self.does = ""
        self._make = make

    def prepare(self, entry: Any, globals: Any, settings: Any) -> GpuLauncher:
        return self._make(self, entry)

    @property
    def more(self) -> str:
        if self.error is not None:
            raise self.error
        return f"takes k {self.takes}\n" + (f"does k {self.does}\n" if self.does else "")


def first_kernel(engine: FakeEngine, entry: Any) -> GpuKernel:
    return GpuKernel(entry, {}, lambda target: TextCubin("k", "8,8,4", target, more=engine.more), oldest_driver=12000)


class SecondKernel(FakeTriton):
    def __init__(self, engine: FakeEngine, entry: Any) -> None:
        super().__init__(PARAMETERS, PURE)
        self.source = engine
        self.__dict__["entry"] = entry

    def compiled(self, target: TritonTarget, kind: Specialization, schedule: Schedule | None = None) -> Code:
        self.compiled_for.append(kind)
        code = fake_code(self.entry, target.name, kind)
        cubin: Any = TextCubin("k", "8,8,4,8,8", target.name, more=self.source.more)
        cubin.oldest_driver = 12000
        return code._replace(cubin=cubin)


class Choosing:
    """Two engines, and kernels that have the codes of both."""

    def __init__(self) -> None:
        self.first = FakeEngine("first", 300, first_kernel)
        self.second = FakeEngine("second", 100, SecondKernel)
        self.versions: tuple[str, ...] = ("1", "1")

    def kernel(self, body: str = PURE, more: str = "") -> ChosenKernel:
        entry = entry_of(PARAMETERS, body, more=more)
        globals = Globals(entry.parent_operation).regions
        return ChosenKernel(entry, globals, KernelSettings(), [self.first, self.second])


@pytest.fixture
def engines(fake: FakeDriver, torch: FakeTorch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Choosing:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache"))
    fake.push(PRIMARY)
    made = Choosing()
    monkeypatch.setattr("tileir.execute.gpu.engine_choice.compiler_stamps", lambda: made.versions)
    return made


def tensors() -> tuple[Tensor, Tensor, int]:
    return Tensor(numpy.ones(16, numpy.float32)), Tensor(numpy.zeros(16, numpy.float32)), 16


def parameters(fake: FakeDriver) -> list[int]:
    """How many parameters launched codes had: 3 are the first engine's, 5 the second's."""
    return [call.partition(" parameters ")[2].count(",") + 1 for call in fake.calls("cuLaunchKernelEx")]


@pytest.mark.parametrize(("takes", "expected", "count"), [(100, "second", 5), (900, "first", 3)])
def test_faster_engine_runs_the_launch_and_all_that_follow(
    fake: FakeDriver, engines: Choosing, takes: int, expected: str, count: int
) -> None:
    engines.second.takes = takes
    kernel = engines.kernel()
    arguments = tensors()
    kernel.launch((1, 1, 1), arguments, ORDINARY)
    assert kernel.chosen_backend == expected
    counts = parameters(fake)
    # In turn, and then the launch itself.
    assert counts[:4] == [3, 5, 3, 5] and counts[-1] == count
    assert next(iter(kernel.choices.values())).seconds == pytest.approx({"first": 300e-6, "second": takes * 1e-6})
    fake.clear()
    for _ in range(3):
        kernel.launch((1, 1, 1), arguments, ORDINARY)
    bound = kernel.bind((1, 1, 1), arguments, ORDINARY)
    assert bound is not None
    bound()
    assert parameters(fake) == [count] * 4


def test_choice_is_kept_on_disk(fake: FakeDriver, engines: Choosing) -> None:
    engines.kernel().launch((1, 1, 1), tensors(), ORDINARY)
    fake.clear()
    kernel = engines.kernel()
    kernel.launch((1, 1, 1), tensors(), ORDINARY)
    assert parameters(fake) == [5] and kernel.chosen_backend == "second"
    assert choices_words().startswith("1 are kept (second 1); to forget them, remove ")
    # Other compilers may do better.
    engines.versions = ("1", "2")
    engines.second.takes = 1000
    other = engines.kernel()
    other.launch((1, 1, 1), tensors(), ORDINARY)
    assert other.chosen_backend == "first" and len(parameters(fake)) > 3
    assert choices_words().startswith("2 are kept (first 1, second 1)")


def test_other_kinds_and_sizes_of_launches_are_measured_again(fake: FakeDriver, engines: Choosing) -> None:
    kernel = engines.kernel()
    arguments = tensors()
    kernel.launch((1, 1, 1), arguments, ORDINARY)
    engines.second.takes = 1000
    for blocks, expected in ((1, 1), (64, 2), (100, 2), (127, 2), (128, 3), (1, 3)):
        kernel.launch((blocks, 1, 1), arguments, ORDINARY)
        assert len(kernel.choices) == expected
    odd = Tensor(arguments[0].array[1:])
    kernel.launch((1, 1, 1), (odd, *arguments[1:]), ORDINARY)
    assert len(kernel.choices) == 4 and kernel.chosen_backend == "first"


def test_what_the_kernel_reads_and_writes_is_put_back(fake: FakeDriver, engines: Choosing) -> None:
    engines.first.does = engines.second.does = "count"
    kernel = engines.kernel(COUNTING)
    arguments = tensors()
    for number in range(3):
        kernel.launch((1, 1, 1), arguments, ORDINARY)
        assert arguments[0].array[0] == 2 + number
    assert len(parameters(fake)) > 8 and fake.live().endswith("allocations 0, events 0")


def test_arrays_that_overlap_are_put_back_too(fake: FakeDriver, engines: Choosing) -> None:
    kernel = engines.kernel()
    array = numpy.ones(32, numpy.float32)
    kernel.launch((1, 1, 1), (Tensor(array[:20]), Tensor(array[8:]), 16), ORDINARY)
    assert fake.calls("cuMemcpyDtoDAsync_v2 96 ")
    fake.clear()
    kernel.launch((9, 1, 1), (Tensor(array[:16]), Tensor(array[16:]), 16), ORDINARY)
    assert not fake.calls("cuMemcpyDtoDAsync_v2")


UNREPEATABLE = {
    "prints": '%t = print_tko "%d", %n : tile<i32> -> token',
    "asserts": '%c = constant <i1: true> : tile<i1> assert %c, "so" : tile<i1>',
    "computed addresses": "%w = constant <i64: 64> : tile<i64> %x = int_to_ptr %w : tile<i64> -> tile<ptr<f32>>",
}


@pytest.mark.parametrize("body", list(UNREPEATABLE.values()), ids=list(UNREPEATABLE))
def test_launch_that_cannot_be_repeated_is_made_once_by_the_first(
    fake: FakeDriver, engines: Choosing, body: str
) -> None:
    kernel = engines.kernel(body)
    assert repeatable(kernel.entry) is None
    kernel.launch((1, 1, 1), tensors(), LaunchOptions(output=lambda text: None))
    assert parameters(fake) == [3] and kernel.chosen_backend == "first"


GLOBALS = "global @g <f32: 1.0> : tile<1xf32>"


def test_kernels_with_global_variables_are_all_of_one_engine(fake: FakeDriver, engines: Choosing) -> None:
    body = "%p = get_global @g : tile<ptr<f32>> %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token"
    kernel = engines.kernel(body, more=GLOBALS)
    assert repeatable(kernel.entry) is None
    kernel.launch((1, 1, 1), tensors(), ORDINARY)
    assert parameters(fake) == [3]
    engines.first.error = CompilationError("the first refuses")
    with pytest.raises(CompilationError, match="the first refuses"):
        engines.kernel(body, more=GLOBALS).launch((1, 1, 1), tensors(), ORDINARY)


def test_constant_globals_are_no_obstacle(engines: Choosing) -> None:
    body = "%p = get_global @g : tile<ptr<f32>> %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token"
    assert repeatable(entry_of(PARAMETERS, body, more="global constant @g <f32: 1.0> : tile<1xf32>")) is not None


def test_engine_that_has_no_code_leaves_the_launch_to_the_other(fake: FakeDriver, engines: Choosing) -> None:
    engines.second.error = CompilationError("the second crashes")
    kernel = engines.kernel()
    kernel.launch((1, 1, 1), tensors(), ORDINARY)
    assert parameters(fake) == [3] and kernel.chosen_backend == "first"
    assert "the second crashes" in next(iter(kernel.choices.values())).failures["second"]
    # It is not tried again in another process.
    engines.second.error = AssertionError("not again")
    engines.kernel().launch((1, 1, 1), tensors(), ORDINARY)
    engines.first.error, engines.second.error = CompilationError("the first refuses"), None
    other = engines.kernel(PURE + PURE.replace("%x", "%x2").replace("%t ", "%t2 ").replace("%s", "%s2"))
    other.launch((1, 1, 1), tensors(), ORDINARY)
    assert other.chosen_backend == "second"


def test_where_no_engine_has_code_the_one_that_is_there_says_why(engines: Choosing) -> None:
    engines.first.error = MissingDependencyError("the first is not installed")
    engines.second.error = CompilationError("the second refuses")
    with pytest.raises(CompilationError, match="the second refuses"):
        engines.kernel().launch((1, 1, 1), tensors(), ORDINARY)


def test_nothing_is_measured_while_a_graph_is_made(fake: FakeDriver, engines: Choosing) -> None:
    kernel = engines.kernel()
    fake.capture(True)
    kernel.launch((1, 1, 1), tensors(), ORDINARY)
    fake.capture(False)
    assert parameters(fake) == [3] and not fake.calls("cuEventRecord")
    kernel.launch((1, 1, 1), tensors(), ORDINARY)
    assert kernel.chosen_backend == "second" and len(kernel.choices) == 1


def test_arrays_that_are_too_large_for_copies_are_not_measured(fake: FakeDriver, engines: Choosing) -> None:
    kernel = engines.kernel(COUNTING)
    array = numpy.empty(1 << 26, numpy.float32)
    kernel.launch((1, 1, 1), (Tensor(array), Tensor(array[:1]), 1), ORDINARY)
    assert parameters(fake) == [3]


def test_long_launches_are_measured_once(fake: FakeDriver, engines: Choosing) -> None:
    engines.first.takes, engines.second.takes = 400_000, 900_000
    kernel = engines.kernel()
    kernel.launch((1, 1, 1), tensors(), ORDINARY)
    assert parameters(fake) == [3, 5, 3] and kernel.chosen_backend == "first"


def test_many_kinds_go_where_most_went(fake: FakeDriver, engines: Choosing) -> None:
    kernel = engines.kernel()
    arguments = tensors()
    for bits in range(20):
        kernel.launch((1 << bits, 1, 1), arguments, ORDINARY)
    measured = [choice for choice in kernel.choices.values() if choice.seconds]
    assert len(measured) == 16 and {choice.engine for choice in kernel.choices.values()} == {"second"}


def test_preferred_engine_that_has_no_code_leaves_the_launch_to_the_other(fake: FakeDriver, engines: Choosing) -> None:
    kernel = engines.kernel()
    arguments = tensors()
    for bits in range(16):
        kernel.launch((1 << bits, 1, 1), arguments, ORDINARY)
    engines.second.error = TritonCrash([Diagnostic("error", "the second crashes", UNKNOWN)], "", "SIGABRT")
    odd = Tensor(arguments[0].array[1:])
    kernel.launch((1, 1, 1), (odd, *arguments[1:]), ORDINARY)
    assert (
        kernel.chosen_backend == "first"
        and "the second crashes" in list(kernel.choices.values())[-1].failures["second"]
    )
    # One that was kept on disk, too.
    other = engines.kernel()
    other.launch((1, 1, 1), arguments, ORDINARY)
    assert (
        other.chosen_backend == "first" and "the second crashes" in list(other.choices.values())[-1].failures["second"]
    )


def test_failure_of_the_driver_is_told(fake: FakeDriver, engines: Choosing) -> None:
    fake.fail("cuLaunchKernelEx", 700)
    with pytest.raises(tileir.LaunchError, match="launching @k"):
        engines.kernel().launch((1, 1, 1), tensors(), ORDINARY)


# --- what `backend="auto"` takes ---


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    found = {"tileiras": True, "triton": True}
    monkeypatch.setattr("tileir.execute.engine.registry.compilers_here", lambda: found)
    return found


def chosen() -> str:
    entry = entry_of(PARAMETERS, PURE)
    return choose(entry, tensors(), ORDINARY).name


def test_both_engines_are_measured_where_both_are_installed(engines: Choosing, installed: dict[str, bool]) -> None:
    entry = entry_of(PARAMETERS, PURE)
    assert choose(entry, tensors(), ORDINARY) is _CHOICE
    installed["triton"] = False
    assert chosen() == "tileiras"
    installed.update(triton=True, tileiras=False)
    assert chosen() == "triton"
    installed["triton"] = False
    assert choose(entry, tensors(), ORDINARY) is _CHOICE


def test_old_driver_is_served_by_triton_alone(fake: FakeDriver, engines: Choosing, installed: dict[str, bool]) -> None:
    fake.reset(cuda=12040)
    assert chosen() == "triton"


@pytest.mark.parametrize("name", ["tileiras", "triton"])
def test_environment_names_an_engine(
    engines: Choosing, installed: dict[str, bool], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("TILEIR_GPU_BACKEND", name)
    assert chosen() == name
    assert choose(entry_of(PARAMETERS, PURE), (), ORDINARY).name not in ("tileiras", "triton")
    monkeypatch.setenv("TILEIR_GPU_BACKEND", "cpu")
    with pytest.raises(tileir.LaunchError, match="TILEIR_GPU_BACKEND is 'cpu', which is no backend for GPUs"):
        chosen()
    monkeypatch.setenv("TILEIR_GPU_BACKEND", "abacus")
    with pytest.raises(tileir.LaunchError, match="there is no backend 'abacus'"):
        chosen()
