"""The processes that run Triton, as this one sees them: requests, answers, limits, crashes.

There is one for each thread that compiles, up to the number of processors, kept for the next.  One that crashes or
takes too long is ended, and replaced when needed.  All of them end with this process; a fork of it has none.
"""

from __future__ import annotations

import atexit
import json
import marshal
import os
import re
import shutil
import signal
import sys
import tempfile
from _blake2 import blake2b
from contextlib import suppress
from threading import Condition, Timer
from typing import Any, Final, NamedTuple

from tileir.execute.errors import CompilationError, MissingDependencyError
from tileir.execute.gpu.errors import TritonCrash, TritonError, TritonTimeout
from tileir.execute.gpu.reproducer import memory_note, save_reproducer
from tileir.execute.gpu.triton.code import Limits
from tileir.execute.gpu.triton.toolchain import INSTALL, VARIABLE, Triton, find_triton
from tileir.execute.gpu.triton.worker import stages
from tileir.ir.diagnostics import Diagnostic, note
from tileir.ir.location import UNKNOWN
from tileir.processes.command import PIPE, Command
from tileir.processes.exit_status import signal_name
from tileir.processors import processors

_KEPT_VARIABLES: Final = (
    "TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH", "TRITON_CUOBJDUMP_PATH", "TRITON_NVDISASM_PATH",
)  # fmt: skip
"""Those of Triton's that say where tools are; the others change what it makes."""
_CHANGING: Final = ("TRITON_", "MLIR_", "LLVM_", "AMDGCN_", "HIP_")
"""What begins the names of variables that change what Triton makes, or have it print."""
_CHANGING_NAMES: Final = (
    "DISABLE_LLVM_OPT", "DISABLE_PTXAS_OPT", "DISABLE_MMA_V3", "DISABLE_MMA_V5", "PTXAS_OPTIONS", "NVPTX_ENABLE_DUMP",
    "USE_IR_LOC", "ALLOW_LHS_TMEM_LAYOUT_CONVERSION", "PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONPROFILEIMPORTTIME",
)  # fmt: skip
_USUAL_LIMITS: Final = Limits()
_MOST_WORDS: Final = 2000
_ERROR: Final = re.compile(
    r"""(?:loc\(")?(?:[^"]*/)?(?:(?P<file>[^"/:]+)"?:(?P<line>\d+):(?P<column>\d+)\)?: )?"""
    r"""(?:[\w -]+/?.*;? *)??(?:error|fatal)\s*: (?P<words>.*)"""
)
""" `loc("/tmp/program.ttir":19:5): error: ..` of MLIR, `ptxas fatal   : ..`, `ptxas x.ptx, line 4; error   : ..`."""
_ASSERTED: Final = re.compile(r": Assertion (`.*') failed\.")
_PASS: Final = re.compile(r"Pipeline failed while executing \[`(\w+)`")
_LAST_WORDS: Final = "Failures have been detected while processing an MLIR pass pipeline"
"""What MLIR ends with, after what it was about."""


class Request(NamedTuple):
    text: str
    target: str
    options: dict[str, Any]  # Triton's own: num_warps, num_stages, enable_fp_fusion, enable_reflect_ftz, debug ..
    last: str = "cubin"
    """The stage to end with: ttir, ttgir, llvm, ptx, cubin; of AMD's GPUs ttir, ttgir, llvm, amdgcn, hsaco."""
    first: str = "ttir"  # The stage whose text is given: TTIR, or TTGIR that has all that the stage `ttgir` makes.


class Answer(NamedTuple):
    data: bytes  # What the last stage gives: the cubin, or text.
    metadata: dict[str, Any]
    """Triton's: num_warps (of all groups), shared, global_scratch_size, tensordesc_meta, name .."""
    parameters: int  # How many the kernel has, those that Triton adds included.
    output: str  # What it and ptxas printed: spills, warnings.


class Ended(Exception):
    """A process has ended, or was: with which status, None where it took too long, and what was printed."""

    def __init__(self, status: int | None, output: str) -> None:
        self.status: Final = status
        self.output: Final = output


class Process:
    """One process, which imports Triton at once."""

    def __init__(self, triton: Triton) -> None:
        if not sys.executable:
            # A program that has Python built in.
            raise CompilationError("Triton runs in a process of its own, and sys.executable names no Python for it")
        self.triton: Final = triton
        self._directory: Final = tempfile.mkdtemp(prefix="tileir-triton-")
        self._output: Final = os.path.join(self._directory, "said")
        try:
            with open(self._output, "ab+") as sink:
                self._command: Final = Command(
                    [sys.executable, stages.__file__, self._directory, *module_folders()],
                    environment=_environment(self._directory),
                    stdin=PIPE,
                    stdout=PIPE,
                    stderr=sink,
                )
        except OSError as error:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise CompilationError(
                f"the process that runs Triton, '{sys.executable}', cannot be started: {error.strerror or error}"
            ) from None
        self._is_late: bool = False

    def ask(self, request: Request, limits: Limits) -> tuple[Any, ...]:
        """The reply to a request, a kind and the rest; raises `Ended`, and then it is no more."""
        timer = Timer(limits.seconds, self._stop)
        timer.daemon = True
        timer.start()
        is_whole = False
        try:
            self._command.stdin.write(marshal.dumps((tuple(request), *limits)))
            self._command.stdin.flush()
            reply: tuple[Any, ...] = marshal.load(self._command.stdout)
            is_whole = True
            return reply
        except (BrokenPipeError, EOFError, ValueError, TypeError):
            # It has closed its pipes, so it is about to end.
            status = self._command.wait().code
            printed = ""
            # Its directory is gone where all processes are being closed.
            with suppress(OSError), open(self._output, "rb") as file:
                printed = file.read().decode("utf-8", "replace")
            raise Ended(None if self._is_late else status, printed) from None
        finally:
            timer.cancel()
            # After an interrupt too: its answer would be that to the next request.
            if not is_whole:
                self.end()

    def _stop(self) -> None:
        self._is_late = True
        self._command.kill()

    def end(self) -> None:
        self._command.end()
        shutil.rmtree(self._directory, ignore_errors=True)

    def close(self) -> None:
        """Close the pipes to it; where this process is a fork they are its only part of it."""
        self._command.close()


_OWN_FOLDER: Final = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 5))
"""Where the package `tileir` is."""


def module_folders() -> list[str]:
    """Where the process finds modules: as this one does, and the Triton that is named before all others."""
    named = os.environ.get(VARIABLE)
    found = [os.path.abspath(named)] if named else []
    for folder in (*sys.path, _OWN_FOLDER):
        # The directory that this process is in may be gone.
        with suppress(OSError):
            found.append(os.path.abspath(folder))
    return found


def _environment(directory: str) -> dict[str, str]:
    """The environment without variables that change what Triton makes, which is kept for other processes."""
    found = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT_VARIABLES or not (name.startswith(_CHANGING) or name in _CHANGING_NAMES)
    }
    # What ptxas says is printed, and temporary files stay with the rest.
    found.update(TRITON_DUMP_PTXAS_LOG="1", TMPDIR=directory, TMP=directory, TEMP=directory)
    return found


class _Pool:
    def __init__(self) -> None:
        self._change: Final = Condition()
        self._idle: Final[list[Process]] = []
        self._busy: Final[set[Process]] = set()

    def take(self, triton: Triton) -> Process:
        """A process for one request; waits while all are at work."""
        with self._change:
            self._change.wait_for(lambda: len(self._busy) < processors())
            process = next((each for each in self._idle if each.triton is triton), None)
            if process is not None:
                self._idle.remove(process)
            else:
                while len(self._idle) + len(self._busy) >= processors():
                    # One of another version.
                    self._idle.pop().end()
                process = Process(triton)
            self._busy.add(process)
            return process

    def give_back(self, process: Process, is_well: bool) -> None:
        with self._change:
            self._busy.discard(process)
            if is_well:
                # The last one that worked is the first to work again: the others may end.
                self._idle.insert(0, process)
            self._change.notify()

    def start(self, triton: Triton) -> None:
        """Have a process ready, without waiting for it, where there is none."""
        with self._change:
            if not self._idle and not self._busy:
                self._idle.append(Process(triton))

    def close(self) -> None:
        with self._change:
            processes = [*self._idle, *self._busy]
            self._idle.clear()
        for process in processes:
            process.end()

    def forget(self) -> None:
        """Have no part in the processes any more: they are those of the process that this one is a fork of."""
        for process in (*self._idle, *self._busy):
            process.close()


_pool: _Pool = _Pool()


def compile_ttir(request: Request, limits: Limits = _USUAL_LIMITS) -> Answer:
    """What Triton makes of TTIR, within limits; raises `TritonError` if it makes nothing."""
    triton = find_triton()
    for is_last in (False, True):
        pool = _pool
        process = pool.take(triton)
        is_well = False
        try:
            reply = process.ask(request, limits)
            # MLIR goes on after an assertion that failed, with whatever is left of its state.
            is_well = reply[0] != stages.REFUSED or _ASSERTED.search(reply[-1]) is None
            if not is_well:
                process.end()
                raise Ended(-int(signal.SIGABRT), reply[-1])
            return _answered(reply, triton, request)
        except Ended as ended:
            if ended.status is None:
                words = f"Triton did not finish within {limits.seconds:g} s and was stopped"
                raise TritonTimeout(_diagnostics(words, triton, request), ended.output) from None
            # One that nobody had asked for a while has ended by itself; or somebody, or a system that is short of
            # memory, has ended it, which says nothing of the program.
            if is_last or -ended.status not in (0, signal.SIGKILL, signal.SIGTERM):
                raise _crash(ended, triton, request, limits.memory) from None
        finally:
            pool.give_back(process, is_well)
    raise AssertionError("the last attempt returns or raises")


def start_worker() -> None:
    """Have Triton imported, in a process of its own, by the time that it is needed: that takes a second."""
    _pool.start(find_triton())


def close_workers() -> None:
    _pool.close()


def _answered(reply: tuple[Any, ...], triton: Triton, request: Request) -> Answer:
    if reply[0] == stages.MADE:
        return Answer(*reply[1:])
    if reply[0] == stages.BROKEN:
        raise MissingDependencyError(
            f"Triton {triton.version} in '{triton.folder}' cannot be imported: {reply[1]}; install it anew, {INSTALL}"
        )
    _, kind, words, output = reply
    failed = _PASS.search(output)
    where = f"the pass {failed[1]} fails" if failed is not None else ""
    found = _errors(output) or where or words.strip() or kind
    raise TritonError(_diagnostics(f"Triton refuses the program: {found}", triton, request), output)


def _errors(output: str) -> str:
    """The errors in what MLIR and ptxas print, one in a line; what failed of Triton's own comes first."""
    found: dict[str, None] = {}
    asserted, failed = _ASSERTED.search(output), _PASS.search(output)
    if asserted is not None:
        found[f"assertion {asserted[1]} failed" + (f" in the pass {failed[1]}" if failed is not None else "")] = None
    for line in output.splitlines():
        matched = _ERROR.match(line)
        if matched is not None and not matched["words"].startswith(_LAST_WORDS):
            place = f"{matched['file']}:{matched['line']}:{matched['column']}: " if matched["file"] else ""
            found[place + matched["words"]] = None
    return "\n".join(found)[:_MOST_WORDS]


def _diagnostics(words: str, triton: Triton, request: Request, *notes: str) -> list[Diagnostic]:
    who = f"compiled for {request.target} by Triton {triton.version}"
    return [Diagnostic("error", words, UNKNOWN, [note(each, UNKNOWN) for each in (*notes, who) if each])]


def _crash(ended: Ended, triton: Triton, request: Request, limit: int) -> TritonCrash:
    name = signal_name(-ended.status) if ended.status is not None and ended.status < 0 else ""
    words = f"Triton crashed: {name or f'it ended with status {ended.status}'}"
    lacks_memory = "bad_alloc" in ended.output or "out of memory" in ended.output.lower()
    memory = memory_note(limit) if lacks_memory else ""
    digest = blake2b(repr(request).encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
    options = {name: value for name, value in request._asdict().items() if name != "text"}
    with open(stages.__file__, "rb") as file:
        source = file.read()
    saved = save_reproducer(
        f"triton-{request.target}-{digest}",
        {
            stages.FILE: request.text.encode("utf-8", "surrogateescape"),
            "request.json": json.dumps(options, indent=1).encode(),
            "stages.py": source,
        },
        [sys.executable, os.path.join("{}", "stages.py"), os.path.join("{}", "request.json")],
        f"Triton {triton.version}: {words}",
        ended.output,
        # Without the limit it may well succeed.
        (f"ulimit -v {limit // 1024}; " if memory else "") + f"PYTHONPATH={triton.folder} ",
    )
    return TritonCrash(
        _diagnostics(words, triton, request, _errors(ended.output), memory, *saved.notes), ended.output, name, *saved
    )


def _after_fork() -> None:
    global _pool
    before, _pool = _pool, _Pool()
    before.forget()


atexit.register(close_workers)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
