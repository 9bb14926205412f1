"""Where the launch has stopped, told as gdb tells it."""

from __future__ import annotations

from typing import Final

from tileir.execute.locations.wording import several
from tileir.ir.diagnostics import TileIRError
from tileir.serve.debugger.moments import Moment, Stop
from tileir.serve.debugger.terminal.data import show_displays
from tileir.serve.debugger.terminal.shell import WATCHED, Shell

_MOST_STEPS: Final = 64
"""Of what happened in more steps than these nothing is shown: it is no longer news."""
_MOST_VALUES: Final = 6


class StopTeller:
    """Tells one stop after the other."""

    def __init__(self, shell: Shell) -> None:
        self._shell: Shell = shell
        self._told: tuple[int, str] | None = None
        self._before: Moment | None = None

    def forget(self) -> None:
        """The next stop is the first of a launch."""
        self._told = self._before = None

    def tell(self, stop: Stop) -> None:
        shell = self._shell
        debugger = shell.debugger
        before, self._before = self._before, stop.moment
        if stop.reason == "end":
            self._told = None
            if stop.text:
                shell.say(shell.paint(stop.text, "red"))
            return
        frames = debugger.stack()
        told = (stop.moment.block, frames[0].name)
        headline = self._headline(stop)
        if self._told is None or self._told[0] != stop.moment.block:
            block = stop.moment.block
            shell.say(f"[Switching to tile block {block} {shell.block_words(block)}]")
        if stop.reason in ("step", "goto") and self._told is not None and before is not None:
            self._tell_values(before, stop.moment)
        if headline:
            shell.say(headline)
        if headline or told != self._told:
            shell.say(shell.frame_words(frames[0]))
        self._told = told
        shell.show_place(frames[0].place, debugger.recording.program.text(frames[0].operation))
        show_displays(shell)

    def _headline(self, stop: Stop) -> str:
        shell = self._shell
        if stop.reason in ("failure", "sanitizer", "nan"):
            # What is made, a NaN or an infinity, begins the text.
            words = {"failure": "The launch fails: ", "sanitizer": "The sanitizer finds: ", "nan": ""}
            return f"\n{shell.paint(f'{words[stop.reason]}{stop.text}', 'red')}"
        if stop.reason in ("breakpoint", "data"):
            numbers = ", ".join([str(number) for number in stop.breakpoints])
            what = "Breakpoint" if stop.reason == "breakpoint" else self._watched(stop)
            more = f": {stop.text}" if stop.text else ""
            for number in stop.breakpoints:
                if stop.reason == "data" and not stop.text and number in shell.debugger.breakpoints:
                    more += self._new_value(shell.debugger.breakpoints[number].text)
            return f"\n{shell.paint(f'{what} {numbers}', 'bold')}{more}"
        if stop.reason == "pause":
            return "\nInterrupted."
        if stop.reason == "limit":
            return f"\n{stop.text}"
        if stop.reason == "beginning":
            return "\nNo more reverse-execution history."
        return ""

    def _watched(self, stop: Stop) -> str:
        breakpoints = self._shell.debugger.breakpoints
        accesses = {breakpoints[number].access for number in stop.breakpoints if number in breakpoints}
        return WATCHED[accesses.pop()] if len(accesses) == 1 else "Watchpoint"

    def _new_value(self, text: str) -> str:
        """What was written, of something that is watched."""
        try:
            return f": {text} = {self._shell.debugger.evaluate(text).shown}"
        except TileIRError:
            return f": {text}"

    def _tell_values(self, before: Moment, now: Moment) -> None:
        """What the steps between two stops have computed."""
        shell = self._shell
        debugger = shell.debugger
        if before.block != now.block or not 0 < now.step - before.step <= _MOST_STEPS:
            return
        found = debugger.changes(before, now)
        for variable in found[:_MOST_VALUES]:
            shell.say(f"  {shell.paint(variable.name, 'cyan')} = {variable.shown}")
        if len(found) > _MOST_VALUES:
            shell.say(f"  .. and {several(len(found) - _MOST_VALUES, 'more value')}")
