"""What `tileir.launch` and the other functions take of Triton kernels; torch and NumPy say what is right."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import pytest
import torch
import triton
from tests.bridge.triton import triton_kernels as kernels
from triton.tools.tensor_descriptor import TensorDescriptor

import tileir


def blocks(given: dict[str, int]) -> tuple[int]:
    return (triton.cdiv(given["n"], given["BLOCK"]),)


def test_arrays_of_numpy() -> None:
    x, y = numpy.random.default_rng(1).random((2, 1000), numpy.float32)
    out = numpy.zeros_like(x)
    tileir.launch(kernels.add, 8, (x, y, out, 1000, 128))
    numpy.testing.assert_array_equal(out, x + y)


def test_constants_and_options_by_keyword_and_a_grid_of_them() -> None:
    x, y, out = torch.rand(1000), torch.rand(1000), torch.zeros(1000)
    tileir.launch(kernels.add, blocks, (x, y, out, 1000), BLOCK=64, num_warps=8, backend="interpreter")
    assert torch.equal(out, x + y)


@pytest.mark.parametrize("n", [1, 16, 17])
def test_integers_that_are_compiled_in(n: int) -> None:
    x, y, out = torch.rand(17), torch.rand(17), torch.zeros(17)
    tileir.launch(kernels.add, 1, (x, y, out, n, 32))
    assert torch.equal(out[:n], (x + y)[:n]) and not out[n:].any()


@pytest.mark.parametrize("is_negated", [True, False])
@pytest.mark.parametrize("factor", [3, 1, 0.1, -2.5])
def test_numbers_and_bools(factor: float, is_negated: bool) -> None:
    x, out = torch.rand(64), torch.zeros(64)
    tileir.launch(kernels.scaled, 1, (x, out, factor, is_negated, 64))
    expected = x * factor * 2
    torch.testing.assert_close(out, -expected if is_negated else expected)


def test_views_that_are_not_contiguous() -> None:
    whole = torch.rand(20, 30)
    for x in (whole, whole.T, whole[3:17:2, 1::3], whole[4:, 5:]):
        out = torch.zeros(x.shape)
        tileir.launch(kernels.copy_2d, 1, (x, out, *x.shape, *x.stride(), 32, 32))
        assert torch.equal(out, x)
    x = numpy.arange(600, dtype=numpy.float32).reshape(20, 30)[::2, ::3]
    result = numpy.zeros(x.shape, numpy.float32)
    tileir.launch(kernels.copy_2d, 1, (x, result, *x.shape, 60, 3, 16, 16))
    numpy.testing.assert_array_equal(result, x)


def test_a_pointer_reaches_all_of_the_storage_of_its_view() -> None:
    whole, out = torch.rand(64), torch.zeros(64)
    tileir.launch(kernels.add, 1, (whole[:8], whole[:8], out, 64, 64))
    assert torch.equal(out, 2 * whole)


Arrays = namedtuple("Arrays", "a b out")


@pytest.mark.parametrize("extra", [None, torch.full((32,), 7.0)])
@pytest.mark.parametrize("kind", [tuple, Arrays._make])
def test_tuples_and_none(kind: Any, extra: torch.Tensor | None) -> None:
    a, b, out = torch.rand(32), torch.rand(32), torch.zeros(32)
    tileir.launch(kernels.of_tuple, 1, (kind((a, b, out)), (3, 0.5), extra, 32))
    torch.testing.assert_close(out, a + 3 * b + 0.5 + (0 if extra is None else 7.0))


@pytest.mark.parametrize("name", ["float8e5", "float8e4nv"])
def test_bytes_as_small_floats(name: str) -> None:
    dtype = {"float8e5": torch.float8_e5m2, "float8e4nv": torch.float8_e4m3fn}[name]
    x, out = torch.linspace(-4, 4, 64).to(dtype), torch.zeros(64)
    wrapped = triton.reinterpret(x.view(torch.int8), getattr(triton.language, name))
    tileir.launch(kernels.to_float, 1, (wrapped, out, 64))
    assert torch.equal(out, x.float())
    out.zero_()
    tileir.launch(kernels.to_float, 1, (x, out, 64))
    assert torch.equal(out, x.float())


def test_tensors_as_of_another_type() -> None:
    x, out = torch.linspace(-4, 4, 64), torch.zeros(64, dtype=torch.int32)
    given = triton.reinterpret(x.view(torch.int32), triton.language.float32)
    tileir.launch(kernels.to_float, 1, (given, triton.reinterpret(out, triton.language.float32), 64))
    assert torch.equal(out.view(torch.float32), x)


@triton.jit(repr=lambda given: f"renamed_{given.signature['x'][1:]}")
def has_a_name_of_its_own(x):
    triton.language.store(x, 3)


def test_a_kernel_with_a_name_of_its_own() -> None:
    x = torch.zeros(1)
    tileir.launch(has_a_name_of_its_own, 1, (x,))
    assert x.item() == 3
    with tileir.emulate():
        assert has_a_name_of_its_own.warmup(x, grid=(1,)).name == "renamed_fp32"


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "uint32", "uint64", "bool"])
def test_dtypes_of_numpy(dtype: str) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else numpy.dtype(dtype)
    x = numpy.arange(64).astype(kind)
    out = numpy.zeros(64, numpy.float32)
    tileir.launch(kernels.to_float, 1, (x, out, 64))
    numpy.testing.assert_array_equal(out, x.astype(numpy.float32))


def test_addresses_in_memory() -> None:
    arrays = [torch.rand(32) for _ in range(3)]
    table, out = torch.tensor([each.data_ptr() for each in arrays]), torch.zeros(32)
    tileir.launch(kernels.pointers, 1, (table, out, 3, 32))
    torch.testing.assert_close(out, sum(arrays))


def test_tensor_descriptors() -> None:
    x, out = torch.rand(20, 40), torch.zeros(20, 40)
    described = [TensorDescriptor.from_tensor(each, [16, 32]) for each in (x, out)]
    tileir.launch(kernels.copy_described, (2, 2), (*described, 16, 32))
    assert torch.equal(out, x + 1)


def test_tuned_kernels_and_heuristics() -> None:
    x, out = torch.rand(100), torch.zeros(100)
    tileir.launch(kernels.tuned, blocks, (x, out, 100))
    torch.testing.assert_close(out, 3 * x)
    tileir.launch(kernels.sized, 1, (x, out, 100))
    torch.testing.assert_close(out, 5 * x)


def test_compiled_once_for_arguments_of_a_kind() -> None:
    x, y, out = torch.rand(1000), torch.rand(1000), torch.zeros(1000)
    args = (x, y, out, 1000, 128)
    kernel = tileir.compile(kernels.add, args)
    assert kernel.parameters[3:] == ["n: i32", "BLOCK: the constant 128"]
    kernel.launch(8, args)
    assert torch.equal(out, x + y)
    bound = kernel.bind(8, args)
    out.zero_()
    bound()
    assert torch.equal(out, x + y)
    assert kernel.work(8, args).bytes_moved == 12000
    with pytest.raises(tileir.LaunchError, match=r"'BLOCK' of add is the constant 64, but .* the constant 128"):
        kernel.launch(8, (*args[:4], 64))
    with pytest.raises(tileir.LaunchError, match=r"'x' of add is \*fp64.*, but .* \*fp32"):
        kernel.launch(8, (x.double(), *args[1:]))


def test_recorded_costed_and_explored(tmp_path: Path) -> None:
    x, y, out = torch.rand(1000), torch.rand(1000), torch.zeros(1000)
    args = (x, y, out, 1000, 128)
    recording = tileir.record(kernels.add, 8, args)
    assert len(recording.blocks) == 8 and not recording.findings
    assert torch.equal(out, x + y)
    assert tileir.cost(kernels.add, 8, args).bytes_moved == 12000
    page = tmp_path / "page.html"
    assert tileir.explore(kernels.add, 8, args, html=page).title.endswith(": tileir explorer")
    assert page.stat().st_size


def test_debugged(capsys: pytest.CaptureFixture[str]) -> None:
    x, out = torch.rand(4, 8), torch.zeros(4)
    tileir.debug(kernels.row_sums, 4, (x, out, 8, 8), commands=["break tile 2", "continue"])
    torch.testing.assert_close(out, x.sum(1))
    assert "row_sums" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kernel", "arguments", "options", "message"),
    [
        (kernels.scaled, (1.0, False, 64), {"BLOK": 3}, "scaled .*: Keyword argument BLOK was specified but unrecogni"),
        (kernels.scaled, (1.0,), {}, "scaled .*: missing 2 required positional arguments"),
        (kernels.scaled, (1.0, False, [64]), {}, "scaled .*: unhashable type: 'list', .*: pass a tuple"),
        (kernels.scaled, (1.0, False, 64), {"num_warps": 3}, "scaled .*: num_warps must be a power of 2"),
        (kernels.scaled, ({}, False, 64), {}, "scaled cannot be launched: .* type: .*dict"),
        (kernels.tuned, (), {}, "tuned .*: missing 1 required positional argument: 'n'"),
    ],
)
def test_what_triton_refuses_is_an_error_of_the_launch(
    kernel: Any, arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    x = torch.zeros(64)
    with pytest.raises(tileir.LaunchError, match=message):
        tileir.launch(kernel, 1, (x, x, *arguments), **options)


@pytest.mark.parametrize("x", [torch.zeros(8, dtype=torch.cfloat), numpy.zeros(8, ">f4"), numpy.zeros(8, "f4,i4")])
def test_elements_that_triton_has_not(x: Any) -> None:
    with pytest.raises(tileir.LaunchError, match="to_float cannot be launched: Triton has no elements of type"):
        tileir.launch(kernels.to_float, 1, (x, torch.zeros(8), 8))


def test_an_error_of_a_heuristic_is_the_users() -> None:
    def wrong(given: dict[str, Any]) -> int:
        raise KeyError("mine")

    kernel = triton.heuristics({"BLOCK": wrong})(kernels.to_float)
    with pytest.raises(KeyError, match="mine"):
        tileir.launch(kernel, 1, (torch.zeros(8), torch.zeros(8)))


def test_wrong_launches_are_refused_in_words() -> None:
    with pytest.raises(tileir.LaunchError, match="rounds to tf32"):
        described = TensorDescriptor.from_tensor(torch.zeros(16, 32), [16, 32])
        described.round_f32_to_tf32 = True
        tileir.launch(kernels.copy_described, 1, (described, described, 16, 32))
    with pytest.raises(tileir.errors.TTIRError, match=r"(?s)elementwise_inline_asm.*triton_kernels\.py:\d+:\d+"):
        tileir.launch(kernels.unsupported, 1, (torch.zeros(64, dtype=torch.int32), 64))


def test_ttir_is_a_program() -> None:
    x, y, out = torch.rand(1000), torch.rand(1000), torch.zeros(1000)
    with tileir.emulate():
        made = kernels.add.warmup(x.cuda(), y.cuda(), out.cuda(), 1000, BLOCK=128, grid=(8,))
    assert "tt.load" in made.asm["ttir"]
    with pytest.raises(KeyError, match="ptx"):
        made.asm["ptx"]
    module = tileir.from_ttir(made.ttir.generic)
    tileir.compile(module).launch(8, (x, y, out, 1000))
    assert torch.equal(out, x + y)
