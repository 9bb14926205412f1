"""`torch.cuda`: the device's properties, memory, streams, events and graphs."""

from __future__ import annotations

import threading

import pytest
from tests.bridge.test_launch import add, ct

import tileir

torch = pytest.importorskip("torch")


def test_properties_are_those_of_the_gpu_that_is_named():
    with tileir.emulate(target="RTX-5090"):
        assert torch.cuda.is_available() and torch.cuda.device_count() == 1 and torch.cuda.current_device() == 0
        assert torch.cuda.get_device_name() == "NVIDIA GeForce RTX 5090"
        properties = torch.cuda.get_device_properties("cuda:0")
        assert (properties.major, properties.minor) == torch.cuda.get_device_capability() == (12, 0)
        assert (properties.multi_processor_count, properties.warp_size) == (170, 32)
        with tileir.emulate(target="a100"):
            assert torch.cuda.get_device_capability(0) == (8, 0)
        assert torch.version.cuda and torch.backends.cuda.is_built()


def test_devices_that_are_not_there_are_refused():
    for ask in (lambda: torch.ones(1, device="cuda:1"), lambda: torch.cuda.get_device_name(3)):
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            ask()


def test_memory_in_use_is_counted():
    before = torch.cuda.memory_allocated()
    x = torch.empty(1 << 20, device="cuda")
    view = x[1:]
    assert torch.cuda.memory_allocated() - before == 4 << 20
    free, total = torch.cuda.mem_get_info()
    assert total == torch.cuda.get_device_properties(0).total_memory and free <= total - (4 << 20)
    del x, view
    assert torch.cuda.memory_allocated() == before and torch.cuda.max_memory_allocated() >= before + (4 << 20)


def test_streams_and_events():
    stream, event = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True)
    assert torch.cuda.current_stream() == torch.cuda.default_stream() != stream
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream and torch.cuda.current_stream().cuda_stream == stream.cuda_stream
        event.record()
    torch.ones(3, device="cuda").record_stream(stream)
    stream.wait_stream(torch.cuda.current_stream())
    torch.cuda.current_stream().wait_event(event)
    assert torch.cuda.current_stream().cuda_stream == 0 and event.query() and stream.query()
    with pytest.raises(RuntimeError, match="enable_timing=True"):
        event.elapsed_time(torch.cuda.Event())


def test_graphs_replay_operations_and_launches():
    x = torch.zeros(16, device="cuda")
    launched = torch.zeros_like(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        x += 1
        ct.launch(torch.cuda.current_stream(), (1,), add, (x, x, launched))
        total = (
            torch.nn.functional.layer_norm(launched.view(2, 8), (8,)).sum() + torch.ones(2, device="cuda") * launched[0]
        )
    assert not torch.cuda.is_current_stream_capturing()
    assert x.sum() == 0 and launched.sum() == 0, "a capture does nothing"
    graph.replay()
    assert x.tolist() == [1] * 16 and launched.tolist() == [2] * 16 and total.tolist() == [2, 2]
    x.fill_(4)
    graph.replay()
    assert launched.tolist() == [10] * 16 and total.tolist() == [10, 10]


def test_captured_training_step_trains():
    def model():
        torch.manual_seed(1)
        made = torch.nn.Linear(4, 2).cuda()
        return made, torch.optim.SGD(made.parameters(), lr=0.1), torch.ones(3, 4, device="cuda")

    plain, optimizer, x = model()
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        plain(x).square().sum().backward()
        optimizer.step()
    captured, optimizer, x = model()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured(x).square().sum().backward()
        optimizer.step()
    for _ in range(3):
        graph.replay()
    assert torch.equal(plain.weight, captured.weight)


def test_reading_a_value_during_a_capture_is_refused():
    x = torch.ones(2, device="cuda")
    with (
        pytest.raises(RuntimeError, match="not permitted when stream is capturing"),
        torch.cuda.graph(torch.cuda.CUDAGraph()),
    ):
        x.sum().item()
    assert not torch.cuda.is_current_stream_capturing()


def test_what_cannot_be_had_is_named():
    with pytest.raises(tileir.TileIRError, match=r"torch\.cuda\.temperature cannot be had .* leave the call out"):
        torch.cuda.temperature()


def test_a_profile_of_the_device_is_one_of_the_cpu(capfd):
    activities = torch.profiler.ProfilerActivity
    for chosen in ([activities.CPU, activities.CUDA], [activities.CUDA], None):
        with torch.profiler.profile(activities=chosen) as profile:
            torch.ones(3, device="cuda").add(1)
        assert "aten::add" in profile.key_averages().table(sort_by="cuda_time_total")
    assert "Failed to record" not in capfd.readouterr().err


def test_each_thread_has_its_current_stream():
    seen = []
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        other = threading.Thread(target=lambda: seen.append(torch.cuda.current_stream()))
        other.start()
        other.join()
        assert torch.cuda.current_stream() == stream
    assert seen == [torch.cuda.default_stream()]


def test_data_parallel_modules_work_on_the_one_device():
    module = torch.nn.Linear(3, 2)
    x = torch.randn(4, 3)
    parallel = torch.nn.DataParallel(module.cuda())
    found = parallel(x.cuda())
    assert found.is_cuda and torch.equal(found.cpu(), module.cpu()(x))
    scattered = torch.nn.parallel.comm.scatter(x, [0])
    assert scattered[0].is_cuda and torch.nn.parallel.comm.gather(scattered, destination="cpu").is_cpu


def test_marks_for_a_profiler_are_left_out():
    with torch.autograd.profiler.emit_nvtx():
        assert (torch.ones(2, device="cuda") + 1).tolist() == [2, 2]
