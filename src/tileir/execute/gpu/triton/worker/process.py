"""What is asked of the worker, and what it answers."""

from __future__ import annotations

import marshal
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Final, NamedTuple

from tileir.execute.errors import CompilationError
from tileir.execute.gpu.triton.toolchain import VARIABLE, Triton
from tileir.execute.gpu.triton.worker import serving

_KEPT_VARIABLES: Final = (
    "TRITON_PTXAS_PATH",
    "TRITON_PTXAS_BLACKWELL_PATH",
    "TRITON_CUOBJDUMP_PATH",
    "TRITON_NVDISASM_PATH",
)
"""Those of Triton's that say where tools are; the others change what it makes."""
_CHANGING: Final = ("TRITON_", "MLIR_", "LLVM_", "AMDGCN_", "HIP_")
"""What begins the names of variables that change what Triton makes, or have it print."""
_CHANGING_NAMES: Final = (
    "DISABLE_LLVM_OPT",
    "DISABLE_PTXAS_OPT",
    "DISABLE_MMA_V3",
    "DISABLE_MMA_V5",
    "PTXAS_OPTIONS",
    "NVPTX_ENABLE_DUMP",
    "USE_IR_LOC",
    "ALLOW_LHS_TMEM_LAYOUT_CONVERSION",
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "PYTHONPROFILEIMPORTTIME",
)
_PIECE: Final = 1 << 16


class Request(NamedTuple):
    """TTIR, or TTGIR, to compile."""

    text: str
    target: str
    """`sm_90`, `gfx942`."""
    options: dict[str, Any]
    """Triton's own: num_warps, num_stages, maxnreg, enable_fp_fusion, enable_reflect_ftz, debug .."""
    last: str = "cubin"
    """The stage to end with: ttir, ttgir, llvm, ptx, cubin; of AMD's GPUs ttir, ttgir, llvm, amdgcn, hsaco."""
    kept: tuple[str, ...] = ()
    """Stages whose text is wanted."""
    first: str = "ttir"
    """The stage whose text is given: TTIR, or TTGIR that has all that the stage `ttgir` makes."""


class Answer(NamedTuple):
    """What Triton made of it."""

    data: bytes
    """What the last stage gives: the cubin."""
    stages: dict[str, str]
    metadata: dict[str, Any]
    """Triton's: num_warps (of all groups), shared, global_scratch_size, tensordesc_meta, name .."""
    output: str
    """What it and ptxas printed: spills, warnings."""
    parameters: int
    """How many the kernel has, those that Triton adds included."""


class Ended(Exception):
    """The process has ended, or was: with which status, what was printed, and the most memory that it had."""

    def __init__(self, status: int, output: str, peak: int) -> None:
        self.status: Final = status
        self.output: Final = output
        self.peak: Final = peak

    @property
    def is_by_others(self) -> bool:
        """Whether it was ended from outside: by somebody, or by a system that is short of memory."""
        return -self.status in (signal.SIGKILL, signal.SIGTERM)


class OutOfTime(Exception):
    """It took too long, and was ended."""

    def __init__(self, output: str) -> None:
        self.output: Final = output


class Reply(NamedTuple):
    """What it answered: one of the kinds in `serving`, and the rest."""

    kind: str
    rest: tuple[Any, ...]


class Process:
    """One process."""

    def __init__(self, triton: Triton) -> None:
        if not sys.executable:
            # A program that has Python built in.
            raise CompilationError("Triton runs in a process of its own, and sys.executable names no Python for it")
        self.triton: Final = triton
        self._directory: Final = tempfile.mkdtemp(prefix="tileir-triton-")
        output = os.path.join(self._directory, "said")
        try:
            with open(output, "ab+") as sink:
                self._process: Final = subprocess.Popen(
                    [sys.executable, serving.__file__],
                    env=_environment(self._directory),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=sink,
                    start_new_session=True,
                )
        except OSError as error:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise CompilationError(
                f"the process that runs Triton, '{sys.executable}', cannot be started: {error.strerror or error}"
            ) from None
        self._output: Final = output
        assert self._process.stdin is not None and self._process.stdout is not None, "both are pipes"
        self._requests: Final = self._process.stdin.fileno()
        self._answers: Final = self._process.stdout.fileno()
        os.set_blocking(self._requests, False)
        os.set_blocking(self._answers, False)
        self._first: bytes | None = serving.message((_module_folders(), self._directory))

    def ask(self, request: Request, seconds: float, memory: int) -> Reply:
        """What comes of a request; raises `Ended` or `OutOfTime`, and then it is no more."""
        end = time.monotonic() + seconds
        is_whole = False
        try:
            first, self._first = self._first or b"", None
            self._send(first + serving.message((tuple(request), seconds, memory)), end)
            size = int.from_bytes(self._receive(serving.LENGTH, end), "little")
            kind, *rest = marshal.loads(self._receive(size, end))
            is_whole = True
            return Reply(kind, tuple(rest))
        except TimeoutError:
            output = self._printed()
            raise OutOfTime(output) from None
        except (BrokenPipeError, EOFError):
            status, peak = self._status()
            raise Ended(status, self._printed(), peak) from None
        finally:
            # After an interrupt too: its answer would be that to the next request.
            if not is_whole:
                self.end()

    def start(self) -> None:
        """Have it import Triton, without waiting for it."""
        first, self._first = self._first, None
        if first is not None:
            try:
                self._send(first, time.monotonic() + 1.0)
            except (OSError, EOFError):
                # Whoever asks it first will see.
                pass

    def end(self) -> None:
        """End it, and all that it has started."""
        if self._process.returncode is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except OSError:
                pass
        self.close()
        self._process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)

    def close(self) -> None:
        """Close the pipes to it; where this process is a fork they are its only part of it."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None, "both are pipes"
            try:
                pipe.close()
            except OSError:
                pass

    def _send(self, data: bytes, end: float) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._requests, rest) :]
            except BlockingIOError:
                _wait(self._requests, select.POLLOUT, end)

    def _receive(self, size: int, end: float) -> bytes:
        parts: list[bytes] = []
        while size:
            _wait(self._answers, select.POLLIN, end)
            part = os.read(self._answers, min(size, _PIECE))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _printed(self) -> str:
        try:
            with open(self._output, "rb") as file:
                return file.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def _status(self) -> tuple[int, int]:
        """Its exit status, and the most memory that it had: it is about to end, as it has closed its pipes."""
        process = self._process
        if process.returncode is not None:
            return process.returncode, 0
        try:
            _, code, usage = os.wait4(process.pid, 0)
        except ChildProcessError:
            return process.wait(), 0
        process.returncode = os.waitstatus_to_exitcode(code)
        return process.returncode, usage.ru_maxrss * 1024


_OWN_FOLDER: Final = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 5))
"""Where the package `tileir` is."""


def _module_folders() -> list[str]:
    """Where the process finds modules: as this one does, and the Triton that is named before all others."""
    named = os.environ.get(VARIABLE)
    found = [os.path.abspath(named)] if named else []
    for folder in (*sys.path, _OWN_FOLDER):
        try:
            found.append(os.path.abspath(folder))
        except OSError:
            # The directory that this process is in is gone.
            continue
    return found


def _environment(directory: str) -> dict[str, str]:
    """The variables of the environment, without those that change what Triton makes of a program: the same in the same
    process and in others, since what it makes is kept."""
    found = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT_VARIABLES or not (name.startswith(_CHANGING) or name in _CHANGING_NAMES)
    }
    # What ptxas says is printed, and temporary files stay with the rest.
    found.update(TRITON_DUMP_PTXAS_LOG="1", TMPDIR=directory, TMP=directory, TEMP=directory)
    return found


def _wait(pipe: int, event: int, end: float) -> None:
    poll = select.poll()
    poll.register(pipe, event)
    if not poll.poll(max(0.0, end - time.monotonic()) * 1000):
        raise TimeoutError
