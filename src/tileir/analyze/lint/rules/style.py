"""What some projects do not want in their kernels."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.lint.rule import REMARK, LintFinding, Rule
from tileir.analyze.lint.subject import Subject
from tileir.annotations import Final
from tileir.dialect.ops import PRINT_TKO
from tileir.ir.traversal import is_function


def _prints(subject: Subject) -> Iterable[LintFinding]:
    for printing in subject.operations(PRINT_TKO):
        yield LintFinding(printing, "the kernel prints")


PRINT_IN_KERNEL: Final = Rule(
    "print-in-kernel",
    "style",
    "A kernel prints",
    reason="Printing is slow and orders tile blocks; it is meant for debugging.",
    remedy="Delete it once the kernel works.",
    severity=REMARK,
    default=False,
    positive="""\
entry @k(%x: tile<i32>) {
  print_tko "%d\\n", %x : tile<i32> -> token // here
  return
}
""",
    negative="""\
entry @k(%x: tile<i32>) {
  return
}
""",
    check=_prints,
)


def _unused_parameters(subject: Subject) -> Iterable[LintFinding]:
    entry = subject.entry
    if entry is None or not is_function(entry) or not entry.regions or not entry.regions[0].blocks:
        return
    for parameter in entry.regions[0].blocks[0].arguments:
        if not parameter.has_uses:
            yield LintFinding(entry, f"parameter {parameter.index} is never used", location=parameter.location)


UNUSED_PARAMETER: Final = Rule(
    "unused-parameter",
    "style",
    "A kernel does not use one of its parameters",
    reason="Every launch passes it for nothing. Front ends give kernels parameters by a convention, needed or not.",
    remedy="Take it out, here and where the kernel is launched.",
    severity=REMARK,
    default=False,
    for_scripts=False,
    positive="""\
entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) { // here
  %zero = constant <i32: 0> : tile<i32>
  %t = store_ptr_tko weak %p, %zero : tile<ptr<i32>>, tile<i32> -> token
  return
}
""",
    negative="""\
entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %t = store_ptr_tko weak %p, %n : tile<ptr<i32>>, tile<i32> -> token
  return
}
""",
    check=_unused_parameters,
)
