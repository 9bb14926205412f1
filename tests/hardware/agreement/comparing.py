"""What a GPU found beside what the interpreter wants: element by element, each difference under the rule that allows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy
from tests.hardware.agreement.interpreting import Outcome
from tests.hardware.agreement.program import Pointer, Program, bits_of, dtype_of
from tests.hardware.agreement.rules import ASSEMBLER, DIFFERENT, OPEN, RULES, UNSPECIFIED, Differences
from tests.hardware.agreement.running import REFUSED as NO_CODE
from tests.hardware.agreement.running import Result

SAME = "same"
NOT_RUN = "not run"
REFUSED = "refused"
CLASSES = (SAME, OPEN, UNSPECIFIED, ASSEMBLER, DIFFERENT, REFUSED, NOT_RUN)


class Verdict(NamedTuple):
    program: Program
    kind: str
    """One of CLASSES."""
    rules: list[str]
    measures: list[tuple[str, str, float, str]]
    """Rule, what about (operation and type), the largest difference and its unit."""
    words: list[str]
    """The first elements that differ."""


def compare(program: Program, wanted: Outcome, found: Result, mistakes: bool = True) -> Verdict:
    """Sort a program; `mistakes` knows those of NVIDIA's assembler, which other code does not have."""
    if found.trouble.startswith(NO_CODE):
        return Verdict(program, REFUSED, [], [], [found.trouble.removeprefix(NO_CODE)])
    if program.memories and not found.memories:
        return Verdict(program, UNSPECIFIED if wanted.unspecified else NOT_RUN, wanted.unspecified, [], [found.trouble])
    differences = list(_differences(program, wanted.memories, found.memories))
    beside = _beside(program, wanted.memories, found.memories)
    if not differences and not beside and not found.trouble:
        return Verdict(program, SAME, [], [], [])
    words = [words for each in differences for words in each.words(6)][:12] + beside
    if found.trouble:
        words.insert(
            0, {"guard": "memory beside the arrays is changed", "unsteady": "the second run differs"}[found.trouble]
        )
    unspecified = [*wanted.unspecified, *(["bits of a NaN"] if program.details.get("nan bits") else [])]
    if unspecified:
        return Verdict(program, UNSPECIFIED, unspecified, [], words)
    kinds: set[str] = set()
    names: dict[str, None] = {}
    measures: list[tuple[str, str, float, str]] = []
    unexplained = bool(beside) or found.trouble == "guard"
    for each in differences:
        left = numpy.ones(each.indices.size, bool)
        each.notes = wanted.notes
        for rule in RULES:
            if not left.any() or not rule.applies(each) or (rule.kind == ASSEMBLER and not mistakes):
                continue
            explained, measured = rule.explains(each)
            explained = explained & left
            if not explained.any():
                continue
            left &= ~explained
            kinds.add(rule.kind)
            names[rule.name] = None
            if measured is not None:
                largest = float(numpy.max(measured[explained]))
                measures.append((rule.name, each.about, largest, rule.unit))
        if left.any():
            unexplained = True
            words = each.only(left).words(6) + words
    if unexplained:
        return Verdict(program, DIFFERENT, list(names), measures, words[:12])
    order = (ASSEMBLER, UNSPECIFIED, OPEN)
    kind = next((each for each in order if each in kinds), DIFFERENT)
    return Verdict(program, kind, list(names), measures, words)


def _differences(program: Program, wanted: list[bytes], found: list[bytes]) -> Iterator[Differences]:
    for number, argument in enumerate(program.arguments):
        if not isinstance(argument, Pointer):
            continue
        size = argument.length * dtype_of(argument.element).itemsize
        part = slice(argument.start, argument.start + size)
        right, left = (memories[argument.memory][part] for memories in (wanted, found))
        if left == right:
            continue
        # What random programs store through pointers to other types.
        for place, start, count, element in program.details.get("layout", ()):
            if place == number:
                piece = slice(start, start + count * dtype_of(element).itemsize)
                yield from _in_elements(program, number, element, right[piece], left[piece])
                left = left[: piece.start] + right[piece] + left[piece.stop :]
        yield from _in_elements(program, number, argument.element, right, left)


def _in_elements(program: Program, number: int, element: str, wanted: bytes, found: bytes) -> Iterator[Differences]:
    right, left = bits_of(element, wanted), bits_of(element, found)
    indices = numpy.flatnonzero(left != right)
    if indices.size:
        yield Differences(program, number, element, indices, right[indices], left[indices])


def _beside(program: Program, wanted: list[bytes], found: list[bytes]) -> list[str]:
    """Bytes that differ outside of all arrays."""
    words = []
    for number, (right, left) in enumerate(zip(wanted, found, strict=True)):
        wrong = numpy.frombuffer(right, numpy.uint8) != numpy.frombuffer(left, numpy.uint8)
        for argument in program.arguments:
            if isinstance(argument, Pointer) and argument.memory == number:
                wrong[argument.start : argument.start + argument.length * dtype_of(argument.element).itemsize] = False
        if wrong.any():
            words.append(
                f"memory {number}: {int(wrong.sum())} bytes differ from byte {int(numpy.flatnonzero(wrong)[0])} on"
            )
    return words


def optimizers_mistake(verdict: Verdict, unoptimized: Verdict) -> Verdict:
    """A program that does not end, or is wrong, as the assembler optimizes it, and is not if it does not."""
    if unoptimized.kind in (DIFFERENT, NOT_RUN):
        return verdict
    words = [f"without optimization: {unoptimized.kind}", *verdict.words]
    return verdict._replace(kind=ASSEMBLER, rules=["optimizer"], words=words)


# --- reports ---


def counts(verdicts: list[Verdict]) -> dict[str, Counter[str]]:
    """By family, how many programs are of each class."""
    found: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.program.family, Counter())[verdict.kind] += 1
    return found


def table_of_classes(verdicts: list[Verdict]) -> str:
    found = counts(verdicts)
    lines = ["| programs | " + " | ".join(CLASSES) + " | all |", "|---" * (len(CLASSES) + 2) + "|"]
    total: Counter[str] = Counter()
    for family, counter in found.items():
        total += counter
        lines.append(_row(family, counter))
    lines.append(_row("all", total))
    return "\n".join(lines)


def _row(name: str, counter: Counter[str]) -> str:
    return f"| {name} | " + " | ".join([str(counter[kind]) for kind in CLASSES]) + f" | {counter.total()} |"


def table_of_measures(verdicts: list[Verdict]) -> str:
    """The largest difference seen under each rule for each operation and type."""
    largest: dict[tuple[str, str], tuple[float, str, int]] = {}
    for verdict in verdicts:
        for rule, about, measure, unit in verdict.measures:
            old, _, count = largest.get((rule, about), (0.0, "", 0))
            largest[rule, about] = (max(old, measure), unit, count + 1)
    lines = ["| rule | operation | largest difference | programs |", "|---|---|---|---|"]
    for (rule, about), (measure, unit, count) in sorted(largest.items()):
        lines.append(f"| {rule} | {about} | {measure:.4g} {unit} | {count} |")
    return "\n".join(lines)


def table_of_rules(verdicts: list[Verdict]) -> str:
    """How many programs each rule was needed for, and why it is a rule."""
    used = Counter([name for verdict in verdicts for name in verdict.rules])
    lines = ["| rule | class | programs | why |", "|---|---|---|---|"]
    for rule in RULES:
        if used[rule.name]:
            lines.append(f"| {rule.name} | {rule.kind} | {used[rule.name]} | {rule.reason} |")
    return "\n".join(lines)


def table_of_choices(verdicts: list[Verdict]) -> str:
    """What else results depend on that the dialect leaves open, and of how many programs (`choices.py`)."""
    known = {rule.name for rule in RULES}
    used = Counter(
        [name for verdict in verdicts if verdict.kind == OPEN for name in verdict.rules if name not in known]
    )
    return "\n".join(["| choice | programs |", "|---|---|", *[f"| {name} | {used[name]} |" for name in sorted(used)]])


def smallest_programs(verdicts: list[Verdict], kind: str, most: int = 40) -> str:
    """The programs of a class with their first differing elements, the shortest of each family and operation first."""
    chosen: dict[tuple[str, str], Verdict] = {}
    number: Counter[tuple[str, str]] = Counter()
    for verdict in sorted(verdicts, key=lambda verdict: len(verdict.program.text)):
        if verdict.kind == kind:
            key = (verdict.program.family, verdict.program.details.get("operation", verdict.program.name).split()[0])
            chosen.setdefault(key, verdict)
            number[key] += 1
    parts = []
    for key, verdict in list(chosen.items())[:most]:
        program = verdict.program
        head = f"== {program.name}, grid {program.grid}, {number[key]} of this kind"
        parts.append("\n".join([head, *[f"  {words}" for words in verdict.words], program.text, ""]))
    return "\n".join(parts)


def refusals(programs: list[tuple[Program, str]]) -> str:
    """Why programs were refused, in the words of whoever did, with one of each and how many there are."""
    found: dict[str, list[Program]] = {}
    for program, words in programs:
        found.setdefault(words, []).append(program)
    lines = []
    for words, group in sorted(found.items(), key=lambda pair: -len(pair[1])):
        lines.append(f"{len(group):5}  {words}   ({group[0].name})")
    return "\n".join(lines)
