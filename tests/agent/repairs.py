"""An agent that repairs programs by what the tools answer, and knows nothing else.

It applies the corrected lines of the help in an answer, and asks again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

Call = Callable[..., dict[str, Any]]
_HELP = re.compile(r"^(?:  = )?help: .*:$")
_LINE = re.compile(r"^ *(\d+) \|(?: (.*))?$")


def corrections(text: str) -> Iterator[dict[int, str]]:
    """The lines of each help in an answer, by number."""
    found: dict[int, str] | None = None
    for line in text.split("\n"):
        row = _LINE.match(line)
        if found is not None and row:
            found[int(row[1])] = row[2] or ""
        elif found:
            yield found
            found = None
        if _HELP.match(line):
            found = {}
    if found:
        yield found


def corrected(source: str, changes: dict[int, str]) -> str:
    lines = source.split("\n")
    for number, line in changes.items():
        lines[number - 1] = line
    return "\n".join(lines)


def repair(source: str, call: Call, is_right: Callable[[dict[str, Any]], bool], most: int = 6) -> tuple[str, int]:
    """The repaired program and the number of calls; each call carries out `sanitize`."""
    seen, waiting = {source}, [source]
    calls = 0
    while waiting and calls < most:
        program = waiting.pop(0)
        answer = call("sanitize", source=program)
        calls += 1
        if is_right(answer):
            return program, calls
        new = [corrected(program, changes) for changes in corrections(answer["text"])]
        waiting = [*[each for each in dict.fromkeys(new) if each not in seen], *waiting]
        seen.update(new)
    raise AssertionError(f"not repaired after {calls} calls:\n{answer['text']}")
