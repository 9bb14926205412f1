"""Operators of `torch.library.custom_op` on the emulated device."""

from typing import Any

import pytest

import tileir

torch: Any = pytest.importorskip("torch")

# Kept until the process ends: torch 2.6 cannot compile anything once the operators of a library are gone.
LIBRARIES: list[Any] = []


def doubled(seen):
    def double(x: torch.Tensor) -> torch.Tensor:
        made = [x, x * 1, x.clone(), torch.empty_like(x)]
        seen.extend(value.device.type for value in made)
        return x * 2

    return double


@pytest.mark.parametrize("types", [None, "cuda", ("cpu", "cuda")])
def test_a_kernel_makes_tensors_of_the_device(types):
    seen: list[str] = []
    name = f"tileir_test::double_{'_'.join(types) if isinstance(types, tuple) else types}"
    operator = torch.library.custom_op(name, doubled(seen), mutates_args=(), device_types=types)
    operator.register_autograd(lambda context, gradient: gradient * 2)
    x = torch.ones(3, device="cuda", requires_grad=True)
    y = operator(x)
    y.sum().backward()
    assert seen == ["cuda"] * 4 and y.is_cuda and y.tolist() == [2.0] * 3
    assert x.grad.is_cuda and x.grad.tolist() == [2.0] * 3


def test_each_device_has_the_kernel_registered_for_it():
    @torch.library.custom_op("tileir_test::which", mutates_args=(), device_types="cpu")
    def which(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @which.register_kernel("cuda")
    def _(x):
        return x + 2

    assert which(torch.zeros(1)).item() == 1 and which(torch.zeros(1, device="cuda")).item() == 2


def test_libraries_implement_operators_for_each_device():
    library = torch.library.Library("tileir_tests_library", "DEF")
    LIBRARIES.append(library)
    library.define("where(Tensor x) -> Tensor")
    library.define("only(Tensor x) -> Tensor")
    library.impl("where", lambda x: x + 1, "CPU")
    library.impl("where", lambda x: x + torch.full((1,), 10, device="cuda"), "CUDA")
    library.impl("only", lambda x: x * 2, "CUDA")
    operators = torch.ops.tileir_tests_library
    assert operators.where(torch.zeros(1)).tolist() == [1]
    found = operators.where(torch.zeros(1, device="cuda"))
    assert found.is_cuda and found.tolist() == [10]
    assert operators.only(torch.ones(1, device="cuda")).tolist() == [2]
    with pytest.raises(NotImplementedError, match="none for the CPU"):
        operators.only(torch.ones(1))
    with pytest.raises(tileir.errors.EmulationError, match="aten"):
        torch.library.Library("aten", "IMPL").impl("add.Tensor", lambda x, y: x, "CUDA")
