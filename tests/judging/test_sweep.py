"""Sweeps: everything is judged once, whoever does it, and whatever becomes of the workers."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import tileir
from tileir.judging.executor.executors import ChunkExecutor, ThreadExecutor, UserExecutor
from tileir.judging.executor.scheduler import Scheduler, SweepProgress
from tileir.judging.inputs import Inputs
from tileir.judging.model import JudgePlan, JudgeStage, Outcome, ProcessLimits, SweepInput, Verdict
from tileir.judging.results.results import Results
from tileir.judging.results.store import Store
from tileir.tools.testing.sweep import SweepReporter

PLAN = JudgePlan()
QUICK = JudgePlan(limits=ProcessLimits(seconds=0.01))


def items(count: int) -> list[SweepInput]:
    return [SweepInput(f"{number}.mlir", "program", f"program {number}".encode()) for number in range(count)]


def judged(all: list[SweepInput], plan: JudgePlan) -> list[Verdict]:
    """A double that says of each item what it is."""
    return [Verdict(each.digest, "passed", "", [JudgeStage("check", "passed", each.content.decode())]) for each in all]


def dying(all: list[SweepInput], plan: JudgePlan) -> list[Verdict]:
    """The worker dies of some items."""
    if any(each.content.endswith(b"7") for each in all):
        os._exit(3)
    return judged(all, plan)


def once(marker: str, all: list[SweepInput], plan: JudgePlan) -> list[Verdict]:
    """The worker dies of an item the first time only, when it makes the file."""
    for each in all:
        if each.content == b"program 7":
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            os._exit(3)
    return judged(all, plan)


def swept(path: Path | str, all: Any, executor: ChunkExecutor, **options: Any) -> SweepProgress:
    plan = options.pop("plan", PLAN)
    with Store(str(path)) as store:
        store.begin(plan)
        sweep = Scheduler(Inputs(all), store, plan, executor, **options)
        is_done = False
        try:
            is_done = sweep.run()
        finally:
            executor.close(is_done)
        return sweep.progress


def table(path: Path | str) -> list[tuple[Any, ...]]:
    with Results(str(path)) as results:
        return list(results.comparable())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


@pytest.fixture
def expected(tmp_path: Path) -> list[tuple[Any, ...]]:
    """What one thread makes of a hundred items."""
    swept(tmp_path / "expected.sqlite", items(100), ThreadExecutor(1, judged))
    return table(tmp_path / "expected.sqlite")


def pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, get_context("spawn" if os.name == "nt" else "forkserver"))


def test_everything_is_judged_and_told(path: Path, expected: list[tuple[Any, ...]]) -> None:
    told: list[int] = []
    progress = swept(path, items(100), ThreadExecutor(3, judged), report=lambda progress: told.append(progress.done))
    assert (progress.total, progress.judged, progress.done, progress.failed) == (100, 100, 100, 0)
    assert told[-1] == 100 and told == sorted(told)
    assert table(path) == expected and len(expected) == 100


def test_what_is_told_is_in_the_file(path: Path) -> None:
    def tell(progress: SweepProgress) -> None:
        with Results(str(path)) as results:
            assert sum(results.counts().values()) >= progress.judged

    assert swept(path, items(50), ThreadExecutor(2, judged), report=tell).judged == 50


def test_the_same_again_judges_nothing(path: Path) -> None:
    swept(path, items(60), ThreadExecutor(2, judged))
    count = Counter[bytes]()

    def counting(all: list[SweepInput], plan: JudgePlan) -> list[Verdict]:
        count.update(each.content for each in all)
        return judged(all, plan)

    progress = swept(path, items(70), ThreadExecutor(2, counting))
    assert (progress.known, progress.judged) == (60, 10)
    assert count == {f"program {number}".encode(): 1 for number in range(60, 70)}


def test_what_another_tileir_has_judged_is_counted(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("tileir.judging.executor.executors.machine", lambda: '{"sources": "of another one"}')
        assert swept(path, items(3), ThreadExecutor(1, judged)).outdated == 0
    swept(path, items(5), ThreadExecutor(1, judged))
    again = swept(path, items(5), ThreadExecutor(1, judged))
    assert (again.known, again.outdated) == (5, 3)
    SweepReporter(False, False).finished(again, str(path))
    assert "\n3 were judged by another tileir than this one" in capsys.readouterr().out
    renewed = swept(path, items(5), ThreadExecutor(1, judged), retry=("passed",))
    assert (renewed.known, renewed.outdated) == (0, 0)
    assert swept(path, items(5), ThreadExecutor(1, judged)).outdated == 0


def test_items_of_the_same_content_are_judged_once_and_keep_their_names(path: Path) -> None:
    twins = [SweepInput(name, "program", b"same") for name in ("b", "a", "c")]
    progress = swept(path, [twins[0], *items(30), *twins[1:]], ThreadExecutor(2, judged))
    assert (progress.judged, progress.duplicates, progress.done) == (31, 2, 33)
    with Results(str(path)) as results:
        assert [row.names for row in results.rows() if row.digest == twins[0].digest] == [["a", "b", "c"]]


def test_items_of_the_same_name_are_told_apart(path: Path) -> None:
    same = [SweepInput("k", "program", content) for content in (b"one", b"two", b"one", b"three")]
    for _ in range(2):
        assert swept(path, same, ThreadExecutor(2, judged)).done == 4
    with Results(str(path)) as results:
        found = {results.item(row.digest).content: row.names for row in results.rows()}
    assert found == {b"one": ["k"], b"two": ["k (2)"], b"three": ["k (3)"]}


def test_what_is_under_way_is_cancelled_when_a_sweep_ends_early(path: Path) -> None:
    class Slow(ThreadPoolExecutor):
        given: list[Future[Any]] = []

        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
            self.given.append(super().submit(function, *arguments, **options))
            return self.given[-1]

    def slow(all: list[SweepInput], plan: JudgePlan) -> list[Verdict]:
        time.sleep(0.2)
        return judged(all, plan)

    def tell(progress: SweepProgress) -> None:
        if progress.judged:
            raise KeyboardInterrupt

    with Slow(1) as executor:
        with pytest.raises(KeyboardInterrupt):
            swept(path, items(50), UserExecutor(executor, 4, slow), report=tell)
        assert any(future.cancelled() for future in executor.given)


def test_what_cannot_be_read_is_a_row(path: Path, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.mlir")
    for _ in range(2):
        progress = swept(path, [missing, *items(1)], ThreadExecutor(1, judged))
        assert progress.outcomes == {"failed": 1, "passed": 1}
    with Results(str(path)) as results:
        (row,) = [row for row in results.rows() if row.kind == "unreadable"]
        assert row.failure is not None and row.failure.message == f"cannot read '{missing}': No such file or directory"
    # Once it is there, the old row is no longer about it.
    Path(missing).write_text("program")
    swept(path, [missing], ThreadExecutor(1, judged))
    with Results(str(path)) as results:
        assert [row.verdict.outcome for row in results.rows() if row.name == missing] == ["passed"]
        assert results.counts() == {"passed": 2}


def test_outcomes_are_judged_again_if_asked_for(path: Path) -> None:
    def failing(all: list[SweepInput], plan: JudgePlan) -> list[Verdict]:
        outcome: Outcome = "timeout" if all[0].content == b"program 1" else "failed"
        return [Verdict(all[0].digest, outcome, "slow", [JudgeStage("run cpu", outcome)])] + judged(all[1:], plan)

    with ThreadPoolExecutor(1) as executor:
        swept(path, items(2), UserExecutor(executor, 1, failing))
    assert swept(path, items(2), ThreadExecutor(1, judged), retry=("timeout",)).outcomes == {"failed": 1, "passed": 1}
    assert [row[3] for row in table(path)].count("passed") == 1


def test_it_ends_at_the_first_failure_if_asked_to(path: Path) -> None:
    def failing(all: list[SweepInput], plan: JudgePlan) -> list[Verdict]:
        time.sleep(0.02 * len(all))
        return [Verdict(each.digest, "failed", "wrong", [JudgeStage("check", "failed")]) for each in all]

    progress = swept(path, items(1000), ThreadExecutor(2, failing), stops_at_failure=True)
    assert 0 < progress.judged < 1000
    with Results(str(path)) as results:
        assert results.counts()["failed"] >= progress.judged


def test_inputs_are_read_no_further_than_needed(path: Path) -> None:
    ahead: list[int] = []
    finished = 0
    lock = threading.Lock()

    def stream():
        for number, each in enumerate(items(5000)):
            ahead.append(number - finished)
            yield each

    def slow(all: list[SweepInput], plan: JudgePlan) -> list[Verdict]:
        nonlocal finished
        time.sleep(0.002 * len(all))
        with lock:
            finished += len(all)
        return judged(all, plan)

    progress = swept(path, stream(), ThreadExecutor(2, slow))
    assert (progress.judged, progress.total) == (5000, 5000)
    # Two chunks for each of two workers, and as much waiting: chunks may grow to half a second, 250 items,
    # and to more where the machine is busy; nothing like all of them.
    assert max(ahead) <= 4000


# --- executors ---


def test_a_pool_of_processes_gives_the_same_table(path: Path, expected: list[tuple[Any, ...]]) -> None:
    with pool() as executor:
        swept(path, items(100), UserExecutor(executor, None, judged))
    assert table(path) == expected


def test_loky_gives_the_same_table(path: Path, expected: list[tuple[Any, ...]]) -> None:
    loky = pytest.importorskip("loky")
    executor = loky.ProcessPoolExecutor(2)
    try:
        swept(path, items(100), UserExecutor(executor, None, judged))
    finally:
        executor.shutdown(kill_workers=True)
    assert table(path) == expected


class Plain:
    """An executor with nothing but `submit`, and any number of workers."""

    def __init__(self) -> None:
        self.most = self.now = 0
        self.lock = threading.Lock()

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            with self.lock:
                self.now += 1
                self.most = max(self.most, self.now)
            result = function(*arguments, **options)
            with self.lock:
                self.now -= 1
            future.set_result(result)

        threading.Thread(target=run).start()
        return future


def test_an_executor_of_unknown_size_is_filled_step_by_step(path: Path) -> None:
    def slow(all: list[SweepInput], plan: JudgePlan) -> list[Verdict]:
        time.sleep(0.06 * len(all))
        return judged(all, plan)

    executor = Plain()
    assert swept(path, items(400), UserExecutor(executor, None, slow)).judged == 400  # type: ignore[arg-type]
    assert executor.most > 8


def test_a_worker_that_dies_costs_only_its_chunk(path: Path, expected: list[tuple[Any, ...]], tmp_path: Path) -> None:
    progress = swept(path, items(100), UserExecutor(pool, None, partial(once, str(tmp_path / "once"))))
    assert progress.lost and (tmp_path / "once").exists()
    assert table(path) == expected


def test_an_item_that_kills_every_worker_is_told_so_and_nobody_else_is(path: Path) -> None:
    progress = swept(path, items(12), UserExecutor(pool, None, dying))
    assert progress.outcomes == {"passed": 11, "crashed": 1}
    with Results(str(path)) as results:
        (row,) = [row for row in results.rows() if row.verdict.outcome == "crashed"]
        why = results.output(row.digest)
    assert row.name == "7.mlir" and row.failure is not None
    # The same whoever judges it; how the executor tells it is not.
    assert row.failure.message == row.failure.cause == "the worker died"
    assert why.startswith("BrokenProcessPool: ")


def test_an_executor_that_breaks_and_cannot_be_replaced_ends_the_sweep_with_words(path: Path) -> None:
    with pool() as executor, pytest.raises(tileir.errors.SweepError, match="Give a function that makes an executor"):
        swept(path, items(20), UserExecutor(executor, None, dying))
    # And what was finished is there: the rest goes on elsewhere.
    assert swept(path, items(20), ThreadExecutor(2, judged)).done == 20


class Losing(ThreadPoolExecutor):
    """Futures of the first chunks never come back."""

    lost = 0

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        if self.lost < 2:
            self.lost += 1
            return Future()
        return super().submit(function, *arguments, **options)


def test_chunks_that_nobody_hears_of_again_are_handed_out_again(
    path: Path, expected: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tileir.judging.executor.scheduler._PATIENCE", 0.3)
    with Losing(2) as executor:
        progress = swept(path, items(100), UserExecutor(executor, None, judged), plan=QUICK)
    assert progress.lost >= 2
    assert table(path) == expected


class Silent(ThreadPoolExecutor):
    """No worker answers, at first or from some moment on."""

    answers = 0

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        self.answers -= 1
        return Future() if self.answers < 0 else super().submit(function, *arguments, **options)


@pytest.mark.parametrize("answers", [0, 5])
def test_workers_that_are_all_gone_are_no_fault_of_the_items(
    path: Path, answers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tileir.judging.executor.scheduler._PATIENCE", 0.3)
    with Silent(2) as executor, pytest.raises(tileir.errors.SweepError, match="nothing was heard of any worker for"):
        executor.answers = answers
        swept(path, items(50), UserExecutor(executor, None, judged), plan=QUICK)
    with Results(str(path)) as results:
        assert set(results.counts()) <= {"passed"}


class Elsewhere(ThreadPoolExecutor):
    """Workers with another tileir, or none."""

    error: Exception | None = None

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        if self.error is not None:
            future: Future[Any] = Future()
            future.set_exception(self.error)
            return future
        # What is given last are the sources that the worker should have.
        others: list[Any] = [*arguments[:-1], "other sources"]
        return super().submit(function, *others)


def test_workers_with_another_tileir_are_refused(path: Path) -> None:
    with Elsewhere(1) as executor, pytest.raises(tileir.errors.SweepError, match="a worker has another tileir"):
        swept(path, items(3), UserExecutor(executor, None, judged))


def test_workers_without_tileir_are_refused(path: Path) -> None:
    with Elsewhere(1) as executor:
        executor.error = ModuleNotFoundError("No module named 'tileir'")
        with pytest.raises(
            tileir.errors.SweepError, match="a worker cannot load tileir: ModuleNotFoundError: No module"
        ):
            swept(path, items(3), UserExecutor(executor, None, judged))


def test_what_makes_no_executor_is_named(path: Path) -> None:
    with pytest.raises(tileir.errors.SweepError, match=r"returns 7, which is no executor"):
        UserExecutor(lambda: 7, None, judged)  # type: ignore[arg-type,return-value]


def test_an_interrupt_leaves_what_is_done(path: Path) -> None:
    def tell(progress: SweepProgress) -> None:
        if progress.judged >= 10:
            raise KeyboardInterrupt

    def slow(all: list[SweepInput], plan: JudgePlan) -> list[Verdict]:
        time.sleep(0.01 * len(all))
        return judged(all, plan)

    with pytest.raises(KeyboardInterrupt):
        swept(path, items(500), ThreadExecutor(2, slow), report=tell)
    with Results(str(path)) as results:
        assert 10 <= results.counts()["passed"] < 500
    assert swept(path, items(500), ThreadExecutor(2, judged)).done == 500


# --- the whole of it, with real programs ---


def test_programs_are_judged_in_processes(tmp_path: Path) -> None:
    good = "cuda_tile.module @m {\n  entry @f() {\n    return\n  }\n}\n"
    (tmp_path / "good.mlir").write_text(good)
    (tmp_path / "wrong.mlir").write_text(good.replace("return", "nonsense"))
    found = tileir.sweep(tmp_path, tmp_path / "results.sqlite", jobs=2, plan=JudgePlan(backends=("interpreter",)))
    assert found.outcomes == {"passed": 1, "failed": 1} and not found.passed
    assert repr(found) == f"<SweepResult 1 failed, 1 passed, {tmp_path / 'results.sqlite'}>"
    with found.results() as results:
        rows = {Path(row.name).name: row for row in results.rows()}
        assert rows["wrong.mlir"].failure is not None and "'nonsense' is unknown" in rows["wrong.mlir"].failure.message
        assert rows["good.mlir"].verdict.steps[1].name == "run interpreter"
        assert rows["good.mlir"].machine["tileir"] == tileir.__version__


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"inputs": None}, "there is nothing to judge"),
        ({"jobs": 0}, "give a number from 1 on"),
        ({"retry": ("slow",)}, "'slow' is no outcome: use passed, failed"),
        ({"executor": Executor(), "dask": "tcp://x"}, "not both"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_is_written(
    tmp_path: Path, options: Any, words: str
) -> None:
    with pytest.raises(tileir.OptionError, match=words):
        tileir.sweep(**{"inputs": [], "results": tmp_path / "results.sqlite", **options})
    assert list(tmp_path.iterdir()) == []


def test_the_pool_that_breaks_is_a_broken_executor() -> None:
    """What `once` and `dying` stand for."""
    with pool() as executor, pytest.raises(BrokenProcessPool):
        executor.submit(dying, items(8), PLAN).result()
