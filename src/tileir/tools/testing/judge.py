"""`tileir judge`: one candidate for one task, with evidence, a reason and a score."""

from __future__ import annotations

from tileir.ir.quoting import harmless
from tileir.judging.tasks.judge import judge
from tileir.tools import options
from tileir.tools.arguments import EXIT_FINE, EXIT_TIMED_OUT, EXIT_WRONG_INPUT, Arguments, Option, Usage
from tileir.tools.command import command, stay
from tileir.tools.input import refuse_cpp
from tileir.tools.output import check_target, write_output

USAGE = Usage(
    "tileir judge",
    "TASK CANDIDATE.py",
    (
        "tileir judge examples/judged/softmax examples/judged/softmax_good.py",
        "tileir judge examples/judged/softmax examples/judged/softmax_edge.py --json",
    ),
    (
        options.JSON,
        options.HTML,
        Option("--seed N", "of inputs (default: drawn, so that no candidate knows it)"),
        options.TARGET.with_help("the GPU whose time is estimated (default: that of the task, or h200)"),
        options.BACKEND.with_help("what runs kernels: cpu (default), interpreter, or a GPU backend of tileir info"),
        options.TIMEOUT.with_help("how long all of it may take (default: that of the task, or 60)"),
        options.MEMORY_LIMIT.with_help("the most memory that it may take (default: that of the task, or 4G)"),
        options.QUIET,
    ),
    """\
TASK is a folder with reference.py and, for shapes, tolerances and limits, task.json; or a module that is a reference.
'tileir docs judge' describes both, the checks, and the rule of the score.""",
    statuses={0: "accepted", 1: "not accepted", 2: "the command line or the task is wrong", 124: "out of time"},
)


@command(USAGE)
def run(given: Arguments) -> int:
    task, candidate = given.operands
    refuse_cpp(candidate, "a candidate is a Python module; 'tileir sweep {}' judges the kernels of a source")
    check_target(given.value("html", "-"))
    stay(interruptible=True)
    found = judge(
        task,
        candidate,
        seed=given.number("seed", least=0) if given.has("seed") else None,
        target=given.value("target") or None,
        backend=given.value("backend") or None,
        timeout=given.seconds("timeout") or None,
        memory_limit=given.size("memory-limit", 0) or None,
    )
    if given.has("html"):
        write_output(given.value("html"), found.html())
    if given.has("json"):
        print(found.to_json())
    elif not (given.has("quiet") and found.accepted):
        print(harmless(str(found), keep="\n"))
    if found.reason == "timeout":
        return EXIT_TIMED_OUT
    return EXIT_FINE if found.accepted else EXIT_WRONG_INPUT
