"""What a child process may do and use, and putting it in force, for good: by all that the system has for it."""

from __future__ import annotations

import ctypes
import math
import os
import platform
import stat
import struct
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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

_MOST_ENTRIES: Final = 2_000
"""Files and directories of one child."""
_DEEPEST: Final = 64
_MOST_FILES: Final = 8
"""The limit of all files of a child, as a multiple of the limit of one file."""
_LONGEST_PATH: Final = 3_000
"""Characters: what lies deeper than the system takes paths could not be counted."""
_count: list[int] = [0]
_denies_processes: Final[list[bool]] = [False]

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
    # The first to be ended when memory runs out; not every system has this file.
    with suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
        file.write(_FIRST_TO_KILL)
    limit_resource("RLIMIT_CORE", 0)
    limit_resource("RLIMIT_CPU", math.ceil(sandbox.cpu_seconds) + _MORE_CPU_SECONDS)
    limit_resource("RLIMIT_FSIZE", sandbox.file_bytes)
    limit_resource("RLIMIT_NOFILE", _OPEN_FILES)
    if sandbox.memory is not None:
        limit_resource("RLIMIT_AS", address_space() + sandbox.memory)
    has_filter = not seccomp.why_no_filter()
    if has_filter:
        _drop_capabilities()
    else:
        # The next best: an empty network.
        leave_network()
    landlock.restrict_files(sandbox.scratch, foreign=not sandbox.processes, gpu=sandbox.gpu)
    _last_attempt[0] = ""
    _denies_processes[0] = not sandbox.processes
    sys.addaudithook(_note_attempt)
    # The last one: it denies what the others need.
    if has_filter:
        seccomp.filter_calls(processes=sandbox.processes, gpu=sandbox.gpu)


def may_fork() -> bool:
    """Whether this process may start others, as far as a sandbox of tileir decides it."""
    return not _denies_processes[0]


def in_force() -> dict[str, str]:
    """For each kind of limit, what enforces it on this system."""
    version = landlock.version()
    has_limits = resource is not None
    return {
        "limits": "time, processor time, memory, files" if has_limits else "time only: this system has no others",
        "files": f"Landlock, version {version}" if version else "not confined: this system has no Landlock",
        "system calls": f"not confined: {seccomp.why_no_filter()}" if seccomp.why_no_filter() else "seccomp",
    }


def last_attempt() -> str:
    """What this process tried last of what may be denied, as Python calls it: `socket.connect`; empty if none."""
    return _last_attempt[0].replace("socket.__new__", "socket.socket")


def _note_attempt(event: str, arguments: object) -> None:
    if event.startswith(_WATCHED):
        _last_attempt[0] = event


def limit_resource(name: str, number: int) -> None:
    """Set a resource limit of this process, `RLIMIT_CORE` and so on, for good, where the system has it."""
    # macOS defines a limit of address space and refuses to set it.
    with suppress(AttributeError, OSError, ValueError):
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        number = number if hard == resource.RLIM_INFINITY else min(number, hard)
        resource.setrlimit(kind, (number, number))


def address_space() -> int:
    """Bytes of address space that this process has; 0 if unknown."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            return int(file.read(64).split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _drop_capabilities() -> None:
    """Give up the rights of an administrator."""
    if os.geteuid() == 0:
        header = ctypes.c_char_p(struct.pack("<Ii", _CAPABILITIES_VERSION, 0))
        with suppress(OSError):
            system_call(_CAPSET[platform.machine()], header, ctypes.c_char_p(bytes(24)))


# --- the directory that a child may write to, which goes when it ends: whatever is in it, and however deep ---


@contextmanager
def scratch_directory(root: str) -> Iterator[str]:
    """The path of a new directory below `root`, for as long as a child uses it."""
    _count[0] += 1
    path = os.path.join(root, str(_count[0]))
    os.mkdir(path, 0o700)
    try:
        yield path
    finally:
        try:
            # Most children write nothing.
            os.rmdir(path)
        except OSError:
            _remove_tree(path, root)


def most_written(file_bytes: int) -> int:
    """Bytes that a child may write in all, files counted that it has removed."""
    return 2 * _MOST_FILES * file_bytes


def why_too_much(scratch: str, file_bytes: int, written: int = 0) -> str:
    """Why a child has to be ended for what it has written; empty if that is within limits.

    `written` are all bytes that it has had the system write so far, to disks or to shared memory: removed files take
    space there for as long as somebody has them open or mapped.
    """
    if written > most_written(file_bytes):
        return "it wrote more files than its limit allows"
    entries = total = 0
    pending = [(scratch, 0)]
    while pending:
        directory, depth = pending.pop()
        if depth > _DEEPEST:
            # Each look would walk all the way down.
            return "its directories are too deep"
        # It goes on removing and making files while this looks.
        with suppress(OSError), os.scandir(directory) as found:
            for entry in found:
                entries += 1
                if entries > _MOST_ENTRIES:
                    return "it made too many files"
                if len(entry.path) > _LONGEST_PATH:
                    return "its directories are too deep"
                # What is allocated: a file with holes takes no space.
                total += getattr(entry.stat(follow_symlinks=False), "st_blocks", 0) * 512
                if entry.is_dir(follow_symlinks=False):
                    pending.append((entry.path, depth + 1))
        if total > _MOST_FILES * file_bytes:
            return "it wrote more files than its limit allows"
    return ""


def _remove_tree(path: str, root: str) -> None:
    """Remove a directory, however deep: directories in it are moved up first, as paths have a longest length."""
    pending = [path]
    count = 0
    while pending:
        directory = pending.pop()
        with suppress(OSError):
            os.chmod(directory, stat.S_IRWXU)
            for name in os.listdir(directory):
                inside = os.path.join(directory, name)
                with suppress(OSError):
                    if not stat.S_ISDIR(os.lstat(inside).st_mode):
                        os.unlink(inside)
                        continue
                    count += 1
                    moved = os.path.join(root, f"{os.path.basename(path)}.{count}")
                    # Moving a directory needs the right to write to it.
                    os.chmod(inside, stat.S_IRWXU)
                    os.rename(inside, moved)
                    pending.append(moved)
            os.rmdir(directory)
