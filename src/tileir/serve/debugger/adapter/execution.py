"""Requests that begin, run and end the launch: forwards and backwards, to the next stop or by a step."""

from __future__ import annotations

from functools import partial
from typing import Final

from tileir.serve.debugger.adapter.launch_thread import Job
from tileir.serve.debugger.adapter.requests import DEFERRED, Arguments, BadRequest, Message, Reply, request
from tileir.serve.debugger.adapter.state import ClientFormat, Stage, State
from tileir.serve.debugger.session import How
from tileir.serve.debugger.stack import Frame
from tileir.serve.debugger.stops import Position, Stop

FILTERS: Final = (
    ("failure", "Failures", "Assertions that do not hold, accesses outside of arrays, and other errors of a launch."),
    ("sanitizer", "Sanitizer findings", "Races, reads of what was never written, and other errors; takes longer."),
    ("nan", "NaN and infinity", "The operation that makes a NaN or an infinity of numbers that are none."),
)

_SUPPORTED: Final = """
    supportTerminateDebuggee supportsBreakpointLocationsRequest supportsCancelRequest supportsClipboardContext
    supportsCompletionsRequest supportsConditionalBreakpoints supportsConfigurationDoneRequest
    supportsDataBreakpoints supportsDelayedStackTraceLoading supportsDisassembleRequest supportsEvaluateForHovers
    supportsExceptionFilterOptions supportsExceptionInfoRequest supportsFunctionBreakpoints
    supportsGotoTargetsRequest supportsHitConditionalBreakpoints supportsInstructionBreakpoints
    supportsLoadedSourcesRequest supportsLogPoints supportsModulesRequest supportsReadMemoryRequest
    supportsRestartFrame supportsRestartRequest supportsStepBack supportsSteppingGranularity
    supportsTerminateRequest supportsValueFormattingOptions
"""
CAPABILITIES: Final[Message] = {
    **dict.fromkeys(_SUPPORTED.split(), True),
    "exceptionBreakpointFilters": [
        {"filter": name, "label": label, "description": text, "default": name == "failure"}
        for name, label, text in FILTERS
    ],
    "completionTriggerCharacters": [".", "%", "_"],
}


@request("initialize")
def _initialize(state: State, given: Arguments, message: Message) -> Message:
    state.format = ClientFormat(given)
    return dict(CAPABILITIES)


@request("launch")
@request("attach")
def _begin(state: State, given: Arguments, message: Message) -> Reply:
    """The thread that has the program responds."""
    launch = state.launch
    is_launch = message.get("command") == "launch"
    if is_launch and not launch.can_launch:
        raise BadRequest("this is a script that waits for a debugger: attach to it")
    if not is_launch and launch.can_launch:
        raise BadRequest(
            "there is no script to attach to: attach to the address that tileir.debug or TILEIR_DEBUG listens at"
        )
    with launch.changed:
        if launch.is_sent:
            raise BadRequest("there is a launch already: a session has one")
        launch.is_sent = True
        launch.pending = (given, message)
        launch.changed.notify_all()
    return DEFERRED


@request("configurationDone")
def _configuration_done(state: State, given: Arguments, message: Message) -> Reply:
    def configured() -> None:
        with state.launch.changed:
            state.launch.is_configured = True
            state.launch.changed.notify_all()

    return Reply(then=configured)


@request("restart")
def _restart(state: State, given: Arguments, message: Message) -> Reply:
    """Launch once more, with the file read again."""
    if not state.launch.can_restart:
        raise BadRequest("a script cannot begin again in its process: end the session and start another")
    arguments = given.inner("arguments") if given.has("arguments") else None
    return Reply(then=lambda: state.restart(arguments))


@request("terminate")
def _terminate(state: State, given: Arguments, message: Message) -> Reply:
    return Reply(then=lambda: state.end(ends_program=True))


@request("disconnect")
def _disconnect(state: State, given: Arguments, message: Message) -> Reply:
    ends_program = given.flag("terminateDebuggee", state.launch.can_launch)

    def done() -> None:
        with state.launch.changed:
            state.launch.is_disconnected = True
        state.end(ends_program)

    return Reply(then=done)


@request("pause")
def _pause(state: State, given: Arguments, message: Message) -> Reply:
    return Reply(then=state.thread.pause)


@request("cancel")
def _cancel(state: State, given: Arguments, message: Message) -> None:
    if given.has("requestId"):
        state.cancel(given.number("requestId"))
    if given.has("progressId"):
        state.thread.pause()


def _running(state: State, stage: Stage, job: Job, body: Message | None = None) -> Reply:
    """The reply behind which a launch runs."""
    state.thread.announce()
    return Reply(body, then=lambda: state.run(stage, job))


@request("continue")
def _continue(state: State, given: Arguments, message: Message) -> Reply:
    stage = state.stopped()
    return _running(state, stage, Job(stage.debugger.resume, stage.debugger.resume), {"allThreadsContinued": True})


@request("reverseContinue")
def _reverse_continue(state: State, given: Arguments, message: Message) -> Reply:
    stage = state.stopped()
    resume = partial(stage.debugger.resume, reverse=True)
    return _running(state, stage, Job(resume, resume))


def _step(how: How, reverse: bool, state: State, given: Arguments, message: Message) -> Reply:
    stage = state.stopped()
    debugger = stage.debugger
    granularity = given.text("granularity", "statement")
    if granularity not in ("statement", "line", "instruction"):
        raise BadRequest(f"there is no granularity '{granularity}': use statement, line or instruction")
    thread = stage.blocks.get(given.number("threadId", 0) - 1, debugger.position)

    def step() -> Stop:
        if thread.block != debugger.position.block:
            # Another thread is stepped from where it stands.
            debugger.go_to(*thread)
        return debugger.step(how, reverse, "operation" if granularity == "instruction" else "line")

    # A step to the end stops there; one more ends the launch.
    return _running(state, stage, Job(step, stops_at_end=not debugger.finished))


request("next")(partial(_step, "over", False))
request("stepIn")(partial(_step, "into", False))
request("stepOut")(partial(_step, "out", False))
request("stepBack")(partial(_step, "over", True))


@request("restartFrame")
def _restart_frame(state: State, given: Arguments, message: Message) -> Reply:
    """Go back to where a frame began: the round of a loop, the branch, the tile block."""
    stage = state.stopped()
    frame = stage.find(given.number("frameId"), Frame, "this frame is")
    return _running(state, stage, Job(lambda: stage.debugger.go_to(frame.position.block, frame.since)))


@request("gotoTargets")
def _goto_targets(state: State, given: Arguments, message: Message) -> Message:
    """Where the tile block comes to a line: the next time, and the last time before."""
    stage = state.stopped()
    file, line = state.file(given.inner("source")), state.format.own_line(given.number("line"))
    line, before, behind = stage.debugger.visits(file, line)
    targets: list[Message] = []
    for text, step in (("the next time", behind), ("the last time before", before)):
        if step is not None:
            number = stage.add(Position(stage.debugger.position.block, step))
            label = f"line {line}, {text} (step {step})"
            targets.append({"id": number, "label": label, "line": state.format.line(line)})
    return {"targets": targets}


@request("goto")
def _goto(state: State, given: Arguments, message: Message) -> Reply:
    stage = state.stopped()
    there = stage.find(given.number("targetId"), Position, "this position is")
    return _running(state, stage, Job(lambda: stage.debugger.go_to(*there)))
