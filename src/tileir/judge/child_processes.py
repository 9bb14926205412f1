"""A child process: started by a fork, confined, watched, ended with all that it started.

Nothing is believed that a child says (`messages`): who ran foreign code may write anything.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from tileir.judge.confinement.confine import Confinement, confine
from tileir.judge.confinement.descendants import end_descendants
from tileir.judge.deaths import OVER, Ending
from tileir.judge.judging.work import flush_output
from tileir.judge.messages import (
    BEGIN,
    END,
    HAND_OVER,
    STEP,
    Frames,
    Garbage,
    read_name,
    read_seconds,
    read_step,
    write_whole,
)
from tileir.judge.plans import Limits
from tileir.judge.scratch import Scratch, most_written
from tileir.judge.verdicts import Step

_REPORT: Final = 3
"""The descriptor on which a child reports."""
REQUESTS: Final = 0
"""The one on which it is told what to do next."""
_SLICE: Final = 0.1
"""Seconds between looks at what a child does beside reporting."""
_LAST_MOMENTS: Final = 0.1
"""Seconds in which a process that has closed its files is to be dead."""
_READ: Final = 1 << 20
_MOST_READS: Final = 16
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


class Child:
    """A process that does `main`, confined."""

    def __init__(
        self, main: Callable[[], None], confinement: Confinement, scratch: Scratch, *, listens: bool = False
    ) -> None:
        """One that `listens` is told what to do on `REQUESTS`; the others find nothing there."""
        self._limits: Limits = confinement.limits
        self._scratch: Scratch = scratch
        self._frames: Frames = Frames()
        requests_there, requests = os.pipe()
        self._report, report_there = os.pipe()
        self._output, output_there = os.pipe()
        # What is waiting to be written would be written by the child.
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        self._shared: int = _shared_memory()
        self._process: int = os.fork()
        if self._process == 0:
            _be_child(main, confinement, (requests_there, report_there, output_there), parent)
        os.close(requests_there)
        os.close(report_there)
        os.close(output_there)
        os.set_blocking(self._output, False)
        os.set_blocking(requests, False)
        self._requests: int | None = requests
        if not listens:
            os.close(requests)
            self._requests = None

    def ask(self, data: bytes, deadline: float) -> bool:
        """Write a request for it; False if it does not take it."""
        assert self._requests is not None, "it listens"
        poll = select.poll()
        poll.register(self._requests, select.POLLOUT)
        view = memoryview(data)
        while view:
            if not poll.poll(1000 * max(deadline - time.perf_counter(), 0)):
                return False
            try:
                view = view[os.write(self._requests, view) :]
            except OSError:
                return False
        return True

    def wait(self, told: Told, deadline: float, owner: int | None) -> str:
        """Until it is over; gives the reason why it is to be ended from outside, empty if it ended by itself."""
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
                if descriptor == self._output:
                    if not self._keep(told):
                        poll.unregister(descriptor)
                    continue
                data = os.read(descriptor, _READ)
                if not data:
                    return "" if self._is_dead() else "closed"
                try:
                    for kind, content in self._frames.add(data):
                        take(told, kind, content)
                except Garbage as garbage:
                    return str(garbage)
                if told.seconds:
                    self._keep(told)
                    self._frames = Frames()
                    return OVER
            if not ready and self._is_dead(0.0):
                return ""
        return "timeout"

    def end(self, how: str, told: Told) -> Ending:
        """End it and all that it started."""
        _kill(self._process)
        status, usage = os.wait4(self._process, 0)[1:]
        end_descendants()
        self._keep(told)
        for descriptor in (self._requests, self._report, self._output):
            if descriptor is not None:
                os.close(descriptor)
        unit = 1 if sys.platform == "darwin" else 1024
        return Ending(how, os.waitstatus_to_exitcode(status), usage.ru_maxrss * unit)

    def peak(self) -> int:
        """The most bytes of memory that it had until now; 0 if the system does not say."""
        return _status(self._process, b"VmHWM:")

    def _keep(self, told: Told) -> bool:
        """What it has written to its standard output, as much of it as is kept; False at the end."""
        try:
            # Not until there is no more: one that writes as fast as this reads would never be looked at again.
            for _ in range(_MOST_READS):
                data = os.read(self._output, _READ)
                if not data:
                    return False
                told.output.extend(data[: max(self._limits.output_bytes - len(told.output), 0)])
                if len(data) < select.PIPE_BUF:
                    break
        except BlockingIOError:
            pass
        return True

    def _look(self) -> str | None:
        """Why to end it; None to wait on."""
        if _threads(self._process) > _MORE_THREADS + self._limits.threads:
            return "it started too many threads"
        return self._scratch.why_too_much(self._limits, max(_written(self._process), self._unmapped()))

    def _unmapped(self) -> int:
        """Bytes of shared memory that it holds without having them mapped.

        A removed file of a tmpfs, or a shared mapping, keeps all its pages as long as one is mapped or a descriptor is
        open.  The system has only the sum over all processes, so the child has to hold such a file to be blamed.
        """
        found = _shared_memory() - self._shared - _status(self._process, b"RssShmem:")
        return found if found > most_written(self._limits) and _has_removed_files(self._process) else 0

    def _is_dead(self, seconds: float = _LAST_MOMENTS) -> bool:
        """Whether it is dead or dies in this moment; who waits for it later still can."""
        until = time.perf_counter() + seconds
        while True:
            if os.waitid(os.P_PID, self._process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
            if time.perf_counter() >= until:
                return False
            time.sleep(0.0005)


_TAKEN: Final[dict[bytes, Callable[[Told, bytes], None]]] = {
    BEGIN: lambda told, content: told.begun.append(read_name(content)),
    STEP: lambda told, content: told.steps.append(read_step(content)),
    HAND_OVER: lambda told, content: told.handed.append(content),
    END: lambda told, content: told.seconds.append(read_seconds(content)),
}


def take(told: Told, kind: bytes, content: bytes) -> None:
    """Take down what a frame of a child says; `Garbage` if it says nothing that a child may."""
    _TAKEN[kind](told, content)


def _kill(child: int) -> None:
    for kill, target in ((os.killpg, child), (os.kill, child)):
        try:
            kill(target, signal.SIGKILL)
        except OSError:
            # It has not come so far as to have a group, or is dead.
            continue


def _threads(process: int) -> int:
    """How many threads a process has; 0 if the system does not say."""
    try:
        with open(f"/proc/{process}/stat", "rb", buffering=0) as file:
            # The name of the program, in parentheses, may have blanks.
            return int(file.read(4096).rpartition(b")")[2].split()[17])
    except (OSError, ValueError, IndexError):
        return 0


def _written(process: int) -> int:
    """How many bytes a process has had the system write to disks; 0 if the system does not say."""
    return _field(f"/proc/{process}/io", b"\nwrite_bytes:")


def _status(process: int, name: bytes) -> int:
    """A size that the system reports of a process, in bytes; 0 if it does not."""
    return _field(f"/proc/{process}/status", name) * 1024


def _shared_memory() -> int:
    """Bytes of shared memory and of files of every tmpfs; 0 if the system does not say."""
    return _field("/proc/meminfo", b"\nShmem:") * 1024


def _field(path: str, name: bytes) -> int:
    try:
        with open(path, "rb", buffering=0) as file:
            return int(file.read(4096).partition(name)[2].split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def _has_removed_files(process: int) -> bool:
    """Whether a process has files mapped or open that are removed; shared memory is such a file."""
    try:
        with open(f"/proc/{process}/maps", "rb") as file:
            if any(line.endswith(b" (deleted)\n") for line in file):
                return True
        found = [f"/proc/{process}/fd/{each}" for each in os.listdir(f"/proc/{process}/fd")]
    except OSError:
        return False
    for each in found:
        # It may be closed by now.
        with contextlib.suppress(OSError):
            if os.readlink(each).endswith(" (deleted)"):
                return True
    return False


# --- in the child ---


def tell_parent(data: bytes) -> None:
    write_whole(_REPORT, data)


def _be_child(main: Callable[[], None], wanted: Confinement, descriptors: tuple[int, int, int], parent: int) -> None:
    """Do the work and end; what is on the stack belongs to the parent."""
    status = 1
    try:
        _take_descriptors(*descriptors)
        confine(wanted, parent)
        main()
        status = 0
    except BaseException:
        # A defect of the tool, or a pipe that is closed: seen by who reads the output.
        sys.excepthook(*sys.exc_info())
        flush_output()
    finally:
        os._exit(status)


def _take_descriptors(requests: int, report: int, output: int) -> None:
    """Descriptors of its own, and none of the parent's."""
    os.setsid()
    # Pipes have numbers above those of the standard streams, which are open here.
    os.dup2(requests, REQUESTS)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(report, _REPORT, inheritable=False)
    os.closerange(_REPORT + 1, 1 << 16)
