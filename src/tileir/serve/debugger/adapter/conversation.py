"""What one conversation with a client knows: the client's ways, the launch under way, and numbers for what it asked."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from urllib.parse import quote, unquote, urlparse

from tileir.serve.debugger.adapter.asked import Asked, RequestMistake
from tileir.serve.debugger.adapter.contents import Contents
from tileir.serve.debugger.adapter.numbers import Numbers
from tileir.serve.debugger.adapter.runner import Job, Runner
from tileir.serve.debugger.adapter.wire import Message, Wire
from tileir.serve.debugger.adapter.wishes import Wishes
from tileir.serve.debugger.moments import Moment, Stop
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.stack import Frame
from tileir.serve.debugger.terminal.catalogue import all_commands
from tileir.serve.debugger.terminal.command_table import CommandTable
from tileir.serve.debugger.terminal.value_history import ValueHistory


class ClientWays:
    """How a client counts and what it can do."""

    def __init__(self, asked: Asked) -> None:
        self.first_line: int = 1 if asked.flag("linesStartAt1", True) else 0
        self.first_column: int = 1 if asked.flag("columnsStartAt1", True) else 0
        self.uses_uris: bool = asked.text("pathFormat", "path") == "uri"
        self.shows_progress: bool = asked.flag("supportsProgressReporting")
        self.reads_memory: bool = asked.flag("supportsMemoryReferences")

    def line(self, line: int) -> int:
        """A line, which tileir counts from 1, as the client counts."""
        return line - 1 + self.first_line

    def own_line(self, line: int) -> int:
        return line + 1 - self.first_line

    def column(self, column: int) -> int:
        return column - 1 + self.first_column

    def own_column(self, column: int) -> int:
        return column + 1 - self.first_column

    def path(self, path: str) -> str:
        return f"file://{quote(path)}" if self.uses_uris else path

    def own_path(self, path: str) -> str:
        if path.startswith("file://"):
            return unquote(urlparse(path).path)
        return path


class Sources:
    """Texts that are in no file the client could open, by the number that it asks for them with."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._texts: dict[str, str] = {}

    def add(self, name: str, text: str) -> None:
        """Take a text; one that is called the same, of an earlier launch, is replaced."""
        if name not in self._texts:
            self._names.append(name)
        self._texts[name] = text

    def number(self, name: str) -> int:
        """0 for a file."""
        return self._names.index(name) + 1 if name in self._texts else 0

    def name(self, number: int) -> str | None:
        return self._names[number - 1] if 0 < number <= len(self._names) else None

    def text(self, number: int) -> str:
        name = self.name(number)
        if name is None:
            raise RequestMistake(f"there is no source {number}")
        return self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)


class Launching:
    """A launch or an attachment that a client asks for, and what has become of it; who changes it holds `changed`."""

    def __init__(self, can_launch: bool) -> None:
        self.changed: threading.Condition = threading.Condition()
        self.can_launch: bool = can_launch
        """Whether this process is there for the client: otherwise it is somebody's script that it attaches to."""
        self.was_asked: bool = False
        self.request: tuple[Asked, Message] | None = None
        """What nobody has looked at yet."""
        self.asked: Asked = Asked({}, "'launch'")
        """The arguments of what is launched."""
        self.is_configured: bool = False
        self.restarts: bool = False
        """Whether the launch can begin again."""
        self.again: Asked | None = None
        """It is to begin again, with these arguments."""
        self.wish: str = ""
        """What is to become of a launch of a script that is left: "skip", "next-launch", "detach"; "" for the end."""
        self.is_over: bool = False
        """The client has gone, or asked for the end."""
        self.is_disconnected: bool = False
        self.ends_program: bool = can_launch
        """Whether the end of the conversation is that of the program too."""
        self.end_program: Callable[[], None] | None = None
        """Ends a script that is not launching a kernel."""


class Stage:
    """A launch that is debugged, and what the client was told of it since it stopped."""

    def __init__(self, debugger: Debugger) -> None:
        self.debugger: Debugger = debugger
        self.stop: Stop | None = None
        """Where it stands; None as long as it has not stopped."""
        self.frames: Numbers[Frame] = Numbers()
        self.contents: Contents = Contents()
        self.targets: Numbers[tuple[int, int]] = Numbers()
        """Moments that the client may go to."""
        self.blocks: dict[int, Moment] = {}
        """The tile blocks that the client knows of as threads, and where they stand."""

    def forget(self) -> None:
        """The launch goes on: what was true is no longer."""
        self.stop = None
        self.frames.clear()
        self.contents.clear()
        self.targets.clear()


class Conversation:
    """The state that requests share."""

    def __init__(
        self, wire: Wire, started: Callable[[], None], stopped: Callable[[Stop, Job], None], can_launch: bool
    ) -> None:
        self.wire: Wire = wire
        self.ways: ClientWays = ClientWays(Asked({}, "'initialize'"))
        self.launching: Launching = Launching(can_launch)
        self.sources: Sources = Sources()
        self.runner: Runner = Runner(started, stopped)
        self.stage: Stage | None = None
        self.wishes: Wishes = Wishes()
        """Breakpoints, as the client asks for them."""
        self.commands: CommandTable = all_commands()
        """Those that the console takes."""
        self.displays: dict[int, tuple[str, str]] = {}
        """What the console shows at each stop."""
        self.history: ValueHistory = ValueHistory()
        """What the console has printed."""
        self.lock: threading.RLock = threading.RLock()
        """Held by who looks at the stage, and by who changes it."""

    def stopped(self) -> Stage:
        """The launch, which stands still."""
        stage = self.stage
        if stage is None:
            raise RequestMistake("no kernel is being launched", "notStopped")
        if self.runner.running or stage.stop is None:
            raise RequestMistake("the launch is running", "notStopped")
        return stage

    def leave(self, how: str) -> None:
        """Have a launch of a script run to its end, whatever there is to stop at."""
        with self.launching.changed:
            self.launching.wish = how
        self.runner.leave()

    def source(self, file: str) -> Message:
        """A file as the protocol has it."""
        number = self.sources.number(file)
        if number:
            return {"name": os.path.basename(file), "sourceReference": number, "origin": "the program as it is printed"}
        return {"name": os.path.basename(file), "path": self.ways.path(os.path.abspath(file))}

    def file(self, source: Asked) -> str:
        """The file that a client means."""
        number = source.count("sourceReference", 0)
        if number:
            name = self.sources.name(number)
            if name is None:
                raise RequestMistake(f"there is no source {number}")
            return name
        if source.has("path"):
            return self.ways.own_path(source.text("path"))
        if source.has("name"):
            return source.text("name")
        raise RequestMistake("a source has a 'path' or a 'sourceReference'")
