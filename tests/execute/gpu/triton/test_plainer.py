"""Where Triton makes no code of a kernel as the model has it, plainer schedules are tried."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tileir
from tileir.execute.gpu.errors import TritonCrash, TritonError, TritonTimeout
from tileir.execute.gpu.triton.code import Code, CodeOptions, Limits, Schedule
from tileir.execute.gpu.triton.compiler import Prepared, make, stage_text
from tileir.execute.gpu.triton.kernel import compile_kernel
from tileir.execute.gpu.triton.schedule.model import plainer_schedules
from tileir.execute.gpu.triton.toolchain import triton_target
from tileir.execute.gpu.triton.worker.pool import Answer
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import UNKNOWN

MATMUL = Path(__file__).parents[4] / "examples" / "matmul.mlir"
Refuse = Callable[[Schedule], "Exception | None"]


@pytest.fixture
def asked(triton: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Refuse], list[Schedule]]:
    """Has Triton refuse what a function says; the list is of the schedules that it was asked for."""
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path))
    found: list[Schedule] = []
    compiled = Prepared.compiled

    def given(refuse: Refuse) -> list[Schedule]:
        def compile(self: Prepared, last: str, limits: Limits) -> Answer:
            found.append(self.schedule)
            error = refuse(self.schedule)
            if error is not None:
                raise error
            return compiled(self, last, limits)

        monkeypatch.setattr(Prepared, "compiled", compile)
        return found

    return given


def entry() -> Operation:
    return tileir.compile(tileir.load(MATMUL), backend="interpreter").entry


def made(options: CodeOptions | None = None) -> Code:
    code = make(entry(), triton_target("sm_90"), options or CodeOptions()).code
    assert code is not None
    return code


def crashed(signal: str = "SIGABRT") -> TritonCrash:
    return TritonCrash([Diagnostic("error", f"Triton crashed: {signal}", UNKNOWN)], "", signal)


def test_each_schedule_gives_up_more() -> None:
    best = Schedule(8, 4, True, warp_specialize=True, row_stages=3)
    found = plainer_schedules(best)
    assert [words for words, _ in found][:4] == [
        "without warps for loads alone",
        "without stages of rows",
        "with one stage",
        "without descriptors",
    ]
    assert found[3][1] == Schedule(8, 1, False)
    assert [schedule.num_warps for _, schedule in found] == [8, 8, 8, 8, 4]
    assert len(plainer_schedules(Schedule(4, 1, False))) == 1


def test_plainest_that_triton_takes_is_the_code(asked: Any) -> None:
    schedules = asked(lambda schedule: crashed() if schedule.num_stages > 1 else None)
    code = made()
    assert code.schedule.num_stages == 1 and schedules[0].num_stages > 1
    assert code.notes == ("compiled with one stage, as Triton makes no code of it otherwise: Triton crashed: SIGABRT",)
    # The cache has it, with what there is to say.
    count = len(schedules)
    again = compile_kernel(entry(), "sm_90")
    assert again.notes == code.notes and len(schedules) == count


def test_stages_are_shown_of_the_code_that_is_made(asked: Any) -> None:
    schedules = asked(lambda schedule: crashed() if schedule.num_stages > 1 else None)
    text = stage_text(entry(), triton_target("sm_90"), CodeOptions(), "ttgir", Limits())
    assert "ttg.num-warps" in text and schedules[-1].num_stages == 1


def test_error_is_the_first_where_nothing_helps(asked: Any) -> None:
    numbers = iter(range(100))

    def refuse(schedule: Schedule) -> Exception:
        return TritonError([Diagnostic("error", f"refusal {next(numbers)}", UNKNOWN)])

    schedules = asked(refuse)
    with pytest.raises(TritonError, match="refusal 0"):
        made()
    assert len(schedules) > 2


def test_schedule_that_is_named_is_not_replaced(asked: Any) -> None:
    schedules = asked(lambda schedule: crashed())
    with pytest.raises(TritonCrash):
        made(CodeOptions(schedule=Schedule(4, 2)))
    assert schedules == [Schedule(4, 2)]


def test_what_takes_long_is_not_tried_again(asked: Any) -> None:
    schedules = asked(lambda schedule: TritonTimeout([Diagnostic("error", "too long", UNKNOWN)]))
    with pytest.raises(TritonTimeout):
        made()
    assert len(schedules) == 1


def test_that_somebody_ends_it_makes_no_slower_code(asked: Any) -> None:
    schedules = asked(lambda schedule: crashed("SIGKILL"))
    with pytest.raises(TritonCrash, match="SIGKILL"):
        made()
    assert len(schedules) == 1
