"""Code actions and formatting: quick fixes, silencing of lint rules, rewrites, and the layout of ranges and lines.

A fix is offered only if a trial shows that it helps: the functions that it changes are read and verified with it.  If
a finding has one fix, it is preferred: editors apply it with one key, and `source.fixAll.tileir` applies it for the
whole file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from lsprotocol import types as lsp

from tileir.analyze.lint.fixes import FixesTogether
from tileir.dialect.ops import ENTRY
from tileir.ir.traits import ISOLATED
from tileir.ir.values import OperationResult, Value
from tileir.serve.language.document.analysis import Analysis, Fix, TextDiagnostic, verified
from tileir.serve.language.document.document import Document
from tileir.serve.language.document.scanner import OperationNode
from tileir.serve.language.document.tree import VALUE, Edit, SyntaxTree, apply
from tileir.serve.language.editing.fixes import Problem, fixes
from tileir.serve.language.editing.layout import CONTINUATION, INDENTATION, layout_edits
from tileir.serve.language.settings import Settings
from tileir.text.edits import EditedText
from tileir.text.lexer import TOKEN
from tileir.text.listing import printed_lines
from tileir.text.printer import Printer

FIX_ALL = "source.fixAll.tileir"
KINDS = (lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.RefactorRewrite, FIX_ALL)
# For one finding, so many fixes are tried and so many offered.
_MOST_TRIED = 16
_MOST_OFFERED = 6
# The most tokens that are read for one request of an editor: half a second.
_LARGEST_EFFORT = 300_000
# The code of what the reader finds.
_SYNTAX = "syntax"
_NUMBERED = re.compile(r"%\d+")
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


def good_fixes(document: Document, diagnostic: TextDiagnostic, trials: Trials) -> list[Fix]:
    """The fixes for a finding that help."""
    if diagnostic.fix is not None:
        # A fix of lint keeps the program; it need not be tried.
        return [diagnostic.fix]
    problem = Problem(document.analysis, diagnostic)
    candidates = fixes(problem)
    if diagnostic.severity == "remark" and diagnostic.rule is None:
        edit = _printed(document.analysis, problem.operation)
        candidates = [*candidates, *([Fix("Write it as NVIDIA's tools do", (edit,))] if edit is not None else [])]
    found: dict[str, Fix] = {}
    for number, fix in enumerate(candidates):
        if number == _MOST_TRIED or len(found) == _MOST_OFFERED or trials.exhausted:
            break
        # Of several fixes with one title, the first that helps.
        if fix.title not in found and trials.helps(fix.edits, diagnostic):
            found[fix.title] = fix
    return list(found.values())


def _quick_fixes(
    document: Document, diagnostic: TextDiagnostic, context: lsp.CodeActionContext, trials: Trials
) -> Iterator[lsp.CodeAction]:
    shown = [each for each in context.diagnostics if _is_same(document, each, diagnostic)]
    good = good_fixes(document, diagnostic, trials)
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
        good = good_fixes(document, diagnostic, trials)
        if len(good) == 1 and not any(
            one.start <= other.end and other.start <= one.end for one in good[0].edits for other in found
        ):
            fix = good[0].of_lint
            if fix is None or together.take(fix):
                found.extend(good[0].edits)
    return sorted(found, key=lambda edit: (edit.start, edit.end))


def _silencing_edit(document: Document, rule: str, offset: int) -> Edit:
    """The edit that silences a rule at a line: a comment behind it, or one more rule in the comment that is there."""
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


class Trials:
    """Tries fixes for the diagnostics of one text, within a limit of effort.

    A fix helps if its diagnostic is gone and the text has no new error.  Functions that it does not change are left
    out: what a function means does not depend on them.
    """

    def __init__(self, syntax: SyntaxTree, settings: Settings) -> None:
        self._syntax = syntax
        self._settings = settings
        self._effort = _LARGEST_EFFORT
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
        counts, key = Counter(map(_key, before)), _key(diagnostic)
        if Counter(map(_key, after))[key] >= counts[key]:
            return False
        # The verifier speaks only where the reader has nothing to say: what it finds now may have been there before,
        # unless it is about what was changed.
        was_unread = any(found.code == _SYNTAX for found in before)
        start = edits[0].start + _growth([edit for edit in cuts if edit.end <= edits[0].start])
        start = text.rfind("\n", 0, start) + 1
        end = edits[-1].end + _growth([edit for edit in together if edit.end <= edits[-1].end])
        for found in after:
            if found.severity == "error":
                counts[_key(found)] -= 1
                is_known = was_unread and found.code != _SYNTAX and not start <= found.start <= end
                if counts[_key(found)] < 0 and not is_known:
                    return False
        return True

    def _findings(self, text: str) -> list[TextDiagnostic]:
        syntax = SyntaxTree(text)
        self._effort -= len(syntax.tokens)
        return verified(syntax, EditedText(syntax.written, self._settings.version), self._settings).diagnostics

    def _functions(self, edits: Sequence[Edit], diagnostic: TextDiagnostic) -> frozenset[OperationNode]:
        """The functions that a fix changes; none if the whole text has to be read."""
        # What opens or closes regions moves operations to other places.
        changed = "".join([edit.text + self._syntax.text[edit.start : edit.end] for edit in edits])
        if "{" in changed or "}" in changed:
            return frozenset()
        offsets = [diagnostic.start, *[edit.start for edit in edits]]
        around = [self._syntax.operation_at(offset) for offset in offsets]
        found = [each.functions[-1:] if each is not None else [] for each in around]
        return frozenset([each[0] for each in found]) if all(found) else frozenset()

    def _cuts(self, functions: frozenset[OperationNode]) -> list[Edit]:
        others = [each for each in self._syntax.operations if each.declaration is ENTRY and len(each.functions) == 1]
        spans = [self._syntax.span(each.first, each.last) for each in others if each not in functions]
        return [Edit(start, end, "") for start, end in spans] if functions else []


def _growth(edits: list[Edit]) -> int:
    """How much longer a text is after edits."""
    return sum([len(edit.text) - (edit.end - edit.start) for edit in edits])


def _key(diagnostic: TextDiagnostic) -> str:
    """What tells findings apart: messages may show an operation with its values numbered."""
    return f"{diagnostic.severity}: {_NUMBERED.sub('%', diagnostic.message)}"


def _rewrites(document: Document, area: lsp.Range) -> Iterator[lsp.CodeAction]:
    kind = lsp.CodeActionKind.RefactorRewrite
    syntax, analysis = document.syntax, document.analysis
    node = syntax.operation_at(document.offset(area.start))
    if node is not None and not node.regions and syntax.tokens[node.name][:1] != '"':
        edit = _printed(analysis, node, generic=True)
        if edit is not None:
            yield code_action(document, "Write in generic form", kind, [edit])
    module = analysis.module
    # Where no operation of the text is the module, the reader has added it.
    is_written = module is not None and any(each.declaration is module.declaration for each in syntax.top.operations)
    if module is not None and is_written and module.declaration.traits & ISOLATED and not analysis.has_errors:
        text = "\n".join(printed_lines(module, _names_in_text(analysis)).lines) + "\n"
        whole = [Edit(0, len(document.text), text)]
        if text != document.text:
            yield code_action(document, "Print the program canonically (drops comments)", kind, whole)


def _names_in_text(analysis: Analysis, node: OperationNode | None = None) -> dict[Value, str]:
    """The name of each value in the text, or in an operation: `%x`, or `%x#1` for one of several results."""
    found: dict[Value, str] = {}
    syntax, names = analysis.syntax, analysis.syntax.names
    if node is not None:
        names = [name for name in map(syntax.name_at, range(node.first, node.last + 1)) if name is not None]
    for name in names:
        value = analysis.value_of(name) if name.kind == VALUE else None
        if value is None or name.definition is None:
            continue
        tokens = syntax.tokens
        if not isinstance(value, OperationResult) or tokens[name.definition + 1] != ":":
            found[value] = name.text
            continue
        count = int(tokens[name.definition + 2]) if tokens[name.definition + 2].isdecimal() else 1
        for number, result in enumerate(value.operation.results[value.index : value.index + count]):
            found[result] = f"{name.text}#{number}"
    return found


def _printed(analysis: Analysis, node: OperationNode | None, generic: bool = False) -> Edit | None:
    """The edit that writes an operation as the printer does, up to its first region; None if it cannot be.

    Operations that the reader inserted before it (a conversion, say) have no names in the text: then there is none.
    """
    syntax, operation = analysis.syntax, analysis.operation_of(node)
    if node is None or operation is None:
        return None
    names = _names_in_text(analysis, node)
    if any(value not in names for value in (*operation.operands, *operation.results)):
        return None
    printer = Printer(generic=generic)
    printer.elide = not generic and "." not in syntax.tokens[node.name]
    printer.naming.name_regions(operation)
    printer.names.update(names)
    printer.print_operation(operation)
    text = printer.text()
    # The location behind it stays.
    last = node.last
    if syntax.tokens[last] == ")" and "loc" in syntax.tokens[node.name : last]:
        last = max(token for token in range(node.name, last) if syntax.tokens[token] == "loc") - 1
    if node.regions:
        last = node.regions[0].opening
        braces = [match.end() for match in TOKEN.finditer(text) if match[1] == "{"]
        text = text[: next((end for end in braces if text[end : end + 1] == "\n"), 0)]
    start, end = syntax.span(node.first, last)
    return Edit(start, end, text) if text and syntax.text[start:end] != text else None


def format_document(document: Document) -> list[lsp.TextEdit]:
    return document.text_edits(layout_edits(document.syntax))


def format_range(document: Document, area: lsp.Range) -> list[lsp.TextEdit]:
    start = document.offset(lsp.Position(area.start.line, 0))
    # A selection of whole lines ends at the start of the line behind them.
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
