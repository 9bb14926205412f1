"""Everything at once, for as long as asked: threads, forks, interrupts, compilations, launches that succeed and fail.

    python tests/soak/soak.py --seconds 3600 --seed 1 --threads 4

Every result is compared with NumPy's, bit for bit.  A thread that does not come on for two minutes is a hang: all stacks
are shown and the process ends.  Memory must be flat once everything has been seen: the median of the last third of a
run, after a warm-up, is at most a little above that of the first, for what the process has and for what is in use of it
(`memory.py`).  Ends with a line of counts; exit status 0 if all is well.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy
from tests.soak import memory, programs
from tests.soak.programs import Elementwise

import tileir

HANG_SECONDS = 120.0
CHILD_SECONDS = 100.0
WARM_UP = 0.3
"""The part of a run that memory may grow in."""
LEAST_FOR_MEMORY = 60.0
"""Seconds of a run below which memory says nothing."""
KNOWN_PROGRAMS = 60

Action = Callable[["Soak", Random], None]


class Wrong(Exception):
    """Something that must not be."""


def require(condition: object, words: str) -> None:
    if not condition:
        raise Wrong(words)


class Soak:
    """The state of a run, shared by its threads."""

    def __init__(self, seconds: float, seed: int, threads: int) -> None:
        self.seed = seed
        self.seconds = seconds
        self.threads = threads
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self.alive: dict[str, tuple[float, str]] = {}
        self.memory = memory.History()
        self.is_armed = False
        self.thresholds = gc.get_threshold()
        self.elementwise = [Elementwise(seed * 1000 + number) for number in range(KNOWN_PROGRAMS)]
        self.shared = [(each, compiled(each.text)) for each in self.elementwise[:6]]
        self.sum = compiled(programs.SUM)
        self.endless = compiled(programs.ENDLESS)
        self.printing = [compiled(programs.PRINTING), compiled(programs.PRINTING, "interpreter")]
        self.asserting = [compiled(programs.ASSERTING), compiled(programs.ASSERTING, "interpreter")]
        # What is imported when it is first used is imported here: a signal handler may interrupt an import, and cannot
        # use what is half there.
        for kernel in (*[kernel for _, kernel in self.shared], self.sum, self.endless, *self.printing, *self.asserting):
            with suppress(tileir.LaunchError):
                kernel.launch(1)
        for action in (read, make, launch, loop, overlap, fail, refuse, call_back):
            action(self, Random(0))
        self.cutile = None
        with suppress(ImportError):
            from tests.soak import cutile

            self.cutile = cutile
        # All that comes before may take longer than a short run.
        self.begin = time.monotonic()
        self.deadline = self.begin + seconds

    @property
    def is_over(self) -> bool:
        return bool(self.failures) or time.monotonic() > self.deadline

    def work(self, name: str, seed: int, actions: list[Action]) -> None:
        rng = Random(seed)
        while not self.is_over:
            action = rng.choice(actions)
            self.alive[name] = (time.monotonic(), action.__name__)
            try:
                action(self, rng)
                self.counts[action.__name__] += 1
            except BaseException:
                self.failures.append(f"{name}, {action.__name__}: {traceback.format_exc()}")
        self.alive.pop(name, None)


def compiled(text: str, backend: str = "cpu") -> Any:
    return tileir.compile(tileir.parse(text), backend=backend)


# --- what threads do ---


def read(soak: Soak, rng: Random) -> None:
    """Parse, verify, print, parse again; bytecode and back."""
    each = rng.choice(soak.elementwise) if rng.random() < 0.9 else Elementwise(rng.getrandbits(40))
    module = tileir.parse(each.text)
    tileir.verify(module)
    text = str(module)
    require(str(tileir.parse(text)) == text, "a program prints as another after parsing")
    data = tileir.to_bytecode(module)
    require(tileir.to_bytecode(tileir.from_bytecode(data)) == data, "bytecode reads as another program")


def refuse(soak: Soak, rng: Random) -> None:
    """Programs and launches that are wrong are refused."""
    text, stage = rng.choice(programs.WRONG)
    try:
        tileir.verify(tileir.parse(text))
    except tileir.TileIRError:
        pass
    else:
        raise Wrong(f"a program that does not {stage} is taken")
    each, kernel = rng.choice(soak.shared)
    source, target = each.arrays(rng, 1)
    mistakes: list[Callable[[], object]] = [
        lambda: kernel.launch(1, (source,)),
        lambda: kernel.launch(0, (source, target)),
        lambda: kernel.launch(1, (source.astype("i2"), target)),
        lambda: kernel.launch(1, (source, target), threads=0),
        lambda: tileir.compile(tileir.parse(each.text), entry="other"),
        lambda: compiled(each.text, "interpreter").launch(3, (source, target)),
        lambda: kernel.launch(3, (source, target)),
    ]
    try:
        rng.choice(mistakes)()
    except tileir.TileIRError:
        return
    raise Wrong("a wrong launch is taken")


def fail(soak: Soak, rng: Random) -> None:
    """An assertion of a kernel fails where it must."""
    kernel = rng.choice(soak.asserting)
    array = numpy.ones(40, "i4")
    kernel.launch(40, (array,))
    array[rng.randrange(40)] = 0
    try:
        kernel.launch(40, (array,))
    except tileir.ExecutionError:
        return
    raise Wrong("a failed assertion is not told")


def make(soak: Soak, rng: Random) -> None:
    """Compile and launch, with and without the cache, on either engine."""
    each = rng.choice(soak.elementwise) if rng.random() < 0.8 else Elementwise(rng.getrandbits(40))
    check(each, compiled(each.text, rng.choice(["cpu", "cpu", "interpreter"])), rng, rng.randint(1, 5))


def check(each: Elementwise, kernel: Any, rng: Random, blocks: int, **options: Any) -> None:
    source, target = each.arrays(rng, blocks)
    kernel.launch(blocks, (source, target), **options)
    require(target.tobytes() == each.expected(source).tobytes(), f"other bits than NumPy's:\n{each.text}")


def launch(soak: Soak, rng: Random) -> None:
    """Kernels that all threads launch."""
    each, kernel = rng.choice(soak.shared)
    for _ in range(rng.randint(1, 20)):
        check(each, kernel, rng, rng.choice([1, 2, 30, 400]), threads=rng.choice([None, 1, 3]))


def loop(soak: Soak, rng: Random) -> None:
    turns, blocks = rng.choice([0, 1, 100, 1000]), rng.choice([1, 3, 50])
    array = numpy.zeros(blocks, "i4")
    soak.sum.launch(blocks, (array, turns))
    require((array == programs.expected_sum(blocks, turns)).all(), "a loop ends with another number")
    soak.endless.launch(blocks, (numpy.ones(1, "i4"),))


def overlap(soak: Soak, rng: Random) -> None:
    """Launches at the same time, some of which need what others make."""
    each, kernel = rng.choice(soak.shared)
    chains = []
    failing = rng.random() < 0.2
    try:
        with tileir.kernels.overlap():
            for _ in range(rng.randint(1, 12)):
                source, first = each.arrays(rng, rng.choice([1, 20]))
                second = numpy.zeros_like(first)
                blocks = len(source) // programs.LANES
                kernel.launch(blocks, (source, first))
                kernel.launch(blocks, (first, second))
                chains.append((source, second))
            if failing:
                soak.asserting[0].launch(3, (numpy.zeros(3, "i4"),))
    except tileir.ExecutionError:
        require(failing, "a launch fails that should not")
    else:
        require(not failing, "a launch in a context fails without a word")
    for source, second in chains:
        require(second.tobytes() == each.expected(each.expected(source)).tobytes(), "overlapping launches differ")


class Enough(Exception):
    pass


def call_back(soak: Soak, rng: Random) -> None:
    """What `output` and `progress` get, and what they raise."""
    kernel = rng.choice(soak.printing)
    blocks = rng.randint(1, 60)
    array = numpy.full(blocks, -1, "i4")
    written: list[str] = []
    kernel.launch(blocks, (array,), output=written.append)
    require("".join(written) == "".join([f"{number}," for number in range(blocks)]), "another text is printed")
    require((array == numpy.arange(blocks)).all(), "a printing kernel differs")
    last = rng.randrange(blocks)

    def output(text: str) -> None:
        if text == f"{last},":
            raise Enough

    def progress(done: int, count: int) -> None:
        if done >= last:
            raise Enough

    for options in ({"output": output}, {"output": lambda text: None, "progress": progress}):
        try:
            kernel.launch(blocks, (array,), **options)
        except Enough:
            continue
        raise Wrong("what a callback raises is lost")


def damage(soak: Soak, rng: Random) -> None:
    """The cache turned on and off, emptied, damaged."""
    directory = Path(os.environ["TILEIR_CACHE_DIR"])
    kind = rng.randrange(8)
    with suppress(OSError):
        paths = sorted(directory.iterdir())
        if kind == 0:
            os.environ["TILEIR_CACHE"] = rng.choice(["0", "1", "1"])
        elif kind == 1:
            from tileir.execute.cache.code_cache import Cache

            Cache(directory, limit=rng.choice([0, 100_000])).prune()
        elif kind == 2 and rng.random() < 0.3:
            directory.chmod(rng.choice([0o700, 0o770]))
            time.sleep(0.01)
            directory.chmod(0o700)
        elif kind == 3 and rng.random() < 0.2:
            (directory / "key").unlink()
        elif paths:
            path = rng.choice(paths)
            data = bytearray(path.read_bytes())
            if kind == 4:
                path.unlink()
            elif data and kind == 5:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
                path.write_bytes(data)
            elif kind == 6:
                path.write_bytes(data[: rng.randrange(len(data) + 1)])
            else:
                path.chmod(rng.choice([0o600, 0o644, 0o000]))


def emulate(soak: Soak, rng: Random) -> None:
    """cuTile's launches in contexts of threads and tasks, and outside of any."""
    if soak.cutile is None:
        return
    kinds = [soak.cutile.in_tasks]
    if threading.current_thread() is not threading.main_thread():
        # That of the main thread would hold for all of them.
        kinds.append(soak.cutile.in_thread)
    kind = rng.choice(kinds)
    require(kind(rng), "a cuTile launch goes to the wrong place, or is wrong")


# --- forks ---


def _in_child(soak: Soak, seed: int) -> int:
    """What a child does; 0 if all is well.  The alarm ends it if it hangs."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(CHILD_SECONDS))
    rng = Random(seed)
    try:
        require(gc.isenabled(), "the collector is off in a child")
        for action in rng.sample([make, launch, read, overlap, loop], 2):
            action(soak, rng)
        return 0
    except BaseException:
        traceback.print_exc()
        return 1


def fork(soak: Soak, rng: Random) -> None:
    seed = rng.getrandbits(32)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = _in_child(soak, seed)
            sys.stderr.flush()
        finally:
            os._exit(status)
    require(_ended(lambda: os.waitpid(child, os.WNOHANG)) == 0, "a child of a fork failed or hung")


def _ended(poll: Callable[[], tuple[int, int]]) -> int:
    while True:
        number, status = poll()
        if number:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)


def _process(soak: Soak, seed: int) -> None:
    sys.exit(_in_child(soak, seed))


def start_process(soak: Soak, rng: Random) -> None:
    process = multiprocessing.get_context("fork").Process(target=_process, args=(soak, rng.getrandbits(32)))
    process.start()
    process.join(CHILD_SECONDS + 10)
    # Another thread that starts a process asks after this one too, and may be the one that is told.
    for _ in range(100):
        if process.exitcode is not None:
            break
        time.sleep(0.05)
    require(process.exitcode == 0, f"a child of multiprocessing ended with {process.exitcode}")
    process.close()


# --- what the main thread does ---


def interrupt(soak: Soak, rng: Random) -> None:
    """An interrupt in the middle of anything; afterwards everything works."""
    endless = numpy.zeros(1, "i4")
    each = rng.choice(soak.elementwise)

    def wait() -> None:
        soak.endless.launch(rng.choice([1, 5]), (endless,))

    def wait_together() -> None:
        with tileir.kernels.overlap():
            for _ in range(3):
                soak.endless.launch(1, (numpy.zeros(1, "i4"),))

    def be_busy() -> None:
        while True:
            rng.choice([make, read, launch, overlap, call_back])(soak, rng)

    def print_much() -> None:
        soak.printing[0].launch(1_000_000, (numpy.zeros(1_000_000, "i4"),), output=lambda text: None)
        wait()

    work = rng.choice([wait, wait_together, print_much, be_busy, be_busy])
    soak.is_armed = True
    try:
        # Again, as one that comes while Python cleans up is lost.
        signal.setitimer(signal.ITIMER_REAL, rng.choice([0.001, 0.01, 0.05, 0.2]) * (0.5 + rng.random()), 0.3)
        work()
        raise Wrong("an endless launch ended by itself")
    except KeyboardInterrupt:
        soak.is_armed = False
    finally:
        soak.is_armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
    check(each, compiled(each.text), rng, 2)


def handle(soak: Soak, rng: Random) -> None:
    """A signal handler that compiles and launches."""
    before = signal.getsignal(signal.SIGUSR1)
    failures: list[str] = []

    def handler(number: int, frame: object) -> None:
        try:
            with tileir.kernels.overlap():
                source, target = each.arrays(rng, 1)
                compiled(each.text).launch(1, (source, target))
            require(target.tobytes() == each.expected(source).tobytes(), "a signal handler's launch differs")
        except BaseException:
            failures.append(traceback.format_exc())

    each = rng.choice(soak.elementwise)
    signal.signal(signal.SIGUSR1, handler)
    timer = threading.Timer(0.02 * rng.random(), os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        rng.choice([make, overlap, launch])(soak, rng)
    finally:
        timer.join()
        time.sleep(0)
        signal.signal(signal.SIGUSR1, before)
    require(not failures, "".join(failures))


IN_THREADS: list[Action] = [
    read, read, refuse, fail, make, make, launch, launch, loop, overlap, call_back, damage, emulate, fork, start_process,
]  # fmt: skip
IN_MAIN: list[Action] = [*IN_THREADS, interrupt, interrupt, interrupt, handle]


# --- watching ---


def watch(soak: Soak, done: threading.Event) -> None:
    while not done.wait(1.0):
        now = time.monotonic()
        soak.memory.take(now - soak.begin)
        if not soak.memory.blocks and now - soak.begin > WARM_UP * soak.seconds:
            soak.memory.count_blocks()
        for name, (since, action) in list(soak.alive.items()):
            if now - since > HANG_SECONDS:
                print(f"{name} hangs in {action}", file=sys.stderr, flush=True)
                faulthandler.dump_traceback(all_threads=True)
                os._exit(3)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=3, help="beside the main thread")
    given = parser.parse_args()
    faulthandler.enable()
    with tempfile.TemporaryDirectory(prefix="tileir-soak-") as folder:
        os.environ["TILEIR_CACHE_DIR"] = str(Path(folder) / "cache")
        os.environ["TILEIR_CACHE"] = "1"
        return soaked(Soak(given.seconds, given.seed, given.threads))


def soaked(soak: Soak) -> int:
    def handler(number: int, frame: object) -> None:
        if soak.is_armed:
            raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, handler)
    done = threading.Event()
    threading.Thread(target=watch, args=(soak, done), daemon=True).start()
    threads = [
        threading.Thread(target=soak.work, args=(f"thread {number}", soak.seed * 100 + number, IN_THREADS), daemon=True)
        for number in range(soak.threads)
    ]
    for thread in threads:
        thread.start()
    soak.work("main", soak.seed * 100 + 99, IN_MAIN)
    for thread in threads:
        thread.join()
    done.set()
    gc.collect()
    if not gc.isenabled() or gc.get_threshold() != soak.thresholds:
        soak.failures.append(f"the garbage collector is not as it was: {gc.isenabled()}, {gc.get_threshold()}")
    report: dict[str, Any] = {
        "seconds": round(time.monotonic() - soak.begin),
        "actions": dict(sorted(soak.counts.items())),
    }
    if not soak.failures and soak.seconds >= LEAST_FOR_MEMORY:
        begin = WARM_UP * soak.seconds
        soak.memory.count_blocks()
        report["megabytes"] = [round(size) for size in soak.memory.resident(begin)]
        report["in use"] = [round(size, 1) for size in soak.memory.in_use(begin)]
        report["blocks"] = soak.memory.blocks
        soak.failures += soak.memory.growth(begin)
    print(json.dumps(report))
    for failure in soak.failures:
        print(failure, file=sys.stderr)
    return 1 if soak.failures else 0


if __name__ == "__main__":
    sys.exit(main())
