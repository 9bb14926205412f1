"""Operations with equal structural keys are verified once, but for the rules that read the program around them."""

from __future__ import annotations

import pytest

import tileir


def mistakes(text):
    with pytest.raises(tileir.VerifyError) as caught:
        tileir.parse(text, verify=True)
    return [diagnostic.message for diagnostic in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("operation", "types", "message"),
    [
        ("addf", ["tile<f32>", "tile<f32>"], "requires one result"),
        ("select", ["tile<i1>", "tile<f32>", "tile<f32>"], "requires one result"),
    ],
)
def test_an_operand_in_place_of_the_result(operation, types, message):
    """The types are those of a correct operation, in the same order."""
    arguments = ", ".join(f"%{index}: {type}" for index, type in enumerate([*types, "tile<f32>"]))

    def statement(count, results):
        names = ", ".join(f"%{index}" for index in range(count))
        inputs = ", ".join(f"!cuda_tile.{type}" for type in [*types, "tile<f32>"][:count])
        return f'"cuda_tile.{operation}"({names}) : ({inputs}) -> {results}\n'

    correct = "%r = " + statement(len(types), "!cuda_tile.tile<f32>")
    broken = statement(len(types) + 1, "()")
    found = mistakes(f"cuda_tile.module @m {{ entry @k({arguments}) {{\n{correct}{broken}{broken}return }} }}")
    assert found == [f"'cuda_tile.{operation}' op {message}"] * 2


def test_a_broken_operation_is_reported_each_time():
    line = '%{} = "cuda_tile.addi"(%a, %b) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i64>) -> !cuda_tile.tile<i32>'
    text = "\n".join(["entry @k(%a: tile<i32>, %b: tile<i64>) {", line.format(0), line.format(1), "return }"])
    assert len(mistakes(text)) == 2


def test_attributes_tell_operations_apart():
    form = '%{} = "cuda_tile.permute"(%a) <{{permutation = array<i32: {}>}}> : (!cuda_tile.tile<2x2xf32>) -> !cuda_tile.tile<2x2xf32>'
    lines = [form.format(0, "1, 0"), form.format(1, "0, 0"), form.format(2, "1, 0")]
    text = "\n".join(["entry @k() {", "%a = constant <f32: 1.0> : tile<2x2xf32>", *lines, "return }"])
    assert len(mistakes(text)) == 1


def test_what_an_operand_comes_from_tells_extracts_apart():
    text = """entry @k() {
      %a = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
      %good = constant <i32: 1> : tile<i32>
      %bad = constant <i32: -1> : tile<i32>
      %0 = extract %a[%good] : tile<4xi32> -> tile<2xi32>
      %1 = extract %a[%bad] : tile<4xi32> -> tile<2xi32>
      return
    }"""
    (warning,) = tileir.verify(tileir.parse(text))
    assert "negative value -1" in warning.message


def test_a_warning_is_repeated():
    lines = [f"%{number} = assume div_by<2>, %p : tile<ptr<f32>>" for number in range(2)]
    module = tileir.parse("\n".join(["entry @k(%p: tile<ptr<f32>>) {", *lines, "return }"]))
    for _ in range(2):
        assert len(tileir.verify(module)) == 2


def test_each_version_has_its_rules():
    text = "entry @k(%a: tile<f32>) { %b = ftof %a rounding<zero> : tile<f32> -> tile<f16> return }"
    module = tileir.parse(text)
    for _ in range(2):
        assert tileir.verify(module, version="13.4") == []
        with pytest.raises(tileir.VerifyError, match="Only 'nearest_even' is supported"):
            tileir.verify(module, version="13.1")


def test_each_module_has_its_globals():
    form = "cuda_tile.module @m {{ global @g <{0}: [1, 2]> : tile<2x{0}> entry @k() {{ %p = get_global @g : tile<ptr<i32>> return }} }}"
    assert tileir.verify(tileir.parse(form.format("i32"))) == []
    with pytest.raises(tileir.VerifyError, match="does not match"):
        tileir.verify(tileir.parse(form.format("i64")))
