"""Functions of torch that make tensors on the device they are told."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.pretended.devices import index_asked
from tileir.bridge.pretended.exhaustion import check_exhausted, check_memory
from tileir.bridge.pretended.pinned import pinned
from tileir.bridge.pretended.tensors import (
    SPECIAL,
    extent_of,
    host_array,
    is_pretended,
    placed,
    undispatched,
    unplaced,
)
from tileir.bridge.uninitialized import WATCHED, allocating, note_allocation
from tileir.execute.errors import EmulationError

FACTORIES: Final = [
    "arange",
    "bartlett_window",
    "blackman_window",
    "empty",
    "empty_permuted",
    "empty_quantized",
    "empty_strided",
    "eye",
    "full",
    "hamming_window",
    "hann_window",
    "kaiser_window",
    "linspace",
    "logspace",
    "normal",
    "ones",
    "rand",
    "randint",
    "randn",
    "randperm",
    "range",
    "scalar_tensor",
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
    "tril_indices",
    "triu_indices",
    "zeros",
]
LIKE: Final = ["empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like"]
NEW: Final = ["new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros"]
CONVERSIONS: Final = ("tensor", "as_tensor", "asarray")
REPLACEMENTS: Final[dict[Any, Any]] = {}
"""Functions of torch, and what is in their place."""


sized: Final = frozenset({torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn, torch.full})
"""Functions that are told how large a tensor to make, before all else."""


def _size(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    first = arguments[0] if arguments else keywords.get("size")
    return arguments if isinstance(first, int) else first


def replaced(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes a tensor, and knows pretended devices."""
    create = allocating(original, extent_of) if "empty" in original.__name__ else original

    @functools.wraps(original)
    def make(*arguments: Any, **keywords: Any) -> Any:
        device = keywords.get("device")
        if device is not None:
            index = index_asked(device)
            if index is not None:
                # Not left out: a default device would fill the gap.
                keywords["device"] = "cpu"
                keywords.pop("pin_memory", None)
                if original in sized:
                    check_memory(_size(arguments, keywords), keywords.get("dtype"))
                out = keywords.get("out")
                if out is not None and not is_pretended(out):
                    raise RuntimeError(f"device type of out parameter ({out.device}) does not match device {device}")
                try:
                    return placed(create(*arguments, **keywords), index)
                except RuntimeError as error:
                    check_exhausted(error)
                    raise
        if keywords.get("pin_memory") and active() is not None:
            return pinned(create(*arguments, **{**keywords, "pin_memory": False}))
        return create(*arguments, **keywords)

    return make


def replaced_conversion(original: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.tensor` and its kin: without a device, the result is where the data are."""
    copies = original is not torch.as_tensor and original is not torch.asarray
    name = "obj" if original is torch.asarray else "data"

    @functools.wraps(original)
    def make(*arguments: Any, **keywords: Any) -> Any:
        if not arguments and name not in keywords:
            return original(**keywords)
        data, arguments = (arguments[0], arguments[1:]) if arguments else (keywords.pop(name), ())
        device = keywords.get("device")
        host = host_array(data)
        if host is not None:
            # An array of CuPy's: where nothing has to change it is the same memory.
            data = placed(torch.from_numpy(host))
        given = is_pretended(data)
        if device is None and not given:
            # A list of tensors of one element each is where the first of them is.
            if type(data) in (list, tuple) and _first_is_pretended(data):
                return placed(undispatched(original, (), (data, *arguments), keywords))
            return original(data, *arguments, **keywords)
        index = data.get_device() if device is None else index_asked(device)
        if index is None:
            return unplaced(original(data.cpu() if given else data, *arguments, **keywords))
        if device is not None:
            keywords["device"] = "cpu"
            keywords.pop("pin_memory", None)
        if not given and not copies and isinstance(data, torch.Tensor):
            data = data.clone()
        elif not given and not copies:
            # The memory of NumPy's arrays is the host's.
            return placed(original(data, *arguments, **keywords).clone(), index)
        result = undispatched(original, (), (data, *arguments), keywords)
        return placed(result, index)

    return make


def _nested(original: Callable[..., Any]) -> Callable[..., Any]:
    """Tensors of tensors: those of the layout that is torch's default."""

    @functools.wraps(original)
    def make(*arguments: Any, **keywords: Any) -> Any:
        if not arguments:
            arguments = tuple([keywords.pop(name) for name in ("tensor_list", "ts") if name in keywords])
        ts, arguments = arguments[0], arguments[1:]
        device = keywords.get("device")
        index = (0 if _first_is_pretended(ts) else None) if device is None else index_asked(device)
        if index is None:
            return original(ts, *arguments, **keywords)
        if keywords.get("layout") is torch.jagged:
            raise EmulationError(
                f"torch.nested.{original.__name__}(layout=torch.jagged)", "use the layout torch.strided, or the CPU"
            )
        items = [
            each.cpu() if is_pretended(each) else each for each in (ts if type(ts) in (list, tuple) else ts.unbind())
        ]
        return placed(original(items, *arguments, **({**keywords, "device": "cpu"} if device else keywords)), index)

    return make


def _first_is_pretended(data: Any) -> bool:
    while type(data) in (list, tuple):
        if not data:
            return False
        data = data[0]
    return is_pretended(data)


def _resized(original: Callable[..., Any]) -> Callable[..., Any]:
    """`Tensor.resize_`, after which what the memory has grown by is unwritten."""

    @functools.wraps(original)
    def resize_(self: Any, *arguments: Any, **keywords: Any) -> Any:
        before = extent_of(self) if WATCHED else None
        result = original(self, *arguments, **keywords)
        after = extent_of(self) if before is not None else None
        if before is not None and after is not None and after[1] > before[1]:
            start, size, elements = after
            note_allocation((start + before[1], size - before[1], elements))
        return result

    return resize_


def _like(function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """`zeros_like` of a pretended tensor, and `new_zeros`."""
    device = keywords.get("device")
    if device is None:
        given = arguments[0] if arguments else keywords["input"]
        index = given.get_device() if is_pretended(given) else None
    else:
        index = index_asked(device)
        keywords = {**keywords, "device": device if index is None else "cpu"}
    result = undispatched(function, (), arguments, keywords)
    return result if index is None else placed(result, index)


def hook_factories() -> None:
    for name in (*FACTORIES, *LIKE):
        original = getattr(torch, name, None)
        if original is not None:
            replacement = replaced(original)
            REPLACEMENTS[original] = replacement
            setattr(torch, name, replacement)
            if name in LIKE:
                SPECIAL[original] = _like
    for name in CONVERSIONS:
        original = getattr(torch, name)
        REPLACEMENTS[original] = replacement = replaced_conversion(original)
        setattr(torch, name, replacement)
    for name in NEW:
        original = getattr(torch.Tensor, name)
        setattr(torch.Tensor, name, replaced(original))
        SPECIAL[original] = _like
    torch.Tensor.resize_ = _resized(torch.Tensor.resize_)
    for name in ("fftfreq", "rfftfreq"):
        original = getattr(torch.fft, name)
        REPLACEMENTS[original] = replacement = replaced(original)
        setattr(torch.fft, name, replacement)


def hook_nested() -> None:
    torch.nested.nested_tensor = _nested(torch.nested.nested_tensor)
    torch.nested.as_nested_tensor = _nested(torch.nested.as_nested_tensor)


def replace_imported() -> None:
    """The replacements also in modules that have imported functions by whatever name."""
    by_identity = {id(original): (original, replacement) for original, replacement in REPLACEMENTS.items()}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("torch", "numpy", "tileir"):
            continue
        names = getattr(module, "__dict__", None)
        if not isinstance(names, dict):
            continue
        for key, value in list(names.items()):
            found = by_identity.get(id(value))
            if found is not None:
                names[key] = found[1]
