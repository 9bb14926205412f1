"""One item judged in child processes of this one, which is the server: started by a fork, confined, watched, ended.

Nothing is believed that a child says (`messages`), and nothing of it stays: when it is over, or its time is, it is
killed with all processes it has started, and its scratch directory is removed.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from tileir.judge.confinement.confine import Confinement, confine
from tileir.judge.confinement.descendants import end_descendants
from tileir.judge.deaths import OVER, Ending, ended_step
from tileir.judge.items import Item
from tileir.judge.judging.failures import failed_step
from tileir.judge.judging.parts import Part, parts_of, planned_steps
from tileir.judge.judging.work import Work
from tileir.judge.messages import (
    BEGIN,
    END,
    HAND_OVER,
    STEP,
    Frames,
    Garbage,
    frame,
    read_name,
    read_seconds,
    read_step,
    write_whole,
)
from tileir.judge.plans import Limits, Plan
from tileir.judge.scratch import Scratch
from tileir.judge.verdicts import Step, Verdict, verdict_of

_REPORT: Final = 3
"""The descriptor on which a child reports."""
_SLICE: Final = 0.1
"""Seconds between looks at what a child does beside reporting."""
_LAST_MOMENTS: Final = 0.1
"""Seconds in which a process that has closed its files is to be dead."""
_READ: Final = 1 << 20
_MORE_THREADS: Final = 32
"""Threads of a child beside those that its limits grant: libraries have some for themselves."""


class OwnerGone(Exception):
    """Nobody waits for the verdict any more."""


class Told(NamedTuple):
    """What a child told until it ended."""

    steps: list[Step]
    begun: list[str]
    handed: list[bytes]
    seconds: list[float]
    output: bytearray


def judge_in_children(item: Item, plan: Plan, root: str, owner: int | None = None) -> Verdict:
    """The verdict on an item.  `root` is where scratch directories are made; `owner` is a pipe that closes when nobody
    wants the verdict any more."""
    begun = time.perf_counter()
    deadline = begun + plan.limits.seconds
    steps: list[Step] = []
    output = bytearray()
    handed = b""
    work_seconds = 0.0
    peak = 0
    died = ""
    for part in parts_of(item, plan):
        passed = {step.name for step in steps if step.outcome == "passed"}
        if not passed.issuperset(part.needs):
            continue
        with Scratch(root) as scratch:
            told = Told([], [], [], [], output)
            ending = run_part(part, Work(item, plan, scratch.path, handed, tell_parent), told, scratch, deadline, owner)
        steps += told.steps
        handed = told.handed[-1] if told.handed else b""
        work_seconds += sum(told.seconds)
        peak = max(peak, ending.peak)
        if not ending.is_orderly:
            last = told.begun[-1] if told.begun else "start"
            died = died or last
            steps.append(ended_step(last, ending, bytes(output), plan.limits))
    done = {step.name: step for step in steps}
    words = f"'{died}' ended the process" if died else "'check' did not pass"
    planned = planned_steps(item, plan)
    # In the order of the plan, whoever did them.
    steps = [done.get(name) or Step(name, "skipped", words) for name in planned]
    steps += [step for name, step in done.items() if name not in planned]
    seconds = time.perf_counter() - begun
    measured = {"seconds": seconds, "peak_bytes": float(peak), "overhead_seconds": max(seconds - work_seconds, 0.0)}
    return verdict_of(item, steps, output.decode("utf-8", "replace"), measured)


def run_part(part: Part, work: Work, told: Told, scratch: Scratch, deadline: float, owner: int | None) -> Ending:
    """Start a child and wait for its end."""
    report, report_there = os.pipe()
    output, output_there = os.pipe()
    # What is waiting to be written would be written by the child.
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _be_child(part, work, report_there, output_there, parent)
    os.close(report_there)
    os.close(output_there)
    watched = _Watched(child, report, output, told, work.plan.limits, scratch)
    try:
        how = watched.wait(deadline, owner)
    finally:
        _kill(child)
        status, usage = os.wait4(child, 0)[1:]
        end_descendants()
        watched.drain()
        os.close(report)
        os.close(output)
    unit = 1 if sys.platform == "darwin" else 1024
    return Ending(how, os.waitstatus_to_exitcode(status), usage.ru_maxrss * unit)


def _kill(child: int) -> None:
    for kill, target in ((os.killpg, child), (os.kill, child)):
        try:
            kill(target, signal.SIGKILL)
        except OSError:
            # It has not come so far as to have a group, or is dead.
            continue


# --- the child ---


def tell_parent(data: bytes) -> None:
    write_whole(_REPORT, data)


def _be_child(part: Part, work: Work, report: int, output: int, parent: int) -> None:
    """Do the work and end; what is on the stack belongs to the parent."""
    status = 1
    begun = time.perf_counter()
    try:
        _take_descriptors(report, output)
        needs = Confinement(work.scratch, work.plan.limits, part.processes)
        confine(needs, parent)
        try:
            part.judge(work)
        except BaseException as error:
            step = Step(work.begun or "start", "crashed")
            failed_step(step, error)
            work.tell(step)
        _flush()
        tell_parent(frame(END, str(time.perf_counter() - begun).encode()))
        status = 0
    except BaseException:
        # A defect of the tool, or a pipe that is closed: seen by who reads the output.
        sys.excepthook(*sys.exc_info())
        _flush()
    finally:
        os._exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            # Foreign code may have closed or replaced it.
            continue


def _take_descriptors(report: int, output: int) -> None:
    """Descriptors of its own, and none of the parent's."""
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    # The report goes where it is not in the way, even if it has one of the numbers wanted.
    os.dup2(report, _REPORT, inheritable=False)
    os.closerange(_REPORT + 1, 1 << 16)


# --- the parent ---


class _Watched:
    """A child while it works."""

    def __init__(self, child: int, report: int, output: int, told: Told, limits: Limits, scratch: Scratch) -> None:
        self._child: int = child
        self._report: int = report
        self._output: int = output
        self._told: Told = told
        self._limits: Limits = limits
        self._scratch: Scratch = scratch
        self._frames: Frames = Frames()

    def wait(self, deadline: float, owner: int | None) -> str:
        """Until it is over; gives the reason why it is ended from outside, empty if it ended by itself."""
        poll = select.poll()
        poll.register(self._report, select.POLLIN)
        poll.register(self._output, select.POLLIN)
        if owner is not None:
            poll.register(owner, 0)
        now = time.perf_counter()
        look = now + _SLICE
        while now < deadline:
            ready = poll.poll(1000 * max(min(deadline, look) - now, 0))
            now = time.perf_counter()
            if now >= look:
                # Also at one that writes without a pause.
                look = now + _SLICE
                reason = self._look()
                if reason:
                    return reason
            for descriptor, _ in ready:
                if descriptor == owner:
                    raise OwnerGone
                data = os.read(descriptor, _READ)
                if not data:
                    poll.unregister(descriptor)
                if descriptor == self._output:
                    self._keep(data)
                elif not data:
                    return "" if self._is_dead() else "closed"
                else:
                    try:
                        self._take(data)
                    except Garbage as garbage:
                        return str(garbage)
                    if self._told.seconds:
                        return OVER
            if not ready and self._is_dead(0.0):
                return ""
        return "timeout"

    def drain(self) -> None:
        """What is in the pipe for output when nobody writes to it any more."""
        os.set_blocking(self._output, False)
        try:
            while data := os.read(self._output, _READ):
                self._keep(data)
        except BlockingIOError:
            pass

    def _keep(self, data: bytes) -> None:
        output = self._told.output
        output += data[: max(self._limits.output_bytes - len(output), 0)]

    def _take(self, data: bytes) -> None:
        for kind, content in self._frames.add(data):
            _TAKEN[kind](self._told, content)

    def _look(self) -> str | None:
        """Why to end it; None to wait on."""
        if _threads(self._child) > _MORE_THREADS + self._limits.threads:
            return "it started too many threads"
        return self._scratch.why_too_much(self._limits)

    def _is_dead(self, seconds: float = _LAST_MOMENTS) -> bool:
        """Whether it is dead or dies in this moment; who waits for it later still can."""
        until = time.perf_counter() + seconds
        while True:
            if os.waitid(os.P_PID, self._child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
            if time.perf_counter() >= until:
                return False
            time.sleep(0.0005)


def _threads(process: int) -> int:
    """How many threads a process has; 0 if the system does not say."""
    try:
        with open(f"/proc/{process}/stat", "rb", buffering=0) as file:
            # The name of the program, in parentheses, may have blanks.
            return int(file.read(4096).rpartition(b")")[2].split()[17])
    except (OSError, ValueError, IndexError):
        return 0


_TAKEN: Final[dict[bytes, Callable[[Told, bytes], None]]] = {
    BEGIN: lambda told, content: told.begun.append(read_name(content)),
    STEP: lambda told, content: told.steps.append(read_step(content)),
    HAND_OVER: lambda told, content: told.handed.append(content),
    END: lambda told, content: told.seconds.append(read_seconds(content)),
}
