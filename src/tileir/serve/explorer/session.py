"""One launch to be explored: the questions that the page asks are answered by its parts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Protocol

from tileir.ir.diagnostics import TileIRError
from tileir.serve.explorer.questions import Answer, QuestionError, read_parameters


class Answering(Protocol):
    """What a page asks: an `Explorer`, or something that stands in for one."""

    def answer(self, question: str, parameters: Mapping[str, str | int]) -> Answer: ...


class Part:
    """Answers some questions.  Answers of one part are computed one after another, those of others meanwhile.

    `locks` are those of what it computes with, as of recordings, which others may use too.

    `summary` is what it adds to the summary: keys of `Summary` in `assets/types.d.ts`, or those of `recording`.
    """

    def __init__(
        self,
        questions: Mapping[str, Callable[..., Answer]],
        summary: Callable[[], Mapping[str, Any]] | None = None,
        locks: Sequence[AbstractContextManager[object]] = (),
    ) -> None:
        self.questions = questions
        self.summary = summary
        # Everybody takes them in one order, so that nobody waits for one who waits for him.
        self._locks = sorted(locks, key=id) or [threading.Lock()]

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While nobody else uses what it computes with."""
        with ExitStack() as held:
            for lock in self._locks:
                held.enter_context(lock)
            yield


class Explorer:
    """Answers questions about a launch, from any thread."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts: dict[str, Part] = {}
        self._summary_parts = [part for part in parts if part.summary is not None]
        self._summary: Answer | None = None
        self._summary_lock = threading.Lock()
        for part in parts:
            for question in part.questions:
                self._parts[question] = part

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

    @property
    def summary(self) -> Answer:
        """What there is to be asked about."""
        with self._summary_lock:
            if self._summary is None:
                self._summary = self._summarize()
            return self._summary

    def _summarize(self) -> Answer:
        from tileir import __version__

        summary = empty_summary()
        summary["version"] = __version__
        for part in self._summary_parts:
            assert part.summary is not None
            with part.alone():
                for key, value in part.summary().items():
                    if key not in summary:
                        raise KeyError(f"the summary of a launch has no '{key}'")
                    summary[key] = value
        return summary


def empty_summary() -> Answer:
    """The summary of a launch of which nothing is known."""
    nothing = {"type": "u32", "shape": [0], "data": ""}
    return {
        "title": "",
        "kernel": "",
        "grid": [1, 1, 1],
        "schedule": "",
        "version": "",
        "parameters": [],
        "arrays": [],
        "operations": [],
        "values": [],
        "script": False,
        "forms": [],
        "targets": [],
        "comparisons": [],
        "findings": 0,
        "failure": None,
        "recording": {"order": nothing, "steps": nothing, "accesses": 0, "bytes": 0, "limit": 0, "notes": []},
        "notes": [],
    }
