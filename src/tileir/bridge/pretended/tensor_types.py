"""`torch.cuda.FloatTensor` and its kin: the old classes of tensors, by which scripts make, convert and tell them."""

from __future__ import annotations

import functools
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.pretended.devices import DEVICES
from tileir.bridge.pretended.tensors import extent_of, is_pretended, placed
from tileir.bridge.uninitialized import note_allocation

NAMES: Final = {
    torch.float16: "Half", torch.float32: "Float", torch.float64: "Double", torch.bfloat16: "BFloat16",
    torch.uint8: "Byte", torch.int8: "Char", torch.int16: "Short", torch.int32: "Int", torch.int64: "Long",
    torch.bool: "Bool",
}  # fmt: skip


def dtype_of(name: str) -> Any:
    """The dtype of the class of a name, as "torch.cuda.FloatTensor"."""
    word = name.rpartition(".")[2].removesuffix("Tensor")
    for dtype, spelled in NAMES.items():
        if spelled == word:
            return dtype
    raise ValueError(f"invalid type: '{name}'")


class _TensorType(type):
    """The class of these classes, of which there are no instances."""

    dtype: Any
    original: Any

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        if active() is None:
            return cls.original(*arguments, **keywords)
        # The old constructors take extents, or data.
        made = getattr(torch, cls.__name__)(*[each.cpu() if is_pretended(each) else each for each in arguments])
        if all(isinstance(each, int) for each in arguments):
            note_allocation(extent_of(made))
        return placed(made, DEVICES.current)

    def __instancecheck__(cls, instance: object) -> bool:
        return (is_pretended(instance) and instance.dtype is cls.dtype) or isinstance(instance, cls.original)  # type: ignore[attr-defined]


def _default_set(original: Any) -> Any:
    """`torch.set_default_tensor_type`: a dtype and a device."""

    @functools.wraps(original)
    def set_default_tensor_type(t: Any, /) -> None:
        name = t if isinstance(t, str) else f"{t.__module__}.{t.__name__}"
        if active() is None or not name.startswith("torch.cuda."):
            original(t)
        else:
            torch.set_default_dtype(dtype_of(name))
            torch.set_default_device("cuda")

    return set_default_tensor_type


def hook_tensor_types() -> None:
    for dtype, word in NAMES.items():
        name = f"{word}Tensor"
        original = getattr(torch.cuda, name, None)
        if original is not None:
            names = {"dtype": dtype, "original": original, "__module__": "torch.cuda"}
            setattr(torch.cuda, name, _TensorType(name, (), names))
    torch.set_default_tensor_type = _default_set(torch.set_default_tensor_type)
