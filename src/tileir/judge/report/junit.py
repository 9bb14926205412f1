"""A report as JUnit's XML, which build servers read: a suite for each step, a case for each program in it."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from tileir.judge.report.contents import Contents
from tileir.judge.report.entries import SweepEntry
from tileir.judge.verdicts.verdict import Outcome

_CRASHES = ("crashed", "timeout", "memory", "forbidden")
"""What JUnit calls an error: nobody has found anything wrong, the test has come to no end."""


def junit_report(contents: Contents) -> str:
    return "".join(_lines(contents))


def _lines(contents: Contents) -> Iterator[str]:
    yield "<?xml version='1.0' encoding='UTF-8'?>\n"
    yield f'<testsuites name="tileir" time="{contents.seconds:.3f}">\n'
    suites: dict[str, list[tuple[SweepEntry, Outcome]]] = {}
    for entry in contents.entries:
        for name, outcome in entry.steps or ((entry.step, entry.outcome),):
            suites.setdefault(name, []).append((entry, outcome))
    order = [step.name for step in contents.steps]
    for name in sorted(suites, key=lambda name: order.index(name) if name in order else len(order)):
        cases = suites[name]
        failed = sum([_element(outcome) == "failure" for _, outcome in cases])
        crashed = sum([_element(outcome) == "error" for _, outcome in cases])
        skipped = sum([_element(outcome) == "skipped" for _, outcome in cases])
        counts = f'tests="{len(cases)}" failures="{failed}" errors="{crashed}" skipped="{skipped}"'
        yield f"<testsuite name={_attribute(name or 'start')} {counts}>\n"
        for entry, outcome in cases:
            yield from _case(entry, name, outcome)
        yield "</testsuite>\n"
    yield "</testsuites>\n"


def _case(entry: SweepEntry, step: str, outcome: Outcome) -> Iterator[str]:
    head = f"<testcase classname={_attribute(step or 'start')} name={_attribute(entry.name)}"
    element = _element(outcome)
    if not element:
        yield f"{head}/>\n"
        return
    failure = next((each for each in entry.failures if each.step == step), None)
    if failure is None:
        yield f"{head}><{element}/></testcase>\n"
        return
    words = f"type={_attribute(outcome)} message={_attribute(failure.cause or outcome)}"
    if element == "skipped":
        words = f"message={_attribute(failure.cause or outcome)}"
    yield f"{head}><{element} {words}>{escape(_sound(failure.message))}</{element}></testcase>\n"


def _element(outcome: Outcome) -> str:
    if outcome == "passed":
        return ""
    if outcome in ("skipped", "refused"):
        return "skipped"
    return "error" if outcome in _CRASHES else "failure"


def _attribute(text: str) -> str:
    return quoteattr(_sound(text))


def _sound(text: str) -> str:
    """XML has no place for most control characters, not even escaped."""
    return "".join(
        [
            c if c in "\t\n\r" or (" " <= c < "\ud800") or "\ue000" <= c <= "\ufffd" or c > "\uffff" else "\ufffd"
            for c in text
        ]
    )
