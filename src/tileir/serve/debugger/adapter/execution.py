"""Requests that begin, run and end the launch, forwards and backwards, and that set where it stops."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from tileir.serve.debugger.adapter.inspection import InspectionRequests, Node, element_name, operation_number
from tileir.serve.debugger.adapter.launch_thread import Job
from tileir.serve.debugger.adapter.requests import DEFERRED, Arguments, BadRequest, Message, Reply, request
from tileir.serve.debugger.adapter.session import ClientFormat, Stage
from tileir.serve.debugger.breakpoints import ACCESS_KINDS, BreakpointSpec, Kind
from tileir.serve.debugger.history import Frame
from tileir.serve.debugger.session import How
from tileir.serve.debugger.stops import Event, Position, Stop

FILTERS: Final[tuple[tuple[Event, str, str], ...]] = (
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
    supportsLoadedSourcesRequest supportsLogPoints supportsReadMemoryRequest
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


def _spec(given: Arguments, kind: Kind, what: str, **more: Any) -> BreakpointSpec:
    condition, hits = given.text("condition", ""), given.text("hitCondition", "")
    return BreakpointSpec(kind, what, condition=condition, hit_condition=hits, log=given.text("logMessage", ""), **more)


def event_named(name: str) -> Event:
    for known, _, _ in FILTERS:
        if name == known:
            return known
    raise BadRequest(f"there is no filter '{name}': use {', '.join([known for known, _, _ in FILTERS])}")


class EditorSession(InspectionRequests):
    """A session with an editor, and the answers to all of its requests."""

    @request("initialize")
    def _initialize(self, given: Arguments) -> Message:
        self.format = ClientFormat(given)
        return dict(CAPABILITIES)

    @request("launch")
    @request("attach")
    def _begin(self, given: Arguments) -> Reply:
        """The thread that has the program responds."""
        is_launch = given.request.get("command") == "launch"
        if is_launch and not self.can_launch:
            raise BadRequest("this is a script that waits for a debugger: attach to it")
        if not is_launch and self.can_launch:
            where = "the address that tileir.debug or TILEIR_DEBUG listens at"
            raise BadRequest(f"there is no script to attach to: attach to {where}")
        if self.is_launched:
            raise BadRequest("there is a launch already: a session has one")
        self.is_launched = True
        self.launches.put(given)
        return DEFERRED

    @request("configurationDone")
    def _configuration_done(self, given: Arguments) -> Reply:
        return Reply(then=self.configured.set)

    @request("restart")
    def _restart(self, given: Arguments) -> Reply:
        """Launch once more, with the file read again."""
        if not self.can_restart:
            raise BadRequest("a script cannot begin again in its process: end the session and start another")
        arguments = given.inner("arguments") if given.has("arguments") else None
        return Reply(then=lambda: self.restart(arguments))

    @request("terminate")
    def _terminate(self, given: Arguments) -> Reply:
        return Reply(then=lambda: self.end(ends_program=True))

    @request("disconnect")
    def _disconnect(self, given: Arguments) -> Reply:
        ends_program = given.flag("terminateDebuggee", self.can_launch)
        return Reply(then=lambda: self.disconnect(ends_program))

    @request("pause")
    def _pause(self, given: Arguments) -> Reply:
        return Reply(then=self.thread.pause)

    @request("cancel")
    def _cancel(self, given: Arguments) -> None:
        if given.has("requestId"):
            self.requests.cancelled.add(given.number("requestId"))
        if given.has("progressId"):
            self.thread.pause()

    def _running(self, stage: Stage, job: Job, body: Message | None = None) -> Reply:
        """The reply after which a launch runs."""
        self.thread.announce()
        return Reply(body, then=lambda: self.run(stage, job))

    def _resume(self, given: Arguments, reverse: bool) -> Reply:
        stage = self.stopped()
        resume = partial(stage.debugger.resume, reverse=reverse)
        return self._running(stage, Job(resume, resume), None if reverse else {"allThreadsContinued": True})

    request("continue")(partial(_resume, reverse=False))
    request("reverseContinue")(partial(_resume, reverse=True))

    def _step(self, given: Arguments, how: How, reverse: bool) -> Reply:
        stage = self.stopped()
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
        return self._running(stage, Job(step, stops_at_end=not debugger.finished))

    request("next")(partial(_step, how="over", reverse=False))
    request("stepIn")(partial(_step, how="into", reverse=False))
    request("stepOut")(partial(_step, how="out", reverse=False))
    request("stepBack")(partial(_step, how="over", reverse=True))

    @request("restartFrame")
    def _restart_frame(self, given: Arguments) -> Reply:
        """Go back to where a frame began: the iteration of a loop, the branch, the tile block."""
        stage = self.stopped()
        frame = stage.find(given.number("frameId"), Frame, "this frame is")
        return self._running(stage, Job(lambda: stage.debugger.go_to(frame.position.block, frame.since)))

    @request("gotoTargets")
    def _goto_targets(self, given: Arguments) -> Message:
        """The positions at which the tile block reaches a line: the next one, and the last one before."""
        stage = self.stopped()
        file, line = self.file(given.inner("source")), self.format.own_line(given)
        line, before, behind = stage.debugger.visits(file, line)
        steps = {"the next time": behind, "the last time before": before}
        block, shown = stage.debugger.position.block, self.format.line(line)
        targets = [
            {"id": stage.add(Position(block, step)), "label": f"line {line}, {text} (step {step})", "line": shown}
            for text, step in steps.items()
            if step is not None
        ]
        return {"targets": targets}

    @request("goto")
    def _goto(self, given: Arguments) -> Reply:
        stage = self.stopped()
        there = stage.find(given.number("targetId"), Position, "this position is")
        return self._running(stage, Job(lambda: stage.debugger.go_to(*there)))

    def _set(self, kind: str, specs: list[BreakpointSpec], file: str = "") -> Message:
        with self.thread.hold(), self.lock:
            placed = self.breakpoints.replace((kind, file), specs)
            return {"breakpoints": [self.breakpoint_message(one) for one in placed]}

    @request("setBreakpoints")
    def _set_breakpoints(self, given: Arguments) -> Message:
        file = self.file(given.inner("source"))
        breakpoints = given.objects("breakpoints")
        if not breakpoints and isinstance(given.given.get("lines"), list):
            breakpoints = [Arguments({"line": line}, "'lines'") for line in given.given["lines"]]
        form = self.format
        specs = [_spec(one, "line", file, line=form.own_line(one), column=form.own_column(one)) for one in breakpoints]
        return self._set("line", specs, file)

    @request("setFunctionBreakpoints")
    def _set_function_breakpoints(self, given: Arguments) -> Message:
        """Kernels, operations by mnemonic, values by name, tile blocks as `block 3`."""
        named = [(one, one.text("name")) for one in given.objects("breakpoints")]
        specs = [
            _spec(one, "block" if name.startswith("block ") else "operation", name.removeprefix("block "))
            for one, name in named
        ]
        return self._set("function", specs)

    @request("setInstructionBreakpoints")
    def _set_instruction_breakpoints(self, given: Arguments) -> Message:
        def number(one: Arguments) -> int:
            return operation_number(one.text("instructionReference")) + one.number("offset", 0)

        specs = [_spec(one, "operation", str(number(one))) for one in given.objects("breakpoints")]
        return self._set("instruction", specs)

    @request("setDataBreakpoints")
    def _set_data_breakpoints(self, given: Arguments) -> Message:
        specs = [
            _spec(one, "data", one.text("dataId"), access=one.choice("accessType", "write", ACCESS_KINDS))
            for one in given.objects("breakpoints")
        ]
        return self._set("data", specs)

    @request("dataBreakpointInfo")
    def _data_breakpoint_info(self, given: Arguments) -> Message:
        """Whether something can be watched: elements of arrays, and values."""
        stage = self.stopped()
        name = given.text("name")
        reference = given.number("variablesReference", 0)
        whole = stage.find(reference, Node, "these variables are").name if reference else ""
        watched = element_name(whole, name) if whole and name.startswith("[") else name.removeprefix("%")
        breakpoints = stage.debugger.breakpoints
        with self.lock:
            tried = breakpoints.add("data", watched)
            breakpoints.pop(tried.number, None)
        if not tried.is_verified:
            return {"dataId": None, "description": tried.message or f"{name} cannot be watched"}
        return {"dataId": watched, "description": watched, "accessTypes": [*ACCESS_KINDS], "canPersist": True}

    @request("setExceptionBreakpoints")
    def _set_exception_breakpoints(self, given: Arguments) -> Message:
        names = [*given.texts("filters"), *[one.text("filterId") for one in given.objects("filterOptions")]]
        events = {event_named(name) for name in names}
        with self.thread.hold(), self.lock:
            self.stop_on = events
            if self.stage is not None:
                self.stage.debugger.stop_on = set(events)
        return {"breakpoints": [{"verified": True} for _ in names]}

    @request("breakpointLocations")
    def _breakpoint_locations(self, given: Arguments) -> Message:
        if self.stage is None:
            return {"breakpoints": []}
        file = self.file(given.inner("source"))
        form, first = self.format, self.format.own_line(given)
        last = form.own_line(given, "endLine") if given.has("endLine") else first
        low, high = (first, form.own_column(given)), (last, form.own_column(given, "endColumn", 1 << 53))
        lines = self.stage.debugger.lines
        columns = [(line, one) for line in lines.numbers_at(file, first, last) for one in lines.columns_at(file, line)]
        chosen = [(line, column) for line, column in columns if low <= (line, column) <= high]
        return {"breakpoints": [{"line": form.line(line), "column": form.column(column)} for line, column in chosen]}
