"""Neovim with the lines of docs/tools/lsp.md: file types, colors, diagnostics and hover, from a real `tileir lsp`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.documents import blocks
from tests.editors.installing import ROOT

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("nvim") is None, reason="needs Neovim: apt-get install neovim"),
]

SESSION = """
local result = {}
vim.wait(60000, function() return #vim.diagnostic.get(0) >= 3 end, 50)
result.filetype = vim.bo.filetype
result.diagnostics = {}
for _, found in ipairs(vim.diagnostic.get(0)) do
  table.insert(result.diagnostics, { found.lnum, found.col, found.message })
end
local position = { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = 3, character = 10 } }
local answers = vim.lsp.buf_request_sync(0, "textDocument/hover", position, 30000)
for _, answer in pairs(answers or {}) do
  result.hover = answer.result and answer.result.contents.value
end
io.stdout:write(vim.json and vim.json.encode(result) or vim.fn.json_encode(result))
vim.cmd("qall!")
"""


def version() -> tuple[int, int]:
    found = re.search(r"v(\d+)\.(\d+)", subprocess.run(["nvim", "--version"], capture_output=True, text=True).stdout)
    return int(found[1]), int(found[2])


def settings() -> str:
    """The block of the page that is for this version."""
    newer, older = [
        block.text for block in blocks("docs/tools/lsp.md") if block.first_line.startswith("vim.opt.runtime")
    ]
    return (newer if version() >= (0, 11) else older).replace("PATH/", f"{ROOT}/")


def test_a_program_with_mistakes(tmp_path: Path) -> None:
    (tmp_path / "init.lua").write_text(settings(), encoding="utf-8")
    (tmp_path / "session.lua").write_text(SESSION, encoding="utf-8")
    shutil.copy(ROOT / "examples" / "broken.mlir", tmp_path)
    command = ["nvim", "--headless", "-n", "-i", "NONE", "-u", "init.lua", "broken.mlir", "-c", "luafile session.lua"]
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **home, "PATH": path}, capture_output=True, text=True, timeout=180
    )
    result = json.loads(done.stdout)
    assert result["filetype"] == "tileir"
    assert [line for line, _, _ in result["diagnostics"]] == [4, 10, 18]
    assert "iota" in result["hover"]
