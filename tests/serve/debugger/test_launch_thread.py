"""Who runs a debugger, without a wire and without a launch."""

from __future__ import annotations

import threading
from typing import Any, cast

from tileir.serve.debugger.adapter.launch_thread import Job, LaunchThread
from tileir.serve.debugger.stops import Position, Stop


class Interruptible:
    """What a thread_of_launch needs of a debugger: a run that ends at once, as a pause where it was interrupted before."""

    def __init__(self) -> None:
        self.wanted = 0

    def interrupt(self) -> None:
        self.wanted += 1

    def run(self) -> Stop:
        interrupted, self.wanted = self.wanted, 0
        return Stop("pause" if interrupted else "step", Position(0, 0))


def test_a_pause_between_the_answer_and_the_run_is_not_lost() -> None:
    stops: list[str] = []
    stopped = threading.Semaphore(0)

    def note(stop: Stop, job: Job) -> None:
        stops.append(stop.reason)
        stopped.release()

    thread_of_launch = LaunchThread(lambda: None, note)
    debugger = Interruptible()
    thread = threading.Thread(target=thread_of_launch.work, args=(cast(Any, debugger), Job(debugger.run)))
    thread.start()
    assert stopped.acquire(timeout=60)
    # One that is stopped has nothing to pause.
    thread_of_launch.pause()
    for pauses in (False, True):
        thread_of_launch.announce()
        if pauses:
            thread_of_launch.pause()
        thread_of_launch.submit(Job(debugger.run))
        assert stopped.acquire(timeout=60)
    thread_of_launch.leave()
    thread.join(60)
    assert stops == ["step", "step", "pause"]
