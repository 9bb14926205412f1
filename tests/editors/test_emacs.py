"""Emacs with `editors/emacs/tileir-mode.el`: it compiles without a warning, colors, indents, and talks to the server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from generators.highlighting import words
from tests.editors.installing import ROOT

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("emacs") is None, reason="needs Emacs: apt-get install emacs-nox elpa-eglot"),
]

MODE = ROOT / "editors" / "emacs" / "tileir-mode.el"


def emacs(directory: Path, *forms: str, quick: bool = True) -> str:
    """What the last form prints in a batch session that has loaded the mode."""
    session = directory / "session.el"
    session.write_text("\n".join(forms), encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [
        "emacs",
        "--batch",
        *(["-Q"] if quick else []),
        "-L",
        str(MODE.parent),
        "-l",
        "tileir-mode",
        "-l",
        str(session),
    ]
    environment = {**os.environ, "HOME": str(directory), "PATH": path}
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_compiles_without_a_warning(tmp_path: Path) -> None:
    copy = shutil.copy(MODE, tmp_path)
    command = [
        "emacs",
        "-Q",
        "--batch",
        "--eval",
        "(setq byte-compile-error-on-warn t)",
        "-f",
        "batch-byte-compile",
        str(copy),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_indentation_leaves_laid_out_programs_alone(tmp_path: Path) -> None:
    for name in ("attention.mlir", "matmul.mlir", "softmax.mlir"):
        text = (ROOT / "examples" / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text, encoding="utf-8")
        flat = "\n".join([line.lstrip() for line in text.split("\n")])
        (tmp_path / f"flat_{name}").write_text(flat, encoding="utf-8")
        open_and_indent = f'(find-file "flat_{name}") (indent-region (point-min) (point-max)) (princ (buffer-string))'
        assert emacs(tmp_path, open_and_indent) == text


def test_every_word_has_a_face(tmp_path: Path) -> None:
    """A line for each word, as it stands in programs: behind results, or behind a colon."""
    found = words()
    faces = {
        "control": ("font-lock-keyword-face", found.control),
        "operations": ("font-lock-builtin-face", found.operations),
        "types": ("font-lock-type-face", (*found.types, *found.elements)),
        "constants": ("font-lock-constant-face", found.constants),
        "syntax": ("font-lock-keyword-face", found.syntax),
    }
    every = [(word, face) for face, list in faces.values() for word in list]
    text = "cuda_tile.module @m {\n" + "".join([f"%x = {word} %y\n" for word, _ in every])
    (tmp_path / "words.mlir").write_text(text, encoding="utf-8")
    form = """
    (find-file "words.mlir") (font-lock-ensure) (forward-line 1)
    (let (found)
      (while (not (eobp))
        (push (symbol-name (or (get-text-property (+ (point) 5) 'face) 'none)) found)
        (forward-line 1))
      (princ (json-encode (list (symbol-name major-mode) (vconcat (nreverse found))))))"""
    mode, seen = json.loads(emacs(tmp_path, "(require 'json)", form))
    assert mode == "tileir-mode"
    assert [(word, face) for (word, _), face in zip(every, seen, strict=True)] == every


def test_other_mlir_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "other.mlir").write_text("func.func @f() {\n  return\n}\n", encoding="utf-8")
    assert emacs(tmp_path, '(find-file "other.mlir") (princ major-mode)') == "fundamental-mode"


EGLOT = """
(require 'json)
(require 'eglot)
(setq eglot-sync-connect 60)
(find-file "broken.mlir")
(apply #'eglot--connect (eglot--guess-contact))
(flymake-start)
(let ((end (+ (float-time) 60)))
  (while (and (< (float-time) end) (< (length (flymake-diagnostics)) 3))
    (accept-process-output nil 0.1)))
(goto-char (point-min))
(forward-line 3)
(forward-char 10)
(let ((hover (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams))))
  (princ (json-encode
          (list (vconcat (mapcar (lambda (each) (line-number-at-pos (flymake-diagnostic-beg each))) (flymake-diagnostics)))
                (plist-get (plist-get hover :contents) :value)))))
(ignore-errors (eglot-shutdown (eglot-current-server)))
"""


def test_eglot_shows_mistakes_and_hover(tmp_path: Path) -> None:
    if emacs(tmp_path, '(princ (locate-library "eglot"))', quick=False) in ("", "nil"):
        pytest.skip("needs Eglot: Emacs 29, or apt-get install elpa-eglot")
    shutil.copy(ROOT / "examples" / "broken.mlir", tmp_path)
    lines, hover = json.loads(emacs(tmp_path, EGLOT, quick=False).splitlines()[-1])
    assert sorted(lines) == [5, 11, 19]
    assert "iota" in hover
