"""`tileir lsp`: the language server."""

from __future__ import annotations

import gc
import os
import sys

from tileir.tools.arguments import EXIT_FINE, EXIT_USAGE, Option, ToolFailure, Usage
from tileir.tools.programs import guarded

USAGE = Usage(
    "tileir lsp",
    "Answers an editor's questions about tile programs while they are written (tileir docs editors).",
    "",
    (
        Option("stdio", "talk over standard input and output (the default)"),
        Option("tcp", "listen for editors at this address", value="HOST:PORT"),
    ),
    least=0,
    most=0,
    details="The server speaks the Language Server Protocol.  It needs lsprotocol: pip install 'tileir[lsp]'.",
)


def run(arguments: list[str]) -> int:
    return guarded("tileir lsp", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    if given.has("stdio") and given.has("tcp"):
        raise ToolFailure("'--stdio' and '--tcp' exclude each other", EXIT_USAGE)
    _pass_over_project()
    try:
        from tileir.serve.language import server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("lsprotocol", "attrs", "cattrs"):
            raise
        raise ToolFailure("the language server needs lsprotocol: pip install 'tileir[lsp]'", EXIT_USAGE) from None
    # A server stays up, so its garbage is collected.
    gc.freeze()
    gc.enable()
    if not given.has("tcp"):
        return server.serve_stdio()
    from tileir.serve.addresses import BadAddress, Listener

    try:
        listener = Listener(given.value("tcp", ""))
    except BadAddress as error:
        raise ToolFailure(str(error), EXIT_USAGE) from None
    with listener:
        where = listener.described("in the editor's initializationOptions")
        print(f"listening on {where}", file=sys.stderr, flush=True)
        server.serve_tcp(listener)
    return EXIT_FINE


def _pass_over_project() -> None:
    """Take no module from the folder that the server is started in, unless tileir itself is there.

    For `python -m tileir lsp` it is the first place that modules come from, and it is the project that somebody looks
    at: opening a file must not run what lies there under the name of a package.
    """
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        return
    sys.path[:] = [each for each in sys.path if each == own or os.path.realpath(each or ".") != here]
