"""What goes wrong in the CUDA driver, in the driver's words."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Final

from tileir.execute.errors import LaunchError

INVALID_VALUE: Final = 1
OUT_OF_MEMORY: Final = 2
NOT_INITIALIZED: Final = 3
DEINITIALIZED: Final = 4
NO_DEVICE: Final = 100
INVALID_DEVICE: Final = 101
INVALID_CONTEXT: Final = 201
NO_BINARY_FOR_GPU: Final = 209
INVALID_HANDLE: Final = 400
NOT_FOUND: Final = 500
ILLEGAL_ADDRESS: Final = 700
ASSERT: Final = 710

OTHER_CONTEXT: Final = (INVALID_HANDLE, INVALID_CONTEXT)
"""What a launch is refused with where another context is current than that of its function, or none."""

STICKY: Final = frozenset((ILLEGAL_ADDRESS, ASSERT, 702, *range(714, 720), 721))
"""What a kernel leaves behind that has run wild: every later call in the context fails with it."""

_ADVICE: Final = {
    OUT_OF_MEMORY: "free memory of the GPU",
    NOT_INITIALIZED: "a process that was forked from one that uses CUDA cannot use it: start it by 'spawn'",
    NO_BINARY_FOR_GPU: "compile it for this GPU",
}


_LOST: Final = "this process cannot use the GPU any more (CUDA_LAUNCH_BLOCKING=1 shows which kernel it is)"


class DriverError(LaunchError):
    """A call of the CUDA driver failed; the message has the driver's words and what was attempted."""

    def __init__(self, attempt: str, function: str, code: int, name: str, words: str, why: str = "") -> None:
        self.function: str = function
        """The driver's function, as in "cuLaunchKernelEx"."""
        self.code: int = code
        self.name: str = name
        """The driver's name for the error, as in "CUDA_ERROR_ILLEGAL_ADDRESS"."""
        self._parts: tuple[str, str] = (attempt, words)
        said = f"{name} ({words})" if words else name
        advice = _ADVICE.get(code, "")
        if code in STICKY:
            advice = f"{why or 'a kernel that was launched before went wrong'}; {_LOST}"
        super().__init__(f"{attempt} failed: {function} says {said}{f': {advice}' if advice else ''}")

    @property
    def is_sticky(self) -> bool:
        """Whether a kernel has run wild, so that every later call of this process fails too."""
        return self.code in STICKY

    def after(self, why: str) -> DriverError:
        """The same, if it is sticky with a word on where it may come from."""
        if not self.is_sticky:
            return self
        attempt, words = self._parts
        return DriverError(attempt, self.function, self.code, self.name, words, why)


class NoGpuError(LaunchError):
    """There is no GPU here that can be used; the message says why, and names an engine that works."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; {alternative()}")


@cache
def alternative() -> str:
    """What to choose where no GPU can be used."""
    return f"here, choose backend='{'cpu' if find_spec('llvmlite') is not None else 'interpreter'}'"
