"""What to try where Triton makes no code of a kernel as the model has it: with less and less of what makes it fast."""

from __future__ import annotations

from typing import Any, Final

from tileir.execute.gpu.triton.options import Schedule

_STEPS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("without warps for loads alone", {"warp_specialize": False}),
    ("without joined loops", {"flatten": False, "row_stages": 1}),
    ("with one stage", {"num_stages": 1, "epilogue_parts": 1}),
    ("without descriptors", {"descriptors": False}),
    ("with 4 warps", {"num_warps": 4}),
    ("with 8 warps", {"num_warps": 8}),
)


def plainer_schedules(schedule: Schedule) -> list[tuple[str, Schedule]]:
    """Schedules that ask for less, and what each gives up beside those before it."""
    found: list[tuple[str, Schedule]] = []
    seen = {schedule}
    for words, change in _STEPS:
        schedule = schedule._replace(**change)
        if schedule not in seen:
            seen.add(schedule)
            found.append((words, schedule))
    return found
