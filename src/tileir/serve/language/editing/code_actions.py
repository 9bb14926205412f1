"""Code actions and formatting: quick fixes, silencing of lint rules, rewrites, and the layout of ranges and lines.

If a finding has one fix, it is preferred: editors apply it with one key, and `source.fixAll.tileir` applies it for the
whole file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lsprotocol import types as lsp

from tileir.analyze.lint.fixes import FixesTogether
from tileir.ir.traits import ISOLATED
from tileir.serve.language.document.analysis import TextDiagnostic
from tileir.serve.language.document.document import Document
from tileir.serve.language.document.tree import Edit, SyntaxTree
from tileir.serve.language.editing.layout import CONTINUATION, INDENTATION, layout_edits
from tileir.serve.language.editing.quick_fixes import Trials, good_fixes, names_in_text, printed
from tileir.serve.language.proving import PROVE, proof_actions
from tileir.text.listing import printed_lines

FIX_ALL = "source.fixAll.tileir"
KINDS = (lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.RefactorRewrite, PROVE, FIX_ALL)
_SILENCE = re.compile(r"//\s*tileir:\s*ignore\s*\[([^\]\n]*)\]")


def code_actions(document: Document, area: lsp.Range, context: lsp.CodeActionContext) -> list[lsp.CodeAction]:
    found: list[lsp.CodeAction] = []
    if _is_requested(context, lsp.CodeActionKind.QuickFix):
        start, end = document.offset(area.start), document.offset(area.end)
        trials = Trials(document.syntax, document.settings)
        for diagnostic in document.analysis.diagnostics:
            if diagnostic.start <= end and start <= max(diagnostic.end, diagnostic.start):
                found.extend(_quick_fixes(document, diagnostic, context, trials))
    # Not each time the caret moves: printing a long program takes a while.
    is_automatic = context.trigger_kind == lsp.CodeActionTriggerKind.Automatic
    if not is_automatic and _is_requested(context, lsp.CodeActionKind.RefactorRewrite):
        found.extend(_rewrites(document, area))
    if not is_automatic and _is_requested(context, PROVE):
        found.extend(proof_actions(document, area))
    # Only by its name: editors run it when a file is saved.
    if context.only is not None and _is_requested(context, FIX_ALL):
        edits = fix_all(document)
        if edits:
            found.append(code_action(document, "Fix all that has one remedy", FIX_ALL, edits))
    return found


def _is_requested(context: lsp.CodeActionContext, kind: str) -> bool:
    """Whether a kind of action is requested: itself, or one that it is part of."""
    only = [str(getattr(each, "value", each)) for each in context.only or ()]
    return context.only is None or any(kind == each or kind.startswith(f"{each}.") for each in only)


def _quick_fixes(
    document: Document, diagnostic: TextDiagnostic, context: lsp.CodeActionContext, trials: Trials
) -> Iterator[lsp.CodeAction]:
    shown = [each for each in context.diagnostics if _is_same(document, each, diagnostic)]
    good = good_fixes(document.analysis, diagnostic, trials)
    for fix in good:
        is_preferred = True if len(good) == 1 else None
        yield code_action(document, fix.title, lsp.CodeActionKind.QuickFix, fix.edits, shown, is_preferred)
    if diagnostic.rule is not None:
        title = f"Silence '{diagnostic.rule}' at this line"
        edits = [_silencing_edit(document, diagnostic.rule, diagnostic.start)]
        yield code_action(document, title, lsp.CodeActionKind.QuickFix, edits, shown)


def _is_same(document: Document, shown: lsp.Diagnostic, diagnostic: TextDiagnostic) -> bool:
    """Whether an editor shows a diagnostic."""
    if shown.range.start != document.position(diagnostic.start):
        return False
    return str(shown.code or "") in ("", diagnostic.code) and shown.message.startswith(diagnostic.message[:40])


def fix_all(document: Document) -> list[Edit]:
    """The edits of all findings that have one fix, as many as do not overlap."""
    trials = Trials(document.syntax, document.settings)
    found: list[Edit] = []
    together = FixesTogether()
    for diagnostic in document.analysis.diagnostics:
        if trials.exhausted:
            break
        good = good_fixes(document.analysis, diagnostic, trials)
        if len(good) == 1 and not any(
            one.start <= other.end and other.start <= one.end for one in good[0].edits for other in found
        ):
            fix = good[0].of_lint
            if fix is None or together.take(fix):
                found.extend(good[0].edits)
    return sorted(found, key=lambda edit: (edit.start, edit.end))


def _silencing_edit(document: Document, rule: str, offset: int) -> Edit:
    """The edit that silences a rule at a line: a comment after it, or one more rule in the comment that is there."""
    start, text = document.line_start(document.line_of(offset)), document.line_text(offset)
    known = _SILENCE.search(text)
    if known is not None:
        end = start + known.end(1)
        return Edit(end, end, f", {rule}" if known[1].strip() else rule)
    if "//" in text and document.syntax.is_comment(start + text.rindex("//") + 2):
        # Another comment would become the reason: the line above silences the rule.
        blanks = text[: len(text) - len(text.lstrip(" \t"))]
        return Edit(start, start, f"{blanks}// tileir: ignore[{rule}]\n")
    end = start + len(text.rstrip())
    return Edit(end, end, f"  // tileir: ignore[{rule}]")


def code_action(
    document: Document,
    title: str,
    kind: lsp.CodeActionKind | str,
    edits: Sequence[Edit],
    shown: Sequence[lsp.Diagnostic] = (),
    is_preferred: bool | None = None,
) -> lsp.CodeAction:
    edit = document.workspace_edit(document.text_edits(edits))
    return lsp.CodeAction(title, kind, list(shown) or None, is_preferred, edit=edit)


def _rewrites(document: Document, area: lsp.Range) -> Iterator[lsp.CodeAction]:
    kind = lsp.CodeActionKind.RefactorRewrite
    syntax, analysis = document.syntax, document.analysis
    node = syntax.operation_at(document.offset(area.start))
    if node is not None and not node.regions and syntax.tokens[node.name][:1] != '"':
        edit = printed(analysis, node, generic=True)
        if edit is not None:
            yield code_action(document, "Write in generic form", kind, [edit])
    module = analysis.module
    # Where no operation of the text is the module, the reader has added it.
    is_written = module is not None and any(each.declaration is module.declaration for each in syntax.top.operations)
    if module is not None and is_written and module.declaration.traits & ISOLATED and not analysis.has_errors:
        text = "\n".join(printed_lines(module, names_in_text(analysis)).lines) + "\n"
        whole = [Edit(0, len(document.text), text)]
        if text != document.text:
            yield code_action(document, "Print the program canonically (drops comments)", kind, whole)


def format_document(document: Document) -> list[lsp.TextEdit]:
    return document.text_edits(layout_edits(document.syntax))


def format_range(document: Document, area: lsp.Range) -> list[lsp.TextEdit]:
    start = document.offset(lsp.Position(area.start.line, 0))
    # A selection of whole lines ends at the start of the line after them.
    last = area.end.line - 1 if area.end.character == 0 and area.end.line > area.start.line else area.end.line
    end = document.line_end(last)
    found = []
    for edit in layout_edits(document.syntax):
        # An edit begins at the end of a line, and changes the indentation of the next one.
        changed = edit.start + document.text[edit.start : edit.end].rfind("\n") + 1 if "\n" in edit.text else edit.start
        if start <= changed <= end and edit.end <= end + 1:
            found.append(edit)
    return document.text_edits(found)


def format_on_type(document: Document, position: lsp.Position, character: str) -> list[lsp.TextEdit]:
    """The indentation of the line in which a `}` was typed, or that a new line begins."""
    offset = document.offset(position)
    start, line = document.line_start(document.line_of(offset)), document.line_text(offset)
    content = line.lstrip(" \t")
    if character == "}" and content[:1] != "}":
        return []
    before = line[: len(line) - len(content)]
    new = _indentation(document.syntax, start, content)
    return document.text_edits([Edit(start, start + len(before), new)]) if new != before else []


def _indentation(syntax: SyntaxTree, start: int, content: str) -> str:
    """The indentation of a line that begins at a character."""
    region = syntax.region_before(syntax.token_before(start) + 1)
    before = [operation for operation in region.operations if syntax.starts[operation.first] < start]
    tokens = syntax.tokens[before[-1].first : syntax.token_before(start) + 1] if before else []
    open = sum([(token in ("(", "[", "<")) - (token in (")", "]", ">")) for token in tokens])
    # A bracket is open, or the last token needs another one.
    continues = bool(tokens) and (open > 0 or tokens[-1] in (",", "=", "->", ":"))
    depth = len(list(region.owner.outwards())) if region.owner is not None else 0
    if content[:1] == "}" or (content[:1] == "^" and not continues):
        depth = max(depth - 1, 0)
    return INDENTATION * depth + (CONTINUATION if continues and content[:1] not in (")", "]") else "")
