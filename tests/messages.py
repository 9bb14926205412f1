"""Diagnostics of the command line in short, for tests that are about what is found and not how it is laid out."""

from __future__ import annotations

import re


def compact(text: str) -> str:
    """Each finding as `file:line:column: error: message`, the source line and the caret, without gutters."""
    text = re.sub(r"(?m)^(\w+): (.*)\n *--> (.*)$", r"\3: \1: \2", text)
    text = re.sub(r"(?m)^ +\|\n|^ *\d* \| | +\| (?= *\^$)|^ += |^\n", "", text)
    return text
