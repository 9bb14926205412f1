"""A seed stands for the same program, the same arguments and the same results, on every machine and in every release of a
stream.  If this fails after a change that is meant, raise `STREAM` and write the digests anew (`stream.py`)."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from tests.analyze.smith.stream import KEPT, digests, requests

from tileir.analysis import SMITH_STREAM

STREAM = json.loads(KEPT.read_text(encoding="utf-8"))


def test_the_digests_are_those_of_this_stream() -> None:
    assert STREAM["stream"] == SMITH_STREAM
    assert [one["request"] for one in STREAM["programs"]] == requests()


@pytest.mark.parametrize("kept", STREAM["programs"], ids=lambda kept: " ".join(map(str, kept["request"].values())))
def test_programs_and_results_are_those_of_this_stream(kept: dict[str, Any]) -> None:
    assert digests(kept["request"]) == {"text": kept["text"], "results": kept["results"]}


def test_nothing_depends_on_the_order_of_sets() -> None:
    code = "from tileir import smith; print(''.join([smith(s, family='everything').text() for s in range(4)]))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1 and b"cuda_tile.module" in texts.pop()
