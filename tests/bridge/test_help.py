"""Mistakes that people and models make in kernels: the error says what is wrong, why, and the corrected line.

The corrected lines are applied, and the scripts are run again: their results are right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.agent.repairs import corrections, repair
from tests.bridge.mistakes import CUTILE, ONLY_HELP, TRITON, Mistake
from tests.optional import needs
from tests.sampling import one_in

from tileir.agent.workers import CommandRequest, Worker
from tileir.bridge.help.cutile import CUTILE as CUTILE_HELP
from tileir.bridge.help.launches import LAUNCHES
from tileir.bridge.help.triton import TRITON as TRITON_HELP


class Scripts:
    """Runs scripts as the tools for agents do."""

    def __init__(self) -> None:
        self._worker = Worker(("tileir.tools.more.mcp", "serve_requests"))

    def sanitize(self, tool: str, source: str) -> dict[str, Any]:
        assert tool == "sanitize"
        words, files = ("emulate", "--sanitize=all", "program.py"), {"program.py": source}
        output = self._worker.run(
            CommandRequest(words, files, 60.0, 4 << 30, ("triton",) if "triton" in source else ())
        )
        return {"status": output.status, "text": output.text}

    def close(self) -> None:
        self._worker.close()


@pytest.fixture(scope="module")
def scripts() -> Iterator[Scripts]:
    found = Scripts()
    yield found
    found.close()


def is_right(answer: dict[str, Any]) -> bool:
    return answer["status"] == 0 and "results are right" in answer["text"]


@pytest.mark.parametrize("name", one_in(10, CUTILE))
def test_the_corrected_line_of_a_cutile_mistake_is_right(scripts: Scripts, name: str) -> None:
    needs("cuda.tile")
    _check(scripts, CUTILE[name])


@pytest.mark.parametrize("name", one_in(10, TRITON))
def test_the_corrected_line_of_a_triton_mistake_is_right(scripts: Scripts, name: str) -> None:
    needs("triton")
    needs("torch")
    _check(scripts, TRITON[name])


def _check(scripts: Scripts, mistake: Mistake) -> None:
    answer = scripts.sanitize("sanitize", mistake.script)
    assert not is_right(answer)
    # What is wrong and why, and nothing of the compiler's own frames.
    helped = [line for line in answer["text"].split("\n") if "help: " in line]
    assert any(mistake.text in line for line in helped), answer["text"]
    assert "site-packages" not in answer["text"]
    repaired, calls = repair(mistake.script, scripts.sanitize, is_right)
    assert repaired != mistake.script
    assert calls <= 3


@pytest.mark.parametrize("name", one_in(5, ONLY_HELP))
def test_mistakes_without_a_corrected_line_are_explained(scripts: Scripts, name: str) -> None:
    mistake = ONLY_HELP[name]
    needs("triton" if "triton" in mistake.script else "cuda.tile")
    text = scripts.sanitize("sanitize", mistake.script)["text"]
    assert re.search(rf"help: .*{re.escape(mistake.text)}", text), text
    assert not list(corrections(text))


def test_thirty_mistakes_have_a_source() -> None:
    known = [mistake for table in (CUTILE, TRITON) for mistake in table.values() if mistake.source]
    assert len(known) >= 30
    assert len({(mistake.program, mistake.right, mistake.wrong) for mistake in known}) == len(known)


def test_every_help_is_a_sentence_without_an_end() -> None:
    for mistake in (*CUTILE_HELP, *TRITON_HELP, *LAUNCHES):
        assert mistake.help[0] in "`" or not mistake.help[0].isupper()
        assert not mistake.help.endswith((".", ":"))
        re.compile(mistake.message)
