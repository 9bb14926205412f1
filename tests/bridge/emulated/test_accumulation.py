"""Products in f16, bf16 and TF32, as a GPU computes them: sums in f32, and one rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
functional: Any = torch.nn.functional

# By name: a function, and the shapes of its arguments.
PRODUCTS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "@": (lambda a, b: a @ b, ((37, 61), (61, 5))),
    "matmul": (torch.matmul, ((3, 37, 61), (61, 5))),
    "mm": (torch.mm, ((37, 61), (61, 5))),
    "Tensor.mm": (lambda a, b: a.mm(mat2=b), ((37, 61), (61, 5))),
    "bmm": (torch.bmm, ((3, 37, 61), (3, 61, 5))),
    "mv": (torch.mv, ((37, 61), (61,))),
    "addmm": (torch.addmm, ((5,), (37, 61), (61, 5))),
    "addmm with factors": (lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), ((5,), (37, 61), (61, 5))),
    "baddbmm": (torch.baddbmm, ((3, 37, 5), (3, 37, 61), (3, 61, 5))),
    "addbmm": (torch.addbmm, ((37, 5), (3, 37, 61), (3, 61, 5))),
    "linear": (functional.linear, ((37, 61), (5, 61), (5,))),
    "linear by name": (lambda a, b, c: functional.linear(input=a, weight=b, bias=c), ((37, 61), (5, 61), (5,))),
    "bilinear": (functional.bilinear, ((7, 11), (7, 13), (5, 11, 13))),
    "einsum": (lambda a, b: torch.einsum("ij,jk->ik", a, b), ((37, 61), (61, 5))),
    "tensordot": (lambda a, b: torch.tensordot(a, b, 1), ((37, 61), (61, 5))),
    "attention": (functional.scaled_dot_product_attention, ((1, 2, 16, 8), (1, 2, 16, 8), (1, 2, 16, 8))),
    "conv2d": (functional.conv2d, ((2, 3, 9, 9), (5, 3, 3, 3), (5,))),
    "conv_transpose1d": (functional.conv_transpose1d, ((2, 3, 9), (3, 5, 3))),
}


def run(function: Callable[..., Any], values: list[Any], change: Callable[[Any], Any]) -> list[Any]:
    """The result, and the gradients by each argument."""
    operands = [change(value).detach().requires_grad_() for value in values]
    result = function(*operands)
    torch.manual_seed(1)
    gradient = torch.randn(result.shape).to(torch.bfloat16)
    return [result, *torch.autograd.grad(result, operands, gradient.to(result.device, result.dtype))]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_rounded_once(name, dtype):
    function, shapes = PRODUCTS[name]
    torch.manual_seed(0)
    values = [torch.randn(shape).to(dtype) for shape in shapes]
    found = run(function, values, lambda value: value.cuda())
    for each, expected in zip(found, run(function, values, lambda value: value.float()), strict=True):
        assert each.is_cuda and each.dtype is dtype and torch.equal(each.cpu(), expected.to(dtype))


@pytest.mark.parametrize("name", [name for name in PRODUCTS if name not in ("tensordot", "bilinear")])
def test_products_under_autocast_are_those_of_rounded_operands(name):
    function, shapes = PRODUCTS[name]
    torch.manual_seed(0)
    values = [torch.randn(shape) for shape in shapes]
    with torch.autocast("cuda", torch.float16):
        found = run(function, values, lambda value: value.cuda())
    for number, (each, expected) in enumerate(
        zip(found, run(function, values, lambda value: value.half().float()), strict=True)
    ):
        # Gradients have the type of the operands, and are rounded on the way.
        assert each.is_cuda and each.dtype is (torch.float32 if number else torch.float16)
        assert torch.equal(each.cpu(), expected.half().to(each.dtype))


def as_tf32(value: Any) -> Any:
    """Ten bits of mantissa, to nearest even, by arithmetic."""
    mantissa, exponent = torch.frexp(value.double())
    return torch.ldexp(torch.round(mantissa * 2048) / 2048, exponent).float()


FLAGS = {
    "allow_tf32": lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", True),
    "high": lambda: torch.set_float32_matmul_precision("high"),
    "medium": lambda: torch.set_float32_matmul_precision("medium"),
}


@pytest.fixture
def _flags():
    yield
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = True


@pytest.mark.parametrize("flag", FLAGS)
def test_flags_ask_for_tf32(flag, _flags):
    torch.manual_seed(0)
    a, b, c = torch.randn(37, 61), torch.randn(61, 5), torch.randn(5)
    device = [value.cuda().requires_grad_() for value in (a, b, c)]
    assert torch.equal((device[0] @ device[1]).cpu(), a @ b)
    FLAGS[flag]()
    host = [as_tf32(a).requires_grad_(), as_tf32(b).requires_grad_(), c]
    found = torch.addmm(device[2], device[0], device[1])
    assert found.is_cuda and torch.equal(found.cpu(), torch.addmm(c, host[0], host[1]))
    gradient = torch.randn(37, 5)
    gradients = torch.autograd.grad(found, device[:2], gradient.cuda())
    expected = torch.autograd.grad(torch.mm(host[0], host[1]), host[:2], as_tf32(gradient))
    assert all(torch.equal(each.cpu(), other) for each, other in zip(gradients, expected, strict=True))
    # Tensors of the CPU are not rounded, nor are products in float64.
    assert not torch.equal(a @ b, as_tf32(a) @ as_tf32(b))
    assert torch.equal((a.double().cuda() @ b.double().cuda()).cpu(), a.double() @ b.double())
    special = torch.tensor([[float("inf"), float("nan")]], device="cuda") @ torch.eye(2, device="cuda")
    assert special.isnan().all()


def test_convolutions_are_in_tf32_unless_the_flag_says_otherwise(_flags):
    torch.manual_seed(0)
    x, weight = torch.randn(2, 3, 9, 9), torch.randn(5, 3, 3, 3)
    found = functional.conv2d(x.cuda(), weight.cuda()).cpu()
    assert torch.equal(found, functional.conv2d(as_tf32(x), as_tf32(weight)))
    torch.backends.cudnn.allow_tf32 = False
    assert torch.equal(functional.conv2d(x.cuda(), weight.cuda()).cpu(), functional.conv2d(x, weight))


@pytest.mark.skipif(not hasattr(torch.backends.cuda.matmul, "fp32_precision"), reason="torch 2.9 brought it")
def test_the_newer_flag_asks_for_tf32():
    a = torch.randn(7, 7)
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    try:
        found = torch.matmul(input=a.cuda(), other=a.cuda())
        batched = torch.vmap(torch.mv, (None, 0))(a.cuda(), a.cuda())
        derived = torch.func.jvp(torch.mm, (a.cuda(), a.cuda()), (a.cuda(), a.cuda()))[1]
    finally:
        torch.backends.cuda.matmul.fp32_precision = before
    assert torch.equal(found.cpu(), as_tf32(a) @ as_tf32(a))
    assert batched.is_cuda and derived.is_cuda and torch.allclose(batched.cpu(), as_tf32(a) @ as_tf32(a).T, atol=1e-5)


def test_products_into_tensors():
    a = torch.randn(37, 61, device="cuda").half()
    expected = (a.float() @ a.float().T).half()
    out = torch.empty(37, 37, dtype=torch.float16, device="cuda")
    assert torch.mm(a, a.T, out=out) is out and torch.equal(out, expected)
    empty = torch.empty(0, dtype=torch.float16, device="cuda")
    assert torch.matmul(a, a.T, out=empty) is empty and torch.equal(empty, expected)
    assert out.addmm_(a, a.T, beta=0) is out and torch.equal(out, expected)
    with pytest.raises(RuntimeError, match="dtype"):
        torch.mm(a, a.T, out=torch.empty(37, 37, device="cuda"))
    with pytest.raises(RuntimeError, match="dtype"):
        torch.mm(a, a.T.float())
    with pytest.raises(RuntimeError, match="same device"):
        torch.mm(a, a.T.cpu())


@pytest.mark.skipif(torch.__version__ < (2, 8), reason="torch 2.8 brought it")
def test_products_in_a_wider_type():
    a = torch.ones(4, 4, dtype=torch.float16, device="cuda") * 300
    found = torch.mm(a, a, out_dtype=torch.float32)
    assert found.is_cuda and found.dtype is torch.float32 and found[0, 0].item() == 360000
    assert torch.mm(a, a).is_cuda and torch.mm(a, a).dtype is torch.float16


@pytest.mark.skipif(torch.__version__ < (2, 8), reason="torch 2.8 brought it")
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
def test_matmul_in_the_type_of_its_operands(dtype):
    a = torch.arange(16, dtype=dtype, device="cuda").reshape(4, 4)
    found = torch.mm(a, a, out_dtype=dtype)
    assert found.is_cuda and found.dtype is dtype and torch.equal(found, torch.mm(a, a))


def test_a_comparison_that_fails_tells_of_another_order():
    a = torch.ones(2, 2, dtype=torch.float16, device="cuda")
    torch.testing.assert_close(a @ a, a * 2)
    with pytest.raises(AssertionError, match=r"not close(.|\n)*note: a GPU sums products of float16") as caught:
        torch.testing.assert_close(a @ a, a)
    assert str(caught.value).count("note:") == 1


def test_recurrent_layers_and_attention_layers():
    torch.manual_seed(0)
    x = torch.randn(5, 3, 8).half()
    lstm, attention = torch.nn.LSTM(8, 4), torch.nn.MultiheadAttention(8, 2)
    for layer in (lstm, attention):
        expected = layer.half().float()(*[x.float()] * (3 if layer is attention else 1))[0].half()
        found = layer.cuda().half()(*[x.cuda()] * (3 if layer is attention else 1))[0]
        assert found.is_cuda and found.dtype is torch.float16 and torch.equal(found.cpu(), expected)


def test_absolute_value_of_truth_values() -> None:
    flags = torch.tensor([True, False], device="cuda")
    assert torch.abs(flags).is_cuda and flags.abs().tolist() == [True, False]
    assert torch.tensor([-2.0], device="cuda").abs().tolist() == [2.0]
    assert abs(torch.tensor([-2], device="cuda")).is_cuda
