"""Pretended tensors in other processes: `torch.multiprocessing` shares their memory, and says where they are."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch

from tileir.bridge.pretended.tensors import (
    ON_NEW_CLASSES,
    PretendedTensor,
    host_class,
    placed,
    plain,
)


def _sent(tensor: Any) -> Any:
    """As `torch.multiprocessing.reductions.reduce_tensor`, with the device."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, "
            "since autograd does not support crossing process boundaries.  "
            "If you just want to transfer the data, call detach() on the tensor before serializing "
            "(e.g., putting it on the queue)."
        )
    return _received, (plain(tensor), host_class(tensor), tensor.get_device(), bool(tensor.requires_grad))


def _received(host: Any, kind: Any, index: int, requires_grad: bool) -> Any:
    if kind is not torch.Tensor:
        host = host.as_subclass(kind)
    return placed(host.requires_grad_(requires_grad), index)


def hook_sharing() -> None:
    ForkingPickler.register(PretendedTensor, _sent)
    ON_NEW_CLASSES.append(lambda kind: ForkingPickler.register(kind, _sent))
