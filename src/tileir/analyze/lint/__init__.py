"""Advice about programs that are correct: what is useless, slow, not portable or a mistake in all likelihood.

    fixes           what would remove a finding, as changes of a text
    numbering, varying, targets
                    what rules share: values that are computed alike, what differs between tile blocks, what GPUs have
    subject         what rules are given: a kernel with all of this, and the targets that are asked about
    rule            what a rule is: a name, a reason, a remedy, and a function that finds where it applies
    rules/          the rules, one idea each
    settings        which rules are on; configuration: as `pyproject.toml` says
    silences        comments that silence findings
    linting         programs in, findings out
    fixing          a text with its fixes made

docs/lint.md lists the rules; `tileir explain` shows one.
"""
