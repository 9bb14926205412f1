"""Requests that are typed: expressions to watch, the console with the commands of the terminal, completion."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import numpy

from tileir.execute.dtypes import element_of_dtype
from tileir.ir.diagnostics import TileIRError
from tileir.serve.debugger.adapter.inspection import Elements, expression_name, frame_of, variable_message
from tileir.serve.debugger.adapter.launch_thread import Job
from tileir.serve.debugger.adapter.requests import Arguments, BadRequest, Channel, Message, Reply, request
from tileir.serve.debugger.adapter.state import Stage, State
from tileir.serve.debugger.expressions import BadExpression, Lookup
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.stops import Stop
from tileir.serve.debugger.terminal.commands import COMMANDS, BadCommand, split
from tileir.serve.debugger.terminal.data_commands import show_displays
from tileir.serve.debugger.terminal.shell import Shell
from tileir.serve.debugger.terminal.terminal import completions
from tileir.serve.debugger.values import formatted

_COMMAND_MARK: Final = "`"
"""Before a command whose name is also that of a value."""
_LAST_WORD: Final = re.compile(r"[\w%$-]*$")


class Console:
    """The console of an editor: a shell whose output is collected, and the host of its launches."""

    def __init__(self, state: State) -> None:
        self._state: State = state
        self._then: Callable[[], object] | None = None
        self._output: list[str] = []
        self.shell: Shell = Shell(self, self._output.append)

    @property
    def debugger(self) -> Debugger | None:
        return self._state.stage.debugger if self._state.stage is not None else None

    @property
    def is_running(self) -> bool:
        return self._state.stage is not None

    def begin(self, stop_on_entry: bool) -> None:
        if not self._state.launch.can_restart:
            raise BadCommand("The script launches its kernels itself: restart the session.")
        self._then = self._state.restart

    def perform(self, run: Callable[[], Stop], stops_at_end: bool) -> None:
        stage = self._state.stopped()

        def checked() -> Stop:
            try:
                return run()
            except TileIRError as error:
                # The response was sent already.
                self._state.channel.event("output", category="stderr", output=f"{error.message}\n")
                return Stop("step", stage.debugger.position)

        self._then = lambda: self._state.run(stage, Job(checked, stops_at_end=stops_at_end))

    def leave(self, how: str) -> None:
        state = self._state
        self._then = lambda: state.end(ends_program=True) if how in ("quit", "kill") else state.leave(how)

    def python(self) -> None:
        raise BadCommand("Python's debugger is for a terminal: use your editor's.")

    def execute(self, text: str) -> Reply:
        """Carry out a command; what runs the launch is done behind the reply."""
        self._then = None
        is_fine = self.shell.execute(text, typed=False)
        output = self._taken()
        if not is_fine:
            raise BadRequest(output.strip())
        return Reply({"result": output.rstrip("\n"), "variablesReference": 0}, then=self._then)

    def displays(self) -> str:
        """What is shown at each stop."""
        self.shell.frame_number = 0
        show_displays(self.shell)
        return self._taken()

    def _taken(self) -> str:
        output = "".join(self._output)
        self._output.clear()
        return output


class SessionState(State):
    """The state of a session, with its console."""

    def __init__(
        self, channel: Channel, started: Callable[[], None], stopped: Callable[[Stop, Job], None], can_launch: bool
    ) -> None:
        super().__init__(channel, started, stopped, can_launch)
        self.console: Console = Console(self)


@request("evaluate")
def _evaluate(state: SessionState, given: Arguments, message: Message) -> Message | Reply:
    text = given.text("expression")
    context = given.text("context", "")
    hex = given.inner("format").flag("hex")
    stage = state.stopped()
    if context != "repl":
        return _value(stage, given, text, hex, whole=context == "clipboard")
    # What is typed in the console is an expression, or else a command of the terminal.
    if not text.startswith(_COMMAND_MARK):
        try:
            return _value(stage, given, text, hex, more=state.console.shell.printed_value)
        except BadExpression as error:
            refused = error
        try:
            COMMANDS.find(split(text)[0])
        except BadCommand as unknown:
            if " " in text.strip() or not text.strip().isidentifier():
                raise refused from None
            raise BadRequest(f"{refused.message}; and as a command: {unknown}") from None
    return state.console.execute(text.removeprefix(_COMMAND_MARK))


def _value(
    stage: Stage, given: Arguments, text: str, hex: bool, whole: bool = False, more: Lookup | None = None
) -> Message:
    """The value of an expression; the name of a value shows it as the scopes do, unless all elements are `whole`."""
    frame = frame_of(stage, given)
    debugger = stage.debugger
    text = text.strip()
    own = debugger.variables(position=frame.position if frame is not None else None)
    for variable in [*own, *debugger.parameters(), *debugger.arrays()] if not whole else []:
        if text in (variable.name, expression_name(variable.name)):
            shown = variable_message(stage, variable, hex)
            keys = ("variablesReference", "indexedVariables", "presentationHint", "memoryReference")
            return {"result": shown["value"], "type": variable.type_text} | {
                key: shown[key] for key in keys if key in shown
            }
    result = debugger.evaluate(text, frame, more)
    value = result.value
    found: Message = {"result": result.text, "type": result.type_text, "variablesReference": 0}
    element = element_of_dtype(value.dtype) if isinstance(value, (numpy.ndarray, numpy.generic)) else None
    if element is not None:
        array = numpy.asarray(value)
        if whole:
            found["result"] = numpy.array2string(array, threshold=array.size + 1, separator=", ")
        elif array.ndim:
            elements = Elements(f"({text})", element, array)
            found |= elements.reference(stage) | {"result": elements.text(hex)}
        elif hex:
            found["result"] = formatted(element, array, "x")[0]
    elif isinstance(value, int) and hex:
        found["result"] = f"{value:#x}"
    return found


@request("completions")
def _completions(state: SessionState, given: Arguments, message: Message) -> Message:
    end = max(state.format.own_column(given.number("column")) - 1, 0)
    line = given.text("text").split("\n")[0][:end]
    if state.stage is None or state.thread.running:
        return {"targets": []}
    found = _LAST_WORD.search(line)
    word = found[0] if found is not None else ""
    kinds = dict.fromkeys(state.stage.debugger.value_names(), "variable")
    if line == word or " " in line.strip():
        commands = completions(state.console.shell, line.removeprefix(_COMMAND_MARK))
        kinds = dict.fromkeys(commands, "keyword") | kinds
    start = state.format.column(len(line) - len(word) + 1)
    names = sorted([name for name in kinds if name.startswith(word)], key=lambda name: kinds[name] == "keyword")
    return {
        "targets": [{"label": name, "type": kinds[name], "start": start, "length": len(word)} for name in names[:200]]
    }
