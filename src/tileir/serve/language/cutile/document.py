"""A cuTile script in an editor: its errors, the findings of its compilation, and the features for scripts.

The features are about names of `cuda.tile`; other servers know the rest of Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from lsprotocol import types as lsp

from tileir.serve.language.cutile.checks import ScriptFinding, script_errors
from tileir.serve.language.cutile.compilation import CompiledLaunch, Finding
from tileir.serve.language.cutile.library import Library, Member, library, operations_of
from tileir.serve.language.cutile.script import Script, call_at
from tileir.serve.language.document.document import Document

SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "remark": lsp.DiagnosticSeverity.Information,
}


class CutileDocument(Document):
    """A Python file; for one that does not use `cuda.tile` there are no features."""

    _script: Script | None = None
    # The text that was compiled, and its launches.
    _compiled: tuple[str, list[CompiledLaunch]] = ("", [])

    @property
    def script(self) -> Script:
        if self._script is None or self._script.text != self.text:
            self._script = Script(self.text)
        return self._script

    @property
    def errors(self) -> list[ScriptFinding]:
        """The errors in the text as it is now; Python's own are for other servers."""
        known = library() if self.script.uses_library else None
        found = [] if known is None else script_errors(self.script, known)
        wrong = [each for each in self.script.launches if each.error]
        return [*found, *[ScriptFinding(each.error, each.start, each.end, "cutile-launch") for each in wrong]]

    # --- compiled ---

    def requested_launches(self) -> list[dict[str, Any]]:
        """The launches to compile for."""
        return [
            {"kernel": each.kernel, "arguments": list(each.words.arguments)}
            for each in self.script.launches
            if each.words is not None
        ]

    def set_compiled(self, text: str, launches: list[CompiledLaunch]) -> None:
        """Keep the results of compiling a text."""
        self._compiled = (text, launches)

    @property
    def compiled(self) -> list[CompiledLaunch]:
        return self._compiled[1]

    def line_now(self, line: int) -> int | None:
        """Where a line of the text that was compiled is now, counted from 0; None if it was changed."""
        old, new = self._compiled[0].splitlines(), self.text.splitlines()
        if line < len(new) and old[: line + 1] == new[: line + 1]:
            return line
        behind = len(old) - line
        return len(new) - behind if 0 < behind <= len(new) and old[-behind:] == new[-behind:] else None

    # --- diagnostics ---

    def diagnostics(self) -> list[lsp.Diagnostic]:
        found = [
            _diagnostic(self.range(each.start, each.end), each.message, "error", each.code) for each in self.errors
        ]
        known = [each.range.start for each in found]
        for launch in self.compiled:
            for finding in launch.findings:
                area = self._area(finding, launch.kernel)
                # An error that was found without compiling is reported once.
                if area is not None and area.start not in known:
                    found.append(_diagnostic(area, finding.message, finding.severity, finding.code))
        return found

    def _area(self, finding: Finding, kernel: str) -> lsp.Range | None:
        if finding.line <= 0:
            stated = [each for each in self.script.launches if each.kernel == kernel or not kernel]
            return self.range(stated[0].start, stated[0].end) if stated else None
        line = self.line_now(finding.line - 1)
        if line is None:
            return None
        start, end = self.line_start(line), self.line_end(line)
        blanks = len(self.text[start:end]) - len(self.text[start:end].lstrip())
        first = start + (finding.column if finding.column >= 0 else blanks)
        last = start + finding.end if finding.end > finding.column else end
        return self.range(min(first, end), min(max(last, first), end))


def _diagnostic(area: lsp.Range, message: str, severity: str, code: str) -> lsp.Diagnostic:
    return lsp.Diagnostic(area, message, severity=SEVERITIES[severity], code=code, source="tileir")


def is_script(uri: str, language: str) -> bool:
    return language == "python" or (not language and uri.endswith(".py"))


# --- features ---

_WORD = re.compile(r"[\w.]*\Z")
_REST = re.compile(r"\w*")
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
    known, offset = library(), document.offset(position)
    start, end = _name_around(document.text, offset)
    member = _member(document, known, document.text[start:end])
    if known is None or member is None:
        return None
    parts = [f"```python\n{member.head}\n```"]
    if operations_of(member.name):
        parts.append(f"in Tile IR: {', '.join([f'`{name}`' for name in operations_of(member.name)])}")
    if member.choices:
        parts.append(", ".join([f"`{choice}`" for choice in member.choices]))
    if member.documentation:
        parts.append(member.documentation)
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, "\n\n".join(parts))
    return lsp.Hover(content, document.range(start, end))


def complete(document: CutileDocument, position: lsp.Position) -> lsp.CompletionList:
    """Names behind `ct.`, members of its enumerations, and names of parameters in its calls."""
    items: list[lsp.CompletionItem] = []
    known, offset = library(), document.offset(position)
    if known is not None and not _is_in_comment(document, offset):
        found = _WORD.search(document.text, max(0, offset - 200), offset)
        word = found[0] if found is not None else ""
        base, dot, _ = word.rpartition(".")
        if dot and base in document.script.modules:
            items = [_item(member) for member in known.members.values()]
        elif dot:
            member = _member(document, known, base)
            items = [
                lsp.CompletionItem(choice, kind=lsp.CompletionItemKind.EnumMember)
                for choice in (member.choices if member is not None else ())
            ]
        else:
            items = _keywords(document, known, offset)
    return lsp.CompletionList(False, items)


def signature_help(document: CutileDocument, position: lsp.Position) -> lsp.SignatureHelp | None:
    """The parameters of a function of the library that is being called."""
    known, offset = library(), document.offset(position)
    call = call_at(document.text, offset) if known is not None else None
    member = _member(document, known, call.name) if call is not None else None
    if call is None or member is None or member.signature is None:
        return None
    names = [parameter.name for parameter in member.parameters]
    active = names.index(call.keyword) if call.keyword in names else call.argument
    if call.keyword not in names and active < len(names):
        parameter = member.parameters[active]
        active = active if parameter.kind is not parameter.KEYWORD_ONLY else len(names)
    information = lsp.SignatureInformation(
        member.head,
        documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, member.documentation.split("\n\n")[0]),
        parameters=[lsp.ParameterInformation(name) for name in names],
        active_parameter=active if active < len(names) else None,
    )
    return lsp.SignatureHelp([information], 0, active if active < len(names) else None)


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
    """What was meant by names that are not there, written in their place."""
    start, end = document.offset(within.start), document.offset(within.end)
    found: list[lsp.CodeAction] = []
    for error in document.errors:
        if error.replacement is None or error.end < start or end < error.start:
            continue
        edit = lsp.TextEdit(document.range(error.start, error.end), error.replacement)
        found.append(
            lsp.CodeAction(
                f"Write '{error.replacement}'",
                kind=lsp.CodeActionKind.QuickFix,
                edit=lsp.WorkspaceEdit(changes={document.uri: [edit]}),
                is_preferred=True,
            )
        )
    return found


def _keywords(document: CutileDocument, known: Library, offset: int) -> list[lsp.CompletionItem]:
    call = call_at(document.text, offset)
    member = _member(document, known, call.name) if call is not None else None
    if call is None or member is None or call.keyword:
        return []
    return [
        lsp.CompletionItem(
            f"{name}=",
            kind=lsp.CompletionItemKind.Property,
            detail=f"parameter of {member.name}",
            # Before names of the script, of which others know.
            sort_text=f"0{name}",
        )
        for name in member.keywords
        if name not in call.keywords
    ]


def _item(member: Member) -> lsp.CompletionItem:
    operations = ", ".join(operations_of(member.name))
    return lsp.CompletionItem(
        member.name,
        kind=_KINDS[member.kind],
        detail=member.head if member.kind == "function" else member.kind,
        label_details=lsp.CompletionItemLabelDetails(description=operations) if operations else None,
        documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, member.documentation)
        if member.documentation
        else None,
    )


def _member(document: CutileDocument, known: Library | None, written: str) -> Member | None:
    """What a dotted name of the text is in the library."""
    if known is None or not written:
        return None
    script = document.script
    base, dot, name = written.rpartition(".")
    if dot:
        return known.members.get(name) if base in script.modules else None
    return known.members.get(script.names.get(name, ""))


def _name_around(text: str, offset: int) -> tuple[int, int]:
    """The dotted name up to the end of the word at a place."""
    rest = _REST.match(text, offset)
    end = rest.end() if rest is not None else offset
    before = _WORD.search(text, max(0, offset - 200), end)
    return (before.start() if before is not None else offset), end


def _is_in_comment(document: CutileDocument, offset: int) -> bool:
    start = document.line_start(document.line_of(offset))
    return document.text[start:offset].lstrip().startswith("#")


FEATURES: dict[str, Callable[[Any, Any], Any]] = {
    lsp.TEXT_DOCUMENT_CODE_ACTION: lambda document, params: code_actions(document, params.range),
    lsp.TEXT_DOCUMENT_COMPLETION: lambda document, params: complete(document, params.position),
    lsp.TEXT_DOCUMENT_INLAY_HINT: lambda document, params: inlay_hints(document, params.range),
    lsp.TEXT_DOCUMENT_HOVER: lambda document, params: hover(document, params.position),
    lsp.TEXT_DOCUMENT_SIGNATURE_HELP: lambda document, params: signature_help(document, params.position),
}
