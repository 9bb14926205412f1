"""The action that proves a kernel, and what is shown of the proof."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tileir.serve.language import proving
from tileir.serve.language.document.document import Document
from tileir.serve.language.editing.code_actions import code_actions

pytest.importorskip("z3")
RACY = (Path(__file__).parents[3] / "examples" / "racy.mlir").read_text()
KERNEL = lsp.Range(lsp.Position(4, 4), lsp.Position(4, 4))


def actions(text: str, area: lsp.Range, only: list[str] | None = None) -> list[lsp.CodeAction]:
    context = lsp.CodeActionContext([], only=only, trigger_kind=lsp.CodeActionTriggerKind.Invoked)
    found = code_actions(Document("file:///k.mlir", text), area, context)
    return [each for each in found if each.kind == proving.PROVE]


def test_the_kernel_around_the_place_is_offered() -> None:
    (action,) = actions(RACY, KERNEL)
    assert action.title == "Prove @racy for every launch"
    assert action.command.arguments == ["file:///k.mlir", "racy"]
    assert len(actions(RACY, KERNEL, only=["source"])) == 1
    assert actions(RACY, KERNEL, only=["quickfix"]) == []
    assert actions(RACY, lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))) == []
    assert actions(RACY.replace("addi", "adid"), KERNEL) == []


async def test_what_is_refuted_is_an_error_until_the_text_changes(editor):
    uri = await editor.open(RACY)
    # The client's library takes an action with a command for a command.
    await editor.workspace_execute_command_async(lsp.ExecuteCommandParams(proving.COMMAND, [uri, "racy"]))
    await editor.until(lambda: [each for each in editor.diagnostics[uri] if each.code == "prove-race"])
    (found,) = [each for each in editor.diagnostics[uri] if each.code == "prove-race"]
    assert found.severity == lsp.DiagnosticSeverity.Error
    assert found.range.start == lsp.Position(28, 23)
    first = found.message.splitlines()[0]
    assert first.startswith("race: two tile blocks access the same memory, and nothing orders them, for n = ")
    end = lsp.Position(RACY.count("\n"), 0)
    assert await editor.edit(uri, (lsp.Range(end, end), "// more\n")) == ()


def test_a_proof_that_fails_says_why() -> None:
    assert proving.proof_of("nonsense", "k").error.startswith("@k is not proved: ")
    assert proving.proof_of(RACY, "other").error == (
        "@other is not proved: the module has no entry @other: choose one of @racy"
    )
    assert proving.proof_of(RACY, "racy", -9.0).error.startswith("@racy is not proved: ")
