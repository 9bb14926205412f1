"""`torch.vmap`, `torch.func` and `torch.jit.script` on the emulated device."""

from collections.abc import Callable
from typing import Any

import pytest

import tileir

torch: Any = pytest.importorskip("torch")


def squared(x):
    return (x * x).sum()


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "vmap": lambda x: torch.vmap(lambda row: row * 2)(x),
    "vmap with a constant": lambda x: torch.vmap(lambda row, other: row @ other, in_dims=(0, None))(x, x[0]),
    "vmap of what it makes": lambda x: torch.vmap(lambda row: row + torch.ones(5, device=row.device))(x),
    "grad": lambda x: torch.func.grad(squared)(x),
    "jacrev": lambda x: torch.func.jacrev(torch.sin)(x[0]),
    "jvp": lambda x: torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))[1],
    "hessian": lambda x: torch.func.hessian(lambda row: (row**3).sum())(x[0]),
    "vjp": lambda x: torch.func.vjp(torch.sin, x)[1](torch.ones_like(x))[0],
    "gradients of each row": lambda x: torch.vmap(torch.func.grad(squared))(x),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_stay_on_the_device(name):
    transform = TRANSFORMS[name]
    host = torch.randn(4, 5)
    found = transform(host.cuda())
    assert found.is_cuda and torch.equal(found.cpu(), transform(host))


def test_a_transformed_function_sees_tensors_of_the_device():
    seen = []

    def watched(x):
        seen.extend([x.is_cuda, (x * 2).is_cuda])
        return squared(x)

    torch.vmap(watched)(torch.ones(2, 3, device="cuda"))
    torch.func.grad(watched)(torch.ones(3, device="cuda"))
    assert seen == [True] * 4


def scripted(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(x) + 1


def test_functions_that_make_tensors_can_be_scripted():
    function = torch.jit.script(scripted)
    host, device = function(torch.ones(2)), function(torch.ones(2, device="cuda"))
    assert not host.is_cuda and device.is_cuda and host.tolist() == device.tolist() == [1, 1]


def test_linearize_is_refused_by_name():
    with pytest.raises(tileir.errors.EmulationError, match=r"torch\.func\.linearize"):
        torch.func.linearize(torch.sin, torch.ones(3, device="cuda"))
    assert torch.func.linearize(torch.sin, torch.zeros(3))[1](torch.ones(3)).tolist() == [1, 1, 1]
