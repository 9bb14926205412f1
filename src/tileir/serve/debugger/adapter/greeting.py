"""What a client of a server that listens sends first: `initialize`, then `launch` or `attach` with the token.

Editors let their users add arguments to `launch` and `attach` alone, so the token is one of these.  Before it, only
`initialize` is answered, here; who gets the client then reads both again, on a `Wire` that is greeted.
"""

from __future__ import annotations

from tileir.serve.addresses import Client, is_token
from tileir.serve.debugger.adapter.life import CAPABILITIES
from tileir.serve.debugger.adapter.wire import LONGEST, Malformed, Message, Wire, parsed
from tileir.serve.framing import MessageReader


def greet(client: Client, token: str) -> bool:
    """Whether a client has the token; if not, it is told."""
    reader = MessageReader(client.read, LONGEST)
    with client.connection.makefile("wb") as target:
        wire = Wire(client.read, target)
        is_greeted = False
        while (body := reader.message()) is not None:
            message = parsed(body)
            if isinstance(message, Malformed):
                return False
            if is_greeted or message.get("command") != "initialize":
                refusal = _refusal(message, token, is_greeted)
                if refusal:
                    wire.refuse(message, refusal)
                return not refusal
            wire.respond(message, dict(CAPABILITIES))
            is_greeted = True
    return False


def _refusal(message: Message, token: str, is_greeted: bool) -> str:
    command, arguments = message.get("command"), message.get("arguments")
    if not is_greeted:
        return "'initialize' has to come first"
    if command not in ("launch", "attach"):
        return "'launch' or 'attach' with the token has to come first"
    if not is_token(arguments.get("token") if isinstance(arguments, dict) else None, token):
        return f'\'{command}\' needs "token": ".." among its arguments, as the server has printed it'
    return ""
