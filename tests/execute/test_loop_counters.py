"""The sanitizer tells loops whose counter overflows, on both engines, and no others."""

from __future__ import annotations

import random

import pytest

import tileir

BACKENDS = ("interpreter", "cpu")


def kernel(width: int, unsigned: bool, backend: str) -> tileir.Kernel:
    type = f"tile<i{width}>"
    text = f"""cuda_tile.module @m {{
  entry @k(%a: {type}, %b: {type}, %c: {type}) {{
    for {"unsigned " if unsigned else ""}%k in (%a to %b, step %c) : {type} {{
      continue
    }}
    return
  }}
}}"""
    return tileir.compile(tileir.parse(text, "k.mlir"), backend=backend)


def report(compiled: tileir.Kernel, numbers: tuple[int, int, int], grid: int = 1) -> tileir.sanitizer.SanitizerReport:
    sanitizer = tileir.sanitizer.Sanitizer()
    compiled.launch(grid, numbers, observer=sanitizer)
    return sanitizer.report


def overflows(lower: int, upper: int, step: int, most: int) -> bool:
    """Count as the machine does."""
    while lower < upper:
        lower += step
        if lower > most:
            return True
    return False


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("width", [1, 8, 16, 32, 64])
def test_a_counter_that_overflows_is_told_and_no_other(width: int, unsigned: bool) -> None:
    low, high = (0, (1 << width) - 1) if unsigned else (-(1 << (width - 1)), (1 << (width - 1)) - 1)
    if high < 1:
        return  # No step of a signed i1 is positive.
    generator = random.Random(width)
    cases = [(0, high, 1), (low, high, high), (low, high, 1 << max(width - 3, 0)), (high, low, 1), (high, high, high)]
    for _ in range(40):
        # Few iterations, and often close to the end.
        start = generator.randint(low, high)
        end = generator.choice([high, generator.randint(low, high), min(high, start + 3)])
        cases.append((start, end, generator.randint(max((end - start) // 9, 1), high)))
    compiled = [kernel(width, unsigned, backend) for backend in BACKENDS]
    told = 0
    for case in cases:
        if (case[1] - case[0]) // case[2] > 1000:
            continue
        expected = ["overflow"] if overflows(*case, high) else []
        told += len(expected)
        reports = [report(each, case) for each in compiled]
        assert [each.kinds for each in reports] == [expected] * 2, case
        assert reports[0].render() == reports[1].render()
    assert told or width == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_report_has_the_line_the_numbers_and_the_block(backend: str) -> None:
    assert report(kernel(8, False, backend), (0, 127, 64), 2).findings[0].render() == (
        "overflow: for counts past the largest number of its type\n"
        "  --> k.mlir:3:5, tile block (0, 0, 0)\n"
        "    3 | for %k in (%a to %b, step %c) : tile<i8> {\n"
        "      | ^\n"
        "  it counts from 0 to 127 in steps of 64: after 64 comes 128, and i8 ends at 127\n"
        "  seen 2 times\n"
        "  = help: the behavior is undefined, and a GPU may never leave the loop: end it earlier, or count in a wider type"
    )
    finding = report(kernel(8, True, backend), (200, 255, 30)).findings[0]
    assert finding.details == [
        "it counts from 200 to 255 in steps of 30: after 230 comes 260, and i8 read as unsigned ends at 255"
    ]


def test_a_loop_with_values_and_one_without_a_step_are_told_as_before() -> None:
    for backend in BACKENDS:
        assert report(kernel(8, False, backend), (0, 127, 0)).kinds == ["error"]
    text = """cuda_tile.module @m { entry @k(%n: tile<i8>) {
  %a = constant <i8: 0> : tile<i8>
  %v = constant <f32: 0.0> : tile<16xf32>
  %t = make_token : token
  %r, %u = for %k in (%a to %n, step %n) : tile<i8> iter_values(%x = %v, %s = %t) -> (tile<16xf32>, token) {
    continue %x, %s : tile<16xf32>, token
  }
  return
} }"""
    for backend in BACKENDS:
        compiled = tileir.compile(tileir.parse(text, "k.mlir"), backend=backend)
        for number in (64, 127):
            sanitizer = tileir.sanitizer.Sanitizer()
            compiled.launch(1, (number,), observer=sanitizer)
            assert not sanitizer.report, sanitizer.report.render()
