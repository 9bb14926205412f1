"""What a child process may do and use, and putting it in force, for good: by all that the system has for it."""

from __future__ import annotations

import ctypes
import math
import os
import platform
import struct
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, Final

from tileir.processes import landlock, seccomp
from tileir.processes.linux import end_with_parent, leave_network, system_call

resource: Any
try:
    import resource
except ImportError:
    # Windows.
    resource = None

_MORE_CPU_SECONDS: Final = 2
_OPEN_FILES: Final = 64
_CAPABILITIES_VERSION: Final = 0x20080522
_CAPSET: Final = {"x86_64": 126, "aarch64": 91}
_FIRST_TO_KILL: Final = b"1000"
_WATCHED: Final = ("fcntl.", "open", "os.", "signal.", "socket.", "subprocess.", "_thread.")
"""How the names of audit events begin that are about what a sandbox may deny."""

_last_attempt: Final[list[str]] = [""]


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What a process may do and use."""

    scratch: str
    """The one directory that it may write to."""
    cpu_seconds: float
    memory: int | None
    """Bytes of address space beyond what it begins with.  None: no limit, as a GPU's driver reserves all there is."""
    file_bytes: int
    """The largest file that it may write."""
    output_bytes: int
    """How much of its standard output and error is kept."""
    threads: int = 1
    processes: bool = False
    """Whether it may start other processes; one that may not runs foreign code."""
    gpu: bool = False


def confine(sandbox: Sandbox, parent: int) -> None:
    """Confine this process, which is a fork of `parent`."""
    end_with_parent()
    if os.getppid() != parent:
        # The parent ended before that was in force.
        os._exit(1)
    os.chdir(sandbox.scratch)
    os.environ.update(HOME=sandbox.scratch, TMPDIR=sandbox.scratch)
    tempfile.tempdir = None
    _be_killed_first()
    _limit_resources(sandbox)
    has_filter = not seccomp.why_no_filter()
    if has_filter:
        _drop_capabilities()
    else:
        # The next best: there is a network, and nobody in it.
        leave_network()
    landlock.restrict_files(sandbox.scratch, foreign=not sandbox.processes, gpu=sandbox.gpu)
    _last_attempt[0] = ""
    sys.addaudithook(_note_attempt)
    # The last one: it denies what the others need.
    if has_filter:
        seccomp.filter_calls(processes=sandbox.processes, gpu=sandbox.gpu)


def in_force() -> dict[str, str]:
    """What confines children on this system, and what does not, in words."""
    version = landlock.version()
    has_limits = resource is not None
    return {
        "limits": "time, processor time, memory, files" if has_limits else "time only: this system has no others",
        "files": f"Landlock, version {version}" if version else "not confined: this system has no Landlock",
        "system calls": f"not confined: {seccomp.why_no_filter()}" if seccomp.why_no_filter() else "seccomp",
    }


def last_attempt() -> str:
    """What code of this process tried last of what may be denied, since an error of the system does not say it.

    As Python calls it: `socket.connect`, `os.fork`; empty if none."""
    return _last_attempt[0].replace("socket.__new__", "socket.socket")


def _note_attempt(event: str, arguments: object) -> None:
    if event.startswith(_WATCHED):
        _last_attempt[0] = event


def limit_resource(name: str, number: int) -> None:
    """Set a resource limit of this process, `RLIMIT_CORE` and so on, for good, where the system has it."""
    kind = getattr(resource, name, None)
    if kind is None:
        return
    try:
        hard = resource.getrlimit(kind)[1]
        number = number if hard == resource.RLIM_INFINITY else min(number, hard)
        resource.setrlimit(kind, (number, number))
    except (OSError, ValueError):
        # macOS knows a limit of addresses and refuses it.
        return


def _limit_resources(sandbox: Sandbox) -> None:
    limit_resource("RLIMIT_CORE", 0)
    limit_resource("RLIMIT_CPU", math.ceil(sandbox.cpu_seconds) + _MORE_CPU_SECONDS)
    limit_resource("RLIMIT_FSIZE", sandbox.file_bytes)
    limit_resource("RLIMIT_NOFILE", _OPEN_FILES)
    if sandbox.memory is not None:
        limit_resource("RLIMIT_AS", _address_space() + sandbox.memory)


def _address_space() -> int:
    """Bytes of address space that this process has; 0 if unknown."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            return int(file.read(64).split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _be_killed_first() -> None:
    """Have the system kill this process before others when memory runs out."""
    try:
        with open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
            file.write(_FIRST_TO_KILL)
    except OSError:
        # The system has no such file.
        return


def _drop_capabilities() -> None:
    """Give up the rights of an administrator."""
    if os.geteuid() == 0:
        header = ctypes.c_char_p(struct.pack("<Ii", _CAPABILITIES_VERSION, 0))
        try:
            system_call(_CAPSET[platform.machine()], header, ctypes.c_char_p(bytes(24)))
        except OSError:
            return
