"""The search for a schedule, on a driver whose kernels take as long as they are told."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.execute.gpu.fake_cuda import PRIMARY, FakeDriver, FakeTorch, Tensor, entry_of
from tests.execute.gpu.triton.fake_code import FakeCubin, fake_code
from tests.execute.gpu.triton.product_programs import matmul

import tileir
from tileir.execute.engine.interface import LaunchOptions
from tileir.execute.errors import CompilationError, LaunchError
from tileir.execute.gpu.triton.code import Code, Schedule, Specialization, TuningTrial, schedule_words
from tileir.execute.gpu.triton.kernel import TritonKernel
from tileir.execute.gpu.triton.program import Program
from tileir.execute.gpu.triton.schedule import search, trial
from tileir.execute.gpu.triton.schedule.features import features_of
from tileir.execute.gpu.triton.schedule.model import schedule_for, shared_bytes
from tileir.execute.gpu.triton.schedule.search import MOST, TRIAL_SECONDS, agree, candidates, leaves_open
from tileir.execute.gpu.triton.toolchain import TritonTarget, triton_target
from tileir.execute.launching.entries import select_entry
from tileir.ir.types import F16, F32, I32
from tileir.judging.verdicts.launches import open_operations
from tileir.processes import command
from tileir.processes.command import Outcome
from tileir.tools.main import run

ORDINARY = LaunchOptions()
H200 = triton_target("sm_90")
PARAMETERS = "%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>"
ADD = """
%x, %s = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
%y, %t = load_ptr_tko weak %b : tile<ptr<f32>> -> tile<f32>, token
%z = addf %x, %y : tile<f32>
%u = store_ptr_tko weak %c, %z : tile<ptr<f32>>, tile<f32> -> token
"""
DEFAULT = Schedule(num_warps=4)


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        *[(f"{name} %f : tile<f32>", True) for name in ("exp", "exp2", "log", "tan", "tanh", "rsqrt", "sigmoid", "log10")],
        ("atan2 %f, %f : tile<f32>", True),
        ("fpowi %f, %n : tile<f32>, tile<i32>", True),
        ("pow %f, %f : tile<f32>", True),
        ("divf %f, %f rounding<approx> : tile<f32>", True),
        ("sqrt %f : tile<f32>", False),
        ("divf %f, %f : tile<f32>", False),
        ("fma %f, %f, %f : tile<f32>", False),
    ],
)  # fmt: skip
def test_tuning_and_judging_agree_on_what_leaves_bits_open(text: str, is_open: bool) -> None:
    entry = entry_of("%f: tile<f32>, %n: tile<i32>", f"%r = {text}")
    assert leaves_open(entry) == is_open
    assert bool(open_operations(entry, "triton")) == is_open


class Tuned(TritonKernel):
    """A kernel that takes as many microseconds as it is told for each number of warps, and may do something else."""

    def __init__(self, takes: dict[int, int], does: dict[int, str] | None = None, **how: Any) -> None:
        super().__init__(entry_of(PARAMETERS, ADD), {}, **how)
        self.takes = takes
        self.does = does or {}
        self.made: list[Schedule | None] = []
        self.refused: int = 0
        self.before: Callable[[Schedule | None], None] | None = None

    def compiled(self, target: TritonTarget, kind: Specialization, schedule: Schedule | None = None) -> Code:
        self.made.append(schedule)
        if self.before is not None:
            self.before(schedule)
        wanted = schedule or DEFAULT
        if wanted.num_warps == self.refused:
            raise CompilationError("ptxas: too many warps\nand more")
        code = fake_code(self.entry, target.name, kind)
        more = f"takes k {self.takes.get(wanted.num_warps, 500)}\ndoes k {self.does.get(wanted.num_warps, 'add')}\n"
        cubin: Any = FakeCubin("k", "8,8,8,4,8,8", target.name, more=more)
        return code._replace(cubin=cubin, schedule=wanted)


@pytest.fixture
def gpu(fake: FakeDriver, torch: FakeTorch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache"))
    fake.push(PRIMARY)
    return fake


def tensors() -> tuple[Any, ...]:
    numbers = numpy.arange(16, dtype=numpy.float32)
    return Tensor(numbers), Tensor(2 * numbers), Tensor(numpy.full(16, -1, numpy.float32)), 16


def test_the_fastest_schedule_is_found_used_and_kept(gpu: FakeDriver) -> None:
    kernel = Tuned({4: 300, 8: 100, 16: 200})
    given = tensors()
    seen: list[tuple[int, int, TuningTrial]] = []
    tuning = kernel.tune((1, 1, 1), given, ORDINARY, lambda *told: seen.append(told))
    assert tuning.schedule.num_warps == 8 and tuning.best.seconds == pytest.approx(100e-6)
    assert [told[0] for told in seen] == list(range(1, len(seen) + 1)) and {told[1] for told in seen} == {len(seen)}
    # The launch was not made: arrays are as they were.
    assert (given[2].array == -1).all()
    kernel.made.clear()
    kernel.launch((1, 1, 1), given, ORDINARY)
    assert not kernel.made and (given[2].array == 3 * numpy.arange(16)).all()
    # In another process, say.
    other = Tuned({})
    other.launch((1, 1, 1), tensors(), ORDINARY)
    assert other.made == [tuning.schedule]


def test_the_default_stays_where_nothing_is_faster(gpu: FakeDriver) -> None:
    kernel = Tuned({4: 100})
    tuning = kernel.tune((1, 1, 1), tensors(), ORDINARY)
    assert tuning.schedule == DEFAULT and "(default)" in tuning.text().splitlines()[1]


def test_a_schedule_with_other_results_is_out_of_the_question(gpu: FakeDriver) -> None:
    kernel = Tuned({8: 10, 16: 50, 4: 300}, {8: "nothing"})
    tuning = kernel.tune((1, 1, 1), tensors(), ORDINARY)
    assert tuning.schedule.num_warps == 16
    assert [each.words for each in tuning.trials if each.schedule.num_warps == 8] == ["its results differ"]


def test_a_schedule_that_does_not_compile_is_told(gpu: FakeDriver) -> None:
    kernel = Tuned({8: 10})
    kernel.refused = 16
    tuning = kernel.tune((1, 1, 1), tensors(), ORDINARY)
    assert tuning.schedule.num_warps == 8 and "16 warps" in tuning.text()
    assert [each.words for each in tuning.trials if each.schedule.num_warps == 16] == ["ptxas: too many warps"]


def test_an_interrupt_keeps_the_best_so_far(gpu: FakeDriver) -> None:
    kernel = Tuned({4: 300, 8: 100, 2: 200, 16: 50, 1: 20})
    given = tensors()

    def interrupt(done: int, count: int, trial: TuningTrial) -> None:
        if trial.schedule.num_warps == 8:
            raise KeyboardInterrupt

    tuning = kernel.tune((1, 1, 1), given, ORDINARY, interrupt)
    assert tuning.is_interrupted and tuning.schedule.num_warps == 8
    assert (given[2].array == -1).all()


def test_a_kernel_tunes_itself_at_its_first_launch(gpu: FakeDriver) -> None:
    kernel = Tuned({4: 300, 8: 100}, tunes=True)
    given = tensors()
    kernel.launch((1, 1, 1), given, ORDINARY)
    assert (given[2].array == 3 * numpy.arange(16)).all()
    assert len(kernel.made) > 2
    kernel.made.clear()
    kernel.launch((1, 1, 1), tensors(), ORDINARY)
    assert not kernel.made


def test_what_prints_cannot_be_tuned(gpu: FakeDriver) -> None:
    kernel = TritonKernel(entry_of("%n: tile<i32>", 'print_tko "%d", %n : tile<i32> -> token'), {})
    with pytest.raises(LaunchError, match="@k cannot be tuned: it prints, asserts"):
        kernel.tune((1, 1, 1), (3,), ORDINARY)


def test_only_kernels_of_triton_are_tuned() -> None:
    module = tileir.parse("cuda_tile.module @m { entry @k() { return } }")
    with pytest.raises(LaunchError, match="only kernels of the backend 'triton' have a schedule"):
        tileir.compile(module, backend="interpreter").tune(1)
    with pytest.raises(LaunchError, match="compile with backend='triton'"):
        tileir.compile(module, backend="cpu", tune=True)


def test_results_agree_up_to_what_is_open() -> None:
    ours = numpy.array([1.0, -2.0, numpy.nan], numpy.float32)
    near = numpy.array([1.0 + 2.0**-20, -2.0, numpy.nan], numpy.float32)
    far = numpy.array([1.1, -2.0, numpy.nan], numpy.float32)
    none = numpy.array([1.0, -2.0, 0.0], numpy.float32)

    def same(left: Any, right: Any, element: Any, is_open: bool) -> bool:
        return agree(left.view(numpy.uint8), right.view(numpy.uint8), element, is_open)

    assert same(ours, ours, F32, False) and same(ours, near, F32, True)
    assert not same(ours, near, F32, False) and not same(ours, far, F32, True) and not same(ours, none, F32, True)
    numbers = numpy.arange(4, dtype=numpy.int32)
    assert not same(numbers, numbers[::-1].copy(), I32, True)
    assert same(numpy.array([1.0], numpy.float16), numpy.array([1.001], numpy.float16), F16, True)


@pytest.mark.parametrize(("tile", "persistent"), [((128, 256, 64), True), ((64, 64, 32), False)])
def test_candidates_are_few_fit_and_differ(tile: tuple[int, int, int], persistent: bool) -> None:
    entry = Program(select_entry(matmul(*tile, persistent=persistent), None)).entry
    found = features_of(entry)
    chosen = schedule_for(found, H200)
    tried = candidates(found, H200, chosen)
    assert 4 <= len(tried) <= MOST and len(set(tried)) == len(tried) and chosen not in tried
    assert all(shared_bytes(found, each) <= H200.shared for each in tried)
    assert {each.warp_specialize for each in tried} == {False, True}


@pytest.fixture
def specialized(monkeypatch: pytest.MonkeyPatch) -> Schedule:
    """The only candidate."""
    schedule = Schedule(num_warps=8, warp_specialize=True)
    monkeypatch.setattr(search, "candidates", lambda *given: [schedule])
    return schedule


def test_specialized_warps_that_never_end_are_stopped(
    gpu: FakeDriver, specialized: Schedule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that they started."""
    begun = time.monotonic()
    program = "import os, time; os.fork(); open(os.environ['FOUND'] + str(os.getpid()), 'w'); time.sleep(60)"
    monkeypatch.setenv("FOUND", str(tmp_path / "process."))
    monkeypatch.setattr(search, "_TRIAL", program)
    monkeypatch.setattr(search, "TRIAL_SECONDS", 3.0)
    tuning = Tuned({8: 10}).tune((1, 1, 1), tensors(), ORDINARY)
    assert tuning.schedule == DEFAULT and tuning.trials[1].words == "a launch did not end within 3 seconds"
    processes = [int(each.suffix[1:]) for each in tmp_path.glob("process.*")]
    assert processes and time.monotonic() - begun < 30
    until = time.monotonic() + 10
    while any(is_running(each) for each in processes):
        assert time.monotonic() < until
        time.sleep(0.01)


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2]
    except OSError:
        return False
    return not state.startswith("Z")


def test_nobody_waits_for_specialized_warps_that_cannot_be_ended(
    gpu: FakeDriver, specialized: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a process in a call of a driver."""
    monkeypatch.setattr(search, "_TRIAL", "import time; time.sleep(2)")
    monkeypatch.setattr(search, "TRIAL_SECONDS", 0.1)
    monkeypatch.setattr(command, "_DYING_SECONDS", 0.1)
    monkeypatch.setattr(command.os, "killpg", lambda *process: None)
    begun = time.monotonic()
    tuning = Tuned({8: 10}).tune((1, 1, 1), tensors(), ORDINARY)
    assert tuning.trials[1].words == "a launch did not end within 0 seconds" and time.monotonic() - begun < 1.5


def test_specialized_warps_that_fail_are_not_launched_here(
    gpu: FakeDriver, specialized: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_TRIAL", "raise SystemExit('illegal instruction')")
    tuning = Tuned({8: 10}, {8: "nothing"}).tune((1, 1, 1), tensors(), ORDINARY)
    assert tuning.trials[1].words == "a launch failed: illegal instruction"


def test_the_process_launches_the_candidate(
    gpu: FakeDriver, specialized: Schedule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the process does, done here."""
    compiled: list[Schedule] = []

    def compile_kernel(entry: Any, target: Any, options: Any) -> Code:
        compiled.append(options.schedule)
        cubin: Any = FakeCubin("k", "8,8,8,4,8,8", target, does="add")
        return fake_code(entry, target, options.specialization)._replace(cubin=cubin)

    def here(command: list[str], inputs: dict[str, bytes], *, time_limit: float) -> Outcome:
        assert command[3] in inputs and time_limit == TRIAL_SECONDS
        (tmp_path / "request").write_bytes(inputs[command[3]])
        trial.main(str(tmp_path / "request"))
        return Outcome(0, "", {}, 0, False)

    monkeypatch.setattr("tileir.execute.gpu.triton.kernel.compile_kernel", compile_kernel)
    monkeypatch.setattr(trial, "end_with_parent", lambda: None)
    monkeypatch.setattr(search, "run_command", here)
    with pytest.warns(tileir.errors.HostCopyWarning):
        tuning = Tuned({4: 100, 8: 10}).tune((1, 1, 1), tensors(), ORDINARY)
    assert compiled == [specialized] and tuning.schedule == specialized


def test_a_schedule_in_words() -> None:
    assert schedule_words(Schedule(8, 4, True, True)) == "8 warps, 4 stages, descriptors, specialized warps"
    assert schedule_words(Schedule(4, 3, False, row_stages=4)) == "4 warps, 3 stages, 4 row stages, addresses"


def test_command_without_a_gpu_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_LIBCUDA", "/nowhere/libcuda.so")
    from tests.execute.gpu.fake_cuda import forget

    forget()
    arguments = ["--arg", "rand:f32:1024", "--arg", "rand:f32:1024", "--arg", "zeros:f32:1024", "--arg", "1024"]
    assert run(["tune", "examples/vector_add.mlir", "--grid", "1", *arguments]) == 1
    assert "cannot be tuned here" in capsys.readouterr().err
    forget()
