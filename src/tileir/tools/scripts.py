"""The programs of a cuTile script, for commands that take a program.

The script runs as `tileir emulate` runs it, in a process of its own, which prints to standard error: standard output is
the command's.  That process (`main`) writes the bytecode of each kernel that is launched, the grids and the arguments.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tileir.execute.arguments.argument_text import LaunchDescription
from tileir.ir.diagnostics import TileIRError
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, ToolFailure

if TYPE_CHECKING:
    from tileir.bridge.parameters import Parameter


class ScriptLaunch(NamedTuple):
    """A launch of a script: the bytecode of its kernel, and its grid and arguments."""

    number: int
    """Launches are counted from 1."""
    data: bytes
    words: LaunchDescription
    names: list[str]
    """For each argument of the compiled kernel, the array of the script's that it is; empty for others."""

    @property
    def kernel(self) -> str:
        return self.words.entry or ""


def script_launches(path: str, arguments: Sequence[str] = (), until: int = 0) -> list[ScriptLaunch]:
    """Run a script; its launches, at least one, identical ones once.  With `until`, only the launch of that number."""
    import subprocess
    import tempfile

    if not os.path.isfile(path):
        why = "it is a directory" if os.path.isdir(path) else "there is no such file"
        raise ToolFailure(f"cannot read '{path}': {why}")
    with tempfile.TemporaryDirectory(prefix="tileir-") as folder:
        sys.stdout.flush()
        record = os.path.join(folder, "launches.jsonl")
        command = [sys.executable, "-m", "tileir.tools.scripts", record, str(until), path, *arguments]
        status = subprocess.run(command, stdout=2, check=False).returncode
        launches = _recorded(record)
    if status:
        raise ToolFailure(f"the script '{path}' fails, with status {status}", EXIT_WRONG_INPUT)
    chosen = [each for each in launches if until in (0, each["number"])]
    if not launches and not until:
        raise ToolFailure(f"the script '{path}' launches no kernel", EXIT_WRONG_INPUT)
    if not chosen:
        raise missing_launch(path, len(launches), until)
    found: dict[str, ScriptLaunch] = {}
    for each in chosen:
        key = json.dumps([each["program"], each["grid"], each["arguments"]])
        words = LaunchDescription(tuple(each["grid"]), each["arguments"], each["kernel"])
        found.setdefault(key, ScriptLaunch(each["number"], bytes.fromhex(each["program"]), words, each["names"]))
    return list(found.values())


def missing_launch(path: str, count: int, number: int) -> ToolFailure:
    """The failure of a command that needs a launch which the script does not make."""
    launches = "1 launch" if count == 1 else f"{count or 'no'} launches"
    return ToolFailure(f"the script '{path}' makes {launches}: there is no launch {number}", EXIT_WRONG_INPUT)


def _recorded(record: str) -> list[dict[str, Any]]:
    """What the process of a script wrote: an object for each launch, in order."""
    if not os.path.exists(record):
        return []
    with open(record, encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    for each in found:
        if "error" in each:
            raise ToolFailure(each["error"], EXIT_WRONG_INPUT)
    return found


def kernels_of(launches: Sequence[ScriptLaunch]) -> list[ScriptLaunch]:
    """The first launch of each compiled kernel."""
    return list({each.data: each for each in reversed(launches)}.values())[::-1]


def only_kernel(path: str, launches: Sequence[ScriptLaunch], choose: str) -> ScriptLaunch:
    """The launch of the only kernel, for commands that take one; `choose` is how the user chooses one of several."""
    found = kernels_of(launches)
    if len(found) > 1:
        listed = ", ".join([f"{each.number} ({each.kernel})" for each in found])
        kernels = f"the script '{path}' launches {len(found)} kernels"
        raise ToolFailure(f"{kernels}: choose one with {choose}: {listed}")
    return found[0]


# --- in the process of the script ---


class _Recorder:
    """Writes down each launch of a script before it runs: the script may end at any time."""

    def __init__(self, record: str, until: int) -> None:
        self._record: str = record
        self._until: int = until
        self._process: int = os.getpid()
        self._programs: dict[tuple[Any, tuple[Parameter, ...]], str] = {}

    def see(self, number: int, kernel: Any, grid: Any, args: Any) -> None:
        from tileir.bridge.launch import described, export, known_for
        from tileir.bridge.process import exit_now
        from tileir.execute.arguments.binding import Pointer
        from tileir.execute.launching.entries import check_grid
        from tileir.execute.locations.wording import script_name

        if os.getpid() != self._process:
            # A process that the script forked: its launches are not those of the script.
            return
        # Refuses what is no kernel.
        known_for(kernel)
        description = described(kernel, args)
        key = (kernel, tuple(description.parameters))
        if key not in self._programs:
            self._programs[key] = export(kernel, args).hex()
        names = [script_name(value.name) if isinstance(value, Pointer) else "" for value in description.values]
        launch = {
            "number": number,
            "kernel": kernel._annotated_function.pyfunc.__name__,
            "program": self._programs[key],
            "grid": list(check_grid(grid)),
            "arguments": [_words(value) for value in description.values],
            "names": names,
        }
        _append(self._record, launch)
        if number == self._until:
            # The script could catch an exception, and go on.
            exit_now(EXIT_FINE)


def _words(value: object) -> str:
    """An argument as `tileir run` takes it; an array has its type and size, not its elements."""
    from tileir.bridge.parameters import memory_of
    from tileir.execute.arguments.binding import Pointer
    from tileir.execute.dtypes import element_of_dtype

    if not isinstance(value, Pointer):
        return str(value).lower() if isinstance(value, bool) else repr(value)
    buffer = memory_of(value.array, value.name)
    size = buffer.dtype.itemsize
    element = element_of_dtype(buffer.dtype)
    name = f"i{8 * size}" if element is None else element.spelling
    count = (buffer.high - buffer.low) // size
    shape = buffer.shape if math.prod(buffer.shape) == count else (count,)
    return f"zeros:{name}:{'x'.join([str(extent) for extent in shape]) or '1'}"


def main(arguments: list[str]) -> int:
    """Run a script and write its launches down; the script's status."""
    import gc

    record, until, *operands = arguments
    try:
        _check_packages()
    except TileIRError as error:
        _append(record, {"error": error.message})
        return EXIT_FINE
    from tileir.bridge.process import begin
    from tileir.bridge.settings import Settings
    from tileir.bridge.watching import LaunchCounter
    from tileir.tools.kernels.emulate import perform, program_of

    gc.enable()
    recorder = _Recorder(record, int(until))
    work = program_of({}, operands)
    process = begin(Settings(), watcher=LaunchCounter(int(until), recorder.see))
    perform(process, work)
    return process.status


def _check_packages() -> None:
    """Raise an error that says what to install where what every cuTile script needs is missing."""
    from importlib.util import find_spec

    # Its error says it of NumPy.
    __import__("tileir.execute.launching.kernel")
    try:
        is_there = find_spec("cuda.tile") is not None
    except ImportError:
        is_there = False
    if not is_there:
        from tileir.bridge.launch import cutile

        cutile()


def _append(record: str, line: dict[str, Any]) -> None:
    with open(record, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
