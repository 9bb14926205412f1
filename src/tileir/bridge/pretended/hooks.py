"""Puts everything in its place in torch, once."""

from __future__ import annotations

import sys
from typing import Any, Final

import torch.jit._builtins
import torch.utils._device

from tileir.bridge.pretended.autocast import hook_autocast
from tileir.bridge.pretended.collectives import hook_collectives
from tileir.bridge.pretended.cuda_module import hook_cuda
from tileir.bridge.pretended.custom_operators import hook_custom_operators
from tileir.bridge.pretended.defaults import hook_defaults
from tileir.bridge.pretended.distributed import hook_distributed
from tileir.bridge.pretended.factories import hook_factories
from tileir.bridge.pretended.gradients import hook_gradients
from tileir.bridge.pretended.missing_functions import hook_missing_functions
from tileir.bridge.pretended.modules import hook_modules
from tileir.bridge.pretended.moving import hook_moving
from tileir.bridge.pretended.operators import hook_operators
from tileir.bridge.pretended.pinned import hook_pinned
from tileir.bridge.pretended.presenting import hook_presenting
from tileir.bridge.pretended.sharing import hook_sharing
from tileir.bridge.pretended.tensor_types import hook_tensor_types
from tileir.bridge.pretended.transforms import hook_transforms
from tileir.forking import NO_FORK

_hooked: Final[list[bool]] = []


def hook() -> None:
    if _hooked:
        return
    with NO_FORK:
        if _hooked:
            return
        # torch keeps the list of these functions when it is first asked for: it must be that of its own.
        torch.utils._device._device_constructors()
        replacements: dict[Any, Any] = {}
        hook_factories(replacements)
        hook_moving()
        hook_missing_functions()
        hook_presenting()
        hook_sharing()
        hook_tensor_types()
        hook_collectives()
        hook_modules()
        hook_gradients()
        hook_custom_operators()
        hook_transforms()
        hook_defaults(replacements)
        hook_autocast()
        hook_pinned()
        hook_operators()
        hook_distributed()
        hook_cuda()
        _replace_imported(replacements)
        _tell_the_scripting_compiler(replacements)
        _hooked.append(True)


def _replace_imported(replacements: dict[Any, Any]) -> None:
    """The replacements also in modules that have imported functions by whatever name."""
    by_identity = {id(original): (original, replacement) for original, replacement in replacements.items()}
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


def _tell_the_scripting_compiler(replacements: dict[Any, Any]) -> None:
    """`torch.jit.script`, and forward differentiation by it, know the replacements as the operators they replace.

    The compiler's table has been filled by torch's own scripts already; where it has not, it will be with replacements.
    """
    table = torch.jit._builtins._builtin_table
    if table is not None:
        for original, replacement in replacements.items():
            operator = table.get(id(original))
            if operator is not None:
                table[id(replacement)] = operator
