"""Launches: arguments of every kind, and every mistake with a message that says what to do."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from tests.execute.test_pointer_operations import INDEX, copy_kernel

import tileir
from tileir.ir.attributes import string_attribute

TWO = "cuda_tile.module @m { entry @a() { return } entry @b() { return } }"
SCALARS = """cuda_tile.module @m { entry @k(%o: tile<ptr<f64>>, %i: tile<i8>, %f: tile<bf16>, %b: tile<i1>) {
  %x = itof %i signed : tile<i8> -> tile<f64>
  %y = ftof %f : tile<bf16> -> tile<f64>
  %z = itof %b unsigned : tile<i1> -> tile<f64>
  %s = addf %x, %y : tile<f64>
  %t = addf %s, %z : tile<f64>
  %u = store_ptr_tko weak %o, %t : tile<ptr<f64>>, tile<f64> -> token
  return } }"""


def scalar_sum(*arguments: object) -> float:
    out = numpy.zeros(1)
    tileir.compile(tileir.parse(SCALARS)).launch(1, (out, *arguments))
    return float(out[0])


def copied(a: Any, b: Any, index: Any = INDEX, grid: Any = 1) -> None:
    copy_kernel("f32").launch(grid, (a, b, index))


def arrays() -> tuple[Any, Any]:
    return numpy.arange(10, dtype="f4"), numpy.zeros(8, "f4")


def test_scalars_are_converted_to_the_parameter() -> None:
    assert scalar_sum(5, 1.5, True) == 7.5
    assert scalar_sum(255, 1.0, 0) == 0.0
    assert scalar_sum(numpy.int64(-3), numpy.float32(0.1), numpy.False_) == -3 + float(ml_dtypes.bfloat16(0.1))
    assert scalar_sum(numpy.array(4, "i2"), ml_dtypes.bfloat16(2), False) == 6.0
    assert scalar_sum(1, 2, 1) == 4.0


class _Tensor:
    """What the launch looks at in a torch tensor."""

    __module__ = "torch"

    class device:
        type = "cpu"

    def __init__(self, array: Any, dtype: str) -> None:
        self._array = array
        self.dtype = "torch." + dtype
        self.shape = array.shape

    def is_neg(self) -> bool:
        return False

    def data_ptr(self) -> int:
        return int(self._array.ctypes.data)

    def stride(self) -> tuple[int, ...]:
        return tuple([stride // self._array.itemsize for stride in self._array.strides])

    def __dlpack__(self) -> object:
        raise AssertionError("a tensor is shared by its address")


class _Device(_Tensor):
    __module__ = "torch"

    class device:
        type = "cuda"

        def __str__(self) -> str:
            return "cuda:0"


class _Interface:
    def __init__(self, array: Any) -> None:
        self.__array_interface__ = array.__array_interface__
        self.array = array


class _Exchange:
    def __init__(self, array: Any, device: int = 1) -> None:
        self.array = array
        self.device = device

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


class _OnDevice:
    __cuda_array_interface__ = {"data": (16, False), "shape": (8,), "typestr": "<f4", "version": 3}


@pytest.mark.parametrize(
    "wrap", [lambda a: a, lambda a: _Tensor(a, "float32"), _Interface, _Exchange, tileir.kernels.pointer_to]
)
def test_arrays_of_every_kind_are_written_in_place(wrap: Any) -> None:
    a, b = arrays()
    copied(wrap(a), wrap(b))
    assert b.tolist() == INDEX.tolist()


def test_bytes_are_arrays_too() -> None:
    source, target = bytes(range(10)), bytearray(8)
    copy_kernel("i8").launch(1, (source, target, INDEX))
    assert list(target) == INDEX.tolist()


def test_tensors_of_types_numpy_lacks() -> None:
    a = numpy.arange(10).astype(ml_dtypes.bfloat16)
    b = numpy.zeros(8, ml_dtypes.bfloat16)
    copy_kernel("bf16").launch(1, (_Tensor(a, "bfloat16"), _Tensor(b, "bfloat16"), INDEX))
    assert b.tolist() == INDEX.tolist()
    bits = numpy.zeros(8, "u2")
    copy_kernel("bf16").launch(1, (a.view("u2"), bits, INDEX))
    assert bits.view(ml_dtypes.bfloat16).tolist() == INDEX.tolist()


def test_a_strided_array_goes_through_pointer_to() -> None:
    a, b = arrays()
    wide = numpy.zeros(20, "f4")
    wide[::2] = a
    with pytest.raises(
        tileir.LaunchError, match=r"argument 0 of @k is not contiguous .*tileir.kernels.pointer_to\(array\)"
    ):
        copied(wide[::2], b)
    copied(tileir.kernels.pointer_to(wide[::2]), b, INDEX * 2)
    assert b.tolist() == INDEX.tolist()
    flat = numpy.asfortranarray(numpy.ones((2, 5), "f4"))
    with pytest.raises(tileir.LaunchError, match="is not contiguous"):
        copied(flat, b)


def test_an_array_without_elements_is_contiguous_whatever_its_strides() -> None:
    _, b = arrays()
    nothing = numpy.lib.stride_tricks.as_strided(numpy.zeros(0, "f4"), (0, 5), (0, 0))
    with pytest.raises(tileir.TileIRError, match="accesses 4 bytes at address"):
        copied(nothing, b)


def test_a_reversed_array_points_at_its_first_element() -> None:
    a, b = arrays()
    copied(tileir.kernels.pointer_to(a[::-1]), b, -INDEX)
    assert b.tolist() == (9 - INDEX).tolist()


MISTAKES = [
    ((), r"@k takes 3 arguments \(tile<ptr<f32>>, tile<ptr<f32>>, tile<ptr<i32>>\), but 0 were given"),
    ((arrays()[0],), "but 1 was given: pass an array for each pointer and a number for each scalar"),
    ((*arrays(), INDEX, 4), "but 4 were given"),
    (
        (arrays()[0].astype("f8"), arrays()[1], INDEX),
        r"pointer to f32, but an array float64\[10\] was given: pass one of dtype float32",
    ),
    ((*arrays(), INDEX.astype("f4")), r"pointer to i32, but an array float32\[8\] was given: pass one of dtype int32"),
    (([1.0], arrays()[1], INDEX), r"but a list was given: pass numpy.array\(..\)"),
    ((1.5, arrays()[1], INDEX), "pointer to f32, but a float was given: pass an array"),
    ((None, arrays()[1], INDEX), "but None was given: pass an array"),
    ((arrays()[0].astype(">f4"), arrays()[1], INDEX), r"byte order of another machine \(>f4\): pass array.astype"),
    ((-1, arrays()[1], INDEX), "is -1, which is not an address: pass an array"),
    ((_OnDevice(), arrays()[1], INDEX), "argument 0 of @k is in the memory of a GPU: copy it to the host first"),
    ((_Exchange(arrays()[0], 2), arrays()[1], INDEX), "is in the memory of a GPU"),
    ((_Device(arrays()[0], "float32"), arrays()[1], INDEX), r"is a tensor on .*: pass tensor.cpu\(\)"),
    (
        (_Tensor(arrays()[0], "complex64"), arrays()[1], INDEX),
        "is a tensor of complex64, which no element type .*: convert it",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_wrong_arrays_are_explained(arguments: Any, message: str) -> None:
    with pytest.raises(tileir.LaunchError, match=message):
        copy_kernel("f32").launch(1, arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((300, 1.0, True), r"argument 1 of @k is a scalar i8, which cannot hold 300: pass -128 to 255$"),
        ((1.5, 1.0, True), "scalar i8, but a float was given: pass an integer"),
        ((numpy.ones(3, "i1"), 1.0, True), "scalar i8, but an array was given: pass a number"),
        ((1, "two", True), "scalar bf16, but a str was given: pass a number"),
        ((1, numpy.ones(1, "f4"), True), "scalar bf16, but an array was given"),
        ((1, 1.0, 2), r"scalar i1, which cannot hold 2: pass -1 to 1$"),
    ],
)
def test_wrong_scalars_are_explained(arguments: Any, message: str) -> None:
    with pytest.raises(tileir.LaunchError, match=message):
        scalar_sum(*arguments)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (0, "extent 0 along x: launch at least one tile block"),
        ((4, -1), "extent -1 along y"),
        ((1, 1, 70000), "extent 70000 along z: pass at most 65535, and put what is larger along x"),
        (2**31, "extent 2147483648 along x: pass at most 2147483647"),
        ((1, 1, 1, 1), "one to three extents"),
        ((), "one to three extents"),
        (numpy.zeros(1000, "f4"), "the grid comes first, .*, but an array was given instead$"),
        ("4", "one to three extents"),
        ((1.5,), "extents of a grid are integers, .*: round up"),
    ],
)
def test_wrong_grids_are_explained(grid: Any, message: str) -> None:
    with pytest.raises(tileir.LaunchError, match=message):
        copied(*arrays(), grid=grid)


def test_the_entry_must_be_clear() -> None:
    module = tileir.parse(TWO)
    with pytest.raises(tileir.LaunchError, match="several entries: choose one of @a, @b"):
        tileir.compile(module)
    with pytest.raises(tileir.LaunchError, match="no entry @c: choose one of @a, @b"):
        tileir.compile(module, entry="c")
    with pytest.raises(tileir.LaunchError, match="no entry, so nothing to launch: put the kernel in an `entry"):
        tileir.compile(tileir.parse("cuda_tile.module @m { }"))
    assert tileir.compile(module, entry="b").name == "b"
    assert tileir.compile(module, entry="@b").name == "b"


@pytest.mark.parametrize("backend", ["auto", "cpu", "interpreter"])
def test_exact_and_fast_contradict_each_other(backend: str) -> None:
    with pytest.raises(tileir.LaunchError, match="exact and fast contradict each other: use one of them"):
        tileir.compile(tileir.parse(TWO), entry="a", backend=backend, exact=True, fast=True)


def test_unknown_backends_and_schedules_are_named() -> None:
    module = tileir.parse(TWO)
    with pytest.raises(tileir.LaunchError, match="no backend 'abacus': choose one of auto, cpu, interpreter"):
        tileir.compile(module, entry="a", backend="abacus")
    for schedule in ("sideways", "random:x", "forward:1"):
        with pytest.raises(tileir.LaunchError, match=f"no schedule '{schedule}': choose forward"):
            tileir.compile(module, entry="a").launch(1, schedule=schedule)


SHARED = """cuda_tile.module @m {
  global @counter alignment = 16 <i32: [5]> : tile<1xi32>
  entry @count(%n: tile<i32>) {
    %g = get_global @counter : tile<ptr<i32>>
    %old, %t = atomic_rmw_tko relaxed device %g, add, %n : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    return
  }
  entry @read(%p: tile<ptr<i32>>) {
    %g = get_global @counter : tile<ptr<i32>>
    %v, %t = load_ptr_tko weak %g : tile<ptr<i32>> -> tile<i32>, token
    %u = store_ptr_tko weak %p, %v : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}"""


def test_kernels_of_one_loaded_module_share_its_globals() -> None:
    module = tileir.parse(SHARED)
    count = tileir.compile(module, entry="count")
    out = numpy.zeros(1, "i4")
    count.launch(4, (10,))
    count.sibling("read").launch(1, (out,))
    assert out[0] == 45 == count.globals.array("counter").view("i4")[0]
    tileir.compile(module, entry="read").launch(1, (out,))
    assert out[0] == 5, "loaded again, with variables of its own"
    with pytest.raises(tileir.LaunchError, match="no entry @write: choose one of @count, @read"):
        count.sibling("write")


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("first", ["changed", "launched"])
def test_kernel_does_not_follow_changes_of_its_module(backend: str, first: str) -> None:
    module = tileir.parse(SHARED)
    kernel = tileir.compile(module, entry="count", backend=backend)
    if first == "launched":
        kernel.launch(1, (10,))
    body = module.regions[0].blocks[0]
    for operation in list(body):
        if operation.symbol_name == "read":
            operation.erase()
        elif operation.symbol_name == "count":
            for inner in list(operation.regions[0].blocks[0]):
                if inner.declaration.mnemonic != "return":
                    inner.drop_all_references()
                    inner.detach()
            operation.set_attribute("sym_name", string_attribute("other"))
    kernel.launch(4, (10,))
    out = numpy.zeros(1, "i4")
    kernel.sibling("read").launch(1, (out,))
    assert out[0] == (55 if first == "launched" else 45)
    assert kernel.name == "count"


def test_a_function_is_no_observer() -> None:
    with pytest.raises(
        tileir.LaunchError,
        match=r"a function cannot observe a launch: pass .* tileir.observers.ObserverCallback\(function\)",
    ):
        tileir.compile(tileir.parse(TWO), entry="a").launch(1, observer=lambda *_: None)  # type: ignore[arg-type]


def test_memory_of_a_launch_must_be_arrays() -> None:
    with pytest.raises(
        tileir.LaunchError, match="element 0 of `memory` is an int, which is not an array: pass a NumPy array"
    ):
        tileir.compile(tileir.parse(TWO), entry="a").launch(1, memory=[3])


def test_a_program_is_verified_before_it_runs() -> None:
    module = tileir.parse("cuda_tile.module @m { entry @k() { %a = constant <i32: 1> : tile<i32>  return } }")
    module.regions[0].block.first.regions[0].block.last.erase()
    with pytest.raises(tileir.VerifyError):
        tileir.compile(module)


def test_a_parameter_that_is_no_tile_cannot_be_launched() -> None:
    with pytest.raises(tileir.LaunchError, match="has type token: only pointers and scalars"):
        tileir.compile(tileir.parse("cuda_tile.module @m { entry @k(%t: token) { return } }")).launch(1, (0,))


def test_a_failing_block_ends_an_interleaved_launch() -> None:
    with pytest.raises(tileir.ExecutionError, match="load_ptr_tko"):
        copy_kernel("f32").launch(40, (numpy.zeros(2, "f4"), numpy.zeros(8, "f4"), INDEX), schedule="interleaved")


def test_missing_numpy_is_named_with_the_line_that_installs_it() -> None:
    import subprocess
    import sys

    for name in ("compile", "kernels.pointer_to", "observers.Observer", "launch", "emulate"):
        code = f"import sys; sys.modules['numpy'] = None\nimport tileir\ntry: tileir.{name}()\nexcept tileir.LaunchError as e: print(e)"
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert "running programs needs NumPy and ml_dtypes" in found.stdout
        assert "pip install 'tileir[run]'" in found.stdout


def test_a_command_that_runs_names_the_package_that_is_missing() -> None:
    """Whoever has installed tileir alone tries `tileir run` next."""
    import subprocess
    import sys
    from pathlib import Path

    file = str(Path(__file__).parents[2] / "examples" / "vector_add.mlir")
    for options in ([], ["--sanitize"], ["--backend", "cpu"], ["--dump", "loops"], ["--timeout", "60"]):
        arguments = ["run", file, *options]
        code = f"import sys; sys.modules['ml_dtypes'] = None\nfrom tileir.tools.main import run\nsys.exit(run({arguments}))"
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert (found.returncode, found.stdout) == (1, ""), options
        assert found.stderr.startswith("error: running programs needs NumPy and ml_dtypes ("), options
        assert found.stderr.endswith(")\nhelp: pip install 'tileir[run]'\n"), options


def test_a_program_as_deep_as_the_parser_takes_runs() -> None:
    depth = 95
    store = "%t = store_ptr_tko weak %p, %c : tile<ptr<i1>>, tile<i1> -> token"
    text = f"cuda_tile.module @m {{ entry @k(%c: tile<i1>, %p: tile<ptr<i1>>) {{{'if %c {' * depth}{store}{'}' * depth} return }} }}"
    out = numpy.zeros(1, bool)
    tileir.compile(tileir.parse(text)).launch(1, (True, out))
    assert out[0]


def test_exact_matrix_products_differ_from_numpy_only_in_order() -> None:
    body = """cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>, %c: tile<ptr<f32>>) {
      %zero = constant <i32: 0> : tile<i32>
      %ta = make_tensor_view %a, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
      %tc = make_tensor_view %c, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
      %va = make_partition_view %ta : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
      %vc = make_partition_view %tc : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
      %x, %t0 = load_view_tko weak %va[%zero, %zero] : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> tile<64x64xf32>, token
      %r = mmaf %x, %x, %x : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
      %t1 = store_view_tko weak %r, %vc[%zero, %zero] : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
      return } }"""
    a = numpy.random.default_rng(0).standard_normal((64, 64)).astype("f4")
    chained = numpy.zeros_like(a)
    tileir.compile(tileir.parse(body), exact=True).launch(1, (a, chained))
    wanted = a.copy()
    for k in range(64):
        product = a[:, k, None].astype("f8") * a[None, k, :]
        wanted = (product + wanted).astype("f4")
    assert numpy.abs(chained - wanted).max() <= 1e-5
    usual = numpy.zeros_like(a)
    tileir.compile(tileir.parse(body)).launch(1, (a, usual))
    assert numpy.allclose(usual, chained, atol=1e-4)


def test_progress_counts_tile_blocks_under_every_schedule() -> None:
    kernel = tileir.compile(tileir.parse(TWO), entry="a")
    for schedule in ("forward", "interleaved"):
        seen: list[tuple[int, int]] = []
        kernel.launch((5, 4), schedule=schedule, progress=lambda *counts: seen.append(counts))  # noqa: B023
        assert seen[-1] == (20, 20) and sorted(seen) == seen


SUM = """cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %a = constant <i32: 1> : tile<i32>
  %b = constant <i32: 2> : tile<i32>
  %0 = addi %a, %b : tile<i32>
  %t = store_ptr_tko weak %p, %0 : tile<ptr<i32>>, tile<i32> -> token
  return } }"""


def _set_attribute(module: tileir.Operation) -> None:
    one, two = [each for each in module.walk() if each.name == "cuda_tile.constant"]
    one.set_attribute("value", two.attributes["value"])


def _assign_attribute(module: tileir.Operation) -> None:
    one, two = [each for each in module.walk() if each.name == "cuda_tile.constant"]
    one.attributes["value"] = two.attributes["value"]


def _set_operand(module: tileir.Operation) -> None:
    addition = next(each for each in module.walk() if each.name == "cuda_tile.addi")
    addition.set_operand(0, addition.operands[1])


def _erase(module: tileir.Operation) -> None:
    next(each for each in module.walk() if each.name == "cuda_tile.store_ptr_tko").erase()


@pytest.mark.parametrize("change", [_set_attribute, _assign_attribute, _set_operand, _erase])
@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("launched_before", [False, True])
def test_a_kernel_is_a_snapshot_of_its_module(change: Any, backend: str, launched_before: bool) -> None:
    module = tileir.parse(SUM)
    kernel = tileir.compile(module, backend=backend)
    if launched_before:
        kernel.launch(1, (numpy.zeros(1, "i4"),))
    change(module)
    # The interpreter compiles the program again for a sanitized launch.
    for sanitize in (False, True):
        found = numpy.zeros(1, "i4")
        kernel.launch(1, (found,), sanitize=sanitize)
        assert found == 3
