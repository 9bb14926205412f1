"""What must hold of every launch in the model of machines that are not here, and that the model divides as the engine
does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.execute.cpu.test_thread_pool import Visits

import threads_simulated as simulated
from threads_simulated import MICROSECOND, MILLISECOND, Machine
from tileir.execute.cpu.runtime.launch_record import CHUNK, RANGE_COUNT, RANGE_END
from tileir.execute.cpu.runtime.thread_pool import _slot, pool

machines = st.builds(Machine, st.sampled_from([2, 3, 16, 64, 192]), st.sampled_from([1, 2]))
blocks = st.one_of(
    st.lists(st.integers(50, 300 * MICROSECOND), min_size=1, max_size=300),
    st.builds(simulated.even, st.integers(1, 3000), st.integers(3000, 50 * MILLISECOND)),
    st.builds(simulated.triangle, st.integers(1, 3000), st.integers(3000, 50 * MILLISECOND)),
)


@settings(deadline=None, max_examples=60)
@given(machines, blocks, st.booleans(), st.booleans())
def test_every_tile_block_runs_once_and_nobody_is_idle_while_there_are_more(
    machine: Machine, blocks: list[int], awake: bool, ordered: bool
) -> None:
    launch = simulated.run(machine, blocks, awake=awake, ordered=ordered)
    assert all(0 <= owner < machine.cores for owner in launch.owners)
    # Who comes works until nothing is left: from then on no longer than what another one has just taken.
    looks = machine.take * machine.cores
    assert max(launch.ends.values()) - min(launch.ends.values()) <= launch.longest_chunk + looks


@settings(deadline=None, max_examples=60)
@given(machines, blocks, st.booleans())
def test_sharing_a_launch_hardly_ever_costs_more_than_it_gains(
    machine: Machine, blocks: list[int], awake: bool
) -> None:
    """Even where one tile block takes all the time: a fifth while helpers look, a half of the shortest that sleep."""
    launch = simulated.run(machine, blocks, awake=awake)
    alone = sum(blocks) + machine.take * len(blocks)
    assert launch.time <= alone * (1.2 if awake else 1.5)


@pytest.mark.parametrize("cores", [2, 16, 64])
def test_a_long_launch_of_like_tile_blocks_uses_all_cores(cores: int) -> None:
    blocks = simulated.even(64 * cores, 4 * MILLISECOND * cores)
    launch = simulated.run(Machine(cores), blocks)
    assert sum(blocks) / launch.time >= 0.9 * cores


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 4000), st.integers(20, 100 * MICROSECOND), st.booleans())
def test_memory_stays_with_the_socket_that_touched_it_first(count: int, each: int, awake: bool) -> None:
    """The first launch does not know how long it takes; those after it find their memory at hand, all but what was
    taken from others' ranges."""
    machine = Machine(64, sockets=2)
    first = simulated.run(machine, [each] * count, 0, awake=awake, homes=[-1] * count)
    second = simulated.run(machine, [each] * count, each * count, awake=True, homes=first.homes)
    if second.threads == 64 and first.threads == 64 and awake:
        assert second.remote <= count // 20 + 64


def test_ranges_are_those_of_the_engine() -> None:
    if not pool().is_native:
        pytest.skip("this system has no futex")
    for count, chunk, threads in ((1, 1, 2), (20, 1, 4), (64, 3, 5), (1000, 7, 16), (513, 64, 64), (4096, 8, 64)):
        visits = Visits(count)
        visits.record.slots[CHUNK] = chunk
        visits.launch(threads - 1)
        assert visits.record.slots[RANGE_COUNT] == threads
        ends = [visits.pool.words[_slot(number) + RANGE_END] for number in range(threads)]
        assert ends == [end for _, end in simulated.ranges(count, chunk, threads)]
        assert visits.seen.tolist() == [1] * count
