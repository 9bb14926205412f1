"""Findings as annotations of a source, in the formats of code scanning services.

SARIF 2.1.0: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
Workflow commands of GitHub Actions: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote_from_bytes

from tileir import __version__
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.quoting import harmless

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

# The default level and the description of each kind of finding.
RULES = {
    "syntax": ("error", "The text is not a Tile IR program."),
    "bytecode": ("error", "The bytes cannot be decoded."),
    "verification": ("error", "The program breaks a rule of the dialect."),
    "doubtful": ("warning", "The program is valid and may not do what is meant."),
    "draft-spelling": ("note", "Only the drafts spell it so; NVIDIA's tools do not accept it."),
    "unreadable": ("error", "The file cannot be read, or holds no program."),
}
_LEVELS = {"error": "error", "warning": "warning", "remark": "note", "note": "note"}


def sarif_result(
    diagnostic: Diagnostic, path: str, offset: int, rule: str, more_rules: Mapping[str, tuple[str, str, str]]
) -> str:
    """A finding as a line of JSON; its notes are related locations."""
    found: dict[str, object] = {
        "ruleId": rule,
        "ruleIndex": [*RULES, *more_rules].index(rule),
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": diagnostic.shown_message},
        "locations": [_location(diagnostic, path, offset)],
    }
    if diagnostic.notes:
        found["relatedLocations"] = [
            {"id": number, **_location(note, path, -1), "message": {"text": note.shown_message}}
            for number, note in enumerate(diagnostic.notes)
        ]
    return json.dumps(found)


def described_rules(more_rules: Mapping[str, tuple[str, str, str]]) -> list[dict[str, object]]:
    """What findings are about, for the document."""
    rules: list[dict[str, object]] = []
    for name, (level, words, *more) in [*RULES.items(), *more_rules.items()]:
        described: dict[str, object] = {"id": name, "shortDescription": {"text": words}}
        if more:
            described["help"] = {"text": more[0]}
        rules.append({**described, "defaultConfiguration": {"level": _LEVELS[level]}})
    return rules


def sarif_document(results: Sequence[str], rules: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """The document around results, in parts; one result on each line."""
    driver = {"name": "tileir", "version": __version__, "semanticVersion": __version__, "rules": rules}
    head = {"$schema": SCHEMA, "version": "2.1.0"}
    yield f"{json.dumps(head)[:-1]}, "
    # Columns count what Python calls characters.
    yield f'"runs": [{{"tool": {json.dumps({"driver": driver})}, "columnKind": "unicodeCodePoints", "results": ['
    yield ",\n".join(["", *results])[1:]
    yield "\n]}]}\n"


def _location(diagnostic: Diagnostic, path: str, offset: int) -> dict[str, object]:
    file, line, column = diagnostic.position
    place: dict[str, object] = {"artifactLocation": _artifact(file or path)}
    if line:
        place["region"] = {"startLine": line, "startColumn": column} if column else {"startLine": line}
    elif offset >= 0:
        place["region"] = {"byteOffset": offset}
    return {"physicalLocation": place}


def _artifact(path: str) -> dict[str, object]:
    """The address of a file; names that are no text are their bytes."""
    data = os.fsencode(_in_repository(path).replace(os.sep, "/"))
    if os.path.isabs(path):
        return {"uri": f"file://{'' if data.startswith(b'/') else '/'}{quote_from_bytes(data, safe='/:')}"}
    # A relative address must not look like a scheme: `a:b` does.
    return {"uri": quote_from_bytes(data, safe="/"), "uriBaseId": "%SRCROOT%"}


def _in_repository(path: str) -> str:
    """A path as services know it: programs of the directory `.` are found as `./name`."""
    return path.removeprefix(os.curdir + os.sep)


# --- workflow commands ---

_COMMANDS = {"error": "error", "warning": "warning", "remark": "notice"}


def workflow_command(diagnostic: Diagnostic, path: str) -> str:
    """A finding as a workflow command; its notes are lines of the message."""
    file, line, column = diagnostic.position
    properties = [f"file={_escaped(harmless(_in_repository(file or path)), '%:,')}"]
    properties += [f"line={line}"] if line else []
    properties += [f"col={column}"] if line and column else []
    message = "\n".join([diagnostic.shown_message, *[str(note) for note in diagnostic.notes]])
    return f"::{_COMMANDS[diagnostic.severity]} {','.join(properties)}::{_escaped(message)}"


def _escaped(text: str, characters: str = "%\r\n") -> str:
    return "".join([f"%{ord(each):02X}" if each in characters else each for each in text])
