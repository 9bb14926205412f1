"""`debug`: a launch in the debugger; and the launches of a script, one after the other."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from tileir.bridge.launch import launch, no_arguments
from tileir.bridge.uninitialized import launching_frame
from tileir.bridge.watching import VARIABLE
from tileir.execute.recording.recording import LIMIT
from tileir.serve.debugger.lines import Names
from tileir.serve.debugger.moments import Event
from tileir.serve.debugger.session import Debugger

if TYPE_CHECKING:
    from types import FrameType

_YES: Final = ("1", "yes", "on", "true")
_LOCK: Final = threading.RLock()
"""Launches of several threads are debugged one after the other."""


class Front(Protocol):
    """Who shows launches: a terminal, or an editor."""

    def debug(self, debugger: Debugger, stop_on_entry: bool, caller: FrameType | None) -> str:
        """Debug a launch; how it was left: "done", "skip", "next-launch", "detach" or "quit"."""


class ScriptDebugging:
    """Watches the launches of a script, and debugs them.

    It stops at the beginning of the first, of a kernel if one is named; later ones run up to what there is to stop at.
    """

    def __init__(
        self,
        front: Front,
        *,
        kernel: str = "",
        stop_on_entry: bool = True,
        stop_on: Iterable[Event] = ("failure",),
        names: Names = "script",
        limit: int = LIMIT,
    ) -> None:
        self._front: Front = front
        self._kernel: str = kernel
        self._stops_next: bool = stop_on_entry
        self._stop_on: set[Event] = set(stop_on)
        self._names: Names = names
        self._limit: int = limit
        self._is_detached: bool = False
        self.count: int = 0
        """How many launches were debugged."""

    def launch(self, kernel: Any, grid: Any, args: Any, options: dict[str, Any]) -> None:
        """What runs instead of a launch."""
        name = getattr(getattr(kernel, "_pyfunc", None), "__name__", "")
        if self._is_detached or (self._kernel and self._kernel != name):
            launch(kernel, grid, args, **options)
            return
        _check_tuple(args)
        with _LOCK:
            self.count += 1
            debugger = Debugger(
                kernel,
                grid,
                args,
                schedule=options.get("schedule"),
                limit=self._limit,
                stop_on=self._stop_on,
                names=self._names,
                output=options.get("output"),
            )
            how = self._front.debug(debugger, self._stops_next, launching_frame())
            self._stops_next = how == "next-launch"
            self._is_detached = how == "detach"
        if how == "quit":
            raise SystemExit(1)
        finish(debugger)


def _check_tuple(args: object) -> None:
    if not isinstance(args, (tuple, list)):
        raise no_arguments(args)


def finish(debugger: Debugger) -> None:
    """Give the arrays of a launch its results, and its caller what it fails with: the error of a plain launch."""
    debugger.finish()
    if debugger.error is not None:
        raise debugger.error


def debug(
    kernel: Any,
    grid: int | tuple[int, ...],
    args: Sequence[object] = (),
    *,
    listen: str | None = None,
    commands: Sequence[str] = (),
    stop_on: Iterable[Event] = ("failure",),
    schedule: str | None = None,
    names: Names = "script",
    limit: int = LIMIT,
) -> None:
    """Launch a kernel in the debugger: at this terminal, or in an editor that attaches to it.

    The kernel is a `@cuda.tile.kernel` function, or whatever `tileir.compile` takes or makes.  Arrays have the results
    when this returns.  `listen="HOST:PORT"`, or `TILEIR_DEBUG=tcp:HOST:PORT` in the environment, waits for an editor;
    otherwise there is a prompt, which carries out `commands` first.  `stop_on` are "failure", "sanitizer" and "nan";
    `schedule`, `limit` are those of `tileir.record`, and `names="tile"` shows the tile program instead of the script.
    """
    _check_tuple(args)
    with _LOCK:
        front = front_of(_Wanted(os.environ.get(VARIABLE, "")).address if listen is None else listen, commands)
        debugger = Debugger(kernel, grid, args, schedule=schedule, limit=limit, stop_on=stop_on, names=names)
        how = front.debug(debugger, True, launching_frame())
    if how == "quit":
        raise SystemExit(1)
    finish(debugger)


# --- as the environment says ---


class _Wanted:
    """`TILEIR_DEBUG`: `1`, the name of a kernel, `tcp:HOST:PORT`, or several of these."""

    def __init__(self, text: str) -> None:
        self.kernel: str = ""
        self.address: str | None = None
        for word in text.split():
            if word.startswith("tcp:"):
                self.address = word.removeprefix("tcp:")
            elif word.lower() not in _YES:
                self.kernel = word


def watcher_of(text: str, sanitize: bool, watch_nan: bool, names: Names) -> ScriptDebugging:
    """Who debugs the launches of a script, as `TILEIR_DEBUG` asks for it."""
    wanted = _Wanted(text)
    stop_on: list[Event] = ["failure"]
    if sanitize:
        stop_on.append("sanitizer")
    if watch_nan:
        stop_on.append("nan")
    return ScriptDebugging(front_of(wanted.address), kernel=wanted.kernel, stop_on=stop_on, names=names)


_EDITORS: Final[dict[str, Front]] = {}
"""Those that listen at an address: an editor stays attached from launch to launch."""


def front_of(address: str | None, commands: Sequence[str] = ()) -> Front:
    """The terminal, or the editor at an address."""
    if address is None:
        from tileir.serve.debugger.terminal.script_terminal import ScriptTerminal

        return ScriptTerminal(commands, colours=_has_colours())
    if address not in _EDITORS:
        from tileir.serve.debugger.adapter.attaching import ListeningEditor

        _EDITORS[address] = ListeningEditor(address)
    return _EDITORS[address]


def _has_colours() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and sys.stdout.isatty()
