"""Kernels as citizens of torch: operators made of them, and launches inside of what torch compiles."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from tests.bridge.operator_kernels import blocks, scale, square, square_backward

import tileir

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

BACKENDS = [
    "eager",
    "aot_eager",
    pytest.param(
        "inductor",
        marks=[
            pytest.mark.skipif(shutil.which("g++") is None, reason="torch's inductor needs a C++ compiler"),
            pytest.mark.long,
        ],
    ),
]


@ct.kernel
def sum_and_product(x, y, total, product):
    place = (ct.bid(0), ct.bid(1))
    a, b = ct.load(x, (place[0],), (4,)), ct.load(y, (place[1],), (4,))
    ct.store(total, place, a[:, None] + b[None, :])
    ct.store(product, place, a[:, None] * b[None, :])


@ct.kernel
def accumulate(state, x, TILE: ct.Constant[int]):
    place = ct.bid(0)
    ct.store(state, (place,), ct.load(state, (place,), (TILE,)) + ct.load(x, (place,), (TILE,)))


@ct.kernel
def sum_of_pair(parts: list, out, TILE: ct.Constant[int]):
    place = ct.bid(0)
    ct.store(out, (place,), ct.load(parts[0], (place,), (TILE,)) + ct.load(parts[1], (place,), (TILE,)))


@ct.kernel
def weighted(xs, out, factors: tuple[float, ...], sizes: ct.Constant[tuple[int, ...]]):
    place = ct.bid(0)
    a, b = ct.load(xs[0], (place,), (sizes[0],)), ct.load(xs[1], (place,), (sizes[0],))
    ct.store(out, (place,), a * factors[0] + b * factors[1])


@ct.kernel
def mixed(pair: tuple[ct.Array, int], nested: tuple[tuple[int, int], ...], out):
    ct.store(out, (0,), ct.load(pair[0], (0,), (4,)) + pair[1])


TILE = {"TILE": 16}
scaled = tileir.custom_op(scale, blocks, "out", constants=TILE)
squared = tileir.custom_op(
    square,
    blocks,
    {"out": "x"},
    constants=TILE,
    backward=tileir.custom_op(square_backward, blocks, ["grad_x"], constants=TILE),
)
outer = tileir.custom_op(
    sum_and_product,
    lambda x, y: (ct.cdiv(x.shape[0], 4), ct.cdiv(y.shape[0], 4)),
    {
        "total": lambda x, y: ((x.shape[0], y.shape[0]), x.dtype),
        "product": lambda x, y: ((x.shape[0], y.shape[0]), "float64"),
    },
)


def test_operator_makes_what_the_kernel_writes() -> None:
    x = torch.arange(50.0)
    assert torch.equal(scaled(x, 3.0), x * 3)
    assert torch.equal(scaled(x=x, factor=3.0), x * 3)
    assert torch.equal(torch.ops.tileir.scale(x, 2.0), x * 2)
    y = torch.arange(7.0)
    total, product = outer(x, y)
    assert torch.equal(total, x[:, None] + y) and torch.equal(product, (x[:, None] * y).double())


def test_checks_of_torch_pass() -> None:
    x = torch.rand(50)
    torch.library.opcheck(scaled, (x, 2.0))
    torch.library.opcheck(squared, (x.clone().requires_grad_(),))
    torch.library.opcheck(outer, (x, torch.rand(5)))


def test_gradients_come_from_the_backward_kernel() -> None:
    x = torch.rand(20, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(squared, (x,))
    squared(x).sum().backward()
    assert torch.equal(x.grad, 2 * x.detach())


def test_gradients_may_come_from_any_function() -> None:
    def both(grad_out: Any, factor: float) -> dict[str, Any]:
        return {"x": grad_out * factor}

    for backward in (both, lambda grad_out, factor: grad_out * factor, lambda grad_out, factor: (grad_out * factor,)):
        differentiable = tileir.custom_op(scale, blocks, "out", constants=TILE, backward=backward)
        x = torch.rand(20, requires_grad=True)
        differentiable(x, 3.0).sum().backward()
        assert x.grad.tolist() == [3.0] * 20


def test_operator_without_backward_says_so() -> None:
    x = torch.rand(20, requires_grad=True)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        scaled(x, 2.0).sum().backward()


def test_argument_is_changed_in_place() -> None:
    add = tileir.custom_op(accumulate, blocks, (), constants=TILE, mutates="state", name="accumulate_into")
    grid = tileir.custom_op(
        accumulate, lambda state: (ct.cdiv(state.shape[0], 16),), (), constants=TILE, mutates=["state"]
    )
    state, x = torch.zeros(40), torch.ones(40)
    assert add(state, x) is None and grid(state, x) is None
    assert state.tolist() == [2.0] * 40
    torch.library.opcheck(add, (state, x))


def test_list_of_tensors_is_an_argument() -> None:
    pair = tileir.custom_op(
        sum_of_pair,
        lambda parts, TILE: (ct.cdiv(parts[0].shape[0], TILE),),
        {"out": lambda parts: parts[0]},
        constants=TILE,
    )
    assert pair([torch.ones(20), torch.ones(20)]).tolist() == [2.0] * 20


def test_operator_is_batched() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    assert torch.equal(torch.vmap(squared)(x), x * x)
    assert torch.equal(torch.vmap(lambda column: scaled(column, 2.0), in_dims=1)(x), x.T * 2)
    total, product = torch.vmap(outer, in_dims=(0, None))(x, torch.ones(2))
    assert total.shape == product.shape == (3, 4, 2)


def test_fake_tensors_have_the_shapes_and_nothing_runs() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        total, product = outer(torch.empty(6), torch.empty(3))
    assert (total.shape, product.dtype) == ((6, 3), torch.float64)
    assert scaled(torch.empty(5, device="meta"), 2.0).device.type == "meta"


@pytest.mark.parametrize("backend", BACKENDS)
def test_operators_are_part_of_a_compiled_graph(backend: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: squared(x * 2) + 1, backend=backend, fullgraph=True, dynamic=True)
    for length in (50, 33):
        x = torch.arange(float(length), requires_grad=True)
        y = compiled(x)
        assert torch.equal(y, (x * 2) ** 2 + 1)
        y.sum().backward()
        assert torch.equal(x.grad, 8 * x.detach())


@pytest.mark.parametrize("backend", BACKENDS)
def test_launch_in_a_compiled_function_runs_as_it_is(backend: str) -> None:
    def function(x: Any) -> Any:
        out = torch.empty_like(x)
        tileir.launch(scale, (4,), (x + 1, out, 2.0, 16))
        return out + 1

    torch._dynamo.reset()
    compiled = torch.compile(function, backend=backend)
    x = torch.arange(64.0)
    for _ in range(3):
        assert torch.equal(compiled(x), (x + 1) * 2 + 1)


def test_launch_in_an_operator_of_ones_own_is_compiled() -> None:
    @torch.library.custom_op("tileir_tests::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        tileir.launch(scale, (4,), (x, out, 2.0, 16))
        return out

    doubled.register_fake(lambda x: torch.empty_like(x))
    x = torch.arange(64.0)
    assert torch.equal(torch.compile(lambda x: doubled(x) + 1, backend="aot_eager", fullgraph=True)(x), x * 2 + 1)


def test_tensors_that_need_gradients_are_launched_as_cutile_does() -> None:
    x, out = torch.ones(16, requires_grad=True), torch.zeros(16)
    tileir.launch(scale, 1, (x, out, 2.0, 16))
    assert out.tolist() == [2.0] * 16 and not out.requires_grad


def test_tuples_of_arrays_and_of_numbers() -> None:
    def backward(xs: Any, factors: Any, grad_out: Any) -> Any:
        assert isinstance(xs, tuple)
        return {"xs": tuple([grad_out * factor for factor in factors])}

    combined = tileir.custom_op(
        weighted, lambda xs, sizes: (ct.cdiv(xs[0].shape[0], sizes[0]),), "out", types={"xs": tuple}, backward=backward
    )
    a, b = torch.arange(40.0, requires_grad=True), torch.ones(40, requires_grad=True)
    found = combined((a, b), (2.0, 3.0), (16,))
    assert torch.equal(found, a * 2 + b * 3)
    found.sum().backward()
    assert torch.equal(a.grad, torch.full((40,), 2.0))
    assert torch.equal(b.grad, torch.full((40,), 3.0))
    compiled = torch.compile(lambda a, b: combined((a, b), (1.0, 2.0), (16,)) + 1, backend="eager", fullgraph=True)
    assert torch.equal(compiled(a, b), a + b * 2 + 1)
    torch.library.opcheck(combined, ([a.detach(), b.detach()], [2.0, 3.0], [16]))


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_tuples_that_are_not_taken_are_named(framework: str) -> None:
    with pytest.raises(tileir.LaunchError, match="'pair' of mixed is a tuple of different kinds"):
        tileir.custom_op(mixed, 1, "out", constants={"nested": ((1, 2),)}, framework=framework)
    with pytest.raises(tileir.LaunchError, match="'nested' of mixed is a tuple with tuples or lists in it"):
        tileir.custom_op(mixed, 1, "out", constants={"pair": (None, 1)}, framework=framework)


MISTAKES: dict[str, tuple[Any, str]] = {
    "no kernel": (lambda: tileir.custom_op(len, 1, "out"), "decorate it with @cuda.tile.kernel"),
    "unknown output": (
        lambda: tileir.custom_op(square, 1, "y"),
        "outputs names 'y', which is no parameter of square: .* x, out",
    ),
    "outputs": (lambda: tileir.custom_op(square, 1, 3), "outputs is 3: pass the name of a parameter"),
    "constant": (
        lambda: tileir.custom_op(sum_of_constant, 1, "out"),
        "'N' is a constant of sum_of_constant: give its value in constants",
    ),
    "grid": (
        lambda: tileir.custom_op(square, lambda n: n, "out", constants=TILE),
        "grid is a function of 'n', which is not known there: it may name x, TILE, out",
    ),
    "framework": (
        lambda: tileir.custom_op(square, 1, "out", constants=TILE, framework="mxnet"),
        "choose 'torch' or 'jax'",
    ),
    "name": (lambda: tileir.custom_op(square, 1, "out", constants=TILE, name="a b"), "the name of an operator is"),
    "backward's arguments": (
        lambda: tileir.custom_op(square, 1, "out", constants=TILE, backward=lambda grad_y: grad_y),
        "backward is a function of 'grad_y', .* it may name x, TILE, out, grad_out",
    ),
    "backward's outputs": (
        lambda: tileir.custom_op(square, 1, "out", constants=TILE, backward=squared),
        "backward makes 'out': name its outputs after the arguments",
    ),
    "mutates": (lambda: tileir.custom_op(square, 1, "out", constants=TILE, mutates="out"), "'out' is in mutates, but"),
    "like nothing": (
        lambda: tileir.custom_op(square, 1, {"out": "z"}, constants=TILE)(torch.ones(4)),
        "'out' is to be like 'z', which is no argument: choose x",
    ),
    "dtype": (
        lambda: tileir.custom_op(square, 1, {"out": lambda x: (x.shape, "f33")}, constants=TILE)(torch.ones(4)),
        "'f33' is no dtype of an output",
    ),
}


@ct.kernel
def sum_of_constant(x, out, N: ct.Constant):
    ct.store(out, (0,), ct.load(x, (0,), (N,)))


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_in_an_operator_says_what_to_do(name: str) -> None:
    make, message = MISTAKES[name]
    with pytest.raises(tileir.LaunchError, match=message):
        make()
