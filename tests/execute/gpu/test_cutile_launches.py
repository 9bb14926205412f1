"""cuTile's kernels with arrays on a GPU, against a driver that writes down what it is told."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from tests.execute.gpu.fake_cuda import CudaArray, FakeDriver, FakeTorch, Tensor
from tests.execute.gpu.fake_gpu import FakeGpu

import tileir
from tileir.execute.gpu.engines import TileirasEngine
from tileir.tools.cutile import emulate as emulate_tool

ct = pytest.importorskip("cuda.tile", reason="cuTile's kernels need cuda-tile: pip install cuda-tile")


def _scaled(a, b, c, factor, N: ct.Constant[int]):  # type: ignore[name-defined]
    place = ct.bid(0)
    ct.store(c, (place,), ct.load(a, (place,), (N,)) * factor + ct.load(b, (place,), (N,)))


def new_kernel() -> Any:
    """A kernel that no test before has launched, with a driver that is gone."""
    return ct.kernel(_scaled)


@pytest.fixture
def scaled() -> Any:
    return new_kernel()


def floats(count: int = 64) -> numpy.ndarray:
    return numpy.arange(count, dtype=numpy.float32)


def tensors(fake: FakeDriver, number: int = 3, device: int = 0) -> list[Tensor]:
    found = [Tensor(floats(), device) for _ in range(number)]
    for each in found:
        fake.own(each.data_ptr(), 256, device)
    return found


def parameters(call: str) -> list[str]:
    return call.rpartition(" ")[2].split(",")


def test_tensors_of_a_gpu_are_launched_there_and_recognized(
    fake: FakeDriver, torch: FakeTorch, engine: FakeGpu, scaled: Any
) -> None:
    arguments = (*tensors(fake), 2.0, 16)
    for _ in range(4):
        tileir.launch(scaled, (4,), arguments)
    first, *others = fake.calls("cuLaunchKernelEx")
    assert others == [first] * 3
    # A pointer, an extent and a stride for each, and the factor.
    (place,) = {int(arguments[0].data_ptr()).to_bytes(8, "little").hex()}
    assert parameters(first)[:3] == [place, "40000000", "01000000"]
    assert parameters(first)[-1] == numpy.float32(2.0).tobytes().hex()
    fake.clear()
    torch.streams[0] = stream = fake.stream()
    tileir.launch(scaled, (4,), arguments)
    assert [call.split()[0] for call in fake.calls()] == ["cuLaunchKernelEx"]
    assert fake.calls("cuLaunchKernelEx") == [first.replace(" stream 0 ", f" stream {stream:#x} ")]


def test_recognized_launch_with_other_numbers_and_shapes(
    fake: FakeDriver, torch: FakeTorch, engine: FakeGpu, scaled: Any
) -> None:
    a, b, c = tensors(fake)
    for factor in (1.0, 2.0, 3.0):
        tileir.launch(scaled, (4,), (a, b, c, factor, 16))
    found = [parameters(call)[-1] for call in fake.calls("cuLaunchKernelEx")]
    assert found == [numpy.float32(factor).tobytes().hex() for factor in (1.0, 2.0, 3.0)]
    small = Tensor(floats()[:48])
    tileir.launch(scaled, (3,), (small, b, c, 1.0, 16))
    assert parameters(fake.calls("cuLaunchKernelEx")[-1])[1] == "30000000"


def test_same_kernel_runs_on_the_host_and_on_a_gpu_in_turn(
    fake: FakeDriver, torch: FakeTorch, engine: FakeGpu, scaled: Any
) -> None:
    there = tensors(fake)
    for _ in range(3):
        a, b, c = floats(), floats(), numpy.zeros(64, numpy.float32)
        tileir.launch(scaled, (4,), (a, b, c, 2.0, 16))
        assert (c == 3 * a).all()
        before = len(fake.calls("cuLaunchKernelEx"))
        tileir.launch(scaled, (4,), (*there, 2.0, 16))
        assert len(fake.calls("cuLaunchKernelEx")) == before + 1


def test_arrays_of_both_kinds_are_refused(fake: FakeDriver, torch: FakeTorch, engine: FakeGpu, scaled: Any) -> None:
    a, b, _ = tensors(fake)
    with pytest.raises(tileir.LaunchError, match="is on the host and argument 0 on a GPU"):
        tileir.launch(scaled, (4,), (a, b, floats(), 2.0, 16))


def test_arrays_with_the_cuda_array_interface_are_taken(fake: FakeDriver, engine: FakeGpu, scaled: Any) -> None:
    arrays = [CudaArray(fake, floats()) for _ in range(3)]
    tileir.launch(scaled, (4,), (*arrays, 2.0, 16))
    assert len(fake.calls("cuLaunchKernelEx")) == 1


def test_unmodified_launches_of_a_script_go_to_the_engine_in_their_stream(
    fake: FakeDriver, torch: FakeTorch, engine: FakeGpu, scaled: Any
) -> None:
    arguments = (*tensors(fake), 2.0, 16)
    stream = fake.stream()
    with tileir.emulate(backend=engine.name):
        ct.launch(stream, (4,), scaled, arguments)
        ct.launch(0, (4,), scaled, arguments)
    given, current = fake.calls("cuLaunchKernelEx")
    assert f" stream {stream:#x} " in given and " stream 0 " in current


def test_a_dispatcher_with_code_of_its_own_is_launched_by_cutile(
    fake: FakeDriver, torch: FakeTorch, engine: FakeGpu, monkeypatch: pytest.MonkeyPatch, scaled: Any
) -> None:
    """A test of cuTile's own has one for a cubin that it has compiled."""
    extension: Any = pytest.importorskip("cuda.tile._cext")

    class Compiled(extension.TileDispatcher):
        pass

    seen: list[Any] = []
    with tileir.emulate(backend=engine.name):
        monkeypatch.setattr(ct.launch, "original", lambda *given: seen.append(given))
        dispatcher = Compiled(())
        ct.launch(0, (1,), dispatcher, ())
        ct.launch(0, (4,), scaled, (*tensors(fake), 2.0, 16))
        with pytest.raises(tileir.LaunchError, match="cannot be launched as a cuTile kernel"):
            ct.launch(0, (1,), len, ())
    assert seen == [(0, (1,), dispatcher, ())]
    assert len(fake.calls("cuLaunchKernelEx")) == 1


def test_nothing_is_emulated_where_kernels_run_on_a_gpu(fake: FakeDriver, torch: FakeTorch, engine: FakeGpu) -> None:
    from tileir.bridge.contexts import active, innermost

    with tileir.emulate(backend=engine.name):
        assert active() is None
        assert innermost() is not None
        with tileir.emulate("interpreter"):
            assert active() is not None
        assert active() is None
    assert innermost() is None


def _narrow(a, b, N: ct.Constant[int]):  # type: ignore[name-defined]
    ct.store(b, (0,), ct.load(a, (0,), (N,)).astype(ct.float8_e4m3fn).astype(ct.float32))


@pytest.mark.parametrize("backend", ["fake_gpu", "interpreter"])
def test_kernel_is_refused_by_the_architecture_that_its_method_compiles_for(
    fake: FakeDriver, torch: FakeTorch, engine: FakeGpu, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    """A test of cuTile's own replaces the method."""
    original = ct.kernel._compile

    def compile_for_ampere(self: Any, signature: Any, context: Any, capability: Any) -> Any:
        return original(self, signature, context, (8, 0))

    arguments = (*tensors(fake, 2), 16) if backend == engine.name else (floats(), floats(), 16)
    with tileir.emulate(backend=backend):
        ct.launch(0, (1,), ct.kernel(_narrow), arguments)
        monkeypatch.setattr(ct.kernel, "_compile", compile_for_ampere)
        with pytest.raises(ct.TileUnsupportedFeatureError, match="is not supported on sm_80"):
            ct.launch(0, (1,), ct.kernel(_narrow), arguments)


def test_what_the_gpu_that_is_there_has_not_is_refused_as_cutile_does(
    fake: FakeDriver, torch: FakeTorch, engine: FakeGpu
) -> None:
    fake.reset(capability=80)
    with (
        tileir.emulate(backend=engine.name),
        pytest.raises(ct.TileUnsupportedFeatureError, match="is not supported on sm_80"),
    ):
        ct.launch(0, (1,), ct.kernel(_narrow), (*tensors(fake, 2), 16))


def _listed(arrays, N: ct.Constant[int]):  # type: ignore[name-defined]
    for number in range(len(arrays)):
        ct.store(arrays[number], (0,), ct.load(arrays[number], (0,), (N,)) + 1)


def test_lists_are_refused_while_a_graph_is_captured(fake: FakeDriver, torch: FakeTorch, engine: FakeGpu) -> None:
    kernel = ct.kernel(_listed)
    fake.capture(True)
    with (
        tileir.emulate(backend=engine.name),
        pytest.raises(RuntimeError, match="List argument in CUDAGraph isn't supported yet"),
    ):
        ct.launch(0, (1,), kernel, (tensors(fake, 2), 16))
    fake.capture(False)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from tileir.bridge import contexts

    monkeypatch.setattr(contexts, "_has_device_files", lambda: False)
    monkeypatch.setattr(TileirasEngine, "missing", lambda self: "there is no GPU")


@pytest.mark.usefixtures("no_gpu")
def test_engine_for_gpus_without_a_gpu_is_refused_before_the_script_runs() -> None:
    with pytest.raises(tileir.LaunchError, match="cannot work here: there is no GPU"), tileir.emulate("tileiras"):
        pass


@pytest.mark.usefixtures("no_gpu")
def test_command_refuses_an_engine_for_gpus_without_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert emulate_tool.run(["--backend", "tileiras", __file__]) == 2
    assert "the backend 'tileiras' cannot work here: there is no GPU" in capsys.readouterr().err


def test_command_refuses_a_gpu_to_emulate_where_there_is_one(
    engine: FakeGpu, capsys: pytest.CaptureFixture[str]
) -> None:
    assert emulate_tool.run(["--backend", engine.name, "--target", "b200", __file__]) == 2
    assert "the GPU is the one that is there\nhelp: leave out target" in capsys.readouterr().err
