"""Children without confinement, for tests of what is done in them."""

from __future__ import annotations

import json
import os
import traceback
from typing import Any

from tileir.judge.ended import Ended, Task


def in_child(task: Task, *, scratch: str, is_foreign: bool) -> Ended:
    """Fork, do a task, and take its value back."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        _do(task, scratch, writable)
    os.close(writable)
    with open(readable, "rb") as pipe:
        lines = pipe.read().decode().splitlines()
    _, status = os.waitpid(child, 0)
    told = [json.loads(line) for line in lines]
    step = next((each["step"] for each in reversed(told) if "step" in each), "")
    if told and "value" in told[-1] and status == 0:
        return Ended(told[-1]["value"], "passed", step=step)
    return Ended(None, "crashed", f"status {status}", f"status {status}", step)


def _do(task: Task, scratch: str, descriptor: int) -> None:
    def tell(**held: Any) -> None:
        os.write(descriptor, json.dumps(held).encode() + b"\n")

    try:
        os.chdir(scratch)
        tell(value=task(lambda name: tell(step=name)))
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    os._exit(70)
