"""Landlock: which files a process may read and write, and that it signals no process outside.

Linux has it since 5.13 and has added to it since; what a kernel does not know yet is left out.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from functools import cache
from glob import glob
from typing import Final

from tileir.processes.linux import PR_SET_NO_NEW_PRIVS, prctl, system_call

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION: Final = 1
_PATH_BENEATH: Final = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIRECTORY = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _CONTROL_DEVICES = 1 << 14, 1 << 15
_FIRST_RIGHTS: Final = (1 << 13) - 1
_LATER_RIGHTS: Final = {2: 1 << 13, 3: _TRUNCATE, 5: _CONTROL_DEVICES}
"""Rights by the version that added them: moving files to another directory, truncating files, controlling devices."""
_OF_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _CONTROL_DEVICES
"""The rights that a file may have; the others are for directories."""
_CONNECTIONS: Final = 0b11
_SCOPES: Final = 0b11
"""Sockets without a file, and signals."""

_SYSTEM: Final = (
    *("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store", "/proc", "/sys/devices/system"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/alternatives"),
    *("/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/os-release", "/dev/urandom", "/dev/random", "/dev/zero"),
)
_WRITABLE: Final = ("/dev/null",)
_GPU: Final = "/dev/nvidia*"


@cache
def version() -> int:
    """Which version the kernel has; 0 if none."""
    if sys.platform != "linux":
        return 0
    try:
        return system_call(_CREATE, None, 0, _VERSION)
    except OSError:
        # The kernel is too old, or has it turned off.
        return 0


@cache
def readable() -> tuple[str, ...]:
    """What a child may read: the system's programs and libraries, and Python's; not the home directory."""
    home = os.path.realpath(os.path.expanduser("~"))
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    own = [sys.prefix, sys.base_prefix, sys.exec_prefix, package, *sys.path]
    found: dict[str, None] = dict.fromkeys([each for each in _SYSTEM if os.path.exists(each)])
    for each in own:
        path = os.path.realpath(each)
        # `sys.path` has the home directory if the script lies there.
        is_home = path == "/" or home == path or home.startswith(path.rstrip("/") + "/")
        if each and os.path.exists(path) and not is_home:
            found[path] = None
    return tuple(found)


def restrict_files(scratch: str, *, foreign: bool, gpu: bool) -> bool:
    """Let this process write only below `scratch`, permanently; return whether the system can.

    One with foreign code executes nothing; others may read what earlier children have left beside it.
    """
    known = version()
    if not known:
        return False
    rights = _FIRST_RIGHTS
    for since, right in _LATER_RIGHTS.items():
        rights |= right if known >= since else 0
    words = [rights]
    words += [_CONNECTIONS] if known >= 4 else []
    words += [_SCOPES] if known >= 6 else []
    packed = struct.pack(f"<{len(words)}Q", *words)
    rules = system_call(_CREATE, ctypes.c_char_p(packed), len(packed), 0)
    reading = _READ_FILE | _READ_DIRECTORY | (0 if foreign else _EXECUTE)
    try:
        for path in readable() if foreign else (*readable(), os.path.dirname(scratch)):
            _allow(rules, path, reading)
        for path in _WRITABLE:
            _allow(rules, path, _READ_FILE | _WRITE_FILE | (rights & _TRUNCATE))
        if gpu:
            for path in glob(_GPU):
                _allow(rules, path, rights)
        _allow(rules, scratch, rights & ~_EXECUTE if foreign else rights)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        system_call(_RESTRICT, rules, 0)
    finally:
        os.close(rules)
    return True


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        # It is gone, or not for this user in any case.
        return
    try:
        if not os.path.isdir(path):
            rights &= _OF_FILES
        system_call(_ADD, rules, _PATH_BENEATH, ctypes.c_char_p(struct.pack("<Qi", rights, place)), 0)
    finally:
        os.close(place)
