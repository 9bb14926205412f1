"""Methods of tensors on the device: moving, conversion to text, NumPy, DLPack and files, pinned memory."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any, Final

import torch
import torch.multiprocessing.reductions

from tileir.bridge.emulated import device as emulated
from tileir.bridge.emulated.device import Arguments, Keywords, Tensor
from tileir.bridge.emulated.gpu_interface import refusing
from tileir.bridge.hooks import replace
from tileir.bridge.uninitialized import WATCHED, note_allocation
from tileir.execute.arguments.binding import EMULATED_STORAGE, PINNED_STORAGE, host_array

_TO: Final[Any] = Tensor.to
_TYPE: Final[Any] = Tensor.type
_RESIZE: Final[Any] = Tensor.resize_

# --- moving ---


def _moved(tensor: Any, to_device: bool, *arguments: Any, **keywords: Any) -> Any:
    """`tensor.to(..)`, with the CPU for the device among the arguments."""
    if to_device != emulated.is_on_device(tensor):
        keywords["copy"] = True
    result = _TO(tensor, *arguments, **keywords)
    return emulated.marked(result) if to_device and result is not tensor else result


def _to(self: Any, *arguments: Any, **keywords: Any) -> Any:
    given = arguments[0] if arguments else keywords.get("device", keywords.get("other"))
    if isinstance(given, Tensor):
        keywords.pop("other", None)
        return _moved(self, emulated.is_on_device(given), given.device, given.dtype, *arguments[1:], **keywords)
    if given is None or type(given) is torch.dtype:
        return _moved(self, emulated.is_on_device(self), *arguments, **keywords)
    if not emulated.is_emulated(given):
        return _moved(self, False, *arguments, **keywords)
    if arguments:
        return _moved(self, True, "cpu", *arguments[1:], **keywords)
    return _moved(self, True, **{**keywords, "device": "cpu"})


def _cuda(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = torch.preserve_format) -> Any:
    emulated.check_device(device)
    return _moved(self, True, "cpu", memory_format=memory_format)


def _type(self: Any, dtype: Any = None, non_blocking: bool = False, **keywords: Any) -> Any:
    """`tensor.type()` names the type, `tensor.type(..)` converts to one."""
    here = emulated.is_on_device(self)
    if dtype is None:
        return _TYPE(self).replace("torch.", "torch.cuda.") if here else _TYPE(self)
    if type(dtype) is torch.dtype:
        return _moved(self, here, dtype)
    # "torch.cuda.FloatTensor", or this class.
    name = dtype if isinstance(dtype, str) else f"{getattr(dtype, '__module__', '')}.{getattr(dtype, '__name__', '')}"
    there = name.startswith("torch.cuda.")
    return _moved(self, there, getattr(torch, name.rpartition(".")[2]).dtype) if here or there else _TYPE(self, dtype)


def _converted(function: Any, arguments: Arguments, keywords: Keywords) -> Any:
    """`torch.tensor`, `as_tensor` and `asarray`: without a device, the result is where the data are."""
    keywords = {**keywords}
    data, *rest = arguments or (keywords.pop("obj" if function is torch.asarray else "data"),)
    if host_array(data) is not None:
        # An array of CuPy's: where nothing has to change it is the same memory.
        data = emulated.marked(torch.from_numpy(host_array(data)))
    first = data
    while type(first) in (list, tuple) and first:
        first = first[0]
    here = emulated.is_on_device(first)
    device = keywords.get("device")
    if device is None and not here:
        device = emulated.default_device()
    to_device = here if device is None else emulated.is_emulated(device)
    if device is None or to_device:
        keywords["device"] = "cpu"
    if to_device:
        keywords.pop("pin_memory", None)
    result = function(data, *rest, **keywords)
    if here is not to_device and (emulated.is_on_device(result) or function is not torch.tensor):
        # The memory of the other device is apart.
        result = result.clone()
    return emulated.marked(result) if to_device else result


# --- NumPy and DLPack ---


def _numpy(self: Any, *arguments: Any, force: bool = False, **keywords: Any) -> Any:
    if force:
        return self.detach().clone().resolve_conj().resolve_neg().numpy()
    raise TypeError(
        f"can't convert {emulated.DEVICE} device type tensor to numpy. "
        "Use Tensor.cpu() to copy the tensor to host memory first."
    )


def _interface(self: Any, *owner: Any) -> dict[str, Any]:
    """`__cuda_array_interface__`; a tensor that requires a gradient has none."""
    try:
        described = self.numpy().__array_interface__
    except TypeError:
        raise AttributeError(f"no type of __cuda_array_interface__ matches {self.dtype}") from None
    return {**described, "data": (self.data_ptr() if self.numel() else 0, False), "version": 2}


def _from_dlpack(original: Any, ext_tensor: Any, *arguments: Any, **keywords: Any) -> Any:
    """A tensor of the device is its own capsule, which torch and the emulated CuPy take."""
    if emulated.is_on_device(ext_tensor):
        return ext_tensor.detach()
    host = host_array(ext_tensor)
    return original(ext_tensor, *arguments, **keywords) if host is None else emulated.marked(torch.from_numpy(host))


# --- files and other processes ---


def _restored(storage: Any, location: str) -> Any:
    if not emulated.is_emulated(location):
        return None
    setattr(storage, EMULATED_STORAGE, True)
    return storage


def _storage_on_device(original: Any, self: Any, *device: Any, **more: Any) -> Any:
    """`storage.cuda()`, as functions for `map_location` call it."""
    return _restored(self.clone(), "cuda") if emulated.is_emulated("cuda") else original(self, *device, **more)


def _sent(tensor: Any) -> Any:
    """A tensor for another process, which gets its memory, and the mark with it."""
    with emulated.functions_off():
        rebuild, arguments = torch.multiprocessing.reductions.reduce_tensor(tensor)
    return (_received, (rebuild, arguments)) if emulated.is_on_device(tensor) else (rebuild, arguments)


def _received(rebuild: Any, arguments: Any) -> Any:
    return emulated.marked(rebuild(*arguments))


def hook_exchange() -> None:
    for module in (torch, torch.utils.dlpack):
        replace(module, "from_dlpack", _from_dlpack)
        replace(
            module, "to_dlpack", lambda original, tensor: tensor if emulated.is_on_device(tensor) else original(tensor)
        )
    location = {True: str(emulated.DEVICE), False: None}
    torch.serialization.register_package(0, lambda each: location[hasattr(each, EMULATED_STORAGE)], _restored)
    replace(torch.UntypedStorage, "cuda", _storage_on_device)
    for kind in (Tensor, torch.nn.Parameter):
        ForkingPickler.register(kind, _sent)


# --- single methods ---


def hook_text() -> None:
    """torch's own text, with the device in it."""
    text: Any = torch._tensor_str._str

    def represent(self: Any, *, tensor_contents: Any = None) -> str:
        with emulated.mode_on():
            return str(text(self, tensor_contents=tensor_contents))

    emulated.ON_DEVICE[Tensor.__repr__] = emulated.as_method(represent)
    emulated.ON_DEVICE[Tensor.__format__] = emulated.as_method(
        lambda self, form: NotImplemented if form or not self.dim() else represent(self)
    )


def _pin_memory(self: Any, *device: Any) -> Any:
    if emulated.is_on_device(self):
        raise RuntimeError(f"cannot pin '{_type(self)}' only dense CPU tensors can be pinned")
    return self if _is_pinned(self) else emulated.marked(self.clone(), PINNED_STORAGE)


def _is_pinned(self: Any, *device: Any) -> bool:
    return hasattr(self.untyped_storage(), PINNED_STORAGE)


def _resize(self: Any, *arguments: Any, **keywords: Any) -> Any:
    """`Tensor.resize_`, after which what the memory has grown by is unwritten."""
    before = emulated.extent_of(self) if WATCHED else None
    result = _RESIZE(self, *arguments, **keywords)
    after = None if before is None else emulated.extent_of(self)
    if before is not None and after is not None and after[1] > before[1]:
        note_allocation((after[0] + before[1], after[1] - before[1], after[2]))
    return result


def _absolute(function: Any, arguments: Arguments, keywords: Keywords) -> Any:
    """The absolute value of truth values is themselves, which torch has for CUDA alone."""
    given = arguments[0] if arguments else keywords["input"]
    return given.clone() if given.dtype is torch.bool and "out" not in keywords else NotImplemented


def _packed(function: Any, arguments: Arguments, keywords: Keywords) -> Any:
    """Sequences and their lengths, which are always on the CPU."""
    sequences, lengths = function(*arguments, **keywords)
    return emulated.marked(sequences) if emulated.is_on_device(arguments[0]) else sequences, lengths


def hook_methods() -> None:
    anywhere: dict[Any, Any] = {
        Tensor.to: _to,
        Tensor.cuda: _cuda,
        Tensor.cpu: lambda self, memory_format=torch.preserve_format: _to(self, "cpu", memory_format=memory_format),
        Tensor.type: _type,
        Tensor.type_as: lambda self, other: _to(self, other),
        Tensor.pin_memory: _pin_memory,
        Tensor.is_pinned: _is_pinned,
        Tensor.resize_: _resize,
    }
    on_device: dict[Any, Any] = {
        Tensor.device.__get__: lambda *_: emulated.DEVICE,
        Tensor.is_cuda.__get__: lambda *_: True,
        Tensor.is_cpu.__get__: lambda *_: False,
        Tensor.get_device: lambda _: 0,
        **dict.fromkeys((Tensor.numpy, Tensor.__array__), _numpy),
        Tensor.__cuda_array_interface__.__get__: _interface,
        Tensor.__dlpack__: refusing("Tensor.__dlpack__", "its memory is not a GPU's: pass tensor.cpu()"),
        # CUDA's number in DLPack, and the index.
        Tensor.__dlpack_device__: lambda _: (2, 0),
    }
    packing = [getattr(torch, name, None) for name in ("_pack_padded_sequence", "_pad_packed_sequence")]
    absolute = (torch.abs, torch.absolute, Tensor.abs, Tensor.absolute, Tensor.__abs__)
    emulated.ANYWHERE.update({method: emulated.as_method(replacement) for method, replacement in anywhere.items()})
    emulated.ANYWHERE.update(dict.fromkeys((torch.tensor, torch.as_tensor, torch.asarray), _converted))
    emulated.ANYWHERE.update(dict.fromkeys(packing, _packed))
    emulated.ON_DEVICE.update({method: emulated.as_method(replacement) for method, replacement in on_device.items()})
    emulated.ON_DEVICE.update(dict.fromkeys(absolute, _absolute))
    # Memory lives as long as it is used.
    replace(
        Tensor, "record_stream", lambda original, *given: None if emulated.is_on_device(given[0]) else original(*given)
    )
