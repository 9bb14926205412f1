"""Landlock alone, as each version of it up to that of this kernel."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tileir.processes import landlock

HAS = landlock.version()
pytestmark = pytest.mark.skipif(not HAS, reason="this kernel has no Landlock")


@pytest.mark.parametrize("version", range(1, max(HAS, 1) + 1))
def test_each_version_denies_what_it_can(version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret, scratch = tmp_path / "secret", tmp_path / "scratch"
    secret.write_text("secret")
    scratch.mkdir()
    monkeypatch.setattr(landlock, "version", lambda: version)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(f"\0{tmp_path}")
        local.listen()
        parent = os.getpid()
        since: dict[str, tuple[int, Callable[[], object]]] = {
            "read": (1, lambda: secret.read_text()),
            "write": (1, lambda: secret.open("r+")),
            "list": (1, lambda: os.listdir(tmp_path)),
            "make": (1, lambda: (tmp_path / "new").mkdir()),
            "remove": (1, lambda: secret.unlink()),
            "move": (1, lambda: secret.rename(scratch / "moved")),
            "execute": (1, lambda: os.execv("/bin/true", ["true"])),
            "truncate": (3, lambda: os.truncate(secret, 6)),
            "connect": (4, lambda: socket.create_connection(server.getsockname())),
            "connect without a file": (6, lambda: socket.socket(socket.AF_UNIX).connect(f"\0{tmp_path}")),
            "signal": (6, lambda: os.kill(parent, 0)),
        }
        tried = {name: attempt for name, (_, attempt) in since.items()}
        assert _denied(scratch, tried) == [name for name, (first, _) in since.items() if version >= first]
    assert secret.read_text() == "secret"
    assert (scratch / "own").read_text() == "own"


def _denied(scratch: Path, tried: dict[str, Callable[[], object]]) -> list[str]:
    """What a process that may write to `scratch` only was denied."""
    report, report_there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            landlock.restrict_files(str(scratch), foreign=True, gpu=False)
            (scratch / "own").write_text("own")
            os.write(report_there, json.dumps([name for name, attempt in tried.items() if _fails(attempt)]).encode())
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.close(report_there)
    os.waitpid(child, 0)
    with open(report, "rb") as file:
        return json.loads(file.read())


def _fails(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError as error:
        # Landlock says that a file cannot be moved elsewhere as it would of another file system.
        return isinstance(error, PermissionError) or error.errno == errno.EXDEV
    return False
