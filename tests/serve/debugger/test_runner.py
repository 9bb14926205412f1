"""Who runs a debugger, without a wire and without a launch."""

from __future__ import annotations

import threading
from typing import Any, cast

from tileir.serve.debugger.adapter.runner import Job, Runner
from tileir.serve.debugger.moments import Moment, Stop


class Interruptible:
    """What a runner needs of a debugger: a run that ends at once, as a pause where it was interrupted before."""

    def __init__(self) -> None:
        self.wanted = 0

    def interrupt(self) -> None:
        self.wanted += 1

    def run(self) -> Stop:
        interrupted, self.wanted = self.wanted, 0
        return Stop("pause" if interrupted else "step", Moment(0, 0))


def test_a_pause_between_the_answer_and_the_run_is_not_lost() -> None:
    stops: list[str] = []
    stopped = threading.Semaphore(0)

    def note(stop: Stop, job: Job) -> None:
        stops.append(stop.reason)
        stopped.release()

    runner = Runner(lambda: None, note)
    debugger = Interruptible()
    thread = threading.Thread(target=runner.work, args=(cast(Any, debugger), Job(debugger.run)))
    thread.start()
    assert stopped.acquire(timeout=60)
    # One that is stopped has nothing to pause.
    runner.pause()
    for pauses in (False, True):
        runner.announce()
        if pauses:
            runner.pause()
        runner.submit(Job(debugger.run))
        assert stopped.acquire(timeout=60)
    runner.leave()
    thread.join(60)
    assert stops == ["step", "step", "pause"]
