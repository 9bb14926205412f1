"""Which operation is to blame where results differ: a message tells only that they do.

Programs that fail and programs that pass the same step are compared by their features, as in spectrum-based fault
localization: a feature that is in many programs that fail and in few that pass is suspect.  The most suspect one takes
the programs that have it as one kind of failure, and so on with the rest.  How suspect a feature is, is Ochiai's
coefficient: f / sqrt(F * (f + p)), with f of F failing programs and p passing ones that have it.

Operations come first, as most bugs are about one; a type or an attribute of it is named where all that fail have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import NamedTuple

_FEWEST = 3
"""Programs that have to fail before there is anything to compare."""
_LEAST_SCORE = 0.3
_LIFT = 4.0
"""Programs with a feature must fail so many times as often as those without, or it is not to blame."""
_GAIN = 1.5
"""A feature that says more must be so many times as sure."""


class _Counts(NamedTuple):
    failing: Counter[str]
    passing: Counter[str]
    failed: int
    passed: float
    scale: float

    def score(self, feature: str) -> float:
        failing = self.failing[feature]
        return failing / sqrt(self.failed * (failing + self.passing[feature] * self.scale))

    def precision(self, feature: str) -> float:
        failing = self.failing[feature]
        return failing / (failing + self.passing[feature] * self.scale)

    def is_suspect(self, feature: str) -> bool:
        # What one program has alone is chance.
        if self.failing[feature] < 2 or self.score(feature) < _LEAST_SCORE:
            return False
        failed = self.failed - self.failing[feature]
        passed = self.passed - self.passing[feature] * self.scale
        if failed + passed <= 0:
            # All programs have it.
            return False
        return self.precision(feature) >= _LIFT * failed / (failed + passed)


def blamed(
    failing: Mapping[str, frozenset[str]], passing: Sequence[frozenset[str]], scale: float = 1.0
) -> dict[str, str]:
    """The suspect of each failing program, given by its digest; empty where nothing is to blame.

    `scale` is how many passing programs each of those given stands for.
    """
    seen = Counter([feature for features in passing for feature in features])
    found = dict.fromkeys(failing, "")
    rest = dict(failing)
    while len(rest) >= _FEWEST:
        having = Counter([feature for features in rest.values() for feature in features])
        suspect = _most_suspect(_Counts(having, seen, len(rest), len(passing) * scale, scale))
        if not suspect:
            break
        for digest in [digest for digest, features in rest.items() if suspect in features]:
            found[digest] = suspect
            del rest[digest]
    return found


def _most_suspect(counts: _Counts) -> str:
    plain = [feature for feature in counts.failing if " " not in feature]
    best = _best(counts, plain)
    if not best:
        return _best(counts, counts.failing)
    # Of the same programs, what says more about them.
    closer = [
        feature
        for feature in counts.failing
        if feature.startswith(f"{best} ") and counts.failing[feature] == counts.failing[best]
    ]
    closest = _best(counts, closer)
    return closest if closest and counts.precision(closest) >= _GAIN * counts.precision(best) else best


def _best(counts: _Counts, features: Sequence[str] | Counter[str]) -> str:
    known = [feature for feature in features if counts.is_suspect(feature)]
    return min(known, key=lambda feature: (-counts.score(feature), len(feature), feature), default="")
