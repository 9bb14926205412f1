"""What `tileir.lint`, `diff`, `reduce`, `explore` and `smith` return, and a program in each of its representations."""

from __future__ import annotations

from tileir.public import publish

publish(
    __name__,
    {
        "tileir.analyze.difference.changes": "ProgramChange",
        "tileir.analyze.difference.difference": "ProgramDifference",
        "tileir.analyze.forms.form": "Representation",
        "tileir.analyze.forms.forms": "Representations",
        "tileir.analyze.lint.fixes": "LintFix",
        "tileir.analyze.lint.rule": "LintFinding",
        "tileir.analyze.reducing.reduce": "Reduction ReductionProgress",
        "tileir.analyze.smith.program": "SMITH_FAMILIES SMITH_STREAM SmithProgram",
    },
    {
        "tileir.analyze.difference.semantic": "SemanticDifference",
        "tileir.serve.explorer.exploring": "Exploration",
    },
)
