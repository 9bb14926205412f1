"""Tensors of the pretended CUDA device behave as torch's CUDA tensors do."""

from __future__ import annotations

import pytest

import tileir

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.tile")


@pytest.fixture(autouse=True)
def _emulated():
    with tileir.emulate():
        yield


@pytest.mark.parametrize(
    "device",
    ["cuda", "cuda:0", torch.device("cuda"), torch.device("cuda", 0), 0],
    ids=["str", "str0", "d", "d0", "int"],
)
def test_factories_take_every_spelling_of_the_device(device):
    for made in (
        torch.empty(3, device=device),
        torch.tensor([1.0, 2.0], device=device),
        torch.arange(4, device=device),
        torch.zeros_like(torch.ones(2), device=device),
        torch.ones(2).to(device),
        torch.ones(2).new_zeros(4, device=device),
    ):
        assert made.is_cuda and not made.is_cpu
        assert (made.device.type, made.device.index, made.get_device()) == ("cuda", 0, 0)


def test_results_of_operations_are_on_the_device():
    x = torch.randn(4, 6, device="cuda")
    assert all(
        y.is_cuda
        for y in (x + 1, 1 - x, x @ x.T, x[1:], x.view(-1), x.sum(), x.max(dim=1).values, torch.cat([x, x]), x.half())
    )
    assert all(part.is_cuda for part in (*x.split(2), *x.unbind(), *torch.meshgrid(x[0], x[1], indexing="ij")))
    x += 1
    assert x.is_cuda


def test_memory_of_host_and_device_is_apart():
    host = torch.zeros(3)
    device = host.cuda()
    host[0] = 1
    back = device.cpu()
    device[1] = 2
    assert (host.tolist(), device.tolist(), back.tolist()) == ([1, 0, 0], [0, 2, 0], [0, 0, 0])
    assert device.cuda() is device and device.to("cuda") is device and host.to("cpu") is host


def test_devices_do_not_mix():
    x, host = torch.ones(3, device="cuda"), torch.ones(3)
    for mix in (lambda: x + host, lambda: host + x, lambda: torch.cat([x, host]), lambda: torch.mul(x, host, out=x)):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            mix()
    assert (x + torch.tensor(2.0)).is_cuda
    host.copy_(x * 2)
    assert not host.is_cuda and host.tolist() == [2, 2, 2]


def test_types_have_the_names_of_cuda():
    assert torch.ones(1, device="cuda").type() == "torch.cuda.FloatTensor"
    assert torch.ones(1).type("torch.cuda.HalfTensor").dtype is torch.float16


def test_outside_of_contexts_torch_is_as_it_was():
    from contextvars import Context

    assert torch.cuda.is_available()

    def outside():
        from tileir.bridge import contexts

        kept, contexts._everywhere[:] = contexts._everywhere[:], []
        try:
            assert not torch.cuda.is_available()
            with pytest.raises((AssertionError, RuntimeError)):
                torch.empty(1, device="cuda")
        finally:
            contexts._everywhere[:] = kept

    if not torch.version.cuda:
        Context().run(outside)
