"""Ready-made questions about a program: what a check says of it, what passes and engines do with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tileir.analyze.reducing.candidate_tests import Question
from tileir.analyze.reducing.program import Program, arguments_of, launch_of
from tileir.execute.arguments.argument_text import LaunchWords
from tileir.execute.errors import InternalError
from tileir.ir.declaration import VerifyContext
from tileir.ir.diagnostics import TileIRError
from tileir.ir.traversal import clone
from tileir.ir.verifier import verify_operation

FINE: Final = "fine"
SAYS: Final = "says: "
"""An error in words for the user, which is no crash."""
CRASHED: Final = "crashed: "
"""An exception that no user should see."""
DIFFERENT: Final = "results differ"
GONE: Final = "there is no such kernel"


def ask_check(program: Program) -> str:
    """What the verifier says."""
    context = VerifyContext()
    verify_operation(program.module, context)
    if not context.diagnostics:
        return FINE
    return SAYS + "\n".join([diagnostic.message for diagnostic in context.diagnostics])


def ask_contents(data: bytes) -> str:
    """What is said of a file when it is checked."""
    from tileir.interface import load

    return _worded(_outcome(lambda: load(data)))


def ask_passes(pipeline: str) -> Question[Program]:
    """What becomes of a pipeline of passes."""

    def question(program: Program) -> str:
        from tileir.passes.pipeline import run_passes

        return _worded(_outcome(lambda: run_passes(clone(program.module), pipeline.split(","))))

    return question


def ask_engine(engine: str, words: LaunchWords) -> Question[Program]:
    """What becomes of a launch on an engine."""
    return lambda program: _worded(_launched(program, engine, words))


def ask_difference(first: str, second: str, words: LaunchWords) -> Question[Program]:
    """Whether a launch gives other bits on another engine, and what the sanitizer says of it then."""

    def question(program: Program) -> str:
        from tileir.execute.array_difference import same_bits

        expected, found = [_launched(program, engine, words) for engine in (first, second)]
        if isinstance(expected, str) or isinstance(found, str):
            if expected == found or GONE in (expected, found):
                return FINE
            return f"{first} {_head(expected)}, {second} {_head(found)}"
        if all(same_bits(a, b).all() for a, b in zip(expected, found, strict=True)):
            return FINE
        return f"{DIFFERENT}; findings: {','.join(_findings(program, words))}"

    return question


def same_difference(answer: str, original: str) -> bool:
    """Whether an answer says what the original one does, with no findings that the original has not."""
    head, _, findings = answer.partition("; findings: ")
    original_head, _, original_findings = original.partition("; findings: ")
    return head == original_head != FINE and set(findings.split(",")) <= {"", *original_findings.split(",")}


def is_crash(answer: str) -> bool:
    """Whether an answer is none that a user should ever get."""
    return not answer.startswith((FINE, SAYS, DIFFERENT, GONE))


def kind_of_crash(answer: str) -> str:
    """A crash without the words that depend on the program."""
    return ":".join(answer.split(":")[:2])


def _head(ended: list[Any] | str) -> str:
    """How a launch ended, without what depends on the program."""
    return "runs" if isinstance(ended, list) else ended.partition(":")[0]


def _worded(ended: object) -> str:
    return ended if isinstance(ended, str) else FINE


def _outcome(work: Callable[[], Any]) -> Any:
    """What some work gives, or in words how it failed."""
    try:
        return work()
    except InternalError as error:
        cause = error.__cause__
        return f"{CRASHED}{type(cause).__name__}: {cause}"
    except TileIRError as error:
        return SAYS + str(error)
    except Exception as error:
        return f"{CRASHED}{type(error).__name__}: {error}"


def _launched(program: Program, engine: str, words: LaunchWords) -> list[Any] | str:
    """The arrays after a launch, or how it failed."""
    import numpy

    # By the definition: engines may add up products in orders of their own otherwise, which is no difference.
    ended = _outcome(lambda: _launch(program, engine, words, exact=True))
    if isinstance(ended, str):
        return ended
    return [value for value in ended if isinstance(value, numpy.ndarray)]


def _launch(program: Program, engine: str, words: LaunchWords, *, exact: bool = False, sanitize: bool = False) -> Any:
    """The arguments after a launch, or that there is no such kernel."""
    from tileir.execute.launching.kernel import compile

    chosen = launch_of(words, program)
    if chosen is None:
        return GONE
    launch, entry = chosen
    kernel = compile(program.module, entry.symbol_name, engine, exact=exact)
    given = arguments_of(launch, entry)
    kernel.launch(launch.grid, *given, sanitize=sanitize, output=lambda text: None)
    return given


def _findings(program: Program, words: LaunchWords) -> list[str]:
    """The kinds of errors that the sanitizer finds in a launch."""
    from tileir.execute.sanitizer.report import SanitizerError

    try:
        _launch(program, "interpreter", words, sanitize=True)
    except SanitizerError as error:
        return sorted(set(error.report.kinds))
    except TileIRError as error:
        return [type(error).__name__]
    return []
