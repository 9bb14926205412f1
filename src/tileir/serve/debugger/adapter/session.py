"""`Session`: a session with an editor, what its requests share, and the launches that are debugged in it."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from functools import partial
from itertools import count
from types import FrameType
from typing import Final, TypeVar
from urllib.parse import quote, unquote, urlparse

from tileir.ir.diagnostics import TileIRError
from tileir.serve.debugger.adapter.launch_thread import Job, LaunchThread
from tileir.serve.debugger.adapter.requests import Arguments, BadRequest, Channel, Dispatcher, Message, Reply
from tileir.serve.debugger.breakpoints import Breakpoint, Breakpoints
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.source_lines import PRINTED, SourceLocation
from tileir.serve.debugger.stops import Event, Position, Stop
from tileir.serve.debugger.terminal.session_commands import SessionCommands
from tileir.serve.debugger.terminal.shell import BadCommand

Thing = TypeVar("Thing")

_SLOW: Final = 1.0  # Seconds after which the client shows progress.
_REASONS: Final = {
    "entry": ("entry", "Stopped at the beginning"),
    "beginning": ("entry", "Stopped at the beginning of the launch: nothing is before it"),
    "breakpoint": ("breakpoint", "Stopped at a breakpoint"),
    "data": ("data breakpoint", "Stopped at an access"),
    "step": ("step", "Stopped after a step"),
    "goto": ("goto", "Stopped at the chosen position"),
    "failure": ("exception", "Stopped at a failure"),
    "sanitizer": ("exception", "Stopped at a finding of the sanitizer"),
    "nan": ("exception", "Stopped where a NaN or an infinity is made"),
    "pause": ("pause", "Paused"),
    "limit": ("pause", "Stopped where the recording ends"),
    "end": ("step", "Stopped at the end of the launch"),
}


class ClientFormat:
    """How a client counts lines and columns, and writes paths."""

    def __init__(self, given: Arguments) -> None:
        # Added to lines and columns of tileir, which begin at 1.
        self._line = 0 if given.flag("linesStartAt1", True) else -1
        self._column = 0 if given.flag("columnsStartAt1", True) else -1
        self.has_uris = given.text("pathFormat", "path") == "uri"
        self.shows_progress = given.flag("supportsProgressReporting")

    def line(self, line: int) -> int:
        return line + self._line

    def column(self, column: int) -> int:
        return column + self._column

    def own_line(self, given: Arguments, name: str = "line") -> int:
        """The line that an argument means, counted from 1."""
        return given.number(name) - self._line

    def own_column(self, given: Arguments, name: str = "column", default: int = 0) -> int:
        return given.number(name) - self._column if given.has(name) else default


class Stage:
    """A launch that is debugged, and what the client knows of it since it stopped."""

    def __init__(self, debugger: Debugger) -> None:
        self.debugger = debugger
        self.stop: Stop | None = None  # Where it stands; None as long as it has not stopped.
        self.blocks: dict[int, Position] = {}  # The tile blocks that the client knows as threads, and where they stand.
        self._objects: dict[int, object] = {}
        # A number is not used twice, so that an old one is known to be old.
        self._numbers = count(1)

    def add(self, thing: object) -> int:
        """Give a frame, a node of variables or a position a number for the client."""
        number = next(self._numbers)
        self._objects[number] = thing
        return number

    def find(self, number: int, kind: type[Thing], what: str) -> Thing:
        found = self._objects.get(number)
        if not isinstance(found, kind):
            raise BadRequest(f"{what} gone: the launch has moved on")
        return found

    def forget(self) -> None:
        """The launch continues: what was true is no longer."""
        self.stop = None
        self._objects.clear()


class Session:
    """The debugger of an editor.  The thread that has the program calls the methods up to `debug`."""

    def __init__(self, channel: Channel, *, can_launch: bool) -> None:
        self.channel = channel
        self.format = ClientFormat(Arguments({}, "'initialize'"))
        self.can_launch = can_launch
        """Whether this process belongs to the client: otherwise it is a script that the client attaches to."""
        self.can_restart = False
        self.launches: queue.SimpleQueue[Arguments | None] = queue.SimpleQueue()
        """The arguments of `launch` or `attach`; None once the client has ended the session."""
        self.is_launched = False
        self.configured = threading.Event()
        self.arguments = Arguments({}, "'launch'")  # Of the launch, to begin again with.
        self.restarting: Arguments | None = None
        self.is_over = False  # The client has gone, or ended the session.
        self.gone = threading.Event()
        self.ends_program = can_launch  # Whether the program ends with the session.
        self.end_program: Callable[[], None] | None = None  # Ends a script that is not launching a kernel.
        self._leave_how = "done"
        self.printed: str | None = None  # The program as it is printed, which is in no file.
        self.thread = LaunchThread(self._started, self._stopped)
        self.stage: Stage | None = None
        self.breakpoints = Breakpoints()
        self.stop_on: set[Event] = {"failure"}
        self.lock = threading.RLock()  # Held by who reads the stage, and by who changes it.
        self.console = Console(self)
        # What shows the progress of a run when it takes long, and the number of the one that is shown.
        self._timer: threading.Timer | None = None
        self._progress, self._progress_numbers = "", count(1)
        self._progress_lock = threading.Lock()
        self.requests = Dispatcher(channel, self, lambda: self.disconnect(can_launch))
        self.requests.start()

    def wait_for_request(self) -> Arguments | None:
        """The arguments of the request to launch or attach; None if the client ends the session before."""
        found = self.launches.get()
        if found is None or self.is_over:
            return None
        self.arguments = found
        return found

    def refuse(self, given: Arguments, text: str) -> None:
        """The program cannot be launched; the client may try another."""
        self.is_launched = False
        self.channel.refuse(given.request, text)

    def accept(self, given: Arguments) -> bool:
        """Let the client set its breakpoints; False if it has gone meanwhile."""
        self.channel.event("initialized")
        self.configured.wait()
        self.channel.respond(given.request)
        return not self.is_over

    def show(self, category: str, text: str) -> None:
        """Show the user a text: "stdout", "stderr", or "console" for the debugger's own messages."""
        self.channel.event("output", category=category, output=text)

    def exited(self, status: int) -> None:
        self.channel.event("exited", exitCode=status)
        self.channel.event("terminated")

    def prepare(self, debugger: Debugger) -> None:
        """Take a launch: place breakpoints in it, and report their locations to the client."""
        with self.lock:
            self.stage = Stage(debugger)
            self.printed = debugger.lines.text(PRINTED) or self.printed
            debugger.breakpoints.take_over(self.breakpoints)
            debugger.stop_on = set(self.stop_on)
            self.breakpoints = debugger.breakpoints
            self.console.launch, self.console.is_running = debugger, True
            for one in self.breakpoints.values():
                if one.spec.owner[0]:
                    self.channel.event("breakpoint", reason="changed", breakpoint=self.breakpoint_message(one))

    def debug(self, debugger: Debugger, stop_on_entry: bool, caller: FrameType | None = None) -> str:
        """Run a launch as the client requests, until it ends or the client leaves it; return how it was left."""
        if not self.is_over:
            if self.stage is None:
                self.prepare(debugger)
            run = debugger.finish if self.arguments.flag("noDebug") else partial(debugger.start, stop_on_entry)
            try:
                self.thread.work(debugger, Job(run, debugger.resume))
            finally:
                with self.lock:
                    self.stage = self.console.launch = None
                    self.console.is_running = False
        if self.is_over:
            return "quit" if self.ends_program else "detach"
        how, self._leave_how = self._leave_how, "done"
        return how

    def _started(self) -> None:
        if self.format.shows_progress:
            self._timer = threading.Timer(_SLOW, self._show_progress)
            self._timer.daemon = True
            self._timer.start()

    def _show_progress(self) -> None:
        with self._progress_lock:
            if self._timer is threading.current_thread():
                self._progress = f"run {next(self._progress_numbers)}"
                title = "The kernel is running"
                self.channel.event("progressStart", progressId=self._progress, title=title, cancellable=True)

    def _end_progress(self) -> None:
        with self._progress_lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._progress:
                self.channel.event("progressEnd", progressId=self._progress)
            self._timer, self._progress = None, ""

    def _stopped(self, stop: Stop, job: Job) -> None:
        self._end_progress()
        stage = self.stage
        if stage is None or self.is_over or self.restarting is not None:
            return
        if stop.reason == "end" and not job.stops_at_end:
            self.thread.leave()
            return
        with self.lock:
            # Before the client may request anything.
            displays = self.console.displayed()
            stage.stop = stop
            self._update_threads(stage)
        if displays:
            self.show("console", displays)
        reason, description = _REASONS[stop.reason]
        hit = {
            one.number: one.spec.owner[0] for one in list(self.breakpoints.values()) if one.number in stop.breakpoints
        }
        kinds = set(hit.values())
        if stop.reason == "breakpoint" and kinds in ({"function"}, {"instruction"}):
            reason = f"{kinds.pop()} breakpoint"
        numbers = [number for number, kind in hit.items() if kind] or None
        more = {"threadId": stop.position.block + 1, "allThreadsStopped": True, "hitBreakpointIds": numbers}
        self.channel.event("stopped", reason=reason, description=description, text=stop.text or None, **more)

    def _update_threads(self, stage: Stage) -> None:
        blocks = {position.block: position for position in stage.debugger.unfinished_blocks()}
        for block in stage.blocks.keys() - blocks.keys():
            self.channel.event("thread", reason="exited", threadId=block + 1)
        for block in blocks.keys() - stage.blocks.keys():
            self.channel.event("thread", reason="started", threadId=block + 1)
        stage.blocks = blocks

    def stopped(self) -> Stage:
        """The launch, which must be stopped."""
        if self.stage is None:
            raise BadRequest("no kernel is being launched", "notStopped")
        if self.thread.running or self.stage.stop is None:
            raise BadRequest("the launch is running", "notStopped")
        return self.stage

    def run(self, stage: Stage, job: Job) -> None:
        with self.lock:
            stage.forget()
            self.thread.submit(job)

    def leave(self, how: str) -> None:
        """Run a launch of a script to its end, whatever there is to stop at."""
        self._leave_how = how
        self.thread.leave()

    def restart(self, arguments: Arguments | None = None) -> None:
        self.restarting = arguments if arguments is not None else self.arguments
        self.gone.set()
        self.thread.leave()

    def disconnect(self, ends_program: bool) -> None:
        self.end(ends_program)
        self.gone.set()

    def end(self, ends_program: bool) -> None:
        if not self.is_over:
            self.ends_program = ends_program
        self.is_over = True
        self.launches.put(None)
        self.configured.set()
        end_program, self.end_program = self.end_program, None
        if self.stage is None and end_program is not None and self.ends_program:
            end_program()
        self.thread.leave()

    def source(self, file: str) -> Message:
        if file == PRINTED and self.printed is not None:
            return {"name": PRINTED, "sourceReference": 1, "origin": "the program as it is printed"}
        path = os.path.abspath(file)
        return {"name": os.path.basename(file), "path": f"file://{quote(path)}" if self.format.has_uris else path}

    def location(self, location: SourceLocation | None, source: str = "source") -> Message:
        """A location; `source` is the key of the file."""
        if location is None:
            return {}
        line, column = self.format.line(location.line), self.format.column(location.column)
        return {source: self.source(location.file), "line": line, "column": column}

    def breakpoint_message(self, one: Breakpoint) -> Message:
        found: Message = {"id": one.number, "verified": one.is_verified}
        if one.message:
            found["message"] = one.message
        if one.location is not None:
            found |= self.location(one.location)
        elif one.kind == "line":
            found |= {"source": self.source(str(one.spec.what)), "line": self.format.line(one.spec.line)}
        if one.spec.owner[0] == "instruction" and one.is_verified:
            found["instructionReference"] = f"{int(str(one.spec.what)):#x}"
        return found

    def file(self, source: Arguments) -> str:
        number = source.number("sourceReference", 0, 0)
        if number:
            self.text_of(number)
            return PRINTED
        if not source.has("path") and not source.has("name"):
            raise BadRequest("a source has a 'path' or a 'sourceReference'")
        path = source.text("path" if source.has("path") else "name")
        return unquote(urlparse(path).path) if path.startswith("file://") else path

    def text_of(self, number: int) -> str:
        """The text of a source that is in no file."""
        if number != 1 or self.printed is None:
            raise BadRequest(f"there is no source {number}")
        return self.printed


class Console(SessionCommands):
    """The console of an editor: a shell whose output is collected."""

    def __init__(self, session: Session) -> None:
        self._session: Session = session
        self._then: Callable[[], object] | None = None
        self._output: list[str] = []
        super().__init__(self._output.append)

    def begin(self, stop_on_entry: bool) -> None:
        if not self._session.can_restart:
            raise BadCommand("The script launches its kernels itself: restart the session.")
        self._then = self._session.restart

    def perform(self, run: Callable[[], Stop], stops_at_end: bool) -> None:
        stage = self._session.stopped()

        def checked() -> Stop:
            try:
                return run()
            except TileIRError as error:
                # The response was sent already.
                self._session.show("stderr", f"{error.message}\n")
                return Stop("step", stage.debugger.position)

        self._then = lambda: self._session.run(stage, Job(checked, stops_at_end=stops_at_end))

    def leave(self, how: str) -> None:
        session = self._session
        self._then = lambda: session.end(ends_program=True) if how in ("quit", "kill") else session.leave(how)

    def python(self) -> None:
        raise BadCommand("Python's debugger is for a terminal: use your editor's.")

    def reply(self, text: str) -> Reply:
        """Carry out a command; what runs the launch is done after the reply."""
        self._then = None
        is_fine = self.execute(text, typed=False)
        output = self._taken()
        if not is_fine:
            raise BadRequest(output.strip())
        return Reply({"result": output.rstrip("\n"), "variablesReference": 0}, then=self._then)

    def displayed(self) -> str:
        self.frame_number = 0
        self.show_displays()
        return self._taken()

    def _taken(self) -> str:
        output = "".join(self._output)
        self._output.clear()
        return output
