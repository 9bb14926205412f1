"""The explorer's page in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tileir.serve.explorer.server import ExplorerServer
from tileir.serve.explorer.session import Answering


@pytest.fixture
def page_for(open_page: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Serves an explorer, or anything with its `answer`, and opens its page: `page_for(explorer, view="memory")`.

    Further options are those of `open_page`.
    """
    servers: list[ExplorerServer] = []

    def opened(explorer: Answering, view: str = "", **options: Any) -> Any:
        server = ExplorerServer(explorer)
        servers.append(server)
        server.start()
        return open_page(server.url + (f"#view={view}" if view else ""), **options)

    yield opened
    for server in servers:
        server.close()
