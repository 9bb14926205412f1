"""Advice about correct programs: code that is useless, slow, not portable or probably wrong.

    rule            what a rule is: a name, a reason, a remedy, an example, and the function that finds where it applies
    rules/          the rules, one idea each; to add one, write a function under `@Rule(..)` in a module there
    subject         what rules are given: a kernel with what they share (equal values, what differs between tile blocks,
                    the GPUs it is meant for)
    fixes           what would remove a finding, as changes of a text
    configuration   which rules are on, by options and by `pyproject.toml`
    linting         programs in, findings out, but those that comments silence; a text with its fixes made

docs/tools/lint.md lists the rules; `tileir explain` shows one.
"""
