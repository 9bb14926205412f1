"""How long launches of a kernel take, and what that is for what they move and compute.

An engine that has a clock of its own measures itself (`PreparedKernel.timed`); for the others the host's clock counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from tileir.execute.engine.interface import Measurement
from tileir.execute.errors import LaunchError
from tileir.execute.gpu.peaks import Peaks, peaks_of
from tileir.execute.work.operations import Work, quantity

SECONDS: Final = 0.5  # about how long launches are repeated by default
FEWEST: Final = 5
MOST: Final = 200


class Timing:
    """What was measured; made by `Kernel.time`.  Times are in seconds."""

    def __init__(self, measured: Measurement, work: Work, backend: str) -> None:
        self.seconds: list[float] = measured.seconds  # Each launch, in their order.
        self.device: str = measured.device  # The GPU, by the name that its driver reports; empty for the host.
        self.clock: str = measured.clock
        self.backend: str = backend
        self.work: Work = work

    @property
    def count(self) -> int:
        return len(self.seconds)

    @property
    def median(self) -> float:
        return self._quantile(0.5)

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def spread(self) -> float:
        """How far the middle half of the times is apart, as a share of the median."""
        return (self._quantile(0.75) - self._quantile(0.25)) / self.median if self.median else 0.0

    def _quantile(self, part: float) -> float:
        import numpy

        return float(numpy.quantile(self.seconds, part))

    @property
    def bandwidth(self) -> float:
        """Bytes of the footprint in a second: what memory delivers if the caches were perfect."""
        return self.work.footprint / self.median

    @property
    def moved(self) -> float:
        """Bytes that tile blocks read and write in a second, from memory and from caches."""
        return self.work.bytes_moved / self.median

    @property
    def flops(self) -> float:
        """Floating-point operations in a second, and those of integer matmuls."""
        return self.work.total_flops / self.median

    @property
    def peaks(self) -> Peaks | None:
        """What the GPU can do at most, if that is known."""
        return peaks_of(self.device) if self.device else None

    @property
    def memory_share(self) -> float | None:
        """Which part of the peak of memory was reached; None if the peak is not known."""
        peaks = self.peaks
        return None if peaks is None else peaks.memory_seconds(self.work) / self.median

    @property
    def compute_share(self) -> float | None:
        """Which part of the peak of arithmetic was reached, each type measured by its own."""
        peaks = self.peaks
        return None if peaks is None else peaks.compute_seconds(self.work) / self.median

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain values for JSON."""
        return {
            "backend": self.backend,
            "device": self.device,
            "clock": self.clock,
            "launches": self.count,
            "median_seconds": self.median,
            "best_seconds": self.best,
            "spread": self.spread,
            "seconds": self.seconds,
            "bytes_per_second": self.bandwidth,
            "moved_bytes_per_second": self.moved,
            "flops_per_second": self.flops,
            "memory_share": self.memory_share,
            "compute_share": self.compute_share,
            "work": self.work.to_dict(),
        }

    def __repr__(self) -> str:
        parts = [f"median {duration(self.median)}", f"best {duration(self.best)}"]
        if self.work.footprint:
            parts.append(_rate(self.bandwidth, "B/s", self.memory_share))
        if self.work.total_flops:
            parts.append(_rate(self.flops, "FLOP/s", self.compute_share))
        return f"<Timing of {self.work.kernel} by {self.backend}: {', '.join(parts)}>"

    def text(self) -> str:
        """A summary in a few lines."""
        at_least = "at least " if self.work.unknown else ""
        work = self.work
        lines = [
            f"time: median {duration(self.median)}, best {duration(self.best)}, spread {self.spread:.1%}, "
            f"{self.count} launches ({self.clock}{f', {self.device}' if self.device else ''})",
            f"memory: {at_least}{quantity(work.footprint, 'B')}, {_rate(self.bandwidth, 'B/s', self.memory_share)}; "
            f"with what caches hold {quantity(work.bytes_moved, 'B')}, {quantity(self.moved, 'B/s')}",
        ]
        if work.total_flops:
            rate = _rate(self.flops, "FLOP/s", self.compute_share)
            flops = f"{at_least}{quantity(work.total_flops, 'FLOP')}"
            lines.append(f"arithmetic: {flops}, {rate}; {work.intensity:.3g} FLOP for each byte")
        return "\n".join([*lines, *[f"note: {note}" for note in [*work.unknown, *work.notes]]])


def _rate(rate: float, unit: str, share: float | None) -> str:
    return quantity(rate, unit) + ("" if share is None else f" ({share:.1%} of the peak)")


def duration(seconds: float) -> str:
    """As in `12.3 us`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def checked_repeat(repeat: object) -> int | None:
    """The checked number of launches; None for as many as make sense."""
    if repeat is None:
        return None
    if isinstance(repeat, bool) or not isinstance(repeat, int) or not 1 <= repeat <= 1_000_000:
        raise LaunchError(f"repeat is {repeat!r}: pass the number of launches to time, from 1 on")
    return repeat


def enough(first: float) -> int:
    """How many launches to time if one takes `first` seconds."""
    return min(max(int(SECONDS / max(first, 1e-9)), FEWEST), MOST)


def by_clock(run: Callable[[], None], repeat: int | None, flush_cache: bool) -> Measurement:
    """Launches that are over when they return, by the clock of the host.  The first, which compiles, does not count."""
    import numpy

    run()
    begin = time.perf_counter()
    run()
    count = repeat if repeat is not None else enough(time.perf_counter() - begin)
    # Written between launches, it empties the caches of a processor.
    flushed = numpy.zeros(1 << 25 if flush_cache else 0, numpy.int64)
    found: list[float] = []
    for _ in range(count):
        flushed += 1
        begin = time.perf_counter()
        run()
        found.append(time.perf_counter() - begin)
    return Measurement(found, "", "the clock of the host")
