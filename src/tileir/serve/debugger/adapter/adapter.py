"""`Adapter`: a session with an editor, and the launches that are debugged in it."""

from __future__ import annotations

import threading
from typing import Final

from tileir.serve.debugger.adapter import execution, inspection
from tileir.serve.debugger.adapter.breakpoint_requests import breakpoint_message
from tileir.serve.debugger.adapter.console import SessionState
from tileir.serve.debugger.adapter.launch_thread import Job
from tileir.serve.debugger.adapter.requests import Arguments, Channel, Dispatcher, Message
from tileir.serve.debugger.adapter.state import Stage
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.source_lines import PRINTED
from tileir.serve.debugger.stops import Stop

REQUEST_MODULES: Final = (execution, inspection)
"""Imported for the requests that they define."""
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


class Adapter:
    """The debugger of an editor.  The thread that has the program calls the methods."""

    def __init__(self, channel: Channel, *, can_launch: bool) -> None:
        self.channel: Channel = channel
        self.state: SessionState = SessionState(channel, self._started, self._stopped, can_launch)
        dispatcher = Dispatcher(channel, self.state, self._gone)
        self.state.cancel = dispatcher.cancel
        self._timer: threading.Timer | None = None
        # The progress that the client shows, and how many there were.
        self._progress: str = ""
        self._runs: int = 0
        self._lock: threading.Lock = threading.Lock()
        dispatcher.start()

    def _gone(self) -> None:
        with self.state.launch.changed:
            self.state.launch.is_disconnected = True
        self.state.end(self.state.launch.can_launch)

    @property
    def is_over(self) -> bool:
        """Whether the client has gone, or ended the session."""
        return self.state.launch.is_over

    def wait_for_request(self) -> tuple[Arguments, Message] | None:
        """The request to launch or attach; None if the client ends the session before."""
        launch = self.state.launch
        with launch.changed:
            launch.changed.wait_for(lambda: launch.pending is not None or launch.is_over)
            found, launch.pending = launch.pending, None
            if found is not None:
                launch.arguments = found[0]
            return None if launch.is_over else found

    def refuse(self, request: Message, text: str) -> None:
        """The program cannot be launched; the client may try another."""
        with self.state.launch.changed:
            self.state.launch.is_sent = False
        self.channel.refuse(request, text)

    def accept(self, request: Message) -> bool:
        """Let the client set its breakpoints; False if it has gone meanwhile."""
        self.channel.event("initialized")
        launch = self.state.launch
        with launch.changed:
            launch.changed.wait_for(lambda: launch.is_configured or launch.is_over)
        self.channel.respond(request)
        return not launch.is_over

    def show(self, category: str, text: str) -> None:
        """Show the user a text: "stdout", "stderr", or "console" for the debugger's own messages."""
        self.channel.event("output", category=category, output=text)

    def end(self, status: int) -> None:
        """The program is over."""
        self.channel.event("exited", exitCode=status)
        self.channel.event("terminated")

    def wait_for_end(self) -> None:
        """Wait until the client disconnects."""
        launch = self.state.launch
        with launch.changed:
            launch.changed.wait_for(lambda: launch.is_disconnected or launch.restart is not None)

    # --- a launch ---

    def prepare(self, debugger: Debugger) -> None:
        """Take a launch: place breakpoints in it, and tell the client where they are."""
        state = self.state
        with state.lock:
            state.stage = Stage(debugger)
            state.printed = debugger.lines.text(PRINTED) or state.printed
            state.breakpoints.place_all(debugger)
            for one in state.breakpoints.all():
                self.channel.event("breakpoint", reason="changed", breakpoint=breakpoint_message(state, one))

    def debug(self, debugger: Debugger, stop_on_entry: bool) -> None:
        """Run a launch that was prepared as the client says, until it is at its end or the client leaves it."""
        try:
            self.state.thread.work(debugger, Job(lambda: debugger.start(stop_on_entry), debugger.resume))
        finally:
            with self.state.lock:
                self.state.stage = None

    def _started(self) -> None:
        if self.state.format.shows_progress:
            self._runs += 1
            self._timer = threading.Timer(_SLOW, self._show_progress, (f"run {self._runs}",))
            self._timer.daemon = True
            self._timer.start()

    def _show_progress(self, name: str) -> None:
        with self._lock:
            if self._timer is not None and name == f"run {self._runs}":
                self._progress = name
                self.channel.event("progressStart", progressId=name, title="The kernel is running", cancellable=True)

    def _end_progress(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._progress:
                self.channel.event("progressEnd", progressId=self._progress)
            self._timer, self._progress = None, ""

    def _stopped(self, stop: Stop, job: Job) -> None:
        self._end_progress()
        state = self.state
        stage = state.stage
        if stage is None or state.launch.is_over or state.launch.restart is not None:
            return
        if stop.reason == "end" and not job.stops_at_end:
            state.thread.leave()
            return
        with state.lock:
            # Before the client may request anything.
            displays = state.console.displays()
            stage.stop = stop
            self._update_threads(stage)
        if displays:
            self.show("console", displays)
        reason, description = _REASONS[stop.reason]
        hit = state.breakpoints.hit(stop)
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
