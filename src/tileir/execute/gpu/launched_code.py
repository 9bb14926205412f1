"""Code of a kernel as launches have it: how it is loaded, and what its parameters are filled with.

Most kernels have one.  One that has several, for launches of different kinds, says with a `VariantKey` what of the
arguments makes the difference: functions that are written for such kernels look up, by what they see of a launch, what
is to be launched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from tileir.execute.arguments.binding import BoundArguments
from tileir.execute.errors import BlockId
from tileir.execute.gpu.driver.devices import Device
from tileir.execute.gpu.loading import KernelLoader
from tileir.execute.gpu.packing import Packer, Record


class Complete(Protocol):
    """Fills in what code takes beside the arguments; a record that `is_kept` is launched again and again."""

    def __call__(
        self, record: Record, context: int, grid: BlockId, stream: int, values: Sequence[Any], is_kept: bool = False
    ) -> None: ...


class NotDescribed(Exception):
    """The driver makes no descriptor of an array, and the code that was chosen needs one."""


class Launching(NamedTuple):
    """A launch, as the choice of its code sees it."""

    place: Device
    context: int
    grid: BlockId
    stream: int
    values: Sequence[Any]
    """The arguments: addresses, numbers of Python or NumPy."""
    bound: BoundArguments | None = None
    """The arguments as they were looked at; None where they were not looked at closely."""
    is_described: bool = True
    """Whether code may take descriptors of arrays."""


class Found(NamedTuple):
    """What a launch on a GPU needs beside its arguments."""

    place: Device
    context: int
    function: Any
    spare: list[Record]
    make_record: Callable[[], Record]
    threads: int
    shared: int
    complete: Complete | None


class LaunchedCode:
    """Code for the launches of a kernel, or of a part of them."""

    def __init__(self, packer: Packer, loader: KernelLoader, complete: Complete | None = None) -> None:
        self.packer: Final = packer
        self.loader: Final = loader
        self.complete: Final = complete

    @property
    def is_short(self) -> bool:
        """Whether there is a short way to launch it."""
        return self.packer.form.cluster == 1

    def found(self, place: Device, context: int, function: Any) -> Found:
        packer = self.packer
        return Found(
            place, context, function, packer.spare, packer.make, packer.form.threads, packer.form.shared, self.complete
        )

    def fill(self, record: Record, launching: Launching, is_kept: bool = False) -> None:
        """Fill a record with all that a launch is given, or launches that are made again and again, if it `is_kept`."""
        _, context, grid, stream, values, *_ = launching
        self.packer.fill(record, grid, stream, values)
        if self.complete is not None:
            self.complete(record, context, grid, stream, values, is_kept)


class VariantKey:
    """What of a launch decides which code it gets, as text of Python: `parts` has one for each parameter.

    {a} in it stands for the argument; a part is empty if the argument does not matter.  `of_grid` is one of x, y and z.
    """

    def __init__(self, parts: Sequence[str], of_grid: str = "") -> None:
        self.parts: Final = tuple(parts)
        self.of_grid: Final = of_grid

    def part(self, number: int, name: str) -> str:
        """What matters of an argument; empty if nothing does."""
        return self.parts[number].format(a=name)

    def text(self, device: str, parts: Sequence[str]) -> str:
        """The key of a launch on a GPU."""
        found = [device, *[part for part in parts if part], *([self.of_grid] if self.of_grid else [])]
        return f"({', '.join(found)},)"
