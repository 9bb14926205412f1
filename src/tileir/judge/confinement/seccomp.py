"""A filter of system calls: network, other processes and the system itself are out of reach.

What is denied gives an error, as a missing right does, and not a signal: Python raises `PermissionError`, which says in
the table what was tried.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from functools import cache
from typing import Final

from tileir.judge.confinement.linux import (
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    PR_SET_SECCOMP,
    prctl,
)
from tileir.judge.confinement.system_calls import ARCHITECTURES, NUMBERS

_SYSTEM: Final = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp", "perf_event_open"),
    *("bpf", "userfaultfd", "add_key", "request_key", "keyctl", "mount", "umount2", "pivot_root", "chroot"),
    *("move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "unshare", "setns"),
    *("reboot", "swapon", "swapoff", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load"),
    *("acct", "quotactl", "quotactl_fd", "sethostname", "setdomainname", "settimeofday", "clock_settime"),
    *("clock_adjtime", "adjtimex", "syslog", "vhangup", "iopl", "ioperm", "open_by_handle_at", "fanotify_init"),
    *("shmget", "msgget", "semget", "mq_open"),
)
"""What no child needs: other processes' memory, the system, and what outlives a process."""
_NETWORK: Final = ("socket", "connect", "bind", "listen", "accept", "accept4", "io_uring_setup")
_FOREIGN: Final = (
    *("fork", "vfork", "execve", "execveat", "pidfd_open", "pidfd_send_signal", "rt_sigqueueinfo"),
    *("rt_tgsigqueueinfo", "memfd_create", "memfd_secret", "setpriority", "ioprio_set", "setrlimit", "socketpair"),
    *("sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr", "fallocate"),
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "setxattr", "lsetxattr"),
    *("fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "utime", "utimes", "futimesat", "utimensat"),
)
"""What foreign code may not do either: processes, when and where they run, higher limits, memory and space on disk that
no limit counts, a pair of sockets, from which messages can be sent to others, and what can be done to files without the
right to write to them."""

_OWNERS_OF_FILES: Final = (8, 10, 15)
"""What `fcntl` is asked for by who wants the system to signal another process when there is something to read."""
_SETTINGS_OF_FILES: Final = (0x6600, 0x5800, 0x7600, 0x8900)
"""The families of `ioctl` that change attributes of files, which can be open for reading, or whom they signal."""
_FAMILY: Final = 0xFF00
_OWN_SETTINGS: Final = (PR_SET_PDEATHSIG, PR_SET_DUMPABLE)
"""That it ends with its parent, and that the parent may look at what it does."""

_CLONE_THREAD: Final = 0x00010000

# The instructions of a filter, and where it finds what it looks at.
_LOAD, _AND, _EQUAL, _ABOVE, _SET, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_X32: Final = 0x40000000
_FILTER_MODE: Final = 2

OWN: Final = 0xFFFFFFF1
"""Stands for the number of the process in a filter that is not for one yet."""


class _Program(ctypes.Structure):
    _fields_ = (("count", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def why_no_filter() -> str:
    """Why there is no filter of system calls here; empty if there is one."""
    if sys.platform != "linux":
        return "only Linux has one"
    if platform.machine() not in NUMBERS:
        return f"the numbers of the system calls of {platform.machine()} are not known"
    return ""


def filter_calls(processes: bool) -> bool:
    """Deny system calls to this process and its threads, for good; gives whether the system can.

    With `processes` it may start others, and they are filtered alike.
    """
    if why_no_filter():
        return False
    # Required of who has no rights over the system: no program that is started gains any.
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    code = instructions(platform.machine(), processes).replace(struct.pack("<I", OWN), struct.pack("<I", os.getpid()))
    program = _Program(len(code) // 8, code)
    return prctl(PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(program))


@cache
def instructions(machine: str, processes: bool) -> bytes:
    """The filter, as the kernel takes it, with `OWN` for the number of the process."""
    numbers = NUMBERS[machine]
    code = [_does(_LOAD, _ARCHITECTURE), _jump(_EQUAL, ARCHITECTURES[machine], 1, 0), _does(_RETURN, _KILL)]
    code.append(_does(_LOAD, _NUMBER))
    if machine == "x86_64":
        # The other numbering of the same calls.
        code += [_jump(_ABOVE, _X32, 0, 1), _does(_RETURN, _ERROR | errno.EPERM)]
    denied = [*_SYSTEM, *_NETWORK] if processes else [*_SYSTEM, *_NETWORK, *_FOREIGN]
    for name in denied:
        if name in numbers:
            code += [_jump(_EQUAL, numbers[name], 0, 1), _does(_RETURN, _ERROR | errno.EPERM)]
    if not processes:
        # Not there at all, so that the C library falls back to `clone`, whose arguments can be looked at.
        code += [_jump(_EQUAL, numbers["clone3"], 0, 1), _does(_RETURN, _ERROR | errno.ENOSYS)]
        code += _if_called(numbers["clone"], 0, _jump(_SET, _CLONE_THREAD, 0, 1))
        # A process may end itself, as `abort` does, and nobody else.
        for name in ("kill", "tgkill", "tkill"):
            code += _if_called(numbers[name], 0, _jump(_EQUAL, OWN, 0, 1))
        code += _if_asked(numbers["prctl"], 0, _OWN_SETTINGS)
        code += _if_asked(numbers["fcntl"], 1, _OWNERS_OF_FILES)
        code += _if_asked(numbers["ioctl"], 1, _SETTINGS_OF_FILES, _FAMILY)
        # Limits are read, not set: both halves of the address of new ones are zero.
        code += [_jump(_EQUAL, numbers["prlimit64"], 0, 6), _does(_LOAD, 32), _jump(_EQUAL, 0, 0, 2)]
        code += [_does(_LOAD, 36), _jump(_EQUAL, 0, 1, 0), _does(_RETURN, _ERROR | errno.EPERM), _does(_RETURN, _ALLOW)]
    code.append(_does(_RETURN, _ALLOW))
    return b"".join(code)


def _does(operation: int, operand: int) -> bytes:
    return struct.pack("<HBBI", operation, 0, 0, operand)


def _jump(operation: int, operand: int, if_so: int, if_not: int) -> bytes:
    """Skips as many instructions."""
    return struct.pack("<HBBI", operation, if_so, if_not, operand)


def _if_called(number: int, argument: int, question: bytes) -> list[bytes]:
    """What happens to a call by one of its arguments: where `question` goes on, it is allowed, or else denied."""
    # What is asked about, a number of a process or flags, is in the low half of an argument.
    answers = [_does(_RETURN, _ALLOW), _does(_RETURN, _ERROR | errno.EPERM)]
    return [_jump(_EQUAL, number, 0, 4), _does(_LOAD, 16 + 8 * argument), question, *answers]


def _if_asked(number: int, argument: int, denied: tuple[int, ...], mask: int = 0xFFFFFFFF) -> list[bytes]:
    """A call that is denied if one of its arguments is one of these, and else allowed."""
    code = [_does(_LOAD, 16 + 8 * argument), _does(_AND, mask)]
    for each in denied:
        code += [_jump(_EQUAL, each, 0, 1), _does(_RETURN, _ERROR | errno.EPERM)]
    code.append(_does(_RETURN, _ALLOW))
    return [_jump(_EQUAL, number, 0, len(code)), *code]
