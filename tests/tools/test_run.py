"""`tileir run`: arguments from the command line, outputs to files, summaries, mistakes."""

from __future__ import annotations

import itertools
import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy
import pytest
from tests.execute.test_multimem import LOAD, STORE, program
from tests.messages import compact

import tileir
from tileir import terminal
from tileir.execute.arguments.argument_text import argument
from tileir.execute.arithmetic import rounding
from tileir.execute.arithmetic.conversion import float_to_float
from tileir.execute.array_summary import summary
from tileir.ir.types import F64, FLOAT_TYPES
from tileir.tools.bytecode import run as run_tool
from tileir.tools.cutile import cost as cost_tool

EXAMPLES = Path(__file__).parents[2] / "examples"
VECTOR_ADD = str(EXAMPLES / "vector_add.mlir")
PRINTING = """cuda_tile.module @m {
  entry @a(%n: tile<i32>) { %t = print_tko "n is %d\\0A", %n : tile<i32> -> token  return }
  entry @b(%n: tile<i32>) { %zero = constant <i32: 0> : tile<i32>
    %c = cmpi equal %n, %zero, signed : tile<i32> -> tile<i1>
    assert %c, "n is not zero" : tile<i1>
    return }
}"""


def tool(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = run_tool.run(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_run_adds_vectors_and_tells_about_the_result(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    a = numpy.arange(200, dtype="f4")
    numpy.save(tmp_path / "a.npy", a)
    status, out, err = tool(
        capsys, VECTOR_ADD, "--grid", "2", "--arg", str(tmp_path / "a.npy"), "--arg", "ones:f32:200",
        "--arg=zeros:f32:200", "--arg", "200", "-o", f"2={tmp_path / 'c.npy'}",
    )  # fmt: skip
    assert (status, err) == (0, "")
    assert out == "argument 2: float32[200]  min 1, max 200, mean 100.5  [1, 2, 3, 4, 5, 6, ...]\n"
    assert numpy.load(tmp_path / "c.npy").tolist() == (a + 1).tolist()


def test_a_multicast_pointer_takes_the_array_of_each_device(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    words = ("--arg", "iota:i32:10x8+ones:i32:10x8+zeros:i32:10x8", "--arg", "zeros:i32:10x8", "--arg", "10")
    path.write_text(program("i32", LOAD.replace("KIND", "add")))
    assert tool(capsys, str(path), "--grid", "3", *words) == (
        *(0, "argument 1: int32[10, 8]  min 1, max 80, mean 40.5  [1, 2, 3, 4, 5, 6, ...]\n", ""),
    )
    stated = " ".join(words).replace("--arg zeros:i32:10x8", "--arg ones:i32:10x8")
    path.write_text(f"// tileir: --grid 3 {stated}\n{program('i32', STORE)}")
    status, out, err = tool(capsys, str(path))
    line = "int32[10, 8]  min 1, max 1, mean 1  [1, 1, 1, 1, 1, 1, ...]\n"
    assert (status, err) == (0, "") and out == "".join([f"argument 0 on device {n}: {line}" for n in range(3)])
    status, out, err = tool(capsys, str(path), "--json")
    assert [(each["argument"], each["device"]) for each in json.loads(out)["arrays"]] == [(0, 0), (0, 1), (0, 2)]
    assert cost_tool.run([str(path)]) == 0


def test_arguments_from_text() -> None:
    assert argument("42", None) == 42 and argument("-0x10", None) == -16 and argument("2.5", None) == 2.5
    assert argument("true", None) is True
    zeros = argument("zeros:bf16:2x3", None)
    assert zeros.shape == (2, 3) and zeros.dtype == ml_dtypes.bfloat16 and not zeros.any()
    assert argument("iota:i16:2x2", None).tolist() == [[0, 1], [2, 3]]
    assert argument("ones:i1:2", None).tolist() == [True, True]
    random = argument("rand:f32:100:7", None)
    assert random.min() >= 0 and random.max() < 1
    assert random.tolist() == argument("rand:f32:100:7", None).tolist() != argument("rand:f32:100:8", None).tolist()
    assert argument("rand:i32:100", None).max() < 100


def test_arrays_of_types_numpy_lacks_survive_a_file(tmp_path: Path) -> None:
    module = tileir.parse("cuda_tile.module @m { entry @k(%p: tile<ptr<bf16>>) { return } }")
    type = module.regions[0].block.first.regions[0].block.arguments[0].type
    array = numpy.array([1.5, -2], ml_dtypes.bfloat16)
    numpy.save(tmp_path / "x.npy", array)
    loaded = argument(str(tmp_path / "x.npy"), type)
    assert loaded.dtype == array.dtype and loaded.tolist() == array.tolist()


@pytest.mark.parametrize("name", FLOAT_TYPES)
def test_arrays_of_every_float_type_hold_the_numbers_asked_for(name: str) -> None:
    wide = float_to_float(FLOAT_TYPES[name], F64)
    assert wide(argument(f"ones:{name}:2", None)).tolist() == [1, 1]
    if name != "f8E8M0FNU":
        assert wide(argument(f"iota:{name}:4", None)).tolist() == [0, 1, 2, 3]
    random = wide(argument(f"rand:{name}:64", None))
    assert 0 <= random.min() < random.max() <= 1


@pytest.mark.parametrize("name", [name for name in FLOAT_TYPES if name != "f4E2M1FN"])
def test_what_out_writes_arg_reads(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(f"""cuda_tile.module @m {{ entry @k(%p: tile<ptr<{name}>>, %q: tile<ptr<{name}>>) {{
      %v, %t = load_ptr_tko weak %p : tile<ptr<{name}>> -> tile<{name}>, token
      %u = store_ptr_tko weak %q, %v : tile<ptr<{name}>>, tile<{name}> -> token
      return }} }}""")
    file = str(tmp_path / "a.npy")
    first = tool(capsys, str(path), "--arg", f"rand:{name}:3", "--arg", f"zeros:{name}:3", "-o", f"1={file}")
    again = tool(capsys, str(path), "--arg", file, "--arg", f"zeros:{name}:3")
    assert first == again and first[0] == 0


def test_summary_counts_what_is_not_a_number() -> None:
    assert summary(numpy.array([1, numpy.nan, 3], "f4")) == "float32[3]  min 1, max 3, mean 2  1 NaN  [1, nan, 3]"
    assert summary(numpy.array([numpy.nan, numpy.nan])) == "float64[2]  2 NaNs  [nan, nan]"
    assert summary(numpy.zeros((0,), "i4")) == "int32[0]  []"
    assert summary(numpy.array([True, False])) == "bool[2]  min 0, max 1, mean 0.5  [True, False]"


def test_what_a_kernel_prints_comes_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(PRINTING)
    assert tool(capsys, str(path), "--entry", "a", "--arg", "5", "--grid", "2") == (0, "n is 5\nn is 5\n", "")


def test_a_failing_kernel_is_a_diagnostic_at_its_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(PRINTING)
    status, out, err = tool(capsys, str(path), "--entry=b", "--arg", "5", "--grid", "3,2")
    assert (status, out) == (1, "")
    assert compact(err).startswith(f"{path}:5:5: error: 'cuda_tile.assert' op failed: n is not zero\n")
    assert "note: in tile block (0, 0, 0)" in err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--grid", "a"], 2, "'a' is no grid\nhelp: give one to three numbers"),
        (["--grid", "0"], 1, "the grid has extent 0 along x"),
        (["--arg", "1"], 1, "takes 4 arguments"),
        (["--arg", "zeros:f99:4"], 2, "'f99' in 'zeros:f99:4' is no element type"),
        (
            ["--arg", "zeros:f32"],
            2,
            "'zeros:f32' is not an array\nhelp: give a type and extents, as in zeros:f32:64x64",
        ),
        (["--arg", "nonsense"], 2, "'nonsense' is no argument"),
        (["--arg", "missing.npy"], 2, "cannot read 'missing.npy'"),
        (["--arg", "zeros:f32:4", "-o", "c.npy"], 2, "'-o c.npy' makes no sense"),
        (["--arg", "4", "-o", "0=c.npy"], 2, "argument 0 is not an array of this launch, it has none"),
        (
            ["--arg", "4", "--arg", "ones:i8:2", "-o", "2=c.npy"],
            2,
            "argument 2 is not an array of this launch, its arrays are 1",
        ),
        (
            ["--arg", "zeros:f32:99999999999999"],
            2,
            "'zeros:f32:99999999999999' does not fit in memory\nhelp: give smaller",
        ),
        (["--arg", "rand:i8:99999999999x99999999999"], 2, "does not fit in memory\nhelp: give smaller extents"),
        (["--schedule", "sideways"], 2, "there is no schedule 'sideways'"),
        (["--entry", "other"], 2, "the module has no entry @other\nhelp: choose one of @vector_add"),
        (["--backend", "abacus"], 2, "there is no backend 'abacus'"),
    ],
)
def test_mistakes_are_told_with_the_right_status(
    capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, message: str
) -> None:
    found, out, err = tool(capsys, VECTOR_ADD, *arguments)
    assert (found, out) == (status, "")
    assert message in err


# --- the CPU backend ---

ADDING = [
    "--grid",
    "8",
    "--arg",
    "rand:f32:1000:1",
    "--arg",
    "rand:f32:1000:2",
    "--arg",
    "zeros:f32:1000",
    "--arg",
    "1000",
]


@pytest.mark.parametrize("more", [[], ["--threads", "2"], ["--fast"], ["--exact"], ["--cpu", "native", "--threads=1"]])
def test_the_cpu_engine_gives_what_the_interpreter_gives(capsys: pytest.CaptureFixture[str], more: list[str]) -> None:
    expected = tool(capsys, VECTOR_ADD, *ADDING)
    assert expected[0] == 0 and "argument 2: float32[1000]" in expected[1]
    assert tool(capsys, VECTOR_ADD, *ADDING, "--backend", "cpu", *more) == expected


def test_sanitize_reports_the_same_from_compiled_code(capsys: pytest.CaptureFixture[str]) -> None:
    short = [text if text != "rand:f32:1000:2" else "rand:f32:900:2" for text in ADDING]
    status, out, err = tool(capsys, VECTOR_ADD, *short, "--sanitize", "--backend", "cpu")
    assert status == 1 and "argument 2: float32[1000]" in out
    assert "out-of-bounds: load_ptr_tko reads outside of argument 1 (array float32[900])" in err
    address = re.compile("0x[0-9a-f]+")
    expected = tool(capsys, VECTOR_ADD, *short, "--sanitize")
    assert (status, out, address.sub("", err)) == (*expected[:2], address.sub("", expected[2]))


def test_dump_prints_a_stage_and_needs_no_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = tool(capsys, VECTOR_ADD, "--dump", "loops", "--cpu", "x86-64-v3")
    assert (status, err) == (0, "")
    assert out.startswith(
        "kernel @vector_add for x86-64-v3, vectors of 32 bytes, default\nscratch memory of a thread: "
    )
    assert tool(capsys, VECTOR_ADD, *ADDING, "--dump=loops", "--cpu=x86-64-v3", "--backend=cpu") == (0, out, "")


def test_assembly_for_a_machine_that_cannot_run_it(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = tool(capsys, VECTOR_ADD, "--dump", "asm", "--cpu", "neoverse-v1")
    assert (status, err) == (0, "")
    assert re.search(r"fadd\s+v\d+\.4s", out)
    status, out, err = tool(capsys, VECTOR_ADD, *ADDING, "--backend", "cpu", "--cpu", "neoverse-v1")
    if "aarch64" not in platform.machine() and "arm64" not in platform.machine():
        assert (status, out) == (1, "") and "code for the CPU 'neoverse-v1' can be shown here, but not run" in err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            ["--threads", "2", "--backend", "interpreter"],
            2,
            "--threads is for the CPU backend\nhelp: add --backend cpu",
        ),
        (["--fast", "--backend", "interpreter"], 2, "--fast is for the CPU backend\nhelp: add --backend cpu"),
        (["--cpu", "haswell", "--backend", "interpreter"], 2, "--cpu is for the CPU backend\nhelp: add --backend cpu"),
        (["--dump", "asm", "--backend", "interpreter"], 2, "--dump is for the CPU backend\nhelp: add --backend cpu"),
        (["--backend", "cpu", "--trace", "0"], 2, "--trace is for the interpreter\nhelp: add --backend interpreter"),
        (
            ["--backend", "cpu", "--sanitize=all"],
            2,
            "--sanitize=all is for the interpreter\nhelp: add --backend interpreter",
        ),
        (["--sanitize=some"], 2, "'some' is not a value of '--sanitize'\nhelp: use errors or all"),
        (["--backend", "cpu", "--watch-nan"], 2, "--watch-nan is for the interpreter\nhelp: add --backend interpreter"),
        (
            ["--backend", "cpu", "--schedule", "reverse"],
            2,
            "--schedule is for the interpreter\nhelp: add --backend interpreter",
        ),
        (["--backend", "cpu", "--exact", "--fast"], 2, "--exact and --fast contradict each other"),
        (["--backend", "cpu", "--threads", "none"], 2, "'--threads none' is not valid\nhelp: give a number from 1 on"),
        (["--backend", "cpu", "--threads", "0"], 2, "'--threads 0' is not valid\nhelp: give a number from 1 on"),
        (["--dump", "asm", "-o", "0=c.npy"], 2, "--output is about a launch, and --dump runs nothing"),
        (
            ["--dump", "wasm"],
            2,
            "there is no stage 'wasm' to dump\nhelp: choose one of tiles, loops, llvm, llvm-opt, asm",
        ),
        (
            ["--dump", "asm", "--cpu", "zx81"],
            2,
            "there is no CPU 'zx81' to make code for\nhelp: choose one of native, ",
        ),
    ],
)
def test_what_makes_no_sense_together_is_told(
    capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, message: str
) -> None:
    found, out, err = tool(capsys, VECTOR_ADD, *arguments)
    assert (found, out) == (status, "")
    assert message in err


def test_the_command_is_known_and_other_commands_do_without_numpy() -> None:
    shown = subprocess.run(["tileir", "run", "--help"], capture_output=True, text=True, check=True, env=_environment())
    assert "--grid X[,Y[,Z]]" in shown.stdout
    code = "import sys, tileir.tools.main as m; m.run(['check', sys.argv[1]]); print('numpy' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code, VECTOR_ADD], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


RACY = [str(EXAMPLES / "racy.mlir"), "--grid", "4", "--arg", "iota:i32:512", "--arg", "zeros:i32:1", "--arg", "512"]


def test_sanitize_reports_a_race_after_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = tool(capsys, *RACY, "--sanitize")
    assert status == 1
    assert out == "argument 1: int32[1]  min 130816, max 130816, mean 130816  [130816]\n"
    assert err.startswith("sanitizer: 2 findings in @racy, grid (4, 1, 1)\n\nrace: ")
    assert "racy.mlir:29:24, tile block (1, 0, 0)\n" in err


def test_an_empty_array_counts_as_unwritten(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--arg", "ones:f32:128", "--arg", "zeros:f32:128", "--arg", "zeros:f32:128", "--arg", "128"]
    assert tool(capsys, VECTOR_ADD, *arguments, "--sanitize", "-q") == (0, "", "")
    arguments[3] = "empty:f32:128"
    status, _, err = tool(capsys, VECTOR_ADD, *arguments, "--sanitize", "-q")
    assert status == 1
    assert "uninitialized: load_ptr_tko reads uninitialized memory" in err
    assert "nothing was stored to argument 1 (array float32[128]) at [0] before" in err


def test_trace_prints_the_values_of_one_block(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = tool(capsys, *RACY, "--trace", "2", "-q")
    assert (status, err) == (0, "")
    assert out.startswith("tile block (2, 0, 0)\n  %block = get_tile_block_id  tile<i32>  2\n")
    assert "  %x = load_ptr_tko  tile<128xi32>  min 256, max 383, mean 319.5  [256, 257," in out
    status, out, err = tool(capsys, *RACY, "--trace", "4")
    assert (status, out) == (
        2,
        "",
    ) and "'--trace 4' is no tile block of the grid\nhelp: give one from 0,0,0 to 3,0,0" in err
    for wrong in ("a", "0,0,0,0", "-1"):
        status, out, err = tool(capsys, *RACY, "--trace", wrong)
        assert (status, out) == (2, "") and f"'--trace {wrong}' is no tile block of the grid" in err


def test_sanitize_all_tells_what_is_never_written(capsys: pytest.CaptureFixture[str]) -> None:
    def launch(grid: int, count: int, option: str) -> tuple[int, str]:
        values = ["rand:f32:1000", "rand:f32:1000", "zeros:f32:1000", str(count)]
        arguments = ["--grid", str(grid), *[part for value in values for part in ("--arg", value)], option, "-q"]
        status, _, err = tool(capsys, VECTOR_ADD, *arguments)
        return status, err

    assert launch(8, 1000, "--sanitize=all") == (0, "")
    assert launch(7, 1000, "--sanitize") == launch(7, 1000, "--sanitize=errors") == (0, "")
    status, err = launch(7, 1000, "--sanitize=all")
    assert status == 1
    assert err.startswith(
        "sanitizer: 1 finding in @vector_add, grid (7, 1, 1)\n\nunwritten: 104 of the 1000 elements of "
    )
    assert "  [896..999]: tile block (7, 0, 0) would write it, and the grid is (7, 1, 1)\n" in err
    assert err.endswith("  = help: launch a grid of (8, 1, 1): round up, as in -(-n // tile)\n")
    status, err = launch(8, 900, "--sanitize=all")
    assert status == 1 and "  [900..999]: tile block (7, 0, 0) has it in the tile and leaves it out\n" in err


def test_a_file_that_is_no_array_is_not_said_to_be_pickled(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """NumPy advises to load whatever it does not know 'unsafely'."""
    path = tmp_path / "a.npy"
    for write, reason in (
        (lambda: path.write_text("1, 2, 3\n"), "it does not begin as numpy.save begins a file"),
        (lambda: numpy.save(path, numpy.array([{}], object)), "it holds Python objects, not numbers"),
        (lambda: path.write_bytes(b""), "No data left in file"),
    ):
        write()
        status, _, err = tool(capsys, VECTOR_ADD, "--arg", str(path))
        assert status == 2 and err.endswith(f"which should be an array of NumPy's: {reason}\n")


def test_the_summary_of_a_signalling_nan_brings_no_warning(
    capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    signalling = numpy.array([0x7FA00000, 0x3F800000], numpy.uint32).view(numpy.float32)
    assert summary(signalling) == "float32[2]  min 1, max 1, mean 1  1 NaN  [nan, 1]"
    assert summary(signalling[:1]) == "float32[1]  1 NaN  [nan]"
    rounding.single_table.cache_clear()
    rounding.single_table(FLOAT_TYPES["f16"])
    assert not recwarn.list


def test_a_clean_run_says_what_was_not_looked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """A grid that is too small, and a race on the CPU backend, pass: silence would be taken for approval."""
    values = ["ones:f32:1000", "ones:f32:1000", "zeros:f32:1000", "1000"]
    arguments = [VECTOR_ADD, "--grid", "7", *[part for value in values for part in ("--arg", value)]]
    status, _, err = tool(capsys, *arguments, "--sanitize")
    where = "sanitizer: nothing found in @vector_add, grid (7, 1, 1)"
    assert (status, err) == (0, f"{where}; --sanitize=all looks also for output that is never written\n")
    arguments[2] = "8"
    where = where.replace("7", "8")
    assert tool(capsys, *arguments, "--sanitize=all")[::2] == (0, f"{where}\n")
    status, _, err = tool(capsys, *arguments, "--watch-nan")
    assert (status, err) == (0, "watch: no NaN and no infinity is made in @vector_add, grid (8, 1, 1)\n")
    status, _, err = tool(capsys, *RACY, "--sanitize", "--backend", "cpu")
    found = (
        "sanitizer: nothing found in @racy, grid (4, 1, 1); --backend cpu does not look for races and missing tokens\n"
    )
    assert (status, err) == (0, found)


def test_watch_nan_names_the_operation(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    numpy.save(tmp_path / "a.npy", numpy.full(128, numpy.inf, "f4"))
    numpy.save(tmp_path / "b.npy", numpy.full(128, -numpy.inf, "f4"))
    arguments = ["--arg", str(tmp_path / "a.npy"), "--arg", str(tmp_path / "b.npy"), "--arg", "zeros:f32:128"]
    status, _, err = tool(capsys, VECTOR_ADD, *arguments, "--arg", "128", "--watch-nan")
    assert status == 1
    assert "nan: addf makes a NaN" in err and "addf of inf, -inf is nan" in err
    assert err.count("note: load_ptr_tko reads an infinity from memory") == 2
    assert "infinity: " not in err


def test_watch_nan_tells_padding_from_what_is_made(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    softmax = str(Path(VECTOR_ADD).with_name("softmax.mlir"))
    values = ["rand:f32:4x1000", "zeros:f32:4x1000", "4", "1000"]
    arguments = ["--grid", "4", *[part for value in values for part in ("--arg", value)], "--watch-nan"]
    status, _, err = tool(capsys, softmax, *arguments)
    assert status == 0
    assert err.startswith("watch: no NaN and no infinity is made in @softmax, grid (4, 1, 1)\n\nnote: ")
    assert "note: load_view_tko pads with an infinity" in err
    assert "  96 elements in all: given to the program, not made by it\n  seen 4 times\n" in err
    # By what is zero for the largest element of a row.
    text = Path(softmax).read_text(encoding="utf-8")
    wrong = tmp_path / "softmax.mlir"
    wrong.write_text(text.replace("divf %powers, %totals", "divf %powers, %shifted"), encoding="utf-8")
    status, _, err = tool(capsys, str(wrong), *arguments)
    assert status == 1
    assert err.startswith("watch: 1 finding in @softmax, grid (4, 1, 1)\n\ninfinity: divf makes an infinity\n  --> ")
    assert "softmax.mlir:31:15, tile block (0, 0, 0), element [0, 530]\n" in err
    assert "  divf of 1, 0 is inf\n  1 of the 1024 elements is like this\n  seen 4 times\n" in err


def emulate_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal, and a clock that goes on by half a second whenever it is read."""
    times = itertools.count(1, 0.5)
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(times))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)


def test_a_bar_shows_how_far_a_long_launch_is_and_goes_away(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    emulate_a_terminal(monkeypatch)
    status, _, err = tool(capsys, *RACY, "--backend", "interpreter")
    assert status == 0
    # Nothing in the first second; then after each tile block, with the time the others will take.
    assert err == (
        "\r\x1b[K[#######.......................] 1 of 4 tile blocks, 4 s left"
        "\r\x1b[K[###############...............] 2 of 4 tile blocks, 2 s left"
        "\r\x1b[K[######################........] 3 of 4 tile blocks, 1 s left"
        "\r\x1b[K"
    )


def test_the_bar_goes_away_before_an_error_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    emulate_a_terminal(monkeypatch)
    arguments = [*RACY[:4], "iota:i32:384", *RACY[5:], "--backend", "interpreter", "--color", "never"]
    status, _, err = tool(capsys, *arguments)
    assert status == 1
    assert "3 of 4 tile blocks" in err and "\r\x1b[Kerror: " in err


def test_no_bar_is_shown_where_the_output_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert tool(capsys, *RACY)[2] == ""


def test_what_is_shown_of_a_program_is_not_obeyed_by_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(
        'cuda_tile.module @m { entry @"k\\1B[31m"(%p: tile<ptr<f32>>) {\n'
        "  %c = constant <f32: 1.0> : tile<f32>\n"
        "  %t = store_ptr_tko weak %p, %c : tile<ptr<f32>>, tile<f32> -> token // \x1b[31m\n  return } }\n"
    )
    for options in (["--trace", "0"], ["--dump", "loops"], ["--dump", "llvm"], ["--sanitize=all"], ["--watch-nan"]):
        _, out, err = tool(capsys, str(path), "--arg", "zeros:f32:4", *options)
        assert "\x1b" not in out + err, options
