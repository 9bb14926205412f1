"""What torch has for CUDA tensors and not for those of the CPU, by other functions of the CPU."""

from __future__ import annotations

from typing import Any

import torch

from tileir.bridge.pretended.mixing import check_devices
from tileir.bridge.pretended.tensors import SPECIAL, Tensor, is_pretended, placed, undispatched


def hook_missing_functions() -> None:
    for function in (torch.mm, torch.bmm, torch.addmm, torch.baddbmm):
        SPECIAL[function] = _product
    for function in (torch.abs, torch.absolute, Tensor.abs, Tensor.absolute, Tensor.__abs__):
        SPECIAL[function] = _abs


def _ordinary(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The function of the CPU, on pretended tensors."""
    check_devices(function, arguments, keywords)
    found = undispatched(function, (), arguments, keywords)
    index = next(value.device.index for value in arguments if is_pretended(value))
    return placed(found, index) if found is not keywords.get("out") else found


def _product(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """With `out_dtype` the product is in a wider type than its operands, which are exact in it."""
    dtype = keywords.get("out_dtype")
    if dtype is None:
        return _ordinary(function, arguments, keywords)
    keywords = {name: value for name, value in keywords.items() if name != "out_dtype"}
    return function(*[value.to(dtype) if isinstance(value, Tensor) else value for value in arguments], **keywords)


def _abs(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The absolute value of truth values is themselves."""
    if arguments and arguments[0].dtype is torch.bool and not keywords:
        return arguments[0].clone()
    return _ordinary(function, arguments, keywords)
