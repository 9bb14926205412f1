"""Arrays of the host for a kernel on a GPU: copied there before the launch, and back after it.

Arrays that share memory share its copy.  Only what the kernel may write to is copied back.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final

from tileir.execute.analysis.parameters import may_write
from tileir.execute.arguments.binding import ArgumentLabel, Buffer
from tileir.execute.errors import HostCopyWarning, warn_caller
from tileir.execute.gpu.arrays import DeviceBuffer
from tileir.execute.gpu.driver.memory import DeviceMemory, copy_from_gpu, copy_to_gpu
from tileir.ir.core import Operation


class _Stretch:
    """Memory of the host from `low` to `high`, and its copy."""

    __slots__ = ("copy", "high", "is_written", "low")

    def __init__(self, low: int, high: int, is_written: bool) -> None:
        self.low: int = low
        self.high: int = high
        self.is_written: bool = is_written
        self.copy: int = 0


class HostCopies:
    """The copies of one launch, in the context that is current."""

    def __init__(self, entry: Operation, buffers: list[tuple[Buffer, ArgumentLabel]], stream: int) -> None:
        self._stream: Final = stream
        self._stretches: list[_Stretch] = []
        found = []
        for buffer, label in buffers:
            if buffer.low < buffer.high and is_on_host(buffer):
                found.append(_Stretch(buffer.low, buffer.high, buffer.writable and may_write(entry, label.number)))
        for each in sorted(found, key=lambda stretch: stretch.low):
            last = self._stretches[-1] if self._stretches else None
            if last is not None and each.low < last.high:
                last.high = max(last.high, each.high)
                last.is_written = last.is_written or each.is_written
            else:
                self._stretches.append(each)

    def copy_there(self, stack: ExitStack) -> None:
        """Copy them to the GPU; the copies are given back at the end of `stack`."""
        for each in self._stretches:
            size = each.high - each.low
            each.copy = stack.enter_context(DeviceMemory(size)).address
            copy_to_gpu(each.copy, each.low, size, self._stream)

    def copy_back(self) -> None:
        """Have what was written copied back; it is there when the stream is done."""
        for each in self._stretches:
            if each.is_written:
                copy_from_gpu(each.low, each.copy, each.high - each.low, self._stream)

    def address(self, buffer: Buffer) -> int:
        """Where the first element of an array is on the GPU."""
        for each in self._stretches:
            if each.low <= buffer.low < each.high:
                return each.copy + (buffer.address - each.low)
        return 0


def is_on_host(buffer: Buffer) -> bool:
    return not isinstance(buffer, DeviceBuffer)


def warn_of_copies(name: str, buffers: list[tuple[Buffer, ArgumentLabel]], where: str) -> None:
    """Say that arrays are copied, at the line that launches."""
    labels = [str(label) for buffer, label in buffers if is_on_host(buffer)]
    warn_caller(
        f"@{name} runs on {where}, and {', '.join(labels)} {'is' if len(labels) == 1 else 'are'} on the host: copied "
        "there and back in each launch",
        HostCopyWarning,
    )
