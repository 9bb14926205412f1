"""`State`: what requests share: how the client counts, the launch, and the objects that the client knows by number."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Literal, TypeVar
from urllib.parse import quote, unquote, urlparse

from tileir.serve.debugger.adapter.launch_thread import Job, LaunchThread
from tileir.serve.debugger.adapter.requests import Arguments, BadRequest, Channel, Message
from tileir.serve.debugger.breakpoints import Breakpoint, BreakpointSpec
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.source_lines import PRINTED, SourceLocation
from tileir.serve.debugger.stops import Event, Position, Stop

Thing = TypeVar("Thing")


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

    def own_line(self, line: int) -> int:
        return line - self._line

    def column(self, column: int) -> int:
        return column + self._column

    def own_column(self, column: int) -> int:
        return column - self._column

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


@dataclass
class LaunchRequest:
    """A `launch` or `attach` request, and what became of it; who changes it holds `changed`."""

    can_launch: bool
    """Whether this process belongs to the client: otherwise it is a script that the client attaches to."""
    changed: threading.Condition = field(default_factory=threading.Condition)
    is_sent: bool = False
    pending: tuple[Arguments, Message] | None = None
    """The request that no thread has taken yet."""
    arguments: Arguments = field(default_factory=lambda: Arguments({}, "'launch'"))
    is_configured: bool = False
    can_restart: bool = False
    restart: Arguments | None = None
    """The launch begins again, with these arguments."""
    leave_how: str = ""
    """How a launch of a script is left: "skip", "next-launch", "detach"; "" at its end."""
    is_over: bool = False
    """The client has gone, or ended the session."""
    is_disconnected: bool = False
    ends_program: bool = False
    """Whether the program ends with the session."""
    end_program: Callable[[], None] | None = None
    """Ends a script that is not launching a kernel."""


class State:
    """The state that requests share."""

    def __init__(
        self, channel: Channel, started: Callable[[], None], stopped: Callable[[Stop, Job], None], can_launch: bool
    ) -> None:
        self.channel: Channel = channel
        self.format: ClientFormat = ClientFormat(Arguments({}, "'initialize'"))
        self.launch: LaunchRequest = LaunchRequest(can_launch, ends_program=can_launch)
        self.printed: str | None = None
        """The program as it is printed, which is in no file."""
        self.thread: LaunchThread = LaunchThread(started, stopped)
        self.cancel: Callable[[int], object] = lambda sequence: None
        """Refuses the request of a number, unless its answer has begun."""
        self.stage: Stage | None = None
        self.breakpoints: BreakpointSet = BreakpointSet()
        self.lock: threading.RLock = threading.RLock()
        """Held by who reads the stage, and by who changes it."""

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

    # --- sources ---

    def source(self, file: str) -> Message:
        """A file as the protocol has it."""
        if file == PRINTED and self.printed is not None:
            return {"name": PRINTED, "sourceReference": 1, "origin": "the program as it is printed"}
        return {"name": os.path.basename(file), "path": self.format.path(os.path.abspath(file))}

    def location(self, location: SourceLocation | None, source: str = "source") -> Message:
        """A location as the protocol has it; `source` is the key of the file."""
        if location is None:
            return {}
        line, column = self.format.line(location.line), self.format.column(location.column)
        return {source: self.source(location.file), "line": line, "column": column}

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
