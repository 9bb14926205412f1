"""Programs run side by side: whether results differ, in which element, and at which operation that begins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tileir
from tileir.tools.programs import diff as diff_tool

EXAMPLES = Path(__file__).parents[3] / "examples"
ATTENTION = (EXAMPLES / "attention.mlir").read_text()
VECTOR_ADD = (EXAMPLES / "vector_add.mlir").read_text()


def both(before: str, old: str = "", new: str = "", **options: object) -> tileir.analysis.SemanticDifference:
    after = before.replace(old, new) if old else before
    assert not old or after != before
    programs = tileir.diff(tileir.parse(before), tileir.parse(after))
    return programs.semantic(backend="interpreter", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["histogram", "layer_norm", "matmul", "softmax", "vector_add"])
def test_optimized_programs_compute_the_same(name: str) -> None:
    module = tileir.load(EXAMPLES / f"{name}.mlir")
    optimized = tileir.optimize(tileir.load(EXAMPLES / f"{name}.mlir"))
    found = tileir.diff(module, optimized).semantic(backend="interpreter", runs=2)
    assert not found and found.text() == f"@{name}: the same results in 2 runs"


def test_the_first_operation_with_another_value_is_found() -> None:
    found = both(ATTENTION, "%shifted = subf", "%shifted = addf")
    (kernel,) = found.kernels
    assert found and kernel.runs == 1 and [array.argument for array in kernel.arrays] == [3]
    assert kernel.first is not None
    assert (kernel.first.left.name, kernel.first.right.name) == ("cuda_tile.subf", "cuda_tile.addf")
    assert (kernel.first.block, kernel.first.time, kernel.first.difference.index) == ((0, 0, 0), 0, (0, 0))
    lines = found.text().split("\n")
    assert lines[0] == "@attention: different results in run 1"
    assert lines[3:6] == [
        "  the first value that differs is %shifted in tile block (0, 0, 0)",
        "    - %shifted = subf %score, %highers  : tile<64x64xf32>",
        "    + %shifted = addf %score, %highers  : tile<64x64xf32>",
    ]
    answer = json.loads(json.dumps(found.to_dict()))
    assert answer["same"] is False and answer["kernels"][0]["first"]["operation"] == "cuda_tile.subf"


def test_a_later_tile_block_and_a_later_iteration_are_named() -> None:
    """Only keys of the last block of 64 are past the end, so the mask is other from there on."""
    words = tileir.kernels.LaunchDescription(
        (1,), ["signed:f16:8192", "signed:f16:8192:1", "signed:f16:8192:2", "zeros:f32:8192", "100", "0.5"]
    )
    found = both(ATTENTION, "cmpi less_than %index", "cmpi less_than_or_equal %index", launch=words)
    first = found.kernels[0].first
    assert first is not None and first.time == 1 and first.left.results[0] is first.left.result
    assert (first.before, first.after, first.difference.index) == ("False", "True", (0, 36))
    words = tileir.kernels.LaunchDescription((2,), ["signed:f32:200", "signed:f32:200:1", "zeros:f32:200", "199"])
    found = both(VECTOR_ADD, "cmpi less_than %index", "cmpi less_than_or_equal %index", launch=words)
    first = found.kernels[0].first
    assert first is not None and first.block == (1, 0, 0)
    (array,) = found.kernels[0].arrays
    assert array.text().startswith("argument 2 differs in 1 of 200 elements, first at [199]: 0 -> ")


def test_an_error_in_one_of_them_is_a_difference() -> None:
    found = both(VECTOR_ADD, "cmpi less_than %index", "cmpi less_than_or_equal %index")
    (kernel,) = found.kernels
    assert kernel and kernel.failures[0] == "" and "right past the end of argument" in kernel.failures[1]
    assert "\n  the second program fails: " in found.text() and kernel.first is not None


def test_errors_that_both_have_are_none() -> None:
    words = tileir.kernels.LaunchDescription((1,), ["zeros:f32:8", "zeros:f32:8", "zeros:f32:8", "100"])
    found = both(VECTOR_ADD, launch=words, runs=1)
    assert not found and "both end in the same error: accesses 4 bytes" in found.text()


def test_what_no_common_value_explains_is_said() -> None:
    found = both(VECTOR_ADD, "store_ptr_tko weak %c_ptr, %sum", "store_ptr_tko weak %c_ptr, %y")
    assert (
        found and found.kernels[0].first is None and "every value that both programs compute is equal" in found.text()
    )


def test_kernels_with_other_parameters_are_not_compared() -> None:
    found = both(VECTOR_ADD, "f32", "f16")
    assert not found and "@vector_add is not compared: its parameters are (tile<ptr<f32>>" in found.text()


def test_a_kernel_is_chosen_by_name() -> None:
    two = "cuda_tile.module @m {\n  entry @a() { return }\n  entry @b() { return }\n}"
    assert [kernel.name for kernel in both(two).kernels] == ["a", "b"]
    assert [kernel.name for kernel in both(two, entry="@b").kernels] == ["b"]
    with pytest.raises(tileir.LaunchError, match="no kernel @c in common: they have @a, @b"):
        both(two, entry="c")
    with pytest.raises(tileir.LaunchError, match="in common: the first has @a, @b, the second none"):
        both(two, two, "cuda_tile.module @m {}")
    with pytest.raises(tileir.OptionError, match="runs is 0"):
        both(two, runs=0)


def test_what_is_printed_counts() -> None:
    text = 'cuda_tile.module @m { entry @k() { %t = print_tko "one" -> token  return } }'
    found = both(text, "one", "two")
    assert found and "the programs print different text" in found.text()


# --- the command ---


def tool(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = diff_tool.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_command_compares_results(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    add, swapped, other = [tmp_path / f"{name}.mlir" for name in ("add", "swapped", "other")]
    stated = "// tileir: --grid 2 --arg signed:f32:200 --arg signed:f32:200:1 --arg zeros:f32:200 --arg 200\n"
    add.write_text(stated + VECTOR_ADD)
    swapped.write_text(VECTOR_ADD.replace("addf %x, %y", "addf %y, %x"))
    other.write_text(VECTOR_ADD.replace("addf", "subf"))
    same = ["--semantic", "--backend", "interpreter", "--runs", "2"]
    assert tool(capsys, add, swapped, *same) == (0, "@vector_add: the same results in 2 runs\n", "")
    status, out, _ = tool(capsys, add, other, *same)
    assert status == 1 and f"  launched with {stated[len('// tileir: ') : -1]}\n" in out
    status, out, _ = tool(capsys, other, add, *same, "--json")
    assert status == 1 and json.loads(out)["kernels"][0]["launch"] == stated[len("// tileir: ") : -1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--runs", "2"], "--runs is about running the programs\nhelp: add --semantic"),
        (["--semantic", "-u"], "--semantic shows results, and --unified the programs"),
        (["--semantic", "--runs", "0"], "'--runs 0' is not valid\nhelp: give a number from 1 on"),
        (["--semantic", "--grid", "4"], "--grid alone is no launch\nhelp: give --arg for each parameter, too"),
        (["--semantic", "--entry", "x"], "the programs have no kernel @x in common: they have @vector_add"),
    ],
)
def test_mistakes_are_trouble(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = EXAMPLES / "vector_add.mlir"
    assert tool(capsys, file, file, *arguments) == (2, "", f"error: {message}\n")
