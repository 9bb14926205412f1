"""Requests about breakpoints: what the client asks for is kept, and placed in each launch."""

from __future__ import annotations

from typing import Final

from tileir.serve.debugger.adapter.asked import Asked, RequestMistake
from tileir.serve.debugger.adapter.conversation import Conversation
from tileir.serve.debugger.adapter.dispatch import Answer
from tileir.serve.debugger.adapter.life import FILTERS
from tileir.serve.debugger.adapter.wire import Message
from tileir.serve.debugger.adapter.wishes import Kind, Wish
from tileir.serve.debugger.breakpoints import AccessKind
from tileir.serve.debugger.moments import Event

_EVENTS: Final[dict[str, Event]] = {"failure": "failure", "sanitizer": "sanitizer", "nan": "nan"}
_ACCESSES: Final[dict[str, AccessKind]] = {"write": "write", "read": "read", "readWrite": "readWrite"}


def _set(state: Conversation, kind: Kind, file: str, wishes: list[Wish]) -> Answer:
    """Replace the breakpoints of a kind, and of a file where they are of lines."""
    with state.runner.rest(), state.lock:
        table = state.wishes
        table.replace(kind, file, wishes, state.stage.debugger if state.stage is not None else None)
        return Answer({"breakpoints": [described(state, wish) for wish in wishes]})


def described(state: Conversation, wish: Wish) -> Message:
    """A breakpoint as the protocol has it."""
    found: Message = {"id": wish.number, "verified": wish.is_verified}
    if wish.message:
        found["message"] = wish.message
    place = wish.place
    if place is not None:
        found["source"] = state.source(place.file)
        found["line"] = state.ways.line(place.line)
        found["column"] = state.ways.column(place.column)
    elif wish.kind == "line":
        found["source"] = state.source(wish.file)
        found["line"] = state.ways.line(wish.line)
    if wish.kind == "instruction" and wish.is_verified:
        found["instructionReference"] = wish.what
    return found


def _wish(state: Conversation, kind: Kind, asked: Asked, what: str = "", file: str = "", line: int = 0) -> Wish:
    return Wish(
        state.wishes.new_number(),
        kind,
        what,
        file,
        line,
        condition=asked.text("condition", ""),
        hit_condition=asked.text("hitCondition", ""),
        log=asked.text("logMessage", ""),
    )


def set_breakpoints(state: Conversation, asked: Asked, request: Message) -> Answer:
    file = state.file(asked.inner("source"))
    given = asked.objects("breakpoints")
    if not given and asked.has("lines"):
        given = [Asked({"line": line}, "'lines'") for line in asked.any("lines")]
    wishes = [_wish(state, "line", one, file=file, line=state.ways.own_line(one.number("line"))) for one in given]
    for wish, one in zip(wishes, given, strict=True):
        if one.has("column"):
            wish.column = state.ways.own_column(one.number("column"))
    return _set(state, "line", file, wishes)


def set_function_breakpoints(state: Conversation, asked: Asked, request: Message) -> Answer:
    """Kernels, operations by mnemonic, values by name, tile blocks as `block 3`."""
    wishes = [_wish(state, "function", one, what=one.text("name")) for one in asked.objects("breakpoints")]
    return _set(state, "function", "", wishes)


def set_instruction_breakpoints(state: Conversation, asked: Asked, request: Message) -> Answer:
    wishes: list[Wish] = []
    for one in asked.objects("breakpoints"):
        reference = one.text("instructionReference")
        try:
            number = int(reference, 16) + one.number("offset", 0)
        except ValueError:
            raise RequestMistake(f"there is no operation '{reference}'") from None
        wishes.append(_wish(state, "instruction", one, what=f"{number:#x}"))
    return _set(state, "instruction", "", wishes)


def set_data_breakpoints(state: Conversation, asked: Asked, request: Message) -> Answer:
    wishes: list[Wish] = []
    for one in asked.objects("breakpoints"):
        wish = _wish(state, "data", one, what=one.text("dataId"))
        access = one.text("accessType", "write")
        if access not in _ACCESSES:
            raise RequestMistake(f"there is no accessType '{access}': use {', '.join(_ACCESSES)}")
        wish.access = _ACCESSES[access]
        wishes.append(wish)
    return _set(state, "data", "", wishes)


def data_breakpoint_info(state: Conversation, asked: Asked, request: Message) -> Answer:
    """Whether something can be watched: elements of arrays, and values."""
    stage = state.stopped()
    name = asked.text("name")
    part = stage.contents.find(asked.number("variablesReference", 0)) if asked.has("variablesReference") else None
    whole = part.name if part is not None else ""
    wanted = name.removeprefix("%")
    if whole and name.startswith("["):
        wanted = f"{whole[:-1]}, {name[1:]}" if whole.endswith("]") else f"{whole}{name}"
    breakpoints = stage.debugger.breakpoints
    with state.lock:
        tried = breakpoints.add_change(wanted)
        breakpoints.remove(tried.number)
    if not tried.is_verified:
        return Answer({"dataId": None, "description": tried.message or f"{name} cannot be watched"})
    return Answer({"dataId": wanted, "description": wanted, "accessTypes": [*_ACCESSES], "canPersist": True})


def set_exception_breakpoints(state: Conversation, asked: Asked, request: Message) -> Answer:
    names = [*asked.texts("filters"), *[one.text("filterId") for one in asked.objects("filterOptions")]]
    wanted = {event_named(name) for name in names}
    with state.runner.rest(), state.lock:
        state.wishes.stop_on = wanted
        if state.stage is not None:
            state.stage.debugger.stop_on = set(state.wishes.stop_on)
    return Answer({"breakpoints": [{"verified": True} for _ in names]})


def event_named(name: str) -> Event:
    if name not in _EVENTS:
        raise RequestMistake(f"there is no filter '{name}': use {', '.join([known for known, _, _ in FILTERS])}")
    return _EVENTS[name]


def breakpoint_locations(state: Conversation, asked: Asked, request: Message) -> Answer:
    stage = state.stage
    if stage is None:
        return Answer({"breakpoints": []})
    file = state.file(asked.inner("source"))
    first = state.ways.own_line(asked.number("line"))
    last = state.ways.own_line(asked.number("endLine")) if asked.has("endLine") else first
    begins = state.ways.own_column(asked.number("column")) if asked.has("column") else 0
    ends = state.ways.own_column(asked.number("endColumn")) if asked.has("endColumn") else None
    lines = stage.debugger.lines
    found: list[Message] = []
    for line in lines.numbers_at(file, first, last):
        for column in lines.columns_at(file, line):
            if (line > first or column >= begins) and (ends is None or line < last or column <= ends):
                found.append({"line": state.ways.line(line), "column": state.ways.column(column)})
    return Answer({"breakpoints": found})
