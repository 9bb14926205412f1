"""Requests about the conversation itself: how it begins, what is launched, how it ends."""

from __future__ import annotations

from typing import Final

from tileir.serve.debugger.adapter.asked import Asked, RequestMistake
from tileir.serve.debugger.adapter.conversation import ClientWays, Conversation
from tileir.serve.debugger.adapter.dispatch import DEFERRED, Answer, Deferred
from tileir.serve.debugger.adapter.wire import Message

FILTERS: Final = (
    ("failure", "Failures", "Assertions that do not hold, accesses outside of arrays, and other errors of a launch."),
    ("sanitizer", "Sanitizer findings", "Races, reads of what was never written, and other mistakes; takes longer."),
    ("nan", "NaN and infinity", "The operation that makes a NaN or an infinity of numbers that are none."),
)

CAPABILITIES: Final[Message] = {
    "supportsConfigurationDoneRequest": True,
    "supportsFunctionBreakpoints": True,
    "supportsConditionalBreakpoints": True,
    "supportsHitConditionalBreakpoints": True,
    "supportsEvaluateForHovers": True,
    "exceptionBreakpointFilters": [
        {"filter": name, "label": label, "description": words, "default": name == "failure"}
        for name, label, words in FILTERS
    ],
    "supportsStepBack": True,
    "supportsRestartFrame": True,
    "supportsGotoTargetsRequest": True,
    "supportsCompletionsRequest": True,
    "completionTriggerCharacters": [".", "%", "_"],
    "supportsModulesRequest": True,
    "supportsRestartRequest": True,
    "supportsValueFormattingOptions": True,
    "supportsExceptionInfoRequest": True,
    "supportTerminateDebuggee": True,
    "supportsDelayedStackTraceLoading": True,
    "supportsLoadedSourcesRequest": True,
    "supportsLogPoints": True,
    "supportsTerminateRequest": True,
    "supportsDataBreakpoints": True,
    "supportsReadMemoryRequest": True,
    "supportsDisassembleRequest": True,
    "supportsCancelRequest": True,
    "supportsBreakpointLocationsRequest": True,
    "supportsSteppingGranularity": True,
    "supportsInstructionBreakpoints": True,
    "supportsExceptionFilterOptions": True,
    "supportsClipboardContext": True,
}


def initialize(state: Conversation, asked: Asked, request: Message) -> Answer:
    state.ways = ClientWays(asked)
    return Answer(dict(CAPABILITIES))


def begin(state: Conversation, asked: Asked, request: Message) -> Deferred:
    """`launch` or `attach`: whoever has the program answers."""
    launching = state.launching
    wants_launch = request.get("command") == "launch"
    if wants_launch and not launching.can_launch:
        raise RequestMistake("this is a script that waits for a debugger: attach to it")
    if not wants_launch and launching.can_launch:
        raise RequestMistake(
            "there is no script to attach to: attach to the address that tileir.debug or TILEIR_DEBUG listens at"
        )
    with launching.changed:
        if launching.was_asked:
            raise RequestMistake("there is a launch already: a session has one")
        launching.was_asked = True
        launching.request = (asked, request)
        launching.changed.notify_all()
    return DEFERRED


def configuration_done(state: Conversation, asked: Asked, request: Message) -> Answer:
    def configured() -> None:
        with state.launching.changed:
            state.launching.is_configured = True
            state.launching.changed.notify_all()

    return Answer(then=configured)


def restart(state: Conversation, asked: Asked, request: Message) -> Answer:
    """The launch once more, its file read again."""
    if not state.launching.restarts:
        raise RequestMistake("a script cannot begin again in its process: end the session and start another")
    given = asked.inner("arguments") if asked.has("arguments") else None
    return Answer(then=lambda: begin_again(state, given))


def begin_again(state: Conversation, given: Asked | None) -> None:
    launching = state.launching
    with launching.changed:
        launching.again = given if given is not None else launching.asked
        launching.changed.notify_all()
    state.runner.leave()


def terminate(state: Conversation, asked: Asked, request: Message) -> Answer:
    return Answer(then=lambda: end(state, ends_program=True))


def disconnect(state: Conversation, asked: Asked, request: Message) -> Answer:
    ends_program = asked.flag("terminateDebuggee", state.launching.can_launch)

    def done() -> None:
        with state.launching.changed:
            state.launching.is_disconnected = True
        end(state, ends_program)

    return Answer(then=done)


def end(state: Conversation, ends_program: bool) -> None:
    """The client wants no more of this launch."""
    launching = state.launching
    with launching.changed:
        if not launching.is_over:
            launching.ends_program = ends_program
        launching.is_over = True
        launching.changed.notify_all()
        end_program, launching.end_program = launching.end_program, None
    if state.stage is None and end_program is not None and launching.ends_program:
        end_program()
    state.runner.leave()


def pause(state: Conversation, asked: Asked, request: Message) -> Answer:
    return Answer(then=state.runner.pause)
