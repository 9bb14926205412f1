"""The GPUs that advice about hardware is for: those that were asked about, or the common ones where nobody asked.

Advice that depends on the GPU is given for the targets that are stated (`--target`).  Without one it is given where it
holds on all common GPUs, so that a program that is meant for one of them is not blamed for another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tileir.analyze.lint.subject import Subject
from tileir.execute.gpu.gpus import GPUS
from tileir.execute.gpu.targets import ARCHITECTURES, TARGETS, Architecture, target_named
from tileir.ir.diagnostics import OptionError

COMMON: Final = tuple([ARCHITECTURES[name] for name in ("sm_80", "sm_90", "sm_100", "sm_120")])
"""A100, H100 and H200, B200, RTX 50."""


def architecture_named(text: object) -> Architecture:
    """The architecture of a target: `sm_90`, `90`, or a GPU by name, `h100`."""
    if isinstance(text, str):
        plain = "".join([character for character in text.lower() if character not in " -_"])
        if plain in GPUS:
            return ARCHITECTURES[GPUS[plain].architecture]
    try:
        return ARCHITECTURES[target_named(text)]
    except OptionError:
        shown = f"'{text}'" if isinstance(text, str) else repr(text)
        raise OptionError(
            f"there is no target {shown}: choose one of {', '.join(TARGETS)}, or a GPU of {', '.join(GPUS)}"
        ) from None


def architectures_where(subject: Subject, holds: Callable[[Architecture], bool]) -> list[Architecture]:
    """Of the stated targets, those where something holds; all common ones if none is stated and it holds on each."""
    if not subject.targets:
        return list(COMMON) if all(holds(each) for each in COMMON) else []
    stated = dict.fromkeys([architecture_named(text) for text in subject.targets])
    return [each for each in stated if holds(each)]


def named(architectures: list[Architecture]) -> str:
    """The GPUs in a sentence: "sm_80 and sm_90"."""
    names = [each.name for each in architectures]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
