"""Everything about getting around, renaming, repairing and laying out, asked over the wire."""

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from tests.serve.language.wire import place

PROGRAM = """\
!number = !cuda_tile.tile<i32>
cuda_tile.module @m {
  entry @navigated(%a: !number, %c: tile<i1>) {
    %x = addi %a, %a : !number
    if %c {
      %y = muli %x, %a : tile<i32>
    }
    return
  }
}
"""


async def opened(editor, text):
    """A document with a mark in it: its identifier, and the position of the mark."""
    text, position = place(text)
    return lsp.TextDocumentIdentifier(await editor.open(text)), position


async def test_what_the_server_can_do_is_said(editor):
    able = editor.result.capabilities
    assert able.rename_provider == lsp.RenameOptions(prepare_provider=True)
    assert able.document_on_type_formatting_provider.first_trigger_character == "}"
    assert "source.fixAll.tileir" in able.code_action_provider.code_action_kinds
    for provider in (
        able.definition_provider,
        able.declaration_provider,
        able.type_definition_provider,
        able.references_provider,
        able.document_highlight_provider,
        able.linked_editing_range_provider,
        able.document_symbol_provider,
        able.workspace_symbol_provider,
        able.folding_range_provider,
        able.selection_range_provider,
        able.document_formatting_provider,
        able.document_range_formatting_provider,
    ):
        assert provider


async def test_definitions_and_references(editor):
    document, position = await opened(editor, PROGRAM.replace("muli %x", "muli ^^%x"))
    (found,) = await editor.text_document_definition_async(lsp.DefinitionParams(document, position))
    assert (found.uri, found.range) == (document.uri, lsp.Range(lsp.Position(3, 4), lsp.Position(3, 6)))
    (declared,) = await editor.text_document_declaration_async(lsp.DeclarationParams(document, position))
    assert declared == found
    (alias,) = await editor.text_document_type_definition_async(lsp.TypeDefinitionParams(document, position))
    assert alias.range.start == lsp.Position(0, 0)
    context = lsp.ReferenceContext(include_declaration=True)
    uses = await editor.text_document_references_async(lsp.ReferenceParams(context, document, position))
    assert [each.range.start.line for each in uses] == [3, 5]
    context = lsp.ReferenceContext(include_declaration=False)
    uses = await editor.text_document_references_async(lsp.ReferenceParams(context, document, position))
    assert [each.range.start.line for each in uses] == [5]
    places = await editor.text_document_document_highlight_async(lsp.DocumentHighlightParams(document, position))
    assert [each.kind for each in places] == [lsp.DocumentHighlightKind.Write, lsp.DocumentHighlightKind.Read]
    linked = await editor.text_document_linked_editing_range_async(lsp.LinkedEditingRangeParams(document, position))
    assert len(linked.ranges) == 2


async def test_renaming(editor):
    document, position = await opened(editor, PROGRAM.replace("muli %x", "muli ^^%x"))
    prepared = await editor.text_document_prepare_rename_async(lsp.PrepareRenameParams(document, position))
    assert prepared.placeholder == "%x"
    edit = await editor.text_document_rename_async(lsp.RenameParams(document, position, "%sum"))
    (change,) = edit.document_changes
    assert change.text_document.version == 1
    assert [each.new_text for each in change.edits] == ["%sum", "%sum"]
    with pytest.raises(JsonRpcException, match="already the name of another value") as refused:
        await editor.text_document_rename_async(lsp.RenameParams(document, position, "%a"))
    assert refused.value.code == lsp.LSPErrorCodes.RequestFailed.value
    # It is an answer, and no failure of the server.
    assert not [one for one in editor.log_messages if "already the name" in one.message]


async def test_outline_folding_and_selections(editor):
    document, position = await opened(editor, PROGRAM.replace("muli %x", "muli %^^x"))
    (module,) = await editor.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
    (kernel,) = module.children
    assert (module.name, kernel.name, [each.name for each in kernel.children]) == ("@m", "@navigated", ["if"])
    symbols = await editor.workspace_symbol_async(lsp.WorkspaceSymbolParams("navigated"))
    assert document.uri in [each.location.uri for each in symbols]
    folds = await editor.text_document_folding_range_async(lsp.FoldingRangeParams(document))
    assert {(each.start_line, each.end_line) for each in folds} >= {(1, 8), (2, 7), (4, 5)}
    (selection,) = await editor.text_document_selection_range_async(lsp.SelectionRangeParams(document, [position]))
    assert selection.parent.range == lsp.Range(lsp.Position(5, 16), lsp.Position(5, 18))


async def test_a_mistake_is_repaired(editor):
    broken = PROGRAM.replace("muli", "mulii")
    document, position = await opened(editor, broken.replace("mulii", "mul^^ii"))
    (diagnostic,) = editor.diagnostics[document.uri]
    context = lsp.CodeActionContext([diagnostic], only=[lsp.CodeActionKind.QuickFix])
    asked = lsp.CodeActionParams(document, lsp.Range(position, position), context)
    actions = await editor.text_document_code_action_async(asked)
    action = next(each for each in actions if each.title == "Change to 'muli'")
    assert list(action.diagnostics) == [diagnostic]
    ((edit,),) = [change.edits for change in action.edit.document_changes]
    assert await editor.edit(document.uri, (edit.range, edit.new_text)) == ()
    context = lsp.CodeActionContext([], only=["source.fixAll"])
    assert await editor.text_document_code_action_async(lsp.CodeActionParams(document, edit.range, context)) == ()


async def test_formatting(editor):
    options = lsp.FormattingOptions(tab_size=8, insert_spaces=False)
    document, _ = await opened(editor, "entry @k() {\nreturn\n^^}\n")
    (edit,) = await editor.text_document_formatting_async(lsp.DocumentFormattingParams(document, options))
    assert (edit.new_text, edit.range.start, edit.range.end) == ("\n  ", lsp.Position(0, 12), lsp.Position(1, 0))
    area = lsp.Range(lsp.Position(2, 0), lsp.Position(2, 1))
    asked = lsp.DocumentRangeFormattingParams(document, area, options)
    assert await editor.text_document_range_formatting_async(asked) == ()
    typed = lsp.DocumentOnTypeFormattingParams(document, lsp.Position(1, 0), "\n", options)
    (edit,) = await editor.text_document_on_type_formatting_async(typed)
    assert edit.new_text == "  "
