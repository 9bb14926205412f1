"""cuTile scripts over the wire of the language server."""

import asyncio
import os
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from tests.serve.language.wire import Editor, place

import tileir
from tileir.serve.language.cutile.document import CutileDocument

pytest.importorskip("cuda.tile")

KERNEL = """\
import cuda.tile as ct

@ct.kernel
def double(a, tile: ct.Constant[int]):
    x = ct.load(a, index=(ct.bid(0),), shape=(tile,))
    ct.store(a, (ct.bid(0),), x + x)
"""


async def opened(editor, text, name):
    text, where = place(text)
    uri = await editor.open(text, uri=f"file:///tests/{name}.py", language="python")
    return uri, where


async def test_mistakes_come_and_go_as_the_script_is_typed(editor):
    uri = await editor.open(KERNEL, uri="file:///tests/typed.py", language="python")
    assert not editor.diagnostics[uri]
    (found,) = await editor.edit(uri, KERNEL.replace("ct.load", "ct.laod"))
    assert found.message == "cuda.tile has no 'laod': did you mean 'load'?"
    assert (found.code, found.source) == ("cutile-unknown-name", "tileir")
    assert found.range == lsp.Range(lsp.Position(4, 11), lsp.Position(4, 15))
    assert not await editor.edit(uri, KERNEL)
    editor.close(uri)


async def test_a_quick_fix_writes_what_was_meant(editor):
    text = KERNEL.replace("shape=", "shap=")
    uri = await editor.open(text, uri="file:///tests/fixed.py", language="python")
    (found,) = editor.diagnostics[uri]
    context = lsp.CodeActionContext([found])
    asked = lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), found.range, context)
    (action,) = await editor.text_document_code_action_async(asked)
    assert action.title == "Write 'shape'"
    (edit,) = action.edit.document_changes[0].edits
    assert (edit.range, edit.new_text) == (found.range, "shape")
    assert not await editor.edit(uri, (edit.range, edit.new_text))


async def test_a_package_that_lies_in_the_project_is_not_imported(tmp_path, monkeypatch):
    """Opening a script runs nothing of its project's, also where the server is `python -m tileir lsp` in it."""
    package = tmp_path / "cuda" / "tile"
    package.mkdir(parents=True)
    (tmp_path / "cuda" / "__init__.py").touch()
    (package / "__init__.py").write_text("import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", str(Path(tileir.__file__).parents[1])]))
    editor = await Editor().start()
    uri = await editor.open(KERNEL.replace("ct.load", "ct.laod"), uri=(tmp_path / "k.py").as_uri(), language="python")
    (found,) = editor.diagnostics[uri]
    assert found.message == "cuda.tile has no 'laod': did you mean 'load'?"
    assert not (package / "ran").exists()
    await editor.finish()


async def test_a_path_is_read_once():
    assert CutileDocument("file:///tests/a%2520b.py", "").path == "/tests/a%20b.py"
    assert CutileDocument("untitled:1", "").path == ""
    assert CutileDocument("file://[odd/k.py", "").path == ""


async def test_hover_shows_the_function_and_its_operations(editor):
    uri, where = await opened(editor, KERNEL.replace("ct.load", "ct.lo^^ad"), "hover")
    answer = await editor.text_document_hover_async(lsp.HoverParams(lsp.TextDocumentIdentifier(uri), where))
    words = answer.contents.value
    assert words.startswith("```python\nload(array: Array, /, index: Shape, shape: Constant[Shape]")
    assert "in Tile IR: `make_partition_view`, `load_view_tko`" in words
    assert answer.range == lsp.Range(lsp.Position(4, 8), lsp.Position(4, 15))


async def test_hover_elsewhere_is_left_to_other_servers(editor):
    uri, where = await opened(editor, KERNEL.replace("double", "dou^^ble"), "elsewhere")
    assert await editor.text_document_hover_async(lsp.HoverParams(lsp.TextDocumentIdentifier(uri), where)) is None
    symbols = lsp.DocumentSymbolParams(lsp.TextDocumentIdentifier(uri))
    assert not await editor.text_document_document_symbol_async(symbols)


async def test_completion_behind_the_library_and_in_its_calls(editor):
    uri, where = await opened(editor, KERNEL.replace("    ct.store", "    ct.^^\n    ct.store"), "members")
    answer = await editor.text_document_completion_async(lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), where))
    found = {item.label: item for item in answer.items}
    assert found["load"].kind == lsp.CompletionItemKind.Function
    assert found["load"].label_details.description == "make_partition_view, load_view_tko"
    assert found["PaddingMode"].kind == lsp.CompletionItemKind.Enum
    uri, where = await opened(editor, KERNEL.replace("shape=(tile,)", "^^"), "keywords")
    answer = await editor.text_document_completion_async(lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), where))
    labels = [item.label for item in answer.items]
    assert "shape=" in labels and "padding_mode=" in labels
    assert "index=" not in labels and "array=" not in labels
    uri, where = await opened(editor, KERNEL + "\nmode = ct.PaddingMode.^^\n", "choices")
    answer = await editor.text_document_completion_async(lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), where))
    assert "ZERO" in [item.label for item in answer.items]


async def test_signature_help_follows_the_arguments(editor):
    uri, where = await opened(editor, KERNEL.replace("(tile,))", "(tile,), latency=^^)"), "signature")
    asked = lsp.SignatureHelpParams(lsp.TextDocumentIdentifier(uri), where)
    answer = await editor.text_document_signature_help_async(asked)
    (signature,) = answer.signatures
    assert signature.label.startswith("load(array")
    assert signature.parameters[answer.active_parameter].label == "latency"


COMPILED = """\
import cuda.tile as ct

# tileir: double --grid 4 --arg zeros:f32:1024 --arg 256
# tileir: broken --arg zeros:f32:1024

@ct.kernel
def double(a, tile: ct.Constant[int]):
    x = ct.load(a, index=(ct.bid(0),), shape=(tile,))
    total = ct.sum(x)
    ct.store(a, (ct.bid(0),), x + total)

@ct.kernel
def broken(a):
    x = ct.load(a, index=(0, 0), shape=(16,))
    ct.store(a, (0,), x)
"""


async def told(editor, uri):
    """What is said about a document once something is."""
    for _ in range(6000):
        if editor.diagnostics.get(uri):
            return editor.diagnostics[uri]
        await asyncio.sleep(0.01)
    raise AssertionError("nothing was said")


async def test_a_saved_script_is_compiled_where_that_is_allowed(editor, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(COMPILED)
    uri = path.as_uri()
    assert not await editor.open(COMPILED, uri=uri, language="python") or not editor.diagnostics[uri]
    saved = lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri))
    hints = lsp.InlayHintParams(lsp.TextDocumentIdentifier(uri), lsp.Range(lsp.Position(0, 0), lsp.Position(30, 0)))
    # Nothing of a user's runs before the user allows it.
    editor.text_document_did_save(saved)
    assert not await editor.text_document_inlay_hint_async(hints)
    allowed = lsp.DidChangeConfigurationParams({"tileir": {"cutile": {"compile": True}, "target": "sm_90"}})
    editor.workspace_did_change_configuration(allowed)
    editor.text_document_did_save(saved)
    (found,) = await told(editor, uri)
    assert found.message == "Index size 2 does not match the array rank 1"
    assert found.range == lsp.Range(lsp.Position(13, 8), lsp.Position(13, 45))
    shown = [(hint.position.line, hint.label) for hint in await editor.text_document_inlay_hint_async(hints)]
    assert shown == [(7, ": tile<256xf32>"), (8, ": tile<f32>")]
    # An edit moves what is below it.
    await editor.edit(uri, COMPILED.replace("\n@ct.kernel\ndef double", "\n\n@ct.kernel\ndef double"))
    assert [each.range.start.line for each in editor.diagnostics[uri]] == [14]
    editor.workspace_did_change_configuration(
        lsp.DidChangeConfigurationParams({"tileir": {"cutile": {"compile": False}, "target": ""}})
    )
