"""Which operation is to blame where results differ: a message tells only that they do.

Programs that fail and programs that pass the same step are compared by their features, as in spectrum-based fault
localization: a feature that is in many programs that fail and in few that pass is suspect.  The most suspect one takes
the programs that have it as one kind of failure, and so on with the rest.  How suspect a feature is, is Ochiai's
coefficient: f / sqrt(F * (f + p)), with f of F failing programs and p passing ones that have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt

_FEWEST = 3
"""Programs that have to fail before there is anything to compare."""
_PRECISION = 0.5
"""At least this part of the programs with a feature has to fail, or it is not to blame."""
_SLACK = 0.98
"""A feature that says less is chosen if it is as suspect but for chance: `mulf` rather than `mulf in for`."""


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
        counts = Counter([feature for features in rest.values() for feature in features])
        suspect = _most_suspect(counts, seen, len(rest), scale)
        if not suspect:
            break
        for digest in [digest for digest, features in rest.items() if suspect in features]:
            found[digest] = suspect
            del rest[digest]
    return found


def _most_suspect(counts: Counter[str], seen: Counter[str], total: int, scale: float) -> str:
    scores: dict[str, float] = {}
    for feature, failed in counts.items():
        passed = seen[feature] * scale
        if failed / (failed + passed) >= _PRECISION:
            scores[feature] = failed / sqrt(total * (failed + passed))
    if not scores:
        return ""
    best = max(scores.values())
    # Of those that are as good, the one that says least, then the one that more failing programs have.
    return min(
        [feature for feature, score in scores.items() if score >= best * _SLACK],
        key=lambda feature: (feature.count(" "), -scores[feature], len(feature), feature),
    )
