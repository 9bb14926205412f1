"""The reports in docs/tools/sanitizer.md and sanitizer_reports.md are those that the programs there get."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tileir
from tileir.execute.arguments.argument_text import argument
from tileir.execute.observing.observer import Observers

PAGE = (Path(__file__).parents[2] / "docs" / "tools" / "sanitizer.md").read_text(encoding="utf-8")
MORE = (Path(__file__).parent / "sanitizer_reports.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```mlir\n(// grid .*?)^```\n\n```text\n(.*?)^```$", PAGE + MORE, re.MULTILINE | re.DOTALL)
KINDS = re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("program", "shown"), SHOWN)
def test_a_program_gets_the_report_below_it(program: str, shown: str) -> None:
    grid, _, given = program.partition("\n")[0].removeprefix("// grid ").partition(": ")
    arguments = [argument(text, None) for text in given.split()]
    empty = [value for value, text in zip(arguments, given.split(), strict=True) if text.startswith("empty:")]
    sanitizer = tileir.sanitizer.Sanitizer(uninitialized=empty)
    blocks, *everything = grid.split()
    coverage = [tileir.sanitizer.Coverage(report=sanitizer.report)] if everything == ["all"] else []
    kernel = tileir.compile(tileir.parse(program, "k.mlir"))
    kernel.launch(int(blocks), arguments, observer=Observers([sanitizer, *coverage]))
    report = "\n\n".join([finding.render() for finding in [*sanitizer.report.findings, *sanitizer.report.notes]]) + "\n"
    assert re.sub("0x[0-9a-f]+", "0x..", report) == shown
    assert set(sanitizer.report.kinds) <= set(KINDS)


def test_there_is_a_report_of_each_family() -> None:
    assert len(SHOWN) == 12 and len(KINDS) == 17
