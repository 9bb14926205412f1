"""Line numbers through LLVM."""

from __future__ import annotations

import pytest

from tileir.execute.cpu.runtime import llvm_compile
from tileir.execute.cpu.runtime.target import host
from tileir.execute.locations.llvm_line_numbers import numbers_of_assembly, numbers_of_text, with_line_numbers

pytest.importorskip("llvmlite")

TEXT = """declare i64 @llvm.umin.i64(i64, i64)
define internal i64 @twice(i64 %x) alwaysinline nounwind {
entry:
  %v1 = add i64 %x, %x
  ret i64 %v1
}
define i64 @worker(ptr %record, ptr %scratch) nounwind {
entry:
  %v1 = load i64, ptr %record, align 8
  %v2 = mul i64 %v1, 37
  %v3 = call i64 @twice(i64 %v2)
  %v4 = xor i64 %v3, 5
  store i64 %v4, ptr %scratch, align 8, !noalias !2
  ret i64 0
}
!0 = distinct !{!0}
!1 = distinct !{!1, !0}
!2 = !{!1}
"""
NUMBERS = {8: 70, 9: 80, 10: 90, 11: 100, 12: 110}


def numbers() -> list[int]:
    return [NUMBERS.get(line, 0) for line in range(len(TEXT.split("\n")))]


def test_instructions_of_numbered_functions_have_a_location() -> None:
    lines = with_line_numbers(TEXT, numbers()).split("\n")
    assert lines[:6] == TEXT.split("\n")[:6]
    assert lines[6].startswith("define i64 @worker(ptr %record, ptr %scratch) nounwind !dbg !")
    assert all(", !dbg !" in line for line in lines[8:14])
    assert sum("!DILocation(line: 0," in line for line in lines) == 1


def test_text_without_numbers_stays_as_it_is() -> None:
    lines = with_line_numbers(TEXT, [0] * len(numbers())).split("\n")
    assert lines[: len(TEXT.split("\n"))] == TEXT.split("\n")


def test_numbers_are_found_in_optimized_text() -> None:
    plain = llvm_compile.optimized(TEXT, host())
    numbered = with_line_numbers(TEXT, numbers())
    found = numbers_of_text(llvm_compile.optimized(numbered, host()), plain, numbered)
    lines = plain.split("\n")
    assert len(found) == len(lines)
    by_line = {line.strip().split(" = ")[-1].split(" ")[0]: number for line, number in zip(lines, found, strict=True)}
    assert by_line["load"] == 70
    assert by_line["xor"] == 100
    assert by_line["store"] == 110
    assert by_line["define"] == by_line["ret"] == 0


def test_what_moved_out_of_a_loop_is_found_by_its_name() -> None:
    text = """define i64 @worker(ptr %record, ptr %scratch) nounwind {
entry:
  %v1 = load i64, ptr %record, align 8
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %v4, %head ]
  %v2 = mul i64 %v1, %v1
  %v3 = getelementptr i64, ptr %scratch, i64 %i
  store i64 %v2, ptr %v3, align 8
  %v4 = add i64 %i, 1
  %v5 = icmp ult i64 %v4, %v1
  br i1 %v5, label %head, label %end
end:
  ret i64 0
}
"""
    lines = text.split("\n")
    numbered = with_line_numbers(text, [70 if "mul" in line else 0 for line in lines])
    optimized = llvm_compile.optimized(numbered, host())
    moved = next(line for line in optimized.split("\n") if "%v2 = mul" in line)
    assert optimized.index(moved) < optimized.index("\nhead:")
    plain = llvm_compile.optimized(text, host())
    found = numbers_of_text(optimized, plain, numbered)
    assert [number for line, number in zip(plain.split("\n"), found, strict=True) if "%v2 = mul" in line] == [70]
    assert set(found) == {0, 70}


def test_numbers_are_found_in_assembly() -> None:
    plain = llvm_compile.assembly(TEXT, host())
    found = numbers_of_assembly(llvm_compile.assembly(with_line_numbers(TEXT, numbers()), host()), plain)
    lines = plain.split("\n")
    assert len(found) == len(lines)
    # Both multiplications become one, which may load its factor by itself.
    assert {100, 110} <= set(found) <= {0, 70, 80, 90, 100, 110} and set(found) & {80, 90}
    for line, number in zip(lines, found, strict=True):
        assert not number or (line.startswith("\t") and not line.startswith("\t."))


def test_lines_that_differ_have_no_number() -> None:
    numbered = "\t.loc\t1 7 0\n\tfirst\n\t.loc\t1 8 0\n\tsecond\n\tthird # comment\n\tlast"
    assert numbers_of_assembly(numbered, "\tfirst\n\tother\n\tthird\n\tlast") == [7, 0, 8, 8]
    assert numbers_of_assembly(numbered, "\tfirst\n\tadded\n\tsecond\n\tthird\n\tlast") == [7, 0, 8, 8, 8]


def test_numbers_of_another_machine_are_told_from_comments() -> None:
    numbered = "\t.loc\t1 7 0\n\tldr\tx0, [x1, #8]\n\tldr\tx0, [x1, #16]"
    assert numbers_of_assembly(numbered, "\tldr\tx0, [x1, #8]\n\tldr\tx0, [x1, #24]") == [7, 0]
