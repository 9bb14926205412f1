"""What an editor launches: programs in files, and scripts that launch kernels."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from tileir.execute.arguments.argument_text import size_of
from tileir.execute.recording.recording import LIMIT
from tileir.ir.diagnostics import TileIRError
from tileir.serve.debugger.adapter import breaking
from tileir.serve.debugger.adapter.adapter import Adapter
from tileir.serve.debugger.adapter.asked import Asked, RequestMistake
from tileir.serve.debugger.adapter.attaching import EditorFront
from tileir.serve.debugger.adapter.streams import Captured
from tileir.serve.debugger.adapter.wire import Message, Wire
from tileir.serve.debugger.launching import ProgramLaunch, launch_of_file
from tileir.serve.debugger.lines import Names
from tileir.serve.debugger.scripts import ScriptDebugging
from tileir.serve.debugger.session import Debugger

_PATIENCE: Final = 3.0
"""Seconds that a script has to end after it was asked to."""


RunScript = Callable[[list[str], ScriptDebugging], int]
"""Runs a script with its arguments and its launches watched; its exit status."""


def host(wire: Wire, run_script: RunScript | None = None) -> None:
    """Launch what a client asks for, until it takes leave.  The program runs on this thread."""
    adapter = Adapter(wire, can_launch=True)
    adapter.start()
    while True:
        found = adapter.wait_for_request()
        if found is None:
            return
        asked, request = found
        try:
            if run_script is not None and asked.text("program").endswith(".py"):
                _script(adapter, asked, request, run_script)
                return
            debugger = _debugger(adapter, asked, _launch(asked))
        except (TileIRError, RequestMistake, OSError) as error:
            adapter.refuse(request, _words(error))
            continue
        adapter.state.launching.restarts = True
        adapter.prepare(debugger)
        if adapter.accept(request):
            _debug(adapter, asked, debugger)
        adapter.wait_for_end()
        return


def _words(error: TileIRError | RequestMistake | OSError) -> str:
    if isinstance(error, OSError):
        return f"cannot read '{error.filename}': {error.strerror}"
    return str(error)


def _debug(adapter: Adapter, asked: Asked, debugger: Debugger) -> None:
    """The launch, again and again where the client restarts it; then its results, and the end."""
    launching = adapter.state.launching
    status = 0
    while True:
        if asked.flag("noDebug"):
            debugger.breakpoints.clear()
            debugger.stop_on = set()
        adapter.debug(debugger, asked.flag("stopOnEntry") and not asked.flag("noDebug"))
        if launching.again is None:
            break
        with launching.changed:
            asked, launching.again = launching.again, None
            launching.asked = asked
        try:
            debugger = _debugger(adapter, asked, _launch(asked))
        except (TileIRError, RequestMistake, OSError) as error:
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


# --- scripts ---


def _script(adapter: Adapter, asked: Asked, request: Message, run_script: RunScript) -> None:
    """Run a script and debug its launches; what it prints is shown by the editor."""
    program = asked.text("program")
    debugging = ScriptDebugging(
        EditorFront(adapter),
        kernel=asked.text("kernel", ""),
        stop_on_entry=asked.flag("stopOnEntry"),
        names=names_of(asked),
        limit=_limit(asked),
    )
    arguments = asked.texts("args")
    _go_to_folder(asked)
    # Looked at here, so that the client is told.
    with open(program, "rb"):
        pass
    environment = asked.inner("env")
    os.environ.update({name: environment.text(name) for name in environment.names()})
    adapter.wire.event("capabilities", capabilities={"supportsRestartRequest": False})
    if adapter.accept(request):
        captured = Captured(adapter.tell)
        adapter.ends_by(lambda: _interrupt(captured))
        status = run_script([program, *arguments], debugging)
        captured.end()
        if not debugging.count and not status:
            adapter.tell("console", "The script has launched no kernel that is debugged.\n")
        adapter.wire.event("exited", exitCode=status)
        adapter.wire.event("terminated")
    adapter.wait_for_end()


def _interrupt(captured: Captured) -> None:
    """End a script that may be anywhere: as Ctrl-C does, and if it does not listen, with the process."""
    import _thread
    import threading

    _thread.interrupt_main()
    timer = threading.Timer(_PATIENCE, os._exit, (1,))
    timer.daemon = True
    timer.start()


# --- what a client says ---


def _launch(asked: Asked) -> ProgramLaunch:
    _go_to_folder(asked)
    arguments = asked.texts("args")
    return launch_of_file(
        asked.text("program"),
        entry=asked.text("entry", "") or None,
        grid=_grid(asked.any("grid")),
        arguments=arguments,
        schedule=asked.text("schedule", "forward"),
    )


def _go_to_folder(asked: Asked) -> None:
    if asked.has("cwd"):
        os.chdir(asked.text("cwd"))


def _limit(asked: Asked) -> int:
    return size_of(str(asked.any("limit"))) if asked.has("limit") else LIMIT


def _grid(given: Any) -> str | None:
    if given is None or given == "":
        return None
    if isinstance(given, list):
        return ",".join([str(each) for each in given])
    return str(given)


def _debugger(adapter: Adapter, asked: Asked, launch: ProgramLaunch) -> Debugger:
    """A launch as the client wants it, which stops at what `stopOn` says and what it chooses among the filters."""
    for name in asked.texts("stopOn"):
        adapter.state.wishes.stop_on.add(breaking.event_named(name))
    return Debugger(
        launch.kernel,
        launch.grid,
        launch.arguments,
        limit=_limit(asked),
        output=lambda text: adapter.tell("stdout", text),
        names=names_of(asked),
    )


def names_of(asked: Asked) -> Names:
    given = asked.text("names", "script")
    if given == "script":
        return "script"
    if given == "tile":
        return "tile"
    raise RequestMistake(f"there are no names of '{given}': use script or tile")
