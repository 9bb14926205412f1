"""A whole process emulated: `tileir emulate script.py`, or TILEIR_EMULATE in the environment of any Python.

Nothing happens until the script imports what is emulated: a process without kernels, as one that TILEIR_EMULATE reaches
by the way, pays for a finder of modules.  `tileir_emulate.pth`, which lies beside the package, begins here.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING, Final, NoReturn

from tileir.bridge.hooks import before_import
from tileir.bridge.settings import VARIABLE, InvalidSettings, Settings, settings_of_variable

if TYPE_CHECKING:
    from types import TracebackType

    from tileir.bridge.contexts import Watcher
    from tileir.bridge.watching import Findings

_EXIT_FINDINGS = 1
_EXIT_USAGE = 2


class Process:
    """This process, as it is emulated."""

    def __init__(self, settings: Settings, collects: bool, watcher: Watcher | None = None) -> None:
        self.settings: Settings = settings
        self.collects: bool = collects
        self.watcher: Watcher | None = watcher  # Takes every launch, instead of what the settings select.
        self.findings: Findings | None = None  # There from the first import on that has to do with GPUs.
        self.status: int = 0  # What the process ends with as far as the script is concerned.


_process: Final[list[Process]] = []


def begin_as_asked() -> None:
    """Begin if TILEIR_EMULATE is set; called when Python starts."""
    try:
        settings = settings_of_variable(os.environ.get(VARIABLE, ""))
        if settings is not None:
            check_gpu(settings)
    except InvalidSettings as error:
        # Python would go on, or end with its own message about a broken installation.
        sys.stderr.write(f"error: {VARIABLE}: {error}\n")
        sys.stderr.flush()
        os._exit(_EXIT_USAGE)
    if settings is not None:
        begin(settings)


def check_gpu(settings: Settings) -> None:
    """Refuse an unknown GPU to emulate, and an engine for GPUs where there is none."""
    is_known = settings.backend in ("auto", "cpu", "interpreter")
    if is_known and not settings.target:
        return
    from tileir.bridge.contexts import runs_on_gpu
    from tileir.execute.errors import LaunchError
    from tileir.execute.gpu.gpus import gpu_named

    try:
        if settings.target:
            gpu_named(settings.target)
        is_real = not is_known and runs_on_gpu(settings.backend)
    except LaunchError as error:
        raise InvalidSettings(error.message) from None
    if is_real and settings.target:
        raise InvalidSettings(f"with backend {settings.backend} the GPU is the one that is there: leave out target")


def begin(settings: Settings, *, collects: bool = True, watcher: Watcher | None = None) -> Process:
    """Emulate what the rest of this process does.  A process begins once: what it began with holds.

    With `collects` findings are written and summed up at the end; without they are errors of their launches.  A
    `watcher` is given every launch instead.
    """
    if _process:
        return _process[0]
    process = Process(settings, collects, watcher)
    _process.append(process)
    # For the processes that this one starts.
    os.environ[VARIABLE] = settings.words()
    before_import(("torch", "cupy", "cuda.tile", "triton"), lambda name: _emulate(process))
    if (settings.watches or settings.trace is not None) and collects:
        # The first to be registered is the last to be called.
        atexit.register(_end, process)
    _show_without_own_frames(process)
    return process


def _emulate(process: Process) -> None:
    """From here on there is a GPU: the program is about to import what looks for one."""
    if process.findings is not None:
        return
    # Its error names what to install.
    __import__("tileir.execute.launching.kernel")
    from tileir.bridge.emulate import emulate_process
    from tileir.bridge.watching import Findings

    process.findings = Findings()
    emulate_process(process.settings, process.findings if process.collects else None, process.watcher)


def _end(process: Process) -> None:
    """Print the summary of a process whose launches were observed, and set its status if there are findings."""
    findings, trace = process.findings, process.settings.trace
    if trace is not None and findings is not None and not findings.was_traced:
        sys.stderr.write(findings.without_trace(trace[0]) + "\n")
    if process.settings.watches:
        summary = findings.summary() if findings is not None else ""
        sys.stderr.write((summary or "tileir: no kernel was launched") + "\n")
    if findings and process.status == 0:
        # Nothing else can change the status of a process that is ending.
        exit_now(_EXIT_FINDINGS)


def exit_now(status: int) -> NoReturn:
    """End the process in any thread; nothing that the script has prepared for its end runs."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            # Closed, replaced, or none at all.
            pass
    os._exit(status)


def _show_without_own_frames(process: Process) -> None:
    before = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, place: TracebackType | None) -> None:
        from tileir.bridge.frames import hide_own_frames
        from tileir.bridge.help.launches import launch_help

        has_help = any("help: " in note for note in getattr(error, "__notes__", ()))
        help = launch_help(error) if isinstance(error, Exception) and not has_help else ""
        hide_own_frames(error, is_reported=has_help or bool(help))
        place = error.__traceback__
        if kind.__name__ == "MissingDependencyError":
            # Nothing in the script is wrong, and no line of it has to be found.
            sys.stderr.write(f"{error}\n")
            return
        before(kind, error, place)
        if help:
            sys.stderr.write(f"{help}\n")
        if isinstance(error, ModuleNotFoundError) and error.name in ("cuda", "cuda.tile"):
            sys.stderr.write("help: cuTile is not installed: pip install cuda-tile\n")
        stopped_before = getattr(error, "tileir_stopped", False)
        if process.settings.pdb and place is not None and isinstance(error, Exception) and not stopped_before:
            import pdb

            pdb.post_mortem(place)

    sys.excepthook = show
