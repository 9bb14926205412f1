"""Launches to debug: those of a script, one after the other, and programs in files."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, Protocol

from tileir.bridge.kernel_kinds import kernel_name
from tileir.bridge.launch import launch
from tileir.bridge.uninitialized import launching_frame
from tileir.execute.arguments.argument_text import MARK, LaunchDescription, argument, grid_of, stated_launch
from tileir.execute.errors import LaunchError
from tileir.execute.launching.entries import check_arguments, check_number, select_entry
from tileir.execute.launching.kernel import compile
from tileir.execute.recording.recording import LIMIT
from tileir.interface import load
from tileir.ir.core import Operation
from tileir.ir.diagnostics import note
from tileir.ir.location import UNKNOWN
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.source_lines import Names
from tileir.serve.debugger.stops import Event

_LOCK: Final = threading.RLock()  # Launches of several threads are debugged one after the other.


class Front(Protocol):
    """Shows launches: a terminal, or an editor."""

    def debug(self, debugger: Debugger, stop_on_entry: bool, caller: FrameType | None) -> str:
        """Debug a launch; return how it was left: "done", "skip", "next-launch", "detach" or "quit"."""


@dataclass
class ScriptDebugging:
    """Debugs the launches of a script, or of one kernel of it: the first from its beginning, later ones from a stop."""

    front: Front
    kernel: str = ""
    stop_on_entry: bool = True  # Whether to stop at the beginning of the next launch.
    stop_on: Iterable[Event] = ("failure",)
    names: Names = "script"
    limit: int = LIMIT
    is_detached: bool = False
    count: int = 0  # How many launches were debugged.

    def launch(self, kernel: Any, grid: Any, args: Any, options: dict[str, Any]) -> None:
        """Run in place of a launch."""
        name = kernel_name(kernel)
        if self.is_detached or (self.kernel and self.kernel != name):
            launch(kernel, grid, args, **options)
            return
        args = check_arguments(args)
        given: dict[str, Any] = {name: options.get(name) for name in ("schedule", "output")}
        with _LOCK:
            self.count += 1
            debugger = Debugger(kernel, grid, args, limit=self.limit, stop_on=self.stop_on, names=self.names, **given)
            how = self.front.debug(debugger, self.stop_on_entry, launching_frame())
            self.stop_on_entry = how == "next-launch"
            self.is_detached = how == "detach"
        if how == "quit":
            raise SystemExit(1)
        # The caller has the results, or the error of a plain launch.
        debugger.finish()
        if debugger.error is not None:
            raise debugger.error


def program_debugger(
    module: Operation, words: LaunchDescription, schedule: str = "forward", **options: Any
) -> Debugger:
    """The launch of a program, with a grid and arguments as `tileir run` takes them; `options` are of `Debugger`."""
    entry = select_entry(module, words.entry)
    if not words.arguments:
        try:
            check_number(entry, ())
        except LaunchError as error:
            example = f"'{MARK} --grid 4 --arg rand:f32:1024 --arg 3'"
            text = f"give them as for 'tileir run', or in a comment at the top of the program, as in {example}"
            error.diagnostics[0].notes.append(note(text, UNKNOWN))
            raise
    types = [parameter.type for parameter in entry.regions[0].blocks[0].arguments]
    texts = enumerate(words.arguments)
    values = [argument(text, types[number] if number < len(types) else None) for number, text in texts]
    kernel = compile(module, entry=words.entry, backend="interpreter", schedule=schedule)
    return Debugger(kernel, words.grid, values, **options)


def file_debugger(
    path: str, entry: str | None, grid: str | None, arguments: Sequence[str], schedule: str, **options: Any
) -> Debugger:
    """The launch of a program in a file; what is left out is as the file states it."""
    stated = None
    if grid is None or not arguments:
        with open(path, "rb") as file:
            stated = stated_launch(file.read().decode("utf-8", "replace"), entry)
    extents = grid_of(grid) if grid is not None else stated.grid if stated is not None else (1,)
    if stated is not None:
        arguments, entry = arguments or stated.arguments, entry or stated.entry
    module = load(path, entry=entry or ())
    return program_debugger(module, LaunchDescription(extents, arguments, entry), schedule, **options)
