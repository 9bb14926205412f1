"""What leaves torch: text, NumPy, DLPack, copies and pickles of pretended tensors."""

from __future__ import annotations

import copy
import functools
from collections import OrderedDict
from typing import Any, Final

import torch

from tileir.bridge.pretended.devices import DEVICES, index_asked
from tileir.bridge.pretended.tensors import (
    PretendedTensor,
    host_array,
    host_class,
    is_torchs_own,
    placed,
    plain,
    undispatched,
)
from tileir.execute.errors import EmulationError

Tensor: Final[Any] = torch.Tensor
# DLPack's numbers of devices.
_CPU: Final = 1
_CUDA: Final = 2
_REPR: Final[Any] = Tensor.__repr__
_TYPES: Final = {
    torch.bool: "|b1", torch.uint8: "|u1", torch.int8: "|i1", torch.int16: "<i2", torch.int32: "<i4",
    torch.int64: "<i8", torch.uint16: "<u2", torch.uint32: "<u4", torch.uint64: "<u8", torch.float16: "<f2",
    torch.float32: "<f4", torch.float64: "<f8", torch.complex64: "<c8", torch.complex128: "<c16",
}  # fmt: skip


def _repr(self: Any, *, tensor_contents: Any = None) -> str:
    if isinstance(self, torch.nn.Parameter):
        return f"Parameter containing:\n{self.data.requires_grad_(self.requires_grad)!r}"
    text = str(undispatched(_REPR, (), (self,), {"tensor_contents": tensor_contents}))
    # torch begins with the name of the class where it is not its own.
    return "t" + text[1:] if text.startswith("Tensor(") else text


def _format(self: Any, specification: str) -> str:
    if self.dim() == 0:
        return format(self.detach().item(), specification)
    return object.__format__(self, specification)


def _refuse_numpy(self: Any, *arguments: Any, **keywords: Any) -> Any:
    if keywords.get("force"):
        return self.detach().cpu().resolve_conj().resolve_neg().numpy()
    raise TypeError(
        f"can't convert {self.device} device type tensor to numpy. "
        "Use Tensor.cpu() to copy the tensor to host memory first."
    )


def _iterate(self: Any) -> Any:
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _interface(self: Any) -> dict[str, Any]:
    """`__cuda_array_interface__`."""
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. "
            "If gradients aren't required, use var.detach() to get Variable that doesn't require grad."
        )
    if self.dtype not in _TYPES:
        raise AttributeError(f"no type of __cuda_array_interface__ matches {self.dtype}")
    return {
        "typestr": _TYPES[self.dtype],
        "shape": tuple(self.shape),
        "strides": tuple([stride * self.element_size() for stride in self.stride()]),
        "data": (self.data_ptr() if self.numel() else 0, False),
        "version": 2,
    }


def _dlpack_device(self: Any) -> tuple[int, int]:
    return _CUDA, self.get_device()


class Capsule:
    """What `to_dlpack` of a pretended tensor gives, which only `from_dlpack` of torch takes."""

    def __init__(self, tensor: Any) -> None:
        self.tensor: Any = tensor


def _dlpack(self: Any, *, dl_device: tuple[int, int] | None = None, **keywords: Any) -> Any:
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if dl_device is not None and dl_device[0] == _CPU:
        return self.cpu().__dlpack__(**keywords)
    raise EmulationError(
        "Tensor.__dlpack__", "another library cannot be told that its memory is a GPU's: pass tensor.cpu()"
    )


def _from_dlpack(original: Any) -> Any:
    @functools.wraps(original)
    def from_dlpack(ext_tensor: Any, *arguments: Any, **keywords: Any) -> Any:
        if isinstance(ext_tensor, (PretendedTensor, Capsule)):
            tensor = ext_tensor.tensor if isinstance(ext_tensor, Capsule) else ext_tensor
            return tensor.detach()
        host = host_array(ext_tensor)
        if host is None:
            return original(ext_tensor, *arguments, **keywords)
        return placed(original(host), DEVICES.current)

    return from_dlpack


def _to_dlpack(original: Any) -> Any:
    @functools.wraps(original)
    def to_dlpack(tensor: Any) -> Any:
        return Capsule(tensor) if isinstance(tensor, PretendedTensor) else original(tensor)

    return to_dlpack


# --- copies and pickles ---


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
        )
    with torch.no_grad():
        storage = copy.deepcopy(undispatched(Tensor.untyped_storage, (), (self,)), memo)
        copied = torch.empty(0, dtype=self.dtype, device="cpu")
        copied.set_(storage, self.storage_offset(), self.size(), self.stride())
    copied.__class__ = type(self)
    copied.requires_grad = self.requires_grad
    memo[id(self)] = copied
    if self.grad is not None:
        copied.grad = copy.deepcopy(self.grad, memo)
    for name, value in self.__dict__.items():
        setattr(copied, name, copy.deepcopy(value, memo))
    return copied


def _reduce(self: Any, protocol: Any) -> Any:
    """As torch pickles tensors of a device: their storage carries its name."""
    if isinstance(self, torch.nn.Parameter):
        rebuild, _ = torch.nn.Parameter(plain(self), self.requires_grad).__reduce_ex__(protocol)
        return rebuild, (self.data, self.requires_grad, OrderedDict())
    kind = host_class(self)
    if not is_torchs_own(kind):
        return _of_class, (self.detach().as_subclass(Tensor).requires_grad_(self.requires_grad), kind, self.__dict__)
    host = plain(self).requires_grad_(self.requires_grad)
    function, arguments = host.__reduce_ex__(protocol)
    storage = arguments[0]
    getattr(storage, "_untyped_storage", storage)._tileir_location = str(self.device)
    return function, arguments


def _of_class(tensor: Any, kind: Any, state: dict[str, Any]) -> Any:
    """What `_reduce` has made of a tensor of a user's class."""
    made = tensor.detach().as_subclass(kind).requires_grad_(tensor.requires_grad)
    made.__dict__.update(state)
    return made


def _location(storage: Any) -> Any:
    return getattr(storage, "_tileir_location", None)


def _restored(storage: Any, location: str) -> Any:
    index = index_asked(location)
    if index is None:
        return None
    storage._tileir_location = f"cuda:{index}"
    return storage


def _storage_of_device(original: Any) -> Any:
    """`storage.cuda()`, as functions for `map_location` call it."""

    @functools.wraps(original)
    def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        index = index_asked("cuda" if device is None else device)
        if index is None:
            return original(self, device, non_blocking)
        copied = self.clone()
        copied._tileir_location = f"cuda:{index}"
        return copied

    return cuda


def _rebuilt(original: Any) -> Any:
    @functools.wraps(original)
    def rebuild(storage: Any, *arguments: Any, **keywords: Any) -> Any:
        tensor = original(storage, *arguments, **keywords)
        location = _location(getattr(storage, "_untyped_storage", storage))
        return tensor if location is None else placed(tensor, torch.device(location).index)

    return rebuild


def hook_presenting() -> None:
    methods: dict[str, Any] = {
        "__repr__": _repr,
        "__format__": _format,
        "__array__": _refuse_numpy,
        "numpy": _refuse_numpy,
        "__iter__": _iterate,
        "__cuda_array_interface__": property(_interface),
        "__dlpack__": _dlpack,
        "__dlpack_device__": _dlpack_device,
        "__deepcopy__": _deepcopy,
        "__reduce_ex__": _reduce,
    }
    for name, method in methods.items():
        setattr(PretendedTensor, name, method)
    to_dlpack, from_dlpack = _to_dlpack(torch.to_dlpack), _from_dlpack(torch.from_dlpack)
    for module in (torch, torch.utils.dlpack):
        module.to_dlpack, module.from_dlpack = to_dlpack, from_dlpack


def hook_files() -> None:
    torch.serialization.register_package(0, _location, _restored)
    for name in ("_rebuild_tensor", "_rebuild_tensor_v3"):
        setattr(torch._utils, name, _rebuilt(getattr(torch._utils, name)))
    torch.UntypedStorage.cuda = _storage_of_device(torch.UntypedStorage.cuda)
