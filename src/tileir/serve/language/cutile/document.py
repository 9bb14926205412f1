"""A cuTile script in an editor: its errors, the findings of its compilation, and the features for scripts.

The features are about names of `cuda.tile`; other servers know the rest of Python.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lsprotocol import types as lsp

from tileir.serve.language.cutile.checks import script_error, script_errors
from tileir.serve.language.cutile.compilation import CompiledLaunch, Finding
from tileir.serve.language.cutile.library import Member, library, operations_of
from tileir.serve.language.cutile.script import Script, call_at
from tileir.serve.language.document.analysis import TextDiagnostic
from tileir.serve.language.document.document import Document, markup
from tileir.serve.language.editing.code_actions import code_action


class CutileDocument(Document):
    """A Python file; for one that does not use `cuda.tile` there are no features."""

    _script: Script | None = None
    # The text that was compiled last, and the results.
    compiled_text: str = ""
    compiled: Sequence[CompiledLaunch] = ()

    @property
    def script(self) -> Script:
        if self._script is None or self._script.text != self.text:
            self._script = Script(self.text)
        return self._script

    @property
    def errors(self) -> list[TextDiagnostic]:
        """The errors in the text as it is now; Python's own are for other servers."""
        known = library() if self.script.uses_library else None
        found = [] if known is None else script_errors(self.script, known)
        wrong = [each for each in self.script.launches if each.error]
        return [*found, *[script_error(each.error, each.start, each.end, "cutile-launch") for each in wrong]]

    def member(self, written: str) -> Member | None:
        """What a dotted name of the text is in the library."""
        known, script = library(), self.script
        base, dot, name = written.rpartition(".")
        name = script.names.get(name, "") if not dot else name if base in script.modules else ""
        return known.members.get(name) if known is not None else None

    def requested_launches(self) -> list[dict[str, Any]]:
        found = self.script.launches
        return [{"kernel": each.kernel, "arguments": list(each.words.arguments)} for each in found if each.words]

    def line_now(self, line: int) -> int | None:
        """Where a line of the text that was compiled is now, counted from 0; None if it was changed."""
        old, new = self.compiled_text.splitlines(), self.text.splitlines()
        if line < len(new) and old[: line + 1] == new[: line + 1]:
            return line
        behind = len(old) - line
        return len(new) - behind if 0 < behind <= len(new) and old[-behind:] == new[-behind:] else None

    @property
    def diagnostics(self) -> list[TextDiagnostic]:
        found = self.errors
        known = {each.start for each in found}
        for launch in self.compiled:
            for finding in launch.findings:
                area = self._area(finding, launch.kernel)
                # An error that was found without compiling is reported once.
                if area is not None and area[0] not in known:
                    found.append(TextDiagnostic(finding.severity, finding.message, *area, finding.code))
        return found

    def _area(self, finding: Finding, kernel: str) -> tuple[int, int] | None:
        if finding.line <= 0:
            stated = [each for each in self.script.launches if each.kernel == kernel or not kernel]
            return (stated[0].start, stated[0].end) if stated else None
        line = self.line_now(finding.line - 1)
        if line is None:
            return None
        start, end = self.line_start(line), self.line_end(line)
        blanks = len(self.text[start:end]) - len(self.text[start:end].lstrip())
        first = start + (finding.column or blanks)
        last = start + finding.end if finding.end > finding.column else end
        return min(first, end), min(max(last, first), end)


_WORD = re.compile(r"[\w.]*\Z")
_REST = re.compile(r"\A\w*")
_KINDS = {
    "function": lsp.CompletionItemKind.Function,
    "type": lsp.CompletionItemKind.Class,
    "enum": lsp.CompletionItemKind.Enum,
    "dtype": lsp.CompletionItemKind.Constant,
    "module": lsp.CompletionItemKind.Module,
    "value": lsp.CompletionItemKind.Variable,
}


def hover(document: CutileDocument, position: lsp.Position) -> lsp.Hover | None:
    """What a name of the library is, and which operations of Tile IR it becomes."""
    offset = document.offset(position)
    # The dotted name up to the end of the word at the offset.
    end = offset + len(_REST.findall(document.text[offset : offset + 200])[0])
    name = _WORD.findall(document.text[max(0, offset - 200) : end])[0]
    member = document.member(name)
    if member is None:
        return None
    parts = [f"```python\n{member.head}\n```"]
    if operations_of(member.name):
        parts.append(f"in Tile IR: {', '.join([f'`{each}`' for each in operations_of(member.name)])}")
    if member.choices:
        parts.append(", ".join([f"`{choice}`" for choice in member.choices]))
    if member.documentation:
        parts.append(member.documentation)
    return lsp.Hover(markup("\n\n".join(parts)), document.range(end - len(name), end))


def complete(document: CutileDocument, position: lsp.Position) -> lsp.CompletionList:
    """Names after `ct.`, members of its enumerations, and names of parameters in its calls."""
    known, offset = library(), document.offset(position)
    line = document.text[document.line_start(position.line) : offset]
    if known is None or line.lstrip().startswith("#"):
        return lsp.CompletionList(False, [])
    base, dot, _ = _WORD.findall(line)[0].rpartition(".")
    call = call_at(document.text, offset) if not dot else None
    member = document.member(base if call is None else call.name)
    if dot and base in document.script.modules:
        items = [_item(each) for each in known.members.values()]
    elif dot and member is not None:
        items = [lsp.CompletionItem(choice, kind=lsp.CompletionItemKind.EnumMember) for choice in member.choices]
    elif call is not None and member is not None and not call.keyword:
        items = [
            lsp.CompletionItem(
                f"{name}=",
                kind=lsp.CompletionItemKind.Property,
                detail=f"parameter of {member.name}",
                # Before names of the script, which other servers complete.
                sort_text=f"0{name}",
            )
            for name in member.keywords
            if name not in call.keywords
        ]
    else:
        items = []
    return lsp.CompletionList(False, items)


def _item(member: Member) -> lsp.CompletionItem:
    operations = ", ".join(operations_of(member.name))
    return lsp.CompletionItem(
        member.name,
        kind=_KINDS[member.kind],
        detail=member.head if member.kind == "function" else member.kind,
        label_details=lsp.CompletionItemLabelDetails(description=operations) if operations else None,
        documentation=markup(member.documentation) if member.documentation else None,
    )


def signature_help(document: CutileDocument, position: lsp.Position) -> lsp.SignatureHelp | None:
    """The parameters of a function of the library that is being called."""
    call = call_at(document.text, document.offset(position))
    member = document.member(call.name) if call is not None else None
    if call is None or member is None or member.signature is None:
        return None
    names = [parameter.name for parameter in member.parameters]
    by_place = [each.name for each in member.parameters if each.kind is not each.KEYWORD_ONLY]
    active = call.argument if call.argument < len(by_place) else None
    active = names.index(call.keyword) if call.keyword in names else active
    information = lsp.SignatureInformation(
        member.head,
        documentation=markup(member.documentation.split("\n\n")[0]),
        parameters=[lsp.ParameterInformation(name) for name in names],
        active_parameter=active,
    )
    return lsp.SignatureHelp([information], 0, active)


def inlay_hints(document: CutileDocument, within: lsp.Range) -> list[lsp.InlayHint]:
    """The types of the tiles that names stand for, as they were when the script was compiled."""
    found: dict[tuple[int, str], lsp.InlayHint] = {}
    for launch in document.compiled:
        for variable in launch.variables:
            line = document.line_now(variable.line - 1)
            if line is None or not within.start.line <= line <= within.end.line:
                continue
            start, end = document.line_start(line), document.line_end(line)
            name = re.compile(rf"\b{re.escape(variable.name)}\b").search(document.text, start, end)
            if name is not None and (line, variable.name) not in found:
                place = document.position(name.end())
                found[line, variable.name] = lsp.InlayHint(
                    place, f": {variable.type}", kind=lsp.InlayHintKind.Type, tooltip=f"in {launch.kernel}, as compiled"
                )
    return list(found.values())


def code_actions(document: CutileDocument, within: lsp.Range) -> list[lsp.CodeAction]:
    """Replacements of unknown names by similar ones."""
    start, end = document.offset(within.start), document.offset(within.end)
    return [
        code_action(document, error.fix.title, lsp.CodeActionKind.QuickFix, error.fix.edits, is_preferred=True)
        for error in document.errors
        if error.fix is not None and error.start <= end and start <= error.end
    ]


# The features of scripts, as in the table of `server.py`.
SCRIPT_FEATURES: dict[str, tuple[Any, ...]] = {
    lsp.TEXT_DOCUMENT_CODE_ACTION: (code_actions, "range"),
    lsp.TEXT_DOCUMENT_COMPLETION: (complete, "position"),
    lsp.TEXT_DOCUMENT_INLAY_HINT: (inlay_hints, "range"),
    lsp.TEXT_DOCUMENT_HOVER: (hover, "position"),
    lsp.TEXT_DOCUMENT_SIGNATURE_HELP: (signature_help, "position"),
}
