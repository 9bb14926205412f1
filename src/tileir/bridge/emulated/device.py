"""The emulated CUDA device of torch: tensors of the CPU whose storage carries a mark, and a mode that reads it.

Nothing is copied or wrapped: operations are those of the CPU with their results bit for bit, autograd sees ordinary
tensors, and views, parameters and saved tensors share the storage and so the mark.  Within a context each call of torch
goes through `DeviceMode`, which takes `device="cuda"` out of it, refuses tensors of several devices, and marks what
comes out of an operation on marked tensors.  Functions that differ on a GPU are in `ANYWHERE` and `ON_DEVICE`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode

from tileir.bridge.contexts import active
from tileir.bridge.emulated.installation import MODE, THREAD, push_mode
from tileir.bridge.uninitialized import WATCHED, Extent, note_allocation
from tileir.execute.arguments.binding import EMULATED_STORAGE, PINNED_STORAGE
from tileir.execute.memory import available_memory
from tileir.execute.sanitizer.uninitialized import Elements

Tensor: Final[Any] = torch.Tensor
Arguments = tuple[Any, ...]
Keywords = dict[str, Any]
Handler = Callable[[Any, Arguments, Keywords], Any]
functions_off: Final[Any] = torch._C.DisableTorchFunction
"""`with functions_off():` tensors are those of the CPU that they are, also those of a user's class."""

ANYWHERE: Final[dict[Any, Handler]] = {}
"""Functions of torch with a replacement for tensors on whatever device; it returns what the function does."""
ON_DEVICE: Final[dict[Any, Handler]] = {}
"""Functions of torch with a replacement for tensors of the device; NotImplemented leaves it to torch's."""


def as_method(method: Callable[..., Any]) -> Handler:
    """A handler that takes the function's own parameters, by position or by name."""
    return lambda function, arguments, keywords: method(*arguments, **keywords)


# --- the device ---

DEVICE: Final[Any] = torch.device("cuda", 0)
ACCELERATOR_ERROR: Final[Any] = getattr(torch, "AcceleratorError", RuntimeError)
"""torch 2.6 and 2.7 raise a RuntimeError."""


def check_device(device: Any) -> None:
    """Refuse another device where a function takes only those of CUDA."""
    if device is not None and not is_emulated(device):
        raise ValueError(f"Expected a cuda device, but got: {device}")


def is_emulated(device: object) -> bool:
    """Whether a call within a context means the emulated device by this."""
    if isinstance(device, int) or (isinstance(device, str) and device.startswith("cuda")):
        # torch takes a number for the device of that index of the accelerator there is.
        device = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
    if not isinstance(device, torch.device) or device.type != "cuda" or active() is None:
        return False
    if device.index:
        message = f"invalid device ordinal: device {device.index} of 1 that tileir.emulate provides"
        raise ACCELERATOR_ERROR(f"CUDA error: {message}")
    return True


_default: Final[list[Any]] = []
"""The module of torch that knows the default device: `torch.get_default_device` would make a tensor on it."""
_CONSTRUCTORS: Final[set[Any]] = set()
"""Functions whose result is on the default device."""


def default_device() -> Any:
    """The emulated device if it is the default one."""
    return DEVICE if _default and is_emulated(_default[0].CURRENT_DEVICE) else None


def hook_default_device() -> None:
    import torch.utils._device

    assert hasattr(torch.utils._device, "CURRENT_DEVICE")
    _CONSTRUCTORS.update(torch.utils._device._device_constructors())
    _default[:] = [torch.utils._device]


# --- marks ---


def _bearer(tensor: Any) -> Any:
    """What carries the mark of a tensor: its storage, or itself where it has none (sparse, or within a transform)."""
    try:
        return tensor.untyped_storage()
    except (RuntimeError, NotImplementedError):
        return tensor


_PLAIN: Final = frozenset({Tensor, torch.nn.Parameter})
"""Classes whose methods nobody replaces."""


def is_on_device(value: Any) -> bool:
    """Whether a value is a tensor of the emulated device."""
    if type(value) in _PLAIN:
        return hasattr(_bearer(value), EMULATED_STORAGE)
    if not isinstance(value, Tensor):
        return False
    with functions_off():
        return hasattr(_bearer(value), EMULATED_STORAGE)


def tensors_in(value: Any) -> Iterator[Any]:
    """A tensor, and those in tuples, lists and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(each)


def marked(value: Any, mark: str = EMULATED_STORAGE) -> Any:
    """This very tensor of the CPU, and those in a tuple, list or dict, on the device from now on.

    So are all that share their storage.  Pinned memory is another mark: there is no other memory.
    """
    with functions_off():
        for tensor in tensors_in(value):
            setattr(_bearer(tensor), mark, True)
    return value


def any_on_device(values: Any) -> bool:
    return any(map(is_on_device, tensors_in(values)))


def extent_of(tensor: Any) -> Extent | None:
    """The memory of a tensor; None for one without storage."""
    with functions_off():
        storage = _bearer(tensor)
        if storage is tensor:
            return None
        is_float = tensor.dtype.is_floating_point or tensor.dtype.is_complex
        return storage.data_ptr(), storage.nbytes(), Elements(tensor.dtype.itemsize, is_float)


# --- more memory than there is ---

_GIB: Final = 1 << 30
_OF_THE_HOST: Final = re.compile(r"DefaultCPUAllocator: (not enough|can't allocate) memory")
"""torch's message about memory of the host: it depends on how torch was built."""


def _check_memory(arguments: Arguments, keywords: Keywords) -> None:
    """Refuse a tensor that is larger than the memory of the GPU, or than what this machine has left.

    The system grants memory that it does not have, and ends processes that use it.
    """
    first = arguments[0] if arguments else keywords.get("size")
    try:
        size = math.prod(arguments if isinstance(first, int) else first)  # type: ignore[arg-type]
    except TypeError:
        return
    size *= (keywords.get("dtype") or torch.get_default_dtype()).itemsize
    context = active()
    if context is None or size < _GIB:
        return
    total, free = context.gpu.memory, available_memory()
    if size > min(total, free):
        raise torch.OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {size / _GIB:.2f} GiB. GPU 0 has a total capacity of "
            f"{total / _GIB:.2f} GiB, in the main memory of this machine, of which {free / _GIB:.2f} GiB is free."
        )


# --- the mode ---

_UNAFFECTED: Final = frozenset(
    {
        *[getattr(Tensor, name).__get__ for name in ("shape", "dtype", "ndim", "requires_grad", "is_leaf", "layout")],
        Tensor.requires_grad.__set__,
        *[getattr(Tensor, name) for name in ("stride", "size", "data_ptr", "dim", "numel", "item", "tolist")],
        *[getattr(Tensor, name) for name in ("is_contiguous", "storage_offset", "element_size", "untyped_storage")],
    }
)
"""Functions that do on the device what they do on the CPU, and give no tensors."""
_MIXING: Final = frozenset(
    {
        Tensor.copy_, Tensor.__getitem__, Tensor.__setitem__, Tensor.index_put_, Tensor.index_put, torch.index_put,
        torch.index_put_, Tensor.is_same_size, Tensor.expand_as, Tensor.view_as, Tensor.reshape_as, Tensor.resize_as_,
        Tensor.data.__set__, Tensor.new_tensor, Tensor.tensor_split, torch.tensor_split, torch.result_type,
        torch.is_same_size, torch.nn.functional.embedding_bag, torch.nn.functional.ctc_loss, torch.autograd.grad,
        torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu,
        getattr(torch, "_has_compatible_shallow_copy_type", None),
    }
)  # fmt: skip
"""Functions that take tensors of several devices, or only look at the shape of the second."""
_INDEXING: Final = frozenset({Tensor.__getitem__, Tensor.__setitem__})
_SIZED: Final = frozenset({torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn, torch.full})
"""Functions whose arguments are the size of the tensor to make."""


class DeviceMode(TorchFunctionMode):  # type: ignore[misc]
    """The mode of one thread."""

    def __init__(self) -> None:
        super().__init__()
        self.call: _Call | None = None
        """The call of torch that is being made: below it the mode is off."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _UNAFFECTED or active() is None:
            return func(*args, **kwargs)
        before = self.call
        self.call = call = _Call()
        call.add(args)
        if kwargs:
            call.add(kwargs.values())
        try:
            handler = ANYWHERE.get(func)
            if handler is not None:
                return handler(func, args, kwargs)
            return _called(call, func, args, kwargs)
        except RuntimeError as error:
            if not _OF_THE_HOST.search(str(error)):
                raise
            raise torch.OutOfMemoryError(f"CUDA out of memory. {error}") from None
        finally:
            self.call = before


class _Call:
    """The arguments of a call by where they are; lists are looked into."""

    __slots__ = ("host", "is_on_device")

    def __init__(self) -> None:
        self.is_on_device: bool = False
        self.host: list[Any] = []
        """The tensors of the CPU."""

    def add(self, values: Iterable[Any]) -> None:
        for value in values:
            kind = type(value)
            if kind in _PLAIN or isinstance(value, Tensor):
                if is_on_device(value):
                    self.is_on_device = True
                else:
                    self.host.append(value)
            elif kind is tuple or (kind is list and value and not isinstance(value[0], (int, float))):
                self.add(value)

    def mark(self, result: Any) -> Any:
        """Mark results, except for those in the memory of arguments that are on the CPU."""
        if type(result) is Tensor and not self.host:
            setattr(_bearer(result), EMULATED_STORAGE, True)
        elif isinstance(result, (Tensor, tuple, list)):
            with functions_off():
                hosts = [_bearer(tensor) for tensor in self.host]
                for tensor in tensors_in(result):
                    if not any(_bearer(tensor) is host for host in hosts):
                        marked(tensor)
        return result

    def check_mixing(self, function: Any, arguments: Arguments, keywords: Keywords) -> None:
        """Refuse a tensor of the CPU beside one of the device; one without dimensions is as good as a number."""
        if function in _INDEXING and isinstance(arguments[0], Tensor) and not is_on_device(arguments[0]):
            indices = arguments[1] if type(arguments[1]) in (list, tuple) else (arguments[1],)
            if any(is_on_device(index) and index.dim() for index in indices):
                raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
        if function in _MIXING:
            return
        out = keywords.get("out")
        with functions_off():
            if not any(tensor.is_cpu and (tensor.dim() or tensor is out) for tensor in self.host):
                return
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
            f" (when calling {getattr(function, '__name__', function)})"
        )


def _called(call: _Call, function: Any, arguments: Arguments, keywords: Keywords) -> Any:
    device = keywords.get("device")
    if device is None and function in _CONSTRUCTORS and not call.is_on_device:
        device = default_device()
    if device is not None or keywords.get("pin_memory"):
        return _made(function, arguments, {**keywords}, device)
    if not call.is_on_device:
        return _allocated(function, function(*arguments, **keywords))
    if call.host:
        call.check_mixing(function, arguments, keywords)
    handler = ON_DEVICE.get(function)
    result = NotImplemented if handler is None else handler(function, arguments, keywords)
    if result is NotImplemented:
        result = _allocated(function, function(*arguments, **keywords))
    return call.mark(result)


def _made(function: Any, arguments: Arguments, keywords: Keywords, device: Any) -> Any:
    """The result of a function that makes a tensor on a given or default device, or in pinned memory."""
    is_pinned = keywords.pop("pin_memory", False)
    if not is_emulated(device):
        result = _allocated(function, function(*arguments, **keywords))
        return marked(result, PINNED_STORAGE) if is_pinned else result
    # Not left out: a default device would fill the gap.
    keywords["device"] = "cpu"
    if function in _SIZED:
        _check_memory(arguments, keywords)
    out = keywords.get("out")
    if out is not None and not is_on_device(out):
        raise RuntimeError(f"device type of out parameter ({out.device}) does not match device {device}")
    return marked(_allocated(function, function(*arguments, **keywords)))


def _allocated(function: Any, result: Any) -> Any:
    """The result of a function, which the sanitizer learns of if its memory is uninitialized."""
    if WATCHED and "empty" in getattr(function, "__name__", ""):
        note_allocation(extent_of(result))
    return result


@contextmanager
def mode_on() -> Iterator[None]:
    """Have Python code that torch calls below a function see the device: hooks, kernels, backward functions."""
    mode = THREAD.mode
    if mode is None or mode.call is None:
        yield
        return
    call, mode.call = mode.call, None
    try:
        with mode:
            yield
    finally:
        mode.call = call


def hook_device() -> None:
    MODE[:] = [DeviceMode]
    push_mode()
