"""Whether a fix helps: the functions that it changes are read and verified with it.

A fix helps if its diagnostic is gone and the text has no new error.  Other functions are left out: what a function
means does not depend on them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tileir.dialect.ops import ENTRY
from tileir.serve.language.document.analysis import TextDiagnostic, read, verified
from tileir.serve.language.document.scanner import OperationNode
from tileir.serve.language.document.tree import Edit, SyntaxTree, apply
from tileir.serve.language.settings import Settings

# The most tokens that are read for one request of an editor: half a second.
LARGEST_EFFORT = 300_000
# The code of what the reader finds.
SYNTAX = "syntax"
_NUMBERED = re.compile(r"%\d+")


class Trials:
    """Tries fixes for the diagnostics of one text, within a limit of effort."""

    def __init__(self, syntax: SyntaxTree, settings: Settings) -> None:
        self._syntax = syntax
        self._settings = settings
        self._effort = LARGEST_EFFORT
        # By the functions that a trial reads, the edits that delete the others, and what is found without a fix.
        self._extracts: dict[frozenset[OperationNode], tuple[list[Edit], list[TextDiagnostic]]] = {}

    @property
    def exhausted(self) -> bool:
        return self._effort <= 0

    def helps(self, edits: Sequence[Edit], diagnostic: TextDiagnostic) -> bool:
        """Whether a finding is gone with some edits, and no new error is there."""
        functions = self._functions(edits, diagnostic)
        if functions not in self._extracts:
            cuts = self._cuts(functions)
            self._extracts[functions] = cuts, self._findings(apply(self._syntax.text, cuts))
        cuts, before = self._extracts[functions]
        together = sorted([*cuts, *edits], key=lambda edit: (edit.start, edit.end))
        text = apply(self._syntax.text, together)
        after = self._findings(text)
        counts = Counter([_key(found) for found in before])
        key = _key(diagnostic)
        if Counter([_key(found) for found in after])[key] >= counts[key]:
            return False
        # The verifier speaks only where the reader has nothing to say: what it finds now may have been there before,
        # unless it is about what was changed.
        was_unread = any(found.code == SYNTAX for found in before)
        start = edits[0].start + _growth([edit for edit in cuts if edit.end <= edits[0].start])
        start = text.rfind("\n", 0, start) + 1
        end = edits[-1].end + _growth([edit for edit in together if edit.end <= edits[-1].end])
        for found in after:
            if found.severity == "error":
                counts[_key(found)] -= 1
                is_known = was_unread and found.code != SYNTAX and not start <= found.start <= end
                if counts[_key(found)] < 0 and not is_known:
                    return False
        return True

    def _findings(self, text: str) -> list[TextDiagnostic]:
        syntax = SyntaxTree(text)
        self._effort -= len(syntax.tokens)
        return verified(syntax, read(syntax.written, self._settings), self._settings).diagnostics

    def _functions(self, edits: Sequence[Edit], diagnostic: TextDiagnostic) -> frozenset[OperationNode]:
        """The functions that a fix changes; none if the whole text has to be read."""
        # What opens or closes regions moves operations to other places.
        changed = "".join([edit.text + self._syntax.text[edit.start : edit.end] for edit in edits])
        if "{" in changed or "}" in changed:
            return frozenset()
        offsets = [diagnostic.start, *[edit.start for edit in edits]]
        found = [_function_of(self._syntax.operation_at(offset)) for offset in offsets]
        known = frozenset([function for function in found if function is not None])
        return frozenset() if None in found else known

    def _cuts(self, functions: frozenset[OperationNode]) -> list[Edit]:
        """Edits that delete all other functions."""
        others = [each for each in self._syntax.operations if each.declaration is ENTRY and _function_of(each) is each]
        spans = [self._syntax.span(each.first, each.last) for each in others if each not in functions]
        return [Edit(start, end, "") for start, end in spans] if functions else []


def _function_of(node: OperationNode | None) -> OperationNode | None:
    """The outermost function around an operation, or itself."""
    found = None
    while node is not None:
        found = node if node.declaration is ENTRY else found
        node = node.parent
    return found


def _growth(edits: list[Edit]) -> int:
    """How much longer a text is after edits."""
    return sum([len(edit.text) - (edit.end - edit.start) for edit in edits])


def _key(diagnostic: TextDiagnostic) -> str:
    """What tells findings apart: messages may show an operation with its values numbered."""
    return f"{diagnostic.severity}: {_NUMBERED.sub('%', diagnostic.message)}"
