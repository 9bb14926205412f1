"""A child process where the system has no fork: a new Python for each, which takes a second to start.

It has a time limit, and no other confinement: docs/judging.md says so.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from typing import Final

from tileir.judge.child_processes import Told, take, tell_parent
from tileir.judge.deaths import OVER, Ending
from tileir.judge.judging.parts import Part
from tileir.judge.judging.work import Work
from tileir.judge.messages import Frames, Garbage
from tileir.judge.starting import command

CAN_FORK: Final = hasattr(os, "fork")

_START_SECONDS: Final = 20.0
"""How long a new Python may take until it begins: that is not the program's time."""
_REPORT: Final = 3


def run_spawned(part: Part, work: Work, told: Told, deadline: float) -> Ending:
    """Start a child for one thing and wait for its end."""
    task = pickle.dumps((part.judge, work.item, work.plan, work.scratch, work.handed))
    limits = work.plan.limits
    path = os.path.join(work.scratch, "output")
    with open(path, "w+b") as output:
        process = subprocess.Popen(
            command("tileir.judge.spawning", ""),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
        )
        how = ""
        try:
            left = max(deadline - time.perf_counter(), 0.0) + _START_SECONDS
            report, _ = process.communicate(task, timeout=left)
        except subprocess.TimeoutExpired:
            process.kill()
            report, _ = process.communicate()
            how = "timeout"
        output.seek(0)
        told.output.extend(output.read(max(limits.output_bytes - len(told.output), 0)))
    try:
        for kind, content in Frames().add(report):
            take(told, kind, content)
    except Garbage as garbage:
        return Ending(str(garbage), process.returncode, 0)
    return Ending(OVER if told.seconds else how, process.returncode, 0)


def main(_: str) -> None:
    """Do what standard input says; the report goes to standard output, and what is printed to standard error."""
    os.dup2(1, _REPORT)
    os.dup2(2, 1)
    judge, item, plan, scratch, handed = pickle.load(sys.stdin.buffer)
    os.chdir(scratch)
    Work(item, plan, scratch, handed, tell_parent).do(judge)
    # What foreign code has left to be done at the end is not done.
    sys.stdout.flush()
    os._exit(0)
