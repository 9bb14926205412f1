"""What a search has seen: schedules, how long a launch takes with each, and why some are out of the question."""

from __future__ import annotations

from typing import Final, NamedTuple

from tileir.execute.gpu.triton.options import Schedule


class Trial(NamedTuple):
    """A schedule that was tried."""

    schedule: Schedule
    seconds: float
    """Of a launch; 0 where it was not timed."""
    words: str = ""
    """Why it was not."""


class Tuning:
    """A search, as far as it got: the first of its trials is the default's."""

    def __init__(self, kernel: str, gpu: str, default: Trial) -> None:
        self.kernel: Final = kernel
        self.gpu: Final = gpu
        self.trials: Final[list[Trial]] = [default]
        self.is_interrupted: bool = False

    @property
    def best(self) -> Trial:
        """The fastest one."""
        return min([each for each in self.trials if each.seconds], key=lambda each: each.seconds)

    @property
    def schedule(self) -> Schedule:
        return self.best.schedule

    def text(self) -> str:
        """All of it as a table, the fastest first."""
        default = self.trials[0]
        timed = sorted([each for each in self.trials if each.seconds], key=lambda each: each.seconds)
        others = [each for each in self.trials if not each.seconds]
        lines = [f"@{self.kernel} on {self.gpu}"]
        for each in timed:
            name = schedule_words(each.schedule) + (" (default)" if each is default else "")
            ratio = default.seconds / each.seconds
            lines.append(f"{each.seconds * 1e6:12.2f} us  {ratio:5.2f} x  {name}")
        lines += [f"{'-':>12}              {schedule_words(each.schedule)}: {each.words}" for each in others]
        if self.is_interrupted:
            lines.append("interrupted: what was seen so far")
        return "\n".join(lines)


def schedule_words(schedule: Schedule) -> str:
    """A schedule in words."""
    words = [f"{schedule.num_warps} warps", f"{schedule.num_stages} stages"]
    if schedule.row_stages > 1:
        words.append(f"{schedule.row_stages} row stages")
    words.append("descriptors" if schedule.descriptors else "addresses")
    words += [name for name in ("flatten", "warp_specialize") if getattr(schedule, name)]
    if schedule.epilogue_parts > 1:
        words.append(f"{schedule.epilogue_parts} parts")
    return ", ".join(words).replace("warp_specialize", "specialised warps").replace("flatten", "flat")
