"""`Adapter`: one conversation with an editor, and the launches that are debugged in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tileir.serve.debugger.adapter import asking, breaking, going, life, looking
from tileir.serve.debugger.adapter.asked import Asked
from tileir.serve.debugger.adapter.conversation import Conversation, Stage
from tileir.serve.debugger.adapter.dispatch import Answer, Dispatcher, Handler
from tileir.serve.debugger.adapter.progress import Progress
from tileir.serve.debugger.adapter.runner import Job
from tileir.serve.debugger.adapter.wire import Message, Wire
from tileir.serve.debugger.lines import PRINTED
from tileir.serve.debugger.moments import Stop
from tileir.serve.debugger.session import Debugger

REQUESTS: Final[dict[str, Handler]] = {
    "initialize": life.initialize,
    "launch": life.begin,
    "attach": life.begin,
    "configurationDone": life.configuration_done,
    "restart": life.restart,
    "setBreakpoints": breaking.set_breakpoints,
    "setFunctionBreakpoints": breaking.set_function_breakpoints,
    "setInstructionBreakpoints": breaking.set_instruction_breakpoints,
    "setDataBreakpoints": breaking.set_data_breakpoints,
    "dataBreakpointInfo": breaking.data_breakpoint_info,
    "setExceptionBreakpoints": breaking.set_exception_breakpoints,
    "breakpointLocations": breaking.breakpoint_locations,
    "continue": going.continue_,
    "next": going.next_,
    "stepIn": going.step_in,
    "stepOut": going.step_out,
    "stepBack": going.step_back,
    "reverseContinue": going.reverse_continue,
    "restartFrame": going.restart_frame,
    "gotoTargets": going.goto_targets,
    "goto": going.goto,
    "threads": looking.threads,
    "stackTrace": looking.stack_trace,
    "scopes": looking.scopes,
    "variables": looking.variables,
    "source": looking.source,
    "loadedSources": looking.loaded_sources,
    "modules": looking.modules,
    "readMemory": looking.read_memory,
    "exceptionInfo": looking.exception_info,
    "evaluate": asking.evaluate,
    "completions": asking.completions,
    "disassemble": asking.disassemble,
}
# These are about those before them, or must not wait for them.
AT_ONCE: Final[dict[str, Handler]] = {
    "pause": life.pause,
    "terminate": life.terminate,
    "disconnect": life.disconnect,
}

_REASONS: Final = {
    "entry": ("entry", "Stopped at the beginning"),
    "beginning": ("entry", "Stopped at the beginning of the launch: nothing is before it"),
    "breakpoint": ("breakpoint", "Stopped at a breakpoint"),
    "data": ("data breakpoint", "Stopped at an access"),
    "step": ("step", "Stopped after a step"),
    "goto": ("goto", "Stopped at the place that was asked for"),
    "failure": ("exception", "Stopped at a failure"),
    "sanitizer": ("exception", "Stopped at a finding of the sanitizer"),
    "nan": ("exception", "Stopped where a NaN or an infinity is made"),
    "pause": ("pause", "Paused"),
    "limit": ("pause", "Stopped where the recording ends"),
    "end": ("step", "Stopped at the end of the launch"),
}


class Adapter:
    """The debugger of an editor.  The thread that has the program calls `wait_for_request`, `accept` and `debug`."""

    def __init__(self, wire: Wire, *, can_launch: bool) -> None:
        self.wire: Wire = wire
        self.state: Conversation = Conversation(wire, self._started, self._stopped, can_launch)
        self._progress: Progress = Progress(wire)
        at_once: dict[str, Handler] = {**AT_ONCE, "cancel": self._cancel}
        self._dispatcher: Dispatcher = Dispatcher(wire, self.state, REQUESTS, at_once, self._gone)

    def start(self) -> None:
        """Begin to answer."""
        self._dispatcher.start()

    def ends_by(self, end: Callable[[], None]) -> None:
        """What ends a program that is not launching a kernel when the client wants its end."""
        self.state.launching.end_program = end

    def _gone(self) -> None:
        with self.state.launching.changed:
            self.state.launching.is_disconnected = True
        life.end(self.state, self.state.launching.can_launch)

    def _cancel(self, state: Conversation, asked: Asked, request: Message) -> Answer:
        if asked.has("requestId"):
            self._dispatcher.cancel(asked.number("requestId"))
        if asked.has("progressId"):
            state.runner.pause()
        return Answer()

    # --- on the thread that has the program ---

    @property
    def is_over(self) -> bool:
        """Whether the client has gone, or asked for the end."""
        return self.state.launching.is_over

    def wait_for_request(self) -> tuple[Asked, Message] | None:
        """What is to be launched or attached to; None if the client wants nothing any more."""
        launching = self.state.launching
        with launching.changed:
            while launching.request is None and not launching.is_over:
                launching.changed.wait()
            found, launching.request = launching.request, None
            if found is not None:
                launching.asked = found[0]
            return None if launching.is_over else found

    def refuse(self, request: Message, words: str) -> None:
        """The program cannot be launched; the client may ask for another."""
        with self.state.launching.changed:
            self.state.launching.was_asked = False
        self.wire.refuse(request, words)

    def accept(self, request: Message) -> bool:
        """Have the client set its breakpoints; False if it has gone meanwhile."""
        self.wire.event("initialized")
        launching = self.state.launching
        with launching.changed:
            while not launching.is_configured and not launching.is_over:
                launching.changed.wait()
        self.wire.respond(request)
        return not launching.is_over

    def tell(self, category: str, text: str) -> None:
        """Show the person at the editor something: "stdout", "stderr", or "console" for the debugger's own words."""
        self.wire.event("output", category=category, output=text)

    def wait_for_end(self) -> None:
        """The program is over: until the client takes leave."""
        launching = self.state.launching
        with launching.changed:
            while not launching.is_disconnected and launching.again is None:
                launching.changed.wait()

    def prepare(self, debugger: Debugger) -> None:
        """Take a launch: its sources can be asked for, breakpoints are placed in it."""
        state = self.state
        with state.lock:
            state.stage = Stage(debugger)
            text = debugger.lines.text(PRINTED)
            if text is not None:
                state.sources.add(PRINTED, text)
            state.wishes.put(debugger)
            for wish in state.wishes.all():
                # Where it is, is known only now.
                self.wire.event("breakpoint", reason="changed", breakpoint=breaking.described(state, wish))

    def debug(self, debugger: Debugger, stop_on_entry: bool) -> None:
        """Run a launch that was prepared as the client says, until it is at its end or the client leaves it."""
        state = self.state
        try:
            state.runner.work(debugger, Job(lambda: debugger.start(stop_on_entry), debugger.resume))
        finally:
            with state.lock:
                state.stage = None

    def _started(self) -> None:
        if self.state.ways.shows_progress:
            self._progress.begin()

    def _stopped(self, stop: Stop, job: Job) -> None:
        self._progress.end()
        state = self.state
        stage = state.stage
        if stage is None or state.launching.is_over or state.launching.again is not None:
            return
        if stop.reason == "end" and not job.stops_at_end:
            # Nothing is left to stop at.
            state.runner.leave()
            return
        with state.lock:
            # Looked at before the client may ask for anything.
            shown = asking.displayed(state, stage) if state.displays else ""
            stage.stop = stop
            self._tell_threads(stage, stop)
        if shown:
            self.tell("console", shown)
        reason, words = _REASONS[stop.reason]
        if stop.reason == "breakpoint":
            kinds = state.wishes.kinds(stop.breakpoints)
            reason = next((f"{kind} breakpoint" for kind in ("function", "instruction") if kinds == {kind}), reason)
        self.wire.event(
            "stopped",
            reason=reason,
            description=words,
            text=stop.text or None,
            threadId=stop.moment.block + 1,
            allThreadsStopped=True,
            hitBreakpointIds=state.wishes.numbers(stop.breakpoints) or None,
        )

    def _tell_threads(self, stage: Stage, stop: Stop) -> None:
        blocks = {moment.block: moment for moment in stage.debugger.under_way()}
        for block in stage.blocks:
            if block not in blocks:
                self.wire.event("thread", reason="exited", threadId=block + 1)
        for block in blocks:
            if block not in stage.blocks:
                self.wire.event("thread", reason="started", threadId=block + 1)
        stage.blocks = blocks
