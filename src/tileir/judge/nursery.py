"""The server of this thread: started when it is first needed, kept, and started again if it dies."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import tempfile
import threading
import weakref
from typing import Final

from tileir.judge.items import Item
from tileir.judge.messages import REQUEST, frame, read_frame, read_verdict, write_whole
from tileir.judge.plans import Plan
from tileir.judge.requests import request_for
from tileir.judge.starting import command, environment
from tileir.judge.verdicts import Verdict


class ServerDied(Exception):
    """The server ended in the middle of its work."""


class Stopped(Exception):
    """Nobody waits any longer for what this thread judges."""


class ServerGroup:
    """The servers of some threads, which another thread can end all at once."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._servers: Final[weakref.WeakSet[Server]] = weakref.WeakSet()
        self._is_stopped: bool = False

    def enter(self) -> None:
        """From now on the servers of this thread belong to the group."""
        _mine.group = self

    def started(self) -> Server:
        with self._lock:
            if self._is_stopped:
                raise Stopped
            server = Server()
            self._servers.add(server)
            return server

    def stop(self) -> None:
        """End what is under way, in the middle: whoever waits for it gets `Stopped`."""
        with self._lock:
            self._is_stopped = True
            for server in list(self._servers):
                server.kill()


class Server:
    """A process that judges, and the pipes to it."""

    def __init__(self) -> None:
        self.process: Final = os.getpid()
        self.root: Final = tempfile.mkdtemp(prefix="tileir-judge-")
        self._words: Final = os.path.join(self.root, "words")
        with open(self._words, "wb") as words:
            # In a session of its own: Ctrl-C is for who started the sweep, who ends this one.
            self._server: subprocess.Popen[bytes] = subprocess.Popen(
                command("tileir.judge.server", self.root),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                env=environment(),
                start_new_session=True,
                bufsize=0,
            )
        self._end: Final = weakref.finalize(self, _end, self.process, self._server, self.root)

    @property
    def number(self) -> int:
        """Of the process."""
        return self._server.pid

    def judge(self, item: Item, plan: Plan) -> Verdict:
        """The verdict on an item; `ServerDied` if the server does not live to tell it."""
        server = self._server
        assert server.stdin is not None and server.stdout is not None
        try:
            request = request_for(item, plan, self.root)
            write_whole(server.stdin.fileno(), frame(REQUEST, pickle.dumps(request)))
            found = read_frame(server.stdout.fileno())
        except OSError as error:
            raise ServerDied(str(error)) from None
        if found is None:
            raise ServerDied(self._last_words())
        verdict = read_verdict(found[1])
        # The server does not know all that an item is known by.
        verdict.digest = item.digest
        return verdict

    def close(self) -> None:
        self._end()

    def kill(self) -> None:
        """End it from another thread, in the middle of whatever it does; its children go with it."""
        self._server.kill()

    def _last_words(self) -> str:
        try:
            with open(self._words, "rb") as file:
                lines = file.read()[-4096:].decode("utf-8", "replace").strip().splitlines()
        except OSError:
            lines = []
        return lines[-1] if lines else ""


def _end(process: int, server: subprocess.Popen[bytes], root: str) -> None:
    """End a server: it goes when nobody has the other end of its pipe."""
    if process != os.getpid():
        # A copy of the process that owns it.
        return
    assert server.stdin is not None and server.stdout is not None
    server.stdin.close()
    server.stdout.close()
    try:
        server.wait(2.0)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    shutil.rmtree(root, ignore_errors=True)


_mine: Final = threading.local()


def server_of_this_thread() -> Server:
    found: Server | None = getattr(_mine, "server", None)
    if found is None or found.process != os.getpid():
        group: ServerGroup | None = getattr(_mine, "group", None)
        found = _mine.server = group.started() if group is not None else Server()
    return found


def close_server() -> None:
    """End the server of this thread, if there is one."""
    found: Server | None = getattr(_mine, "server", None)
    if found is not None:
        _mine.server = None
        found.close()
