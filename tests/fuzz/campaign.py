"""Mutated files and texts in great number, in a run that can be interrupted and goes on where it stopped.

    python -m tests.fuzz.campaign bytecode --count 1000000 --workers 8    a million files
    python -m tests.fuzz.campaign text --count 200000                     texts
    python -m tests.fuzz.campaign verdicts --count 20000                  beside NVIDIA's reader
    python -m tests.fuzz.campaign bytecode --only 1234                    one input again, in this process

An input is given by the seed and its number, on every machine.  What is done is kept in build/campaign, one file for a
kind and a seed; what fails is kept there too, with the command that runs it alone.  A worker process has a limit of
memory, and an input one of computing time; a worker that dies is a failure of the input it was at.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import json
import multiprocessing
import os
import signal
import sys
import traceback
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from tests.bytecode.judges import our_verdict, tool_outputs
from tests.bytecode.mutations import mutant, valid_files
from tests.fuzz.examine import examine_bytecode, examine_text
from tests.generators.mutations import mutated_text, random_text
from tests.generators.programs import random_module

import tileir
from tileir.bytecode.reader import read_public
from tileir.text.printer import print_disassembly, print_operation

ROOT = Path(__file__).parents[2]
STATE = ROOT / "build" / "campaign"
KINDS = ("bytecode", "text", "verdicts")
CHUNK = 500
#: Seconds of computing that no input of a few kilobytes may take, and what a worker may take beyond what it starts with.
SECONDS_PER_INPUT = 20
MEMORY = 2 << 30
#: In how many inputs one is also taken apart byte by byte, which takes longer than all else.
THOROUGH = 50
#: Of the files of the campaign every so many is shown to NVIDIA's reader.
STEP = 50


class TooSlow(Exception):
    """An input that is not done in its time."""


def text_input(seed: int, number: int) -> str:
    rng = Random(f"text {seed} {number}")
    return random_text(rng) if rng.random() < 0.1 else mutated_text(rng, text_sources())


@functools.cache
def text_sources() -> list[str]:
    """Programs people wrote, and random ones in every form they can be printed in."""
    files = sorted([*ROOT.glob("examples/*.mlir"), *ROOT.glob("tests/programs/**/*.mlir")])
    found = [path.read_text(encoding="utf-8") for path in files]
    for number in range(60):
        module = random_module(Random(number), size=6)
        found.append(print_operation(module))
        found.append(print_operation(module, generic=True))
        found.append(print_operation(module, debug_info=True))
        found.append(print_disassembly(module, number % 2 == 0))
    return found


def examine(kind: str, seed: int, number: int) -> str:
    """What becomes of one input; what must not happen is an exception."""
    if kind == "text":
        return examine_text(text_input(seed, number))
    return examine_bytecode(mutant(seed, number)[1], number % THOROUGH == 0)


# --- workers ---


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlow(f"still running after {SECONDS_PER_INPUT} seconds of computing")


def start_worker() -> None:
    signal.signal(signal.SIGVTALRM, _too_slow)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import resource

    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))


def run_chunk(kind: str, seed: int, start: int, end: int, progress: str) -> dict[str, Any]:
    """Examine the inputs from `start` to `end`; `progress` is a file that holds the number of the one at hand."""
    counts: dict[str, int] = {}
    failures: list[dict[str, Any]] = []
    descriptor = os.open(progress, os.O_CREAT | os.O_WRONLY)
    try:
        for number in range(start, end):
            os.pwrite(descriptor, b"%20d" % number, 0)
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS_PER_INPUT)
            try:
                outcome = examine(kind, seed, number)
            except Exception as error:
                outcome = "failed"
                failures.append(failure(kind, seed, number, "".join(traceback.format_exception(error)[-6:])))
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            counts[outcome] = counts.get(outcome, 0) + 1
    finally:
        os.close(descriptor)
        os.unlink(progress)
    return {"counts": counts, "failures": failures}


def failure(kind: str, seed: int, number: int, why: str) -> dict[str, Any]:
    return {
        "number": number,
        "why": why[-3000:],
        "again": f"python -m tests.fuzz.campaign {kind} --seed {seed} --only {number}",
    }


def compare_chunk(seed: int, start: int, end: int) -> dict[str, Any]:
    """Our verdicts and NVIDIA's, for every `STEP`th input."""
    numbers = [number * STEP for number in range(start, end)]
    files = [mutant(seed, number)[1] for number in numbers]
    counts: dict[str, int] = {}
    failures: list[dict[str, Any]] = []
    for number, data, their in zip(numbers, files, tool_outputs(files, 1), strict=True):
        ours = our_verdict(data)
        text = print_disassembly(read_public(data)) if ours.accepted else ""
        if their.crashed:
            outcome = "the tool crashed"
        elif ours.accepted != their.accepted:
            outcome = "other verdict"
        elif ours.accepted:
            outcome = "same text" if text == their.text else "other text"
        else:
            outcome = "same words" if ours.lines[:1] == their.lines[:1] else "other words"
        counts[outcome] = counts.get(outcome, 0) + 1
        if outcome in ("other verdict", "other text"):
            failures.append(
                failure("bytecode", seed, number, f"{outcome}: ours {ours.lines[:2]}, theirs {their.lines[:2]}")
            )
    return {"counts": counts, "failures": failures}


# --- the campaign ---


class Campaign:
    """One kind of input with one seed, and how far it has come."""

    def __init__(self, kind: str, seed: int, folder: Path = STATE) -> None:
        self.kind = kind
        self.seed = seed
        self.folder = folder
        self.path = folder / f"{kind}-{seed}.json"
        self.chunks: set[int] = set()
        self.counts: dict[str, int] = {}
        self.failures: list[dict[str, Any]] = []
        folder.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            state = json.loads(self.path.read_text())
            # In runs, because a set of all would grow with the campaign.
            self.chunks = {chunk for first, last in state["chunks"] for chunk in range(first, last)}
            self.counts = state["counts"]
            self.failures = state["failures"]

    def save(self) -> None:
        runs: list[list[int]] = []
        for chunk in sorted(self.chunks):
            if runs and runs[-1][1] == chunk:
                runs[-1][1] += 1
            else:
                runs.append([chunk, chunk + 1])
        state = {"chunks": runs, "counts": self.counts, "failures": self.failures[:200]}
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(state, indent=1))
        beside.replace(self.path)

    @property
    def done(self) -> int:
        return sum(self.counts.values())

    def add(self, chunk: int, result: dict[str, Any]) -> None:
        self.chunks.add(chunk)
        for outcome, count in result["counts"].items():
            self.counts[outcome] = self.counts.get(outcome, 0) + count
        for found in result["failures"]:
            self.failures.append(found)
            if self.kind != "text":
                name = self.folder / f"bytecode-{self.seed}-{found['number']}.tileirbc"
                name.write_bytes(mutant(self.seed, found["number"])[1])
            else:
                name = self.folder / f"text-{self.seed}-{found['number']}.mlir"
                name.write_text(text_input(self.seed, found["number"]), encoding="utf-8", errors="surrogatepass")
        self.save()

    def run(self, count: int, workers: int = 1, say: bool = False) -> None:
        """Examine what is missing of the first `count` inputs, rounded up to whole chunks."""
        # Made before the workers are, so that they all have them.
        if self.kind == "text":
            text_sources()
        else:
            valid_files()
        missing = [chunk for chunk in range((count + CHUNK - 1) // CHUNK) if chunk not in self.chunks]
        while missing:
            missing = self._run(missing, workers, say)

    def _run(self, missing: list[int], workers: int, say: bool) -> list[int]:
        """Run chunks in processes; those that are left when one of the processes dies."""
        context = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(workers, context, start_worker) as pool:
            waiting = {self._submit(pool, chunk): chunk for chunk in missing[:workers]}
            left = missing[workers:]
            left.reverse()
            try:
                while waiting:
                    done, _ = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
                    for future in done:
                        self.add(waiting[future], future.result())
                        del waiting[future]
                        if say:
                            print(f"{self.done} inputs, {self.counts}, {len(self.failures)} failures", flush=True)
                        if left:
                            chunk = left.pop()
                            waiting[self._submit(pool, chunk)] = chunk
            except BrokenProcessPool:
                left.reverse()
                for chunk in sorted(set(waiting.values()) - self.chunks):
                    self._examine_one_by_one(chunk)
                return left
        return []

    def _submit(
        self, pool: concurrent.futures.ProcessPoolExecutor, chunk: int
    ) -> concurrent.futures.Future[dict[str, Any]]:
        start, end = chunk * CHUNK, (chunk + 1) * CHUNK
        if self.kind == "verdicts":
            return pool.submit(compare_chunk, self.seed, start, end)
        return pool.submit(
            run_chunk, self.kind, self.seed, start, end, str(self.folder / f"{self.kind}-{self.seed}-{chunk}.at")
        )

    def _examine_one_by_one(self, chunk: int) -> None:
        """A chunk in which a worker may have died: from input to input that kills one."""
        progress = self.folder / f"{self.kind}-{self.seed}-{chunk}.at"
        start, end = chunk * CHUNK, (chunk + 1) * CHUNK
        total: dict[str, Any] = {"counts": {}, "failures": []}
        while start < end:
            progress.unlink(missing_ok=True)
            context = multiprocessing.get_context("fork")
            with concurrent.futures.ProcessPoolExecutor(1, context, start_worker) as pool:
                try:
                    if self.kind == "verdicts":
                        result = pool.submit(compare_chunk, self.seed, start, end).result()
                    else:
                        result = pool.submit(run_chunk, self.kind, self.seed, start, end, str(progress)).result()
                    dead = end
                except BrokenProcessPool:
                    dead = int(progress.read_text()) if progress.exists() else start
                    result = {
                        "counts": {"failed": 1},
                        "failures": [failure(self.kind, self.seed, dead, "the process died")],
                    }
                    # What came before it in the chunk was fine, or will be found when it is run again.
                    result["counts"]["valid"] = dead - start
            for outcome, number in result["counts"].items():
                total["counts"][outcome] = total["counts"].get(outcome, 0) + number
            total["failures"] += result["failures"]
            start = dead + 1
        self.add(chunk, total)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one input, to run in this process")
    parser.add_argument("--state", type=Path, default=STATE)
    options = parser.parse_args(arguments)
    if options.only is not None:
        print(examine(options.kind, options.seed, options.only))
        return 0
    campaign = Campaign(options.kind, options.seed, options.state)
    campaign.run(options.count, options.workers, say=True)
    for found in campaign.failures:
        print(f"{found['number']}: {found['why']}\n  {found['again']}")
    return 1 if campaign.failures else 0


if __name__ == "__main__":
    assert tileir.__name__
    sys.exit(main(sys.argv[1:]))
