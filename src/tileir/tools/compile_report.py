"""What `tileir compile` tells: findings, one JSON object for each file and target, and a table of resources."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import harmless
from tileir.tools.arguments import Arguments, ToolFailure
from tileir.tools.programs import STANDARD_INPUT, tell

if TYPE_CHECKING:
    from tileir.execute.gpu.cubin import Resources


class Row(NamedTuple):
    """A row of the table: a kernel of a file, or a file for which there is no cubin."""

    file: str
    target: str
    resources: Resources | None
    kernel: str = ""
    """Of code that says nothing of its resources."""


class Report:
    """What is told, as the command line wants it."""

    def __init__(self, given: Arguments) -> None:
        self._given = given
        self._rows: list[Row] = []

    def failed(self, path: str, targets: list[str], failure: ToolFailure) -> None:
        """A file cannot be read, or a cubin cannot be written: for people a word aside, for tools a finding."""
        words = harmless(failure.message)
        has_json = self._given.has("json")
        if not has_json:
            print(f"tileir compile: {words}", file=sys.stderr)
        for target in targets:
            self.told(path, target, "", None, [Diagnostic("error", words, UNKNOWN)] if has_json else [])

    def told(
        self,
        path: str,
        target: str,
        output: str,
        resources: list[Resources] | None,
        diagnostics: list[Diagnostic],
        kernel: str = "",
    ) -> None:
        """What came of a file and a target, or of one kernel of it."""
        name = STANDARD_INPUT if path == "-" else path
        rows = [Row(name, target, each) for each in resources or ()]
        self._rows += rows or [Row(name, target, None, kernel)]
        if not self._given.has("json"):
            tell(diagnostics, self._given)
            return
        from tileir.tools.reporting import json_finding

        outcome: dict[str, Any] = {
            "file": name,
            "target": target,
            "cubin": output or None,
            "kernels": None if resources is None else [facts(each) for each in resources],
            "findings": [json.loads(json_finding(each, name, -1)) for each in diagnostics],
        }
        print(json.dumps(outcome))

    def end(self, has_files: bool) -> None:
        """The table, of several files with their names, if it is wanted and there is something to say."""
        given, rows = self._given, self._rows
        if given.has("resource-usage") and not given.has("json") and any(row.resources is not None for row in rows):
            print(table(rows, has_files))


def facts(resources: Resources) -> dict[str, object]:
    """What a kernel takes of a GPU, for JSON."""
    found: dict[str, object] = {**resources._asdict(), "spills": resources.spills}
    found["parameters"] = [each._asdict() for each in resources.parameters]
    return found


_NAMES = ("file", "kernel", "target")
_NUMBERS = ("registers", "threads", "shared", "stack", "stores", "loads", "spills", "code")


def table(rows: list[Row], has_files: bool) -> str:
    """What kernels take of GPUs, as a table: bytes, and counts; of several files with their names."""
    first = 0 if has_files else 1
    cells = [[*_NAMES[first:], *_NUMBERS]]
    for row in rows:
        each = row.resources
        names = [harmless(row.file), harmless(row.kernel or "-" if each is None else each.kernel), row.target]
        cells.append([*names[first:], *(["-"] * len(_NUMBERS) if each is None else _numbers(each))])
    widths = [max([len(row[column]) for row in cells]) for column in range(len(cells[0]))]
    count = len(_NAMES) - first
    lines = []
    for line in cells:
        padded = [cell.ljust(width) for cell, width in zip(line[:count], widths, strict=False)]
        padded += [cell.rjust(width) for cell, width in zip(line[count:], widths[count:], strict=True)]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def _numbers(each: Resources) -> list[str]:
    counts = (each.registers, each.threads, each.shared, each.stack, each.local_stores, each.local_loads)
    return [*map(str, counts), "yes" if each.spills else "no", str(each.code)]
