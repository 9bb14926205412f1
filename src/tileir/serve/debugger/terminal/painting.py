"""Colours of a terminal; without, texts are as they are."""

from __future__ import annotations

import re
from typing import Final

_CODES: Final = {
    "bold": "\033[1m",
    "dim": "\033[2m",
    "red": "\033[1;31m",
    "green": "\033[32m",
    "yellow": "\033[33m",
    "blue": "\033[34m",
    "cyan": "\033[36m",
}
_PLAIN: Final = "\033[0m"
_TOKEN: Final = re.compile(
    r"(//.*|#(?![\w]).*$)|(%[\w$.-]+|@[\w$.-]+)|(\"[^\"]*\")|(!?\b(?:tile|ptr|token|\w*_view)\b)"
)


class Painter:
    """`colours` says whether there are any."""

    def __init__(self, colours: bool) -> None:
        self.colours: bool = colours

    def __call__(self, text: str, colour: str) -> str:
        return f"{_CODES[colour]}{text}{_PLAIN}" if self.colours and text else text

    def code(self, line: str) -> str:
        """A line of a program: comments, names, strings and types stand out."""
        if not self.colours:
            return line

        def paint(found: re.Match[str]) -> str:
            for number, colour in ((1, "dim"), (2, "cyan"), (3, "green"), (4, "blue")):
                if found[number]:
                    return self(found[number], colour)
            return found[0]

        return _TOKEN.sub(paint, line)
