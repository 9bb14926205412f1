"""Advice about programs that are correct: what is useless, slow, not portable or a mistake in all likelihood.

    rule        what a rule is: a name, a reason, a remedy, and a function that finds where it applies
    subject     what rules are given: a kernel with its facts, and the targets that are asked about
    rules/      the rules, one idea each
    settings    which rules are on, as the command line and `pyproject.toml` say; comments that silence a line
    linting     programs in, diagnostics out

docs/lint.md lists the rules; `tileir explain` shows one.
"""
