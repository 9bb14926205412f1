"""`Session`: a session with an editor, what its requests share, and the launches that are debugged in it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Final, Literal, TypeVar
from urllib.parse import quote, unquote, urlparse

from tileir.ir.diagnostics import TileIRError
from tileir.serve.debugger.adapter.launch_thread import Job, LaunchRequest, LaunchThread
from tileir.serve.debugger.adapter.requests import Arguments, BadRequest, Channel, Dispatcher, Message, Reply
from tileir.serve.debugger.breakpoints import Breakpoint, BreakpointSpec
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.source_lines import PRINTED, SourceLocation
from tileir.serve.debugger.stops import Event, Position, Stop
from tileir.serve.debugger.terminal.commands import BadCommand
from tileir.serve.debugger.terminal.inspection_commands import show_displays
from tileir.serve.debugger.terminal.shell import Shell

Thing = TypeVar("Thing")

_SLOW: Final = 1.0
"""Seconds after which the client shows progress."""
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
        self._line: int = 0 if given.flag("linesStartAt1", True) else -1
        self._column: int = 0 if given.flag("columnsStartAt1", True) else -1
        self._has_uris: bool = given.text("pathFormat", "path") == "uri"
        self.shows_progress: bool = given.flag("supportsProgressReporting")

    def line(self, line: int) -> int:
        return line + self._line

    def column(self, column: int) -> int:
        return column + self._column

    def own_line(self, given: Arguments, name: str = "line") -> int:
        """The line that an argument means, counted from 1."""
        return given.number(name) - self._line

    def own_column(self, given: Arguments, name: str = "column", default: int = 0) -> int:
        return given.number(name) - self._column if given.has(name) else default

    def path(self, path: str) -> str:
        return f"file://{quote(path)}" if self._has_uris else path

    def own_path(self, path: str) -> str:
        return unquote(urlparse(path).path) if path.startswith("file://") else path


class Stage:
    """A launch that is debugged, and what the client knows of it since it stopped."""

    def __init__(self, debugger: Debugger) -> None:
        self.debugger: Debugger = debugger
        self.stop: Stop | None = None
        """Where it stands; None as long as it has not stopped."""
        self.blocks: dict[int, Position] = {}
        """The tile blocks that the client knows as threads, and where they stand."""
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


BreakpointKind = Literal["line", "function", "instruction", "data"]


@dataclass
class ClientBreakpoint:
    """A breakpoint that the client has set, and where it is in the launch."""

    number: int
    kind: BreakpointKind
    spec: BreakpointSpec
    placed: Breakpoint | None = None


class BreakpointSet:
    """The breakpoints of a client.  They outlive launches: each new launch has them placed in it."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._known: dict[tuple[BreakpointKind, str], list[ClientBreakpoint]] = {}
        self.stop_on: set[Event] = {"failure"}

    def all(self) -> list[ClientBreakpoint]:
        return [one for found in self._known.values() for one in found]

    def replace(
        self, kind: BreakpointKind, file: str, specs: list[BreakpointSpec], debugger: Debugger | None
    ) -> list[ClientBreakpoint]:
        """Replace the breakpoints of a kind, of lines those of a file."""
        for old in self._known.get((kind, file), []):
            if debugger is not None and old.placed is not None:
                debugger.breakpoints.remove(old.placed.number)
        new = self._known[(kind, file)] = [ClientBreakpoint(next(self._numbers), kind, spec) for spec in specs]
        for one in new:
            one.placed = debugger.breakpoints.place(one.spec) if debugger is not None else None
        return new

    def place_all(self, debugger: Debugger) -> None:
        """Place everything in a new launch."""
        debugger.stop_on = set(self.stop_on)
        for one in self.all():
            one.placed = debugger.breakpoints.place(one.spec)

    def hit(self, stop: Stop) -> list[ClientBreakpoint]:
        return [one for one in self.all() if one.placed is not None and one.placed.number in stop.breakpoints]


class Session:
    """The debugger of an editor.  The thread that has the program calls the methods up to `debug`."""

    def __init__(self, channel: Channel, *, can_launch: bool) -> None:
        self.channel: Channel = channel
        self.format: ClientFormat = ClientFormat(Arguments({}, "'initialize'"))
        self.launch: LaunchRequest = LaunchRequest(can_launch, ends_program=can_launch)
        self.printed: str | None = None
        """The program as it is printed, which is in no file."""
        self.thread: LaunchThread = LaunchThread(self._started, self._stopped)
        self.stage: Stage | None = None
        self.breakpoints: BreakpointSet = BreakpointSet()
        self.lock: threading.RLock = threading.RLock()
        """Held by who reads the stage, and by who changes it."""
        self.console: Console = Console(self)
        self._timer: threading.Timer | None = None
        # The progress that the client shows, and how many there were.
        self._progress: str = ""
        self._runs: int = 0
        self._progress_lock: threading.Lock = threading.Lock()
        self.requests: Dispatcher = Dispatcher(channel, self, lambda: self.disconnect(can_launch))
        self.requests.start()

    def wait_for_request(self) -> Arguments | None:
        """The arguments of the request to launch or attach; None if the client ends the session before."""
        launch = self.launch
        with launch.changed:
            launch.changed.wait_for(lambda: launch.pending is not None or launch.is_over)
            found, launch.pending = launch.pending, None
            if found is not None:
                launch.arguments = found
            return None if launch.is_over else found

    def refuse(self, given: Arguments, text: str) -> None:
        """The program cannot be launched; the client may try another."""
        with self.launch.changed:
            self.launch.is_sent = False
        self.channel.refuse(given.request, text)

    def accept(self, given: Arguments) -> bool:
        """Let the client set its breakpoints; False if it has gone meanwhile."""
        self.channel.event("initialized")
        launch = self.launch
        with launch.changed:
            launch.changed.wait_for(lambda: launch.is_configured or launch.is_over)
        self.channel.respond(given.request)
        return not launch.is_over

    def show(self, category: str, text: str) -> None:
        """Show the user a text: "stdout", "stderr", or "console" for the debugger's own messages."""
        self.channel.event("output", category=category, output=text)

    def exited(self, status: int) -> None:
        """The program is over."""
        self.channel.event("exited", exitCode=status)
        self.channel.event("terminated")

    def wait_for_end(self) -> None:
        """Wait until the client disconnects."""
        launch = self.launch
        with launch.changed:
            launch.changed.wait_for(lambda: launch.is_disconnected or launch.restart is not None)

    def prepare(self, debugger: Debugger) -> None:
        """Take a launch: place breakpoints in it, and tell the client where they are."""
        with self.lock:
            self.stage = Stage(debugger)
            self.printed = debugger.lines.text(PRINTED) or self.printed
            self.breakpoints.place_all(debugger)
            for one in self.breakpoints.all():
                self.channel.event("breakpoint", reason="changed", breakpoint=self.breakpoint_message(one))

    def debug(self, debugger: Debugger, stop_on_entry: bool) -> None:
        """Run a launch that was prepared as the client says, until it is at its end or the client leaves it."""
        try:
            self.thread.work(debugger, Job(lambda: debugger.start(stop_on_entry), debugger.resume))
        finally:
            with self.lock:
                self.stage = None

    # --- what the client sees of a run ---

    def _started(self) -> None:
        if self.format.shows_progress:
            self._runs += 1
            self._timer = threading.Timer(_SLOW, self._show_progress, (f"run {self._runs}",))
            self._timer.daemon = True
            self._timer.start()

    def _show_progress(self, name: str) -> None:
        with self._progress_lock:
            if self._timer is not None and name == f"run {self._runs}":
                self._progress = name
                self.channel.event("progressStart", progressId=name, title="The kernel is running", cancellable=True)

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
        if stage is None or self.launch.is_over or self.launch.restart is not None:
            return
        if stop.reason == "end" and not job.stops_at_end:
            self.thread.leave()
            return
        with self.lock:
            # Before the client may request anything.
            displays = self.console.displays()
            stage.stop = stop
            self._update_threads(stage)
        if displays:
            self.show("console", displays)
        reason, description = _REASONS[stop.reason]
        hit = self.breakpoints.hit(stop)
        kinds = {one.kind for one in hit}
        if stop.reason == "breakpoint" and kinds in ({"function"}, {"instruction"}):
            reason = f"{kinds.pop()} breakpoint"
        self.channel.event(
            "stopped",
            reason=reason,
            description=description,
            text=stop.text or None,
            threadId=stop.position.block + 1,
            allThreadsStopped=True,
            hitBreakpointIds=[one.number for one in hit] or None,
        )

    def _update_threads(self, stage: Stage) -> None:
        blocks = {position.block: position for position in stage.debugger.unfinished_blocks()}
        for block in stage.blocks.keys() - blocks.keys():
            self.channel.event("thread", reason="exited", threadId=block + 1)
        for block in blocks.keys() - stage.blocks.keys():
            self.channel.event("thread", reason="started", threadId=block + 1)
        stage.blocks = blocks

    # --- what requests do ---

    def stopped(self) -> Stage:
        """The launch, which must be stopped."""
        if self.stage is None:
            raise BadRequest("no kernel is being launched", "notStopped")
        if self.thread.running or self.stage.stop is None:
            raise BadRequest("the launch is running", "notStopped")
        return self.stage

    def run(self, stage: Stage, job: Job) -> None:
        """Run a launch that is stopped."""
        with self.lock:
            stage.forget()
            self.thread.submit(job)

    def leave(self, how: str) -> None:
        """Run a launch of a script to its end, whatever there is to stop at."""
        with self.launch.changed:
            self.launch.leave_how = how
        self.thread.leave()

    def restart(self, arguments: Arguments | None = None) -> None:
        with self.launch.changed:
            self.launch.restart = arguments if arguments is not None else self.launch.arguments
            self.launch.changed.notify_all()
        self.thread.leave()

    def disconnect(self, ends_program: bool) -> None:
        """The client has gone."""
        with self.launch.changed:
            self.launch.is_disconnected = True
        self.end(ends_program)

    def end(self, ends_program: bool) -> None:
        """The client ends the session."""
        launch = self.launch
        with launch.changed:
            if not launch.is_over:
                launch.ends_program = ends_program
            launch.is_over = True
            launch.changed.notify_all()
            end_program, launch.end_program = launch.end_program, None
        if self.stage is None and end_program is not None and launch.ends_program:
            end_program()
        self.thread.leave()

    # --- as the protocol has it ---

    def source(self, file: str) -> Message:
        if file == PRINTED and self.printed is not None:
            return {"name": PRINTED, "sourceReference": 1, "origin": "the program as it is printed"}
        return {"name": os.path.basename(file), "path": self.format.path(os.path.abspath(file))}

    def location(self, location: SourceLocation | None, source: str = "source") -> Message:
        """A location; `source` is the key of the file."""
        if location is None:
            return {}
        line, column = self.format.line(location.line), self.format.column(location.column)
        return {source: self.source(location.file), "line": line, "column": column}

    def breakpoint_message(self, one: ClientBreakpoint) -> Message:
        placed = one.placed
        found: Message = {"id": one.number, "verified": placed is not None and placed.is_verified}
        text = placed.message if placed is not None else "placed when a kernel is launched"
        if text:
            found["message"] = text
        if placed is not None and placed.location is not None:
            found |= self.location(placed.location)
        elif one.kind == "line":
            found |= {"source": self.source(str(one.spec.what)), "line": self.format.line(one.spec.line)}
        if one.kind == "instruction" and found["verified"]:
            found["instructionReference"] = f"{int(str(one.spec.what)):#x}"
        return found

    def file(self, source: Arguments) -> str:
        """The file that a client means."""
        number = source.number("sourceReference", 0, 0)
        if number:
            self.text_of(number)
            return PRINTED
        if not source.has("path") and not source.has("name"):
            raise BadRequest("a source has a 'path' or a 'sourceReference'")
        return self.format.own_path(source.text("path" if source.has("path") else "name"))

    def text_of(self, number: int) -> str:
        """The text of a source that is in no file."""
        if number != 1 or self.printed is None:
            raise BadRequest(f"there is no source {number}")
        return self.printed


class Console:
    """The console of an editor: a shell whose output is collected, and the host of its launches."""

    def __init__(self, session: Session) -> None:
        self._session: Session = session
        self._then: Callable[[], object] | None = None
        self._output: list[str] = []
        self.shell: Shell = Shell(self, self._output.append)

    @property
    def debugger(self) -> Debugger | None:
        return self._session.stage.debugger if self._session.stage is not None else None

    @property
    def is_running(self) -> bool:
        return self._session.stage is not None

    def begin(self, stop_on_entry: bool) -> None:
        if not self._session.launch.can_restart:
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

    def execute(self, text: str) -> Reply:
        """Carry out a command; what runs the launch is done behind the reply."""
        self._then = None
        is_fine = self.shell.execute(text, typed=False)
        output = self._taken()
        if not is_fine:
            raise BadRequest(output.strip())
        return Reply({"result": output.rstrip("\n"), "variablesReference": 0}, then=self._then)

    def displays(self) -> str:
        """What is shown at each stop."""
        self.shell.frame_number = 0
        show_displays(self.shell)
        return self._taken()

    def _taken(self) -> str:
        output = "".join(self._output)
        self._output.clear()
        return output
