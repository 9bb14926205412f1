"""The report as a page in one file: everything that the text has, with all programs, searched and sorted.

Names and messages come from whoever wrote the programs: they are JSON in the file, and text nodes in the page.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from tileir.browser import one_file
from tileir.ir.diagnostics import TileIRError
from tileir.judging.model import OUTCOMES, content_of, text_of
from tileir.judging.report.comparison import SweepComparison, change_objects, state_of
from tileir.judging.report.contents import FIGURES, Contents, FailureKind, SweepEntry
from tileir.judging.report.text import steps_of
from tileir.judging.results.results import Results

_MOST_SOURCE = 1 << 16
"""Characters of one program."""
_MOST_SOURCES = 500
"""Kinds of failures whose programs are in the page."""
_MOST_MESSAGES = 8 << 20
"""Characters of all messages together."""


def page(results: Results, contents: Contents, comparison: SweepComparison | None = None) -> str:
    """The page, as the text of its file."""
    title = f"{os.path.basename(contents.path)}: tileir report"
    carried = {"report": one_file.packed(_report(results, contents, comparison))}
    return one_file.page("tileir.judging.report", title, carried)


def _report(results: Results, contents: Contents, comparison: SweepComparison | None) -> dict[str, Any]:
    """What `assets/types.d.ts` calls `Report`."""
    entries = contents.programs
    numbers = {entry.digest: number for number, entry in enumerate(entries)}
    steps = {name: number for number, name in enumerate(contents.steps)}
    failures, untold = _failures(entries)
    return {
        "file": os.path.basename(contents.path),
        "summary": contents.summary,
        "plan": {"digest": contents.plan, "settings": contents.settings},
        "outcomes": [{"id": each, "title": each, "count": contents.counts[each]} for each in OUTCOMES],
        "duplicates": contents.duplicates,
        "kinds": [
            {
                **_kind_words(kind),
                **{name: getattr(kind, name) for name in ("key", "cause", "suspect", "message", "reduced", "note")},
                "smallest": numbers[kind.smallest.digest],
                "size": kind.smallest.extent,
                **(_sources(results, kind) if place < _MOST_SOURCES else {"source": None, "reproducer": None}),
            }
            for place, kind in enumerate(contents.kinds)
        ],
        "steps": [{"name": name, "counts": dict(sorted(counts.items()))} for name, counts in contents.steps.items()],
        "programs": {
            **{name: [getattr(entry, name) for entry in entries] for name in ("name", "digest")},
            "others": [len(entry.names) - 1 for entry in entries],
            "outcome": [OUTCOMES.index(entry.outcome) for entry in entries],
            "step": [steps.get(entry.step, -1) for entry in entries],
            "kinds": [entry.clusters for entry in entries],
            "figures": [
                {"title": each.title, "unit": each.unit, "values": [round(each.of(entry), 6) for entry in entries]}
                for each in FIGURES
            ],
        },
        "failures": failures,
        "untold": untold,
        "kernels": [
            {"program": numbers[entry.digest], "outcome": entry.outcome, "speeds": list(map(asdict, entry.speeds))}
            for entry in contents.kernels
        ],
        "changes": None if comparison is None else _changes(comparison),
    }


def _failures(entries: list[SweepEntry]) -> tuple[dict[str, list[dict[str, str]]], int]:
    """The messages of programs that failed, as long as there is room; and how many programs are left out."""
    found: dict[str, list[dict[str, str]]] = {}
    room, untold = _MOST_MESSAGES, 0
    for number, entry in enumerate(entries):
        messages = [{"step": each.step, "outcome": each.outcome, "message": each.message} for each in entry.failures]
        room -= sum([len(each["message"]) + 40 for each in messages])
        if messages and room < 0:
            untold += 1
        elif messages:
            found[str(number)] = messages
    return found, untold


def _sources(results: Results, kind: FailureKind) -> dict[str, Any]:
    """The smallest program of a kind, and its reproducer."""
    reproducer, _ = (results.reproducer(kind.reproducer) if kind.reproducer else None) or (None, "")
    source = None
    # Else a seed of another tileir.
    with suppress(TileIRError, ValueError, TypeError):
        source = _text(kind.smallest.name, content_of(results.item(kind.smallest.digest))[0])
    return {"source": source, "reproducer": None if reproducer is None else _text("reproducer", reproducer)}


def _text(name: str, content: bytes) -> dict[str, Any]:
    text = text_of(content)
    return {"name": name, "bytes": len(content), "text": text[:_MOST_SOURCE], "cut": len(text) > _MOST_SOURCE}


def _changes(comparison: SweepComparison) -> dict[str, Any]:
    return {
        "summary": comparison.summary,
        "worse": comparison.is_worse,
        "newKinds": [_kind_words(kind) for kind in comparison.new_kinds],
        "goneKinds": [_kind_words(kind) for kind in comparison.gone_kinds],
        **change_objects(comparison, state_of),
    }


def _kind_words(kind: FailureKind) -> dict[str, Any]:
    words = {name: getattr(kind, name) for name in ("title", "outcome", "count")}
    return {**words, "steps": steps_of(kind), "smallest": kind.smallest.name}
