"""Requests about a launch that is stopped: threads, frames, variables, expressions, sources, memory, operations."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.locations.wording import parenthesized
from tileir.execute.recording.tiles import statistics_of
from tileir.execute.schedule import block_at
from tileir.ir.types import IntegerType, Type
from tileir.serve.debugger.adapter.requests import Arguments, BadRequest, Message, Reply, request
from tileir.serve.debugger.adapter.session import Session, Stage
from tileir.serve.debugger.expressions import BadExpression, Lookup
from tileir.serve.debugger.history import Frame
from tileir.serve.debugger.inspection import Variable
from tileir.serve.debugger.source_lines import PRINTED
from tileir.serve.debugger.terminal.shell import COMMANDS, BadCommand, split
from tileir.serve.debugger.values import FIRST_ELEMENTS, array_type, formatted, numbers_text

_MOST: Final = 10_000  # Children that are sent at once.
_COMMAND_MARK: Final = "`"  # Before a command whose name is also that of a value.
_LAST_WORD: Final = re.compile(r"[\w%$-]*$")
_MOST_BYTES: Final = 1 << 24  # Of memory that is read at once.
_MOST_ACCESSES: Final = 100  # Of a step that are shown.
Find = Callable[[], Sequence[Variable | tuple[str, str]]]


@dataclass(eq=False)
class Node:
    """Something with named children: variables, or rows of text, that are looked up when it is opened."""

    find: Find
    indexed: int = field(default=0, kw_only=True)  # How many indexed children it has.
    name: str = field(default="", kw_only=True)  # What expressions call it; empty if they cannot.

    def elements(self, stage: Stage, start: int, end: int, hex: bool) -> list[Message]:
        return []

    def children(self, stage: Stage, which: str, start: int, count: int, hex: bool) -> list[Message]:
        """`which` is "indexed", "named" or empty for both."""
        found = [
            variable_message(stage, one, hex) if isinstance(one, Variable) else message_of(*one)
            for one in (self.find() if which != "indexed" else ())
        ]
        if which == "named":
            return found[start : start + count] if count else found[start:]
        end = min(start + (count or _MOST), self.indexed)
        return found + (self.elements(stage, start, end, hex) if start < end else [])


class Elements(Node):
    """A tile or an array: its statistics and its elements, by rows where it has several dimensions."""

    def __init__(self, name: str, element: Type, array: Array, *, is_row: bool = False) -> None:
        find = (list) if is_row else partial(_statistics, element, array)
        super().__init__(find, indexed=array.shape[0] if array.ndim else 0, name=name)
        self._element, self._array = element, array

    def reference(self, stage: Stage) -> Message:
        """What leads a client to the children."""
        indexed = {"indexedVariables": self.indexed} if self.indexed else {}
        return {"variablesReference": stage.add(self), **indexed}

    def text(self, hex: bool) -> str:
        if not hex:
            return numbers_text(self._element, self._array)
        first = formatted(self._element, self._array.reshape(-1)[:FIRST_ELEMENTS], "x")
        return f"[{', '.join(first)}{', ..' if self._array.size > FIRST_ELEMENTS else ''}]"

    def elements(self, stage: Stage, start: int, end: int, hex: bool) -> list[Message]:
        if self._array.ndim == 1:
            texts = formatted(self._element, self._array[start:end], "x" if hex else "")
            rows = [(f"[{number}]", text) for number, text in enumerate(texts, start)]
            type = self._element.spelling
            return [message_of(index, text, type, element_name(self.name, index)) for index, text in rows]
        type = array_type(self._array.shape[1:], self._element.spelling)
        found: list[Message] = []
        for number in range(start, end):
            index = f"[{number}]"
            row = Elements(element_name(self.name, index), self._element, self._array[number], is_row=True)
            found.append(message_of(index, row.text(hex), type, row.name) | row.reference(stage))
        return found


def element_name(whole: str, index: str) -> str:
    """The name of an element by that of an array or a row, which is empty where expressions cannot name it."""
    return f"{whole[:-1]}, {index[1:]}" if whole.endswith("]") else f"{whole}{index}" if whole else ""


def _statistics(element: Type, array: Array) -> list[tuple[str, str]]:
    shape = ("shape", str(list(array.shape)))
    if not array.size:
        return [shape]
    if isinstance(element, IntegerType) and element.width == 1:
        return [shape, ("true", f"{int(numpy.count_nonzero(array))} of {array.size}")]
    found = statistics_of(element, array, 0)
    names = (("minimum", "least"), ("maximum", "most"), ("mean", "mean"), ("deviation", "deviation"))
    rows = [(name, f"{found[key]:.9g}") for name, key in names if found[key] is not None]
    return [shape, *rows, ("NaN", str(found["nan"])), ("infinite", str(found["infinite"]))]


def message_of(name: str, text: str, type: str = "", evaluate_name: str = "") -> Message:
    hint = {"attributes": ["readOnly"]}
    found: Message = {"name": name, "value": text, "variablesReference": 0, "presentationHint": hint}
    return found | {key: word for key, word in (("type", type), ("evaluateName", evaluate_name)) if word}


def variable_message(stage: Stage, variable: Variable, hex: bool = False) -> Message:
    name, numbers = expression_name(variable.name), variable.numbers
    text, node = variable.text, None
    if numbers is not None and (variable.array is not None or numbers[1].ndim):
        node = Elements(name, *numbers)
        text = node.text(True) if hex else text
    elif hex and numbers is not None:
        text = formatted(*numbers, "x")[0]
    elif hex and isinstance(variable.value, int):
        text = f"{variable.value:#x}"
    found = message_of(variable.name, text, variable.type_text, name)
    if node is not None:
        found |= node.reference(stage)
    if variable.array is not None:
        found["memoryReference"] = f"array {variable.array.number}"
    return found


def expression_name(name: str) -> str:
    plain = name.removeprefix("%")
    return plain if plain.isidentifier() else name


def frame_of(stage: Stage, given: Arguments) -> Frame | None:
    """The frame that a request names; None where it names none."""
    return stage.find(given.number("frameId"), Frame, "this frame is") if given.has("frameId") else None


def operation_number(reference: str) -> int:
    try:
        return int(reference, 16)
    except ValueError:
        raise BadRequest(f"there is no operation '{reference}'") from None


def _value(
    stage: Stage, given: Arguments, text: str, hex: bool, whole: bool = False, more: Lookup | None = None
) -> Message:
    """The value of an expression; the name of a value shows it as the scopes do, unless all elements are `whole`."""
    frame, debugger, text = frame_of(stage, given), stage.debugger, text.strip()
    known = []
    if not whole:
        position = frame.position if frame is not None else None
        known = [*debugger.variables(position=position), *debugger.parameters(), *debugger.arrays()]
    variable = next((one for one in known if text in (one.name, expression_name(one.name))), None)
    if variable is None:
        variable = debugger.evaluate(text, frame, more)
        variable.name = f"({text})"
    shown = variable_message(stage, variable, hex)
    keys = ("variablesReference", "indexedVariables", "presentationHint", "memoryReference")
    found: Message = {"result": shown["value"], "type": variable.type_text}
    if whole and variable.numbers is not None:
        array = variable.numbers[1]
        found["result"] = numpy.array2string(array, threshold=array.size + 1, separator=", ")
    return found | {key: shown[key] for key in keys if key in shown}


class InspectionRequests(Session):
    """Requests about a launch that is stopped."""

    @request("threads")
    def _threads(self, given: Arguments) -> Message:
        """Tile blocks."""
        stage = self.stage
        if stage is None or not stage.blocks:
            return {"threads": [{"id": 1, "name": "the launch"}]}
        indices = {block: parenthesized(block_at(block, stage.debugger.grid)) for block in stage.blocks}
        return {"threads": [{"id": block + 1, "name": f"tile block {index}"} for block, index in indices.items()]}

    @request("stackTrace")
    def _stack_trace(self, given: Arguments) -> Message:
        stage = self.stopped()
        # An unknown thread is an old one: the client is about to request the new ones.
        frames = stage.debugger.stack(stage.blocks.get(given.number("threadId", 0) - 1))
        start, levels = given.number("startFrame", 0, 0), given.number("levels", 0, 0)
        found: list[Message] = []
        for number, frame in list(enumerate(frames))[start : start + levels if levels else None]:
            one: Message = {"id": stage.add(frame), "name": frame.name, "line": 0, "column": 0, "canRestart": True}
            one |= self.location(frame.location)
            if number == 0:
                one["instructionPointerReference"] = f"{frame.operation:#x}"
                if frame.location is not None and frame.location.end_line > frame.location.line:
                    one["endLine"] = self.format.line(frame.location.end_line)
            found.append(one)
        return {"stackFrames": found, "totalFrames": len(frames)}

    @request("scopes")
    def _scopes(self, given: Arguments) -> Message:
        stage = self.stopped()
        frame, debugger = frame_of(stage, given), stage.debugger
        frames = debugger.stack(frame.position if frame is not None else None)
        names = [one.name for one in frames]
        frames = frames[names.index(frame.name) if frame is not None and frame.name in names else 0 :]
        position = frames[0].position
        functions = debugger.functions(position)
        found: list[Message] = []

        def add(name: str, find: Find, hint: str = "", expensive: bool = False) -> None:
            scope: Message = {"name": name, "variablesReference": stage.add(Node(find)), "expensive": expensive}
            found.append(scope | {"presentationHint": hint} if hint else scope)

        if functions:
            add("Arguments", partial(debugger.parameters, position), "arguments")
        for number, (function, variables) in enumerate(functions):
            name, hint = (f"Locals of {function}", "") if number else ("Locals", "locals")
            add(name, partial(list, variables), hint)
        kind = "Expressions" if functions else "Values"
        for number, one in enumerate(frames):
            name = f"{kind} of {'the kernel' if one.kind == 'kernel' else one.name}" if number else kind
            add(name, partial(debugger.values, one), "" if number or functions else "locals")
        loops = [one.name.partition(" (") for one in frames[:-1]]
        if loops:
            add("Loops", lambda: [(name, rounds.rstrip(")")) for name, _, rounds in loops])
        if not functions:
            add("Parameters", debugger.parameters, "arguments")
        size = sum([array.nbytes for array in debugger.recording.arrays])
        add("Arrays", debugger.arrays, expensive=size > _MOST_BYTES)
        accesses = [one.partition(" ") for one in debugger.accesses()[:_MOST_ACCESSES]]
        if accesses:
            add("Last step", lambda: [(verb, rest) for verb, _, rest in accesses])
        return {"scopes": found}

    @request("variables")
    def _variables(self, given: Arguments) -> Message:
        stage = self.stopped()
        node = stage.find(given.number("variablesReference"), Node, "these variables are")
        which = given.choice("filter", "", ("", "indexed", "named"))
        start, count = given.number("start", 0, 0), given.number("count", 0, 0)
        with self.lock:
            return {"variables": node.children(stage, which, start, count, given.inner("format").flag("hex"))}

    @request("source")
    def _source(self, given: Arguments) -> Message:
        number = given.number("sourceReference", 0, 0) or given.inner("source").number("sourceReference", 0, 0)
        return {"content": self.text_of(number), "mimeType": "text/x-tileir"}

    @request("loadedSources")
    def _loaded_sources(self, given: Arguments) -> Message:
        names = [PRINTED] if self.printed is not None else []
        names += self.stage.debugger.lines.files if self.stage is not None else []
        return {"sources": [self.source(name) for name in dict.fromkeys(names)]}

    @request("readMemory")
    def _read_memory(self, given: Arguments) -> Message:
        """Bytes of an array as it is now."""
        debugger = self.stopped().debugger
        reference = given.text("memoryReference")
        kind, _, number = reference.partition(" ")
        if kind != "array" or not number.isdecimal() or int(number) >= len(debugger.recording.arrays):
            raise BadRequest(f"there is no memory '{reference}'")
        offset, count = given.number("offset", 0), min(given.number("count", least=0), _MOST_BYTES)
        data = debugger.memory(int(number), offset, count)
        body: Message = {"address": f"{max(offset, 0):#x}", "data": base64.b64encode(data).decode("ascii")}
        return body | {"unreadableBytes": count - len(data)} if len(data) < count else body

    @request("disassemble")
    def _disassemble(self, given: Arguments) -> Message:
        """The operations of the kernel around one, as the instructions of the protocol."""
        stage = self.stopped()
        base = operation_number(given.text("memoryReference"))
        count = min(given.number("instructionCount", least=0), 10_000)
        first = base + given.number("offset", 0) + given.number("instructionOffset", 0)
        return {"instructions": [self._instruction(stage, first + number) for number in range(count)]}

    def _instruction(self, stage: Stage, number: int) -> Message:
        program = stage.debugger.recording.program
        if not 0 <= number < len(program.operations):
            # The client requests a fixed number of them, also before the first.
            address = f"{number:#x}" if number >= 0 else f"-{-number:#x}"
            return {"address": address, "instruction": "", "presentationHint": "invalid"}
        text = "  " * program.depths[number] + program.text(number)
        found: Message = {"address": f"{number:#x}", "instruction": text}
        return found | self.location(stage.debugger.lines.location(number), "location")

    @request("exceptionInfo")
    def _exception_info(self, given: Arguments) -> Message:
        stop = self.stopped().stop
        if stop is None or stop.reason not in ("failure", "sanitizer", "nan"):
            raise BadRequest("the launch has not stopped at anything that is wrong")
        details = {"message": stop.text.partition("\n")[0], "typeName": stop.reason, "stackTrace": stop.text}
        return {"exceptionId": stop.reason, "description": stop.text, "breakMode": "always", "details": details}

    @request("evaluate")
    def _evaluate(self, given: Arguments) -> Message | Reply:
        text = given.text("expression")
        context = given.text("context", "")
        hex = given.inner("format").flag("hex")
        stage = self.stopped()
        if context != "repl":
            return _value(stage, given, text, hex, whole=context == "clipboard")
        # What is typed in the console is an expression, or else a command of the terminal.
        if not text.startswith(_COMMAND_MARK):
            try:
                return _value(stage, given, text, hex, more=self.console.printed_value)
            except BadExpression as error:
                refused = error
            try:
                COMMANDS.find(split(text)[0])
            except BadCommand as unknown:
                if " " in text.strip() or not text.strip().isidentifier():
                    raise refused from None
                raise BadRequest(f"{refused.message}; and as a command: {unknown}") from None
        return self.console.reply(text.removeprefix(_COMMAND_MARK))

    @request("completions")
    def _completions(self, given: Arguments) -> Message:
        end = max(self.format.own_column(given) - 1, 0)
        line = given.text("text").split("\n")[0][:end]
        if self.stage is None or self.thread.running:
            return {"targets": []}
        found = _LAST_WORD.search(line)
        word = found[0] if found is not None else ""
        kinds = dict.fromkeys(self.stage.debugger.value_names(), "variable")
        if line == word or " " in line.strip():
            commands = self.console.completions(line.removeprefix(_COMMAND_MARK))
            kinds = dict.fromkeys(commands, "keyword") | kinds
        names = sorted([name for name in kinds if name.startswith(word)], key=lambda name: kinds[name] == "keyword")
        place = {"start": self.format.column(len(line) - len(word) + 1), "length": len(word)}
        return {"targets": [{"label": name, "type": kinds[name], **place} for name in names[:200]]}
