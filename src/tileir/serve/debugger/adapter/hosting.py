"""What an editor launches: programs in files, and scripts that launch kernels."""

from __future__ import annotations

import os
from typing import Any

from tileir.execute.argument_words import size_of
from tileir.execute.recording.recording import LIMIT
from tileir.ir.diagnostics import TileIRError
from tileir.serve.debugger.adapter.adapter import Adapter
from tileir.serve.debugger.adapter.asked import Asked, RequestError
from tileir.serve.debugger.adapter.wire import Wire
from tileir.serve.debugger.launching import ProgramLaunch, launch_of_file
from tileir.serve.debugger.lines import Names
from tileir.serve.debugger.session import Debugger


def host(wire: Wire) -> None:
    """Launch what a client asks for, until it takes leave.  The program runs on this thread."""
    adapter = Adapter(wire, can_launch=True)
    adapter.start()
    while True:
        found = adapter.wait_for_request()
        if found is None:
            return
        asked, request = found
        try:
            launch = _launch(asked)
            debugger = _debugger(adapter, asked, launch)
        except (TileIRError, RequestError, OSError) as error:
            adapter.refuse(request, _words(error))
            continue
        adapter.state.launching.restarts = True
        adapter.prepare(debugger)
        if adapter.accept(request):
            _debug(adapter, asked, launch, debugger)
        adapter.wait_for_end()
        return


def _words(error: TileIRError | RequestError | OSError) -> str:
    if isinstance(error, OSError):
        return f"cannot read '{error.filename}': {error.strerror}"
    return str(error)


def _debug(adapter: Adapter, asked: Asked, launch: ProgramLaunch, debugger: Debugger) -> None:
    """The launch, again and again where the client restarts it; then its results, and the end."""
    launching = adapter.state.launching
    status = 0
    while True:
        adapter.debug(debugger, asked.flag("stopOnEntry"))
        if launching.again is None:
            break
        with launching.changed:
            asked, launching.again = launching.again, None
            launching.asked = asked
        try:
            launch = _launch(asked)
            debugger = _debugger(adapter, asked, launch)
        except (TileIRError, RequestError, OSError) as error:
            adapter.tell("stderr", f"{_words(error)}\n")
            status = 1
            break
        adapter.prepare(debugger)
    if not launching.is_over and not status:
        stop = debugger.finish()
        status = 1 if stop.text else 0
        adapter.tell("stderr" if stop.text else "console", f"{stop.text}\n" if stop.text else _results(debugger))
    adapter.wire.event("exited", exitCode=status)
    adapter.wire.event("terminated")


def _results(debugger: Debugger) -> str:
    """What the launch has left in its arrays."""
    lines = [f"{variable.name} = {variable.shown}\n" for variable in debugger.arrays() if variable.value.size]
    return "The launch is done.\n" + "".join(lines)


# --- what a client says ---


def _launch(asked: Asked) -> ProgramLaunch:
    program = asked.text("program")
    if asked.has("cwd"):
        os.chdir(asked.text("cwd"))
    arguments = [str(word) for word in asked.texts("args")]
    return launch_of_file(
        program,
        entry=asked.text("entry", "") or None,
        grid=_grid(asked.any("grid")),
        arguments=arguments,
        schedule=asked.text("schedule", "forward"),
    )


def _grid(given: Any) -> str | None:
    if given is None or given == "":
        return None
    if isinstance(given, list):
        return ",".join([str(each) for each in given])
    return str(given)


def _debugger(adapter: Adapter, asked: Asked, launch: ProgramLaunch) -> Debugger:
    limit = size_of(str(asked.any("limit"))) if asked.has("limit") else LIMIT
    return Debugger(
        launch.kernel,
        launch.grid,
        launch.arguments,
        limit=limit,
        output=lambda text: adapter.tell("stdout", text),
        names=names_of(asked),
    )


def names_of(asked: Asked) -> Names:
    given = asked.text("names", "script")
    if given == "script":
        return "script"
    if given == "tile":
        return "tile"
    raise RequestError(f"there are no names of '{given}': use script or tile")
