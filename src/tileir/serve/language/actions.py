"""Code actions: remedies for findings, silencing a rule of lint, and rewriting what is written in another form.

A remedy is offered only if it has been tried and helps (`trials`).  If there is one for a finding it is preferred,
which is what an editor applies with one key, and what `source.fixAll.tileir` does for the whole file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lsprotocol import types as lsp

from tileir.analyze.lint.fixes import FixesTogether
from tileir.serve.language.analysis import PlacedDiagnostic
from tileir.serve.language.document import Document
from tileir.serve.language.layout import Edit
from tileir.serve.language.problems import Problem, Remedy
from tileir.serve.language.remedies import remedies
from tileir.serve.language.reprinting import canonical_text, in_generic_form
from tileir.serve.language.silencing import silencing_edit
from tileir.serve.language.trials import Trials

FIX_ALL = "source.fixAll.tileir"
KINDS = (lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.RefactorRewrite, FIX_ALL)
# For one finding, so many remedies are tried and so many offered.
_MOST_TRIED = 16
_MOST_OFFERED = 6


def code_actions(document: Document, area: lsp.Range, context: lsp.CodeActionContext) -> list[lsp.CodeAction]:
    """What can be done about a range of a text."""
    found: list[lsp.CodeAction] = []
    if _wanted(context, lsp.CodeActionKind.QuickFix):
        start, end = document.offset(area.start), document.offset(area.end)
        trials = Trials(document.syntax, document.analysis, document.settings)
        for diagnostic in document.analysis.diagnostics:
            if diagnostic.start <= end and start <= max(diagnostic.end, diagnostic.start):
                found.extend(_quick_fixes(document, diagnostic, context, trials))
    # Not each time the caret moves: printing a long program takes a while.
    asked = context.trigger_kind != lsp.CodeActionTriggerKind.Automatic
    if asked and _wanted(context, lsp.CodeActionKind.RefactorRewrite):
        found.extend(_rewrites(document, area))
    # Asked for by name only: editors run it when a file is saved.
    if context.only is not None and _wanted(context, FIX_ALL):
        edits = fix_all(document)
        if edits:
            action = lsp.CodeAction("Fix all that has one remedy", FIX_ALL)
            action.edit = _workspace_edit(document, edits)
            found.append(action)
    return found


def _wanted(context: lsp.CodeActionContext, kind: str) -> bool:
    """Whether a kind of action is asked for: itself, or one that it is part of."""
    if context.only is None:
        return True
    return any(
        kind == only or kind.startswith(f"{only}.") for only in [str(getattr(o, "value", o)) for o in context.only]
    )


# --- findings ---


def good_remedies(document: Document, diagnostic: PlacedDiagnostic, trials: Trials) -> list[Remedy]:
    """The remedies for a finding that help."""
    if diagnostic.fix is not None:
        # What lint proposes keeps the program; it need not be tried.
        return [Remedy(diagnostic.fix.title, tuple([Edit(*edit) for edit in diagnostic.fix.edits]))]
    found: list[Remedy] = []
    titles: set[str] = set()
    for number, remedy in enumerate(_candidates(document, diagnostic)):
        if number == _MOST_TRIED or len(found) == _MOST_OFFERED or trials.exhausted:
            break
        # Of several ways to do what is said in the same words, the first that helps is meant.
        if remedy.title not in titles and trials.helps(remedy.edits, diagnostic):
            found.append(remedy)
            titles.add(remedy.title)
    return found


def _candidates(document: Document, diagnostic: PlacedDiagnostic) -> Iterator[Remedy]:
    return remedies(Problem(document.syntax, document.analysis, diagnostic))


def _quick_fixes(
    document: Document, diagnostic: PlacedDiagnostic, context: lsp.CodeActionContext, trials: Trials
) -> Iterator[lsp.CodeAction]:
    shown = [each for each in context.diagnostics if _is(document, each, diagnostic)]
    good = good_remedies(document, diagnostic, trials)
    for remedy in good:
        action = lsp.CodeAction(remedy.title, lsp.CodeActionKind.QuickFix, shown or None)
        action.is_preferred = True if len(good) == 1 else None
        action.edit = _workspace_edit(document, remedy.edits)
        yield action
    if diagnostic.rule is not None:
        title = f"Silence '{diagnostic.rule}' at this line"
        action = lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, shown or None)
        action.edit = _workspace_edit(document, [silencing_edit(document, diagnostic.rule, diagnostic.start)])
        yield action


def _is(document: Document, shown: lsp.Diagnostic, diagnostic: PlacedDiagnostic) -> bool:
    """Whether a diagnostic that the editor shows is a finding of ours."""
    if shown.range.start != document.position(diagnostic.start):
        return False
    return str(shown.code or "") in ("", diagnostic.code) and shown.message.startswith(diagnostic.message[:40])


def fix_all(document: Document) -> list[Edit]:
    """The edits of all findings that have one remedy, as many as do not touch each other."""
    trials = Trials(document.syntax, document.analysis, document.settings)
    taken: list[Edit] = []
    together = FixesTogether()
    for diagnostic in document.analysis.diagnostics:
        if trials.exhausted:
            break
        good = good_remedies(document, diagnostic, trials)
        if len(good) == 1 and not any(_touch(one, other) for one in good[0].edits for other in taken):
            fix = diagnostic.fix.fix if diagnostic.fix is not None else None
            if fix is None or together.take(fix):
                taken.extend(good[0].edits)
    return sorted(taken, key=lambda edit: (edit.start, edit.end))


def _touch(one: Edit, other: Edit) -> bool:
    return one.start <= other.end and other.start <= one.end


# --- rewriting ---


def _rewrites(document: Document, area: lsp.Range) -> Iterator[lsp.CodeAction]:
    kind = lsp.CodeActionKind.RefactorRewrite
    edit = in_generic_form(document.syntax, document.analysis, document.offset(area.start))
    if edit is not None:
        yield lsp.CodeAction("Write in generic form", kind, edit=_workspace_edit(document, [edit]))
    if any(diagnostic.severity == "error" for diagnostic in document.analysis.diagnostics):
        return
    text = canonical_text(document.syntax, document.analysis)
    if text is not None and text != document.text:
        whole = [Edit(0, len(document.text), text)]
        title = "Print the program canonically (drops comments)"
        yield lsp.CodeAction(title, kind, edit=_workspace_edit(document, whole))


def _workspace_edit(document: Document, edits: Sequence[Edit]) -> lsp.WorkspaceEdit:
    changes = [lsp.TextEdit(document.range(edit.start, edit.end), edit.text) for edit in edits]
    if document.version is None:
        return lsp.WorkspaceEdit(changes={document.uri: changes})
    versioned = lsp.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
    return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(versioned, list(changes))])
