"""Whether a fix helps: an extract of the text is read and verified with it.

A fix helps if its diagnostic is gone and the text has no new error.  Kernels may be long, so the extract has only the
operation, the operations around it and the users of its results; of the values that these use it has only the types.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tileir.dialect.ops import BUILTIN_MODULE, ENTRY, FOR, IF, LOOP, MODULE
from tileir.serve.language.document.analysis import Analysis, TextDiagnostic, read, verified
from tileir.serve.language.document.scanner import OperationNode, RegionNode
from tileir.serve.language.document.tree import SyntaxTree
from tileir.serve.language.editing.layout import Edit, apply
from tileir.serve.language.settings import Settings

# The most tokens that are read for one request of an editor: a tenth of a second.
LARGEST_EFFORT = 60_000
# The code of what the reader finds.
SYNTAX = "syntax"
# Operations that may be kept without all that is in them.
_HOLLOW = (BUILTIN_MODULE, MODULE, ENTRY, FOR, LOOP, IF)
# More operations than this are not kept for the sake of one.
_MOST_USERS = 50
_NUMBERED = re.compile(r"%\d+")


class _Extract:
    """An extract of the text: the edits that remove the rest."""

    def __init__(self, edits: list[Edit]) -> None:
        self.edits = edits
        self.before: list[TextDiagnostic] | None = None


class Trials:
    """Tries fixes for the diagnostics of one text, within a limit of effort."""

    def __init__(self, syntax: SyntaxTree, analysis: Analysis, settings: Settings) -> None:
        self._syntax = syntax
        self._analysis = analysis
        # What stands for the definitions of values is in no dialect.
        self._settings = replace(settings, allow_unregistered=True)
        self._effort = LARGEST_EFFORT
        self._extracts: dict[tuple[OperationNode | None, ...], _Extract] = {}

    @property
    def exhausted(self) -> bool:
        return self._effort <= 0

    def helps(self, edits: Sequence[Edit], diagnostic: TextDiagnostic) -> bool:
        """Whether a finding is gone with some edits, and no new error is there."""
        extract = self._extract(edits, diagnostic)
        if extract.before is None:
            extract.before = self._findings(apply(self._syntax.text, extract.edits))
        before = extract.before
        together = sorted([*extract.edits, *edits], key=lambda edit: (edit.start, edit.end))
        text = apply(self._syntax.text, together)
        after = self._findings(text)
        counts = Counter([_key(found) for found in before])
        key = _key(diagnostic)
        if Counter([_key(found) for found in after])[key] >= counts[key]:
            return False
        # The verifier speaks only where the reader has nothing to say: what it finds now may have been there before,
        # unless it is about what was changed.
        first = any(found.code == SYNTAX for found in before)
        start = edits[0].start + _growth(
            [edit for edit in together if edit.end <= edits[0].start and edit not in edits]
        )
        start = text.rfind("\n", 0, start) + 1
        end = edits[-1].end + _growth([edit for edit in together if edit.end <= edits[-1].end])
        for found in after:
            if found.severity == "error":
                counts[_key(found)] -= 1
                known = first and found.code != SYNTAX and not start <= found.start <= end
                if counts[_key(found)] < 0 and not known:
                    return False
        return True

    def _findings(self, text: str) -> list[TextDiagnostic]:
        syntax = SyntaxTree(text)
        self._effort -= len(syntax.tokens)
        return verified(syntax, read(syntax.written, self._settings), self._settings).diagnostics

    # --- what is tried ---

    def _extract(self, edits: Sequence[Edit], diagnostic: TextDiagnostic) -> _Extract:
        """What is left of the text to try some edits."""
        places: tuple[OperationNode | None, ...] = ()
        # What opens or closes regions moves operations to other places: then all of the text counts.
        changed = "".join([edit.text + self._syntax.text[edit.start : edit.end] for edit in edits])
        if "{" not in changed and "}" not in changed:
            offsets = [diagnostic.start, *[edit.start for edit in edits]]
            places = tuple(dict.fromkeys([self._syntax.operation_at(offset) for offset in offsets]))
        found = self._extracts.get(places)
        if found is None:
            found = self._extracts[places] = _Extract(self._cuts(places) if places and None not in places else [])
        return found

    def _cuts(self, places: Sequence[OperationNode | None]) -> list[Edit]:
        """Edits that leave some operations and what they need; blanks or a definition take the place of others."""
        kept, defining = self._needed([operation for operation in places if operation is not None])
        syntax = self._syntax
        found: list[Edit] = []
        pending = list(reversed(syntax.top.operations))
        before: RegionNode | None = None
        while pending:
            operation = pending.pop()
            if operation in kept or operation.declaration in (MODULE, BUILTIN_MODULE):
                if operation.declaration in _HOLLOW:
                    for region in reversed(operation.regions):
                        pending.extend(reversed(region.operations))
            elif operation in defining or operation.declaration is ENTRY or operation.region.owner in kept:
                start, end = syntax.starts[operation.first], syntax.end(operation.last)
                stated = defining.get(operation, "")
                if not stated and found and not found[-1].text and before is operation.region:
                    # One cut for all that stand together.
                    start = found.pop().start
                found.append(Edit(start, end, stated))
                before = operation.region
                continue
            before = None
        return found

    def _needed(self, places: list[OperationNode]) -> tuple[set[OperationNode], dict[OperationNode, str]]:
        """The operations that are kept, and those of which only the types of the results are, with what says these."""
        syntax = self._syntax
        kept: set[OperationNode] = set()
        defining: dict[OperationNode, str] = {}
        pending = list(places)
        for operation in places:
            names = [syntax.name_at(result) for result in operation.results]
            uses = [use for name in names if name is not None for use in name.uses]
            users = [syntax.operation_of_token(use) for use in uses[:_MOST_USERS]]
            pending.extend([user for user in users if user is not None])
        while pending:
            operation = pending.pop()
            if operation in kept:
                continue
            kept.add(operation)
            defining.pop(operation, None)
            last = operation.last
            if operation.regions and operation.declaration in _HOLLOW:
                last = operation.regions[0].opening
            for token in range(operation.first, last + 1):
                name = syntax.name_at(token) if syntax.tokens[token][:1] == "%" else None
                other = name.operation if name is not None else None
                if other is None or other in kept or other in defining:
                    continue
                stated = self._stated(other)
                if stated:
                    defining[other] = stated
                else:
                    pending.append(other)
            if operation.parent is not None:
                pending.append(operation.parent)
                # A block is not complete without its terminator.
                ending = operation.region.operations[-1]
                if ending.declaration is not None and ending.declaration.is_terminator:
                    pending.append(ending)
        return kept, defining

    def _stated(self, written: OperationNode) -> str:
        """A definition of the results of an operation by their types alone; empty where it has to stay as it is."""
        operation = self._analysis.operation_of(written)
        if operation is None or not written.results or not operation.operands or written.regions:
            return ""
        named = self._syntax.text[self._syntax.starts[written.first] : self._syntax.starts[written.name]]
        types = ", ".join([result.type.text for result in operation.results])
        return f'{named}"tileir.value"() : () -> ({types})'


def _growth(edits: list[Edit]) -> int:
    """How much longer a text is after edits."""
    return sum([len(edit.text) - (edit.end - edit.start) for edit in edits])


def _key(diagnostic: TextDiagnostic) -> str:
    """What tells findings apart: messages may show an operation with its values numbered."""
    return f"{diagnostic.severity}: {_NUMBERED.sub('%', diagnostic.message)}"
