"""`tileir.debug`, and launches that are emulated with `TILEIR_DEBUG`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from tileir.bridge.watching import VARIABLE
from tileir.execute.recording.recording import LIMIT
from tileir.serve.debugger.launches import Front, ScriptDebugging
from tileir.serve.debugger.source_lines import Names
from tileir.serve.debugger.stops import Event
from tileir.terminal import wants_color

_YES: Final = ("1", "yes", "on", "true")


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
    memory_limit: int = LIMIT,
) -> None:
    """Launch a kernel in the debugger: at this terminal, or in an editor that attaches to it.

    The kernel is a `@cuda.tile.kernel` function, or whatever `tileir.compile` takes or makes.  Arrays have the results
    when this returns.  `listen="HOST:PORT"`, or `TILEIR_DEBUG=tcp:HOST:PORT` in the environment, waits for an editor;
    otherwise there is a prompt, which carries out `commands` first.  `stop_on` are "failure", "sanitizer" and "nan";
    `schedule` and `memory_limit` are those of `tileir.record`.  `names="tile"` shows the tile program, not the script.

    >>> tileir.debug(kernel, 8, args, commands=["continue"])
    [Switching to tile block 0 (0, 0, 0)]
    ...
    """
    front = _front(_settings(os.environ.get(VARIABLE, ""))[1] if listen is None else listen, commands)
    debugging = ScriptDebugging(front, stop_on=stop_on, names=names, limit=memory_limit)
    debugging.launch(kernel, grid, args, {"schedule": schedule})


def _settings(text: str) -> tuple[str, str | None]:
    """The kernel and the address in `TILEIR_DEBUG`: `1`, the name of a kernel, `tcp:HOST:PORT`, or several of these."""
    words = text.split()
    addresses = [word.removeprefix("tcp:") for word in words if word.startswith("tcp:")]
    kernels = [word for word in words if not word.startswith("tcp:") and word.lower() not in _YES]
    return kernels[-1] if kernels else "", addresses[-1] if addresses else None


def watcher_of(text: str, sanitize: bool, watch_nan: bool, names: Names) -> ScriptDebugging:
    """What debugs the launches of a script, for a value of `TILEIR_DEBUG`."""
    kernel, address = _settings(text)
    enabled: dict[Event, bool] = {"failure": True, "sanitizer": sanitize, "nan": watch_nan}
    stop_on = [event for event, is_enabled in enabled.items() if is_enabled]
    return ScriptDebugging(_front(address), kernel=kernel, stop_on=stop_on, names=names)


_EDITORS: Final[dict[str, Front]] = {}  # By address: an editor stays attached from launch to launch.


def _front(address: str | None, commands: Sequence[str] = ()) -> Front:
    """The terminal, or the editor at an address."""
    if address is None:
        from tileir.serve.debugger.terminal.terminal import Terminal

        return Terminal([("ex", one) for one in commands], colors=wants_color(sys.stdout))
    if address not in _EDITORS:
        from tileir.serve.debugger.adapter.editor import ListeningEditor

        _EDITORS[address] = ListeningEditor(address)
    return _EDITORS[address]
