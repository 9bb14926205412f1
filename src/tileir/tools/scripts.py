"""The programs of a script with kernels of cuTile or Triton, for commands that take a program.

The script runs as `tileir emulate` runs it, in a process of its own, which prints to standard error: standard output is
the command's.  That process (`main`) writes the bytecode of each kernel that is launched, the grids and the arguments.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from collections.abc import Sequence
from errno import EISDIR, ENOENT
from typing import TYPE_CHECKING, Any, NamedTuple

from tileir.execute.arguments.argument_text import LaunchDescription
from tileir.ir.diagnostics import TileIRError
from tileir.processes.sandbox import may_fork
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, ToolFailure
from tileir.tools.command import need_packages

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
        raise ToolFailure(f"cannot read '{path}': {os.strerror(EISDIR if os.path.isdir(path) else ENOENT)}")
    with tempfile.TemporaryDirectory(prefix="tileir-") as folder:
        sys.stdout.flush()
        record = os.path.join(folder, "launches.jsonl")
        operands = [record, str(until), path, *arguments]
        if may_fork():
            command = [sys.executable, "-m", "tileir.tools.scripts", *operands]
            status = subprocess.run(command, stdout=2, check=False).returncode
        else:
            status = _status_here(operands)
        launches = _recorded(record)
    if status == -signal.SIGINT:
        raise KeyboardInterrupt
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


def _status_here(words: list[str]) -> int:
    """The status of a script that runs in this process, which ends with the command."""
    try:
        return main(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:
        # It was shown, as Python would.
        return EXIT_WRONG_INPUT


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


# --- in the process of the script ---


def main(arguments: list[str]) -> int:
    """Run a script and write each launch down before it runs: the script may end at any time; the script's status."""
    import gc
    from contextlib import suppress
    from importlib.util import find_spec

    record, until, *operands = arguments
    try:
        need_packages()
        is_there = None
        with suppress(ImportError):
            is_there = find_spec("triton") or find_spec("cuda.tile")
        if is_there is None:
            from tileir.bridge.launch import cutile

            cutile()
    except TileIRError as error:
        _append(record, {"error": error.message})
        return EXIT_FINE
    from tileir.bridge.process import begin, exit_now
    from tileir.bridge.settings import Settings
    from tileir.bridge.watching import LaunchCounter
    from tileir.tools.cutile.emulate import perform, program_of

    this = os.getpid()
    programs: dict[tuple[Any, tuple[Parameter, ...]], str] = {}

    def see(number: int, kernel: Any, grid: Any, args: Any) -> None:
        # Launches of a process that the script forked are not those of the script.
        if os.getpid() == this:
            _append(record, _launch(number, kernel, grid, args, programs))
            if number == int(until):
                # The script could catch an exception, and go on.
                exit_now(EXIT_FINE)

    gc.enable()
    work = program_of({}, operands)
    process = begin(Settings(), watcher=LaunchCounter(int(until), see))
    perform(process, work)
    return process.status


def _launch(
    number: int, kernel: Any, grid: Any, args: Any, programs: dict[tuple[Any, tuple[Parameter, ...]], str]
) -> dict[str, Any]:
    """What is written down of a launch; `programs` are the kernels that were compiled."""
    from tileir.bridge.kernel_kinds import kernel_name
    from tileir.bridge.launch import described, export
    from tileir.execute.arguments.binding import Pointer
    from tileir.execute.launching.entries import check_grid
    from tileir.execute.locations.wording import script_name

    description = described(kernel, args)
    key = (kernel, tuple(description.parameters))
    if key not in programs:
        programs[key] = export(kernel, args).hex()
    return {
        "number": number,
        "kernel": kernel_name(kernel),
        "program": programs[key],
        "grid": list(check_grid(grid)),
        "arguments": [_words(value) for value in description.values],
        "names": [script_name(value.name) if isinstance(value, Pointer) else "" for value in description.values],
    }


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


def _append(record: str, line: dict[str, Any]) -> None:
    with open(record, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
