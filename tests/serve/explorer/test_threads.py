"""Answers are the same whoever else asks meanwhile: the page, another page of the same recordings, the user."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import numpy
import pytest
from tests.execute.recording.doubling import DOUBLING

import tileir

_BLOCKS, _ROUNDS = 4, 6


@pytest.fixture
def impatient_threads() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def _explored(start: float, **others: Any) -> Any:
    array = numpy.full(256, start, numpy.float32)
    return tileir.explore(tileir.parse(DOUBLING), _BLOCKS, (array, _ROUNDS), open=False, target=[], **others)


Ask = Callable[[int, int], Any]


def _all_at_once(asks: list[Ask], moments: list[tuple[int, int]]) -> None:
    """Each of some threads asks for all moments, and gets what it is told alone."""

    def asked(ask: Ask) -> list[Any]:
        return [ask(*moment) for moment in moments]

    expected = [asked(ask) for ask in asks]
    with ThreadPoolExecutor(len(asks)) as threads:
        answers = [threads.submit(asked, ask) for ask in asks]
        for wanted, answer in zip(expected, answers, strict=True):
            assert answer.result(timeout=120) == wanted


def _moments(recording: Any, count: int) -> list[tuple[int, int]]:
    random = Random(7)
    steps = int(recording.blocks.steps[0])
    return [(random.randrange(_BLOCKS), random.randrange(steps + 1)) for _ in range(count)]


def test_the_page_and_its_user_do_not_disturb_each_other(impatient_threads: None) -> None:
    page = _explored(1.0)
    recording = page.recording
    asks: list[Ask] = [
        lambda block, step: page.answer("array", {"array": 0, "block": block, "step": step}),
        lambda block, step: recording.array(0, block, step).tobytes(),
        lambda block, step: recording.array(0, block, step).tolist(),
    ]
    _all_at_once(asks, _moments(recording, 40))
    assert not recording.differs


def test_pages_that_compare_with_each_other_do_not_wait_for_ever(impatient_threads: None) -> None:
    first = _explored(1.0)
    second = _explored(1.5, compare={"first": first.recording})
    third = _explored(2.0, compare={"second": second.recording, "first": first.recording})
    asks: list[Ask] = [
        lambda block, step: first.answer("values", {"block": block, "step": step}),
        lambda block, step: second.answer("comparison", {"id": "recording0", "block": block}),
        lambda block, step: third.answer("comparison", {"id": "recording0", "block": block}),
    ]
    _all_at_once(asks, _moments(first.recording, 6))
    assert not any(page.recording.differs for page in (first, second, third))


def test_what_is_no_tile_is_refused_in_words() -> None:
    page = _explored(1.0)
    values = page.answer("summary")["values"]
    tokens = [value["id"] for value in values if value["element"] is None]
    assert tokens
    for value in tokens:
        with pytest.raises(tileir.TileIRError, match="is no tile"):
            page.answer("tile", {"block": 0, "step": 20, "value": value})
