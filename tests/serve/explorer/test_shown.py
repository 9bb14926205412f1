"""The pictures of the explorer in the documents show what the page shows today."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from tests.optional import needs

ROOT = Path(__file__).parents[3]
spec = importlib.util.spec_from_file_location("explorer_pictures", ROOT / ".ci" / "explorer_pictures.py")
assert spec is not None and spec.loader is not None
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)


@pytest.mark.parametrize("name", script.NAMES)
def test_a_picture_has_the_text_of_the_page(browser: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "explorer_overview":
        needs("cuda.tile")
        needs("torch")
    monkeypatch.chdir(ROOT)
    kept = (ROOT / "docs" / "pictures" / f"{name}.png").read_bytes()
    _, text = script.shot(browser, script.NAMES[name])
    assert script.text_of(kept) == text, "run: python .ci/explorer_pictures.py"
