"""Changes in one sentence: `3 operations removed, 1 moved out of a loop, 2 changed: rounding_mode .. -> zero`."""

from __future__ import annotations

from collections import Counter
from typing import Final

from tileir.analyze.difference.changes import ProgramChange
from tileir.ir.core import Operation

_MOST_DETAILS: Final = 3
"""The most frequent ones are told."""


def summary_of(changes: list[ProgramChange]) -> str:
    """All changes in one sentence."""
    if not changes:
        return "no difference"
    parts = [f"{_symbol(each.operation)} {each.kind}" for each in changes if _is_symbol_change(each)]
    renamed_symbols = [each for each in changes if each.kind == "renamed" and each.operation.symbol_name]
    parts += [f"{_symbol(each.operation)} renamed @{each.right.symbol_name}" for each in renamed_symbols if each.right
              and each.right.symbol_name != each.operation.symbol_name]  # fmt: skip
    inside = [each for each in changes if not _is_symbol_change(each)]
    words = _Words()
    for kind in ("removed", "added"):
        count = sum([each.count for each in inside if each.kind == kind])
        if count:
            words.add(count, kind)
    ways = Counter([_way(each.where) for each in inside if each.kind == "moved"])
    for way, count in ways.items():
        words.add(count, f"moved{way}")
    changed = [each for each in inside if each.kind == "changed"]
    if changed:
        words.add(len(changed), "changed", _details(changed))
    parts += words.parts
    values = [
        detail
        for each in changes
        if each.kind == "renamed"
        for detail in each.details
        if not detail.before.startswith("@")
    ]
    if values:
        shown = ", ".join([f"{each.before} -> {each.after}" for each in values[:_MOST_DETAILS]])
        more = ", .." if len(values) > _MOST_DETAILS else ""
        parts.append(f"{len(values)} value{'' if len(values) == 1 else 's'} renamed: {shown}{more}")
    return "; ".join(words.joined(parts))


class _Words:
    """Counts of operations, of which only the first one says what is counted."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._details: int = 0

    def add(self, count: int, what: str, details: str = "") -> None:
        noun = "" if self.parts else " operation" if count == 1 else " operations"
        self.parts.append(f"{count}{noun} {what}{f': {details}' if details else ''}")

    def joined(self, parts: list[str]) -> list[str]:
        """Counts are joined by commas; what is not one of them is set apart."""
        own = [part for part in parts if part in self.parts]
        before = parts[: parts.index(own[0])] if own else parts
        after = parts[parts.index(own[-1]) + 1 :] if own else []
        return [*before, *([", ".join(own)] if own else []), *after]


def _is_symbol_change(change: ProgramChange) -> bool:
    return change.kind in ("removed", "added") and change.operation.symbol_name is not None


def _symbol(operation: Operation) -> str:
    return f"{operation.declaration.mnemonic} @{operation.symbol_name}"


def _way(where: str) -> str:
    return "" if where in ("up", "down") else f" {where}"


def _details(changes: list[ProgramChange]) -> str:
    """The most frequent details; operands are counted together, since each has names of its own."""
    texts = Counter(
        ["operands" if detail.what == "operand" else detail.text() for each in changes for detail in each.details]
    )
    only = [detail for each in changes for detail in each.details]
    if texts["operands"] == 1:
        operand = next(detail for detail in only if detail.what == "operand")
        del texts["operands"]
        texts[operand.text()] += 1
    found = [text if count == 1 or text == "operands" else f"{text} ({count} times)" for text, count in
             texts.most_common(_MOST_DETAILS)]  # fmt: skip
    return ", ".join(found) + (", .." if len(texts) > _MOST_DETAILS else "")
