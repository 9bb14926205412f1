"""What a rule is, and what it finds.

    @Rule("style", "A kernel prints", reason="..", remedy="..", example="..")
    def print_in_kernel(subject: Subject) -> Iterable[LintFinding]:
        for printing in subject.operations(PRINT_TKO):
            yield LintFinding(printing, "the kernel prints")

A rule stands in a module of `rules/`, and is found there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tileir import notebook
from tileir.analyze.lint.fixes import LintFix
from tileir.analyze.lint.subject import Subject
from tileir.annotations import Final
from tileir.execute.locations.source_locations import user_location
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, help_note, note
from tileir.ir.location import UNKNOWN, Location
from tileir.ir.quoting import several

WARNING: Final = "warning"
REMARK: Final = "remark"
MARK: Final = " // here"

# The groups, in the order of the documentation, with what is in them.
GROUPS: Final = {
    "unused": "what is computed and read for nothing",
    "memory": "loads, stores and the tokens that order them",
    "suspicious": "what is always the same, or cannot be meant",
    "numerics": "results that depend on an order, or leave the range of their type",
    "performance": "what another way of writing it makes cheaper, on any target",
    "hardware": "what a target has no room, no units or no instructions for",
    "portability": "what other versions or targets do not have",
    "style": "optional; off unless it is selected",
    "silences": "comments that silence findings",
}

Note = tuple[str, Operation | None]
"""A sentence, and the operation it is about."""


@dataclass(slots=True, repr=False, eq=False)
class LintFinding:
    """What a rule finds at an operation; `location` is that of the operation unless it is given."""

    operation: Operation | None
    message: str
    notes: Sequence[Note] = ()
    fix: LintFix | None = None
    remedy: str = ""
    """What to do here, if that is more specific than the rule's advice."""
    location: Location = UNKNOWN
    rule: str = ""
    """The name of the rule, which the linter fills in."""
    severity: str = WARNING

    def __post_init__(self) -> None:
        if self.location is UNKNOWN and self.operation is not None:
            self.location = self.operation.location

    def diagnostic(self, reasons: tuple[str, ...] = (), help: str = "") -> Diagnostic:
        """The finding as tools show it: the name of its rule at the end, then the notes, `reasons` and `help`."""
        notes = [note(text, user_location(about.location) if about else UNKNOWN) for text, about in self.notes]
        notes.extend([note(text, UNKNOWN) for text in reasons])
        notes.extend([help_note(help)] if help else [])
        return Diagnostic(self.severity, f"{self.message} [{self.rule}]", self.location, notes)

    def __str__(self) -> str:
        return self.diagnostic().render()

    def __repr__(self) -> str:
        return str(self.diagnostic())


class LintFindings(list[LintFinding]):
    """What `tileir.lint` returns: a list that a notebook shows."""

    def _repr_html_(self) -> str:
        return notebook.report(several(len(self), "finding"), [str(finding) for finding in self])


Check = Callable[[Subject], Iterable[LintFinding]]


@dataclass(slots=True, eq=False)
class Rule:
    """A rule, and the decorator of the function that finds where it applies, after which it is called.

    `reason` is why it matters, `remedy` what to do; both are sentences.  `example` is two programs in one, as `diff`
    shows them: lines that begin with `-` are in the program with findings, each of whose lines ends in `// here`; lines
    that begin with `+` are in the one without; all others are in both.  Or it is a pair of programs.  The `return` and
    the brace at the end are left out.  `targets` and `version` are the settings for both.  `for_scripts` is true if the
    author of a cuTile or Triton script can act on a finding in the compiled program, and `script_remedy` is what to do,
    where `remedy` has terms of tile programs.  The function is called for every kernel, with `per_module` for every
    module.
    """

    group: str
    summary: str
    reason: str
    remedy: str
    example: str | tuple[str, str] = field(repr=False)
    severity: str = WARNING
    default: bool = True
    per_module: bool = False
    for_scripts: bool = True
    script_remedy: str = ""
    targets: tuple[str, ...] = ()
    version: str = ""
    check: Check | None = None
    """None for what the linter itself finds."""
    name: str = ""

    def __call__(self, check: Check) -> Rule:
        self.check, self.name = check, check.__name__.replace("_", "-")
        return self

    @property
    def positive(self) -> str:
        """The program with findings."""
        return self._program(0, "+")

    @property
    def negative(self) -> str:
        """The program that looks like it and has none."""
        return self._program(1, "-").replace(MARK, "")

    def _program(self, number: int, left_out: str) -> str:
        if isinstance(self.example, tuple):
            lines = self.example[number].splitlines()
        else:
            lines = [line[1:] for line in self.example.splitlines() if line[0] != left_out]
        return "\n".join([*lines, "  return", "}", ""])
