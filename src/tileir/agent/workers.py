"""A warm process that carries out command lines of `tileir`, each in a confined child with its own directory.

The server of the protocol has threads and does not fork.  It starts this process, which has one thread, has imported
what most commands need, and forks a child for each request.  A child of a Python script may not start processes, use
the network or write outside of its directory (`tileir.processes.sandbox`).
"""

from __future__ import annotations

import atexit
import os
import pickle
import queue
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from tileir.ir.diagnostics import OptionError
from tileir.ir.quoting import harmless
from tileir.judging.server_pool.pool import environment, python_command
from tileir.judging.server_pool.warm_up import warm_kernels
from tileir.processes.child import CAN_FORK, Child, flush_output
from tileir.processes.child import report as send_to_parent
from tileir.processes.command import PIPE, Command
from tileir.processes.exit_status import TIMED_OUT
from tileir.processes.linux import adopt_descendants
from tileir.processes.messages import frame, parsed, read_frame, write_all
from tileir.processes.sandbox import Sandbox, scratch_directory

EXIT_TIMED_OUT: Final = 124
_FILE_BYTES: Final = 64 << 20
_OUTPUT_BYTES: Final = 1 << 20
_THREADS: Final = 2
_OUTPUT: Final = "output.txt"


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A command line, and the files that it names."""

    words: tuple[str, ...]
    files: Mapping[str, str]
    seconds: float
    memory: int
    imports: tuple[str, ...] = ()
    """What the files import that takes seconds: `torch`, `triton`."""
    trusted: bool = False
    """Whether no file is Python: then the command may start processes of its own."""
    confines: bool = False
    """Whether the command runs the files in confined processes of its own, within the limits that it is given."""


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """What a command line printed, and its exit status."""

    status: int
    text: str


class Cancellation:
    """Ends a call whose client no longer waits; the process that carries it out ends with it."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._process: Command | None = None
        self.is_requested: bool = False

    def guard(self, process: Command | None) -> None:
        """Have this process killed by `cancel`, from now on."""
        with self._lock:
            self._process = process
            if process is not None and self.is_requested:
                process.kill()

    def cancel(self) -> None:
        with self._lock:
            self.is_requested = True
            if self._process is not None:
                self._process.kill()


CANCELLATION: Final[ContextVar[Cancellation | None]] = ContextVar("CANCELLATION", default=None)
"""The cancellation of the call under way, if its client can go away."""


class Workers:
    """Warm processes, each of which carries out one command at a time."""

    def __init__(self, entry: tuple[str, str], count: int) -> None:
        """`entry` is the module and the function that each calls: `tileir.tools.more.mcp`, `serve_requests`."""
        self._all: Final = [Worker(entry) for _ in range(count)]
        self._free: Final[queue.LifoQueue[Worker]] = queue.LifoQueue()
        for worker in reversed(self._all):
            self._free.put(worker)

    def run(self, request: CommandRequest) -> CommandOutput:
        """What a command prints; requests wait for a free process."""
        worker = self._free.get()
        try:
            return worker.run(request)
        finally:
            self._free.put(worker)

    def close(self) -> None:
        """End all, also those that carry out a command."""
        for worker in self._all:
            worker.close()


@dataclass(slots=True)
class Worker:
    """A warm process, started with the first request and again where it died."""

    entry: tuple[str, str]
    """The module and the function that the process calls: `tileir.tools.more.mcp`, `serve_requests`."""
    _process: Command | None = None
    _root: str = ""
    _is_closed: bool = False

    def run(self, request: CommandRequest) -> CommandOutput:
        """What a command prints; one call at a time."""
        cancellation = CANCELLATION.get() or Cancellation()
        for _ in range(2):
            if self._is_closed or cancellation.is_requested:
                return CommandOutput(1, "error: the call was canceled\n")
            if self._process is None:
                self._start()
            assert self._process is not None
            cancellation.guard(self._process)
            try:
                write_all(self._process.stdin.fileno(), frame(pickle.dumps(request)))
                found = read_frame(self._process.stdout.fileno())
            except OSError:
                found = None
            cancellation.guard(None)
            if found is not None:
                output: CommandOutput = pickle.loads(found)
                return output
            self._stop()
        return CommandOutput(1, "error: the process that runs commands died twice\n")

    def close(self) -> None:
        """End the process, also while another thread waits for it."""
        self._is_closed = True
        if (process := self._process) is not None:
            process.kill()
            process.wait(2.0)
        shutil.rmtree(self._root, ignore_errors=True)

    def _start(self) -> None:
        if not CAN_FORK:
            raise OptionError("tileir mcp needs Linux or macOS: other systems cannot fork a confined process")
        self._root = tempfile.mkdtemp(prefix="tileir-agent-")
        command = python_command(*self.entry, self._root)
        self._process = Command(command, stdin=PIPE, stdout=PIPE, stderr=2, environment=environment())

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end()
            shutil.rmtree(self._root, ignore_errors=True)


# --- in the warm process ---


def serve(root: str, run: Callable[[list[str]], int]) -> None:
    """Answer requests until there are no more; `run` carries out a command line in a child."""
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    # Standard output becomes standard error, so that a stray `print` does not corrupt the answers.
    os.dup2(2, 1)
    os.close(nothing)
    adopt_descendants()
    try:
        while (content := read_frame(requests)) is not None:
            # Whoever started this process is trusted.
            request: CommandRequest = pickle.loads(content)
            warm_kernels(request.imports)
            write_all(answers, frame(pickle.dumps(_answer(request, root, run))))
    except (BrokenPipeError, KeyboardInterrupt):
        return
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _answer(request: CommandRequest, root: str, run: Callable[[list[str]], int]) -> CommandOutput:
    with scratch_directory(root) as scratch:
        for name, text in request.files.items():
            path = Path(scratch, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        limits = (request.seconds * _THREADS, request.memory, _FILE_BYTES, _OUTPUT_BYTES, _THREADS)
        sandbox = None if request.confines else Sandbox(scratch, *limits, processes=request.trusted)
        # Nothing that a child without a sandbox prints is kept.
        output = os.path.join(scratch, _OUTPUT) if request.confines else ""
        child = Child(partial(_be_command, request.words, run, scratch, output), sandbox)
        found: list[int] = []

        def handle(content: bytes) -> bool:
            status = parsed(content).get("status")
            found.append(status if isinstance(status, int) else 1)
            return True

        reason = child.wait(handle, time.perf_counter() + request.seconds)
        ended = child.end(reason)
        if output and os.path.exists(output):
            child.output[:] = Path(output).read_bytes()[:_OUTPUT_BYTES]
        # What a program prints is data: it has no control characters for terminals and readers.
        text = harmless(bytes(child.output).decode("utf-8", "replace").replace(scratch + os.sep, ""), keep="\n\t")
        if ended.is_finished:
            return CommandOutput(found[0], text)
        if ended.reason == TIMED_OUT:
            return CommandOutput(EXIT_TIMED_OUT, f"{text}error: stopped after {request.seconds:g} seconds\n")
        if not ended.reason and ended.code >= 0:
            # A script may end its process by os._exit.
            return CommandOutput(ended.code, text)
        return CommandOutput(1, f"{text}error: the command {ended.message}\n")


def _be_command(words: tuple[str, ...], run: Callable[[list[str]], int], scratch: str, output: str) -> None:
    """Carry out a command line, and report its status; the streams are pipes of the parent, or a file."""
    os.chdir(scratch)
    if output:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.close(descriptor)
    with suppress(AttributeError, ValueError):
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    try:
        status = run(list(words))
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    # `tileir emulate` reports findings in an exit function, which may end the process.
    atexit._run_exitfuncs()
    flush_output()
    send_to_parent({"status": status})
