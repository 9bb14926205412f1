"""Findings of the sanitizer, the report that collects them, the error that carries it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from tileir import notebook
from tileir.cpp.demangling import source_name
from tileir.dialect.ops import ENTRY
from tileir.execute.errors import BlockId
from tileir.execute.locations.program_text import Spelling
from tileir.execute.locations.script import ScriptMessages, position_text
from tileir.execute.locations.source_locations import source_line, user_location
from tileir.execute.locations.wording import bracketed, parenthesized, phrase, several
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, TileIRError, help_note, location_prefix, note, position_of, source_of
from tileir.ir.location import UNKNOWN, FileLocation
from tileir.ir.traversal import ancestors

Index = tuple[int, ...]
ATOMIC_ADD: Final = phrase("(atomic_rmw_tko; in cuTile ct.atomic_add)", script="(ct.atomic_add)")

# Every kind of error the sanitizer reports, and what the watch for numbers does: mypy lets no other through.
Kind = Literal[
    "out-of-bounds", "misaligned", "read-only", "index-space", "inbounds", "uninitialized", "race", "unordered",
    "assume", "overflow", "division-by-zero", "shift", "index", "assert", "error", "unwritten", "written-twice",
]  # fmt: skip
WatchKind = Literal["nan", "infinity"]
NoteKind = Literal["note"]  # A remark, not an error: it fails no launch.
AnyKind = Literal[Kind, WatchKind, NoteKind]
Names = Literal["script", "tile"]  # Whose names reports have: the script's, where there is one, or the tile program's.
KINDS: Final[tuple[str, ...]] = get_args(Kind)


@dataclass(slots=True, eq=False)
class FindingLocation:
    """Where something happened: an operation, a tile block and an element of the tile, None for no single one."""

    operation: Operation
    block: BlockId | None
    element: Index | None = None

    @property
    def words(self) -> str:
        """As in `tile block (1, 0, 0), element [3]`."""
        if self.block is None:
            return ""
        text = f"tile block {parenthesized(self.block)}"
        if self.element:
            text += f", element {bracketed(self.element)}"
        return text


@dataclass(slots=True, eq=False)
class Finding:
    """One error of one operation; `count` is how often it occurred, `location` where it occurred first.

    `kind` is one of the kinds in docs/tools/sanitizer.md, `title` a one-line summary, `details` has the numbers,
    `other` is the second operation, for example in a race, and `relation` the word before it.  `correction` has the
    corrected lines of the script, as they are shown below `help`.  Notes are findings of kind "note".
    """

    kind: AnyKind
    title: str
    location: FindingLocation
    details: list[str]
    help: str
    relation: str = ""
    other: FindingLocation | None = None
    count: int = field(default=1, init=False)
    correction: str = field(default="", init=False)

    @property
    def operation(self) -> Operation:
        return self.location.operation

    @property
    def block(self) -> BlockId | None:
        return self.location.block

    @property
    def element(self) -> Index | None:
        return self.location.element

    def worded(self, names: Names = "script") -> Finding:
        """The finding in whose words its text is: those of the script, where it comes from one."""
        words = words_for(names)
        title, help = _said(self.title, self, words), _help(self, words)
        details = [_said(detail, self, words) for detail in self.details]
        found = Finding(self.kind, title, self.location, details, help, self.relation, self.other)
        found.count = self.count
        return found

    def render(self, names: Names = "script") -> str:
        """The finding as a paragraph."""
        return _paragraph(self, Spelling(), words_for(names))

    def __repr__(self) -> str:
        return f"Finding({self.kind!r}, {self.title!r}, {self.location.words})"


class SanitizerReport:
    """All findings of a launch, in the order in which they were first seen; true if there are any.

    `notes` are observations that are not errors.  `names` selects the names in the text: "script" for those of the
    script that the program comes from, if it is available, or "tile" for those of the tile program.
    """

    def __init__(self, author: str = "sanitizer", nothing: str = "nothing found") -> None:
        self.author: str = author
        self.nothing: str = nothing  # The text of a report without findings.
        self.findings: list[Finding] = []
        self.notes: list[Finding] = []
        self.kernel: str = ""
        self.grid: BlockId = (1, 1, 1)
        self.names: Names = "script"

    def __bool__(self) -> bool:
        return bool(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def add(self, finding: Finding) -> None:
        (self.notes if finding.kind == "note" else self.findings).append(finding)
        if not self.kernel:
            around = [finding.operation, *ancestors(finding.operation)]
            self.kernel = next((one.symbol_name or "" for one in around if one.declaration is ENTRY), "")

    @property
    def kinds(self) -> list[str]:
        """The kind of each finding."""
        return [finding.kind for finding in self.findings]

    def render(self, names: Names | None = None) -> str:
        """The whole report."""
        words = words_for(names or self.names)
        in_script = words is not None and any(
            words.expression(finding.operation) is not None for finding in [*self.findings, *self.notes]
        )
        kernel = f"{'' if in_script else '@'}{source_name(self.kernel)}, " if self.kernel else ""
        where = f"{kernel}grid {parenthesized(self.grid)}"
        count = len(self.findings)
        what = several(count, "finding") if count else self.nothing
        spelling = Spelling()
        head = f"{self.author}: {what} in {where}"
        return "\n\n".join([head, *[_paragraph(finding, spelling, words) for finding in [*self.findings, *self.notes]]])

    def __str__(self) -> str:
        return self.render()

    def _repr_html_(self) -> str:
        caption, *findings = self.render().split("\n\n")
        return notebook.report(caption, findings)

    def __repr__(self) -> str:
        found = ", ".join(dict.fromkeys(self.kinds)) or "nothing"
        return f"<SanitizerReport of @{self.kernel}: {several(len(self.findings), 'finding')} ({found})>"


class SanitizerError(TileIRError):
    """A sanitized launch has findings: `report` has all of them, and the message is its text."""

    def __init__(self, report: SanitizerReport) -> None:
        diagnostics = []
        words = words_for(report.names)
        for finding in report.findings:
            notes = [note(f"in {finding.location.words}", UNKNOWN)] if finding.location.words else []
            if finding.other is not None:
                there = user_location(finding.other.operation.location)
                notes.append(note(f"{finding.relation} {finding.other.words}", there))
            details = [_said(text, finding, words) for text in finding.details]
            notes += [note(text, UNKNOWN) for text in details]
            notes += [help_note(_help(finding, words))] if finding.help else []
            message = f"{finding.kind}: {_said(finding.title, finding, words)}"
            diagnostics.append(Diagnostic("error", message, user_location(finding.operation.location), notes))
        super().__init__(diagnostics)
        self.report: SanitizerReport = report

    def __str__(self) -> str:
        return self.report.render()


def words_for(names: Names) -> ScriptMessages | None:
    """What puts reports in a script's words; None for those of the tile program."""
    return ScriptMessages() if names == "script" else None


def _said(text: str, finding: Finding, words: ScriptMessages | None) -> str:
    if words is None:
        return text
    other = finding.other.operation if finding.other is not None else None
    return words.said(text, finding.operation, other, whole=finding.kind in get_args(WatchKind))


def _help(finding: Finding, words: ScriptMessages | None) -> str:
    return _said(finding.help, finding, words) + (finding.correction if words is not None else "")


def _paragraph(finding: Finding, spelling: Spelling, words: ScriptMessages | None) -> str:
    lines = [f"{finding.kind}: {_said(finding.title, finding, words)}"]
    lines += _shown("-->", finding.location, spelling, words)
    if finding.other is not None and finding.other.operation is finding.operation:
        in_script = words is not None and words.expression(finding.operation) is not None
        same = "line" if in_script else "operation"
        lines.append(f"  {finding.relation} the same {same}, {finding.other.words}")
    elif finding.other is not None:
        lines += _shown(finding.relation, finding.other, spelling, words)
    lines += [f"  {_said(detail, finding, words)}" for detail in finding.details]
    if finding.count > 1:
        lines.append(f"  seen {finding.count} times")
    if finding.help:
        lines.append(f"  = help: {_help(finding, words)}")
    return "\n".join(lines)


_MARGIN = "      "


def _shown(relation: str, place: FindingLocation, spelling: Spelling, words: ScriptMessages | None) -> list[str]:
    """A location with its source line, or else with the printed operation."""
    location = user_location(place.operation.location)
    if words is not None and isinstance(location, FileLocation) and words.expression(place.operation) is not None:
        head = ", ".join([part for part in (position_text(location), place.words) if part])
        return [f"  {relation} {head}", *words.shown(place.operation, _MARGIN)]
    position = location_prefix(location).removesuffix(": ")
    lines = [f"  {relation} {', '.join([part for part in (position, place.words) if part])}"]
    source = source_of(location)
    found = position_of(location)
    line = source_line(location)
    if found is not None and (source is not None or line):
        text, column = source.excerpt(found.line, found.column) if source is not None else (line, found.column)
        start = len(text) - len(text.lstrip())
        number = f"{found.line:5}"
        lines.append(f"{number} | {text.strip()}")
        lines.append(f"{_MARGIN}| {' ' * max(column - 1 - start, 0)}^")
    # Where the source is another language, as cuTile, the operation is still to be seen.
    if source is None or not lines[1].count(place.operation.declaration.mnemonic):
        lines.append(f"{_MARGIN}| {spelling.line(place.operation)}")
    return lines
