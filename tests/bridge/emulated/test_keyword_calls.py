"""Functions of torch called by position and by keyword: the same results, on the same device."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

# Values of parameters that are no tensors.
VALUES: dict[str, Any] = {
    "dim": 0, "dim0": 0, "dim1": 1, "dims": (0,), "diagonal": 0, "n": 2, "k": 1, "p": 0.0, "exponent": 2, "repeats": 2,
    "kernel_size": 2, "output_size": 2, "normalized_shape": (4,), "num_groups": 2, "groups": 2, "chunks": 2,
    "sections": 2, "split_size_or_sections": 2, "split_size": 2, "start": 0, "length": 2, "size": (4, 4), "shape": (16,),
    "sizes": (2, 2), "axis0": 0, "axis1": 1, "source": 0, "destination": 1, "shifts": 1, "dtype": torch.float64,
    "num_classes": 4, "upscale_factor": 2, "downscale_factor": 2, "pad": (1, 1), "value": 1, "fill_value": 1,
    "equation": "ij,jk->ik", "operands": None, "tensors": None, "q": 0.5, "bins": 4, "min": 0, "max": 1, "maxnorm": 1,
    "margin": 1.0, "beta": 1.0, "training": True, "inplace": False, "indices_or_sections": 2, "ord": 2, "lambd": 0.1,
}  # fmt: skip
# What they do depends on more than their arguments; wrong shapes end the process in `gru_cell` of torch 2.9.
LEFT_OUT = ("rand", "dropout", "bernoulli", "multinomial", "normal", "poisson", "empty", "gumbel", "rrelu", "gru_cell")


def by_position(function: Any, names: list[str], values: list[Any]) -> Any:
    return function(*values)


def by_keyword(function: Any, names: list[str], values: list[Any]) -> Any:
    return function(**dict(zip(names, values, strict=True)))


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def calls() -> Iterator[tuple[Any, list[str], list[Any]]]:
    """Functions that take the same arguments by position and by keyword on the CPU, with one of two shapes."""
    torch.manual_seed(0)
    for function, signature in torch.overrides.get_testing_overrides().items():
        name = getattr(function, "__name__", "")
        module = getattr(function, "__module__", "") or ""
        if isinstance(function, property) or not name or name.startswith("_") or name.endswith("_"):
            continue
        if any(word in name for word in LEFT_OUT) or not (
            getattr(torch, name, None) is function or module.startswith(("torch.nn", "torch.functional"))
            or getattr(torch.nn.functional, name, None) is function or getattr(torch.linalg, f"{name[7:]}", 0) is function
        ):  # fmt: skip
            continue
        parameters = [each for each in inspect.signature(signature).parameters.values() if each.default is each.empty]
        if any(each.kind not in (each.POSITIONAL_OR_KEYWORD,) for each in parameters):
            continue
        names = [each.name for each in parameters]
        for shape in ((4, 4), (2, 4, 4)):
            values = [torch.rand(shape) if VALUES.get(each) is None else VALUES[each] for each in names]
            if any(isinstance(value, torch.Tensor) for value in values) and works(function, names, values):
                yield function, names, values
                break


def works(function: Callable[..., Any], names: list[str], values: list[Any]) -> bool:
    try:
        first = [*leaves(by_position(function, names, values))]
        second = [*leaves(by_keyword(function, names, values))]
    except Exception:
        return False
    return any(isinstance(value, torch.Tensor) for value in first) and all(map(equal, first, second))


def is_reproducible(function: Callable[..., Any], values: list[Any]) -> bool:
    """Whether the CPU always gives the same: LAPACK of torch 2.15 for aarch64 leaves pivots and states as they were."""
    results = [[*leaves(function(*values))] for _ in range(30)]
    return all(all(map(equal, each, results[0])) for each in results)


def equal(first: Any, second: Any) -> bool:
    if isinstance(first, torch.Tensor):
        return torch.equal(first.cpu().nan_to_num(), second.cpu().nan_to_num())
    return bool(first == second)


def test_functions_take_keywords():
    wrong = {}
    count = 0
    # A GPU convolves in TF32 otherwise.
    with warnings.catch_warnings(), torch.backends.cudnn.flags(allow_tf32=False):
        warnings.simplefilter("ignore")
        for function, names, values in calls():
            device = [value.cuda() if isinstance(value, torch.Tensor) else value for value in values]
            expected = [*leaves(function(*values))]
            for call in (by_position, by_keyword):
                try:
                    found = [*leaves(call(function, names, device))]
                except Exception as error:
                    wrong[function.__name__, call.__name__] = repr(error)
                    continue
                on_device = [value.is_cuda for value in found if isinstance(value, torch.Tensor)]
                differs = not all(map(equal, found, expected)) and is_reproducible(function, values)
                if not all(on_device) or differs:
                    wrong[function.__name__, call.__name__] = repr(found)
            count += 1
    assert not wrong
    assert count > 200


def test_methods_and_conversions_take_keywords():
    x = torch.ones(3, device="cuda", requires_grad=True)
    seen = []
    x.register_hook(hook=lambda gradient: seen.append(gradient.device.type))
    x.register_post_accumulate_grad_hook(hook=lambda leaf: seen.append(leaf.grad.device.type))
    (x * 2).sum().backward()
    assert seen == ["cuda", "cuda"]
    assert torch.ones(2).type_as(other=x).is_cuda and torch.asarray(obj=[1], device="cuda").is_cuda
    assert torch.tensor(data=[1], device="cuda").is_cuda and torch.as_tensor(data=x).is_cuda
    assert torch.nested.nested_tensor(tensor_list=[torch.ones(2)], device="cuda").is_cuda
    assert torch.abs(input=torch.tensor([True], device="cuda")).is_cuda
    assert torch.mm(input=torch.eye(2, device="cuda"), mat2=torch.eye(2, device="cuda")).is_cuda
    linear = torch.nn.functional.linear(input=x, weight=torch.ones(2, 3, device="cuda"))
    assert linear.is_cuda and linear.tolist() == [3, 3]
