"""Requests that are typed: expressions to watch, the console with the commands of the terminal, completion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy

from tileir.execute.dtypes import element_of_dtype
from tileir.serve.debugger.adapter import life
from tileir.serve.debugger.adapter.asked import Asked, RequestMistake
from tileir.serve.debugger.adapter.contents import Elements, expression_of, part_of
from tileir.serve.debugger.adapter.conversation import Conversation, Stage
from tileir.serve.debugger.adapter.dispatch import Answer
from tileir.serve.debugger.adapter.going import run
from tileir.serve.debugger.adapter.looking import frame_of, operation_reference
from tileir.serve.debugger.adapter.runner import Job
from tileir.serve.debugger.adapter.wire import Message
from tileir.serve.debugger.evaluation import ExpressionMistake, Lookup
from tileir.serve.debugger.formats import formatted
from tileir.serve.debugger.moments import Stop
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.terminal.command_table import CommandMistake, split
from tileir.serve.debugger.terminal.completing import completions as completed
from tileir.serve.debugger.terminal.data import show_displays
from tileir.serve.debugger.terminal.shell import Shell

COMMAND_MARK: Final = "`"
"""Before a command whose name is also that of a value."""


class EditorHost:
    """The launch of an editor, for the commands of its console."""

    def __init__(self, state: Conversation, stage: Stage) -> None:
        self._state: Conversation = state
        self._stage: Stage = stage
        self.then: Callable[[], object] | None = None
        """What a command asks for that is done when it has been answered."""

    @property
    def debugger(self) -> Debugger | None:
        return self._stage.debugger

    @property
    def is_running(self) -> bool:
        return True

    @property
    def is_interactive(self) -> bool:
        return False

    def begin(self, stop_on_entry: bool) -> None:
        if not self._state.launching.restarts:
            raise CommandMistake("The script launches its kernels itself: restart the session.")
        self.then = lambda: life.begin_again(self._state, None)

    def perform(self, run_it: Callable[[], Stop], stops_at_end: bool) -> None:
        job = Job(run_it, stops_at_end=stops_at_end)
        self.then = lambda: run(self._state, self._stage, job)

    def leave(self, how: str) -> None:
        if how in ("quit", "kill"):
            self.then = lambda: life.end(self._state, ends_program=True)
        else:
            self.then = lambda: self._state.leave(how)

    def python(self) -> None:
        raise CommandMistake("Python's debugger is for a terminal: use your editor's.")


def evaluate(state: Conversation, asked: Asked, request: Message) -> Answer:
    expression = asked.text("expression")
    context = asked.text("context", "")
    hex = asked.inner("format").flag("hex")
    if context == "repl":
        return _typed(state, asked, expression, hex)
    stage = state.stopped()
    return Answer(_value(stage, asked, expression, hex, whole=context == "clipboard"))


def displayed(state: Conversation, stage: Stage) -> str:
    """What the console shows at each stop."""
    said: list[str] = []
    shell = Shell(EditorHost(state, stage), state.commands, said.append)
    shell.displays, shell.history = state.displays, state.history
    show_displays(shell)
    return "".join(said)


def _value(
    stage: Stage, asked: Asked, expression: str, hex: bool, whole: bool = False, more: Lookup | None = None
) -> Message:
    """What an expression gives; the name of a value gives it as the scopes show it."""
    frame = frame_of(stage, asked)
    debugger = stage.debugger
    text = expression.strip()
    own = debugger.variables(moment=frame.moment if frame is not None else None)
    for variable in [*own, *debugger.parameters(), *debugger.arrays()]:
        if text in (variable.name, expression_of(variable.name)) and not whole:
            shown = stage.contents.shown(variable, hex)
            found: Message = {"result": shown["value"], "type": variable.type_text}
            part = part_of(variable, expression_of(variable.name))
            if part is not None and "memoryReference" in shown:
                found["memoryReference"] = shown["memoryReference"]
            for key in ("variablesReference", "indexedVariables", "presentationHint"):
                if key in shown:
                    found[key] = shown[key]
            return found
    result = debugger.evaluate(text, frame, more)
    value = result.value
    found = {"result": result.shown, "type": result.type_text, "variablesReference": 0}
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        element = element_of_dtype(value.dtype)
        if element is not None:
            array = numpy.asarray(value)
            if whole:
                found["result"] = numpy.array2string(array, threshold=array.size + 1, separator=", ")
            elif array.ndim:
                elements = Elements(f"({text})", element, array)
                found |= stage.contents.reference(elements)
                if hex:
                    found["result"] = elements.text(hex)
            elif hex:
                found["result"] = formatted(element, array, "x")[0]
    elif isinstance(value, int) and hex:
        found["result"] = f"{value:#x}"
    return found


def _typed(state: Conversation, asked: Asked, text: str, hex: bool) -> Answer:
    """What is typed in the console: an expression, or else a command of the terminal's debugger."""
    stage = state.stopped()
    is_command = text.startswith(COMMAND_MARK)
    if not is_command:
        try:
            return Answer(_value(stage, asked, text, hex, more=state.history.find))
        except ExpressionMistake as error:
            refused = error
        try:
            state.commands.find(split(text)[0])
        except CommandMistake as unknown:
            if " " in text.strip() or not text.strip().isidentifier():
                raise refused from None
            raise RequestMistake(f"{refused.message}; and as a command: {unknown}") from None
    said: list[str] = []
    host = EditorHost(state, stage)
    shell = Shell(host, state.commands, said.append)
    shell.displays, shell.history = state.displays, state.history
    if not shell.execute(text.removeprefix(COMMAND_MARK), typed=False):
        raise RequestMistake("".join(said).strip())
    return Answer({"result": "".join(said).rstrip("\n"), "variablesReference": 0}, then=host.then)


def completions(state: Conversation, asked: Asked, request: Message) -> Answer:
    text = asked.text("text")
    end = max(state.ways.own_column(asked.number("column")) - 1, 0)
    line = text.split("\n")[0][:end]
    stage = state.stage
    if stage is None or state.runner.running:
        return Answer({"targets": []})
    shell = Shell(EditorHost(state, stage), state.commands, lambda _: None)
    word = _last_word(line)
    found: list[Message] = []
    start = state.ways.column(len(line) - len(word) + 1)
    for name in _values(stage):
        if name.startswith(word):
            found.append({"label": name, "type": "variable", "start": start, "length": len(word)})
    if (line.strip() and " " in line) or line == word:
        found += [
            {"label": name, "type": "keyword", "start": start, "length": len(word)}
            for name in completed(shell, line.removeprefix(COMMAND_MARK))
            if name.startswith(word)
        ]
    labels: dict[object, Message] = {}
    for one in found:
        labels.setdefault(one["label"], one)
    return Answer({"targets": list(labels.values())[:200]})


def _values(stage: Stage) -> list[str]:
    debugger = stage.debugger
    names = [variable.name for variable in [*debugger.variables(), *debugger.parameters()]]
    plain = [name.removeprefix("%") for name in names]
    return [*dict.fromkeys([*names, *plain, *[array.name for array in debugger.recording.arrays]])]


def _last_word(line: str) -> str:
    end = len(line)
    while end and (line[end - 1].isalnum() or line[end - 1] in "_%$-"):
        end -= 1
    return line[end:]


def disassemble(state: Conversation, asked: Asked, request: Message) -> Answer:
    """The operations of the kernel around one: instructions, as far as the protocol is concerned."""
    stage = state.stopped()
    reference = asked.text("memoryReference")
    try:
        base = int(reference, 16)
    except ValueError:
        raise RequestMistake(f"there is no operation '{reference}'") from None
    count = min(asked.count("instructionCount"), 10_000)
    first = base + asked.number("offset", 0) + asked.number("instructionOffset", 0)
    return Answer({"instructions": [_instruction(state, stage, first + place) for place in range(count)]})


def _instruction(state: Conversation, stage: Stage, number: int) -> Message:
    debugger = stage.debugger
    program = debugger.recording.program
    if not 0 <= number < len(program.operations):
        # The client asks for a fixed number of them, also before the first.
        address = operation_reference(number) if number >= 0 else f"-{-number:#x}"
        return {"address": address, "instruction": "", "presentationHint": "invalid"}
    indentation = "  " * program.depths[number]
    found: Message = {"address": operation_reference(number), "instruction": indentation + program.text(number)}
    place = debugger.lines.place(number)
    if place is not None:
        found["location"] = state.source(place.file)
        found["line"] = state.ways.line(place.line)
        found["column"] = state.ways.column(place.column)
    return found
