"""Diagnostics in colour: the place and the message in bold, the severity and the caret in the colours of clang.

What is painted has gone through `tileir.ir.quoting` before: every escape sequence in the output comes from here.
"""

from __future__ import annotations

from tileir.ir.diagnostics import Diagnostic, location_prefix, quoted_line

PLAIN = "\033[0m"
BOLD = "\033[1m"
CYAN = "\033[36m"
_GREEN = "\033[1;32m"
_SEVERITIES = {"error": "\033[1;31m", "warning": "\033[1;35m", "remark": "\033[1;34m", "note": "\033[1;36m"}


def painted(diagnostic: Diagnostic, file: str = "") -> str:
    """What `Diagnostic.render` gives, in colours; `file` is the name of the file of what has no position."""
    place = location_prefix(diagnostic.location) or (f"{file}: " if file else "")
    severity = diagnostic.severity
    # Notes are less than what they belong to.
    message = diagnostic.shown_message if severity == "note" else _in(BOLD, diagnostic.shown_message)
    parts = [f"{_in(BOLD, place)}{_SEVERITIES.get(severity, BOLD)}{severity}:{PLAIN} {message}"]
    quoted = quoted_line(diagnostic.location)
    if quoted is not None:
        caret = quoted[1]
        parts.append(f"{quoted[0]}\n{caret[:-1]}{_GREEN}{caret[-1]}{PLAIN}")
    parts.extend([painted(note) for note in diagnostic.notes])
    return "\n".join(parts)


def _in(colour: str, text: str) -> str:
    """A text in a colour that ends with each line, so that a pager may begin with any of them."""
    return "\n".join([f"{colour}{line}{PLAIN}" if line else "" for line in text.split("\n")])


_OUTCOMES = {
    "title": BOLD,
    "passed": "\033[32m",
    "failed": "\033[1;31m",
    "crashed": "\033[1;31m",
    "timeout": "\033[1;35m",
    "memory": "\033[1;35m",
    "forbidden": "\033[1;35m",
    "refused": "\033[33m",
    "skipped": "\033[2m",
}


def in_outcome(text: str, outcome: str) -> str:
    """A text in the colour of what came of a program; in bold for a `title`."""
    colour = _OUTCOMES.get(outcome, "")
    return _in(colour, text) if colour else text
