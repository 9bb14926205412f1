"""What a call of torch means by a device."""

from __future__ import annotations

from typing import Any, Final

import torch

from tileir.bridge.contexts import active

_Device: Final[Any] = torch.device
ACCELERATOR_ERROR: Final[Any] = getattr(torch, "AcceleratorError", RuntimeError)
"""torch 2.6 and 2.7 raise a RuntimeError."""


class Devices:
    """How many devices there are, and the current one."""

    def __init__(self) -> None:
        self.count: int = 1
        self.current: int = 0


DEVICES: Final = Devices()


def index_asked(device: object) -> int | None:
    """The index of the pretended device that is meant, None where it is another one or no context is active."""
    kind = type(device)
    if kind is str:
        if device != "cuda" and not str(device).startswith("cuda:"):
            return None
    elif kind is int:
        # torch takes a number for the device of that index of the accelerator there is.
        return None if active() is None else _checked(int(str(device)))
    elif kind is not _Device or device.type != "cuda":  # type: ignore[attr-defined]
        return None
    if active() is None:
        return None
    return _index(_Device(device))


def _index(device: Any) -> int:
    return DEVICES.current if device.index is None else _checked(device.index)


def _checked(index: int) -> int:
    if index >= DEVICES.count or index < 0:
        raise ACCELERATOR_ERROR(
            f"CUDA error: invalid device ordinal: device {index} of {DEVICES.count} that tileir.emulate pretends"
        )
    return index
