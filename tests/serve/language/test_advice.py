"""What lint says, in the editor: behind the mistakes, with fixes, as the settings want it."""

import asyncio

import pytest
from lsprotocol import types as lsp
from tests.serve.language.wire import SECONDS, Editor, run

from tileir.analyze.lint.rules import RULES

KERNEL = """\
cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>) {
    %0 = constant <f32: 1.0> : tile<f32>
    %1 = store_ptr_tko weak %p, %0 : tile<ptr<f32>>, tile<f32> -> token
    %2 = mulf %0, %0 : tile<f32>
    return
  }
}
"""


@pytest.fixture(scope="module")
def adviser():
    """An editor that wants advice about what is not used."""
    editor = run(Editor().start(options={"lint": {"select": ["unused-value"]}}))
    yield editor
    run(editor.finish())


async def advice(editor, uri):
    """The diagnostics once there are some."""

    async def wait():
        while not editor.diagnostics.get(uri):
            await asyncio.sleep(0.002)

    await asyncio.wait_for(wait(), SECONDS)
    return editor.diagnostics[uri]


async def test_findings_come_behind_the_mistakes_and_go_with_them(adviser):
    uri = await adviser.open(KERNEL)
    (found,) = await advice(adviser, uri)
    assert (found.code, found.severity, found.range.start.line) == ("unused-value", lsp.DiagnosticSeverity.Warning, 4)
    assert found.tags == (lsp.DiagnosticTag.Unnecessary,)
    rule = RULES["unused-value"]
    assert found.message.split("\n") == ["the result is never used", rule.reason, f"help: {rule.remedy}"]
    (mistake,) = await adviser.edit(uri, KERNEL.replace("mulf", "mulff"))
    assert mistake.code == "syntax"


async def test_a_finding_is_fixed_or_silenced(adviser):
    uri = await adviser.open(KERNEL)
    (found,) = await advice(adviser, uri)
    context = lsp.CodeActionContext([found], only=[lsp.CodeActionKind.QuickFix])
    document = lsp.TextDocumentIdentifier(uri)
    asked = lsp.CodeActionParams(document, found.range, context)
    fix, silence = await adviser.text_document_code_action_async(asked)
    assert fix.is_preferred and list(fix.diagnostics) == [found]
    ((edit,),) = [change.edits for change in fix.edit.document_changes]
    assert (edit.range.start.line, edit.new_text) == (4, "")
    assert silence.title == "Silence 'unused-value' at this line"
    ((comment,),) = [change.edits for change in silence.edit.document_changes]
    assert comment.new_text == "  // tileir: ignore[unused-value]"
    context = lsp.CodeActionContext([], only=["source.fixAll.tileir"])
    (everything,) = await adviser.text_document_code_action_async(lsp.CodeActionParams(document, found.range, context))
    assert [list(change.edits) for change in everything.edit.document_changes] == [[edit]]


async def test_the_project_and_the_editor_choose_rules(adviser, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.tileir.lint]\nignore = ["unused-value"]\n')
    quiet = await adviser.open(KERNEL, uri=(tmp_path / "k.mlir").as_uri())
    loud = await adviser.open(KERNEL)
    await advice(adviser, loud)
    assert adviser.diagnostics[quiet] == ()
    (tmp_path / "pyproject.toml").write_text("[tool.tileir.lint]\nselekt = 3\n")
    adviser.send_edits(quiet, KERNEL + "\n")
    (found,) = await advice(adviser, quiet)
    assert found.code == "configuration" and "selekt" in found.message
