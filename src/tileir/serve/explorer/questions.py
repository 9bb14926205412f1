"""The questions of the page, their parameters, and the `Explorer` that answers them about one launch.

Questions come from a browser: everything about them is checked here, and what makes no sense is a `QuestionError`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tileir.forking import cached_property
from tileir.ir.diagnostics import Diagnostic, TileIRError
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import harmless

if TYPE_CHECKING:
    from tileir.execute.recording.recording import Recording

Answer = dict[str, Any]
"""An answer as JSON has it; `assets/types.d.ts` declares what each holds."""

_LARGEST = 2**53
_MOST_DIMENSIONS = 32
_LONGEST_NAME = 200


class QuestionError(TileIRError):
    """A question that cannot be answered; the message has the reason."""

    def __init__(self, message: str) -> None:
        super().__init__([Diagnostic("error", message, UNKNOWN)])


class Answering(Protocol):
    """What answers a page: an `Explorer`, or something that stands in for one."""

    def answer(self, question: str, parameters: Mapping[str, str | int]) -> Answer: ...


def _name(text: str) -> str:
    if len(text) > _LONGEST_NAME:
        raise ValueError("is too long for a name")
    return text


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= _LARGEST):
        raise ValueError(f"is a number from 0 on, not '{_shown(text)}'")
    return int(text)


def _numbers(text: str) -> list[int]:
    parts = text.split(",", _MOST_DIMENSIONS) if text else []
    if len(parts) > _MOST_DIMENSIONS:
        raise ValueError(f"has more than {_MOST_DIMENSIONS} numbers")
    return [_number(part) for part in parts]


_Parameters = dict[str, Callable[[str], Any]]
_BLOCK: _Parameters = {"block": _number}
_STEP: _Parameters = {"block": _number, "step": _number}
_PART: _Parameters = {"start": _numbers, "extents": _numbers}

QUESTIONS: dict[str, _Parameters] = {
    "summary": {},
    "accesses": {"first": _number, "count": _number},
    "conflicts": {"array": _number},
    "steps": _BLOCK,
    "values": _STEP,
    "variables": _STEP,
    "history": {**_BLOCK, "last": _number},
    "tile": {**_STEP, "value": _number, **_PART},
    "array": {"array": _number, **_STEP, **_PART},
    "form": {"id": _name},
    "findings": {},
    "numbers": {},
    "cost": {"target": _name},
    "comparison": {"id": _name, **_BLOCK},
    "compared": {"id": _name, **_STEP, "value": _number, **_PART},
}
"""The parameters of each question, with what reads them."""
_DEFAULTS = {"first": 0, "count": 1_000_000, "start": None, "extents": None}
"""Parameters that may be left out."""


def read_parameters(question: str, given: Mapping[str, str | int]) -> dict[str, Any]:
    """The parameters of a question as the functions that answer it take them."""
    expected = QUESTIONS.get(question)
    if expected is None:
        raise QuestionError(f"there is no answer to '{_shown(question)}': use one of {', '.join(QUESTIONS)}")
    for name in given:
        if name not in expected:
            takes = f"it takes {', '.join(expected)}" if expected else "it takes none"
            raise QuestionError(f"'{question}' has no parameter '{_shown(name)}': {takes}")
    read: dict[str, Any] = {}
    for name, reader in expected.items():
        if name not in given and name not in _DEFAULTS:
            raise QuestionError(f"'{question}' needs the parameter '{name}'")
        try:
            read[name] = reader(str(given[name])) if name in given else _DEFAULTS[name]
        except ValueError as error:
            raise QuestionError(f"'{name}' of '{question}' {error}") from None
    return read


def check_number(what: str, number: int, count: int) -> None:
    """Refuse the number of something that is not there."""
    if number >= count:
        raise QuestionError(f"there is no {what} {number}: they are counted from 0 to {count - 1}")


def _shown(text: str) -> str:
    return harmless(text if len(text) <= 40 else text[:40] + "..")


@dataclass
class Part:
    """Answers some questions.  Answers of one part are computed one after another, those of others meanwhile.

    `locks` are those of what it computes with, as of recordings, which others may use too.  `summary` returns what it
    adds to the summary: keys of `Summary` in `assets/types.d.ts`.
    """

    questions: Mapping[str, Callable[..., Answer]]
    summary: Callable[[], Mapping[str, Any]] = dict
    locks: Sequence[AbstractContextManager[object]] = ()

    def __post_init__(self) -> None:
        # All parts take locks in one order, so that no two wait for each other.
        self.locks = sorted(self.locks, key=id) or [threading.Lock()]

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the locks of what it computes with."""
        with ExitStack() as held:
            for lock in self.locks:
                held.enter_context(lock)
            yield


class Explorer:
    """Answers questions about a launch, from any thread."""

    def __init__(self, parts: Sequence[Part], recording: Recording | None = None) -> None:
        self._all = parts
        self._parts = {question: part for part in parts for question in part.questions}
        self.recording = recording
        """The launch, or None if nothing ran."""

    def answer(self, question: str, parameters: Mapping[str, str | int] | None = None) -> Answer:
        """The answer to a question, as JSON has it; one that cannot be answered is a `QuestionError`."""
        read = read_parameters(question, parameters or {})
        if question == "summary":
            return self.summary
        part = self._parts.get(question)
        if part is None:
            raise QuestionError(f"there is no '{question}' for this launch")
        with part.alone():
            try:
                return part.questions[question](**read)
            except QuestionError:
                raise
            except TileIRError as error:
                raise QuestionError(error.message or str(error)) from error

    @cached_property
    def summary(self) -> Answer:
        """What there is to query."""
        from tileir import __version__

        summary = {**empty_summary(), "version": __version__}
        for part in self._all:
            # A part with nothing to add may be busy with a slow answer.
            if part.summary is not dict:
                with part.alone():
                    summary.update(part.summary())
        return summary


def empty_summary() -> Answer:
    """The summary of a launch of which nothing is known."""
    nothing = {"type": "u32", "shape": [0], "data": ""}
    lists = ("parameters", "arrays", "operations", "values", "forms", "targets", "comparisons", "notes")
    return {
        **dict.fromkeys(("title", "kernel", "schedule", "version"), ""),
        **{name: [] for name in lists},
        "grid": [1, 1, 1],
        "script": False,
        "findings": 0,
        "failure": None,
        "recording": {"order": nothing, "steps": nothing, "accesses": 0, "bytes": 0, "limit": 0, "notes": []},
    }
