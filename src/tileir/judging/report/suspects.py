"""Which operation is to blame where results differ: messages only report that they do.

Programs that fail and programs that pass the same step are compared by their features, as in spectrum-based fault
localization: a feature that is in many programs that fail and in few that pass is suspect.  The most suspect one takes
the programs that have it as one kind of failure, and so on with the rest.  How suspect a feature is, is Ochiai's
coefficient: f / sqrt(F * (f + p)), with f of F failing programs and p passing ones that have it.

Operations come first, as most bugs are about one; a type or an attribute of it is named where all that fail have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from math import sqrt

from tileir.dialect.ops import FOR, IF, LOOP
from tileir.dialect.types import TileType
from tileir.interface import load
from tileir.ir.attributes import EnumAttribute, IntegerAttribute, UnitAttribute
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError
from tileir.judging.model import SweepInput, content_of

_LARGEST = 1 << 20
"""Bytes of a program that is read for its features."""
_REGIONS = {FOR: "for", IF: "if", LOOP: "loop"}
_FEWEST = 3
"""Programs that have to fail before there is anything to compare."""
_LEAST_SCORE = 0.3
_LIFT = 4.0
"""Programs with a feature must fail so many times as often as those without, or it is not to blame."""
_GAIN = 1.5
"""A more specific feature must be so many times as precise."""


def blamed(
    failing: Mapping[str, frozenset[str]], passing: Sequence[frozenset[str]], scale: float = 1.0
) -> dict[str, str]:
    """The suspect of each failing program by digest, if any; each passing one stands for `scale` programs."""
    seen = Counter([feature for features in passing for feature in features])
    found = dict.fromkeys(failing, "")
    rest = dict(failing)
    while len(rest) >= _FEWEST:
        having = Counter([feature for features in rest.values() for feature in features])
        suspect = _most_suspect(having, seen, len(rest), len(passing) * scale, scale)
        if not suspect:
            break
        for digest in [digest for digest, features in rest.items() if suspect in features]:
            found[digest] = suspect
            del rest[digest]
    return found


def _most_suspect(failing: Counter[str], passing: Counter[str], failed: int, passed: float, scale: float) -> str:
    """The most suspect feature, if any, by how many of `failed` and of `passed / scale` programs have each."""

    def score(feature: str) -> float:
        return failing[feature] / sqrt(failed * (failing[feature] + passing[feature] * scale))

    def precision(feature: str) -> float:
        return failing[feature] / (failing[feature] + passing[feature] * scale)

    def is_suspect(feature: str) -> bool:
        other_failed, other_passed = failed - failing[feature], passed - passing[feature] * scale
        # A feature of one program alone is chance; one that all have is no evidence.
        if failing[feature] < 2 or score(feature) < _LEAST_SCORE or other_failed + other_passed <= 0:
            return False
        return precision(feature) >= _LIFT * other_failed / (other_failed + other_passed)

    def best(features: Iterable[str]) -> str:
        known = [feature for feature in features if is_suspect(feature)]
        return min(known, key=lambda feature: (-score(feature), len(feature), feature), default="")

    plain = best([feature for feature in failing if " " not in feature])
    if not plain:
        return best(failing)
    # A more specific feature of the same programs.
    closer = [each for each in failing if each.startswith(f"{plain} ") and failing[each] == failing[plain]]
    closest = best(closer)
    return closest if closest and precision(closest) >= _GAIN * precision(plain) else plain


# --- what is in a program that an engine may stumble over ---


def features_of(module: Operation) -> frozenset[str]:
    """The features of a program, the simplest in the fewest words: `mulf`, `mulf f16`, `mulf in for`."""
    found: set[str] = set()
    for operation in module.walk():
        declaration = operation.declaration
        # Nothing is wrong with the end of a region.
        if operation.parent_operation is None or operation.symbol_name is not None or declaration.is_terminator:
            continue
        name = declaration.mnemonic
        found.add(name)
        for value in (*operation.operands, *operation.results):
            type = value.type
            if isinstance(type, TileType):
                found.add(f"{name} {type.element.spelling}")
                if type.rank > 1:
                    found.add(f"{name} of rank {type.rank}")
        for key, attribute in operation.attributes.items():
            if isinstance(attribute, EnumAttribute):
                found.add(f"{name} {attribute.keyword}")
            elif isinstance(attribute, UnitAttribute):
                found.add(f"{name} {key}")
            elif isinstance(attribute, IntegerAttribute) and 0 <= attribute.value <= 8:
                found.add(f"{name} {key}={attribute.value}")
        parent = operation.parent_operation
        if parent.declaration in _REGIONS:
            found.add(f"{name} in {_REGIONS[parent.declaration]}")
    return frozenset(found)


def features_of_item(item: SweepInput) -> frozenset[str]:
    """The features of what was judged; none where that is no program that can be read."""
    # Else another tileir judged it, or it cannot be read.
    with suppress(TileIRError, ValueError, TypeError):
        content, _ = content_of(item) if item.kind != "kernels" else (b"", "")
        if 0 < len(content) <= _LARGEST:
            return features_of(load(content))
    return frozenset()
