"""Requests that look at a launch which stands still: threads, frames, scopes, variables, sources, memory."""

from __future__ import annotations

import base64
from functools import partial
from typing import Final

from tileir.execute.locations.wording import parenthesized
from tileir.execute.schedule import block_at
from tileir.serve.debugger.adapter.asked import Asked, RequestMistake
from tileir.serve.debugger.adapter.contents import Facts, Listed, Part
from tileir.serve.debugger.adapter.conversation import Conversation, Stage
from tileir.serve.debugger.adapter.dispatch import Answer
from tileir.serve.debugger.adapter.wire import Message
from tileir.serve.debugger.moments import Moment
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.stack import Frame
from tileir.serve.debugger.variables import Variable

MOST_BYTES: Final = 1 << 24
"""Of memory that is read at once."""


_MOST_ACCESSES: Final = 100
"""Of a step that are told."""
_VERBS: Final = {"read": "reads", "write": "writes", "atomic": "updates"}


# --- threads: tile blocks ---


def threads(state: Conversation, asked: Asked, request: Message) -> Answer:
    stage = state.stage
    if stage is None or not stage.blocks:
        return Answer({"threads": [{"id": 1, "name": "the launch"}]})
    grid = stage.debugger.grid
    return Answer({"threads": [{"id": block + 1, "name": thread_name(block, grid)} for block in stage.blocks]})


def thread_name(block: int, grid: tuple[int, int, int]) -> str:
    return f"tile block {parenthesized(block_at(block, grid))}"


# --- frames ---


def stack_trace(state: Conversation, asked: Asked, request: Message) -> Answer:
    stage = state.stopped()
    # A thread that is unknown is one of before: the client is about to ask for those there are.
    frames = stage.debugger.stack(stage.blocks.get(asked.number("threadId", 0) - 1))
    start, levels = asked.count("startFrame", 0), asked.count("levels", 0)
    wanted = frames[start : start + levels] if levels else frames[start:]
    body = [_frame(state, stage, frame, start + place == 0) for place, frame in enumerate(wanted)]
    return Answer({"stackFrames": body, "totalFrames": len(frames)})


def _frame(state: Conversation, stage: Stage, frame: Frame, is_innermost: bool) -> Message:
    found: Message = {"id": stage.frames.add(frame), "name": frame.name, "line": 0, "column": 0, "canRestart": True}
    place = frame.place
    if place is not None:
        found["source"] = state.source(place.file)
        found["line"] = state.ways.line(place.line)
        found["column"] = state.ways.column(place.column)
        if is_innermost and place.end_line > place.line:
            found["endLine"] = state.ways.line(place.end_line)
    if is_innermost:
        found["instructionPointerReference"] = operation_reference(frame.operation)
    return found


def operation_reference(number: int) -> str:
    """How the client names an operation."""
    return f"{number:#x}"


def frame_of(stage: Stage, asked: Asked) -> Frame | None:
    """The frame that a request names; None where it names none."""
    if not asked.has("frameId"):
        return None
    found = stage.frames.find(asked.number("frameId"))
    if found is None:
        raise RequestMistake("this frame is gone: the launch has moved on")
    return found


# --- scopes and variables ---


def scopes(state: Conversation, asked: Asked, request: Message) -> Answer:
    stage = state.stopped()
    frame = frame_of(stage, asked)
    debugger = stage.debugger
    frames = debugger.stack(frame.moment if frame is not None else None)
    place = [one.name for one in frames].index(frame.name) if frame and frame.name in [f.name for f in frames] else 0
    found: list[Message] = []

    def add(name: str, part: Part, hint: str = "", expensive: bool = False) -> None:
        scope: Message = {"name": name, "variablesReference": stage.contents.add(part), "expensive": expensive}
        if hint:
            scope["presentationHint"] = hint
        found.append(scope)

    moment = frames[place].moment
    functions = debugger.functions(moment)
    if functions:
        add("Arguments", Listed(partial(debugger.parameters, moment)), "arguments")
    for number, (function, _) in enumerate(functions):
        words = f"Locals of {function}" if number else "Locals"
        add(words, Listed(partial(_locals, debugger, moment, number)), "" if number else "locals")
    for one in frames[place:]:
        own = one is frames[place]
        kind = "Expressions" if functions else "Values"
        words = kind if own else f"{kind} of {'the kernel' if one.kind == 'kernel' else one.name}"
        add(words, Listed(partial(debugger.values, one)), "locals" if own and not functions else "")
    loops = _loops(frames[place:])
    if loops:
        add("Loops", Facts(loops))
    if not functions:
        add("Parameters", Listed(debugger.parameters), "arguments")
    add("Arrays", Listed(debugger.arrays), expensive=_size(debugger) > MOST_BYTES)
    touched = debugger.accesses()
    if touched:
        add("Last step", Facts([(_VERBS[one.kind], one.shown.partition(" ")[2]) for one in touched[:_MOST_ACCESSES]]))
    return Answer({"scopes": found})


def _locals(debugger: Debugger, moment: Moment, number: int) -> list[Variable]:
    """The variables of a function of the script; 0 is the one that the tile block is in."""
    return debugger.functions(moment)[number][1]


def _size(debugger: Debugger) -> int:
    return sum([array.nbytes for array in debugger.recording.arrays])


def _loops(frames: list[Frame]) -> list[tuple[str, str]]:
    return [(frame.name.partition(" (")[0], frame.name.partition(" (")[2].rstrip(")")) for frame in frames[:-1]]


def variables(state: Conversation, asked: Asked, request: Message) -> Answer:
    stage = state.stopped()
    part = stage.contents.find(asked.number("variablesReference"))
    if part is None:
        raise RequestMistake("these variables are gone: the launch has moved on")
    which = asked.text("filter", "")
    if which not in ("", "indexed", "named"):
        raise RequestMistake(f"there is no filter '{which}': use indexed or named")
    start, count = asked.count("start", 0), asked.count("count", 0)
    hex = asked.inner("format").flag("hex")
    with state.lock:
        return Answer({"variables": stage.contents.children(part, which, start, count, hex)})


# --- sources ---


def source(state: Conversation, asked: Asked, request: Message) -> Answer:
    number = asked.count("sourceReference", 0) or asked.inner("source").count("sourceReference", 0)
    return Answer({"content": state.sources.text(number), "mimeType": "text/x-tileir"})


def loaded_sources(state: Conversation, asked: Asked, request: Message) -> Answer:
    names = dict.fromkeys(state.sources)
    if state.stage is not None:
        names |= dict.fromkeys(state.stage.debugger.lines.files)
    return Answer({"sources": [state.source(name) for name in names]})


def modules(state: Conversation, asked: Asked, request: Message) -> Answer:
    """The kernel that is launched."""
    stage = state.stage
    if stage is None:
        return Answer({"modules": [], "totalModules": 0})
    entry = stage.debugger.recording.program.entry
    module: Message = {"id": 1, "name": entry.symbol_name or "kernel", "isUserCode": True}
    files = [name for name in stage.debugger.lines.files if not state.sources.number(name)]
    if files:
        module["path"] = state.ways.path(files[0])
    return Answer({"modules": [module], "totalModules": 1})


# --- memory ---


def read_memory(state: Conversation, asked: Asked, request: Message) -> Answer:
    """Bytes of an array as it is now; where there are none any more, the client is told how many are missing."""
    stage = state.stopped()
    reference = asked.text("memoryReference")
    word, _, number = reference.partition(" ")
    arrays = stage.debugger.arrays()
    if word != "array" or not number.isdecimal() or int(number) >= len(arrays):
        raise RequestMistake(f"there is no memory '{reference}'")
    offset, count = asked.number("offset", 0), min(asked.count("count"), MOST_BYTES)
    data = arrays[int(number)].value.tobytes()
    found = data[max(offset, 0) : max(offset + count, 0)] if offset >= 0 else b""
    body: Message = {"address": f"{max(offset, 0):#x}", "data": base64.b64encode(found).decode("ascii")}
    if len(found) < count:
        body["unreadableBytes"] = count - len(found)
    return Answer(body)


# --- what went wrong ---


def exception_info(state: Conversation, asked: Asked, request: Message) -> Answer:
    stage = state.stopped()
    stop = stage.stop
    if stop is None or stop.reason not in ("failure", "sanitizer", "nan"):
        raise RequestMistake("the launch has not stopped at anything that is wrong")
    headline = stop.text.partition("\n")[0]
    return Answer(
        {
            "exceptionId": stop.reason,
            "description": stop.text,
            "breakMode": "always",
            "details": {"message": headline, "typeName": stop.reason, "stackTrace": stop.text},
        }
    )
