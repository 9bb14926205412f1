"""Bytecode in an editor, and what editors say about themselves, over the wire."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from tests.serve.language.test_reading import PROGRAM
from tests.serve.language.wire import Editor

import tileir
from tileir.ir.versions import NEWEST, V13_2
from tileir.serve.language.document.document import Document
from tileir.serve.language.settings import Settings, changed_settings


async def disassembled(editor: Editor, path: Path) -> str:
    answer = await editor.protocol.send_request_async("tileir/disassemble", {"uri": path.as_uri()})
    return str(answer.text)


async def test_bytecode_is_shown_as_text_in_which_all_else_works(editor: Editor, tmp_path: Path) -> None:
    path = tmp_path / "k.tileirbc"
    path.write_bytes(tileir.to_bytecode(tileir.parse(PROGRAM)))
    text = await disassembled(editor, path)
    assert "entry @k(" in text and "mmaf" in text
    uri = await editor.open(text, uri=f"tileirbc:{path}")
    assert not [each for each in editor.diagnostics[uri] if each.severity == lsp.DiagnosticSeverity.Error]
    place = Document("", text).position(text.index("mmaf"))
    found = await editor.text_document_hover_async(lsp.HoverParams(lsp.TextDocumentIdentifier(uri), place))
    assert found is not None and isinstance(found.contents, lsp.MarkupContent)
    assert "%result = mmaf" in found.contents.value
    editor.close(uri)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
async def test_what_is_no_file_is_not_waited_for(editor: Editor, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.tileirbc"
    os.mkfifo(pipe)
    assert "it is no regular file" in await disassembled(editor, pipe)
    assert "it is no regular file" in await disassembled(editor, Path("/dev/zero"))
    for uri in ("http://[odd", "untitled:1", ""):
        answer = await editor.protocol.send_request_async("tileir/disassemble", {"uri": uri})
        assert answer.text == f"// {uri} is no file of this machine\n"


async def test_a_file_that_cannot_be_decoded_says_why(editor: Editor, tmp_path: Path) -> None:
    path = tmp_path / "broken.tileirbc"
    path.write_bytes(tileir.to_bytecode(tileir.parse(PROGRAM))[:40])
    assert "cannot be decoded" in await disassembled(editor, path)
    path.write_bytes(b"module")
    assert (await disassembled(editor, path)).endswith("is no Tile IR bytecode\n")
    assert "cannot be read" in await disassembled(editor, tmp_path / "missing.tileirbc")


async def test_bytes_that_are_opened_as_text_lead_to_the_remedy_alone(editor: Editor) -> None:
    data = tileir.to_bytecode(tileir.parse(PROGRAM))
    uri = await editor.open(data.decode("utf-8", "replace"), uri="file:///tests/k.tileirbc")
    (only,) = editor.diagnostics[uri]
    assert only.code == "bytecode" and "tileir dis" in only.message
    editor.close(uri)


async def test_hints_follow_the_settings_of_the_user(editor: Editor) -> None:
    uri = await editor.open(PROGRAM)
    document = lsp.TextDocumentIdentifier(uri)
    everything = Document("", PROGRAM).range(0, len(PROGRAM))

    async def labels() -> list[object]:
        found = await editor.text_document_inlay_hint_async(lsp.InlayHintParams(document, everything))
        return [hint.label for hint in found or []]

    assert ": ?x4 tiles" in await labels() and ": tile<i32>" in await labels()
    for section in ({"inlayHints": {"types": False}}, {"tileir": {"inlayHints": {"types": False}}}):
        editor.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(section))
        assert await labels() == [": ?x4 tiles"]
    editor.workspace_did_change_configuration(lsp.DidChangeConfigurationParams({"inlayHints": {"types": True}}))
    assert ": tile<i32>" in await labels()


async def test_what_makes_no_sense_is_as_if_nothing_was_said() -> None:
    usual = Settings()
    senseless: list[object] = [None, 7, [], {"inlayHints": 3}, {"inlayHints": {"types": "yes"}}, {"tileir": None}]
    for options in senseless:
        assert changed_settings(usual, options) == usual
    assert changed_settings(usual, {"bytecodeVersion": "13.2"}).version == V13_2
    assert changed_settings(usual, {"bytecodeVersion": ""}).version == NEWEST
