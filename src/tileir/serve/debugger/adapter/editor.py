"""What an editor debugs: programs and scripts that it launches, and scripts that it attaches to; and its connections.

A server at an address starts a process for each editor that sends the token; the process speaks on its standard
streams.  Editors let their users add arguments to `launch` and `attach` alone, so the token is one of these.  Before
it, only `initialize` is answered, by `greet`; the channel of the admitted client reads both messages again.
"""

from __future__ import annotations

import _thread
import atexit
import codecs
import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Final

from tileir.execute.arguments.argument_text import size_of
from tileir.execute.errors import LaunchError
from tileir.execute.recording.recording import LIMIT
from tileir.ir.diagnostics import TileIRError
from tileir.serve.addresses import BadAddress, Client, Listener, is_token
from tileir.serve.debugger.adapter.execution import CAPABILITIES, EditorSession, event_named
from tileir.serve.debugger.adapter.requests import LONGEST, Arguments, BadRequest, Channel, Message, parsed
from tileir.serve.debugger.adapter.session import Session
from tileir.serve.debugger.launches import ScriptDebugging, file_debugger
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.source_lines import Names
from tileir.serve.framing import MessageReader

_PATIENCE: Final = 3.0  # Seconds that a script has to end after an interrupt.
GREETED: Final = "TILEIR_DAP_GREETED"  # The variable that is set once the client's `initialize` has its response.
_OUTPUT_PATIENCE: Final = 5.0
"""Seconds to wait for the last output of a program: a process that it left behind may hold its streams."""

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


def _text(error: TileIRError | BadRequest | OSError) -> str:
    return f"cannot read '{error.filename}': {error.strerror}" if isinstance(error, OSError) else str(error)


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
    program, arguments = given.text("program"), given.texts("args")
    kernel, stops = given.text("kernel", ""), given.flag("stopOnEntry")
    debugging = ScriptDebugging(session, kernel, stops, names=_names(given), limit=_limit(given))
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


def _debugger(session: Session, given: Arguments) -> Debugger:
    """The launch of a program; it stops at the events of `stopOn` and at those of the filters that the client sets."""
    for name in given.texts("stopOn"):
        session.stop_on.add(event_named(name))
    _go_to_folder(given)
    grid = given.given["grid"] if given.has("grid") else ""
    grid = ",".join([str(each) for each in grid]) if isinstance(grid, list) else str(grid)
    program, entry, schedule = given.text("program"), given.text("entry", ""), given.text("schedule", "forward")
    options = {"limit": _limit(given), "output": partial(session.show, "stdout"), "names": _names(given)}
    return file_debugger(program, entry or None, grid or None, given.texts("args"), schedule, **options)


def _go_to_folder(given: Arguments) -> None:
    if given.has("cwd"):
        os.chdir(given.text("cwd"))


def _limit(given: Arguments) -> int:
    return size_of(str(given.given["memoryLimit"])) if given.has("memoryLimit") else LIMIT


def _names(given: Arguments) -> Names:
    return "tile" if given.choice("names", "script", ("script", "tile")) == "tile" else "script"


def greet(client: Client, token: str) -> bool:
    """Whether a client sends the token; if not, it is refused."""
    reader = MessageReader(client.read, LONGEST)
    with client.connection.makefile("wb") as target:
        channel = Channel(client.read, target)
        is_greeted = False
        while (body := reader.message()) is not None:
            message = parsed(body)
            if isinstance(message, str):
                return False
            if is_greeted or message.get("command") != "initialize":
                refusal = _refusal(message, token, is_greeted)
                if refusal:
                    channel.refuse(message, refusal)
                return not refusal
            channel.respond(message, dict(CAPABILITIES))
            is_greeted = True
    return False


def _refusal(message: Message, token: str, is_greeted: bool) -> str:
    command, arguments = message.get("command"), message.get("arguments")
    if not is_greeted:
        return "'initialize' has to come first"
    if command not in ("launch", "attach"):
        return "'launch' or 'attach' with the token has to come first"
    if not is_token(arguments.get("token") if isinstance(arguments, dict) else None, token):
        return f'\'{command}\' needs "token": ".." among its arguments, as the server has printed it'
    return ""


def serve(listener: Listener, command: list[str]) -> None:
    """Serve clients until the process is interrupted; `command` are the arguments of Python for one of them."""
    listener.serve(greet, lambda client: _serve_client(client, command))


def _serve_client(client: Client, command: list[str]) -> None:
    environment = {**os.environ, GREETED: "1"}
    child = subprocess.Popen([sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert child.stdin is not None and child.stdout is not None
    source, target = child.stdout, child.stdin

    def forward() -> None:
        with contextlib.suppress(OSError, ValueError), target:
            while data := client.read(1 << 16):
                target.write(data)
                target.flush()

    threading.Thread(target=forward, daemon=True).start()
    with contextlib.suppress(OSError, ValueError):
        while data := os.read(source.fileno(), 1 << 16):
            client.connection.sendall(data)
    child.wait()
    source.close()
    client.close()


def standard_channel(*, is_greeted: bool = False) -> Channel:
    """The channel on standard input and output, which nobody else uses from here on: what is printed goes to standard
    error, and there is nothing to read."""
    source = os.dup(0)
    target = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return Channel(lambda size: os.read(source, size), target, is_greeted=is_greeted)


class CapturedOutput:
    """Standard output and error of this process, and of those it starts, handed to a function as they are written."""

    def __init__(self, show: Callable[[str, str], object]) -> None:
        """`show` is called with the name of the stream and what was written."""
        self._readers: list[threading.Thread] = []
        self._before: list[tuple[int, int]] = []
        for number, name in ((1, "stdout"), (2, "stderr")):
            stream = getattr(sys, name)
            stream.flush()
            if hasattr(stream, "reconfigure"):
                # In order with what the debugger writes.
                stream.reconfigure(line_buffering=True)
            source, target = os.pipe()
            self._before.append((number, os.dup(number)))
            os.dup2(target, number)
            os.close(target)
            self._readers.append(
                threading.Thread(target=_show_written, args=(source, partial(show, name)), daemon=True)
            )
            self._readers[-1].start()

    def end(self) -> None:
        """Restore the streams, and hand over everything that was written."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        for number, before in self._before:
            os.dup2(before, number)
            os.close(before)
        for reader in self._readers:
            reader.join(_OUTPUT_PATIENCE)


def _show_written(source: int, show: Callable[[str], object]) -> None:
    # As it comes: a reader of text would wait for more.
    with open(source, "rb", buffering=0) as stream:
        for text in codecs.iterdecode(iter(partial(stream.read, 1 << 16), b""), "utf-8", "replace"):
            show(text)
