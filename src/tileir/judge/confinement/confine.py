"""Confine this process, for good: by all that the system has for it."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import tempfile
from typing import NamedTuple

from tileir.judge.confinement import landlock, seccomp
from tileir.judge.confinement.attempts import watch_attempts
from tileir.judge.confinement.limits import CAN_LIMIT, limit_resources
from tileir.judge.confinement.linux import PR_SET_PDEATHSIG, leave_network, prctl, system_call
from tileir.judge.confinement.system_calls import NUMBERS
from tileir.judge.plans import Limits

_CAPABILITIES_VERSION = 0x20080522
_FIRST_TO_GO = b"1000"


class Confinement(NamedTuple):
    """What a process may do."""

    scratch: str
    """The one directory that it may write to."""
    limits: Limits
    processes: bool = False
    """Whether it may start other processes."""
    gpu: bool = False
    """Whether it works on a GPU."""
    programs: int = 1
    """How many programs it judges: each has its time."""


def confine(wanted: Confinement, parent: int) -> None:
    """Confine this process, which has been made by a fork of `parent`."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # The parent ended before it was asked to take this process with it.
        os._exit(1)
    os.chdir(wanted.scratch)
    os.environ.update(HOME=wanted.scratch, TMPDIR=wanted.scratch)
    tempfile.tempdir = None
    _offer_to_go_first()
    # A driver for GPUs reserves addresses for all memory there is.
    limit_resources(wanted.limits, wanted.programs, limit_addresses=not wanted.gpu)
    if seccomp.why_no_filter():
        # The next best: there is a network, and nobody in it.
        leave_network()
    _drop_capabilities()
    landlock.restrict_files(wanted.scratch, foreign=not wanted.processes, gpu=wanted.gpu)
    watch_attempts()
    # The last one: it denies what the others need.
    if not seccomp.why_no_filter():
        seccomp.filter_calls(processes=wanted.processes, gpu=wanted.gpu)


def _offer_to_go_first() -> None:
    """Have the system end this process before others where memory runs out."""
    try:
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        try:
            os.write(descriptor, _FIRST_TO_GO)
        finally:
            os.close(descriptor)
    except OSError:
        # The system has no such file.
        return


def _drop_capabilities() -> None:
    """The rights of an administrator are not for programs that are judged."""
    numbers = NUMBERS.get(platform.machine())
    if numbers is None or seccomp.why_no_filter() or os.geteuid() != 0:
        return
    try:
        header = ctypes.c_char_p(struct.pack("<Ii", _CAPABILITIES_VERSION, 0))
        system_call(numbers["capset"], header, ctypes.c_char_p(bytes(24)))
    except OSError:
        return


def in_force() -> dict[str, str]:
    """What confines children on this system, and what does not, in words."""
    version = landlock.version()
    return {
        "limits": "time, processor time, memory, files" if CAN_LIMIT else "time only: this system has no others",
        "files": f"Landlock, version {version}" if version else "not confined: this system has no Landlock",
        "system calls": f"not confined: {seccomp.why_no_filter()}" if seccomp.why_no_filter() else "seccomp",
    }
