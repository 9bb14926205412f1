"""Launches that a script states in comments, for which its kernels can be compiled.

    # tileir: double --grid 4 --arg zeros:f32:1024 --arg 256

The words behind the name of the kernel are those of `tileir run`: an array or a number for each of its parameters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tileir.execute.arguments.argument_text import LaunchWords, WordError, read_launch

_COMMENT = re.compile(r"^[ \t]*(#[ \t]*tileir:[ \t]*(?!ignore)([A-Za-z_]\w*)[ \t]+(--[^\r\n]*))", re.MULTILINE)


@dataclass(frozen=True)
class StatedLaunch:
    """A comment; `words` is None where it states no launch, and `mistake` says why."""

    kernel: str
    start: int
    end: int
    words: LaunchWords | None
    mistake: str = ""


def stated_launches(text: str) -> list[StatedLaunch]:
    """From the top of a script to its end."""
    found: list[StatedLaunch] = []
    for match in _COMMENT.finditer(text):
        try:
            words = read_launch(match[3], "# tileir: ")
        except WordError as error:
            found.append(StatedLaunch(match[2], match.start(1), match.end(1), None, error.message))
        else:
            found.append(StatedLaunch(match[2], match.start(1), match.end(1), words))
    return found
