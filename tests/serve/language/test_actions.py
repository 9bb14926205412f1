"""Code actions: each is for a mistake, removes it, and makes no other."""

from __future__ import annotations

from collections import Counter

import pytest
from lsprotocol import types as lsp
from tests.serve.language.programs import URI, applied, changed, pieces

from tileir.ir.traversal import structurally_equal
from tileir.serve.language.document.analysis import Fix, TextDiagnostic, lint
from tileir.serve.language.document.document import Document
from tileir.serve.language.document.tree import Edit, apply
from tileir.serve.language.editing.code_actions import FIX_ALL, code_actions, fix_all
from tileir.serve.language.editing.quick_fixes import Trials, good_fixes
from tileir.serve.language.settings import DEFAULT, Settings
from tileir.text.reading import parse_text

HEAD = """\
entry @k(%q: tile<ptr<f32>>) {
  %a = constant <i32: 1> : tile<4xi32>
  %f = constant <f32: 1.0> : tile<4xf32>
  %r = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p = broadcast %r : tile<1xptr<f32>> -> tile<4xptr<f32>>
"""
TAIL = "  return\n}\n"
WHOLE = lsp.Range(lsp.Position(0, 0), lsp.Position(1000, 0))
QUICK = lsp.CodeActionKind.QuickFix


def kernel(*lines: str) -> str:
    return HEAD + "".join([f"  {line}\n" for line in lines]) + TAIL


def offered(text: str, only: list[str] | None = None, settings: Settings = DEFAULT) -> list[lsp.CodeAction]:
    document = Document(URI, text, settings=settings)
    context = lsp.CodeActionContext([], only=list(only) if only is not None else [QUICK])
    return code_actions(document, WHOLE, context)


@pytest.mark.parametrize(
    ("line", "title", "fixed"),
    [
        ("%0 = adff %f, %f : tile<4xf32>", "Change to 'addf'", "%0 = addf %f, %f : tile<4xf32>"),
        ("%0 = cuda_tile.muly %a, %a : tile<4xi32>", "Change to 'muli'", "%0 = cuda_tile.muli %a, %a : tile<4xi32>"),
        ("%0 = addi %aa, %a : tile<4xi32>", "Change to '%a'", "%0 = addi %a, %a : tile<4xi32>"),
        ("%0 = addi %a, %a : tile<4xi23>", "Change to 'i32'", "%0 = addi %a, %a : tile<4xi32>"),
        ("%0 = addi %a, %a : tlie<4xi32>", "Change to 'tile'", "%0 = addi %a, %a : tile<4xi32>"),
        ("%0 = addi %a, %a : tile<4xf32>", "Change the type to 'tile<4xi32>'", "%0 = addi %a, %a : tile<4xi32>"),
        ("%0 = addi %a, %a", "Insert ': tile<4xi32>'", "%0 = addi %a, %a : tile<4xi32>"),
        ("%0 = constant <f32: 1> : tile<f32>", "Change to '1.0'", "%0 = constant <f32: 1.0> : tile<f32>"),
        ("%0 = constant <i32: 1> : tile<i64>", "Change to 'i64'", "%0 = constant <i64: 1> : tile<i64>"),
        ("%0 = constant <i32: 1 : tile<i32>", "Insert '>'", "%0 = constant <i32: 1> : tile<i32>"),
        ("%a = negi %f : tile<4xi32>", "Change the type to 'tile<4xf32>'", None),
        (
            "%0 = load_ptr_tko weak %p : tile<4xptr<f32>> -> tile<4xf32>, token",
            "Name the other result: '%0_token'",
            "%0, %0_token = load_ptr_tko weak %p : tile<4xptr<f32>> -> tile<4xf32>, token",
        ),
        (
            "%0, %1 = load_ptr_tko waek %p : tile<4xptr<f32>> -> tile<4xf32>, token",
            "Change to 'weak'",
            "%0, %1 = load_ptr_tko weak %p : tile<4xptr<f32>> -> tile<4xf32>, token",
        ),
        (
            "%0, %1 = load_ptr_tko weak device %p : tile<4xptr<f32>> -> tile<4xf32>, token",
            "Delete 'device'",
            "%0, %1 = load_ptr_tko weak %p : tile<4xptr<f32>> -> tile<4xf32>, token",
        ),
        (
            "%0 = cmpi les_than %a, %a, signed : tile<4xi32> -> tile<4xi1>",
            "Change to 'less_than'",
            "%0 = cmpi less_than %a, %a, signed : tile<4xi32> -> tile<4xi1>",
        ),
        (
            "%0 = addf %f, %f rounding<zreo> : tile<4xf32>",
            "Change to 'zero'",
            "%0 = addf %f, %f rounding<zero> : tile<4xf32>",
        ),
        (
            "%0 = reshape %a : tile<4xi32> -> tile<2x2xi32>\n  %0 = negi %0 : tile<2x2xi32>",
            "Rename to '%0_0'",
            "%0 = reshape %a : tile<4xi32> -> tile<2x2xi32>\n  %0_0 = negi %0 : tile<2x2xi32>",
        ),
        ("%0 = constant dense<1> : tile<i32>", "Write it as NVIDIA's tools do", "%0 = constant <i32: 1> : tile<i32>"),
        (
            "%long = cmpi less_than %a, %a, signed : tile<4xi32>",
            "Write it as NVIDIA's tools do",
            "%long = cmpi less_than %a, %a, signed : tile<4xi32> -> tile<4xi1>",
        ),
    ],
)
def test_a_mistake_has_a_remedy(line: str, title: str, fixed: str | None) -> None:
    text = kernel(line)
    actions = offered(text)
    if fixed is None:
        assert title not in [action.title for action in actions]
        return
    assert title in [action.title for action in actions]
    action = next(action for action in actions if action.title == title)
    document = Document(URI, text)
    assert changed(document, action.edit) == kernel(fixed)
    assert action.kind == QUICK
    assert bool(action.is_preferred) == (len(actions) == 1)


def test_a_terminator_that_is_missing_is_inserted() -> None:
    lines = ['"cuda_tile.loop"() ({', "  %0 = make_token : token", "}) : () -> ()"]
    (action,) = offered(kernel(*lines))
    fixed = kernel(*lines[:2], "  continue", lines[2])
    assert changed(Document(URI, kernel(*lines)), action.edit) == fixed


def test_a_brace_that_is_missing_is_inserted_on_a_line_of_its_own() -> None:
    text = "cuda_tile.module @m {\n  entry @k() {\n    return\n  }\n"
    (action,) = offered(text)
    assert changed(Document(URI, text), action.edit).rstrip() == text + "}"


def test_what_has_no_remedy_has_no_action() -> None:
    assert offered(kernel("%0 = frobnicate %a")) == []
    assert offered(kernel("%0 = addi %a, %zzzzzzz : tile<4xi32>")) == []
    assert offered(kernel()) == []


def test_an_action_is_about_the_range_and_names_its_diagnostic() -> None:
    document = Document(URI, kernel("%0 = adff %f, %f : tile<4xf32>", "%1 = negii %a : tile<4xi32>"))
    shown = lsp.Diagnostic(
        lsp.Range(lsp.Position(6, 7), lsp.Position(6, 12)),
        "custom op 'negii' is unknown (tried 'cuda_tile.negii' as well)",
        code="syntax",
    )
    place = lsp.Position(6, 9)
    actions = code_actions(document, lsp.Range(place, place), lsp.CodeActionContext([shown], only=[QUICK]))
    assert {action.title for action in actions} >= {"Change to 'negi'"}
    assert all(action.diagnostics == [shown] for action in actions)


def test_fixing_all_leaves_nothing_that_has_one_remedy() -> None:
    text = kernel(
        "%0 = cnostant <f32: 1.0> : tile<f32>", "%1 = constant dense<1> : tile<i32>", "%2 = negi %a", "%3 = odd"
    )
    document = Document(URI, text)
    (action,) = offered(text, [FIX_ALL])
    new = changed(document, action.edit)
    assert new == apply(text, fix_all(document))
    assert new == kernel("%0 = constant <f32: 1.0> : tile<f32>", "%1 = constant <i32: 1> : tile<i32>", "%2 = negi %a : tile<4xi32>", "%3 = odd")  # fmt: skip
    assert [action.kind for action in offered(text, ["source.fixAll"])] == [FIX_ALL]
    assert FIX_ALL not in [action.kind for action in offered(text)]


def test_a_finding_of_lint_can_be_fixed_or_silenced() -> None:
    text = kernel(
        "%0 = negi %a : tile<4xi32>",
        "%1 = negi %a : tile<4xi32>  // tileir: ignore[other]",
        "%2 = negi %a : tile<4xi32> // why",
    )
    document = Document(URI, text)
    start = text.index("  %0")
    for line, place in enumerate([text.index("%0"), text.index("%1"), text.index("%2")]):
        fix = Fix("Delete the operation", (Edit(start, start + 1, ""),)) if not line else None
        finding = TextDiagnostic(
            "warning", "nothing uses this", place, place + 2, "unused-value", [], "unused-value", fix
        )
        document.analysis.diagnostics.append(finding)
    actions = code_actions(document, WHOLE, lsp.CodeActionContext([], only=[QUICK]))
    silence = "Silence 'unused-value' at this line"
    assert [action.title for action in actions] == ["Delete the operation", silence, silence, silence]
    lines = [changed(document, action.edit).split("\n") for action in actions]
    assert lines[1][5] == "  %0 = negi %a : tile<4xi32>  // tileir: ignore[unused-value]"
    assert lines[2][6] == "  %1 = negi %a : tile<4xi32>  // tileir: ignore[other, unused-value]"
    assert lines[3][7:9] == ["  // tileir: ignore[unused-value]", "  %2 = negi %a : tile<4xi32> // why"]


def test_of_fixes_that_contradict_each_other_one_is_made_on_saving() -> None:
    load = "%x, %t = load_ptr_tko weak %p : tile<4xptr<f32>> -> tile<4xf32>, token"
    store = "%u = store_ptr_tko weak %p, %f : tile<4xptr<f32>>, tile<4xf32> -> token"
    settings = Settings(lint_select=("unused-load", "missing-token"))
    document = Document("", kernel(load, store), settings=settings)
    steps = lint("-", document.analysis, document.settings)
    with pytest.raises(StopIteration) as end:
        while True:
            next(steps)
    assert len(end.value.value) == 2
    document.analysis.diagnostics.extend(end.value.value)
    # The token of a load that goes is no longer there to be taken.
    assert apply(document.text, fix_all(document)) == kernel(store)


# --- rewriting ---


def test_an_operation_is_written_in_generic_form_with_its_names() -> None:
    text = kernel("%sum = addi %a, %a : tile<4xi32>")
    document = Document(URI, text)
    place = document.position(text.index("addi"))
    context = lsp.CodeActionContext([], only=[lsp.CodeActionKind.Refactor])
    (action,) = [each for each in code_actions(document, lsp.Range(place, place), context) if "generic" in each.title]
    new = changed(document, action.edit)
    assert '  %sum = "cuda_tile.addi"(%a, %a)' in new
    assert structurally_equal(parse_text(new), parse_text(text))


def test_a_program_is_printed_canonically_with_its_names() -> None:
    text = "cuda_tile.module @m {\n// gone\n entry @k(%a: tile<i32>) { %sum = addi %a,%a:tile<i32> return }\n}\n"
    (action,) = offered(text, ["refactor.rewrite"])
    assert changed(Document(URI, text), action.edit) == (
        "cuda_tile.module @m {\n  entry @k(%a: tile<i32>) {\n    %sum = addi %a, %a : tile<i32>\n    return\n  }\n}\n"
    )


# --- the property ---


def check_actions(step: int) -> Counter[str]:
    """Every remedy that is offered, applied: its finding is gone, and there is no new error."""
    settings = Settings()
    offers: Counter[str] = Counter()
    number = 0
    for piece in pieces():
        document = Document(URI, piece, settings=settings)
        for diagnostic in document.analysis.diagnostics:
            number += 1
            if number % step:
                continue
            # Behind a mistake that the reader finds, the verifier has not spoken.
            unread = any(found.code == "syntax" for found in document.analysis.diagnostics)

            def counts(found: TextDiagnostic, unread: bool = unread) -> bool:
                return not unread or found.code != "verification"

            for remedy in good_fixes(document.analysis, diagnostic, Trials(document.syntax, settings)):
                offers[diagnostic.severity] += 1
                after = Document(URI, apply(piece, list(remedy.edits)), settings=settings)
                old, new = [
                    Counter([(found.severity, found.message) for found in each.analysis.diagnostics if counts(found)])
                    for each in (document, after)
                ]
                about = (piece, diagnostic, remedy)
                key = (diagnostic.severity, diagnostic.message)
                assert new[key] < old[key] or not counts(diagnostic), about
                assert not [found for found in new - old if found[0] == "error"], about
    return offers


def test_actions_remove_what_they_are_for_and_nothing_gets_worse() -> None:
    offers = check_actions(7)
    assert offers["error"] > 5 and offers["remark"] > 10


@pytest.mark.long
def test_actions_of_all_programs_remove_what_they_are_for() -> None:
    offers = check_actions(1)
    assert offers["error"] > 80 and offers["remark"] > 100


def test_edits_of_an_action_do_not_overlap() -> None:
    text = kernel(
        "%0 = constant <i32: 1> : tile<i32>", "%0 = constant <i32: 2> : tile<i32>", "%1 = addi %0, %0 : tile<i32>"
    )
    (action,) = offered(text)
    document = Document(URI, text)
    assert action.edit is not None and action.edit.changes is not None
    assert "%1 = addi %0_0, %0_0" in applied(document, list(action.edit.changes[URI]))
