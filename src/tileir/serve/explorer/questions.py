"""What can be asked, and with which parameters: the questions of `assets/types.d.ts`.

Questions come from a browser, so everything about them is checked here: what makes no sense is a `QuestionError` that
says so in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tileir.ir.diagnostics import Diagnostic, TileIRError
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import harmless

Answer = dict[str, Any]
"""An answer as JSON has it; `assets/types.d.ts` says what each holds."""

# Kinds of parameters.
NUMBER, NUMBERS, NAME = "number", "numbers", "name"

_LARGEST = 2**53
_DIMENSIONS_AT_MOST = 32
_NAME_AT_MOST = 200


class QuestionError(TileIRError):
    """A question that cannot be answered; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__([Diagnostic("error", message, UNKNOWN)])


class Parameter:
    """A parameter of a question: its name, its kind, and what it is where it is not given (None: it must be)."""

    def __init__(self, name: str, kind: str, default: Any = None, *, optional: bool = False) -> None:
        self.name = name
        self.kind = kind
        self.default = default
        self.optional = optional or default is not None


_BLOCK = Parameter("block", NUMBER)
_STEP = Parameter("step", NUMBER)
_PART = (Parameter("start", NUMBERS, optional=True), Parameter("extents", NUMBERS, optional=True))

QUESTIONS: dict[str, tuple[Parameter, ...]] = {
    "summary": (),
    "accesses": (Parameter("first", NUMBER, 0), Parameter("count", NUMBER, 1_000_000)),
    "steps": (_BLOCK,),
    "values": (_BLOCK, _STEP),
    "variables": (_BLOCK, _STEP),
    "history": (_BLOCK, Parameter("last", NUMBER)),
    "tile": (_BLOCK, _STEP, Parameter("value", NUMBER), *_PART),
    "array": (Parameter("array", NUMBER), _BLOCK, _STEP, *_PART),
    "form": (Parameter("id", NAME),),
    "findings": (),
    "numbers": (),
    "cost": (Parameter("target", NAME),),
    "comparison": (Parameter("id", NAME), _BLOCK),
    "compared": (Parameter("id", NAME), _BLOCK, _STEP, Parameter("value", NUMBER), *_PART),
}


def read_parameters(question: str, given: Mapping[str, str | int]) -> dict[str, Any]:
    """The parameters of a question as the functions that answer it take them."""
    expected = QUESTIONS.get(question)
    if expected is None:
        raise QuestionError(f"nobody can answer '{_shown(question)}': ask one of {', '.join(QUESTIONS)}")
    known = [parameter.name for parameter in expected]
    for name in given:
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise QuestionError(f"'{question}' has no parameter '{_shown(name)}': {takes}")
    read: dict[str, Any] = {}
    for parameter in expected:
        if parameter.name in given:
            read[parameter.name] = _read(question, parameter, str(given[parameter.name]))
        elif parameter.optional:
            read[parameter.name] = parameter.default
        else:
            raise QuestionError(f"'{question}' needs the parameter '{parameter.name}'")
    return read


def _read(question: str, parameter: Parameter, text: str) -> Any:
    if parameter.kind == NAME:
        if len(text) > _NAME_AT_MOST:
            raise QuestionError(f"'{parameter.name}' of '{question}' is too long for a name")
        return text
    if parameter.kind == NUMBER:
        return _number(question, parameter, text)
    parts = text.split(",", _DIMENSIONS_AT_MOST) if text else []
    if len(parts) > _DIMENSIONS_AT_MOST:
        raise QuestionError(f"'{parameter.name}' of '{question}' has more than {_DIMENSIONS_AT_MOST} numbers")
    return [_number(question, parameter, part) for part in parts]


def _number(question: str, parameter: Parameter, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= _LARGEST):
        raise QuestionError(f"'{parameter.name}' of '{question}' is a number from 0 on, not '{_shown(text)}'")
    return int(text)


def _shown(text: str) -> str:
    return harmless(text if len(text) <= 40 else text[:40] + "..")
