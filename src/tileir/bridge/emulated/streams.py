"""Streams and events of the emulated device.

Work is over when the call that asked for it returns, so a stream orders nothing and an event is a point in time: the
time between two events is that of the host.
"""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.emulated.device import DEVICE, is_emulated

_handles: Final = itertools.count(0x5EED0000, 0x100)
"""Made-up addresses, none of which is that of a default stream (0) or a stream per thread (1, 2)."""


class Replacing(type):
    """Classes in the place of torch's: outside of contexts they make the original's objects."""

    original: Any

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        if active() is None:
            return cls.original(*arguments, **keywords)
        return super().__call__(*arguments, **keywords)

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) or isinstance(instance, cls.original)


class Stream(metaclass=Replacing):
    original: Any = torch.cuda.Stream
    device: Any = DEVICE
    device_index: int = 0
    device_type: int = 1

    def __init__(self, device: Any = None, priority: int = 0, *, cuda_stream: int | None = None, **more: Any) -> None:
        is_emulated(device)
        self.priority: int = priority
        self.cuda_stream: int = next(_handles) if cuda_stream is None else cuda_stream
        self.stream_id = self.native_handle = self._as_parameter_ = self.cuda_stream
        self._before: list[Stream] = []

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return 0, -5

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return bool(torch.cuda.is_current_stream_capturing())

    def synchronize(self) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        pass

    def record_event(self, event: Any = None) -> Any:
        event = Event() if event is None else event
        event.record(self)
        return event

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol by which libraries of NVIDIA's take streams of others."""
        return 0, self.cuda_stream

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.cuda_stream == other.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    def __enter__(self) -> Stream:
        self._before.append(current_stream())
        set_stream(self)
        return self

    def __exit__(self, *error: object) -> None:
        set_stream(self._before.pop())


class ExternalStream(Stream):
    original: Any = torch.cuda.ExternalStream

    def __init__(self, stream_ptr: int, device: Any = None, **more: Any) -> None:
        super().__init__(device, cuda_stream=int(stream_ptr))


class Event(metaclass=Replacing):
    original: Any = torch.cuda.Event

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        self.enable_timing: bool = enable_timing
        self.device: Any = None
        self.cuda_event: int = next(_handles)
        self._time: float | None = None

    def record(self, stream: Any = None) -> None:
        self.device = DEVICE
        self._time = time.perf_counter()

    def elapsed_time(self, end_event: Any) -> float:
        if not self.enable_timing or not end_event.enable_timing:
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end_event._time is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return float((end_event._time - self._time) * 1e3)

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def wait(self, stream: Any = None) -> None:
        pass

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {self.cuda_event:#x}>" if self.device else "<torch.cuda.Event uninitialized>"


class _Current(threading.local):
    stream: Stream | None = None
    """The stream that work of this thread goes to, where it is not the default one."""


_current: Final = _Current()


def default_stream(device: Any = None) -> Stream:
    return Stream(device, cuda_stream=0)


def current_stream(device: Any = None) -> Stream:
    is_emulated(device)
    return default_stream() if _current.stream is None else _current.stream


def set_stream(stream: Any) -> None:
    if stream is not None:
        _current.stream = stream


class StreamContext:
    """`with torch.cuda.stream(s):`"""

    def __init__(self, stream: Any) -> None:
        self.stream: Any = stream

    def __enter__(self) -> Any:
        return None if self.stream is None else self.stream.__enter__()

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            self.stream.__exit__(*error)
