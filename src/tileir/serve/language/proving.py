"""The action that proves a kernel: `tileir prove` in a process of its own, with limits of time and memory."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from lsprotocol import types as lsp

from tileir.processes.command import communicate
from tileir.processes.exit_status import TIMED_OUT
from tileir.serve.language.document.analysis import TextDiagnostic, TextNote
from tileir.serve.language.document.document import Document

COMMAND: Final = "tileir.prove"
PROVE: Final = "source.prove.tileir"
SECONDS: Final = 30.0
_START_SECONDS: Final = 10.0
"""Seconds that the process may take beyond the proof."""
_MEMORY: Final = 16 << 30
"""The limit of address space, as in `tileir reduce`."""


@dataclass
class KernelProof:
    """How a proof ended: what `tileir prove --json` printed, or why it printed nothing."""

    answers: dict[str, Any] = field(default_factory=dict)
    summary: str = ""
    error: str = ""


def proof_actions(document: Document, area: lsp.Range) -> Iterator[lsp.CodeAction]:
    """The action for the kernel around an offset in a program without errors."""
    node = document.syntax.operation_at(document.offset(area.start))
    if node is None or document.analysis.has_errors:
        return
    for function in node.functions[-1:]:
        entry = document.analysis.operation_of(function)
        if entry is not None:
            title = f"Prove @{entry.symbol_name} for every launch"
            arguments = [document.uri, entry.symbol_name or ""]
            yield lsp.CodeAction(title, PROVE, command=lsp.Command(title=title, command=COMMAND, arguments=arguments))


def proof_of(text: str, kernel: str, seconds: float = SECONDS) -> KernelProof:
    """Prove a kernel of a text."""
    words = ["prove", "-", "--json", "--entry", kernel, "--timeout", f"{seconds:g}"]
    status, output, errors = communicate(
        [sys.executable, "-m", "tileir", *words],
        text.encode("utf-8", "surrogateescape"),
        seconds=seconds + _START_SECONDS,
        memory=_MEMORY,
    )
    if status.reason == TIMED_OUT:
        return KernelProof(error=f"@{kernel} is not proved: it took more than {seconds:g} s")
    try:
        found = json.loads(output)
        if "message" in found:
            return KernelProof(error=f"@{kernel} is not proved: {found['message']}")
        counts = Counter([answer["verdict"] for answer in found["answers"].values()])
        words = [f"{counts[each]} {each}" for each in ("proved", "refuted", "unknown") if counts[each]]
        return KernelProof(found["answers"], f"@{kernel}: {', '.join(words)}")
    except (ValueError, TypeError, KeyError):
        lines = errors.decode("utf-8", "replace").strip().splitlines() or [f"the process {status.message}"]
        return KernelProof(error=f"@{kernel} is not proved: {lines[0].removeprefix('error: ')}")


def diagnostics(document: Document, proof: KernelProof) -> list[TextDiagnostic]:
    """What is refuted, at its position in the text that was proved."""
    found: list[TextDiagnostic] = []
    for question, answer in proof.answers.items():
        finding = answer.get("finding")
        if finding is None or "line" not in finding:
            continue
        start = document.line_start(finding["line"] - 1) + finding["column"] - 1
        token = document.syntax.token_at(start)
        end = document.syntax.end(token) if token is not None else start
        message = f"{finding['kind']}: {finding['title']}, {answer['instance']}"
        notes = [TextNote(words, -1, -1) for words in (*finding["details"], f"help: {finding['help']}")]
        found.append(TextDiagnostic("error", message, start, end, f"prove-{question}", notes))
    return found
