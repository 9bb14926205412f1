"""Launches on machines that are not here: 2, 16 and 64 cores, one socket and two, by a model of what threads cost.

    python benchmarks/threads_simulated.py

The decisions are those of the engine (how many threads, whom to wake, chunks, ranges, what the first launch does);
time is the model's: posting to a helper, waking one that sleeps and how long it takes to come, taking a chunk, memory
of the other socket.  The first two were measured (docs/internals/cpu.md), the others are what such machines are known
for.

`tests/benchmarks/test_threads_simulated.py` holds what must be so of every launch in the model.
"""

from __future__ import annotations

import argparse
import heapq
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from unittest import mock

from measure import Line, add_line_options, finish, table
from tileir.execute.cpu.runtime import parallel_launch, target
from tileir.execute.cpu.runtime.launch_record import TAIL_SHIFT
from tileir.execute.cpu.runtime.parallel_launch import worth_waking

MICROSECOND = 1_000
MILLISECOND = 1_000_000
SHORT_BAR = 1.0
LONG_BAR = 0.8


@dataclass(frozen=True)
class Machine:
    """Times in nanoseconds."""

    cores: int
    sockets: int = 1
    post: int = 200
    """To post to a helper that looks at its mailbox, and to see that it is done."""
    wake: int = 1_500
    """To wake one that sleeps, for who launches."""
    arrival: int = 5_000
    """Until it then begins."""
    begin: int = 1_000
    """A launch that is shared at all."""
    take: int = 60
    """To take a chunk of a range of one's own."""
    far: int = 400
    """The same of a range that others take from too, or of the one counter."""
    remote: float = 1.6
    """How much longer a tile block takes whose memory is the other socket's."""
    last_level: int = 32 << 20
    """Bytes of the last-level cache of a socket."""

    def socket(self, worker: int) -> int:
        return worker * self.sockets // self.cores


MACHINES = {
    "2 cores": Machine(2),
    "16 cores": Machine(16, last_level=300 << 20),
    "64 cores, 2 sockets": Machine(64, sockets=2, last_level=105 << 20),
}


@dataclass
class Launch:
    """What a launch did in the model."""

    time: int
    owners: list[int]
    """Who ran each tile block."""
    ends: dict[int, int]
    """When each worker found nothing left."""
    longest_chunk: int
    remote: int = 0
    """Tile blocks whose memory was the other socket's."""
    homes: list[int] = field(default_factory=list)
    """Where the memory of each tile block is afterwards."""

    @property
    def threads(self) -> int:
        return len(self.ends)


def ranges(count: int, chunk: int, workers: int) -> list[list[int]]:
    """The tile blocks of each worker, as `pool_native` divides them: next number and end, in whole chunks."""
    chunks = -(-count // chunk)
    each, extra = divmod(chunks, workers)
    found, begin = [], 0
    for worker in range(workers):
        end = min(begin + (each + (worker < extra)) * chunk, count)
        found.append([begin, end])
        begin = end
    return found


def run(
    machine: Machine,
    blocks: Sequence[int],
    expected: int | None = None,
    *,
    awake: bool = True,
    ordered: bool = False,
    homes: Sequence[int] = (),
) -> Launch:
    """A launch of tile blocks that take so many nanoseconds each, alone and with their memory at hand.

    `expected` is how long the engine expects all to take, 0 if it does not know; what they take, if not given.
    `ordered` launches take from one counter.  `homes` says at which socket the memory of a tile block is, -1: nowhere
    yet; without it none of it matters.
    """
    count = len(blocks)
    alone = sum(blocks)
    expected = alone if expected is None else expected
    chunk = parallel_launch.chunk_for((count, 1, 1), machine.cores)
    threads = min(machine.cores, -(-count // chunk))
    if threads < 2 or 0 < expected < parallel_launch.WORTH_WAKING:
        return _on_one(machine, blocks, homes)
    threads = parallel_launch.worth_sharing(expected, threads)
    wakes = worth_waking(expected)
    lanes = [[0, count]] if ordered else ranges(count, chunk, threads)
    tail = chunk * ((machine.cores + 1) // 2) if ordered else chunk
    # Who launches posts to one after the other, then works.
    now = machine.begin
    arrivals: list[tuple[int, int]] = []
    for helper in range(1, threads):
        now += machine.post
        if awake:
            arrivals.append((now, helper))
        elif wakes > 0:
            wakes -= 1
            now += machine.wake
            arrivals.append((now + machine.arrival, helper))
    arrivals.append((now, 0))
    return _play(machine, blocks, homes, lanes, chunk, tail, arrivals, now)


def _on_one(machine: Machine, blocks: Sequence[int], homes: Sequence[int]) -> Launch:
    remote = [number for number, home in enumerate(homes) if home > 0]
    more = sum([int(blocks[number] * (machine.remote - 1)) for number in remote])
    time = sum(blocks) + more
    return Launch(time, [0] * len(blocks), {0: time}, max(blocks), len(remote), [max(home, 0) for home in homes])


def _play(
    machine: Machine,
    blocks: Sequence[int],
    homes: Sequence[int],
    lanes: list[list[int]],
    chunk: int,
    tail: int,
    arrivals: list[tuple[int, int]],
    posted: int,
) -> Launch:
    owners = [-1] * len(blocks)
    places = list(homes)
    ends: dict[int, int] = {}
    at = {worker: worker % len(lanes) for _, worker in arrivals}
    seen = dict.fromkeys(at, 0)
    longest = remote = 0
    left = len(blocks)
    working: set[int] = set()
    heap = sorted(arrivals)
    while heap:
        now, worker = heapq.heappop(heap)
        if worker and not left and worker not in working:
            # Nothing is left when it comes: what was posted to it has been taken back.
            continue
        working.add(worker)
        lane = lanes[at[worker]]
        if lane[0] >= lane[1]:
            seen[worker] += 1
            if seen[worker] >= len(lanes):
                ends[worker] = now
            else:
                at[worker] = (at[worker] + 1) % len(lanes)
                heapq.heappush(heap, (now + machine.take, worker))
            continue
        first = lane[0]
        size = chunk if first + tail < lane[1] else max(chunk >> TAIL_SHIFT, 1)
        lane[0] = min(first + size, lane[1])
        shared = len(lanes) == 1 or at[worker] != worker
        spent = machine.far if shared else machine.take
        for number in range(first, lane[0]):
            assert owners[number] < 0, "a tile block runs twice"
            owners[number] = worker
            left -= 1
            time = blocks[number]
            if places:
                here = machine.socket(worker)
                if places[number] < 0:
                    places[number] = here
                elif places[number] != here:
                    remote += 1
                    time = int(time * machine.remote)
            spent += time
        longest = max(longest, spent)
        heapq.heappush(heap, (now + spent, worker))
    time = max(*ends.values(), posted) + machine.post * (len(ends) - 1)
    return Launch(time, owners, ends, longest, remote, places)


# --- the tables ---


def even(count: int, total: int) -> list[int]:
    return [max(total // count, 1)] * count


def triangle(count: int, total: int) -> list[int]:
    """The last tile blocks take longest, as under a causal mask."""
    unit = 2 * total / (count * (count + 1))
    return [max(int(unit * (number + 1)), 1) for number in range(count)]


def one_long(count: int, total: int) -> list[int]:
    """The last one takes as long as a sixteenth of all."""
    return [*even(count - 1, total - total // 16), total // 16]


WORK = {
    "tiny: 8 tile blocks, 10 us": even(8, 10 * MICROSECOND),
    "64 tile blocks, 50 us": even(64, 50 * MICROSECOND),
    "256 tile blocks, 400 us": even(256, 400 * MICROSECOND),
    "1,024 tile blocks, 4 ms": even(1024, 4 * MILLISECOND),
    "triangle, 1,024, 4 ms": triangle(1024, 4 * MILLISECOND),
    "one long one of 1,024, 4 ms": one_long(1024, 4 * MILLISECOND),
    "huge: 16,384 tile blocks, 200 ms": even(16384, 200 * MILLISECOND),
    "100 tile blocks of 2 ms": even(100, 200 * MILLISECOND),
}


def efficiency_table(lines: list[Line]) -> str:
    rows = []
    for work, blocks in WORK.items():
        cells = []
        for name, machine in MACHINES.items():
            alone = sum(blocks)
            for awake in (True, False):
                found = run(machine, blocks, awake=awake)
                speed = alone / found.time
                cells.append(f"{speed:.1f} on {found.threads}")
                if awake:
                    bar = LONG_BAR * machine.cores if work.startswith("huge") else SHORT_BAR
                    lines.append(Line(f"simulated, {name}: {work}", "one thread", speed, bar))
        rows.append((work, *cells))
    heads = [f"{name}{', asleep' if not awake else ''}" for name in MACHINES for awake in (True, False)]
    return table(("times as fast as one thread", *heads), rows)


def memory_table(lines: list[Line]) -> str:
    """Two launches over memory that nobody has touched, on two sockets: by one counter and by ranges at first."""
    machine = MACHINES["64 cores, 2 sockets"]
    rows = []
    for count, total in ((1024, 4 * MILLISECOND), (16384, 200 * MILLISECOND)):
        blocks = even(count, total)
        for ordered in (True, False):
            first = run(machine, blocks, 0, ordered=ordered, homes=[-1] * count)
            second = run(machine, blocks, homes=first.homes)
            third = run(machine, blocks, homes=second.homes)
            share = third.remote / count
            name = f"{count:,} tile blocks, first launch by {'one counter' if ordered else 'ranges'}"
            rows.append((name, f"{share:.0%}", f"{total / third.time:.1f}"))
            if not ordered:
                lines.append(Line(f"simulated, two sockets: {count:,} tile blocks", "one thread", total / third.time))
    return table(("memory of the other socket in later launches", "remote", "times as fast"), rows)


def streaming_table() -> str:
    rows = []
    for name, machine in MACHINES.items():
        with mock.patch.object(
            target, "last_level_bytes", lambda machine=machine: machine.last_level * machine.sockets
        ):
            rows.append((name, *[f"{target.cached_bytes(threads) >> 20}" for threads in (1, 2, 16, 64)]))
    return table(("MiB above which a launch streams", "1 thread", "2", "16", "64"), rows)


def main() -> int:
    parser = argparse.ArgumentParser(description="Launches on machines that are not here.")
    add_line_options(parser)
    options = parser.parse_args()
    lines: list[Line] = []
    print(f"{efficiency_table(lines)}\n\n{memory_table(lines)}\n\n{streaming_table()}")
    return finish(lines, options)


if __name__ == "__main__":
    sys.exit(main())
