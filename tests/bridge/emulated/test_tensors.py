"""Tensors of the emulated CUDA device behave as torch's CUDA tensors do."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy
import pytest

import tileir

torch: Any = pytest.importorskip("torch")
Tensor: Any = torch.Tensor


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


def test_tensors_of_the_cpu_take_no_indices_of_the_device():
    host, index = torch.arange(3.0), torch.tensor([1], device="cuda")
    for use in (lambda: host[index], lambda: host[0:2, index][0], lambda: host.__setitem__(index, 1.0)):
        with pytest.raises(RuntimeError, match="indices should be either on cpu"):
            use()
    host[1] = torch.tensor(5.0, device="cuda")
    assert host.tolist() == [0, 5, 2] and host[index[0]].item() == 5 and host[index[0]].is_cpu
    assert host.cuda()[torch.tensor([1])].is_cuda


def test_functions_take_what_must_be_on_the_cpu():
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    x = torch.randn(3, 2, 4, device="cuda")
    packed = pack_padded_sequence(x, torch.tensor([3, 2]))
    padded, lengths = pad_packed_sequence(torch.nn.LSTM(4, 5, device="cuda")(packed)[0])
    assert padded.is_cuda and padded.shape == (3, 2, 5) and lengths.tolist() == [3, 2]
    assert all(part.is_cuda for part in x.tensor_split(torch.tensor([1])))
    assert x.new_tensor(torch.ones(2)).is_cuda


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


# --- text, NumPy, pickles ---


def test_text_names_the_device():
    x = torch.arange(3, device="cuda", dtype=torch.int32)
    assert repr(x) == "tensor([0, 1, 2], device='cuda:0', dtype=torch.int32)"
    assert repr(torch.nn.Parameter(torch.ones(2, device="cuda"))) == (
        "Parameter containing:\ntensor([1., 1.], device='cuda:0', requires_grad=True)"
    )
    assert f"{torch.tensor(0.5, device='cuda'):.3f}" == "0.500"


def test_numpy_is_refused_as_torch_refuses_it():
    x = torch.ones(2, device="cuda")
    for convert in (x.numpy, lambda: numpy.asarray(x), lambda: numpy.array(x)):
        with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
            convert()
    assert x.cpu().numpy().tolist() == x.numpy(force=True).tolist() == [1, 1]


def test_saved_tensors_are_loaded_on_their_device_or_the_one_asked_for():
    x = torch.randn(3, device="cuda")
    file = io.BytesIO()
    torch.save({"x": x, "view": x[1:], "host": torch.ones(1)}, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["x"].is_cuda and loaded["view"].is_cuda and not loaded["host"].is_cuda
    loaded["x"][1] = 7
    assert loaded["view"][0] == 7
    file.seek(0)
    assert not torch.load(file, map_location="cpu")["x"].is_cuda
    file = io.BytesIO()
    torch.save(x.cpu(), file)
    file.seek(0)
    assert torch.load(file, map_location="cuda").is_cuda


def test_copies_are_on_the_device():
    x = torch.randn(3, device="cuda", requires_grad=True)
    for copied in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.copy(x)):
        assert copied.is_cuda and copied.requires_grad and torch.equal(copied, x)
    pair = copy.deepcopy([x.detach(), x.detach()[1:]])
    pair[0][1] = 5
    assert pair[1][0] == 5


def test_arrays_of_cuda_are_described_by_the_interface_of_cuda():
    x = torch.zeros(2, 3, device="cuda")
    described = x.__cuda_array_interface__
    assert (described["shape"], described["typestr"], described["data"]) == ((2, 3), "<f4", (x.data_ptr(), False))
    assert x.__dlpack_device__() == (2, 0)
    y = torch.from_dlpack(x)
    y += 1
    assert y.is_cuda and x.sum() == 6
    with pytest.raises(tileir.TileIRError, match=r"Tensor\.__dlpack__ cannot be had .* pass tensor\.cpu\(\)"):
        numpy.from_dlpack(x)


# --- defaults and random numbers ---


def test_default_device():
    with torch.device("cuda"):
        assert torch.ones(2).is_cuda and torch.tensor(3.0).is_cuda and torch.nn.Linear(2, 2).weight.is_cuda
        assert not torch.ones(2, device="cpu").is_cuda
    torch.set_default_device("cuda")
    try:
        assert torch.randn(2).is_cuda and torch.get_default_device().type == "cuda"
    finally:
        torch.set_default_device(None)
    assert not torch.ones(2).is_cuda


def test_random_numbers_are_those_of_the_cpu():
    torch.manual_seed(3)
    host = torch.randn(5), torch.randint(0, 9, (4,)), torch.rand(2, generator=torch.Generator().manual_seed(1))
    torch.cuda.manual_seed(3)
    generator = torch.Generator(device="cuda").manual_seed(1)
    device = (
        torch.randn(5, device="cuda"),
        torch.randint(0, 9, (4,), device="cuda"),
        torch.rand(2, device="cuda", generator=generator),
    )
    assert generator.device.type == "cuda" and isinstance(generator, torch.Generator)
    for expected, found in zip(host, device, strict=True):
        assert found.is_cuda and torch.equal(expected, found.cpu())


def test_autocast_changes_the_dtype():
    x = torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert torch.is_autocast_enabled("cuda") and (x @ x).dtype is torch.bfloat16
    assert (x @ x).dtype is torch.float32 and not torch.is_autocast_enabled("cpu")


def test_assert_close_looks_at_the_device():
    x = torch.ones(2, device="cuda")
    torch.testing.assert_close(x, x.clone())
    with pytest.raises(AssertionError, match=r"'device' do not match: cuda:0 != cpu"):
        torch.testing.assert_close(x, x.cpu())


def test_pinned_memory_is_a_mark():
    x = torch.ones(2).pin_memory()
    assert x.is_pinned() and not x.is_cuda and torch.zeros(2, pin_memory=True).is_pinned()
    assert not torch.ones(2).is_pinned() and x.to("cuda", non_blocking=True).is_cuda


# --- single operations ---


def test_a_tensor_of_the_host_is_not_indexed_by_one_of_the_device():
    with pytest.raises(RuntimeError, match="indices should be either on cpu"):
        torch.ones(3)[torch.tensor([0], device="cuda")]
    assert torch.ones(3, device="cuda")[torch.tensor([0])].is_cuda


def test_attention_by_a_kernel_of_the_gpu_alone():
    from torch.nn.attention import SDPBackend, sdpa_kernel

    x = torch.randn(1, 2, 4, 8, device="cuda")
    expected = torch.nn.functional.scaled_dot_product_attention(x, x, x)
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        found = torch.nn.functional.scaled_dot_product_attention(x, x, x)
    assert found.is_cuda
    torch.testing.assert_close(found, expected)


def test_operators_of_the_user_for_cuda():
    @torch.library.custom_op("tileir_emulated_test::triple", mutates_args=(), device_types="cuda")
    def triple(x: torch.Tensor) -> torch.Tensor:
        assert x.is_cuda
        return x * 3

    assert triple(torch.ones(2, device="cuda")).tolist() == [3, 3]


def test_workers_of_a_loader_give_pinned_batches():
    data = torch.utils.data.TensorDataset(torch.arange(6.0))
    for workers in (0, 1):
        loader = torch.utils.data.DataLoader(data, batch_size=3, pin_memory=True, num_workers=workers)
        batches = [batch for (batch,) in loader]
        assert [batch.tolist() for batch in batches] == [[0, 1, 2], [3, 4, 5]]
        assert all(batch.is_pinned() and batch.cuda(non_blocking=True).is_cuda for batch in batches)


class Named(Tensor):
    pass


class Counted(Tensor):
    """A class with its own `__torch_function__`."""

    seen: list[str] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


def test_a_users_class_is_kept_on_the_device():
    host = torch.ones(3).as_subclass(Named)
    device = host.cuda()
    assert isinstance(device, Named) and device.is_cuda and type(device).__name__ == "Named"
    assert isinstance(device + 1, Named) and (device + 1).is_cuda
    assert type(device.cpu()) is Named and type(device.cpu() + 1) is Named
    assert isinstance(host.to("cuda", torch.float16), Named)
    assert isinstance(torch.ones(3, device="cuda").as_subclass(Named), Named)
    device.label = "kept"
    copied = pickle.loads(pickle.dumps(device))
    assert isinstance(copied, Named) and copied.is_cuda and copied.label == "kept"
    assert copied.tolist() == [1, 1, 1]


def test_a_users_torch_function_sees_operations_on_the_device():
    device = torch.ones(3).as_subclass(Counted).cuda()
    Counted.seen.clear()
    total = torch.add(device, 1)
    assert Counted.seen == ["add"] and isinstance(total, Counted) and total.is_cuda


def test_tensors_arrive_on_the_device_in_other_processes():
    context = torch.multiprocessing.get_context("fork")
    queue, answers = context.Queue(), context.Queue()

    def work():
        tensor, parameter = queue.get(timeout=60)
        tensor += 1
        answers.put((str(tensor.device), type(parameter).__name__, parameter.requires_grad, parameter.is_cuda))

    process = context.Process(target=work)
    process.start()
    tensor = torch.zeros(3, device="cuda")
    queue.put((tensor, torch.nn.Parameter(torch.ones(2, device="cuda"))))
    assert answers.get(timeout=60) == ("cuda:0", "Parameter", True, True)
    process.join()
    # As with CUDA, the memory is shared.
    assert tensor.tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", ["empty", "zeros"])
def test_more_memory_than_there_is_is_an_error_of_its_own(name):
    make = getattr(torch, name)
    with pytest.raises(torch.OutOfMemoryError, match=r"CUDA out of memory\. Tried to allocate 4194304\.00 GiB"):
        make(1 << 50, device="cuda")
    with pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory"):
        make((1 << 25, 1 << 25), dtype=torch.int8, device="cuda")
    with pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory"):
        torch.ones(1 << 25, device="cuda").repeat(1 << 25)


def test_results_are_not_put_into_tensors_of_the_cpu():
    x = torch.ones(3, device="cuda")
    for out in (torch.zeros(3), torch.zeros(())):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            torch.add(x, x, out=out)
    host = torch.ones(3)
    with pytest.raises(RuntimeError, match="out parameter"):
        torch.zeros(3, out=host, device="cuda")
    assert host.is_cpu and host.tolist() == [1, 1, 1]


def test_old_classes_of_tensors_make_and_tell_them():
    x = torch.cuda.FloatTensor([1, 2])
    assert x.is_cuda and x.dtype is torch.float32 and torch.cuda.LongTensor(3).shape == (3,)
    assert isinstance(x, torch.cuda.FloatTensor) and not isinstance(x, torch.cuda.HalfTensor)
    assert not isinstance(torch.ones(2), torch.cuda.FloatTensor)
    assert torch.ones(2).type(torch.cuda.HalfTensor).type() == "torch.cuda.HalfTensor"


def test_files_are_loaded_where_a_function_says():
    file = io.BytesIO()
    torch.save({"device": torch.ones(2, device="cuda"), "host": torch.ones(2)}, file)
    for function, is_cuda in ((lambda storage, place: storage, False), (lambda storage, place: storage.cuda(), True)):
        file.seek(0)
        loaded = torch.load(file, map_location=function)
        assert [loaded[name].is_cuda for name in ("device", "host")] == [is_cuda, is_cuda]
        assert loaded["device"].tolist() == [1, 1]


def test_nested_tensors_are_on_the_device():
    parts = [torch.ones(2), torch.zeros(3)]
    for nested in (
        torch.nested.nested_tensor(parts, device="cuda"),
        torch.nested.as_nested_tensor([part.cuda() for part in parts]),
    ):
        assert nested.is_cuda and all(part.is_cuda for part in nested.unbind())
    with pytest.raises(tileir.errors.EmulationError, match="jagged"):
        torch.nested.nested_tensor(parts, device="cuda", layout=torch.jagged)
