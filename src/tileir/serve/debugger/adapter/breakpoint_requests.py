"""Requests about breakpoints: what the client sets is kept, and placed in each launch."""

from __future__ import annotations

from typing import Any, Final

from tileir.serve.debugger.adapter.execution import FILTERS
from tileir.serve.debugger.adapter.inspection import Node, operation_number
from tileir.serve.debugger.adapter.requests import Arguments, BadRequest, Message, request
from tileir.serve.debugger.adapter.state import BreakpointKind, ClientBreakpoint, State
from tileir.serve.debugger.breakpoints import AccessKind, BreakpointSpec, Kind
from tileir.serve.debugger.stops import Event

_EVENTS: Final[dict[str, Event]] = {"failure": "failure", "sanitizer": "sanitizer", "nan": "nan"}
_ACCESSES: Final[dict[str, AccessKind]] = {"write": "write", "read": "read", "readWrite": "readWrite"}


def _set(state: State, kind: BreakpointKind, specs: list[BreakpointSpec], file: str = "") -> Message:
    with state.thread.hold(), state.lock:
        debugger = state.stage.debugger if state.stage is not None else None
        found = state.breakpoints.replace(kind, file, specs, debugger)
        return {"breakpoints": [breakpoint_message(state, one) for one in found]}


def breakpoint_message(state: State, one: ClientBreakpoint) -> Message:
    """A breakpoint as the protocol has it."""
    placed = one.placed
    found: Message = {"id": one.number, "verified": placed is not None and placed.is_verified}
    text = placed.message if placed is not None else "placed when a kernel is launched"
    if text:
        found["message"] = text
    if placed is not None and placed.location is not None:
        found |= state.location(placed.location)
    elif one.kind == "line":
        found |= {"source": state.source(str(one.spec.what)), "line": state.format.line(one.spec.line)}
    if one.kind == "instruction" and found["verified"]:
        found["instructionReference"] = f"{int(str(one.spec.what)):#x}"
    return found


def _spec(given: Arguments, kind: Kind, what: str, **more: Any) -> BreakpointSpec:
    condition, hits = given.text("condition", ""), given.text("hitCondition", "")
    return BreakpointSpec(kind, what, condition=condition, hit_condition=hits, log=given.text("logMessage", ""), **more)


@request("setBreakpoints")
def _set_breakpoints(state: State, given: Arguments, message: Message) -> Message:
    file = state.file(given.inner("source"))
    breakpoints = given.objects("breakpoints")
    if not breakpoints and isinstance(given.given.get("lines"), list):
        breakpoints = [Arguments({"line": line}, "'lines'") for line in given.given["lines"]]
    specs = [_spec(one, "line", file, line=state.format.own_line(one.number("line"))) for one in breakpoints]
    for spec, one in zip(specs, breakpoints, strict=True):
        spec.column = state.format.own_column(one.number("column")) if one.has("column") else 0
    return _set(state, "line", specs, file)


@request("setFunctionBreakpoints")
def _set_function_breakpoints(state: State, given: Arguments, message: Message) -> Message:
    """Kernels, operations by mnemonic, values by name, tile blocks as `block 3`."""
    specs: list[BreakpointSpec] = []
    for one in given.objects("breakpoints"):
        name = one.text("name")
        kind: Kind = "block" if name.startswith("block ") else "operation"
        specs.append(_spec(one, kind, name.removeprefix("block ")))
    return _set(state, "function", specs)


@request("setInstructionBreakpoints")
def _set_instruction_breakpoints(state: State, given: Arguments, message: Message) -> Message:
    specs: list[BreakpointSpec] = []
    for one in given.objects("breakpoints"):
        number = operation_number(one.text("instructionReference")) + one.number("offset", 0)
        specs.append(_spec(one, "operation", str(number)))
    return _set(state, "instruction", specs)


@request("setDataBreakpoints")
def _set_data_breakpoints(state: State, given: Arguments, message: Message) -> Message:
    specs: list[BreakpointSpec] = []
    for one in given.objects("breakpoints"):
        access = one.choice("accessType", "write", tuple(_ACCESSES))
        specs.append(_spec(one, "data", one.text("dataId"), access=_ACCESSES[access]))
    return _set(state, "data", specs)


@request("dataBreakpointInfo")
def _data_breakpoint_info(state: State, given: Arguments, message: Message) -> Message:
    """Whether something can be watched: elements of arrays, and values."""
    stage = state.stopped()
    name = given.text("name")
    watched = name.removeprefix("%")
    reference = given.number("variablesReference", 0)
    whole = stage.find(reference, Node, "these variables are").name if reference else ""
    if whole and name.startswith("["):
        watched = f"{whole[:-1]}, {name[1:]}" if whole.endswith("]") else f"{whole}{name}"
    breakpoints = stage.debugger.breakpoints
    with state.lock:
        tried = breakpoints.add("data", watched)
        breakpoints.remove(tried.number)
    if not tried.is_verified:
        return {"dataId": None, "description": tried.message or f"{name} cannot be watched"}
    return {"dataId": watched, "description": watched, "accessTypes": [*_ACCESSES], "canPersist": True}


@request("setExceptionBreakpoints")
def _set_exception_breakpoints(state: State, given: Arguments, message: Message) -> Message:
    names = [*given.texts("filters"), *[one.text("filterId") for one in given.objects("filterOptions")]]
    events = {event_named(name) for name in names}
    with state.thread.hold(), state.lock:
        state.breakpoints.stop_on = events
        if state.stage is not None:
            state.stage.debugger.stop_on = set(events)
    return {"breakpoints": [{"verified": True} for _ in names]}


def event_named(name: str) -> Event:
    if name not in _EVENTS:
        raise BadRequest(f"there is no filter '{name}': use {', '.join([known for known, _, _ in FILTERS])}")
    return _EVENTS[name]


@request("breakpointLocations")
def _breakpoint_locations(state: State, given: Arguments, message: Message) -> Message:
    if state.stage is None:
        return {"breakpoints": []}
    file = state.file(given.inner("source"))
    first = state.format.own_line(given.number("line"))
    last = state.format.own_line(given.number("endLine")) if given.has("endLine") else first
    low = (first, state.format.own_column(given.number("column")) if given.has("column") else 0)
    high = (last, state.format.own_column(given.number("endColumn")) if given.has("endColumn") else 1 << 53)
    lines = state.stage.debugger.lines
    found = [
        {"line": state.format.line(line), "column": state.format.column(column)}
        for line in lines.numbers_at(file, first, last)
        for column in lines.columns_at(file, line)
        if low <= (line, column) <= high
    ]
    return {"breakpoints": found}
