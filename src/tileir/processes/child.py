"""A child process: a fork of this one with pipes of its own, watched, and ended with all that it started.

The parent trusts no message: a child that ran foreign code may write anything (`messages.FrameReader`).
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from tileir.processes.exit_status import CLOSED, FINISHED, TIMED_OUT, ExitStatus, exit_status, kill_group
from tileir.processes.linux import end_with_parent
from tileir.processes.messages import BadMessage, FrameReader, frame, read_frame, send
from tileir.processes.sandbox import Sandbox, confine, limit_resource, most_written, why_too_much

CAN_FORK: Final = hasattr(os, "fork")

_REQUESTS: Final = 0
"""The descriptor from which a child reads requests."""
REPORT: Final = 3
"""The one on which it reports."""
_WATCH_SECONDS: Final = 0.1
"""Seconds between looks at what a child uses."""
_DYING_SECONDS: Final = 0.1
"""Seconds in which a process that has closed its files is to be dead."""
_READ: Final = 1 << 20
_MOST_READS: Final = 16
_MORE_THREADS: Final = 32
"""Threads of a child beside those that its sandbox grants: libraries have some of their own."""

KEPT: Final[set[int]] = set()
"""Processes that this one has started besides children, and that outlive them."""

Handler = Callable[[bytes], bool]
"""Takes a frame of a child; True if it is the last of a task.  Raises `BadMessage` for a frame that is not allowed."""


class OwnerGone(Exception):
    """The process that waited for the child has gone."""


class Child:
    """A fork of this process that calls `main`.

    One with a sandbox is confined.  The process that starts it has one child at a time: when that ends, whatever is
    left of its descendants is ended too.
    """

    def __init__(
        self, main: Callable[[], None], sandbox: Sandbox | None = None, *, takes_requests: bool = False
    ) -> None:
        self._sandbox: Sandbox | None = sandbox
        self._frames: FrameReader = FrameReader()
        self._lock: threading.Lock = threading.Lock()
        self._is_over: bool = False
        self.is_cancelled: bool = False
        self.output: bytearray = bytearray()
        """What it has printed since `output` was last emptied, up to the limit."""
        requests_there, requests = os.pipe()
        self._report, report_there = os.pipe()
        self._output, output_there = os.pipe()
        # What is waiting to be written would be written by the child.
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        self._shared: int = _shared_memory() if sandbox is not None else 0
        self._process: int = os.fork()
        if self._process == 0:
            _be_child(main, sandbox, (requests_there, report_there, output_there), parent)
        # One that takes no requests finds the end of its standard input.
        for descriptor in (requests_there, report_there, output_there, *([] if takes_requests else [requests])):
            os.close(descriptor)
        self._requests: int | None = requests if takes_requests else None
        for descriptor in (self._output, *([requests] if takes_requests else [])):
            os.set_blocking(descriptor, False)

    def request(self, content: bytes, deadline: float) -> bool:
        """Send it a frame; False if it does not take it."""
        assert self._requests is not None, "it takes requests"
        poll = select.poll()
        poll.register(self._requests, select.POLLOUT)
        view = memoryview(frame(content))
        while view:
            if not poll.poll(1000 * max(deadline - time.perf_counter(), 0)):
                return False
            try:
                view = view[os.write(self._requests, view) :]
            except OSError:
                return False
        return True

    def wait(self, handle: Handler, deadline: float, owner: int | None = None) -> str:
        """Hand its frames to `handle` until a task is over; return the reason of its `ExitStatus`.

        `owner` is a pipe that closes when nobody waits any more: then this raises `OwnerGone`."""
        poll = select.poll()
        poll.register(self._report, select.POLLIN)
        poll.register(self._output, select.POLLIN)
        if owner is not None:
            poll.register(owner, 0)
        now = time.perf_counter()
        look = now + _WATCH_SECONDS
        while now < deadline:
            ready = poll.poll(1000 * max(min(deadline, look) - now, 0))
            now = time.perf_counter()
            if now >= look:
                # Also at one that writes without a pause.
                look = now + _WATCH_SECONDS
                reason = self._exceeded()
                if reason:
                    return reason
            for descriptor, _ in ready:
                if descriptor == owner:
                    raise OwnerGone
                if descriptor == self._output:
                    if not self._read_output():
                        poll.unregister(descriptor)
                    continue
                data = os.read(descriptor, _READ)
                if not data:
                    return "" if self._is_dead(_DYING_SECONDS) else CLOSED
                try:
                    if any(handle(content) for content in self._frames.add(data)):
                        self._read_output()
                        self._frames = FrameReader()
                        return FINISHED
                except BadMessage as error:
                    return str(error)
            if not ready and self._is_dead(0.0):
                return ""
        return TIMED_OUT

    def end(self, reason: str) -> ExitStatus:
        """End it and all that it started."""
        with self._lock:
            self._is_over = True
            _kill(self._process)
        status, usage = os.wait4(self._process, 0)[1:]
        if self._sandbox is not None:
            _end_descendants()
        self._read_output()
        for descriptor in (self._requests, self._report, self._output):
            if descriptor is not None:
                os.close(descriptor)
        return exit_status(reason, status, usage)

    def cancel(self) -> None:
        """Kill it from another thread; the thread that waits for it finds `is_cancelled`."""
        with self._lock:
            if not self._is_over:
                self.is_cancelled = True
                _kill(self._process)

    def peak_bytes(self) -> int:
        """The peak memory of the process until now; 0 if the system does not report it."""
        return _kibibytes(f"/proc/{self._process}/status", b"VmHWM:")

    def _read_output(self) -> bool:
        """Keep output up to the limit of its sandbox; False at the end."""
        most = self._sandbox.output_bytes if self._sandbox is not None else 0
        try:
            # Bounded: a child that writes as fast as this reads would keep the parent in this loop forever.
            for _ in range(_MOST_READS):
                data = os.read(self._output, _READ)
                if not data:
                    return False
                self.output.extend(data[: max(most - len(self.output), 0)])
                if len(data) < select.PIPE_BUF:
                    break
        except BlockingIOError:
            pass
        return True

    def _exceeded(self) -> str:
        """A message about the limit that it has exceeded; empty if none."""
        sandbox = self._sandbox
        if sandbox is None:
            return ""
        # After the name of the program, in parentheses, which may have blanks.
        if _field(f"/proc/{self._process}/stat", b") ", 17) > _MORE_THREADS + sandbox.threads:
            return "it started too many threads"
        written = max(_field(f"/proc/{self._process}/io", b"\nwrite_bytes:"), self._unmapped(sandbox))
        return why_too_much(sandbox.scratch, sandbox.file_bytes, written)

    def _unmapped(self, sandbox: Sandbox) -> int:
        """Bytes of shared memory that it holds without having them mapped.

        A removed file of a tmpfs, or a shared mapping, keeps all its pages as long as one is mapped or a descriptor is
        open.  The system has only the sum over all processes, so the child has to hold such a file to be blamed.
        """
        found = _shared_memory() - self._shared - _kibibytes(f"/proc/{self._process}/status", b"RssShmem:")
        return found if found > most_written(sandbox.file_bytes) and _has_removed_files(self._process) else 0

    def _is_dead(self, seconds: float) -> bool:
        """Whether it is dead or dies within `seconds`; `end` can still wait for it."""
        until = time.perf_counter() + seconds
        while os.waitid(os.P_PID, self._process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.perf_counter() >= until:
                return False
            time.sleep(0.0005)
        return True


def _kill(process: int) -> None:
    kill_group(process)
    # It may not have come so far as to have a group.
    with contextlib.suppress(OSError):
        os.kill(process, signal.SIGKILL)


def _end_descendants() -> None:
    """End all children of this process and theirs, at a time when it should have none but those that are kept."""
    seen = 0
    for attempt in range(2000):
        try:
            while ended := os.waitpid(-1, os.WNOHANG)[0]:
                KEPT.discard(ended)
        except ChildProcessError:
            return
        pending, found = [os.getpid()], False
        while pending:
            children = [each for each in _children(pending.pop()) if each not in KEPT]
            pending += children
            found = found or bool(children)
            for child in children:
                with contextlib.suppress(OSError):
                    os.kill(child, signal.SIGKILL)
        # The system may leave some out of a list while others end.
        seen = 0 if found else seen + 1
        if KEPT and seen > 1:
            return
        if attempt:
            time.sleep(0.001)


# --- what the system reports of a process; 0 where it reports nothing ---


def _children(process: int) -> list[int]:
    found: list[int] = []
    # It may be gone, or the system has no such directory.
    with contextlib.suppress(OSError, ValueError):
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/children", "rb") as file:
                found += [int(each) for each in file.read().split()]
    return found


def _shared_memory() -> int:
    """Bytes of shared memory and of files of every tmpfs."""
    return _kibibytes("/proc/meminfo", b"\nShmem:")


def _kibibytes(path: str, name: bytes) -> int:
    return _field(path, name) * 1024


def _field(path: str, name: bytes, number: int = 0) -> int:
    """A number that stands after the last `name` in a file."""
    try:
        with open(path, "rb", buffering=0) as file:
            _, found, after = file.read(4096).rpartition(name)
            return int(after.split()[number]) if found else 0
    except (OSError, ValueError, IndexError):
        return 0


def _has_removed_files(process: int) -> bool:
    """Whether a process has files mapped or open that are removed; shared memory is such a file."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{process}/maps", "rb") as file:
            if any(line.endswith(b" (deleted)\n") for line in file):
                return True
        for each in os.listdir(f"/proc/{process}/fd"):
            # It may be closed by now.
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{process}/fd/{each}").endswith(" (deleted)"):
                    return True
    return False


# --- in the child ---


def report(message: object) -> None:
    """Send a message to the parent."""
    send(REPORT, message)


def requests() -> Iterator[bytes]:
    """The requests of the parent, until it has no more."""
    while (found := read_frame(_REQUESTS)) is not None:
        yield found


def flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        # Foreign code may have closed or replaced it.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _be_child(main: Callable[[], None], sandbox: Sandbox | None, pipes: tuple[int, int, int], parent: int) -> None:
    """Do the work and end; what is on the stack belongs to the parent."""
    status = 1
    try:
        os.setsid()
        # Pipes have numbers above those of the standard streams, which are open here.
        for descriptor, number in zip((pipes[0], pipes[2], pipes[2]), (_REQUESTS, 1, 2), strict=True):
            os.dup2(descriptor, number)
        os.dup2(pipes[1], REPORT, inheritable=False)
        os.closerange(REPORT + 1, 1 << 16)
        if sandbox is not None:
            confine(sandbox, parent)
        else:
            end_with_parent()
            limit_resource("RLIMIT_CORE", 0)
        main()
        status = 0
    except BaseException:
        # A defect of the tool, or a pipe that is closed: seen by who reads the output.
        sys.excepthook(*sys.exc_info())
        flush_output()
    finally:
        os._exit(status)


# --- where the system has no fork ---


def be_spawned(_: str) -> None:
    """Do what `run_spawned` wrote to standard input; report to standard output, and print to standard error."""
    os.dup2(1, REPORT)
    os.dup2(2, 1)
    main, scratch = pickle.load(sys.stdin.buffer)
    os.chdir(scratch)
    main()
    sys.stdout.flush()
    # What foreign code has left to be done at the end is not done.
    os._exit(0)
