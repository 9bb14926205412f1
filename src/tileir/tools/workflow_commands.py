"""Findings as workflow commands of GitHub Actions, which shows them at the lines of a pull request.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from tileir.ir.diagnostics import Diagnostic
from tileir.ir.quoting import harmless

_COMMANDS = {"error": "error", "warning": "warning", "remark": "notice"}


def command(diagnostic: Diagnostic, path: str) -> str:
    """A finding on one line; its notes are lines of the message."""
    file, line, column = diagnostic.position
    properties = [f"file={_property(harmless(file or path))}"]
    if line:
        properties.append(f"line={line}")
        if column:
            properties.append(f"col={column}")
    message = "\n".join([diagnostic.shown_message, *[str(note) for note in diagnostic.notes]])
    return f"::{_COMMANDS[diagnostic.severity]} {','.join(properties)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
