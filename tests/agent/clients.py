"""The SDK's own client, for tests that have no event loop."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.optional import needs

needs("mcp")

import anyio.from_thread  # noqa: E402
from mcp.client.client import Client  # noqa: E402
from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: E402

SOURCE = Path(__file__).parents[2] / "src"


class Agent:
    """A client of `tileir mcp` over standard streams, in a `with`."""

    def __init__(self, *options: str) -> None:
        self._parameters = StdioServerParameters(
            command=sys.executable,
            args=["-m", "tileir", "mcp", *options],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )

    def __enter__(self) -> Agent:
        self._starting = anyio.from_thread.start_blocking_portal()
        self._portal = self._starting.__enter__()
        self._opening = self._portal.wrap_async_context_manager(Client(stdio_client(self._parameters)))
        self.client: Client = self._opening.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._opening.__exit__(None, None, None)
        self._starting.__exit__(None, None, None)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers."""
        result = self._portal.call(self.client.call_tool, tool, arguments)
        assert not result.is_error, result.content
        found: dict[str, Any] = result.structured_content or json.loads(result.content[0].text)
        return found

    def tools(self) -> dict[str, Any]:
        """The tools by name, as the server lists them."""
        return {tool.name: tool for tool in self._portal.call(self.client.list_tools).tools}
