"""Editors and the launches of a script: one that the editor has started, or one that it attaches to."""

from __future__ import annotations

import atexit
import queue
import sys
import threading
from types import FrameType

from tileir.execute.errors import LaunchError
from tileir.serve.addresses import BadAddress, Client, Listener
from tileir.serve.debugger.adapter.adapter import Adapter
from tileir.serve.debugger.adapter.asked import Asked
from tileir.serve.debugger.adapter.greeting import greet
from tileir.serve.debugger.adapter.wire import Message, Wire
from tileir.serve.debugger.session import Debugger


class EditorFront:
    """Shows launches in the editor that an adapter talks to."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter: Adapter = adapter

    def debug(self, debugger: Debugger, stop_on_entry: bool, caller: FrameType | None) -> str:
        if not self._adapter.is_over:
            self._adapter.prepare(debugger)
            self._adapter.debug(debugger, stop_on_entry)
        launching = self._adapter.state.launching
        if self._adapter.is_over:
            return "quit" if launching.ends_program else "detach"
        with launching.changed:
            wish, launching.wish = launching.wish, ""
        return wish or "done"


class ListeningEditor:
    """Waits for an editor at an address when the first launch comes, and stays with it."""

    def __init__(self, address: str) -> None:
        try:
            self._listener = Listener(address)
        except BadAddress as error:
            raise LaunchError(str(error)) from None
        self._clients: queue.SimpleQueue[Client] = queue.SimpleQueue()
        self._adapter: Adapter | None = None

    def debug(self, debugger: Debugger, stop_on_entry: bool, caller: FrameType | None) -> str:
        if self._adapter is None:
            self._adapter = self._attached(debugger)
        return EditorFront(self._adapter).debug(debugger, stop_on_entry, caller)

    def _attached(self, debugger: Debugger) -> Adapter:
        """Wait for an editor, up to where it has set its breakpoints."""
        threading.Thread(target=self._listener.serve, args=(greet, self._clients.put), daemon=True).start()
        where = self._listener.described("in its attach configuration")
        while True:
            print(f"tileir: waiting for a debugger at {where}", file=sys.stderr, flush=True)
            client = self._clients.get()
            adapter = Adapter(Wire(client.read, client.connection.makefile("wb"), is_greeted=True), can_launch=False)
            adapter.start()
            request: tuple[Asked, Message] | None = adapter.wait_for_request()
            if request is not None:
                adapter.prepare(debugger)
                if adapter.accept(request[1]):
                    atexit.register(_end, adapter)
                    return adapter
            client.close()


def _end(adapter: Adapter) -> None:
    """The script is over."""
    if not adapter.state.launching.is_disconnected:
        adapter.wire.event("exited", exitCode=0)
        adapter.wire.event("terminated")
