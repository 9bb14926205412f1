"""`tileir mcp`: tools for agents."""

from __future__ import annotations

import os
from typing import Final

import tileir
from tileir.tools.arguments import EXIT_FINE, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, stay
from tileir.tools.more.documents import directory_of_pages, pages_in
from tileir.tools.more.lsp import announced
from tileir.tools.options import MEMORY_LIMIT, TIMEOUT

_MOST_WORKERS: Final = 4

USAGE = Usage(
    "tileir mcp",
    "",
    ("tileir mcp", "tileir mcp --http localhost:8766"),
    (
        Option("--stdio", "talk over standard input and output (the default)"),
        Option("--http HOST:PORT", "listen for agents at this address; they send the token that is printed"),
        TIMEOUT.with_help("how long one call may take (default: 60)"),
        MEMORY_LIMIT.with_help("the most memory of one call, as 512M or 4G (default: 4G)"),
    ),
    """\
The server speaks the Model Context Protocol ('tileir docs mcp'). Programs that an agent sends run in confined
processes. It needs the official SDK: pip install 'tileir[mcp]'.""",
    statuses={1: ""},
)


@command(USAGE)
def run(given: Arguments) -> int:
    given.only_one("stdio", "http")
    try:
        from tileir.agent import server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "mcp":
            raise
        raise ToolFailure("tools for agents need the MCP SDK: pip install 'tileir[mcp]'") from None
    from tileir.agent.commands import Tools
    from tileir.agent.workers import Workers

    stay()
    directory = directory_of_pages()
    workers = Workers(("tileir.tools.more.mcp", "serve_requests"), min(os.cpu_count() or 1, _MOST_WORKERS))
    tools = Tools(
        workers, directory, pages_in(directory), given.seconds("timeout", 60.0), given.size("memory-limit", 4 << 30)
    )
    try:
        if not given.has("http"):
            server.serve_stdio(tools, tileir.__version__)
            return EXIT_FINE
        with announced(given.value("http"), "in the header 'Authorization: Bearer TOKEN'") as listener:
            server.serve_http(tools, tileir.__version__, listener)
    finally:
        workers.close()
    return EXIT_FINE


def serve_requests(root: str) -> None:
    """Carry out command lines, in the warm process."""
    from tileir.agent.workers import serve
    from tileir.tools.main import run as run_command

    serve(root, run_command)
