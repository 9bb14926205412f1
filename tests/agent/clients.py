"""The SDK's own client over both transports, for tests that have no event loop."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.optional import needs

needs("mcp")

import anyio.from_thread  # noqa: E402
from mcp.client.client import Client  # noqa: E402
from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: E402
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client  # noqa: E402

SOURCE = Path(__file__).parents[2] / "src"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])}


class Agent:
    """A client of `tileir mcp`, in a `with`: over standard streams, or of a server over HTTP."""

    def __init__(self, *options: str, server: HttpServer | None = None, mode: Any = "auto") -> None:
        if server is None:
            words = ["-m", "tileir", "mcp", *options]
            transport = stdio_client(StdioServerParameters(command=sys.executable, args=words, env=ENVIRONMENT))
        else:
            http = create_mcp_http_client(headers={"Authorization": f"Bearer {server.token}"})
            transport = streamable_http_client(server.url, http_client=http)
        self._client = Client(transport, mode=mode)

    def __enter__(self) -> Agent:
        self._starting = anyio.from_thread.start_blocking_portal()
        self._portal = self._starting.__enter__()
        self._opening = self._portal.wrap_async_context_manager(self._client)
        self._opening.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._opening.__exit__(None, None, None)
        self._starting.__exit__(None, None, None)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers."""
        result = self._portal.call(self._client.call_tool, tool, arguments)
        assert not result.is_error, result.content
        found: dict[str, Any] = result.structured_content or json.loads(result.content[0].text)
        return found

    def call_for(self, seconds: float, tool: str, **arguments: Any) -> None:
        """Call a tool, and give up after so many seconds."""

        async def call() -> None:
            with anyio.move_on_after(seconds) as self._scope:
                await self._client.call_tool(tool, arguments)

        self._portal.call(call)

    def stop(self) -> None:
        """Give up the call of `call_for`, which another thread makes."""
        self._portal.call(self._scope.cancel)

    def tools(self) -> dict[str, Any]:
        """The tools by name, as the server lists them."""
        return {tool.name: tool for tool in self._portal.call(self._client.list_tools).tools}


class HttpServer:
    """`tileir mcp --http` at a free port, in a `with`."""

    def __init__(self, *options: str) -> None:
        self._command = [sys.executable, "-m", "tileir", "mcp", "--http", "127.0.0.1:0", *options]

    def __enter__(self) -> HttpServer:
        self.process = subprocess.Popen(self._command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        assert self.process.stderr is not None
        found = re.search(r'listening on ([\d.]+):(\d+), with "token": "([^"]+)"', self.process.stderr.readline())
        assert found is not None
        self.host, self.port, self.token = found[1], int(found[2]), found[3]
        self.url = f"http://{self.host}:{self.port}/mcp"
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(20)
