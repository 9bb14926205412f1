"""What code of this process tried last of what may be denied to it: an error of the system does not say."""

from __future__ import annotations

import sys
from typing import Final

_WATCHED: Final = frozenset(
    (
        "fcntl.fcntl", "fcntl.flock", "fcntl.ioctl", "fcntl.lockf", "open", "os.chmod", "os.chown", "os.exec",
        "os.fork", "os.forkpty", "os.getxattr", "os.kill", "os.killpg", "os.link", "os.listdir", "os.listxattr",
        "os.mkdir", "os.posix_spawn", "os.remove", "os.removexattr", "os.rename", "os.rmdir", "os.scandir",
        "os.setxattr", "os.symlink", "os.system", "os.truncate", "os.utime", "signal.pthread_kill", "socket.__new__",
        "socket.bind", "socket.connect", "socket.getaddrinfo", "socket.sendto", "subprocess.Popen",
        "_thread.start_new_thread",
    )
)  # fmt: skip

_last: list[str] = [""]


def watch_attempts() -> None:
    """Take note of attempts from now on."""
    _last[0] = ""
    sys.addaudithook(_note)


def _note(event: str, arguments: object) -> None:
    if event in _WATCHED:
        _last[0] = event


def last_attempt() -> str:
    """As Python calls it: `socket.connect`, `os.fork`; empty if none."""
    return _last[0].replace("socket.__new__", "socket.socket")
