"""`tileir lsp`: the language server."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from tileir.tools.arguments import EXIT_FINE, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, refusing, stay

if TYPE_CHECKING:
    from tileir.serve.addresses import Listener

USAGE = Usage(
    "tileir lsp",
    "",
    ("tileir lsp --stdio", "tileir lsp --tcp localhost:8765"),
    (
        Option("--stdio", "talk over standard input and output (the default)"),
        Option("--tcp HOST:PORT", "listen for editors at this address"),
    ),
    """\
The server speaks the Language Server Protocol ('tileir docs lsp'). It needs lsprotocol:
pip install 'tileir[lsp]'.""",
    statuses={1: ""},
)


@command(USAGE)
def run(given: Arguments) -> int:
    given.only_one("stdio", "tcp")
    _pass_over_project()
    try:
        from tileir.serve.language import server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("lsprotocol", "attrs", "cattrs"):
            raise
        raise ToolFailure("the language server needs lsprotocol: pip install 'tileir[lsp]'") from None
    stay()
    if not given.has("tcp"):
        return server.serve_stdio()
    with announced(given.value("tcp"), "in the editor's initializationOptions") as listener:
        server.serve_tcp(listener)
    return EXIT_FINE


def announced(address: str, where: str) -> Listener:
    """A socket that listens at an address, after printing it, and `where` editors state the token."""
    from tileir.serve.addresses import BadAddress, Listener

    with refusing("", BadAddress):
        listener = Listener(address)
    print(f"listening on {listener.described(where)}", file=sys.stderr, flush=True)
    return listener


def _pass_over_project() -> None:
    """Import no module from the folder that the server is started in, unless tileir itself is there.

    For `python -m tileir lsp` it is the first place of modules, and it is the user's project: opening a file must not
    run code that has the name of a package there.
    """
    import tileir

    own = os.path.dirname(os.path.dirname(os.path.abspath(tileir.__file__)))
    with suppress(OSError):
        here = os.path.realpath(os.getcwd())
        sys.path[:] = [each for each in sys.path if each == own or os.path.realpath(each or ".") != here]
