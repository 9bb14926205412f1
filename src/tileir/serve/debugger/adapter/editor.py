"""What an editor debugs: programs and scripts that it launches, and scripts that it attaches to."""

from __future__ import annotations

import _thread
import atexit
import os
import queue
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Final

from tileir.execute.arguments.argument_text import size_of
from tileir.execute.errors import LaunchError
from tileir.execute.recording.recording import LIMIT
from tileir.ir.diagnostics import TileIRError
from tileir.serve.addresses import BadAddress, Client, Listener
from tileir.serve.debugger.adapter.connections import CapturedOutput, greet
from tileir.serve.debugger.adapter.execution import EditorSession, event_named
from tileir.serve.debugger.adapter.requests import Arguments, BadRequest, Channel
from tileir.serve.debugger.adapter.session import Session
from tileir.serve.debugger.launches import ScriptDebugging, file_debugger
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.source_lines import Names

_PATIENCE: Final = 3.0
"""Seconds that a script has to end after an interrupt."""

RunScript = Callable[[list[str], ScriptDebugging], int]
"""Runs a script with its arguments, and its launches debugged; returns its exit status."""


class ListeningEditor:
    """Waits for an editor at an address when the first launch comes, and keeps it."""

    def __init__(self, address: str) -> None:
        try:
            self._listener = Listener(address)
        except BadAddress as error:
            raise LaunchError(str(error)) from None
        self._clients: queue.SimpleQueue[Client] = queue.SimpleQueue()
        self._session: Session | None = None

    def debug(self, debugger: Debugger, stop_on_entry: bool, caller: FrameType | None) -> str:
        if self._session is None:
            self._session = self._attached(debugger)
        return self._session.debug(debugger, stop_on_entry)

    def _attached(self, debugger: Debugger) -> Session:
        """Wait for an editor, up to where it has set its breakpoints."""
        threading.Thread(target=self._listener.serve, args=(greet, self._clients.put), daemon=True).start()
        where = self._listener.described("in its attach configuration")
        while True:
            print(f"tileir: waiting for a debugger at {where}", file=sys.stderr, flush=True)
            client = self._clients.get()
            channel = Channel(client.read, client.connection.makefile("wb"), is_greeted=True)
            session = EditorSession(channel, can_launch=False)
            found = session.wait_for_request()
            if found is not None:
                session.prepare(debugger)
                if session.accept(found):
                    atexit.register(_end, session)
                    return session
            client.close()


def _end(session: Session) -> None:
    if not session.gone.is_set():
        session.exited(0)


# --- launches ---


def host(channel: Channel, run_script: RunScript | None = None) -> None:
    """Launch what a client requests, until it disconnects.  The program runs on this thread."""
    session = EditorSession(channel, can_launch=True)
    while (given := session.wait_for_request()) is not None:
        try:
            if run_script is not None and given.text("program").endswith(".py"):
                _script(session, given, run_script)
                return
            debugger = _debugger(session, given)
        except (TileIRError, BadRequest, OSError) as error:
            session.refuse(given, _text(error))
            continue
        session.can_restart = True
        session.prepare(debugger)
        if session.accept(given):
            _debug(session, given, debugger)
        session.gone.wait()
        return


def _text(error: TileIRError | BadRequest | OSError) -> str:
    return f"cannot read '{error.filename}': {error.strerror}" if isinstance(error, OSError) else str(error)


def _debug(session: Session, given: Arguments, debugger: Debugger) -> None:
    """Run the launch, again where the client restarts it; then show its results."""
    status = 0
    session.debug(debugger, given.flag("stopOnEntry"))
    while session.restarting is not None:
        given, session.restarting = session.restarting, None
        session.arguments = given
        session.gone.clear()
        try:
            debugger = _debugger(session, given)
        except (TileIRError, BadRequest, OSError) as error:
            session.show("stderr", f"{_text(error)}\n")
            session.exited(1)
            return
        session.debug(debugger, given.flag("stopOnEntry"))
    if not session.is_over:
        stop = debugger.finish()
        status = 1 if stop.text else 0
        results = [f"{variable.name} = {variable.text}\n" for variable in debugger.arrays() if variable.value.size]
        text = f"{stop.text}\n" if stop.text else "The launch is done.\n" + "".join(results)
        session.show("stderr" if stop.text else "console", text)
    session.exited(status)


def _script(session: Session, given: Arguments, run_script: RunScript) -> None:
    """Run a script and debug its launches; the editor shows what it prints."""
    program = given.text("program")
    debugging = ScriptDebugging(
        session,
        kernel=given.text("kernel", ""),
        stop_on_entry=given.flag("stopOnEntry"),
        names=_names(given),
        limit=_limit(given),
    )
    arguments = given.texts("args")
    _go_to_folder(given)
    # An error here is the response to the client.
    with open(program, "rb"):
        pass
    environment = given.inner("env")
    os.environ.update({name: environment.text(name) for name in environment.given})
    session.channel.event("capabilities", capabilities={"supportsRestartRequest": False})
    if session.accept(given):
        captured = CapturedOutput(session.show)
        session.end_program = _interrupt
        status = run_script([program, *arguments], debugging)
        captured.end()
        if not debugging.count and not status:
            session.show("console", "The script has launched no kernel that is debugged.\n")
        session.exited(status)
    session.gone.wait()


def _interrupt() -> None:
    """End a script as Ctrl-C does; if that does not help, with the process."""
    _thread.interrupt_main()
    timer = threading.Timer(_PATIENCE, os._exit, (1,))
    timer.daemon = True
    timer.start()


# --- the arguments of a launch ---


def _debugger(session: Session, given: Arguments) -> Debugger:
    """The launch of a program; it stops at what `stopOn` says and what the client chooses among the filters."""
    for name in given.texts("stopOn"):
        session.stop_on.add(event_named(name))
    _go_to_folder(given)
    grid = given.given.get("grid")
    if grid is not None:
        grid = ",".join([str(each) for each in grid]) if isinstance(grid, list) else str(grid)
    return file_debugger(
        given.text("program"),
        given.text("entry", "") or None,
        grid or None,
        given.texts("args"),
        given.text("schedule", "forward"),
        limit=_limit(given),
        output=lambda text: session.show("stdout", text),
        names=_names(given),
    )


def _go_to_folder(given: Arguments) -> None:
    if given.has("cwd"):
        os.chdir(given.text("cwd"))


def _limit(given: Arguments) -> int:
    return size_of(str(given.given["limit"])) if given.has("limit") else LIMIT


def _names(given: Arguments) -> Names:
    return "tile" if given.choice("names", "script", ("script", "tile")) == "tile" else "script"
