"""A pretended device as the default one, and random numbers on it."""

from __future__ import annotations

import functools
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.pretended.cuda_module import replace_functions
from tileir.bridge.pretended.devices import DEVICES, index_asked
from tileir.bridge.pretended.factories import REPLACEMENTS

_Host: Final[Any] = torch.Generator


def _with_default_device(original: Any, constructors: Any) -> Any:
    """`__torch_function__` of the mode that fills in the default device: torch's functions themselves know of none."""

    @functools.wraps(original)
    def fill_in(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.device.type == "cuda" and active() is not None:
            replacement = REPLACEMENTS.get(func)
            if replacement is not None and (not kwargs or kwargs.get("device") is None):
                if func in constructors:
                    return replacement(*args, **{**(kwargs or {}), "device": self.device})
        return original(self, func, types, args, kwargs)

    return fill_in


class _AnyGenerator(type(_Host)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Host)


class Generator(_Host, metaclass=_AnyGenerator):  # type: ignore[misc]
    """In the place of `torch.Generator`; one of a pretended device draws the CPU's numbers."""

    def __new__(cls, device: Any = "cpu") -> Any:
        index = index_asked(device)
        if index is None:
            return _Host(device)
        made = _Host.__new__(cls, "cpu")
        made._pretended = torch.device("cuda", index)
        return made

    def __init__(self, device: Any = "cpu") -> None:
        pass

    @property
    def device(self) -> Any:
        return self._pretended


def seed_all(seed: int) -> None:
    """The devices draw from the CPU's generator, so that a script gets the numbers it would get there."""
    torch.default_generator.manual_seed(int(seed))


def get_rng_state(device: Any = "cuda") -> Any:
    return torch.default_generator.get_state()


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    torch.default_generator.set_state(new_state)


def set_rng_state_all(new_states: Any) -> None:
    for state in new_states:
        set_rng_state(state)


FUNCTIONS: Final[dict[str, Any]] = {
    "manual_seed": seed_all,
    "manual_seed_all": seed_all,
    "seed": lambda: torch.default_generator.seed(),
    "seed_all": lambda: torch.default_generator.seed(),
    "initial_seed": lambda: torch.default_generator.initial_seed(),
    "get_rng_state": get_rng_state,
    "set_rng_state": set_rng_state,
    "get_rng_state_all": lambda: [get_rng_state() for _ in range(DEVICES.count)],
    "set_rng_state_all": set_rng_state_all,
}


def hook_default_device() -> None:
    from torch.utils._device import DeviceContext, _device_constructors

    DeviceContext.__torch_function__ = _with_default_device(DeviceContext.__torch_function__, _device_constructors())


def hook_random_numbers() -> None:
    if not torch.cuda.default_generators:
        torch.cuda.default_generators = (torch.default_generator,)
    replace_functions(FUNCTIONS)
    Generator.__module__, Generator.__qualname__ = "torch", "Generator"
    torch.Generator = Generator
