"""The explorer's page, with a server behind it or with the answers inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tileir.browser import one_file


def page(title: str, embedded: Mapping[str, Any] | None = None, nonce: str | None = None) -> str:
    """The page; `embedded` are the answers that it carries, None if a server gives them."""
    return one_file.page("tileir.serve.explorer", title, embedded, nonce, connected=embedded is None)
