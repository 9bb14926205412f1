"""A filter of system calls: a process may make those that `system_calls` allows, and no others.

A denied call returns an error, as if a permission were missing, and sends no signal: Python raises `PermissionError`,
which names in the table what was tried.
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

from tileir.processes.linux import PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, prctl
from tileir.processes.system_calls import ABSENT, ARCHITECTURES, DENY, NEWEST, NUMBERS, OWN, Check, Rule, rules

# The instructions of a filter, and where it finds what it looks at.
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_FAMILY: Final = 0xFF00
_FILTER_MODE: Final = 2


class _Program(ctypes.Structure):
    _fields_ = (("count", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


@cache
def why_no_filter() -> str:
    """Why there is no filter of system calls here; empty if there is one."""
    if sys.platform != "linux":
        return "only Linux has one"
    if platform.machine() not in NUMBERS:
        return f"the numbers of the system calls of {platform.machine()} are not known"
    # Kernels that have filters notice that there is none at this address.
    if not prctl(PR_SET_SECCOMP, _FILTER_MODE, None) and ctypes.get_errno() == errno.EINVAL:
        return "this kernel was built without one"
    return ""


def filter_calls(*, processes: bool, gpu: bool) -> None:
    """Let this process and its threads make the calls that it needs, for good; an `OSError` if the system does not.

    With `processes` it may start others, which inherit the filter; with `gpu` it may control a GPU.
    """
    # Required of who has no rights over the system: no program that is started gains any.
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    code = instructions(platform.machine(), processes, gpu)
    code = code.replace(struct.pack("<I", OWN), struct.pack("<I", os.getpid()))
    program = _Program(len(code) // 8, code)
    if not prctl(PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(program)):
        raise OSError(ctypes.get_errno(), "the filter of system calls cannot be set")


@cache
def instructions(machine: str, processes: bool, gpu: bool) -> bytes:
    """The filter, as the kernel takes it, with `OWN` for the number of the process."""
    found = {NUMBERS[machine][name]: rule for name, rule in rules(processes, gpu).items() if name in NUMBERS[machine]}
    # Where another rule begins.  No call has a higher number than the last; those of x32 do.
    starts: list[tuple[int, Rule]] = []
    for number in range(NEWEST + 2):
        rule = found.get(number, DENY if number <= NEWEST else ABSENT)
        if not starts or starts[-1][1] != rule:
            starts.append((number, rule))
    code = [_does(_LOAD, _ARCHITECTURE), _jump(_EQUAL, ARCHITECTURES[machine], 1, 0), _does(_RETURN, _KILL)]
    code.append(_does(_LOAD, _NUMBER))
    for number, rule in reversed(starts):
        body = _apply(rule)
        # The last one, which begins at 0, is for all that are left.
        code += [_jump(_AT_LEAST, number, 0, len(body)), *body] if number else body
    return b"".join(code)


def _apply(rule: Rule) -> list[bytes]:
    allow = _does(_RETURN, _ALLOW)
    otherwise = _does(_RETURN, _ERROR | rule.error) if rule.error else allow
    checks = [each for check in rule.checks for each in (*_questions(check), otherwise)]
    return [*checks, allow] if checks else [otherwise]


def _questions(check: Check) -> list[bytes]:
    """Skip the instruction after these if an argument is as it has to be."""
    code = [_does(_LOAD, _ARGUMENTS + 8 * check.argument + 4 * check.is_high)]
    conditions = [(check.mask, check.values), *([(_FAMILY, check.families)] if check.families else [])]
    left = sum(1 + len(values) for _, values in conditions)
    for mask, values in conditions:
        code.append(_does(_AND, mask))
        left -= 1
        for value in values:
            left -= 1
            code.append(_jump(_EQUAL, value, left + 1, 0))
    return code


def _does(operation: int, operand: int) -> bytes:
    return struct.pack("<HBBI", operation, 0, 0, operand)


def _jump(operation: int, operand: int, if_so: int, if_not: int) -> bytes:
    """Skips as many instructions."""
    return struct.pack("<HBBI", operation, if_so, if_not, operand)
