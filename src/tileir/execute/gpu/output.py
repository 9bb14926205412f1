"""What a kernel prints on a GPU, and asserts that fail there, passed to the caller of the launch.

The driver writes prints to standard output when a context is synchronized.  So a launch that prints is synchronized,
with the descriptor redirected to a file, which also catches what other threads print.  A failed `assert` prints the
line `FILE:LINE: tile block: [1, 0, 0], position: [3]: words` and traps: this process cannot use the GPU any more.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from tileir.dialect.ops import ASSERT, PRINT_TKO
from tileir.execute.errors import AssertionFailedError
from tileir.ir.core import Operation

_FAILED: Final = (
    r"(?m)^(?P<file>.*):(?P<line>\d+): tile block: \[(?P<block>\d+, \d+, \d+)\]"
    r"(?:, position: \[(?P<position>[\d, ]*)\])?: (?P<words>.*)$"
)
"""Compiled where it is used: few asserts fail, and a first launch is to be short."""

# Only one thread can redirect the descriptor at a time.
_lock: Final = _thread.allocate_lock()

OperationAt = Callable[[str, int], "Operation | None"]
"""The operation of a kernel at a line of a file, as its debug information names them."""


class DeviceOutput(NamedTuple):
    """Whether a kernel prints, and its asserts."""

    prints: bool
    asserts: tuple[Operation, ...]

    def __bool__(self) -> bool:
        return self.prints or bool(self.asserts)


def device_output_of(entry: Operation) -> DeviceOutput:
    operations = [each for each in entry.walk() if each.declaration in (PRINT_TKO, ASSERT)]
    asserts = tuple([each for each in operations if each.declaration is ASSERT])
    return DeviceOutput(len(asserts) < len(operations), asserts)


@contextmanager
def captured() -> Iterator[list[str]]:
    """Take what code that is not Python's writes to the descriptor of standard output; at the end the list has it."""
    # Imported here: few kernels print, and a first launch is to be short.
    import tempfile

    found: list[str] = []
    with _lock:
        _flush()
        try:
            saved = os.dup(1)
        except OSError:
            # There is none: nothing can be printed to it.
            yield found
            return
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 1)
            try:
                yield found
            finally:
                _flush()
                os.dup2(saved, 1)
                os.close(saved)
                file.seek(0)
                found.append(file.read().decode("utf-8", "replace"))


def write_output(text: str, output: Callable[[str], object] | None) -> None:
    """Write what was printed a line at a time, by default to standard output."""
    write = output if output is not None else sys.stdout.write
    for line in text.splitlines(keepends=True):
        write(line)


def _flush() -> None:
    """Have what Python and C keep in buffers written to where it was meant for."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        # Closed, or a pipe without a reader: no error of this launch.
        pass
    if sys.platform != "win32":
        ctypes.CDLL(None).fflush(None)


def failed_assert(
    text: str, device_output: DeviceOutput, operation_at: OperationAt | None
) -> tuple[AssertionFailedError | None, str]:
    """The first assert that failed, as an error, and what else was printed."""
    found = re.search(_FAILED, text) if device_output.asserts else None
    if found is None:
        return None, text
    rest = re.sub(_FAILED, "\0", text).replace("\0\n", "").replace("\0", "")
    operation = operation_at(found["file"], int(found["line"])) if operation_at is not None else None
    if operation is None or operation.declaration is not ASSERT:
        operation = asserted(found["words"], device_output)
    position = found["position"]
    x, y, z = [int(number) for number in found["block"].split(", ")]
    # Not the first, as on the host, but the first that was printed.
    where = f" (at element [{position}])" if position else ""
    return AssertionFailedError(f"failed: {found['words']}{where}", operation, (x, y, z)), rest


def asserted(words: str, device_output: DeviceOutput) -> Operation:
    """The assert that has these words; of several, the first."""
    asserts = device_output.asserts
    return next((each for each in asserts if each.message == words), asserts[0])
