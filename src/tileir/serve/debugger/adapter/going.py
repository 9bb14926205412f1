"""Requests that make the launch run: forwards and backwards, to the next stop or by a step."""

from __future__ import annotations

import numpy

from tileir.serve.debugger.adapter.asked import Asked, RequestMistake
from tileir.serve.debugger.adapter.conversation import Conversation, Stage
from tileir.serve.debugger.adapter.dispatch import Answer
from tileir.serve.debugger.adapter.runner import Job
from tileir.serve.debugger.adapter.wire import Message
from tileir.serve.debugger.moments import Stop
from tileir.serve.debugger.session import Debugger, How, Unit


def run(state: Conversation, stage: Stage, job: Job) -> None:
    """Have a launch that is stopped run."""
    with state.lock:
        stage.forget()
        state.runner.submit(job)


def running(state: Conversation, stage: Stage, job: Job, body: Message | None = None) -> Answer:
    """The answer behind which a launch runs."""
    state.runner.announce()
    return Answer(body, then=lambda: run(state, stage, job))


def resuming(debugger: Debugger, reverse: bool = False) -> Job:
    return Job(lambda: debugger.resume(reverse), lambda: debugger.resume(reverse))


def stepping(debugger: Debugger, how: How, by: Unit = "line", reverse: bool = False) -> Job:
    # Who steps to the end looks around there, and goes on from it by a step more.
    return Job(lambda: debugger.step(how, reverse, by), stops_at_end=not debugger.finished)


def continue_(state: Conversation, asked: Asked, request: Message) -> Answer:
    stage = state.stopped()
    job = resuming(stage.debugger)
    return running(state, stage, job, {"allThreadsContinued": True})


def reverse_continue(state: Conversation, asked: Asked, request: Message) -> Answer:
    stage = state.stopped()
    job = resuming(stage.debugger, reverse=True)
    return running(state, stage, job)


def _step(state: Conversation, asked: Asked, how: How, reverse: bool = False) -> Answer:
    stage = state.stopped()
    granularity = asked.text("granularity", "statement")
    if granularity not in ("statement", "line", "instruction"):
        raise RequestMistake(f"there is no granularity '{granularity}': use statement, line or instruction")
    job = stepping(stage.debugger, how, "operation" if granularity == "instruction" else "line", reverse)
    other = stage.blocks.get(asked.number("threadId", 0) - 1, stage.debugger.moment)
    if other.block != stage.debugger.moment.block:
        # Another thread is stepped from where it goes on.
        step = job.run

        def step_other() -> Stop:
            stage.debugger.go_to(*other)
            return step()

        job = Job(step_other, stops_at_end=job.stops_at_end)
    return running(state, stage, job)


def next_(state: Conversation, asked: Asked, request: Message) -> Answer:
    return _step(state, asked, "over")


def step_in(state: Conversation, asked: Asked, request: Message) -> Answer:
    return _step(state, asked, "into")


def step_out(state: Conversation, asked: Asked, request: Message) -> Answer:
    return _step(state, asked, "out")


def step_back(state: Conversation, asked: Asked, request: Message) -> Answer:
    return _step(state, asked, "over", reverse=True)


def restart_frame(state: Conversation, asked: Asked, request: Message) -> Answer:
    """Back to where a frame began: the round of a loop, the branch, the tile block."""
    stage = state.stopped()
    frame = stage.frames.find(asked.number("frameId"))
    if frame is None:
        raise RequestMistake("this frame is gone: the launch has moved on")
    block, since = frame.moment.block, frame.since
    return running(state, stage, Job(lambda: stage.debugger.go_to(block, since)))


def goto_targets(state: Conversation, asked: Asked, request: Message) -> Answer:
    """Where the tile block comes to a line: the next time, and the last time before."""
    stage = state.stopped()
    debugger = stage.debugger
    file = state.file(asked.inner("source"))
    line, numbers = debugger.lines.at(file, state.ways.own_line(asked.number("line")))
    if not numbers:
        return Answer({"targets": []})
    block, step = debugger.moment
    steps = numpy.flatnonzero(numpy.isin(debugger.steps(block), numbers))
    targets: list[Message] = []
    for words, found in (
        ("the next time", steps[steps > step][:1]),
        ("the last time before", steps[steps < step][-1:]),
    ):
        for there in found.tolist():
            number = stage.targets.add((block, int(there)))
            label = f"line {line}, {words} (step {there})"
            targets.append({"id": number, "label": label, "line": state.ways.line(line)})
    return Answer({"targets": targets})


def goto(state: Conversation, asked: Asked, request: Message) -> Answer:
    stage = state.stopped()
    found = stage.targets.find(asked.number("targetId"))
    if found is None:
        raise RequestMistake("this place is gone: the launch has moved on")
    return running(state, stage, Job(lambda: stage.debugger.go_to(*found)))
