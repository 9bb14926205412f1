"""Small programs for the tests of the optimizer: the body of one function in, the optimized body out."""

from __future__ import annotations

import textwrap

import tileir
import tileir.dialect.ops.testing  # functions with results
from tileir.ir.core import Operation
from tileir.passes.pipeline import PassReport, run_passes
from tileir.text.reading import read_text


def function(signature: str, body: str) -> Operation:
    """A verified module with one function: `function("%x: tile<i32>", "return")`."""
    text = f"cuda_tile.module @m {{\ntesting$func @f({signature} {{\n{textwrap.dedent(body)}\n}}\n}}"
    found = read_text(text, "-", testing=True)
    assert found.module is not None, [d.render() for d in found.diagnostics]
    tileir.verify(found.module)
    return found.module


def body_of(module: Operation) -> str:
    """The lines of the function's body, without indentation common to all."""
    lines = str(module).splitlines()
    return textwrap.dedent("\n".join(lines[2:-2])).strip()


def optimized(signature: str, body: str, rules: str = "parity", passes: tuple[str, ...] = ("canonicalize",)) -> str:
    """The body after some passes, which is verified after each and does not change when they run again."""
    module = function(signature, body)
    run_passes(module, list(passes), rules=rules, report=PassReport(verify=True))
    found = body_of(module)
    run_passes(module, list(passes), rules=rules, report=PassReport(verify=True))
    assert body_of(module) == found, "a second run changed the program"
    return found


def fired(signature: str, body: str, rules: str = "parity") -> dict[str, int]:
    """How often each rule fired."""
    module = function(signature, body)
    report = PassReport(verify=True)
    run_passes(module, ["canonicalize"], rules=rules, report=report)
    return report.runs[0].fired


def lines(text: str) -> str:
    return textwrap.dedent(text).strip()
