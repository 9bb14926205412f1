"""cuTile's functions beside `launch`, in contexts: what asks about the GPU, the tuner, what needs a GPU."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from tests.bridge.test_launch import F32, A, add, ct

import tileir

extension: Any = pytest.importorskip("cuda.tile._cext")


def test_the_gpu_that_is_emulated_answers() -> None:
    import cuda.tile._compile

    with tileir.emulate(target="a100"):
        get_sm_arch: Any = cuda.tile._compile.get_sm_arch
        assert extension.get_compute_capability() == (8, 0)
        assert get_sm_arch() == "sm_80"
        with tileir.emulate(target="b200"):
            assert get_sm_arch() == "sm_100"
        assert len(extension._get_max_grid_size(0)) == 3
        stream = extension._create_stream()
        assert extension._destroy_stream(stream) is None
        assert extension._synchronize_context() is None


@ct.kernel
def to_float8(x, y):
    ct.store(y, (0,), ct.load(x, (0,), (16,)).astype(ct.float8_e4m3fn))


def test_what_the_emulated_gpu_cannot_do_is_refused_by_cutile() -> None:
    ml_dtypes: Any = pytest.importorskip("ml_dtypes")
    out = numpy.zeros(16, ml_dtypes.float8_e4m3fn)
    with tileir.emulate(target="a100"), pytest.raises(ct.TileUnsupportedFeatureError, match="not supported on sm_80"):
        ct.launch(None, (1,), to_float8, (A, out))
    with tileir.emulate(target="h100"):
        for _ in range(4):
            ct.launch(None, (1,), to_float8, (A, out))
        # What was compiled for one GPU, and is recognized there, is not taken for another.
        with (
            tileir.emulate(target="a100"),
            pytest.raises(ct.TileUnsupportedFeatureError, match="not supported on sm_80"),
        ):
            ct.launch(None, (1,), to_float8, (A, out))


def test_signature_is_that_of_the_arguments() -> None:
    from cuda.tile.compilation import CallingConvention, KernelSignature

    with tileir.emulate():
        convention = CallingConvention.cutile_python_v2()
        signature = KernelSignature.from_kernel_args(add, (A, A, A.copy()), convention)
    assert [constraint.dtype for constraint in signature.parameters] == [ct.float32] * 3


@ct.kernel
def scale(x, y, factor: ct.Constant[float], size: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), (size,)) * factor)


def test_tuner_measures_here(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = numpy.arange(64, dtype=F32), numpy.zeros(64, F32)
    with tileir.emulate():
        found = ct.tune.exhaustive_search(
            [16, 32, 3], None, lambda size: (64 // size,), scale, lambda size: (x, y, 2.0, size)
        )
    # The fastest comes first.
    assert sorted(measurement.config for measurement in found.successes) == [16, 32]
    assert all(measurement.mean_us > 0 for measurement in found.successes)
    # Tiles have extents that are powers of two.
    assert [config for config, _, _ in found.failures] == [3]
    assert "2 succeeded, 1 failed" in capsys.readouterr().out
    assert y.tolist() == (2 * x).tolist()


@ct.kernel
def count(out):
    ct.atomic_add(out, 0, 1)


def test_every_launch_that_somebody_else_measures_is_made() -> None:
    out = numpy.zeros(1, "i4")
    with tileir.emulate():
        assert all(extension._benchmark(None, (1,), count, (out,)) > 0 for _ in range(4))
    assert out.tolist() == [4]


@ct.kernel
def forever(flag, out):
    while ct.load(flag, (0,), (1,)).item() != 0:
        ct.atomic_add(out, (0,), 1)
    ct.store(out, (0,), ct.full((1,), 7, ct.int32))


def test_time_limit_of_the_tuner_ends_a_launch() -> None:
    out = numpy.zeros(1, "i4")
    with tileir.emulate():
        found = ct.tune.exhaustive_search(
            [0, 1],
            None,
            lambda flag: (1,),
            forever,
            lambda flag: (numpy.full(1, flag, "i4"), out),
            quiet=True,
            single_run_timeout_sec=2.0,
        )
    assert [measurement.config for measurement in found.successes] == [0]
    [(config, kind, message)] = found.failures
    assert (config, kind.__name__) == (1, "TileLaunchTimeoutError")
    assert "exceeded timeout 2.0 sec" in message


def test_what_needs_a_gpu_says_so_by_name() -> None:
    if not hasattr(extension, "launch_extended"):
        pytest.skip("this cuda-tile has no launch_extended")
    with tileir.emulate(), pytest.raises(tileir.LaunchError, match="launch_extended launches threads of a GPU"):
        extension.launch_extended(None, (1,), (1,), add, ())


def test_outside_of_contexts_the_functions_are_cutiles_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with tileir.emulate():
        hook = extension.get_compute_capability
    monkeypatch.setattr(hook, "original", lambda device=0: (1, 2))
    assert extension.get_compute_capability() == (1, 2)
