"""Search in the documentation: the sections that match a query, the best first."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tileir.analyze.documentation.markdown import sections

_WORD: Final = re.compile(r"[a-z_][a-z0-9_]+|[0-9]+")
_TITLE_WEIGHT: Final = 4
_LENGTH_WEIGHT: Final = 0.75
_SATURATION: Final = 1.5
_SHORT_WORDS: Final = ("the", "and", "for", "with", "that", "this", "are", "not", "what", "how", "does", "can", "from")


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page, as `tileir docs PAGE#ANCHOR` prints it."""

    name: str
    title: str
    text: str
    words: Counter[str]


def _words(text: str) -> list[str]:
    # Plurals are the same word: `token` finds `tokens`.
    return [word.rstrip("s") for word in _WORD.findall(text.lower()) if word not in _SHORT_WORDS]


def sections_of(directory: str, pages: Mapping[str, str]) -> list[Section]:
    """The sections of all pages, for `search`."""
    found: list[Section] = []
    for name, path in pages.items():
        with open(os.path.join(directory, path), encoding="utf-8") as file:
            lines = file.read().splitlines()
        places = list(sections("\n".join(lines)))
        for number, (slug, _, title, line) in enumerate(places):
            end = places[number + 1][3] if number + 1 < len(places) else len(lines) + 1
            text = "\n".join(lines[line : end - 1]).strip()
            words = Counter(_words(text)) + Counter(_words(f"{name} {title}") * _TITLE_WEIGHT)
            found.append(Section(f"{name}#{slug}" if number else name, title, text, words))
    return found


def search(query: str, found: list[Section], count: int = 5) -> list[Section]:
    """The sections that fit a query best, by BM25."""
    terms = set(_words(query))
    average = sum(section.words.total() for section in found) / max(len(found), 1)
    rare = {term: sum(term in section.words for section in found) for term in terms}

    def score(section: Section) -> float:
        length = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * section.words.total() / max(average, 1)
        total = 0.0
        for term in terms:
            often = section.words[term]
            weight = math.log(1 + (len(found) - rare[term] + 0.5) / (rare[term] + 0.5))
            total += weight * often * (_SATURATION + 1) / (often + _SATURATION * length)
        return total

    ranked = sorted(found, key=lambda section: (-score(section), section.name))
    return [section for section in ranked[:count] if score(section) > 0]
