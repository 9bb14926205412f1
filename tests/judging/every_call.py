"""Every system call in a child with a filter of its own: run as a script, it tells as JSON what came of each.

    python every_call.py NUMBER..

A call has arguments that are all -1, so that the kernel refuses what the filter lets pass.  The errors of the filter are
told from those of the kernel by `MARK`, which is added to them.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import signal
import struct
import sys
from unittest.mock import patch

from tileir.processes import seccomp
from tileir.processes.system_calls import NUMBERS

MARK = 2000
_ERROR, _RETURN = 0x00050000, 0x06


def marked(code: bytes) -> bytes:
    """A filter whose errors are none of the kernel's."""
    found = []
    for operation, if_so, if_not, operand in struct.iter_unpack("<HBBI", code):
        is_error = operation == _RETURN and operand & 0xFFFF0000 == _ERROR
        found.append(struct.pack("<HBBI", operation, if_so, if_not, operand + MARK * is_error))
    return b"".join(found)


def come_of(number: int) -> int:
    """The error of a call; 0 if there is none, or the process ended."""
    report, report_there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            library = ctypes.CDLL(None, use_errno=True)
            if number == NUMBERS[platform.machine()].get("pause"):
                signal.setitimer(signal.ITIMER_REAL, 0.1)
            seccomp.filter_calls(processes=False, gpu=False)
            if library.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6) == -1:
                os.write(report_there, ctypes.get_errno().to_bytes(2, "little"))
        finally:
            os._exit(1)
    os.close(report_there)
    os.waitpid(child, 0)
    error = int.from_bytes(os.read(report, 2), "little")
    os.close(report)
    return error


if __name__ == "__main__":
    original = seccomp.instructions
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with patch.object(seccomp, "instructions", lambda *choice: marked(original(*choice))):
        json.dump([come_of(int(number)) for number in sys.argv[1:]], sys.stdout)
