"""`judge_chunk`, the unit of work of an executor; and the servers of this process, one for each thread."""

from __future__ import annotations

import os
import pickle
import shutil
import sys
import tempfile
import threading
import weakref
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tileir.judging.inputs import IMPORTS
from tileir.judging.model import MODULES, JudgePlan, JudgeStage, SweepInput, Verdict, digest_of, verdict_of
from tileir.judging.tasks.settings import settings_in, with_drawn_seed
from tileir.judging.verdicts.causes import cause_of
from tileir.processes.command import PIPE, Command
from tileir.processes.messages import checked, frame, parsed, read_frame, write_all
from tileir.whole_files import write_file

_KEPT: Final = ("PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT", "HOME", "USER", "TILEIR_LIBCUDA")
_KEPT_PREFIXES: Final = ("LC_", "PYTHON", "CUDA_", "NVIDIA_", "TILEIR_TILEIRAS")
_SET: Final = {
    # One program, one processor: as many are judged at once as there are processors.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # What foreign programs are compiled to is not kept for others.
    "TILEIR_CACHE": "0",
    "PYTHONHASHSEED": "0",
}
_START: Final = "import sys; sys.path[:] = {path!r}; from {module} import {function}; {function}({argument!r})"


def judge_chunk(items: list[SweepInput], plan: JudgePlan) -> list[Verdict]:
    """The verdict on each item, in order; nothing that an item does is raised."""
    return [_judged(item, plan) for item in items]


def _judged(item: SweepInput, plan: JudgePlan) -> Verdict:
    reason = ""
    # Once more with a new one: somebody may have ended the server, which is no fault of the item.
    for _ in range(2):
        try:
            return server_of_this_thread().judge(item, plan)
        except ServerDied as died:
            reason = f": {died}" if str(died) else ""
            close_server()
    return not_started(item, f"the process that starts children died twice{reason}")


def not_started(item: SweepInput, message: str) -> Verdict:
    return verdict_of(item, [JudgeStage("start", "crashed", message, cause_of(message))])


@dataclass(frozen=True, slots=True)
class Request:
    """An item to judge, without what the children of a server must not find in its memory."""

    item: SweepInput
    """Kernels come without their reference."""
    plan: JudgePlan
    reference: str = ""
    """The file of that reference: only the children that work with it read it."""
    is_task: bool = False
    """Whether the reference is a task's, of which many candidates are judged with the same inputs."""
    imports: tuple[str, ...] = ()
    """What kernels or their reference import that takes seconds."""


def request_for(item: SweepInput, plan: JudgePlan, root: str) -> Request:
    """A request to a server whose directory is `root`."""
    sources = (item.content, item.reference) if item.kind in MODULES else ()
    imports = tuple(sorted({name.decode() for source in sources for name in IMPORTS.findall(source)}))
    if not item.reference:
        return Request(item, plan, imports=imports)
    path = os.path.join(root, "references", digest_of(item.reference))
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        write_file(path, with_drawn_seed(item.reference))
    return Request(replace(item, reference=b""), plan, path, settings_in(item.reference) is not None, imports)


class ServerDied(Exception):
    """The server ended in the middle of its work."""


class Stopped(Exception):
    """Nobody waits any longer for what this thread judges."""


class Server:
    """A process that judges, and the pipes to it."""

    def __init__(self) -> None:
        self.process: Final = os.getpid()
        self.root: Final = tempfile.mkdtemp(prefix="tileir-judge-")
        self._errors: Final = os.path.join(self.root, "errors")
        with open(self._errors, "wb") as errors:
            # In a session of its own: Ctrl-C is for who started the sweep, who ends this one.
            self._server: Final = Command(
                python_command("tileir.judging.server_pool.server", "main", self.root),
                stdin=PIPE,
                stdout=PIPE,
                stderr=errors,
                environment=environment(),
            )
        self.number: Final = self._server.number
        self.kill: Final = self._server.kill
        """End it from another thread, in the middle of whatever it does; its children go with it."""
        self.close: Final = weakref.finalize(self, _end, self.process, self._server, self.root)

    def judge(self, item: SweepInput, plan: JudgePlan) -> Verdict:
        """The verdict on an item; raises `ServerDied` if the server ends before it has one."""
        server = self._server
        try:
            write_all(server.stdin.fileno(), frame(pickle.dumps(request_for(item, plan, self.root))))
            found = read_frame(server.stdout.fileno())
        except OSError as error:
            raise ServerDied(str(error)) from None
        if found is None:
            raise ServerDied(self._last_error())
        verdict: Verdict = checked(Verdict, parsed(found))
        # The server does not know all that an item is known by.
        verdict.digest = item.digest
        return verdict

    def _last_error(self) -> str:
        with suppress(OSError):
            return Path(self._errors).read_bytes()[-4096:].decode("utf-8", "replace").strip().rpartition("\n")[2]
        return ""


def _end(process: int, server: Command, root: str) -> None:
    """End a server: it goes when nobody has the other end of its pipe."""
    if process != os.getpid():
        # A copy of the process that owns it.
        return
    server.close()
    server.wait(2.0)
    shutil.rmtree(root, ignore_errors=True)


class ServerGroup:
    """The servers of some threads, which another thread can end all at once."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._servers: Final[weakref.WeakSet[Server]] = weakref.WeakSet()
        self._is_stopped: bool = False

    def enter(self) -> None:
        """From now on the servers of this thread belong to the group."""
        _local.group = self

    def start(self) -> Server:
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


_local: Final = threading.local()


def server_of_this_thread() -> Server:
    found: Server | None = getattr(_local, "server", None)
    if found is None or found.process != os.getpid():
        group: ServerGroup | None = getattr(_local, "group", None)
        found = _local.server = group.start() if group is not None else Server()
    return found


def close_server() -> None:
    """End the server of this thread, if there is one."""
    found: Server | None = getattr(_local, "server", None)
    if found is not None:
        _local.server = None
        found.close()


# --- how a Python that judges is started: with the modules of this one, and without its secrets ---


def python_command(module: str, function: str, argument: str) -> list[str]:
    """What starts a Python that calls a function of a module."""
    source = _START.format(path=import_path(), module=module, function=function, argument=argument)
    return [sys.executable, "-c", source]


def import_path() -> list[str]:
    """Where modules are found, without the directory that Python adds for a script or a prompt.

    Programs that are judged may read whatever is on it, and in that directory is what they are not to see: references,
    results, the work of others.  One that is in `PYTHONPATH`, too, was meant.
    """
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    added = {os.path.realpath(os.curdir), os.path.realpath(os.path.dirname(main)) if main else ""}
    meant = {os.path.realpath(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each}
    found = {os.path.abspath(each): os.path.realpath(each) for each in sys.path}
    return [path for path, real in found.items() if real not in added or real in meant or _has_packages(real)]


def _has_packages(path: str) -> bool:
    """Whether a directory is one of packages: modules that are started as scripts lie there, too."""
    installed = os.path.basename(path) in ("site-packages", "dist-packages")
    return installed or os.path.exists(os.path.join(path, "tileir", "__init__.py"))


def environment() -> dict[str, str]:
    """What of the environment is for a program that is judged: nothing that may be a secret."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}
    return {**kept, **_SET}
