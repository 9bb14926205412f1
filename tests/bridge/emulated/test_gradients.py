"""Autograd, parameters, modules and optimizers on the emulated device."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")


def test_functions_of_the_user_see_tensors_of_the_device():
    seen = []

    class Exponential(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            y = torch.exp(x)
            context.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(context, gradient):
            x, y = context.saved_tensors
            out = torch.empty_like(gradient)
            seen.extend([gradient.device, x.device, y.device, out.device, (gradient * y).device])
            return out.copy_(gradient * y)

    x = torch.randn(3, device="cuda", requires_grad=True)
    hooked = []
    x.register_hook(lambda gradient: hooked.append(gradient.device))
    Exponential.apply(x).sum().backward()
    assert x.grad.is_cuda and torch.equal(x.grad, torch.exp(x).detach())
    (again,) = torch.autograd.grad(Exponential.apply(x * 1).sum(), x)
    assert torch.equal(again, x.grad)
    assert {str(device) for device in [*seen, *hooked]} == {"cuda:0"} and (len(seen), len(hooked)) == (10, 2)


def train(device):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 2))
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    x, y = torch.randn(16, 4, device=device), torch.randn(16, 2, device=device)
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model, loss


def test_training_gives_the_numbers_of_the_cpu():
    host, host_loss = train("cpu")
    device, device_loss = train("cuda")
    assert device_loss.is_cuda and device_loss.item() == host_loss.item()
    for expected, found in zip(host.parameters(), device.parameters(), strict=True):
        assert found.is_cuda and found.grad.is_cuda and isinstance(found, torch.nn.Parameter)
        assert torch.equal(expected, found.cpu())


def test_modules_move_their_parameters_in_place():
    module = torch.nn.BatchNorm1d(3)
    weight = module.weight
    assert module.cuda() is module and module.weight is weight and weight.is_cuda and module.running_mean.is_cuda
    copied = copy.deepcopy(module)
    assert copied.weight.is_cuda and copied.weight is not weight
    state = module.state_dict()
    assert all(value.is_cuda for value in state.values())
    module.cpu()
    assert module.weight is weight and not weight.is_cuda and not module.running_mean.is_cuda
    module.load_state_dict(state)
    weight.data = weight.data.cuda()
    assert weight.is_cuda and isinstance(weight, torch.nn.Parameter)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_layer_norm_in_half_precision_and_all_its_gradients_are_rounded_once(dtype):
    def run(device, dtype):
        # Many rows, away from zero: sums in another precision or order would show.
        x, dy = [each.to(device, dtype) for each in values]
        module = torch.nn.LayerNorm(257).to(device, dtype)
        y = module(x.requires_grad_())
        y.backward(dy)
        return [tensor.detach().cpu() for tensor in (y, x.grad, module.weight.grad, module.bias.grad)]

    values = [torch.randn(300, 257).sub(2.3).to(dtype) for _ in range(2)]
    for found, expected in zip(run("cuda", dtype), run("cpu", torch.float32), strict=True):
        assert torch.equal(found, expected.to(dtype))


def test_layer_norm_in_half_precision_is_differentiated_twice():
    x = torch.randn(4, 8, device="cuda").half().requires_grad_()
    weight = torch.ones(8, dtype=torch.half, device="cuda", requires_grad=True)
    (first,) = torch.autograd.grad(torch.layer_norm(x, (8,), weight).sum(), weight, create_graph=True)
    first.square().sum().backward()
    assert x.grad.is_cuda and bool(x.grad.any())


def test_hooks_after_accumulation_see_gradients_of_the_device():
    x = torch.ones(3, device="cuda", requires_grad=True)
    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.extend([leaf.device, leaf.grad.device, (leaf * 2).device]))
    (x * 2).sum().backward()
    assert [device.type for device in seen] == ["cuda"] * 3


def test_hooks_of_modules_see_gradients_of_the_device():
    seen = []
    for module in (torch.nn.Linear(3, 2).cuda(), torch.nn.ReLU()):
        module.register_full_backward_pre_hook(lambda module, after: seen.append(after[0].device.type))
        module.register_full_backward_hook(lambda module, before, after: seen.extend(before + after))
        module(torch.ones(4, 3, device="cuda", requires_grad=True)).sum().backward()
    assert [each if isinstance(each, str) else each.device.type for each in seen] == ["cuda"] * 6
    host = torch.nn.Linear(3, 2)
    host.register_full_backward_hook(lambda module, before, after: seen.append(after[0].device.type))
    host(torch.ones(4, 3)).sum().backward()
    assert seen[-1] == "cpu"


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpoints_give_the_gradients_of_the_cpu(use_reentrant):
    from torch.utils.checkpoint import checkpoint

    def run(device):
        torch.manual_seed(0)
        linear = [torch.nn.Linear(8, 8), torch.nn.Linear(8, 4)]
        model = torch.nn.Sequential(linear[0], torch.nn.Sigmoid(), linear[1], torch.nn.Dropout(0.5)).to(device)
        x = torch.randn(4, 8).to(device).requires_grad_()
        y = checkpoint(model, x, use_reentrant=use_reentrant).exp().sum()
        return [y, *torch.autograd.grad(y, [x])] if not use_reentrant else [y]

    for found, expected in zip(run("cuda"), run("cpu"), strict=True):
        assert found.is_cuda and torch.equal(found.cpu(), expected)


def test_hooks_for_saved_tensors_see_those_of_the_device():
    packed, unpacked = [], []
    x, factor, host = torch.ones(3, device="cuda", requires_grad=True), torch.tensor(2.0), torch.ones(3)
    host.requires_grad_()

    def pack(tensor):
        packed.append(tensor.device.type)
        return tensor.detach()

    def unpack(tensor):
        unpacked.append(tensor.device.type)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        # sigmoid saves its result, and the product its factor, a tensor of the CPU that stays there.
        y = (torch.sigmoid(x) * factor).sum()
        z = torch.sigmoid(host).sum()
    torch.autograd.grad(y, x)
    z.backward()
    assert packed == ["cuda", "cpu", "cpu"] and unpacked == ["cpu", "cuda", "cpu"]
    assert type(factor) is torch.Tensor and not factor.is_cuda
    with torch.autograd.graph.save_on_cpu():
        y = torch.sigmoid(x).sum()
    y.backward()
    assert x.grad.is_cuda and not host.grad.is_cuda


def test_gradcheck_tries_undefined_gradients():
    x = torch.randn(3, device="cuda", dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(torch.sin, (x,)) and torch.autograd.gradgradcheck(torch.sin, (x,))
