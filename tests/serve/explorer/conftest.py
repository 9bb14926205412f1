"""The explorer's page in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tileir.serve.explorer.questions import Answering
from tileir.serve.explorer.server import ExplorerServer


@pytest.fixture
def servers() -> Iterator[list[ExplorerServer]]:
    """Servers that are closed after the pages, which may have asked something until then."""
    found: list[ExplorerServer] = []
    yield found
    for server in found:
        server.close()


@pytest.fixture
def page_for(servers: list[ExplorerServer], open_page: Callable[..., Any]) -> Callable[..., Any]:
    """Serves an explorer, or anything with its `answer`, and opens its page: `page_for(explorer, view="memory")`.

    Further options are those of `open_page`.
    """

    def opened(explorer: Answering, view: str = "", **options: Any) -> Any:
        server = ExplorerServer(explorer)
        servers.append(server)
        server.start()
        return open_page(server.url + (f"#view={view}" if view else ""), **options)

    return opened
