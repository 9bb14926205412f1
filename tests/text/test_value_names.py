"""What the printer calls values: hints that depend on nothing but the program, and mean nothing."""

from __future__ import annotations

import pytest

import tileir


def kernel(body: str) -> tileir.Operation:
    return tileir.parse(f"cuda_tile.module @m {{\nentry @k(%x: tile<i32>) {{\n{body}\nreturn\n}}\n}}")


def names_in(module: tileir.Operation, names: str = "public") -> list[str]:
    """The result names of the kernel's operations, in order."""
    lines = module.text(names=names).splitlines()
    return [line.strip().partition(" = ")[0] for line in lines if " = " in line]


# constant, public name, name of the printer draft's five paths
CONSTANTS = [
    ("<i1: true> : tile<i1>", "%true", "%true"),
    ("<i1: false> : tile<4xi1>", "%false", "%false"),
    ("<f32: 0x7FC00000> : tile<f32>", "%cst_NaN_f32", "%cst_NaN"),
    ("<f16: 0x7E01> : tile<4xf16>", "%cst_NaN_f16", "%cst_NaN"),
    ("<f8E4M3FN: 0xFF> : tile<f8E4M3FN>", "%cst_NaN_f8E4M3FN", "%cst_NaN"),
    ("<i1: [true, false]> : tile<2xi1>", "%cst_i1", "%cst_i1"),
    ("<i32: 42> : tile<4xi32>", "%cst_42_i32", "%cst_42"),
    ("<i8: -1> : tile<i8>", "%cst_-1_i8", "%cst_-1"),
    ("<i64: 9223372036854775807> : tile<i64>", "%cst_9223372036854775807_i64", "%cst_9223372036854775807"),
    ("<i32: [1, 2]> : tile<2xi32>", "%cst_i32", "%cst"),
    ("<f32: 1.0> : tile<f32>", "%cst_1_f32", "%cst"),
    ("<f32: 1.5> : tile<f32>", "%cst_f32", "%cst"),
    ("<f32: [1.0, 2.0]> : tile<2xf32>", "%cst_f32", "%cst"),
]


@pytest.mark.parametrize(("constant", "public", "draft"), CONSTANTS)
def test_constant_is_named_by_its_value(constant: str, public: str, draft: str) -> None:
    module = kernel(f"%r = constant {constant}")
    assert names_in(module) == [public]
    assert names_in(module, "draft") == [draft]


@pytest.mark.parametrize(("constant", "public", "draft"), CONSTANTS)
def test_program_with_draft_names_is_the_same_program(constant: str, public: str, draft: str) -> None:
    module = kernel(f"%r = constant {constant}\n%s = constant {constant}")
    assert str(tileir.parse(module.text(names="draft"))) == str(module)


def test_values_with_equal_hints_are_told_apart_by_a_number() -> None:
    module = kernel("%a = constant <i32: 1> : tile<i32>\n%b = constant <i32: 1> : tile<i32>")
    assert names_in(module) == ["%cst_1_i32", "%cst_1_i32_0"]
    assert names_in(module, "draft") == ["%cst_1", "%cst_1_0"]


def test_names_of_the_input_have_no_effect() -> None:
    first = kernel("%a = constant <i32: 1> : tile<i32>\n%b = addi %a, %x : tile<i32>")
    second = kernel("%cst_7_i32 = constant <i32: 1> : tile<i32>\n%0 = addi %cst_7_i32, %x : tile<i32>")
    assert str(first) == str(second)


def test_names_depend_on_the_program_only() -> None:
    body = "%a = constant <i32: 1> : tile<i32>\n%b = addi %a, %x : tile<i32>\n%d = iota : tile<8xi32>"
    first = kernel(body)
    # Other programs read and printed in between leave no trace.
    str(kernel("%a = constant <i32: 1> : tile<i32>"))
    assert str(first) == str(first) == str(kernel(body))


def test_siblings_reuse_numbers_and_names() -> None:
    text = str(
        tileir.parse(
            "cuda_tile.module @m {\nentry @f(%x: tile<i32>) {\n%a = addi %x, %x : tile<i32>\nreturn\n}\n"
            "entry @g(%x: tile<i32>) {\n%a = addi %x, %x : tile<i32>\nreturn\n}\n}"
        )
    )
    assert text.count("%0 = addi %arg0, %arg0 : tile<i32>") == 2
