"""The threads of a launch: every tile block once, whatever the threads; the pool's protocol, slices and interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.execute.cpu.native import count, counting, cpu_kernel
from tests.execute.interrupting import interrupted, steps

import tileir
from tileir import processors as machine
from tileir.execute.cpu.runtime import parallel_launch, thread_pool
from tileir.execute.cpu.runtime.launch_record import (
    ARGUMENTS,
    BUDGET,
    CHUNK,
    COUNT,
    NEXT,
    RANGE,
    RANGE_COUNT,
    RANGE_WORDS,
    RANGES,
    STOP,
    TAIL,
    TAIL_SHIFT,
    PoolWords,
    Record,
)
from tileir.execute.cpu.runtime.loader import Loaded
from tileir.execute.cpu.runtime.thread_pool import Pool, pool
from tileir.execute.errors import LaunchError

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def function() -> Loaded:
    return counting()


@pytest.fixture(params=["native", "jobs"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How launches reach workers: as this system has it, and as one without futexes has it."""
    if request.param == "jobs":
        monkeypatch.setattr(thread_pool, "_native_functions", list)
        monkeypatch.setattr(thread_pool, "_pools", {})
    elif not pool().is_native:
        pytest.skip("this system has no futex")


needs_futex = pytest.mark.parametrize("way", ["native"], indirect=True)


@pytest.fixture(autouse=True)
def forget_pace(function: Loaded) -> None:
    function.ns_per_block = 0


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(("blocks", "chunk"), [(1, 1), (7, 1), (1000, 1), (1000, 7), (10, 16)])
@pytest.mark.parametrize("turns", [1, 200])
def test_every_tile_block_runs_once(function: Loaded, threads: int, blocks: int, chunk: int, turns: int) -> None:
    # Again and again: how a launch is made depends on how long the last one took.
    for _ in range(4):
        visits, _ = count(function, blocks, turns, threads, chunk)
        assert visits.tolist() == [1] * blocks


@pytest.mark.parametrize("pace", [1, 500, 100_000, 10_000_000])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_what_is_expected_of_a_launch_changes_nothing(function: Loaded, pace: int, threads: int) -> None:
    for blocks in (1, 63, 64 * 3, 5000):
        function.ns_per_block = pace
        visits, _ = count(function, blocks, 1, threads)
        assert visits.tolist() == [1] * blocks


def test_record_states_all_tile_blocks_after_a_launch_in_slices(function: Loaded) -> None:
    record = Record(ARGUMENTS + 3)
    for slot, value in ((COUNT, 100), (CHUNK, 3), (ARGUMENTS, 1)):
        record.slots[slot] = value
    arrays = [numpy.zeros(100, numpy.int64), numpy.zeros(100, numpy.int64)]
    record.slots[ARGUMENTS + 1], record.slots[ARGUMENTS + 2] = [array.ctypes.data for array in arrays]
    parallel_launch.run(function, record, 64, 1)
    assert arrays[0].tolist() == [1] * 100
    assert record.slots[COUNT] == 100


@pytest.mark.parametrize("threads", [1, 2])
def test_scratch_memory_begins_with_a_number_that_no_earlier_launch_had(function: Loaded, threads: int) -> None:
    seen: set[int] = set()
    for _ in range(20):
        _, launches = count(function, 50, 10, threads)
        numbers = set(launches.tolist())
        assert numbers and not numbers & seen
        seen |= numbers


def test_stopped_launch_leaves_tile_blocks_out(function: Loaded) -> None:
    record = Record(ARGUMENTS + 3)
    record.slots[COUNT], record.slots[CHUNK], record.slots[STOP] = 100, 1, 1
    # No array to write to: a tile block that ran would end the process.
    for threads in (1, 2):
        parallel_launch.run(function, record, 64, threads)


def test_scratch_memory_grows_and_is_aligned(function: Loaded) -> None:
    for size in (64, 1 << 20, 1 << 24, 128):
        count(function, 20, 1, 2, scratch_bytes=size)
        memory = thread_pool.Scratch(size)
        assert memory.address % 64 == 0
        assert memory.size >= size
    thread_pool.release_memory()
    visits, _ = count(function, 20, 1, 2)
    assert visits.tolist() == [1] * 20


@needs_futex
def test_memory_of_workers_is_kept_while_a_launch_has_the_pool(function: Loaded) -> None:
    function.ns_per_block = 10_000_000
    count(function, 20, 1, 3)
    kept = [memory for memory in pool()._scratch if memory is not None]
    assert len(kept) >= 2
    taken = [pool().token.pop()]
    tileir.kernels.release_memory()
    assert pool()._scratch[: len(kept)] == kept
    pool().token.extend(taken)
    tileir.kernels.release_memory()
    assert pool()._scratch == []
    function.ns_per_block = 10_000_000
    assert count(function, 20, 1, 3)[0].tolist() == [1] * 20


@needs_futex
def test_slots_name_memory_that_is_there_whenever_an_interrupt_comes(function: Loaded) -> None:
    threads = Pool()
    places = tuple(module.__file__ for module in (thread_pool,))
    kept: list[Any] = []

    def work() -> None:
        # Memory that is still there is at no other's address.
        kept.append(threads._scratch[:])
        threads.reserve(2, len(kept) << 17)

    for number in range(1, steps(work, places) + 1):
        interrupted(work, number, places)
        threads.reserve(2, 64)
        named = [threads.words[thread_pool._slot(each) + PoolWords.SCRATCH] for each in (1, 2)]
        assert named == [memory.address for memory in threads._scratch if memory is not None], number


@pytest.mark.parametrize("threads", [1, 2])
def test_more_scratch_memory_than_there_is_is_an_error(function: Loaded, threads: int) -> None:
    with pytest.raises(LaunchError, match=r"needs 1,125,899,906,842,624 bytes of scratch memory.*use smaller tiles"):
        count(function, 4, 1, threads, scratch_bytes=1 << 50)
    visits, _ = count(function, 4, 1, threads)
    assert visits.tolist() == [1] * 4


def test_threads_are_fewer_where_memory_does_not_suffice_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pool, "available_memory", lambda: 1 << 30)
    assert thread_pool.affordable(1 << 28, 16) == 2
    assert thread_pool.affordable(1 << 30, 16) == 1
    assert thread_pool.affordable(1 << 23, 16) == 16


def test_workers_without_memory_are_an_error_of_the_launch(function: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    count(function, 10, 1, 2)
    tileir.kernels.release_memory()

    def no_memory(size: int) -> thread_pool.Scratch:
        raise LaunchError("no memory for a worker")

    with monkeypatch.context() as patched:
        patched.setattr(thread_pool, "Scratch", no_memory)
        function.ns_per_block = 10_000_000
        with pytest.raises(LaunchError, match="no memory for a worker"):
            count(function, 10, 1, 2)
    assert pool().token == [None]
    visits, _ = count(function, 10, 1, 2)
    assert visits.tolist() == [1] * 10


def test_environment_sets_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_THREADS", "3")
    assert parallel_launch.default_threads() == 3
    for wrong in ("0", "-1", "many", "²", "٣", "1e3", "1025", "20000", "9" * 5000, " "):
        monkeypatch.setenv("TILEIR_THREADS", wrong)
        with pytest.raises(LaunchError, match=f"TILEIR_THREADS is '{wrong}'"):
            parallel_launch.default_threads()
    monkeypatch.delenv("TILEIR_THREADS")
    assert 1 <= parallel_launch.default_threads() <= (os.cpu_count() or 1)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no way to confine a process")
def test_default_follows_the_processors_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILEIR_THREADS", raising=False)
    parallel_launch.processors.cache_clear()
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    assert parallel_launch.default_threads() == 1
    parallel_launch.processors.cache_clear()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not say which processors are ours")
def test_groups_of_processors_with_memory_of_their_own_count_if_they_are_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, listed in {"node0": "0-3,8", "node1": "4-7,9", "node2": ""}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "cpulist").write_text(f"{listed}\n")
    (tmp_path / "online").write_text("0-2\n")
    found = []
    for folder, mine in ((tmp_path, {1, 8}), (tmp_path, {8, 9}), (tmp_path, {20}), (tmp_path / "none", {1})):
        monkeypatch.setattr(machine, "_NODES", str(folder))
        monkeypatch.setattr(os, "sched_getaffinity", lambda process, mine=mine: mine)
        machine.memory_nodes.cache_clear()
        found.append(machine.memory_nodes())
    machine.memory_nodes.cache_clear()
    assert found == [1, 2, 1, 1]


@pytest.mark.parametrize(("nodes", "is_divided"), [(1, False), (2, True)])
def test_the_first_launch_touches_memory_as_later_ones_do_where_processors_have_their_own(
    function: Loaded, nodes: int, is_divided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def run(function: Loaded, record: Record, *_rest: object) -> int:
        seen.append(record.slots[RANGE_COUNT])
        return 0

    monkeypatch.setattr(parallel_launch, "memory_nodes", lambda: nodes)
    monkeypatch.setattr(parallel_launch, "_run_natively", run)
    monkeypatch.setattr(parallel_launch, "_run_jobs", run)
    count(function, 100, 1, 4)
    assert seen == [0 if is_divided else -1]


def test_launches_from_many_threads_at_once_do_not_mix(function: Loaded) -> None:
    failures: list[Any] = []

    def launch(number: int) -> None:
        try:
            for turn in range(30):
                blocks = 1 + (number * 13 + turn * 7) % 90
                visits, _ = count(function, blocks, 50, 1 + turn % 3)
                if visits.tolist() != [1] * blocks:
                    failures.append(visits)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=launch, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_workers_stay_for_the_next_launch(function: Loaded) -> None:
    function.ns_per_block = 10_000_000
    count(function, 100, 1, 3)
    before = pool().counts[:]
    for _ in range(10):
        function.ns_per_block = 10_000_000
        count(function, 100, 1, 3)
    assert pool().counts == before


def test_launch_of_one_short_tile_block_wakes_nobody(function: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    count(function, 16, 1, 1)
    monkeypatch.setattr(Pool, "grow", lambda self, wanted, native: pytest.fail("a worker was requested"))
    for _ in range(10):
        function.ns_per_block = 100
        count(function, 16, 1, 4)


@pytest.mark.parametrize(
    ("expected", "threads"), [(12_000, 4), (25_000, 4), (26_000, 8), (102_000, 8), (103_000, 16), (10**9, 16)]
)
def test_a_short_launch_uses_no_more_threads_than_are_worth_it(
    function: Loaded, expected: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[int] = []

    def run_shared(function: Loaded, record: Record, scratch_bytes: int, threads: int, *_rest: object) -> bool:
        wanted.append(threads)
        return False

    monkeypatch.setattr(parallel_launch, "_run_shared", run_shared)
    function.ns_per_block = expected // 1000
    count(function, 1000, 1, 16)
    assert wanted == [threads]


@pytest.mark.parametrize("pace", [1, 3, 100])
def test_every_launch_that_is_shared_has_two_threads(
    function: Loaded, pace: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_launch, "WORTH_WAKING", 0)
    function.ns_per_block = pace
    visits, _ = count(function, 30, 1, 3)
    assert visits.tolist() == [1] * 30


@pytest.mark.parametrize("pace", [0, 100, 10_000_000])
def test_launch_for_which_there_is_no_worker_runs_on_its_own_thread(
    function: Loaded, pace: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pool, "grow", lambda self, wanted, native: 0)
    for blocks in (2, 100, 5000):
        function.ns_per_block = pace
        visits, _ = count(function, blocks, 1, 4)
        assert visits.tolist() == [1] * blocks


@pytest.mark.parametrize("is_left", [False, True])
def test_launch_while_another_has_the_pool_is_complete(function: Loaded, is_left: bool) -> None:
    """As one of a signal handler, whose own thread has it."""
    count(function, 20, 1, 3)
    taken = [pool().token.pop()]
    try:
        function.repeats = is_left
        for blocks in (1, 100, 2000):
            function.ns_per_block = 10_000_000
            assert count(function, blocks, 1, 3)[0].tolist() == [1] * blocks
    finally:
        function.repeats = False
        pool().token.extend(taken)


class Visits:
    """A launch of the counting function of the tests, in a pool without workers."""

    def __init__(self, blocks: int, turns: int = 1) -> None:
        self.pool = Pool()
        self.function = counting()
        self.seen = numpy.zeros(blocks, numpy.int64)
        self.launches = numpy.zeros(blocks, numpy.int64)
        self.record = Record(ARGUMENTS + 3)
        self.memory = thread_pool.Scratch(64)
        slots = self.record.slots
        slots[COUNT], slots[CHUNK] = blocks, 1
        slots[ARGUMENTS], slots[ARGUMENTS + 1] = turns, self.seen.ctypes.data
        slots[ARGUMENTS + 2] = self.launches.ctypes.data

    def launch(self, workers: int) -> int:
        return self.pool.launch(self.function, self.record, workers, workers, False, self.memory.address)


@needs_futex
def test_launch_does_not_wait_for_workers_that_do_not_come() -> None:
    visits = Visits(20)
    assert visits.launch(3) == 0
    assert visits.seen.tolist() == [1] * 20
    # Closed: a worker that comes late finds nothing.
    assert visits.pool.words[PoolWords.OPEN] == 0
    assert visits.pool.finish() == 0


@needs_futex
def test_ranges_of_workers_that_do_not_come_are_taken_by_others() -> None:
    extents = (37, 3, 1)
    kernel = cpu_kernel(tileir.compile(tileir.parse(_COUNTING), backend="cpu"))
    visits = numpy.zeros(extents[::-1], numpy.int32)
    binding = kernel._binder((visits, *extents), extents, 4)
    version = kernel.version(binding.overlap, False)
    memory = thread_pool.Scratch(version.scratch_bytes)
    Pool().launch(version.loaded, binding.record, 4, 0, False, memory.address)
    assert binding.record.slots[RANGE_COUNT] == 5
    assert (visits == 1).all()


@needs_futex
def test_launch_is_closed_between_two_slices() -> None:
    """As an interrupt does: a worker that nobody has woken does not come for it."""
    visits = Visits(40, 2000)
    visits.memory.words[BUDGET] = 1
    for _ in range(2):
        assert (visits.pool.finish() if visits.seen.sum() else visits.launch(3)) == 0
        assert visits.pool.words[PoolWords.OPEN] == 0
    assert visits.seen.sum() == 1


def first_of_two_ranges(text: str, arguments: tuple[Any, ...]) -> None:
    """Have the worker whose range is the second of two run one chunk of one tile block out of 50."""
    kernel = cpu_kernel(tileir.compile(tileir.parse(text), backend="cpu"))
    binding = kernel._binder(arguments, (50, 1, 1), 1)
    version = kernel.version(binding.overlap, False)
    ranges = numpy.zeros((2, RANGE_WORDS), numpy.int64)
    ranges[:, :2] = [[0, 25], [25, 50]]
    binding.record.slots[RANGES], binding.record.slots[RANGE_COUNT] = ranges.ctypes.data, 2
    memory = thread_pool.Scratch(version.scratch_bytes)
    memory.words[RANGE], memory.words[BUDGET] = 1, 1
    version.loaded.call(binding.record.address, memory.address)


@needs_futex
def test_worker_begins_with_its_own_range() -> None:
    visits = numpy.zeros(50, numpy.int32)
    first_of_two_ranges(_COUNTING, (visits, 50, 1, 1))
    assert visits.nonzero()[0].tolist() == [25]


@needs_futex
def test_kernel_that_orders_memory_takes_tile_blocks_from_the_first_on() -> None:
    """One that waits for an earlier tile block must find it begun."""
    places, counter = numpy.full(50, -1, numpy.int32), numpy.zeros(1, numpy.int32)
    first_of_two_ranges(_ATOMIC, (places, counter))
    assert (places >= 0).nonzero()[0].tolist() == [0]


def test_idle_workers_use_no_processor(function: Loaded) -> None:
    for _ in range(3):
        function.ns_per_block = 10_000_000
        count(function, 100, 1, 4)
    begin = time.process_time()
    time.sleep(0.5)
    # Three that went on spinning would use 1.5 seconds, or all there is.
    assert time.process_time() - begin < 0.25


@needs_futex
def test_process_ends_while_workers_spin() -> None:
    program = """
from tests.execute.cpu.native import count, counting
function = counting()
for _ in range(5):
    function.ns_per_block = 10_000_000
    assert count(function, 50, 1, 4)[0].tolist() == [1] * 50
"""
    for _ in range(3):
        assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60).returncode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_forked_process_makes_threads_of_its_own() -> None:
    program = """
import os, sys
from tests.execute.cpu.native import count, counting, cpu_kernel
function = counting()
def launch():
    function.ns_per_block = 10_000_000
    assert count(function, 50, 1, 2)[0].tolist() == [1] * 50
launch()
child = os.fork()
launch()
if child:
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sys.exit(status)
os._exit(0)
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60).returncode == 0


INTERRUPTED = """
import sys, time
from tests.execute.cpu.native import count, counting, cpu_kernel
threads, blocks, turns = map(int, sys.argv[1:])
function = counting()
# A short one, after which the next is expected to be short too.
count(function, blocks, 1, threads)
count(function, blocks, 1, threads)
print("ready", flush=True)
function.repeats = threads > 1
try:
    count(function, blocks, turns, threads)
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("finished", flush=True)
print(count(function, blocks, 1, threads)[0].tolist() == [1] * blocks, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no SIGINT for one process")
@pytest.mark.parametrize(("threads", "blocks", "turns"), [(1, 500_000, 400_000), (2, 4000, 50_000_000)])
def test_interrupt_stops_a_long_launch(threads: int, blocks: int, turns: int) -> None:
    # Left alone this would take hours.
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(threads), str(blocks), str(turns)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert output == "interrupted\nTrue\n"


ASLEEP = """
import os, signal, sys, time
from tests.execute.cpu.native import count, counting
from tileir.execute.errors import LaunchError
function = counting()
count(function, 50, 1, 8)
# Workers are asleep, and not all of them are worth waking for a launch that is expected to be as short as this.
time.sleep(0.1)
function.ns_per_block = 1
parent = os.getpid()
def handler(number, frame):
    if sys.argv[1] == "raise":
        raise KeyboardInterrupt
    if os.fork():
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    count(function, 13_000, 1_000_000, 8)
except KeyboardInterrupt:
    assert os.getpid() == parent
except LaunchError:
    # A launch that the child of a fork finds itself in.
    assert os.getpid() != parent and sys.argv[1] == "fork"
function.ns_per_block = 1
assert count(function, 13_000, 1, 8)[0].tolist() == [1] * 13_000
if os.getpid() != parent:
    os._exit(0)
if sys.argv[1] == "fork":
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no alarm signal, nor fork")
@pytest.mark.parametrize("what", ["raise", "fork"])
def test_launch_whose_workers_sleep_on_is_interrupted_and_forked(what: str) -> None:
    assert subprocess.run([sys.executable, "-c", ASLEEP, what], cwd=ROOT, timeout=60).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no alarm signal")
@pytest.mark.parametrize("threads", [1, 2])
def test_exception_of_any_signal_handler_stops_the_workers_before_it_is_raised(function: Loaded, threads: int) -> None:
    class Alarm(Exception):
        pass

    def handler(number: int, frame: object) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Alarm):
            count(function, 1_000_000, 100_000, threads)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert pool().token == [None]


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no alarm signal")
def test_exceptions_at_any_moment_lose_neither_workers_nor_tile_blocks(function: Loaded) -> None:
    class Alarm(Exception):
        pass

    armed = False

    def handler(number: int, frame: object) -> None:
        nonlocal armed
        if armed:
            armed = False
            raise Alarm

    before = signal.signal(signal.SIGALRM, handler)
    alarms = 0
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0007)
        for turn in range(400):
            function.ns_per_block = (0, 1, 1000, 10_000_000)[turn % 4]
            try:
                armed = True
                visits, _ = count(function, (5, 100, 2000)[turn % 3], (1, 1000, 5000)[turn // 3 % 3], 1 + turn % 3)
                armed = False
                assert (visits == 1).all()
            except Alarm:
                alarms += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert alarms > 0
    assert pool().token == [None]


@pytest.mark.parametrize("extents", [(1, 1, 1), (3, 5, 7), (16, 8, 1), (1000, 1, 1)])
@pytest.mark.parametrize(("chunk", "tail"), [(1, 0), (16, 16), (16, 48), (7, 7), (64, 10_000)])
def test_the_last_chunks_of_a_compiled_kernel_are_small_and_complete(
    extents: tuple[int, int, int], chunk: int, tail: int
) -> None:
    kernel = cpu_kernel(tileir.compile(tileir.parse(_COUNTING), backend="cpu"))
    count = extents[0] * extents[1] * extents[2]
    for threads, lanes, pace in ((1, 0, 0), (3, 0, 0), (3, 0, 10_000_000), (3, -1, 10_000_000)):
        visits = numpy.zeros(extents[::-1], numpy.int32)
        binding = kernel._binder((visits, *extents), extents, chunk)
        binding.record.slots[TAIL] = tail
        binding.record.slots[RANGE_COUNT] = lanes
        version = kernel.version(binding.overlap, False)
        version.loaded.ns_per_block = pace
        parallel_launch.run(version.loaded, binding.record, version.scratch_bytes, threads)
        assert (visits == 1).all()
        if binding.record.slots[RANGE_COUNT] > 0:
            # Not in the first launch.
            assert pace and not lanes
            continue
        # Where the last chunk ended: past the tail it is at most a small one beyond the last tile block.
        beyond = binding.record.slots[NEXT] - count
        assert 0 <= beyond < (max(1, chunk >> TAIL_SHIFT) if tail else chunk)


def test_a_range_of_an_earlier_launch_is_none_of_a_smaller_one() -> None:
    kernel = cpu_kernel(tileir.compile(tileir.parse(_COUNTING), backend="cpu"))
    # The first one divides its tile blocks into three ranges and takes them from one counter.
    for extents, threads, lanes in (((1000, 1, 1), 3, -1), ((3, 5, 7), 2, 0)):
        visits = numpy.zeros(extents[::-1], numpy.int32)
        binding = kernel._binder((visits, *extents), extents, 64)
        binding.record.slots[RANGE_COUNT] = lanes
        version = kernel.version(binding.overlap, False)
        version.loaded.ns_per_block = 10_000_000
        for memory in thread_pool.spare:
            memory.words[RANGE] = 2
        parallel_launch.run(version.loaded, binding.record, version.scratch_bytes, threads)
        assert (visits == 1).all()


_COUNTING = """
cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %x: tile<i32>, %y: tile<i32>, %z: tile<i32>) {
    %i, %j, %k = get_tile_block_id : tile<i32>
    %a = muli %k, %y : tile<i32>
    %b = addi %a, %j : tile<i32>
    %c = muli %b, %x : tile<i32>
    %n = addi %c, %i : tile<i32>
    %q = offset %p, %n : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %v, %t = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
    %one = constant <i32: 1> : tile<i32>
    %w = addi %v, %one : tile<i32>
    %u = store_ptr_tko weak %q, %w token = %t : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
"""

_ATOMIC = """
cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %c: tile<ptr<i32>>) {
    %i, %j, %k = get_tile_block_id : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %old, %t = atomic_rmw_tko relaxed device %c, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %q = offset %p, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %u = store_ptr_tko weak %q, %old : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
"""
