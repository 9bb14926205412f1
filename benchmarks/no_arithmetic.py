"""Operations of torch that compute nothing, for runs of which only the kernels that they launch are of interest."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_any, tree_leaves, tree_map

LARGE = 1 << 14  # Elements of a tensor.


class NoArithmetic(TorchDispatchMode):  # type: ignore[misc]
    """Operations on large tensors of floats return tensors of the right shape, and compute nothing: on a CPU the
    references of most tests take minutes."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func.is_view or not (tree_any(_is_large, (args, kwargs)) or "random" in str(func.tags)):
            return func(*args, **kwargs)
        if func._schema.is_mutable:
            changed = [value for value in args[:1] if _is_large(value)]
            return changed[0] if changed and len(func._schema.returns) == 1 else func(*args, **kwargs)
        try:
            found = func(*tree_map(_without_memory, args), **tree_map(_without_memory, kwargs))
        except (RuntimeError, NotImplementedError):
            return func(*args, **kwargs)
        if not all(isinstance(each, torch.Tensor) and each.is_floating_point() for each in tree_leaves(found)):
            return func(*args, **kwargs)
        return tree_map(lambda each: torch.empty_like(each, device="cpu"), found)


def _is_large(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() > LARGE


def _without_memory(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    return torch.device("meta") if isinstance(value, torch.device) else value
