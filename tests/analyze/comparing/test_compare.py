"""Recordings beside other runs: with more digits, on another engine, another recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.analyze.comparing.sample_launches import SUM, kinds_recording, recorded, sum_recording

import tileir
from tileir.analyze.comparing.compare import Comparisons, compare
from tileir.analyze.comparing.comparison import Comparison, ValueDifference
from tileir.analyze.comparing.engine_run import ProbedKernel
from tileir.execute.recording.recording import Recording, record

EXAMPLES = Path(__file__).parents[3] / "examples"


def name_of(recording: Recording, moment: ValueDifference | None) -> str:
    assert moment is not None
    return recording.program.script_name(moment.value) or ""


def test_f16_goes_wrong_where_its_sum_has_lost_half_of_its_digits() -> None:
    recording = sum_recording(rows=3000, blocks=1)
    comparison = compare(recording, "f64")
    first = comparison.first
    assert first is not None and name_of(recording, first) == "next"
    # By then the sums are so large that a step between two halves is more than what is added.
    element, value, wide, exact = comparison.pair(0, first.step, first.value)
    assert (element.spelling, wide.spelling) == ("f16", "f64")
    assert numpy.array_equal(value, recording.tile(0, first.step, first.value))
    error = numpy.abs(value.astype(numpy.float64) - exact)
    assert error.max() / exact.max() > 2**-5.5 >= _error_before(comparison, first)
    assert first.difference.largest == error.max()
    # The sums of the exact run are those that NumPy makes in f64.
    x = recording.array(0, 0, 0).astype(numpy.float64).reshape(-1, 64)
    turn = recording.history(0).steps(first.value).index(first.step) + 1
    assert numpy.allclose(exact, x[:turn].sum(0), rtol=1e-12)


def _error_before(comparison: Comparison, first: ValueDifference) -> float:
    before = [moment for moment in comparison.block(0) if moment.step < first.step]
    return max([moment.difference.overall for moment in before])


def test_sums_that_are_too_large_for_f16_are_wrong() -> None:
    recording = sum_recording(rows=400, blocks=1)
    comparison = compare(recording)
    assert name_of(recording, comparison.first) == "square"
    assert "a NaN or an infinity in one run" in str(comparison)
    assert "square" in str(comparison)


def test_a_short_sum_differs_and_is_not_wrong() -> None:
    comparison = compare(sum_recording(rows=3, blocks=1))
    assert comparison.first is None
    assert len(comparison.block(0)) > 0
    assert "no value is wrong" in str(comparison)


def test_f32_is_enough_for_a_sum_of_halves() -> None:
    narrow = sum_recording(rows=100, blocks=1)
    wide = compare(narrow, "f32")
    exact = compare(narrow, "f64")
    number = next(iter(wide.block(0))).value
    step = narrow.history(0).steps(number)[-1]
    first, second = wide.pair(0, step, number)[3], exact.pair(0, step, number)[3]
    assert first.dtype == numpy.float32
    assert numpy.allclose(first, second, rtol=1e-6)


def test_the_error_of_an_f16_does_not_make_an_f32_wrong() -> None:
    text = """
    cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>) {
      %x, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
      %half = ftof %x : tile<f32> -> tile<f16>
      %back = ftof %half : tile<f16> -> tile<f32>
      return } }
    """
    comparison = compare(recorded(text, 1, numpy.full(1, 1.0004, numpy.float32)))
    differences = list(comparison.block(0))
    # As a half it is rounded correctly; as an f32 it is not what it could be, by thousands of ulps.
    assert [moment.wrong for moment in differences] == [False]
    assert differences[0].difference.ulps is not None and differences[0].difference.ulps > 1000


@pytest.mark.parametrize("launch", [kinds_recording, sum_recording])
def test_the_cpu_engine_has_the_values_of_the_interpreter(launch: Any) -> None:
    pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite: pip install 'tileir[cpu]'")
    recording = launch()
    comparison = compare(recording, "cpu")
    assert comparison.first is None and not comparison.array_differences()
    assert sum([len(comparison.block(block)) for block in range(len(recording.blocks))]) == 0
    before = [recording.array(number, 0, 0) for number in range(len(recording.arrays))]
    comparison.block(0)
    # The launch on the other engine leaves no trace.
    for number, content in enumerate(before):
        assert numpy.array_equal(recording.array(number, 0, 0), content)


class _OffByOne(tileir.backends.Backend):
    """The interpreter, except that its products are off in the last place."""

    name = "off_by_one"
    title = "an engine that multiplies badly"

    def prepare(self, entry: Any, globals: Any, settings: Any) -> Any:
        from tileir.execute.engine.registry import find_engine
        from tileir.ir.traversal import clone

        module = entry
        while module.parent_operation is not None:
            module = module.parent_operation
        copy = clone(module)
        for operation in copy.walk():
            if operation.name == "cuda_tile.mulf":
                operation.set_attribute("rounding_mode", "positive_inf")
        changed = next(one for one in copy.walk() if one.symbol_name == entry.symbol_name)
        return find_engine("interpreter").prepare(changed, globals, settings)


def test_an_engine_that_differs_is_found_at_its_first_value() -> None:
    text = """
    cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>) {
      %x, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
      %sum = addf %x, %x : tile<f32>
      %product = mulf %sum, %x : tile<f32>
      %more = addf %product, %x : tile<f32>
      %s = store_ptr_tko weak %a, %more token = %t : tile<ptr<f32>>, tile<f32> -> token
      return } }
    """
    recording = recorded(text, 1, numpy.full(1, 1.1, numpy.float32))
    tileir.backends.register_backend(_OffByOne())
    try:
        comparison = compare(recording, "off_by_one")
        first = comparison.first
        assert name_of(recording, first) == "product"
        assert first is not None and first.difference.ulps == 1
        assert [one.array for one in comparison.array_differences()] == [0]
        assert "after the launch, array " in str(comparison) and " differs by " in str(comparison)
    finally:
        tileir.backends.unregister_backend("off_by_one")


def test_two_recordings_of_a_program_are_compared_value_by_value() -> None:
    left, same, other = sum_recording(rows=4), sum_recording(rows=4), sum_recording(rows=4, blocks=2)
    assert compare(left, same).first is None
    numbers = other.array(0, 0, 0)
    numbers[64 * 2 + 5] += 1
    changed = recorded(SUM, 2, numbers, numpy.zeros(1, numpy.float16), 64 * 4)
    comparison = compare(left, changed)
    first = comparison.first
    assert name_of(left, first) == "x" and first is not None
    assert first.difference.index == (5,) and first.difference.different == 1
    assert [one.array for one in comparison.array_differences()] == [0, 1]
    # The third turn of the loop.
    assert left.history(0).steps(first.value).index(first.step) == 2


def test_recordings_of_different_programs_are_compared_by_their_arrays() -> None:
    text = (EXAMPLES / "vector_add.mlir").read_text()
    kernels = [tileir.compile(tileir.parse(text)), tileir.compile(tileir.optimize(tileir.parse(text)))]
    recordings = []
    for kernel in kernels:
        x = numpy.arange(300, dtype=numpy.float32)
        recordings.append(record(kernel, 2, (x, x.copy(), numpy.zeros_like(x), 300), sanitize=False))
    comparison = compare(*recordings)
    assert comparison.first is None and not comparison.array_differences()
    assert any("programs differ" in note for note in comparison.notes)


def test_answers_are_json_with_every_key() -> None:
    recording = sum_recording(rows=40)
    comparisons = Comparisons(recording, {"the same again": sum_recording(rows=40)})
    listed = {one["id"]: one for one in comparisons.listed()}
    assert set(listed) >= {"f64", "f32", "cpu", "recording0"}
    assert listed["f64"]["reason"] is None and listed["recording0"]["title"] == "the same again"
    answer = comparisons.comparison("f64", 1)
    json.dumps(answer, allow_nan=False)
    assert set(answer) == {
        "id", "title", "criterion", "block", "differences", "total", "first", "arrays", "notes",
    }  # fmt: skip
    moment = answer["differences"][0]
    assert set(moment) == {
        "step", "operation", "value", "wrong", "different", "count", "largest", "relative", "ulps", "index",
    }  # fmt: skip
    tiles = comparisons.compared("f64", 1, moment["step"], moment["value"], [8], [4])
    json.dumps(tiles, allow_nan=False)
    assert [tiles[side]["element"] for side in ("left", "right", "difference")] == ["f16", "f64", "f64"]
    assert tiles["difference"]["extents"] == [4]
    left, right = (numpy.array([float(text) for text in tiles[side]["text"]]) for side in ("left", "right"))
    apart = numpy.array([float(text) for text in tiles["difference"]["text"]])
    assert numpy.allclose(left - right, apart, atol=0.01)


def test_an_infinity_is_json_too() -> None:
    comparisons = Comparisons(sum_recording(rows=400, blocks=1))
    answer = comparisons.comparison("f64", 0)
    json.dumps(answer, allow_nan=False)
    assert answer["differences"][-1]["largest"] is None and answer["differences"][-1]["wrong"]


def test_what_cannot_be_compared_is_said() -> None:
    recording = sum_recording(rows=4)
    double = recorded(
        """cuda_tile.module @m { entry @k(%a: tile<ptr<f64>>) {
        %x, %t = load_ptr_tko weak %a : tile<ptr<f64>> -> tile<f64>, token
        return } }""",
        1,
        numpy.zeros(1),
    )
    with pytest.raises(tileir.LaunchError, match="no value has fewer digits than f64"):
        compare(double, "f64")
    with pytest.raises(tileir.LaunchError, match="no backend 'f128'"):
        compare(recording, "f128")
    with pytest.raises(tileir.LaunchError, match="takes a recording"):
        compare("f64")  # type: ignore[arg-type]
    with pytest.raises(tileir.LaunchError, match="not with 3"):
        compare(recording, 3)  # type: ignore[arg-type]
    with pytest.raises(tileir.LaunchError, match="not in the recording"):
        compare(recording).block(7)
    with pytest.raises(tileir.LaunchError, match="not a tile of floats"):
        compare(recording).pair(0, 1, 2)


@pytest.mark.parametrize("example", ["softmax", "layer_norm", "attention", "matmul", "histogram"])
def test_probes_leave_an_example_as_it_is(example: str) -> None:
    module = tileir.parse((EXAMPLES / f"{example}.mlir").read_text())
    kernel = tileir.compile(module, backend="interpreter")
    probed = ProbedKernel(kernel.entry)
    tileir.verify(probed.module)
    assert probed.probes and not probed.left_out
    # The program itself has no probes.
    assert module.text(generic=True) == tileir.parse((EXAMPLES / f"{example}.mlir").read_text()).text(generic=True)


def test_a_log_that_is_too_small_holds_the_beginning() -> None:
    recording = sum_recording(rows=10, blocks=1)
    probed = ProbedKernel(recording.program.entry)
    kernel = tileir.compile(probed.module, backend="interpreter")
    logs = []
    for size in (1 << 16, 1000):
        arguments = probed.arguments(size, 0)
        numbers = (numpy.random.default_rng(1).random(640) + 0.5).astype(numpy.float16)
        kernel.launch(1, (numbers, numpy.zeros(1, numpy.float16), 640, *arguments))
        logs.append(probed.entries(arguments[0]))
    whole, beginning = logs
    assert 0 < len(beginning) < len(whole)
    for (probe, content), (expected, other) in zip(beginning, whole, strict=False):
        assert probe is expected and content.tobytes() == other.tobytes()
