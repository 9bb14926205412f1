"""docs/internals/nvidia.md: its programs give on both engines what the dialect says, whatever NVIDIA's assembler makes of them."""

from __future__ import annotations

import re

import numpy
import pytest
from tests.hardware.measured import PAGE, Measured, found, page_programs, page_sections, patterns

PROGRAMS = page_programs()
_COUNT_64 = numpy.arange(64, dtype=numpy.int32)
_COUNT_4096 = numpy.arange(4096, dtype=numpy.int32)


def _rounded(name: str, operation: str, source: str, target: str, operand: int, ours: int, hardware: int) -> Measured:
    """The program of "Two roundings" with other types."""
    text = PROGRAMS["two-roundings"][0].replace("%y = ftof %x", f"%y = {operation}")
    text = re.sub(r"\bf64\b", source, re.sub(r"xf64\b", f"x{source}", text))
    text = re.sub(r"\btf32\b", target, re.sub(r"xtf32\b", f"x{target}", text))
    arguments = [patterns(source, [operand, 0]), patterns(target, [0, 0])]
    return Measured(name, text, arguments, 1, [ours], [hardware])


CASES = [
    _rounded("f64 to tf32", "ftof %x", "f64", "tf32", 0x3FF2CA0000000800, 0x3F966000, 0x3F964000),
    _rounded("f64 to f8E4M3FN", "ftof %x", "f64", "f8E4M3FN", 0x3FE6FFFFFFFF0000, 0x33, 0x34),
    _rounded("i32 to tf32", "itof %x signed", "i32", "tf32", 0x0D810004, 0x4D582000, 0x4D580000),
    _rounded("i32 to f8E5M2", "itof %x signed", "i32", "f8E5M2", 0x901, 0x69, 0x68),
    Measured(
        "folded maxf", PROGRAMS["folded-constants"][0],
        [patterns("f32", [0] * 4)], 0, [0x3F800000] * 4, [0x7FC00001] * 4,
    ),
    Measured(
        "folded addf", PROGRAMS["folded-constants"][1],
        [patterns("f32", [0] * 4)], 0, [0x3D97914A] * 4, [0x3D97914B] * 4,
    ),
    Measured(
        "padding of tf32", PROGRAMS["padding-of-tf32"][0],
        [patterns("tf32", [0x3F800000] * 4), patterns("tf32", [0] * 8)], 1,
        [0x3F800000] * 4 + [0x7FC00000] * 4, [0x3F800000] * 4 + [0x3FE00] * 4,
    ),
    Measured(
        "nearest_away of a NaN", PROGRAMS["nearest_away-of-a-nan"][0],
        [patterns("f32", [0x7F800001, 0]), patterns("tf32", [0, 0])], 1, [0x7FC00000], [0x7F800000],
    ),
    Measured(
        "token of a load whose mask is false", PROGRAMS["token-of-a-load-whose-mask-is-false"][0],
        [_COUNT_64, _COUNT_64 + 100, _COUNT_64 * 0], 2, list(range(163, 155, -1)), list(range(63, 55, -1)),
    ),
    Measured(
        "load and store in a loop", PROGRAMS["load-and-store-in-a-loop"][0],
        [_COUNT_4096, 1], 0, list(range(4031, 4023, -1)), list(range(64, 72)), start=64,
    ),
]  # fmt: skip


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_programs_of_the_page_give_what_the_dialect_says(case: Measured, backend: str) -> None:
    assert found(case, backend) == case.ours
    assert case.ours != case.hardware


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_our_optimizer_folds_has_the_same_bits(case: Measured) -> None:
    assert found(case, "interpreter", optimized=True) == case.ours


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_a_loaded_value_is_the_one_before_the_store(backend: str) -> None:
    text = PROGRAMS["load-issued-again"][0]
    case = Measured("again", text, [_COUNT_64, _COUNT_64 * 0], 1, list(range(64)), [])
    assert found(case, backend) == case.ours


ENDLESS = Measured(
    "unsigned loop around a matmul", PROGRAMS["unsigned-loop-around-a-matmul"][0],
    [patterns("f32", [0x3F800000] * 8), patterns("f32", [0] * 64), 3], 1, [0x41C00000] * 64, [],
)  # fmt: skip
"""A program that does not end on the GPU."""


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_an_unsigned_loop_around_a_matmul_ends(backend: str) -> None:
    assert found(ENDLESS, backend) == ENDLESS.ours


def test_every_section_of_the_page_has_a_program_that_is_run() -> None:
    run = {case.text for case in [*CASES, ENDLESS]} | {PROGRAMS["load-issued-again"][0]}
    assert all(set(texts) <= run for texts in PROGRAMS.values()) and all(PROGRAMS.values())


def test_lines_on_the_page_are_those_of_the_programs() -> None:
    for anchor, shown in page_sections().items():
        for block in shown:
            lines = [line for line in block.splitlines() if line.strip() != "..."]
            assert any(_has_in_order(program.splitlines(), lines) for program in PROGRAMS[anchor]), (anchor, block)


def _has_in_order(lines: list[str], expected: list[str]) -> bool:
    rest = iter(lines)
    return all(line in rest for line in expected)


def test_anchors_that_reports_point_to_exist() -> None:
    anchors = {"token-of-a-load-whose-mask-is-false", "load-and-store-in-a-loop", "load-issued-again"}
    assert anchors <= PROGRAMS.keys()
    links = re.findall(r"\]\(#([\w-]+)\)", PAGE.read_text(encoding="utf-8"))
    assert set(links) == PROGRAMS.keys()


def test_bits_on_the_page_are_those_that_are_asserted() -> None:
    words = set(re.findall(r"0x[0-9a-f]+", PAGE.read_text(encoding="utf-8")))
    asserted = {int(word, 16) for word in words}
    for case in CASES[:8]:
        assert case.hardware[-1] in asserted, case.name
