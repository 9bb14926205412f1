"""The processes that run Triton: one for each thread that compiles, as many as there are processors, kept for the next.

A process that crashes or takes too long is ended, and another one is started when it is needed.  All of them end with
this process; a fork of it has none.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import signal
import sys
from _blake2 import blake2b
from threading import Condition
from typing import Final

from tileir.execute.errors import MissingDependencyError
from tileir.execute.gpu.command import memory_note, save_reproducer
from tileir.execute.gpu.errors import TritonCrash, TritonError, TritonTimeout
from tileir.execute.gpu.triton.code import Limits
from tileir.execute.gpu.triton.toolchain import INSTALL, Triton, find_triton
from tileir.execute.gpu.triton.worker import serving, stages
from tileir.execute.gpu.triton.worker.process import Answer, Ended, OutOfTime, Process, Reply, Request
from tileir.ir.diagnostics import Diagnostic, note
from tileir.ir.location import UNKNOWN
from tileir.processors import processors
from tileir.signal_names import signal_name

_USUAL_LIMITS: Final = Limits()
_ATTEMPTS: Final = 2
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


class _Pool:
    """The processes there are."""

    def __init__(self) -> None:
        self._change: Final = Condition()
        self._idle: Final[list[Process]] = []
        self._busy: Final[set[Process]] = set()

    def take(self, triton: Triton) -> Process:
        """A process for one request; waits while all are at work."""
        with self._change:
            while True:
                for number, process in enumerate(self._idle):
                    if process.triton is triton:
                        del self._idle[number]
                        break
                else:
                    if len(self._busy) >= processors():
                        self._change.wait()
                        continue
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
                process = Process(triton)
                process.start()
                self._idle.append(process)

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
    for attempt in range(_ATTEMPTS):
        pool = _pool
        process = pool.take(triton)
        is_well = False
        try:
            reply = process.ask(request, limits.seconds, limits.memory)
            # MLIR goes on after an assertion that failed, with whatever is left of its state.
            is_well = reply.kind != serving.REFUSED or _ASSERTED.search(reply.rest[-1]) is None
            if not is_well:
                process.end()
                raise Ended(-int(signal.SIGABRT), reply.rest[-1], 0)
            return _answered(reply, triton, request)
        except OutOfTime as error:
            words = f"Triton did not finish within {limits.seconds:g} s and was stopped"
            raise TritonTimeout(_diagnostics(words, triton, request), error.output) from None
        except Ended as ended:
            # One that nobody had asked for a while has ended by itself; or somebody has ended it, which says nothing of
            # the program.
            if (ended.status == 0 or ended.is_by_others) and attempt + 1 < _ATTEMPTS:
                continue
            raise _crash(ended, triton, request, limits.memory) from None
        finally:
            pool.give_back(process, is_well)
    raise AssertionError("the last attempt returns or raises")


def start_worker() -> None:
    """Have Triton imported, in a process of its own, by the time that it is needed: that takes a second."""
    _pool.start(find_triton())


def close_workers() -> None:
    """End the processes; others are started when they are needed."""
    _pool.close()


def _answered(reply: Reply, triton: Triton, request: Request) -> Answer:
    if reply.kind == serving.MADE:
        data, texts, metadata, parameters, output = reply.rest
        return Answer(data, texts, metadata, output, parameters)
    if reply.kind == serving.BROKEN:
        raise MissingDependencyError(
            f"Triton {triton.version} in '{triton.folder}' cannot be imported: {reply.rest[0]}; "
            f"install it anew, {INSTALL}"
        )
    kind, words, output = reply.rest
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
    name = signal_name(-ended.status) if ended.status < 0 else ""
    words = f"Triton crashed: {name or f'it ended with status {ended.status}'}"
    found = _errors(ended.output)
    memory = ""
    if ended.peak >= limit // 4 or "bad_alloc" in ended.output or "out of memory" in ended.output.lower():
        memory = memory_note(limit)
    digest = blake2b(repr(request).encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
    asked = {"target": request.target, "options": request.options, "last": request.last, "first": request.first}
    with open(stages.__file__, "rb") as file:
        source = file.read()
    saved = save_reproducer(
        f"triton-{request.target}-{digest}",
        {
            stages.FILE: request.text.encode("utf-8", "surrogateescape"),
            "request.json": json.dumps(asked, indent=1).encode(),
            "stages.py": source,
        },
        [sys.executable, os.path.join("{}", "stages.py"), os.path.join("{}", "request.json")],
        f"Triton {triton.version}: {words}",
        ended.output,
        # Without the limit it may well succeed.
        (f"ulimit -v {limit // 1024}; " if memory else "") + f"PYTHONPATH={triton.folder} ",
    )
    return TritonCrash(_diagnostics(words, triton, request, found, memory, *saved.notes), ended.output, name, *saved)


def _after_fork() -> None:
    global _pool
    before, _pool = _pool, _Pool()
    before.forget()


atexit.register(close_workers)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
