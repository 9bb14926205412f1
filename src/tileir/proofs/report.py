"""`Proof`: the answers about a kernel, as text, as plain values for JSON, and as diagnostics for lint and editors."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tileir.cpp.demangling import source_name
from tileir.dialect.ops import ENTRY
from tileir.dialect.types import PointerType, TileType
from tileir.execute.arguments.argument_text import LaunchDescription
from tileir.execute.locations.program_text import Spelling
from tileir.execute.locations.source_locations import user_location
from tileir.execute.locations.wording import parenthesized
from tileir.execute.sanitizer.report import Finding, SanitizerError, SanitizerReport
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, location_prefix, note, position_of
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import several
from tileir.ir.traversal import ancestors
from tileir.proofs.records import Assumption, Claim

WORDS: Final = {
    "bounds": "Every access lies within its array, or is masked or padded.",
    "race": "No two tile blocks access the same element, one of them to write, without an order between them.",
    "tokens": "Tokens order accesses of one tile block to the same element.",
    "coverage": "Every element of the outputs is written, and none by two tile blocks.",
    "termination": "Every loop ends.",
    "overflow": "No integer that an index is computed from overflows.",
    "division": "Nothing is divided by zero.",
    "asserts": "Every assert and assume holds.",
}
"""The statement that each question is about."""
RULES: Final = {
    f"prove-{name}": ("error", f"Refuted: {words}", "The message names a launch that shows it, and repeats it.")
    for name, words in WORDS.items()
}
"""Refuted questions as rules of SARIF: level, what it is about, and more."""

RUN: Final = "tileir run FILE"
_HOW: Final = {"errors": "--sanitize", "all": "--sanitize=all", "": "--backend=interpreter"}
_MOST_NUMBERS: Final = 4
_MOST_REASONS: Final = 4
_WIDEST: Final = 60
_VERDICTS: Final = ("proved", "refuted", "unknown")
_MARGIN: Final = "  "


@dataclass(eq=False)
class Answer:
    """One question about a kernel, after candidates have been run.

    What refutes it is `launch`, the grid and arguments as `tileir run` takes them, and `finding`, what the sanitizer
    reported there.
    """

    question: str
    verdict: Literal["proved", "refuted", "unknown"]
    claims: list[Claim] = field(repr=False)
    launch: LaunchDescription | None = None
    finding: Finding | None = None
    sanitize: str = field(default="errors", repr=False)
    """How `tileir run --sanitize` finds the same; empty where the interpreter does without a sanitizer."""

    refuting: Claim | None = field(default=None, repr=False)
    """The claim that is refuted."""

    names: Sequence[str] = field(default=(), repr=False)
    """Those of the kernel's parameters in the script that it is from."""

    @property
    def excluded_by(self) -> str:
        """The option that excludes the launch which refutes the question; empty if none was found."""
        settled_by = self.refuting.settled_by if self.refuting is not None else ""
        return f"--assume {shlex.quote(settled_by)}" if settled_by else ""

    @property
    def instance(self) -> str:
        """`for n = 129 and block 1`: the numbers of the launch that refutes it."""
        if self.launch is None or self.finding is None:
            return ""
        spelling, numbers = Spelling(), []
        entry = next((each for each in ancestors(self.finding.operation) if each.declaration is ENTRY), None)
        parameters = entry.regions[0].blocks[0].arguments if entry is not None else []
        names = self.names or [spelling.value(each).removeprefix("%") for each in parameters]
        for parameter, word, name in zip(parameters, self.launch.arguments, names, strict=False):
            is_array = isinstance(parameter.type, TileType) and isinstance(parameter.type.element, PointerType)
            if not is_array and ".strides[" not in name:
                numbers.append(f"{name} = {word}")
        parts = numbers[:_MOST_NUMBERS] + ([".."] if len(numbers) > _MOST_NUMBERS else [])
        grid, block = self.launch.grid, self.finding.block
        if block is None:
            parts.append(f"grid {','.join([str(extent) for extent in grid])}")
        else:
            parts.append(f"block {block[0] if len(grid) == 1 else parenthesized(block[: len(grid)])}")
        return f"for {', '.join(parts[:-1])}{' and ' if len(parts) > 1 else ''}{parts[-1]}"

    def command(self, run: str = RUN) -> str:
        """The command that repeats the launch; `run` is its beginning, which names the program."""
        assert self.launch is not None, "it is refuted"
        return f"{run} {shlex.join([_HOW[self.sanitize], *self.launch.options])}"

    def _lines(self, verbose: bool) -> Iterator[str]:
        head = f"{_MARGIN}{self.question:12} {self.verdict:8}  "
        if self.verdict == "refuted":
            yield head + self.instance
        elif self.verdict == "proved":
            yield head + (several(len(self.claims), "claim") if self.claims else "nothing to check")
        lines: list[str] = []
        if self.verdict == "unknown":
            reasons = list(_reasons([claim for claim in self.claims if claim.verdict != "proved"]))
            lines = reasons if verbose else reasons[:_MOST_REASONS]
            if len(lines) < len(reasons):
                lines.append(f"and {several(len(reasons) - len(lines), 'line')} more: -v shows them")
            yield head + lines.pop(0)
        if verbose:
            lines += [f"proved: {location_text(claim.operation)}" for claim in self.claims if claim.verdict == "proved"]
        yield from [f"{' ' * len(head)}{line}" for line in lines]

    def to_dict(self, run: str = RUN) -> dict[str, Any]:
        found: dict[str, Any] = {"verdict": self.verdict}
        found["claims"] = [
            {
                "verdict": each.verdict,
                "at": location_text(each.operation),
                "reason": each.reason,
                "settled_by": each.settled_by,
            }
            for each in self.claims
        ]
        if self.finding is not None and self.launch is not None:
            finding = self.finding.worded()
            found["launch"] = {"grid": list(self.launch.grid), "arguments": list(self.launch.arguments)}
            found["instance"], found["command"] = self.instance, self.command(run)
            found["excluded_by"] = self.excluded_by
            found["finding"] = {
                "kind": finding.kind,
                "title": finding.title,
                **_position(finding.operation),
                "block": finding.block,
                "details": finding.details,
                "help": finding.help,
            }
        return found


@dataclass(eq=False)
class Proof:
    """What `tileir.prove` found: `proof["race"].verdict` is "proved", "refuted" or "unknown".

    `contract` is what the launches have in common that the proof is about.
    """

    kernel: str
    contract: tuple[Assumption, ...]
    answers: dict[str, Answer] = field(default_factory=dict)
    seconds: float = 0.0

    def __getitem__(self, question: str) -> Answer:
        return self.answers[question]

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"<Proof of {self.summary()}>"

    @property
    def refuted(self) -> list[Answer]:
        return [answer for answer in self.answers.values() if answer.verdict == "refuted"]

    def summary(self) -> str:
        """`@k: 6 proved, 1 refuted, 1 unknown`."""
        counts = Counter([answer.verdict for answer in self.answers.values()])
        texts = [f"{counts[each]} {each}" for each in _VERDICTS if counts[each]]
        return f"@{source_name(self.kernel)}: {', '.join(texts)}"

    def render(self, run: str = RUN, *, verbose: bool = False) -> str:
        """The answers, the contract, and each finding with the command that repeats it.

        `run` begins the command; `verbose` lists every claim.
        """
        lines = [f"{self.summary()} in {self.seconds:.2g} s"]
        for answer in self.answers.values():
            lines += answer._lines(verbose)
        lines += [f"{_MARGIN}for every launch{' with' if self.contract else ''}"]
        width = min(max([len(each.text) for each in self.contract], default=0), _WIDEST)
        lines += [f"{_MARGIN * 2}{each.text:{width}}  {each.source}" for each in self.contract]
        for answer in self.refuted:
            assert answer.finding is not None
            lines += ["", answer.finding.render(), f"{_MARGIN}= repeat: {answer.command(run)}"]
            if answer.excluded_by:
                lines.append(f"{_MARGIN}= if callers guarantee it: {answer.excluded_by}")
        return "\n".join(lines)

    def to_dict(self, run: str = RUN) -> dict[str, Any]:
        """All of it, of plain values for JSON."""
        contract = [{"text": each.text, "source": each.source} for each in self.contract]
        answers = {question: answer.to_dict(run) for question, answer in self.answers.items()}
        return {"kernel": self.kernel, "seconds": round(self.seconds, 3), "contract": contract, "answers": answers}

    def diagnostics(self, run: str = RUN) -> list[tuple[str, Diagnostic]]:
        """Each refuted question as an error, with the name of its rule."""
        found: list[tuple[str, Diagnostic]] = []
        for answer in self.refuted:
            report = SanitizerReport()
            assert answer.finding is not None
            report.add(answer.finding)
            (diagnostic,) = SanitizerError(report).diagnostics
            diagnostic.message = f"{diagnostic.message}, {answer.instance}"
            diagnostic.notes.append(note(f"repeat: {answer.command(run)}", UNKNOWN))
            if answer.excluded_by:
                diagnostic.notes.append(note(f"if callers guarantee it: {answer.excluded_by}", UNKNOWN))
            found.append((f"prove-{answer.question}", diagnostic))
        return found


def location_text(operation: Operation | None) -> str:
    """`k.mlir:8:14 store_ptr_tko`, as much of it as is known."""
    if operation is None:
        return ""
    where = location_prefix(user_location(operation.location)).removesuffix(": ")
    return f"{where} {operation.declaration.mnemonic}".strip()


def _position(operation: Operation) -> dict[str, Any]:
    found = position_of(user_location(operation.location))
    return {} if found is None else {"file": found.file, "line": found.line, "column": found.column}


def _reasons(claims: list[Claim]) -> Iterator[str]:
    """Why claims are unknown, each reason once, and what would settle it."""
    operations: dict[tuple[str, str], list[str]] = {}
    for claim in claims:
        operations.setdefault((claim.reason, claim.settled_by), []).append(location_text(claim.operation))
    for (reason, settled_by), (first, *others) in operations.items():
        where = f"{first} and {len(others)} more" if others else first
        yield ": ".join([text for text in (where, reason) if text])
        if settled_by:
            yield f"{_MARGIN}settled by --assume {shlex.quote(settled_by)}"
