"""Reading, verifying and printing programs of several sizes in rounds, each beside tileirdisasm on the same file.

The clocks of many machines have fast moments that come and go.  A small program is read often, so that its best time
has met one, and a large one is read once.  A round therefore lets both see the same moments: the large program is read,
verified and printed once, then read by the tool once, and before, between and after that the smaller programs are read
again and again, by both sides, for about as long in all.  How much the time of an operation grows is the mean time of
one of the large program over the mean of those of a smaller one just before and after it.

The large program is alive while the smaller ones are read: they get the memory that the last small one gave back, as in
a process that reads many, and never what the large one has left.  The large one gets new pages, as it does in a process
that reads it first: those of the round before went back to the system.  As many plain lists and strings are made in the
same rounds, few at a time and all at once, to show how much of the growth is the machine's.
"""

from __future__ import annotations

import gc
import resource
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from tests.kernels import export

import tileir
from tileir.bytecode.layouts import from_bytes, to_bytes
from tileir.ir.interning import POOL
from tileir.text.printer import print_disassembly

NEWEST = (13, 4)
SHARE = 0.6
"""How long the smaller programs take in a round, beside the large one; once each is the least."""
STARTS = 4
"""How often the tool is started for nothing in a turn."""


def cpu_of(action: Callable[[], object]) -> float:
    """CPU seconds of an action."""
    start = time.process_time()
    action()
    return time.process_time() - start


def cpu_of_tool(path: Path) -> float:
    """CPU seconds of one run of the disassembler."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(export.disassembler()), str(path)], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def collector_off() -> Iterator[None]:
    """Without the collector but where it is called, after what was made before is gone."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.enable()
        gc.collect()


class Program:
    """A program in a file, and what each side took for it: in CPU seconds, one figure for each time it was read."""

    def __init__(self, kind: str, text: str, file: Path, cold: bool = False) -> None:
        parsed = tileir.parse(text)
        self.kind = kind
        self.count = sum(1 for _ in parsed.walk())
        self.data = to_bytes(parsed, NEWEST)
        self.file = file
        self.cold = cold
        self.parts: list[tuple[float, float, float]] = []
        self.tool: list[float] = []
        self.starts: list[float] = []
        del parsed
        file.write_bytes(self.data)

    def check(self) -> float:
        """See that both sides print the same text; the seconds that they take together."""
        start = time.perf_counter()
        if print_disassembly(from_bytes(self.data)) != export.disassemble(self.data, False):
            raise SystemExit("the two sides print different texts")
        return time.perf_counter() - start

    def steps(self) -> Iterator[float]:
        """Read, then verify and print; the seconds of each."""
        if self.cold:
            POOL.release()
        modules: list[tileir.Operation] = []
        read = cpu_of(lambda: modules.append(from_bytes(self.data)))
        yield read
        verify = cpu_of(lambda: tileir.verify(modules[0]))
        output = cpu_of(lambda: print_disassembly(modules[0]))
        self.parts.append((read, verify, output))
        yield verify + output

    def run_tool(self, start: float) -> float:
        """Have the tool read it; the seconds it takes, without those of its start."""
        self.starts.append(start)
        self.tool.append(cpu_of_tool(self.file))
        return self.tool[-1] - start

    @property
    def best_parts(self) -> list[float]:
        """The best times of reading, verifying and printing."""
        return [min(times) for times in zip(*self.parts, strict=True)]

    @property
    def total(self) -> float:
        return sum(self.best_parts)

    @property
    def best_tool(self) -> float:
        """The best time of the tool without its start, which is at its best then, too."""
        return max(min(self.tool) - min(self.starts), 1e-6)

    @property
    def ratio(self) -> float:
        """How long it takes beside the tool, both at their best."""
        return self.total / self.best_tool

    def row(self) -> tuple[str, ...]:
        each = [self.best_tool, *self.best_parts, self.total]
        return f"{self.kind} {self.count:,}", *[f"{s / self.count * 1e6:.2f}" for s in each], f"{self.ratio:.2f}"


class Turn(NamedTuple):
    """What an operation of each of the smaller programs took on the mean, on both sides, and a start of the tool."""

    ours: list[float]
    tool: list[float]
    start: float


class Growth(NamedTuple):
    """How many times as long an operation of a large program takes as one of each smaller one, on both sides."""

    ours: list[float]
    tool: list[float]
    plain: float


def for_seconds(action: Callable[..., float], seconds: float) -> float:
    """The mean of what an action gives, which is repeated for some seconds."""
    found: list[float] = []
    until = time.perf_counter() + seconds
    while not found or time.perf_counter() < until:
        found.append(action())
        gc.collect()
    return fmean(found)


def take_turn(smaller: list[Program], empty: Path, seconds: float) -> Turn:
    """Read the smaller programs again and again, on both sides, for some seconds each."""
    # What is alive, as a large program may be, is nothing that the collector has to look at.
    gc.freeze()
    start = fmean(cpu_of_tool(empty) for _ in range(STARTS))
    ours, tool = [], []
    for program in smaller:
        ours.append(for_seconds(lambda program=program: sum(program.steps()), seconds) / program.count)
        tool.append(for_seconds(lambda program=program: program.run_tool(start), seconds) / program.count)
    return Turn(ours, tool, start)


def take_round(smaller: list[Program], large: Program, empty: Path, seconds: float) -> Growth:
    """Read a large program once and the smaller ones meanwhile, for some seconds a turn each."""
    with collector_off():
        turns = [take_turn(smaller, empty, seconds)]
        spent = 0.0
        for step in large.steps():
            spent += step
            turns.append(take_turn(smaller, empty, seconds))
    with collector_off():
        tool = large.run_tool(turns[-1].start)
        last = take_turn(smaller, empty, seconds)
    numbers = range(len(smaller))
    ours = [spent / large.count / fmean(turn.ours[number] for turn in turns) for number in numbers]
    theirs = [tool / large.count / fmean(turn.tool[number] for turn in (turns[-1], last)) for number in numbers]
    return Growth(ours, theirs, plain_growth(smaller[0].count, large.count) if smaller else 1.0)


def plain_growth(small: int, large: int) -> float:
    """How much more as many lists and texts as operations have take, for each, when there are many."""

    def make(count: int) -> float:
        start = time.process_time()
        rows: list[list[object]] = []
        for number in range(count):
            rows.append([[number], [rows], [rows], f"  %{number} = addf %{number}, %{number} : tile<8xf32>\n"])
        "".join([str(row[3]) for row in rows])
        seconds = time.process_time() - start
        # They hold the list that holds them.
        rows.clear()
        return seconds / count

    with collector_off():
        gc.freeze()
        before = for_seconds(lambda: make(small), large * 1e-6)
        many = make(large)
        return many / fmean([before, for_seconds(lambda: make(small), large * 1e-6)])


def read_kind(kind: str, texts: list[str], folder: Path, seconds: float, least: int, cold: bool) -> Readings:
    """Read programs of one kind, the largest the last, in rounds for some seconds, and so many at least."""
    empty = folder / "empty.tileirbc"
    empty.write_bytes(to_bytes(tileir.parse("entry @k() { return }"), NEWEST))
    programs = [Program(kind, text, folder / f"{number}.tileirbc", cold) for number, text in enumerate(texts)]
    *smaller, large = programs
    took = [program.check() for program in programs]
    # A turn before each of three steps and one at the end, of both sides.
    turn = SHARE * took[-1] / (8 * max(len(smaller), 1))
    rounds: list[Growth] = []
    end = time.monotonic() + seconds
    while len(rounds) < least or time.monotonic() < end:
        rounds.append(take_round(smaller, large, empty, turn))
    return Readings(programs, rounds)


class Readings(NamedTuple):
    """Programs of one kind, and how the time of an operation grew in each round."""

    programs: list[Program]
    rounds: list[Growth]
