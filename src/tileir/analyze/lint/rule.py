"""What a rule is, and what it finds.

A rule has a name, says why it matters and what to do, and carries two programs: one that has it, with `// here` at the
line of each finding, and one that does not.  They are its documentation and its tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tileir.analyze.lint.fixes import LintFix
from tileir.analyze.lint.subject import Subject
from tileir.annotations import Final
from tileir.execute.locations.source_locations import user_location
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, note
from tileir.ir.location import UNKNOWN, Location

WARNING: Final = "warning"
REMARK: Final = "remark"

# The groups, in the order of the documentation, with what is in them.
GROUPS: Final = {
    "unused": "what is computed and read for nothing",
    "memory": "loads, stores and the tokens that order them",
    "suspicious": "what is always the same, or cannot be meant",
    "numerics": "results that depend on an order, or leave the range of their type",
    "performance": "what another way of writing it makes cheaper, on any target",
    "hardware": "what a target has no room, no units or no instructions for",
    "portability": "what other versions or targets do not have",
    "style": "for who wants it; off unless it is selected",
    "silences": "comments that silence findings",
}


class LintFinding:
    """A place where a rule applies.

    `location` is that of the operation unless it is given.  `notes` say more, each with the operation it is about.
    `rule` is the name of the rule, which the linter fills in.
    """

    __slots__ = ("fix", "location", "message", "notes", "operation", "remedy", "rule", "severity")

    def __init__(
        self,
        operation: Operation | None,
        message: str,
        *,
        notes: Iterable[tuple[str, Operation | None]] = (),
        fix: LintFix | None = None,
        remedy: str = "",
        location: Location | None = None,
    ) -> None:
        self.operation: Operation | None = operation
        self.message: str = message
        self.notes: list[tuple[str, Operation | None]] = list(notes)
        self.fix: LintFix | None = fix
        self.remedy: str = remedy
        """What to do here, where that is more than the rule says."""
        if location is None:
            location = operation.location if operation is not None else UNKNOWN
        self.location: Location = location
        self.rule: str = ""
        self.severity: str = WARNING

    def diagnostic(self, reasons: tuple[str, ...] = ()) -> Diagnostic:
        """The finding as tools show it: the name of its rule at the end, then the notes, then `reasons`."""
        notes = [
            note(words, user_location(about.location) if about is not None else UNKNOWN) for words, about in self.notes
        ]
        notes.extend([note(words, UNKNOWN) for words in reasons])
        return Diagnostic(self.severity, f"{self.message} [{self.rule}]", self.location, notes)

    def __str__(self) -> str:
        return self.diagnostic().render()

    def __repr__(self) -> str:
        return str(self.diagnostic())


Check = Callable[[Subject], Iterable[LintFinding]]


class Rule:
    """A rule.

    `reason` says why it matters, `remedy` what to do; both are sentences.  `positive` is a program with findings, each
    line of which ends in `// here`, `negative` one that looks like it and has none.  `targets` and `version` are those
    that the two are looked at for.  `for_scripts` says whether the author of a cuTile script can do something about
    what is found in the program that cuTile makes of it.  `check` is called for every kernel, with `per_module` once
    for every module; None for what the linter itself finds.
    """

    __slots__ = (
        "check",
        "default",
        "for_scripts",
        "group",
        "name",
        "negative",
        "per_module",
        "positive",
        "reason",
        "remedy",
        "severity",
        "summary",
        "targets",
        "version",
    )

    def __init__(
        self,
        name: str,
        group: str,
        summary: str,
        *,
        reason: str,
        remedy: str,
        positive: str,
        negative: str,
        check: Check | None,
        severity: str = WARNING,
        default: bool = True,
        per_module: bool = False,
        for_scripts: bool = True,
        targets: tuple[str, ...] = (),
        version: str = "",
    ) -> None:
        self.name: str = name
        self.group: str = group
        self.summary: str = summary
        self.reason: str = reason
        self.remedy: str = remedy
        self.positive: str = positive
        self.negative: str = negative
        self.check: Check | None = check
        self.severity: str = severity
        self.default: bool = default
        self.per_module: bool = per_module
        self.for_scripts: bool = for_scripts
        self.targets: tuple[str, ...] = targets
        self.version: str = version

    @property
    def link(self) -> str:
        """Where it is documented."""
        return f"docs/lint.md#{self.name}"

    def __repr__(self) -> str:
        return f"<Rule {self.name}>"
