"""What is done to each candidate for a task."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from tileir.analyze.cost.targets import DEFAULT, target_named
from tileir.execute.engine.registry import find_engine, why_missing
from tileir.judging.model import JudgePlan, ProcessLimits
from tileir.judging.tasks.settings import TaskSettings

SECONDS: Final = 60.0
_TRIALS: Final = 2


def present_engines() -> tuple[str, ...]:
    """The engines of this machine that need no GPU."""
    return tuple(name for name in ("interpreter", "cpu") if not why_missing(find_engine(name)))


def plan_for(
    settings: TaskSettings,
    target: str | None = None,
    backend: str | None = None,
    timeout: float | None = None,
    memory_limit: int | None = None,
    *,
    prove: bool = False,
) -> JudgePlan:
    """What is done to each candidate for a task."""
    usual = ProcessLimits()
    target = target or settings.target or DEFAULT
    target_named(target)
    engine = backend or present_engines()[-1]
    is_measured = find_engine(engine).on_gpu
    seconds = timeout or settings.time_limit or SECONDS
    limits = ProcessLimits(seconds=seconds, memory=memory_limit or settings.memory_limit or usual.memory)
    can_prove = prove and find_spec("z3") is not None
    return JudgePlan(
        backends=(engine,),
        sanitize=True,
        prove=can_prove,
        cost=(target,),
        time=is_measured,
        trials=_TRIALS,
        limits=limits,
    )
