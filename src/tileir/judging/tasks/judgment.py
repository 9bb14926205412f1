"""`Judgment`: what a verdict means for one candidate of one task: checks, a reason, a score, a page."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, NamedTuple

from tileir import notebook
from tileir.judging.cheats import cheat_of
from tileir.judging.model import FINE, JudgeStage, Verdict

CheckOutcome = Literal["passed", "failed", "unknown", "skipped"]


class _Rule(NamedTuple):
    """A check: the steps that decide it, and the reason where one of them fails."""

    steps: tuple[str, ...]
    reason: str


_RULES: Final[dict[str, _Rule]] = {
    "honest": _Rule(("tampering", "provenance"), "cheat"),
    "compiles": _Rule(("start", "import", "compile"), "compile-error"),
    "kernels": _Rule(("launches",), "cheat:no-kernel"),
    "in-bounds": _Rule(("bounds",), "out-of-bounds"),
    "race-free": _Rule(("races",), "race"),
    "sanitized": _Rule(("sanitize",), "sanitizer"),
    "runs": _Rule(("run",), "runtime-error"),
    "shapes": _Rule(("results",), "wrong-shape"),
    "written": _Rule(("written",), "unwritten-output"),
    "precise": _Rule(("precise",), "imprecise"),
    "operations": _Rule(("operations", "frameworks"), "forbidden-operation"),
    "correct": _Rule(("correct",), "wrong-result"),
    "held-out": _Rule(("held-out",), "wrong-result"),
    "variants": _Rule(("variants",), "wrong-result"),
    "nonfinite": _Rule(("nonfinite",), "wrong-result"),
    "layouts": _Rule(("layouts",), "wrong-result"),
    "unchanged": _Rule(("unchanged",), "changed-input"),
    "deterministic": _Rule(("deterministic",), "nondeterministic"),
    "proved": _Rule(("prove",), "refuted"),
    "speed": _Rule(("cost", "time"), "too-slow"),
}
"""By check, in the order in which a failure is the reason: what explains others comes first."""
_KINDS: Final = {
    "bounds": ("out-of-bounds", "misaligned", "read-only", "index-space", "inbounds", "index"),
    "races": ("race", "unordered"),
    "written": ("unwritten", "written-twice", "uninitialized"),
}
"""Findings of the sanitizer, by the step that they decide."""
_OF_CANDIDATE: Final = ("compiles", "runs", "kernels", "held-out")
"""Checks for which the candidate itself runs."""
_CORRECTNESS: Final = ("correct", "held-out", "variants", "nonfinite", "layouts")
_OUTCOME_REASONS: Final = {"timeout": "timeout", "memory": "memory", "forbidden": "forbidden", "crashed": "crash"}
_UNSUPPORTED: Final = "unsupported"
RULE: Final = (
    "0 if no kernel computed the results, a cheat was found, or it does not compile; 0.1 if it compiles and 0.2 if it "
    "runs; up to 0.3 more for the share of correctness checks that passed; 0.5 if only other checks failed; "
    "accepted: 0.6 + 0.4 s / (1 + s), where s is the speedup over the baseline, or 0.8 where there is none"
)
"""How a score is made."""


@dataclass(slots=True)
class JudgeCheck:
    """One thing that was checked about a candidate."""

    name: str
    outcome: CheckOutcome
    message: str = ""
    """For the author of the candidate."""
    evidence: dict[str, Any] = field(default_factory=dict)
    """JSON values: findings, counts, elements, figures."""
    reason: str = ""
    """If it failed: the cause that programs act on."""


@dataclass(eq=False)
class Judgment:
    """What came of one candidate for one task (docs/tools/judge.md)."""

    task: str
    candidate: str
    accepted: bool
    score: float
    """From 0 to 1, by the rule in the documentation."""
    reason: str
    """`correct`, or the cause of the first failure: `wrong-result`, `race`, `timeout`, `cheat:no-kernel`, .."""
    message: str
    """One line for the author of the candidate."""
    checks: list[JudgeCheck]
    seed: int
    """Of the inputs: with the same one they are the same."""
    seconds: float
    """What judging took."""
    output: str = field(default="", repr=False)
    """What the candidate printed."""

    def __getitem__(self, name: str) -> JudgeCheck:
        """The check of a name."""
        return next(check for check in self.checks if check.name == name)

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(asdict(self), indent=2)

    def html(self) -> str:
        """A page that needs nothing else."""
        title = html.escape(f"{self.candidate} for {self.task}: {self.reason}")
        return _PAGE.format(title=title, body=self._repr_html_())

    def __str__(self) -> str:
        state = "accepted" if self.accepted else f"not accepted, {self.reason}"
        lines = [f"{self.candidate}: {state}, score {self.score:.2f}"]
        for check in self.checks:
            first = check.message.strip().partition("\n")[0]
            lines.append(f"  {check.outcome:8} {check.name:14} {first}".rstrip())
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Judgment {self.reason}, score {self.score:.2f}>"

    def _repr_html_(self) -> str:
        rows = [("score", [f"{self.score:.2f}", RULE]), ("reason", [self.reason, self.message])]
        rows += [(check.name, [check.outcome, *check.message.splitlines()[:1]]) for check in self.checks]
        texts = [
            "\n".join([f"{check.name}: {check.outcome}", check.message, json.dumps(check.evidence, indent=2)])
            for check in self.checks
        ]
        state = "accepted" if self.accepted else "not accepted"
        return notebook.table(f"{self.candidate} for {self.task}: {state}", rows) + notebook.report("evidence", texts)


_PAGE: Final = (
    '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n'
    '<meta name="color-scheme" content="light dark">\n'
    '<body style="font-family:sans-serif;margin:2em">{body}</body></html>\n'
)


JUDGED: Final = "judged"
"""The step that has what others amount to."""


def add_judgment(verdict: Verdict) -> None:
    """Add the step `judged` to the verdict on a candidate for a task, which is then accepted or not."""
    found = judgment_of("", "", verdict, 0)
    details = {"accepted": found.accepted, "reason": found.reason, "score": found.score}
    verdict.steps.append(JudgeStage(JUDGED, "passed" if found.accepted else "failed", details=details))
    if found.accepted:
        verdict.outcome, verdict.cause = "passed", ""
    else:
        verdict.steps[-1].message, verdict.steps[-1].cause = found.message, found.reason
        if verdict.outcome == "passed":
            verdict.outcome, verdict.cause = "failed", found.reason


def judgment_of(task: str, candidate: str, verdict: Verdict, seed: int) -> Judgment:
    """What the steps of a verdict amount to."""
    checks = list(_checks(verdict.steps))
    failed = [check for check in checks if check.outcome == "failed"]
    first = failed[0] if failed else None
    reason = first.reason if first is not None else "correct"
    message = first.message.strip().partition("\n")[0] if first is not None else "all checks passed"
    seconds = verdict.measured.get("seconds", 0.0)
    return Judgment(
        task, candidate, not failed, score_of(checks), reason, message, checks, seed, seconds, verdict.output
    )


def _checks(steps: Sequence[JudgeStage]) -> Iterable[JudgeCheck]:
    by_name: dict[str, list[JudgeStage]] = {}
    is_right = all(step.outcome == "passed" for step in steps if step.name in ("results", *_CORRECTNESS))
    for step in [part for each in steps for part in _parts(each, is_right)]:
        by_name.setdefault(step.name.partition(" ")[0], []).append(step)
    for name, rule in _RULES.items():
        found = [step for each in rule.steps for step in by_name.get(each, ())]
        if found:
            yield _check(name, rule, found)


def _parts(step: JudgeStage, is_right: bool) -> Iterable[JudgeStage]:
    """A step; for the sanitizer, one for each kind of finding."""
    if step.name != "sanitize":
        return [step]
    found = step.details.get("findings", [])
    groups: dict[str, list[dict[str, Any]]] = {name: [] for name in (*_KINDS, "sanitize")}
    for finding in found:
        groups[next((name for name, kinds in _KINDS.items() if finding["kind"] in kinds), "sanitize")].append(finding)
    parts: list[JudgeStage] = []
    for name, findings in groups.items():
        if not findings and (found or name == "sanitize") and step.outcome in (*FINE, "failed"):
            parts += [JudgeStage(name, "passed")] if name != "sanitize" else []
            continue
        message = "; ".join([f"{each['kind']}: {each['title']}" for each in findings]) or step.message
        details = {"findings": findings, "report": step.message} if findings else {}
        # Memory that nobody wrote to holds what no result is: where results are right, nothing was to be written.
        outcome = "passed" if not findings and step.outcome in FINE else step.outcome
        outcome = "passed" if name == "written" and is_right and findings else outcome
        parts.append(JudgeStage(name, "skipped" if step.outcome == "skipped" else outcome, message, details=details))
    return parts


def _check(name: str, rule: _Rule, steps: list[JudgeStage]) -> JudgeCheck:
    worst = next((step for step in steps if step.outcome not in FINE), steps[-1])
    evidence = {**worst.details, **worst.measured}
    if worst.outcome in FINE:
        is_open = worst.details.get("unknown", False)
        return JudgeCheck(name, "unknown" if is_open else "passed" if worst.outcome == "passed" else "skipped",
                          worst.message, evidence)  # fmt: skip
    if worst.outcome != "failed" and name not in _OF_CANDIDATE:
        # The judge's own work came to no end, which is nobody's fault.
        return JudgeCheck(name, "unknown", worst.message, evidence)
    reason = _OUTCOME_REASONS.get(worst.outcome, _UNSUPPORTED if worst.outcome == "refused" else "")
    if cheat_of(worst.cause):
        reason = worst.cause
    reason = reason or str(worst.details.get("reason", rule.reason))
    return JudgeCheck(name, "failed", worst.message, evidence, reason)


def score_of(checks: Sequence[JudgeCheck]) -> float:
    """One number for checks, by `RULE`."""
    found = {check.name: check for check in checks}
    failed = [check for check in checks if check.outcome == "failed"]
    is_cheat = any(check.reason == "forbidden" or check.reason.startswith("cheat") for check in failed)
    if is_cheat or _state(found, "compiles") != "passed":
        return 0.0
    if not failed:
        speedup = found["speed"].evidence.get("speedup") if "speed" in found else None
        return round(0.6 + 0.4 * speedup / (1 + speedup), 4) if speedup else 0.8
    if _state(found, "runs") != "passed":
        return 0.1
    right = [found[name].outcome == "passed" for name in _CORRECTNESS if name in found]
    if right and all(right):
        return 0.5
    return round(0.2 + 0.3 * sum(right) / len(right), 4) if right else 0.2


def _state(found: dict[str, JudgeCheck], name: str) -> str:
    return found[name].outcome if name in found else "skipped"
