"""Confine this process, for good."""

from __future__ import annotations

import os
import signal
import tempfile
from typing import NamedTuple

from tileir.judge.confinement.limits import limit_resources
from tileir.judge.confinement.linux import PR_SET_PDEATHSIG, prctl
from tileir.judge.plans import Limits


class Confinement(NamedTuple):
    """What a process may do."""

    scratch: str
    """The one directory that it may write to."""
    limits: Limits
    processes: bool = False
    """Whether it may start other processes."""


def confine(wanted: Confinement, parent: int) -> None:
    """Confine this process, which has been made by a fork of `parent`."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # The parent ended before it was asked to take this process with it.
        os._exit(1)
    os.chdir(wanted.scratch)
    os.environ.update(HOME=wanted.scratch, TMPDIR=wanted.scratch)
    tempfile.tempdir = None
    limit_resources(wanted.limits)
