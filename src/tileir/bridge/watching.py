"""Observed launches: what `sanitize`, `watch_nan`, `trace` and `pdb` of an emulation do.

In an `emulate()` context a finding is an error of its launch.  Where a whole script is emulated the launch goes on, the
report is written at once, and the end of the script has a summary (`Findings`).
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from tileir.bridge.kernel_kinds import kernel_name
from tileir.bridge.launch import launch
from tileir.bridge.settings import NO
from tileir.bridge.uninitialized import frame_words, launching_frame
from tileir.execute.errors import ExecutionError
from tileir.execute.launching.entries import check_grid
from tileir.execute.observing.observer import Observer, Observers
from tileir.execute.observing.trace import Trace
from tileir.execute.sanitizer.number_watch import NumberWatch
from tileir.execute.sanitizer.report import SanitizerError, SanitizerReport
from tileir.ir.quoting import harmless, several

if TYPE_CHECKING:
    from types import FrameType

    from tileir.bridge.contexts import Watcher
    from tileir.bridge.settings import Settings


class Findings:
    """What was found in the launches of a script; each report is written once, however often it is made."""

    def __init__(self) -> None:
        self.launches: int = 0
        self.launches_with_findings: int = 0
        self.findings: int = 0
        self.was_traced: bool = False
        self.kernels: dict[str, None] = {}  # The names of those that were launched where one is to be traced.
        self._reported: set[str] = set()

    def __bool__(self) -> bool:
        return self.findings > 0

    def add(self, reports: list[SanitizerReport], place: str, *, is_reported: bool = False) -> None:
        """Count a launch and write what was found in it, unless it is reported elsewhere."""
        self.launches += 1
        self.launches_with_findings += any(reports)
        for report in reports:
            text = report.render() if report or report.notes else ""
            if text and text not in self._reported:
                self._reported.add(text)
                self.findings += len(report)
                if not is_reported:
                    _write(f"{harmless(text, keep=_LINES)}\n  launched {place}\n\n")

    def without_trace(self, kernel: str) -> str:
        """The message at the end if no launch was traced."""
        why = "no kernel was launched"
        if self.kernels:
            names = ", ".join([harmless(name) for name in self.kernels])
            why = f"no kernel named '{harmless(kernel)}' was launched, but {names}"
        return f"tileir: nothing was traced: {why}"

    def summary(self) -> str:
        """The findings of all launches; nothing if there were none."""
        if not self.launches:
            return ""
        of_all = f"{self.launches} launch{'' if self.launches == 1 else 'es'}"
        if not self.findings:
            return f"tileir: nothing found in {of_all}"
        different = several(self.findings, "different finding")
        return f"tileir: {different} in {self.launches_with_findings} of {of_all}, written above"


_LINES = "\n\t"
_TRACING = threading.RLock()


class Watching:
    """How the launches of a context are observed."""

    def __init__(self, settings: Settings, findings: Findings | None = None, run: Callable[..., None] = launch) -> None:
        self._settings: Settings = settings
        self._findings: Findings | None = findings
        self._run: Callable[..., None] = run

    def launch(self, kernel: Any, grid: Any, args: Any, options: dict[str, Any]) -> None:
        """`tileir.launch`, observed; a finding is an error, or written where findings are collected."""
        settings, caller = self._settings, launching_frame()
        name = kernel_name(kernel)
        reports: list[SanitizerReport] = []
        observers: list[Observer] = []
        if settings.watch_nan:
            watch = NumberWatch()
            observers.append(watch)
            reports.append(watch.report)
        try:
            try:
                # Traces of several threads are written one after the other.
                with _TRACING if settings.trace is not None else nullcontext():
                    self._add_trace(observers, name, grid, caller)
                    if options.get("observer") is not None:
                        observers.append(options["observer"])
                    if observers:
                        options = {**options, "observer": observers[0] if len(observers) == 1 else Observers(observers)}
                    self._run(kernel, grid, args, sanitize=settings.sanitize, **options)
            except SanitizerError as error:
                reports.insert(0, error.report)
            for report in reports:
                report.kernel, report.names = report.kernel or name, settings.names
                if report and settings.names == "script":
                    from tileir.bridge.help.findings import add_corrections

                    add_corrections(report.findings, caller)
            if self._findings is not None:
                # The debugger shows what it stops at.
                self._findings.add(reports, frame_words(caller), is_reported=settings.pdb)
            if self._findings is None or settings.pdb:
                for report in reports:
                    if report:
                        raise SanitizerError(report)
        except Exception as error:
            if settings.names == "tile" and isinstance(error, ExecutionError):
                error.tell_as_tile_program()
            if settings.pdb:
                _stop(error, caller)
            raise

    def _add_trace(self, observers: list[Observer], name: str, grid: Any, caller: FrameType | None) -> None:
        if self._settings.trace is None:
            return
        kernel_name, block = self._settings.trace
        is_traced = kernel_name in ("", name)
        if self._findings is not None:
            self._findings.kernels[name] = None
            self._findings.was_traced |= is_traced
        if not is_traced:
            return
        blocks = check_grid(grid)
        is_there = all(number < count for number, count in zip(block, blocks, strict=True))
        outcome = "" if is_there else f": there is no tile block {block} in its grid {blocks}"
        _write(f"trace of {harmless(name)}, launched {frame_words(caller)}{outcome}\n")
        if is_there:
            observers.append(Trace(block, _write, self._settings.names))


def _write(text: str) -> None:
    """Beside the script's own output."""
    sys.stdout.flush()
    sys.stderr.write(text)


def _stop(error: Exception, caller: FrameType | None) -> None:
    """Let the user look at the launch that failed, with Python's debugger, before the error goes its way."""
    import pdb

    _write(f"{harmless(str(error), keep=_LINES)}\n\ntileir: stopped at the launch; 'continue' lets the error go on\n")
    debugger = pdb.Pdb()
    debugger.reset()
    debugger.interaction(caller, None)
    # Not stopped at once more where it ends the script.
    error.__dict__["tileir_stopped"] = True
    if getattr(debugger, "quitting", False):
        raise SystemExit(1)


# --- the launches of a script by number ---


class LaunchReached(SystemExit):
    """Ends the script at the requested launch, as `sys.exit()` does: without a traceback, in every thread."""


class LaunchCounter:
    """Watches a script: numbers its launches from 1, shows each to a function, and runs those before the last one.

    The script ends at the last one, which does not run; with 0, all run.  A script may catch `LaunchReached`, or launch
    in several threads: its later launches do not run, and the function does not see them.
    """

    def __init__(self, last: int, see: Callable[[int, Any, Any, Any], None]) -> None:
        self._last: int = last
        self._see: Callable[[int, Any, Any, Any], None] = see
        self._is_reached: bool = False
        self._lock: threading.Lock = threading.Lock()
        self.count: int = 0

    def launch(self, kernel: Any, grid: Any, args: Any, options: dict[str, Any]) -> None:
        with self._lock:
            if self._is_reached:
                raise LaunchReached
            self.count += 1
            self._see(self.count, kernel, grid, args)
            self._is_reached = self.count == self._last
            if self._is_reached:
                raise LaunchReached
        launch(kernel, grid, args, **options)


# --- TILEIR_DEBUG: launches stop in the debugger ---

VARIABLE: Final = "TILEIR_DEBUG"
# The debugger stands above what it debugs, so it is found by name, as plugins are.
_DEBUGGER: Final = "tileir.serve.debugger.scripts"
_found: Final[list[Any]] = []  # The one of this process: the first launch is the first of all contexts.


def watcher_of(settings: Settings, findings: Findings | None = None) -> Watcher | None:
    """What observes launches: the debugger if an environment variable selects it, `Watching`, or nothing."""
    text = os.environ.get(VARIABLE, "").strip()
    if text.lower() in NO:
        return Watching(settings, findings) if settings.observes else None
    if not _found:
        scripts = importlib.import_module(_DEBUGGER)
        _found.append(scripts.watcher_of(text, bool(settings.sanitize), settings.watch_nan, settings.names))
    watcher: Watcher = _found[0]
    return watcher
