"""`Mistake`: the message of an error, why it is one, and a correction; `help_for` looks one up."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable
from types import ModuleType
from typing import Final, NamedTuple

from tileir.bridge.help.source import Changes, Correction, Place, changed, here, place_of, shown
from tileir.ir.quoting import close_names, harmless


class Mistake(NamedTuple):
    """One kind of error."""

    message: str
    """A regular expression that the message of the error matches."""
    help: str
    """What is wrong and why; `{1}` is a group of `message`."""
    correction: Correction | None = None
    """The changed lines; None if the change is more than that."""
    line: str = ""
    """A regular expression that the source line matches, where several errors have the same message."""


_ATTRIBUTE: Final = re.compile(r"[Mm]odule '(cuda\.tile|triton\.language)(?:\.math)?' has no attribute '(\w+)'")
_NAMES: Final = {
    "cuda.tile": {
        "program_id": "bid",
        "block_id": "bid",
        "num_programs": "num_blocks",
        "concat": "cat",
        "concatenate": "cat",
        "trans": "transpose",
        "power": "pow",
        "empty": "zeros",
        "float": "float32",
        "half": "float16",
    },
    "triton.language": {
        "bid": "program_id",
        "num_blocks": "num_programs",
        "transpose": "trans",
        "mma": "dot",
        "empty": "zeros",
        "astype": "cast",
        "float": "float32",
        "half": "float16",
    },
}
"""Names of other libraries, and what does the same with the same arguments."""
_FORMULAS: Final = {
    "cuda.tile": {
        "relu": "ct.maximum({}, 0)",
        "sigmoid": "1 / (1 + ct.exp(-({})))",
        "square": "ct.pow({}, 2)",
        "silu": "({0}) / (1 + ct.exp(-({0})))",
    },
    "triton.language": {
        "relu": "tl.maximum({}, 0)",
        "tanh": "(2 * tl.sigmoid(2 * ({})) - 1)",
        "square": "({0}) * ({0})",
        "silu": "({0}) * tl.sigmoid({0})",
    },
}
"""Functions of other libraries of one argument, and how the same is computed."""


def help_for(
    message: str,
    file: str | None,
    number: int,
    mistakes: Iterable[Mistake],
    library: ModuleType | None = None,
    arrays: Iterable[str] = (),
    column: int = 0,
) -> str:
    """The help for an error at a line of a file, with the corrected lines; empty if there is none.

    `library` is `cuda.tile` or `triton.language`, for names that it does not have.
    """
    if library is not None and (unknown := _ATTRIBUTE.search(message)):
        found = _other_name(place_of(file, number, unknown), library)
        if found:
            return found
    for mistake in mistakes:
        matched = re.search(mistake.message, message)
        if matched is None:
            continue
        place = place_of(file, number, matched, arrays, column)
        if mistake.line and not re.search(mistake.line, place.line):
            continue
        text = mistake.help.format("", *matched.groups()) if "{" in mistake.help else mistake.help
        changes = changed(mistake.correction(place), place.lines) if mistake.correction is not None else {}
        return "help: " + harmless(text + shown(changes), keep="\n\t")
    return ""


def close_name(place: Place) -> Changes:
    """The line with an unknown name replaced by a similar one that the function has."""
    text = "\n".join(place.text(number) for number in place.kernel if number != place.number)
    known = dict.fromkeys(re.findall(r"(?<![\w.])[A-Za-z_]\w*", text))
    close = close_names(place.found[1], known)
    return here(r"(?<![\w.])<1>\b", close[0])(place) if close else {}


def _other_name(place: Place, library: ModuleType) -> str:
    name, module = place.found[2], library.__name__
    known = [each for each in dir(library) if not each.startswith("_")]
    short = "ct" if module == "cuda.tile" else "tl"
    called = rf"\b{short}\.(?:math\.)?{name}"
    if formula := _FORMULAS[module].get(name, ""):
        changes = here(rf"{called}\(([^()]*(?:\([^()]*\)[^()]*)*)\)", lambda found: formula.format(found[1]))(place)
        example = formula.format("x", "x")
        return f"help: `{short}` has no `{name}`: use `{example}`{shown(changed(changes, place.lines))}"
    close = _NAMES[module].get(name, "") or next(iter(close_names(name, known)), "")
    if not close or close not in known:
        return f"help: write it as Python does: {name}(..)" if hasattr(builtins, name) else ""
    changes = here(rf"{called}\b", f"{short}.{close}")(place)
    return f"help: did you mean `{short}.{close}`{shown(changed(changes, place.lines))}"
