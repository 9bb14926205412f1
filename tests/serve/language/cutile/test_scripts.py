"""cuTile scripts over the wire of the language server."""

import pytest
from lsprotocol import types as lsp
from tests.serve.language.wire import place

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.asyncio(loop_scope="session")

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
