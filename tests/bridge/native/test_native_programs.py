"""`tileir emulate PROGRAM`: compiled programs that launch through the CUDA driver."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.optional import needs

import tileir
from tileir.bridge.native.assembler import main as assemble
from tileir.bridge.native.image import NoBytecode, bytecode_at, elf_of
from tileir.bridge.native.library import NAME, build
from tileir.cpp.nvrtc import FOLDERS, LIBRARY, header_folders, roots

needs("cc")

KERNEL = """cuda_tile.module @kernels {
  entry @axpy(%a: tile<f32>, %x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %n: tile<i32>) {
    %block, %by, %bz = get_tile_block_id : tile<i32>
    %size = constant <i32: 128> : tile<i32>
    %first = muli %block, %size : tile<i32>
    %lane = iota : tile<128xi32>
    %0 = reshape %first : tile<i32> -> tile<1xi32>
    %1 = broadcast %0 : tile<1xi32> -> tile<128xi32>
    %at = addi %1, %lane : tile<128xi32>
    %2 = reshape %n : tile<i32> -> tile<1xi32>
    %3 = broadcast %2 : tile<1xi32> -> tile<128xi32>
    %inside = cmpi less_than %at, %3, signed : tile<128xi32> -> tile<128xi1>
    %4 = reshape %x : tile<ptr<f32>> -> tile<1xptr<f32>>
    %5 = broadcast %4 : tile<1xptr<f32>> -> tile<128xptr<f32>>
    %from = offset %5, %at : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
    %6 = reshape %y : tile<ptr<f32>> -> tile<1xptr<f32>>
    %7 = broadcast %6 : tile<1xptr<f32>> -> tile<128xptr<f32>>
    %to = offset %7, %at : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
    %8, %t0 = load_ptr_tko weak %from, %inside : tile<128xptr<f32>>, tile<128xi1> -> tile<128xf32>, token
    %9, %t1 = load_ptr_tko weak %to, %inside : tile<128xptr<f32>>, tile<128xi1> -> tile<128xf32>, token
    %10 = reshape %a : tile<f32> -> tile<1xf32>
    %11 = broadcast %10 : tile<1xf32> -> tile<128xf32>
    %sum = fma %11, %8, %9 : tile<128xf32>
    %t2 = store_ptr_tko weak %to, %sum, %inside token=%t1 : tile<128xptr<f32>>, tile<128xf32>, tile<128xi1> -> token
    return
  }
}"""
LAUNCHES = [pytest.param([], id="bytecode"), pytest.param(["+"], id="assembled")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The launcher and its kernels."""
    made = tmp_path_factory.mktemp("native")
    build(made, "1")
    source = Path(__file__).with_name("launcher.c")
    command = ["cc", "-o", str(made / "launcher"), str(source), f"-L{made}", f"-l:{NAME}", "-lpthread", "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    (made / NAME).unlink()
    (made / "axpy.tileirbc").write_bytes(tileir.to_bytecode(tileir.parse(KERNEL)))
    return made


def emulate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "TILEIR_EMULATE"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(tileir.__file__).parents[1]), *sys.path])
    command = [sys.executable, "-m", "tileir", "emulate", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("way", LAUNCHES)
def test_a_program_runs_unchanged(folder: Path, way: list[str]) -> None:
    found = emulate(folder, "--target", "b200", "launcher", "axpy.tileirbc", "1000", "1000", *way)
    assert found.stdout == "after the launch\nNVIDIA B200: 1 3 1999\n", found.stderr
    assert [found.stderr, found.returncode] == ["", 0]


def test_a_program_that_compiles_cpp_runs_unchanged(folder: Path) -> None:
    """NVRTC asks the driver for a table of its own, and does without."""
    needs("nvrtc")
    (library,) = [root / part / LIBRARY for root in roots() for part in FOLDERS if (root / part / LIBRARY).is_file()][
        :1
    ]
    source = Path(__file__).parents[3] / "examples" / "scale.cu"
    words = [str(source), "1000", "1000", str(library), str(header_folders()[0])]
    found = emulate(folder, "--target", "b200", "launcher", *words)
    assert found.stdout == "after the launch\nNVIDIA B200: 1 3 1999\n", found.stderr
    assert [found.stderr, found.returncode] == ["", 0]


def test_an_access_outside_of_the_allocations_fails_the_launch(folder: Path) -> None:
    found = emulate(folder, "launcher", "axpy.tileirbc", "1000", "1010")
    assert found.stdout == "cuLaunchKernelEx: CUDA_ERROR_ILLEGAL_ADDRESS\n"
    assert "right past the end of argument 2 (array float32[1000])" in found.stderr
    assert found.returncode == 3


def test_findings_change_the_status_of_a_program_that_succeeds(folder: Path) -> None:
    found = emulate(folder, "--sanitize", "launcher", "axpy.tileirbc", "1000", "1010")
    assert found.stdout == "after the launch\nNVIDIA H100 80GB HBM3: 1 3 1999\n"
    assert "sanitizer: 3 findings in @axpy, grid (8, 1, 1)" in found.stderr
    assert "tileir: 3 different findings in 1 of 1 launch, written above" in found.stderr
    assert found.returncode == 1
    found = emulate(folder, "--sanitize", "launcher", "axpy.tileirbc", "1000", "1000")
    assert [found.stderr, found.returncode] == ["tileir: nothing found in 1 launch\n", 0]


@pytest.mark.parametrize(
    ("image", "error", "message"),
    [
        (b"\x7fELF" + bytes(100), "NO_BINARY_FOR_GPU", "the program loads a cubin, which has machine code alone"),
        (b"// a text" + bytes(100), "NO_BINARY_FOR_GPU", "neither Tile IR bytecode nor a cubin"),
    ],
)
def test_an_image_without_bytecode_is_refused(folder: Path, image: bytes, error: str, message: str) -> None:
    (folder / "other").write_bytes(image)
    found = emulate(folder, "launcher", "other", "8", "8")
    assert found.stdout == f"cuModuleLoad: CUDA_ERROR_{error}\n"
    assert message in found.stderr


def test_malformed_bytecode_is_refused(folder: Path) -> None:
    data = (folder / "axpy.tileirbc").read_bytes()
    (folder / "other").write_bytes(data[:8] + b"\x0d\x63" + data[10:])
    found = emulate(folder, "launcher", "other", "8", "8")
    assert found.stdout == "cuModuleLoad: CUDA_ERROR_INVALID_IMAGE\n"
    assert "unsupported Tile version 13.99.0" in found.stderr


def test_an_image_states_its_size() -> None:
    for text in (KERNEL, "cuda_tile.module @empty {}", KERNEL.replace("@axpy", f"@{'long' * 60}")):
        data = tileir.to_bytecode(tileir.parse(text))
        for image in (data, elf_of(data)):
            memory = ctypes.create_string_buffer(image + b"\x05other data")
            assert bytecode_at(ctypes.addressof(memory)) == data
    with pytest.raises(NoBytecode):
        bytecode_at(ctypes.addressof(ctypes.create_string_buffer(100)))


def test_the_assembler_reports_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.bytecode"
    path.write_bytes(b"\x7fTileIR\x00\x0d\x01\x00\x00\x01")
    assert assemble(["--gpu-name", "sm_90", "-O3", "-o", str(tmp_path / "k.cubin"), str(path)]) == 1
    assert "failed to parse section header" in capsys.readouterr().err
    assert assemble([str(path)]) == 1
    assert not (tmp_path / "k.cubin").exists()


CUTILE = """
import ctypes, warnings
import numpy
warnings.simplefilter("ignore")
import cuda.tile as ct

driver = ctypes.CDLL("libcuda.so.1")

class Array:
    def __init__(self, values):
        self.values, pointer = values, ctypes.c_size_t()
        assert driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(values.nbytes)) == 0
        data = pointer.value, False
        self.__cuda_array_interface__ = {
            "shape": values.shape, "typestr": values.dtype.str, "data": data, "strides": None, "version": 3
        }
        ctypes.memmove(data[0], values.ctypes.data, values.nbytes)

    def read(self):
        ctypes.memmove(self.values.ctypes.data, self.__cuda_array_interface__["data"][0], self.values.nbytes)
        return self.values

@ct.kernel
def multiply(a, b, c, size: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    sums = ct.full((size, size), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(size, size))):
        sums = ct.mma(ct.load(a, (i, k), (size, size)), ct.load(b, (k, j), (size, size)), sums)
    ct.store(c, (i, j), sums)

values = numpy.arange(64 * 64, dtype="f2").reshape(64, 64) % 7
a, c = Array(values), Array(numpy.zeros((64, 64), "f4"))
for _ in range(3):
    ct.launch(0, (2, 2), multiply, (a, a, c, 32))
wide = values.astype("f4")
print(ct.__name__, (c.read() == wide @ wide).all())
"""


def test_the_launcher_of_cutile_runs_unchanged(tmp_path: Path) -> None:
    needs("cuda.tile")
    from cuda.tile import _compile

    if _compile._find_pip_tileiras() is not None:
        pytest.skip("cuTile takes the assembler of its own packages, whose cubins have no bytecode")
    (tmp_path / "script.py").write_text(CUTILE, encoding="utf-8")
    found = emulate(tmp_path, os.path.realpath(shutil.which("env") or ""), sys.executable, "script.py")
    assert found.stdout == "cuda.tile True\n", found.stderr
