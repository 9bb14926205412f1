"""Whether anything got slower: everything users wait for, with the sources of two commits, in turns.

    python benchmarks/compare_commits.py --before HEAD~20                # against the sources here
    python benchmarks/compare_commits.py --before v1 --after HEAD --only parse,"cpu compile"

Each side is a process with the sources of its commit (a work tree of its own for a while) and the benchmarks of this
one; the two take turns at every portion of work.  CPU time counts, so other work on the machine matters little; a
figure counts as slower where both the best and the median of the turns are more than 3 % above.  What is slower is
measured again, for three times as long, before it is said.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import compared_work
from measure import Line, add_line_options, finish, machine, table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SLOWER = 0.03
PORTION = 0.02
"""Seconds that a portion of work takes at least."""


# --- a side, in its own process ---


def cpu_seconds() -> float:
    """CPU seconds of this process, of those it started and waited for, and of those it talks to."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    talked = sum([int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in compared_work.followed]) / 1e9
    return time.process_time() + children.ru_utime + children.ru_stime + talked


def seconds_of(action: compared_work.Action | compared_work.Fresh, times: int) -> float:
    if isinstance(action, compared_work.Fresh):
        work = action.work
        actions: list[compared_work.Action] = [partial(work, action.make()) for _ in range(times)]
    else:
        actions = [action] * times
    gc.collect()
    gc.disable()
    try:
        start = cpu_seconds()
        for each in actions:
            each()
        return (cpu_seconds() - start) / times
    finally:
        gc.enable()


def serve() -> None:
    """Do portions of work that are asked for, and answer with the seconds of each."""
    made: dict[str, compared_work.Action | compared_work.Fresh] = {}
    answers = os.fdopen(os.dup(1), "w")
    # What the work itself prints is nobody's.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        name, times = json.loads(line)
        try:
            if name not in made:
                made.clear()
                made[name] = compared_work.WORK[name]()
                # Twice: what is made at the first use is not what is measured.
                seconds_of(made[name], 2)
            answer: object = seconds_of(made[name], times)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), file=answers, flush=True)


# --- both sides ---


class Side:
    """A process with the sources of a tree."""

    def __init__(self, tree: Path, python: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.folder = tempfile.TemporaryDirectory()
        environment["TILEIR_CACHE_DIR"] = self.folder.name
        self.process = subprocess.Popen(
            [python, str(HERE / "compare_commits.py"), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def run(self, name: str, times: int) -> float | str:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps([name, times]), file=self.process.stdin, flush=True)
        answer: float | str = json.loads(self.process.stdout.readline() or '"the process has ended"')
        return answer

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


class Found:
    """What the turns at one figure took on both sides, in seconds."""

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.problem: str = ""
        self.before: list[float] = []
        self.after: list[float] = []

    @property
    def best(self) -> float:
        return min(self.after) / min(self.before)

    @property
    def median(self) -> float:
        return statistics.median([after / before for before, after in zip(self.before, self.after, strict=True)])

    @property
    def is_slower(self) -> bool:
        return not self.problem and min(self.best, self.median) > 1 + SLOWER

    def row(self) -> tuple[str, ...]:
        if self.problem:
            return self.name, "", "", "", "", "no figure"
        each = [f"{min(times) * 1e3:.3f}" for times in (self.before, self.after)]
        return self.name, *each, f"{self.best:.3f}", f"{self.median:.3f}", "SLOWER" if self.is_slower else ""


def measure(name: str, before: Side, after: Side, seconds: float) -> Found:
    found = Found(name)
    first = [side.run(name, 1) for side in (before, after)]
    for words, answer in zip(("before", "after"), first, strict=True):
        if isinstance(answer, str):
            found.problem = f"{words}: {answer}"
            return found
    fastest = min(float(answer) for answer in first)
    times = max(int(PORTION / max(fastest, 1e-6)), 1)
    end = time.monotonic() + seconds
    turn = 0
    while len(found.before) < 5 or time.monotonic() < end:
        # Who goes first changes: the second finds the caches of the processor differently.
        order = [(before, found.before), (after, found.after)]
        for side, taken in order if turn % 2 else reversed(order):
            answer = side.run(name, times)
            if isinstance(answer, str):
                found.problem = answer
                return found
            taken.append(answer)
        turn += 1
    return found


@contextmanager
def tree_of(commit: str) -> Iterator[Path]:
    """A work tree of a commit; a folder stays as it is."""
    if Path(commit, "src", "tileir").is_dir():
        yield Path(commit).resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", str(tree), commit], check=True, cwd=ROOT)
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], check=True, cwd=ROOT)


def main() -> int:
    parser = argparse.ArgumentParser(description="Whether anything is slower than it was.")
    parser.add_argument("--before", default="HEAD", help="a commit, or a folder with the sources of one")
    parser.add_argument("--after", default=str(ROOT), help="the same (default: the sources here)")
    parser.add_argument("--only", default="", metavar="WORDS", help="the figures that have one of the words")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each figure takes (default: 2)")
    parser.add_argument("--python", default=sys.executable, help="the Python of both sides")
    parser.add_argument("--list", action="store_true", help="the names of the figures")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    add_line_options(parser)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    words = [word.strip() for word in options.only.split(",") if word.strip()]
    names = [name for name in compared_work.WORK if not words or any(word in name for word in words)]
    if options.list or not names:
        print("\n".join(compared_work.WORK))
        return 0 if names else 2
    print(machine(), flush=True)
    results: list[Found] = []
    with tree_of(options.before) as old, tree_of(options.after) as new:
        sides = [Side(old, options.python), Side(new, options.python)]
        try:
            for name in names:
                found = measure(name, sides[0], sides[1], options.seconds)
                if found.is_slower:
                    found = measure(name, sides[0], sides[1], 3 * options.seconds)
                results.append(found)
                print("  ".join([*filter(None, found.row()), found.problem]).rstrip(), flush=True)
        finally:
            for side in sides:
                side.end()
    print(f"\n{table(('figure', 'before, ms', 'after, ms', 'best', 'median', ''), [each.row() for each in results])}\n")
    measured = [each for each in results if not each.problem]
    slower = [each for each in measured if each.is_slower]
    print(f"{len(slower)} of {len(measured)} figures are slower by more than {SLOWER:.0%}")
    return finish([Line(each.name, "before", each.best, 1 + SLOWER, True) for each in measured], options)


if __name__ == "__main__":
    sys.exit(main())
