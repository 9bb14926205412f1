"""Kernels in CUDA Tile C++: loaded, launched, checked and explained at the lines of their file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.optional import needs

import tileir
from tileir.cpp import nvrtc
from tileir.cpp.demangling import source_name
from tileir.cpp.errors import CppError
from tileir.cpp.source import diagnostics_of
from tileir.ir.diagnostics import Diagnostic

SCALE = Path(__file__).parents[2] / "examples" / "scale.cu"
UNMASKED = SCALE.read_text().replace("ct::store_masked(y + at, sum, inside)", "ct::store(y + at, sum)")


@pytest.fixture
def compiler() -> None:
    needs("nvrtc")


def arrays() -> tuple[numpy.ndarray, numpy.ndarray]:
    return numpy.arange(1000, dtype="f4"), numpy.ones(1000, "f4")


def tool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tileir", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_a_kernel_gives_what_numpy_gives(backend: str) -> None:
    x, y = arrays()
    tileir.launch(tileir.load(SCALE, entry="axpy"), 8, (2.0, x, y, 1000), backend=backend)
    assert (y == 2 * x + 1).all()
    tileir.launch(tileir.load(SCALE, entry="scale<256>"), 4, (x, 0.5, 1000), backend=backend)
    assert (x == numpy.arange(1000) / 2).all()


@pytest.mark.usefixtures("compiler")
def test_only_the_kernels_that_are_named_are_kept() -> None:
    assert [kernel.symbol_name for kernel in kernels(tileir.load(SCALE))] == ["axpy"]
    both = kernels(tileir.load(SCALE, entry=["scale<64>", "scale<128>"]))
    assert len(both) == 2 and all("scale" in (kernel.symbol_name or "") for kernel in both)


def kernels(module: tileir.Module) -> list[tileir.Operation]:
    return [operation for operation in module.walk() if operation.name == "cuda_tile.entry"]


@pytest.mark.usefixtures("compiler")
def test_of_the_globals_those_in_use_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    table = "__tile__ float table[4] = {1, 2, 4, 8};\n"
    load = "ct::load_masked(table + at % 4, inside) * ct::load_masked(x + at, inside)"
    text = SCALE.read_text().replace("a * ct::load_masked(x + at, inside)", load)
    path.write_text(text.replace('extern "C"', table + 'extern "C"'))
    module = tileir.load(path, entry="axpy")
    assert [each.symbol_name for each in module.walk() if each.name == "cuda_tile.global"] == ["table"]
    x, y = arrays()
    tileir.launch(module, 8, (0.0, x, y, 1000))
    assert (y == numpy.tile([1, 2, 4, 8], 250) * x + 1).all()


@pytest.mark.usefixtures("compiler")
def test_macros_and_folders_of_headers_reach_the_compiler(tmp_path: Path) -> None:
    headers = tmp_path / "headers"
    headers.mkdir()
    (headers / "factor.h").write_text("#define FACTOR THREE\n")
    text = SCALE.read_text().replace("a * ct::load_masked(x + at, inside)", "FACTOR * ct::load_masked(x + at, inside)")
    (tmp_path / "k.cu").write_text('#include "factor.h"\n' + text)
    module = tileir.load(tmp_path / "k.cu", entry="axpy", defines={"THREE": "3.0f"}, include=[str(headers)])
    x, y = arrays()
    tileir.launch(module, 8, (0.0, x, y, 1000))
    assert (y == 3 * x + 1).all()


@pytest.mark.usefixtures("compiler")
def test_a_macro_without_a_value_is_one(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("#if FLAG != 1 || LEVEL != 2\n#error macros\n#endif\n" + SCALE.read_text())
    assert tool("check", tmp_path / "k.cu", "-D", "FLAG", "-D", "LEVEL=2").returncode == 0


@pytest.mark.usefixtures("compiler")
def test_findings_have_the_line_of_the_source(tmp_path: Path) -> None:
    path = tmp_path / "unmasked.cu"
    path.write_text(UNMASKED)
    given = ["--entry", "axpy", "--grid", "8", "--arg", "2.0", "--arg", "iota:f32:1000", "--arg", "ones:f32:1000"]
    found = tool("run", path, "--sanitize", *given, "--arg", "1000")
    line = 1 + UNMASKED[: UNMASKED.index("ct::store(")].count("\n")
    assert found.returncode == 1
    assert "out-of-bounds: store_ptr_tko writes outside of argument 2" in found.stderr
    assert f"{path}:{line}:5" in found.stderr and "ct::store(y + at, sum);" in found.stderr


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("command", ["check", "lint", "info", "cost", "explore"])
def test_commands_take_sources(command: str, tmp_path: Path) -> None:
    launch = ["--entry", "scale<256>", "--grid", "4", "--arg", "iota:f32:1000", "--arg", "0.5", "--arg", "1000"]
    options = {"cost": launch, "explore": [*launch, "--html", str(tmp_path / "page.html")]}
    found = tool(command, SCALE, *options.get(command, ["--instance", "scale<256>"]))
    assert found.returncode == 0, found.stderr


@pytest.mark.usefixtures("compiler")
def test_mistakes_are_shown_as_those_of_programs_are(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(SCALE.read_text().replace("int(ct::bid().x) * 128", "ct::bid().x * 128"))
    with pytest.raises(CppError) as caught:
        tileir.load(path)
    # One mistake is one error: those that follow from it are left out, and so are notes about NVIDIA's headers.
    (error,) = caught.value.diagnostics
    assert error.position == (str(path), 11, 33) and not error.notes
    assert error.message.startswith('no operator "+" matches these operands; operand types are: unsigned int + ')
    found = tool("check", path)
    assert found.returncode == 1 and "auto at = ct::bid().x * 128" in found.stdout and "1 error" in found.stdout


@pytest.mark.usefixtures("compiler")
def test_names_of_kernels_are_checked(tmp_path: Path) -> None:
    with pytest.raises(CppError, match="no kernel 'scal<8>': identifier \"scal\" is undefined") as caught:
        tileir.load(SCALE, entry="scal<8>")
    assert caught.value.help == "the kernels of the file are axpy, scale"
    text = SCALE.read_text()
    path = tmp_path / "templates.cu"
    path.write_text(text[: text.index('extern "C"')] + text[text.index("template <") :])
    with pytest.raises(CppError, match="has kernel templates alone") as caught:
        tileir.load(path)
    assert "'scale<...>'" in caught.value.help


@pytest.mark.usefixtures("compiler")
def test_a_file_without_tile_kernels_says_how_they_are_marked(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    threads = 'extern "C" __global__ void fill(float *x) { x[threadIdx.x] = 1; }\n'
    for text, entry, message in [
        (threads, (), "has no tile kernel"),
        (threads, "fill", "'fill' is not a tile kernel"),
        (SCALE.read_text() + threads, "fill", "'fill' is not a tile kernel"),
    ]:
        path.write_text(text)
        with pytest.raises(CppError, match=message) as caught:
            tileir.load(path, entry=entry)
        assert (
            caught.value.help == "tile kernels are marked __tile_global__: 'fill' is a kernel of threads (__global__)"
        )
    path.write_text(SCALE.read_text() + threads)
    assert [kernel.symbol_name for kernel in kernels(tileir.load(path))] == ["axpy"]
    with pytest.raises(CppError) as caught:
        tileir.load(SCALE, entry="scale")
    assert caught.value.help == "'scale' is a template: name an instance, as 'scale<...>'"


@pytest.mark.usefixtures("compiler")
def test_a_wrong_macro_is_named() -> None:
    with pytest.raises(CppError, match="NVRTC refuses its options: invalid macro definition: 3=4"):
        tileir.load(SCALE, defines={"3": "4"})
    with pytest.raises(CppError) as caught:
        tileir.load(SCALE, defines={"N": "a b("})
    assert caught.value.diagnostics[0].notes[-1].message == "macros hold in NVIDIA's headers, too: 'N'"


@pytest.mark.usefixtures("compiler")
def test_instances_have_the_names_that_people_write(tmp_path: Path) -> None:
    both = tileir.load(SCALE, entry=["scale<64>", "scale<128>"])
    x, _ = arrays()
    tileir.launch(tileir.load(SCALE, entry="scale<64>"), 16, (x, 2.0, 1000))
    assert (x == numpy.arange(1000) * 2).all()
    with pytest.raises(tileir.LaunchError, match=r"choose one of @scale<\d+>, @scale<\d+> with --entry"):
        tileir.compile(both)
    assert "ILi128E" in tileir.compile(both, entry="scale< 128 >").name
    launch = ["--entry", "scale<256>", "--grid", "4", "--arg", "iota:f32:1000", "--arg", "0.5", "--arg"]
    page = tmp_path / "page.html"
    assert tool("explore", SCALE, *launch, "1000", "--html", page).returncode == 0
    assert "<title>scale&lt;256&gt;: tileir explorer</title>" in page.read_text()
    assert tool("cost", SCALE, *launch, "1000").stdout.startswith("scale<256>, grid 4 x 1 x 1, on ")
    assert "sanitizer: 2 findings in @scale<256>, grid" in tool("run", SCALE, "--sanitize", *launch, "1008").stderr


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z5scaleILi256EEvPffi", "scale<256>"),
        ("_Z4axpyfPKfPfi", "axpy"),
        ("_ZN12_GLOBAL__N_11kILi3EEEvPf", "(anonymous namespace)::k<3>"),
        ("_ZN2ns4kernI6__halfLb1EEEvPT_i", "ns::kern<__half, true>"),
        ("axpy", "axpy"),
        ("_Zbroken", "_Zbroken"),
    ],
)
def test_symbols_are_shown_as_their_sources_have_them(symbol: str, name: str) -> None:
    assert source_name(symbol) == name


def test_a_missing_header_is_reported_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def error(header: str) -> Diagnostic:
        text = f"#include <{header}>\n"
        log = f'k.cu(1): catastrophic error: cannot open source file "{header}"\n  {text}  {" " * (len(text) - 1)}^\n'
        (found,) = diagnostics_of(log, text, "k.cu")
        return found

    monkeypatch.setattr("tileir.cpp.source.header_folders", list)
    assert error("cuda/std/array").position == ("k.cu", 1, 11)
    assert error("cuda/std/array").notes[-1].message == "it is part of CCCL: pip install nvidia-cuda-cccl"
    assert error("own.h").notes[-1].message == "folders with headers are given by -I, or include= of tileir.load"


def test_messages_of_nvrtc_are_read_without_it() -> None:
    text = "int f() {\n    return g();\n}\n"
    log = (
        'k.cu(2): error: identifier "g" is undefined\n      return g();\n             ^\n\n'
        "other.h(7): warning #177-D: variable was declared but never referenced\n  int x;\n      ^\n"
    )
    error, warning = diagnostics_of(log, text, "k.cu")
    assert (error.severity, error.position, error.message) == ("error", ("k.cu", 2, 12), 'identifier "g" is undefined')
    assert (warning.severity, warning.position[:2]) == ("warning", ("other.h", 7))


@pytest.mark.parametrize("minor", [2, 3])
def test_an_nvrtc_that_is_too_old_is_named(minor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        """What is called of one; all of them have the function for Tile IR."""

        nvrtcGetErrorString = nvrtcGetTileIR = staticmethod(lambda *given: 0)

        @staticmethod
        def nvrtcVersion(major: Any, given: Any) -> None:
            major._obj.value, given._obj.value = 13, minor

    monkeypatch.setattr(nvrtc.ctypes, "CDLL", lambda name: Library)
    load = nvrtc._library.__wrapped__
    if minor >= 3:
        assert load().nvrtcVersion is Library.nvrtcVersion
        return
    with pytest.raises(CppError, match=r"NVRTC 13\.2 cannot compile tile kernels: they need 13\.3 or newer") as caught:
        load()
    assert caught.value.help == "pip install 'tileir[cpp]'"


def test_without_nvrtc_the_message_says_what_to_install() -> None:
    source = str(Path(tileir.__file__).parents[1])
    code = (
        f"import sys; sys.path[:] = [{source!r}, *[p for p in sys.path if 'site-packages' not in p]]\n"
        "import tileir.cpp.nvrtc as n; n.LIBRARY = 'libnvrtc-none.so'\n"
        f"import tileir; tileir.load({str(SCALE)!r})"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "C++ kernels need NVRTC" in found.stderr and "pip install 'tileir[cpp]'" in found.stderr


# --- commands that do not read programs as the others do ---


STATED = """// tileir: --entry 'scale<128>' --grid 4 --arg iota:f32:100 --arg 0.5 --arg LENGTH
#include <cuda_tile.h>
""" + SCALE.read_text().partition("#include <cuda_tile.h>")[2]


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize(("length", "outcome"), [(100, "passed"), (200, "failed")])
def test_a_sweep_runs_the_stated_launches_of_a_source(length: int, outcome: str, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(STATED.replace("LENGTH", str(length)))
    (tmp_path / "threads.cu").write_text("__global__ void k(float *x) { *x = 1; }")
    results = tmp_path / "results.sqlite"
    plan = tileir.sweeps.JudgePlan(backends=("interpreter",))
    with tileir.sweep([tmp_path], results, plan=plan).results() as found:
        (row,) = found.rows()
    (run,) = [step for step in row.verdict.steps if step.name == "run interpreter"]
    assert (row.kind, run.outcome) == ("cpp", outcome)
    if outcome == "failed":
        assert "past the end of argument 0" in run.message
    shown = tool("report", results, "--show", str(tmp_path / "k.cu")).stdout
    assert "a C++ source" in shown and "ct::load_masked(x + at, at < n)" in shown


@pytest.mark.usefixtures("compiler")
def test_the_program_of_a_source_is_reduced(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(STATED.replace("LENGTH", "200"))
    test = ("--backend", "interpreter", "--message", "past the end of argument 0")
    found = tool("reduce", path, "--entry", "scale<128>", *test)
    assert found.returncode == 0 and "entry @" in found.stdout
    assert found.stdout.startswith("// tileir: ") and len(found.stdout.splitlines()) < 12


@pytest.mark.usefixtures("compiler")
def test_bytes_with_the_name_of_a_source_are_one() -> None:
    module = tileir.load(SCALE.read_bytes(), "scale.cu", entry="axpy")
    assert [kernel.symbol_name for kernel in kernels(module)] == ["axpy"]


@pytest.mark.parametrize(
    ("command", "instead"),
    [
        (("dis",), "'tileir opt {}' prints"),
        (("format",), "'tileir opt {}' prints"),
        (("objdump",), "'tileir as {} -o"),
        (("emulate",), "'tileir run {}' runs"),
        (("judge", SCALE), "'tileir sweep {}' judges"),
    ],
)
def test_commands_that_take_no_source_name_one_that_does(command: tuple[str | Path, ...], instead: str) -> None:
    found = tool(*command, SCALE)
    assert found.returncode != 0
    assert f"'{SCALE}' is a C++ source" in found.stderr and instead.format(SCALE) in found.stderr
