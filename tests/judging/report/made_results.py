"""Files of results with verdicts that are made up."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tileir.judging.model import JudgePlan, JudgeStage, Kind, Outcome, SweepInput, Verdict
from tileir.judging.results.store import Finished, Store

PLAN = JudgePlan(backends=("interpreter", "cpu"))
DIFFER = "results differ: f32"


def program(name: str, content: str = "", kind: Kind = "program") -> SweepInput:
    return SweepInput(name, kind, (content or f"// {name}\ncuda_tile.module @m {{ }}\n").encode("utf-8", "replace"))


def passed(*names: str) -> list[JudgeStage]:
    return [JudgeStage(name, "passed", measured={"seconds": 0.01}) for name in names]


def judged(
    item: SweepInput, *steps: JudgeStage, seconds: float = 0.25, peak: float = 0.0, output: str = ""
) -> Finished:
    failure = next((step for step in steps if step.outcome not in ("passed", "skipped")), None)
    outcome: Outcome = failure.outcome if failure is not None else "passed"
    cause = failure.cause if failure is not None else ""
    measured = {"seconds": seconds, **({"peak_bytes": peak} if peak else {})}
    return Finished(item, Verdict(item.digest, outcome, cause, list(steps), output, measured))


def fine(name: str, content: str = "", kind: Kind = "program", seconds: float = 0.25) -> Finished:
    steps = passed("check", "run interpreter", "run cpu", "compare cpu")
    return judged(program(name, content, kind), *steps, seconds=seconds)


def wrong(name: str, content: str = "", message: str = "@k, argument 0: 3 of 4 elements differ") -> Finished:
    steps = [*passed("check", "run interpreter", "run cpu"), JudgeStage("compare cpu", "failed", message, DIFFER)]
    return judged(program(name, content), *steps)


def invalid(name: str, message: str, cause: str, content: str = "") -> Finished:
    skipped = [JudgeStage(step, "skipped") for step in ("run interpreter", "run cpu", "compare cpu")]
    return judged(program(name, content), JudgeStage("check", "failed", message, cause), *skipped)


def crashed(name: str, cause: str = "SIGSEGV in execute.cpu.native.calling.launch", content: str = "") -> Finished:
    step = JudgeStage("run cpu", "crashed", f"the process died: {cause}", cause)
    return judged(program(name, content), *passed("check", "run interpreter"), step, peak=300 << 20)


def written(path: Path, finished: Iterable[Finished], plan: JudgePlan = PLAN) -> str:
    """A file with these verdicts."""
    with Store(str(path)) as store:
        store.begin(plan)
        for each in finished:
            store.add(each)
        store.flush()
    return str(path)


def several() -> list[Finished]:
    """Three kinds of failures among ten programs."""
    return [
        *[fine(f"good/{number}.mlir") for number in range(5)],
        invalid("bad/a.mlir", "program:3:5: error: expected ':'", "expected ':'"),
        invalid("bad/long name.mlir", "program:9:1: error: expected ':'", "expected ':'"),
        wrong("wrong/one.mlir"),
        wrong("wrong/two.mlir", "// a much longer program\n" * 9),
        crashed("crash.mlir"),
    ]
