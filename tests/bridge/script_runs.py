"""Scripts that launch cuTile kernels, emulated, and what is said of them."""

from __future__ import annotations

import linecache
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import tileir

HEAD = "import cuda.tile as ct\nimport numpy\n"


def run(text: str, **options: Any) -> dict[str, Any]:
    """A script in the working directory, emulated; the kernel begins on its third line."""
    Path("k.py").write_text(HEAD + text, encoding="utf-8")
    linecache.checkcache()
    with tileir.emulate(backend="interpreter", **options):
        return runpy.run_path("k.py")


def trace(text: str, capsys: pytest.CaptureFixture[str], block: int = 0, **options: Any) -> list[str]:
    run(text, trace=block, **options)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("trace of ")
    assert lines[1] == f"tile block ({block}, 0, 0)"
    return lines[2:]


def report(text: str, **options: Any) -> list[str]:
    with pytest.raises(tileir.SanitizerError) as caught:
        run(text, **options)
    return str(caught.value).splitlines()


def without_addresses(text: str) -> str:
    return re.sub("0x[0-9a-f]+", "0x..", text)
