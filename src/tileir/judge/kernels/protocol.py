"""What a module that is judged has to have, by the conventions in which people judge kernels that models wrote.

| convention | candidate | reference | inputs |
|---|---|---|---|
| tileir | `run(*inputs)` | `reference(*inputs)` | `inputs(seed)` |
| KernelBench | `ModelNew(*init)(*inputs)` | `Model(*init)(*inputs)` | `get_inputs()`, `get_init_inputs()` |
| GPU MODE | `custom_kernel(data)` | `ref_kernel(data)` | `generate_input(.., seed)` |

The conventions may be mixed: a candidate with `run` may be judged against a reference with `Model`.
"""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

import numpy

from tileir.ir.quoting import type_text

CANDIDATES: Final = ("run", "ModelNew", "custom_kernel")
REFERENCES: Final = ("reference", "Model", "ref_kernel")
INPUTS: Final = ("inputs", "get_inputs", "generate_input")
_CLASSES: Final = ("ModelNew", "Model")
_TAKE_ALL_AS_ONE: Final = ("custom_kernel", "ref_kernel")


class WrongModule(Exception):
    """A module that lacks what it has to have; the message says what."""


class Case(NamedTuple):
    """One set of inputs."""

    seed: int
    inputs: Any
    """What the function of the reference's module gave."""
    init: Any
    """What models are made with; None if the reference has none."""


def find(module: Any, names: tuple[str, ...], what: str) -> tuple[str, Any]:
    """What a module calls its candidate, its reference or its inputs."""
    for name in names:
        found = getattr(module, name, None)
        if found is not None:
            if not callable(found):
                raise WrongModule(f"{name} is {type_text(found)}, not a function")
            return name, found
    choices = ", ".join(names[:-1]) + f" or {names[-1]}"
    raise WrongModule(f"there is no {what}: define {choices}")


def computes(module: Any, names: tuple[str, ...], what: str, case: Case) -> Callable[[Any], Any]:
    """The function that computes with inputs; a model is made with the numbers that its seed gives."""
    name, found = find(module, names, what)
    seed_everything(case.seed)
    if name in _CLASSES:
        model = found(*_as_arguments(case.init))
        if hasattr(model, "cuda") and "torch" in sys.modules:
            model = model.cuda()
        return lambda inputs: _without_gradients(model, inputs)
    return found if name in _TAKE_ALL_AS_ONE else lambda inputs: found(*_as_arguments(inputs))


def _as_arguments(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _without_gradients(model: Callable[..., Any], inputs: Any) -> Any:
    torch: Any = sys.modules.get("torch")
    with torch.no_grad() if torch is not None else nullcontext():
        return model(*_as_arguments(inputs))


# --- inputs ---


def shapes_of(module: Any) -> list[Any]:
    """The shapes that the reference's module states for its inputs: tuples or dictionaries of arguments."""
    found = getattr(module, "shapes", None)
    if found is None:
        return [()]
    if not isinstance(found, (list, tuple)) or not found:
        raise WrongModule("shapes is a list of tuples or dictionaries, one for each set of arguments of the inputs")
    return list(found)


def case_of(module: Any, seed: int, shape: Any) -> Case:
    """The inputs of one seed and shape."""
    name, make = find(module, INPUTS, "function for inputs")
    keywords: dict[str, Any] = dict(shape) if isinstance(shape, dict) else {}
    positional = () if isinstance(shape, dict) else shape if isinstance(shape, tuple) else (shape,)
    seed_everything(seed)
    signature = inspect.signature(make)
    first = next(iter(signature.parameters.values()), None)
    if name == "inputs" and first is not None and first.kind is not inspect.Parameter.KEYWORD_ONLY:
        positional = (seed, *positional)
    elif "seed" in signature.parameters:
        keywords["seed"] = seed
    try:
        signature.bind(*positional, **keywords)
    except TypeError as error:
        hint = "" if hasattr(module, "shapes") else ": state shapes = [..] beside it"
        raise WrongModule(f"{name} cannot be called with what there is ({error}){hint}") from None
    found = make(*positional, **keywords)
    init = None
    if hasattr(module, "get_init_inputs"):
        seed_everything(seed)
        init = module.get_init_inputs()
        if isinstance(init, (list, tuple)) and len(init) == 2 and init[0] == [] and isinstance(init[1], dict):
            raise WrongModule("get_init_inputs gives arguments by name: give them by position")
    return Case(seed, on_gpu(found) if name == "get_inputs" else found, init)


def on_gpu(value: Any) -> Any:
    """Tensors moved to the GPU, where KernelBench's models find them."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return value
    if isinstance(value, torch.Tensor):
        return value.cuda()
    if isinstance(value, (tuple, list)):
        return type(value)([on_gpu(item) for item in value])
    return value


def seed_everything(seed: int) -> None:
    """The same numbers for whoever draws them next."""
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)


# --- results ---


def results_of(value: Any) -> list[Any]:
    """What a computation gave, as a list."""
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    if isinstance(value, (tuple, list)):
        return [item for part in value for item in results_of(part)]
    return [] if value is None else [value]


def tolerance_of(module: Any) -> list[float] | None:
    """The tolerance that the reference's module states: relative and absolute."""
    found = getattr(module, "tolerance", None)
    if found is None:
        return None
    if isinstance(found, dict) and set(found) <= {"rtol", "atol"}:
        found = (found.get("rtol", 0.0), found.get("atol", 0.0))
    if isinstance(found, (int, float)):
        found = (found, found)
    if not isinstance(found, (tuple, list)) or len(found) != 2 or not all(_is_tolerance(each) for each in found):
        raise WrongModule("tolerance is a number, or (relative, absolute), or a dictionary with rtol and atol")
    return [float(found[0]), float(found[1])]


def _is_tolerance(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def speedup_of(module: Any) -> float | None:
    """The least speedup over the baseline that the reference's module asks for."""
    found = getattr(module, "speedup", None)
    if found is not None and not _is_tolerance(found):
        raise WrongModule("speedup is a number: the baseline's time over the candidate's")
    return None if found is None else float(found)
