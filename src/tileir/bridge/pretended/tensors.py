"""Tensors that say they are on a CUDA device and live in main memory.

A pretended tensor is a tensor of the CPU whose *class* is changed: `tensor.__class__ = PretendedTensor`.  Nothing is
copied or wrapped, the operations are those of the CPU with their results bit for bit, and autograd sees an ordinary
tensor.  The class answers `device`, `is_cuda` and the like, and its `__torch_function__` changes the class of whatever
comes out of an operation that a pretended tensor went into.  There is one such class for each class of tensors
(`Tensor`, `Parameter`, a user's own) and index of a device.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Final

import torch

from tileir.bridge.pretended.exhaustion import check_exhausted
from tileir.bridge.pretended.mixing import check_devices
from tileir.bridge.uninitialized import Extent
from tileir.execute.sanitizer.uninitialized import Elements

Tensor: Final[Any] = torch.Tensor

# Calls a function as if tensors of other classes were plain ones: (function, types, arguments[, keywords]).
undispatched: Final[Any] = torch._C._disabled_torch_function_impl


class _Dispatch:
    """`with DISPATCH.on():` lets pretended tensors take part again where torch has switched their functions off."""

    on: Any = contextlib.nullcontext


DISPATCH: Final = _Dispatch()


def hook_dispatch() -> None:
    DISPATCH.on = torch._C._EnableTorchFunction


SPECIAL: Final[dict[Any, Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]]] = {}
"""Functions of torch that a pretended tensor has its own of; NotImplemented asks for torch's."""


def as_method(method: Callable[..., Any]) -> Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]:
    """An entry of `SPECIAL` that takes the function's own parameters, by position or by name."""
    return lambda function, arguments, keywords: method(*arguments, **keywords)


_SHAPE: Final[Any] = Tensor.shape.__get__
_DTYPE: Final[Any] = Tensor.dtype.__get__
_NDIM: Final[Any] = Tensor.ndim.__get__
_REQUIRES_GRAD: Final[Any] = Tensor.requires_grad.__get__
_SET_REQUIRES_GRAD: Final[Any] = Tensor.requires_grad.__set__
_STRIDE: Final[Any] = Tensor.stride
_SIZE: Final[Any] = Tensor.size
_DATA_PTR: Final[Any] = Tensor.data_ptr
_DIM: Final[Any] = Tensor.dim
_NUMEL: Final[Any] = Tensor.numel
_GETITEM: Final[Any] = Tensor.__getitem__
_AS_SUBCLASS: Final[Any] = Tensor.as_subclass
_STORAGE: Final[Any] = Tensor.untyped_storage


class PretendedTensor(Tensor):  # type: ignore[misc]
    """A tensor on a pretended device."""

    __tileir_host_memory__ = True
    """Whatever its device says, it can be given to a kernel that runs here."""
    pretended_device = torch.device("cuda", 0)
    class_of_results = Tensor
    """The class on the CPU of what operations make: a user's class goes on, and a parameter does not."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        special = SPECIAL.get(func)
        if special is not None:
            result = special(func, args, kwargs or {})
            if result is not NotImplemented:
                return result
        check_devices(func, args, kwargs)
        try:
            result = undispatched(func, types, args, kwargs) if kwargs else undispatched(func, types, args)
        except RuntimeError as error:
            check_exhausted(error)
            raise
        kind = type(result)
        if kind is Tensor:
            # Where a tensor of the CPU is changed in place, it stays what it is, and so do its elements.
            first = args[0] if args else None
            if result is not first and (func is not _GETITEM or type(first) is not Tensor):
                result.__class__ = cls._of_tensors()
        elif kind is not torch.Size and isinstance(result, (tuple, list)):
            cls._place_all(result)
        return result

    @classmethod
    def _place_all(cls, items: Any) -> None:
        for item in items:
            if type(item) is Tensor:
                item.__class__ = cls._of_tensors()
            elif type(item) in (tuple, list):
                cls._place_all(item)

    @classmethod
    def _of_tensors(cls) -> Any:
        return _CLASSES[cls.class_of_results, cls.pretended_device.index]

    # --- where it is ---

    @property
    def device(self) -> Any:
        return self.pretended_device

    @property
    def is_cuda(self) -> bool:
        return True

    @property
    def is_cpu(self) -> bool:
        return False

    def get_device(self) -> int:
        return int(self.pretended_device.index)

    def as_subclass(self, cls: Any) -> Any:
        return placed(undispatched(_AS_SUBCLASS, (), (self, _HOST_CLASSES.get(cls, cls))), self.get_device())

    # --- what launches ask for, without the way through `__torch_function__` ---

    shape = property(lambda self: undispatched(_SHAPE, (), (self,)))
    dtype = property(lambda self: undispatched(_DTYPE, (), (self,)))
    ndim = property(lambda self: undispatched(_NDIM, (), (self,)))
    requires_grad = property(
        lambda self: undispatched(_REQUIRES_GRAD, (), (self,)),
        lambda self, value: undispatched(_SET_REQUIRES_GRAD, (), (self, value)),
    )

    def stride(self, *dimension: Any, **keywords: Any) -> Any:
        return undispatched(_STRIDE, (), (self, *dimension), keywords)

    def size(self, *dimension: Any, **keywords: Any) -> Any:
        return undispatched(_SIZE, (), (self, *dimension), keywords)

    def data_ptr(self) -> Any:
        return undispatched(_DATA_PTR, (), (self,))

    def dim(self) -> Any:
        return undispatched(_DIM, (), (self,))

    def numel(self) -> Any:
        return undispatched(_NUMEL, (), (self,))


PretendedTensor.__name__ = PretendedTensor.__qualname__ = "Tensor"
PretendedTensor.__module__ = "torch"

# --- from one device to another ---

_CLASSES: Final[dict[tuple[Any, int], Any]] = {(Tensor, 0): PretendedTensor}
"""For a class of tensors of the CPU and an index, that of tensors of a pretended device."""
_HOST_CLASSES: Final[dict[Any, Any]] = {PretendedTensor: Tensor}
_DETACH: Final[Any] = Tensor.detach
ON_NEW_CLASSES: Final[list[Callable[[Any], None]]] = []
"""Called with each further class of pretended tensors."""


def plain(tensor: Any) -> Any:
    """A plain tensor of the same memory."""
    return undispatched(_DETACH, (), (tensor,))


def pretended_class(host: Any, index: int = 0) -> Any:
    """The class of the tensors on a device that are of class `host` on the CPU."""
    found = _CLASSES.get((host, index))
    if found is None:
        names: dict[str, Any] = {"pretended_device": torch.device("cuda", index), "__module__": host.__module__}
        names["__qualname__"] = host.__qualname__
        if host is Tensor:
            bases: tuple[Any, ...] = (PretendedTensor,)
        elif is_torchs_own(host):
            bases = (PretendedTensor, host)
        else:
            # What a user's class overrides holds, also what it does in `__torch_function__` before asking `super()`.
            bases = (host, pretended_class(next(each for each in host.__mro__ if is_torchs_own(each)), index))
            names["class_of_results"] = host
        found = type(host)(host.__name__, bases, names)
        found = _CLASSES.setdefault((host, index), found)
        _HOST_CLASSES[found] = host
        pretended_class(Tensor, index)
        for tell in ON_NEW_CLASSES:
            tell(found)
    return found


def is_torchs_own(kind: Any) -> bool:
    """Whether a class of tensors is one of torch itself."""
    return str(kind.__module__).partition(".")[0] == "torch"


def host_class(tensor: Any) -> Any:
    """The class that a tensor has on the CPU."""
    kind = type(tensor)
    return _HOST_CLASSES.get(kind, kind)


def placed(tensor: Any, index: int = 0) -> Any:
    """This very tensor of the CPU, on a device from now on."""
    host = type(tensor)
    if host not in _HOST_CLASSES and isinstance(tensor, Tensor):
        tensor.__class__ = _CLASSES.get((host, index)) or pretended_class(host, index)
    return tensor


def unplaced(tensor: Any) -> Any:
    """This very tensor, on the CPU from now on."""
    host = _HOST_CLASSES.get(type(tensor))
    if host is not None:
        tensor.__class__ = host
    return tensor


def is_pretended(value: object) -> bool:
    return type(value) in _HOST_CLASSES


def extent_of(tensor: Any) -> Extent | None:
    """The memory of a tensor; None for one that has none of its own kind."""
    if type(tensor) is not Tensor and not is_pretended(tensor):
        return None
    try:
        storage = undispatched(_STORAGE, (), (tensor,))
        start, size = storage.data_ptr(), storage.nbytes()
    except (RuntimeError, NotImplementedError):
        # Sparse, or within a transform.
        return None
    dtype = tensor.dtype
    return start, size, Elements(dtype.itemsize, dtype.is_floating_point or dtype.is_complex)


def first_index(values: Any) -> int | None:
    """The index of the device of the first pretended tensor among these values, also within lists."""
    for value in values:
        if is_pretended(value):
            return int(value.get_device())
        if type(value) in (list, tuple):
            found = first_index(value)
            if found is not None:
                return found
    return None


def host_array(value: object) -> Any:
    """The NumPy array in the memory of an array of another library's pretended device, None for anything else."""
    found = getattr(type(value), "__tileir_host_array__", None)
    return None if found is None else found(value)
