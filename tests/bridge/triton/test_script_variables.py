"""The variables of a Triton kernel in the debugger."""

from __future__ import annotations

from pathlib import Path

import pytest

import tileir

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def twice(value):
    doubled = value * 2
    return doubled


@triton.jit
def accumulate(x, y, count, WIDTH: tl.constexpr):  # type: ignore[name-defined]
    at = tl.arange(0, WIDTH)
    total = tl.zeros((WIDTH,), tl.float32)
    for number in range(count):
        part = twice(tl.load(x + number * WIDTH + at))
        if number > 1:
            part = -part
        total += part
    tl.store(y + at, total)


def test_variables_have_the_values_of_the_line_that_is_next(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = torch.ones(32), torch.zeros(8)
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = 1 + next(number for number, text in enumerate(lines) if "total += part" in text)
    commands = [f"break {line}", "continue", "continue", "continue", "info locals", "detach"]
    tileir.debug(accumulate, 1, (x, y, 4, 8), commands=commands)
    shown = capsys.readouterr().out.splitlines()
    assert "number = 2" in shown
    for name, values in (("part", "-2.0, -2.0"), ("total", "4.0, 4.0"), ("at", "0, 1, 2")):
        assert any(each.startswith(f"{name} = [{values}") for each in shown), "\n".join(shown)
    assert y.tolist() == [0.0] * 8
