"""`tileir lsp`: the language server."""

from __future__ import annotations

import gc
import sys

from tileir.tools.arguments import EXIT_FINE, EXIT_USAGE, Option, Usage
from tileir.tools.programs import ToolFailure, guarded, reason

USAGE = Usage(
    "tileir lsp",
    "Answers an editor's questions about tile programs while they are written (docs/editors.md).",
    "",
    (
        Option("stdio", "talk over standard input and output (the default)"),
        Option("tcp", "listen for editors at this address", value="HOST:PORT"),
    ),
    least=0,
    most=0,
    details="The server speaks the Language Server Protocol.  It needs pygls: pip install 'tileir[lsp]'.",
)


def run(arguments: list[str]) -> int:
    return guarded("tileir lsp", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    if given.has("stdio") and given.has("tcp"):
        raise ToolFailure("'--stdio' and '--tcp' exclude each other", EXIT_USAGE)
    address = _address(given.value("tcp", "")) if given.has("tcp") else None
    try:
        from tileir.serve.language import server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pygls", "lsprotocol", "attrs", "cattrs"):
            raise
        raise ToolFailure("the language server needs pygls: pip install 'tileir[lsp]'", EXIT_USAGE) from None
    # A server stays up, so its garbage is collected.
    gc.freeze()
    gc.enable()
    if address is None:
        return server.serve_stdio()
    try:
        server.serve_tcp(*address, _tell)
    except OSError as error:
        raise ToolFailure(f"cannot listen at {address[0]}:{address[1]}: {reason(error)}", EXIT_USAGE) from None
    return EXIT_FINE


def _tell(host: str, port: int) -> None:
    print(f"listening on {host}:{port}", file=sys.stderr, flush=True)


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or int(port) > 65535:
        raise ToolFailure(f"'{text}' is no address: give HOST:PORT, such as 127.0.0.1:2087", EXIT_USAGE)
    return host.strip("[]") or "127.0.0.1", int(port)
