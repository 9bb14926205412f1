"""The server of the protocol, by the official SDK: over standard streams, or HTTP with a token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from mcp.server.mcpserver import MCPServer

from tileir.serve.addresses import is_token

if TYPE_CHECKING:
    import socket

    from tileir.agent.commands import Tools

_INSTRUCTIONS: Final = """\
Tools for GPU kernels in cuTile, Triton, CUDA Tile C++ and CUDA Tile IR. No GPU is needed. Send whole programs as text.
Order of work: check, run, sanitize, then lint and cost. Each answer has a status (0: fine, 1: findings, 2: wrong call,
124: took too long), a text, and the next useful step. Long texts come in pages: call page with the name in `more`."""

_App = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


def server_of(tools: Tools, version: str) -> MCPServer[Any]:
    """A server with all tools."""
    server: MCPServer[Any] = MCPServer("tileir", instructions=_INSTRUCTIONS, version=version, log_level="ERROR")
    for tool in tools.all():
        server.add_tool(tool, structured_output=True)
    return server


def serve_stdio(tools: Tools, version: str) -> None:
    """Serve one agent over standard input and output, until it closes them."""
    server_of(tools, version).run()


def serve_http(tools: Tools, version: str, listener: socket.socket, token: str) -> None:
    """Serve agents that send the token, at `/mcp`, until the process is interrupted."""
    import uvicorn

    app = with_token(server_of(tools, version).streamable_http_app(stateless_http=True, json_response=True), token)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


def with_token(app: Any, token: str) -> _App:
    """An application that answers only requests with `Authorization: Bearer TOKEN`."""

    async def answer(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1").removeprefix("Bearer ")
            if not is_token(given, token):
                headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b"the token is missing or wrong\n"})
                return
        await app(scope, receive, send)

    return answer
