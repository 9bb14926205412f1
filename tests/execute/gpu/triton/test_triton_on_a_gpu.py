"""The engine of Triton on a GPU that is there."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir
from tileir.execute.errors import HostCopyWarning
from tileir.execute.gpu.driver.devices import why_no_gpu
from tileir.execute.gpu.triton.kernel import TritonKernel
from tileir.execute.gpu.triton.toolchain import why_missing

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(why_no_gpu()), reason="needs an NVIDIA GPU"),
    pytest.mark.skipif(bool(why_missing()), reason=why_missing()),
]

EXAMPLES = Path(__file__).parents[4] / "examples"

COPY = """cuda_tile.module @m {{
  entry @copy(%a: tile<ptr<{type}>>, %b: tile<ptr<{type}>>, %m: tile<i64>, %n: tile<i64>, %s: tile<i64>, %t: tile<i64>) {{
    %va = make_tensor_view %a, shape = [%m, %n], strides = [%s, 1] : tile<i64> -> tensor_view<?x?x{type}, strides=[?,1]>
    %vb = make_tensor_view %b, shape = [%m, %n], strides = [%t, 1] : tile<i64> -> tensor_view<?x?x{type}, strides=[?,1]>
    %pa = make_partition_view %va : partition_view<tile=({tile}), padding_value = zero, tensor_view<?x?x{type}, strides=[?,1]>>
    %pb = make_partition_view %vb : partition_view<tile=({tile}), tensor_view<?x?x{type}, strides=[?,1]>>
    %x, %y, %z = get_tile_block_id : tile<i32>
    %v, %t0 = load_view_tko weak %pa[%x, %y] : partition_view<tile=({tile}), padding_value = zero, tensor_view<?x?x{type}, strides=[?,1]>>, tile<i32> -> tile<{tile}x{type}>, token
    %t1 = store_view_tko weak %v, %pb[%x, %y] : tile<{tile}x{type}>, partition_view<tile=({tile}), tensor_view<?x?x{type}, strides=[?,1]>>, tile<i32> -> token
    return
  }}
}}"""


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="needs torch with CUDA: pip install torch")


def compiled(source: str, name: str = "") -> tileir.Kernel:
    module = tileir.load(EXAMPLES / source) if source.endswith(".mlir") else tileir.parse(source)
    return tileir.compile(module, backend="triton")


def copying(type: str = "f32", tile: str = "32x64") -> tileir.Kernel:
    return compiled(COPY.format(type=type, tile=tile))


def codes(kernel: tileir.Kernel) -> int:
    """How many codes a kernel has by now."""
    prepared = kernel.prepare()
    assert isinstance(prepared, TritonKernel)
    return prepared._made.total()


@pytest.mark.parametrize("size", [1, 127, 1000, 1 << 20])
def test_vector_add(torch: Any, size: int) -> None:
    kernel = compiled("vector_add.mlir")
    a, b = torch.rand(size, device="cuda"), torch.rand(size, device="cuda")
    for _ in range(3):
        c = torch.zeros_like(a)
        kernel.launch((size + 127) // 128, (a, b, c, size))
        assert torch.equal(c, a + b)
    assert kernel.backend == "triton"


@pytest.mark.parametrize("extents", [(512, 512, 512), (200, 264, 104), (130, 70, 33)])
def test_matmul(torch: Any, extents: tuple[int, int, int]) -> None:
    """The extents of the last are no multiples of 16 bytes, so there are no descriptors of it."""
    m, n, k = extents
    kernel = compiled("matmul.mlir")
    a = torch.randint(-4, 5, (m, k), device="cuda").half()
    b = torch.randint(-4, 5, (k, n), device="cuda").half()
    for _ in range(3):
        c = torch.zeros(m, n, device="cuda")
        kernel.launch(((m + 63) // 64, (n + 63) // 64), (a, b, c, m, n, k))
        assert torch.equal(c, a.float() @ b.float())


@pytest.mark.parametrize("offset", [0, 1, 2, 4, 8])
def test_arrays_at_any_address(torch: Any, offset: int) -> None:
    kernel = copying("f16")
    memory = torch.rand(64 * 64 + 8, device="cuda").half()
    a = memory[offset : offset + 64 * 64].view(64, 64)
    for _ in range(3):
        b = torch.zeros(64, 64, device="cuda", dtype=torch.float16)
        kernel.launch((2, 1), (a, b, 64, 64, 64, 64))
        assert torch.equal(a, b)


@pytest.mark.parametrize(
    ("rows", "columns", "stride"), [(70, 100, 100), (70, 99, 104), (70, 99, 99), (1, 5, 3), (64, 64, 1000)]
)
def test_any_extents_and_strides(torch: Any, rows: int, columns: int, stride: int) -> None:
    kernel = copying()
    memory = torch.rand(rows * max(stride, columns), device="cuda")
    b = torch.zeros(rows, columns + 3, device="cuda")
    for _ in range(3):
        kernel.launch(((rows + 31) // 32, (columns + 63) // 64), (memory, b, rows, columns, stride, columns + 3))
    expected = memory.as_strided((rows, columns), (stride, 1))
    assert torch.equal(b[:, :columns], expected) and not b[:, columns:].any()


def test_kinds_of_launches_in_turn_have_their_own_codes(torch: Any) -> None:
    kernel = copying()
    memory = torch.rand(64 * 64 + 1, device="cuda")
    aligned, odd = memory[:-1].view(64, 64), memory[1:].view(64, 64)
    for _ in range(3):
        for a in (aligned, odd):
            b = torch.zeros(64, 64, device="cuda")
            kernel.launch((2, 1), (a, b, 64, 64, 64, 64))
            assert torch.equal(a, b)
    assert codes(kernel) == 2


def test_more_elements_than_31_bits_count(torch: Any) -> None:
    if torch.cuda.mem_get_info()[0] < 6 << 30:
        pytest.skip("needs 6 GiB of memory on the GPU")
    kernel = copying("i8", "16x128")
    rows, columns = (1 << 16) + 5, 1 << 15
    a = torch.empty(rows, columns, device="cuda", dtype=torch.int8)
    a.random_(-128, 127)
    b = torch.zeros_like(a)
    kernel.launch(((rows + 15) // 16, columns // 128), (a, b, rows, columns, columns, columns))
    assert torch.equal(a, b)


def test_streams_and_graphs(torch: Any) -> None:
    kernel = copying()
    a, b = torch.rand(64, 64, device="cuda"), torch.zeros(64, 64, device="cuda")
    arguments = (a, b, 64, 64, 64, 64)
    kernel.launch((2, 1), arguments)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    for given in (None, stream):
        b.zero_()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            kernel.launch((2, 1), arguments, stream=given)
        stream.synchronize()
        assert torch.equal(a, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel.launch((2, 1), arguments)
    for _ in range(2):
        b.zero_()
        a.uniform_()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(a, b)


def test_bound_launch_sees_new_contents_and_new_arrays(torch: Any) -> None:
    kernel = copying()
    a, b = torch.rand(64, 64, device="cuda"), torch.zeros(64, 64, device="cuda")
    bound = kernel.bind((2, 1), (a, b, 64, 64, 64, 64))
    for _ in range(3):
        a.uniform_()
        bound()
        assert torch.equal(a, b)
    other = torch.zeros_like(b)
    bound[1] = other
    bound()
    assert torch.equal(a, other)


def test_arrays_of_the_host_are_copied() -> None:
    kernel = copying()
    a, b = numpy.random.default_rng(0).random((50, 70), numpy.float32), numpy.zeros((50, 70), numpy.float32)
    with pytest.warns(HostCopyWarning):
        kernel.launch((2, 2), (a, b, 50, 70, 70, 70))
    assert (a == b).all()


def test_launches_are_timed_by_events(torch: Any) -> None:
    kernel = copying()
    a, b = torch.rand(4096, 4096, device="cuda"), torch.zeros(4096, 4096, device="cuda")
    timing = kernel.time((128, 64), (a, b, 4096, 4096, 4096, 4096), repeat=10)
    assert timing.clock == "CUDA events" and timing.backend == "triton" and torch.equal(a, b)


GLOBALS = """cuda_tile.module @m {
  global @total <i32: 5> : tile<1xi32>
  entry @add(%n: tile<i32>) {
    %p = get_global @total : tile<ptr<i32>>
    %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
    %w = addi %v, %n : tile<i32>
    %s = store_ptr_tko weak %p, %w token=%t : tile<ptr<i32>>, tile<i32> -> token
    return
  }
  entry @read(%to: tile<ptr<i32>>) {
    %p = get_global @total : tile<ptr<i32>>
    %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
    %s = store_ptr_tko weak %to, %v : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}"""


def test_kernels_of_a_module_share_global_variables(torch: Any) -> None:
    add = tileir.compile(tileir.parse(GLOBALS), entry="add", backend="triton")
    read = add.sibling("read")
    for number in (3, 4):
        add.launch(1, (number,))
    out = torch.zeros(1, device="cuda", dtype=torch.int32)
    read.launch(1, (out,))
    assert out.item() == 12


SPEAKING = """cuda_tile.module @m {
  entry @speak(%a: tile<ptr<f32>>, %limit: tile<i32>) {
    %x, %y, %z = get_tile_block_id : tile<i32>
    %i = iota : tile<2x4xi32>
    %f = itof %i signed : tile<2x4xi32> -> tile<2x4xf32>
    %t0 = print_tko "block %i of %p: %g\\n", %x, %a, %f : tile<i32>, tile<ptr<f32>>, tile<2x4xf32> -> token
    %c = cmpi less_than %x, %limit, signed : tile<i32> -> tile<i1>
    assert %c, "few blocks" : tile<i1>
    %t1 = print_tko "done\\n" -> token
    return
  }
}"""


@pytest.mark.parametrize("repeat", [1, 3])
def test_prints_are_those_of_the_interpreter(torch: Any, repeat: int) -> None:
    module = tileir.parse(
        SPEAKING.replace("iota : tile<2x4xi32>", "constant <i32: [[0, 1, 2, 3], [4, 5, 6, 7]]> : tile<2x4xi32>")
    )
    a = torch.zeros(4, device="cuda")
    expected: list[str] = []
    on_host = numpy.zeros(4, numpy.float32)
    tileir.compile(module, backend="interpreter").launch(5, (on_host, 5), output=expected.append)
    kernel = tileir.compile(module, backend="triton")
    for _ in range(repeat):
        heard: list[str] = []
        kernel.launch(5, (a, 5), output=heard.append)
        assert "".join(heard) == "".join(expected).replace(hex(on_host.ctypes.data), hex(a.data_ptr()))


def test_assert_that_fails_leaves_the_gpu_usable(torch: Any) -> None:
    module = tileir.parse(SPEAKING.replace("iota : tile<2x4xi32>", "constant <i32: 3> : tile<2x4xi32>"))
    kernel = tileir.compile(module, backend="triton")
    a = torch.zeros(4, device="cuda")
    heard: list[str] = []
    with pytest.raises(tileir.errors.AssertionFailedError, match="few blocks") as caught:
        kernel.launch(3, (a, 2), output=heard.append)
    assert caught.value.block == (2, 0, 0)
    assert "".join(heard).count("done") == 2
    kernel.launch(3, (a, 3), output=heard.append)
    assert bool((torch.ones(4, device="cuda") == 1).all())


def has_cutile() -> bool:
    try:
        return importlib.util.find_spec("cuda.tile") is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.skipif(not has_cutile(), reason="cuTile's kernels need cuda-tile: pip install cuda-tile")
def test_kernels_of_cutile(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from cutile_kernels import vector_add

    for _ in range(4):
        a, b = torch.rand(1024, device="cuda"), torch.rand(1024, device="cuda")
        c = torch.zeros(1024, device="cuda")
        tileir.launch(vector_add, (8,), (a, b, c), backend="triton")
        assert torch.equal(c, a + b)
