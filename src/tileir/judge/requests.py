"""What a server is asked to judge, without what the children that it forks must not find in its memory."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace

from tileir.judge.items import MODULES, Item
from tileir.judge.kernels.pairing import imports_torch
from tileir.judge.plans import Plan


@dataclass(frozen=True, slots=True)
class Request:
    """An item to judge."""

    item: Item
    """Kernels come without their reference."""
    plan: Plan
    reference: str = ""
    """The file of that reference: only the children that work with it read it."""
    with_torch: bool = False
    """Whether kernels or their reference import torch."""


def request_for(item: Item, plan: Plan, root: str) -> Request:
    """A request to a server whose directory is `root`."""
    if item.kind not in MODULES:
        return Request(item, plan)
    with_torch = imports_torch(item.content) or imports_torch(item.reference)
    if not item.reference:
        return Request(item, plan, with_torch=with_torch)
    name = hashlib.blake2b(item.reference, digest_size=16).hexdigest()
    path = os.path.join(root, "references", name)
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(f"{path}.new", "wb") as file:
            file.write(item.reference)
        os.replace(f"{path}.new", path)
    return Request(replace(item, reference=b""), plan, path, with_torch)
