"""Sweeps on a real Dask cluster: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tileir
from tileir.judging.executor.scheduler import SweepProgress
from tileir.judging.model import JudgePlan, SweepInput
from tileir.judging.results.results import Results

pytest.importorskip("distributed", reason="distributed is not installed: pip install 'tileir[dask]'")

ROOT = Path(__file__).parents[2]
PROGRAM = """cuda_tile.module @m{number} {{
  entry @f(%a: tile<ptr<f32>>) {{
    %c = constant <f32: {number}.0> : tile<f32>
    %t = store_ptr_tko weak %a, %c : tile<ptr<f32>>, tile<f32> -> token
    return
  }}
}}
"""


class Cluster:
    """A scheduler and its workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        # A scheduler need not have tileir.
        own = [str(self._without_tileir())] if kind == "scheduler" else []
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*own, *sys.path, str(ROOT)])}
        command = [
            sys.executable,
            "-m",
            f"distributed.cli.dask_{kind}",
            "--scheduler-file",
            str(self.file),
            "--no-dashboard",
        ]
        with open(self.folder / f"{kind}{len(self.processes)}.log", "wb") as log:
            process = subprocess.Popen(
                [*command, *arguments], env=environment, cwd=self.folder, stdout=log, stderr=log, start_new_session=True
            )
        self.processes.append(process)
        return process

    def _without_tileir(self) -> Path:
        folder = self.folder / "without"
        folder.mkdir()
        (folder / "tileir.py").write_text("raise ImportError('there is no tileir here')")
        return folder

    def worker(self) -> subprocess.Popen[bytes]:
        return self.start("worker", "--nthreads", "1", "--no-nanny", "--memory-limit", "0")

    @property
    def address(self) -> str:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                return str(json.loads(self.file.read_text())["address"])
            except (OSError, ValueError):
                time.sleep(0.1)
        raise TimeoutError((self.folder / "scheduler0.log").read_text())


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    made = Cluster(folder)
    made.start("scheduler", "--host", "127.0.0.1", "--port", "0")
    try:
        yield made
    finally:
        for process in reversed(made.processes):
            process.kill()
            process.wait()


def programs(count: int) -> list[SweepInput]:
    return [SweepInput(f"{number}.mlir", "program", PROGRAM.format(number=number).encode()) for number in range(count)]


def table(path: Path) -> list[tuple[Any, ...]]:
    with Results(str(path)) as results:
        return list(results.comparable())


def swept_with_a_death(folder: Path, count: int, **options: Any) -> SweepProgress:
    """Sweep on two workers, one of which is killed in the middle while a third one comes; gives the end."""
    with cluster(folder) as found:
        victim, _ = found.worker(), found.worker()
        address = found.address
        _wait_for_workers(address, 2)

        def tell(progress: SweepProgress) -> None:
            if progress.judged > count // 4 and victim.poll() is None:
                victim.kill()
                victim.wait()
                found.worker()

        result = tileir.sweep(results=folder / "dask.sqlite", dask=address, progress=tell, **options)
        assert victim.poll() == -9
        assert 0 < result.progress.judged == count
        return result.progress


def _wait_for_workers(address: str, count: int) -> None:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=60)


def test_a_cluster_that_loses_a_worker_gives_the_table_of_one_process(tmp_path: Path) -> None:
    options: dict[str, Any] = {"inputs": programs(200), "plan": JudgePlan(backends=("interpreter",))}
    swept_with_a_death(tmp_path, 200, **options)
    tileir.sweep(results=tmp_path / "local.sqlite", jobs=1, **options)
    found = table(tmp_path / "dask.sqlite")
    assert [row[3] for row in found] == ["passed"] * 200
    assert found == table(tmp_path / "local.sqlite")


@pytest.mark.long
def test_two_thousand_programs_on_a_cluster_that_loses_a_worker(tmp_path: Path) -> None:
    plan = JudgePlan(backends=("interpreter", "cpu"))
    options: dict[str, Any] = {"inputs": programs(1800), "seeds": range(200), "plan": plan}
    swept_with_a_death(tmp_path, 2000, **options)
    tileir.sweep(results=tmp_path / "local.sqlite", jobs=1, **options)
    found = table(tmp_path / "dask.sqlite")
    assert len(found) == 2000
    assert found == table(tmp_path / "local.sqlite")


def test_no_scheduler_is_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tileir.judging.executor.executors._PATIENCE", 0.5)
    for address in ("tcp://127.0.0.1:1", "nonsense://x", "tcp://"):
        with pytest.raises(tileir.errors.SweepError, match=f"there is no Dask scheduler at '{address}'"):
            tileir.sweep([], tmp_path / "results.sqlite", dask=address)


@pytest.mark.long
def test_a_scheduler_that_dies_ends_the_sweep_and_another_one_goes_on(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    options: dict[str, Any] = {"inputs": programs(300), "plan": JudgePlan(), "results": tmp_path / "results.sqlite"}
    with cluster(tmp_path / "first") as found:
        found.worker()

        def tell(progress: SweepProgress) -> None:
            if progress.judged:
                found.processes[0].kill()

        with pytest.raises(tileir.errors.SweepError, match="no more work can be handed out"):
            tileir.sweep(dask=found.address, progress=tell, **options)
    with Results(str(options["results"])) as results:
        before = sum(results.counts().values())
    assert 0 < before < 300
    with cluster(tmp_path / "second") as found:
        found.worker()
        result = tileir.sweep(dask=found.address, **options)
    assert (result.progress.known, result.progress.judged) == (before, 300 - before)


def test_without_the_package_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(tileir.MissingDependencyError, match=r"pip install 'tileir\[dask\]'"):
        tileir.sweep([], tmp_path / "results.sqlite", dask="tcp://127.0.0.1:1")
