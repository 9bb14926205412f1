"""Children without confinement, for tests of what is done in them."""

from __future__ import annotations

import json
import os
import traceback
from typing import Any

from tileir.judging.kernels.module import TaskResult
from tileir.judging.model import JudgePlan, JudgeStage, SweepInput
from tileir.judging.verdicts.work import Task, Work


def in_child(task: Task, scratch: str, is_foreign: bool) -> TaskResult:
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
    step = next((each["begin"] for each in reversed(told) if "begin" in each), "")
    noticed = tuple(JudgeStage(**each["step"]) for each in told if "step" in each)
    if told and "value" in told[-1] and status == 0:
        return TaskResult(told[-1]["value"], JudgeStage(step, "passed"), noticed)
    return TaskResult(None, JudgeStage(step, "crashed", f"status {status}", f"status {status}"), noticed)


def _do(task: Task, scratch: str, descriptor: int) -> None:
    def send(message: Any) -> None:
        os.write(descriptor, json.dumps(message).encode() + b"\n")

    try:
        os.chdir(scratch)
        send({"value": task(Work(SweepInput("", "kernels", b""), JudgePlan(), scratch, send))})
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    os._exit(70)
