"""What an exception means for a step."""

from __future__ import annotations

import errno
from typing import Final

from tileir.analyze.random_arguments import SearchTimeout
from tileir.execute.errors import InternalError, LaunchError
from tileir.execute.gpu.errors import AssemblerCrash, AssemblerTimeout
from tileir.ir.diagnostics import TileIRError
from tileir.judge.causes import cause_of, cause_of_exception
from tileir.judge.confinement.attempts import last_attempt
from tileir.judge.verdicts import Outcome, Step

_MOST_DIAGNOSTICS: Final = 5

_FORBIDDEN: Final = frozenset((errno.EPERM, errno.EACCES, errno.EROFS, errno.EFBIG, errno.EDQUOT, errno.EXDEV))
"""How the system says no: to what a confined process may not do, and to files that grow too large."""


def failed_step(step: Step, error: BaseException) -> None:
    """Say in a step what an exception means that ended it."""
    if isinstance(error, InternalError) and error.__cause__ is not None:
        failed_step(step, error.__cause__)
        return
    step.outcome = outcome_of(error)
    if step.outcome == "memory":
        step.message, step.cause = "it needs more memory than its limit allows", "memory"
    elif isinstance(error, TileIRError) and not isinstance(error, InternalError):
        errors = [each for each in error.diagnostics if each.severity == "error"] or error.diagnostics
        step.message = "\n".join([each.render() for each in errors[:_MOST_DIAGNOSTICS]])
        if len(errors) > _MOST_DIAGNOSTICS:
            step.message += f"\nand {len(errors) - _MOST_DIAGNOSTICS} more"
        step.cause = cause_of(errors[0].message if errors else type(error).__name__)
    else:
        step.message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        if step.outcome == "forbidden":
            tried = last_attempt()
            step.message += f" ({tried})" if tried else ""
            step.cause = cause_of(step.message)
        else:
            step.cause = cause_of_exception(error)


def outcome_of(error: BaseException) -> Outcome:
    """The outcome of a step that an exception ended."""
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, TileIRError) and any(each.code == "out-of-memory" for each in error.diagnostics):
        return "memory"
    if isinstance(error, (AssemblerCrash, InternalError)):
        return "crashed"
    if isinstance(error, (AssemblerTimeout, SearchTimeout)):
        return "timeout"
    if isinstance(error, LaunchError):
        return "refused"
    if isinstance(error, TileIRError):
        return "failed"
    return "forbidden" if is_forbidden(error) else "crashed"


def is_forbidden(error: BaseException) -> bool:
    """Whether an exception is how the confinement of this process shows: files, network, processes, threads."""
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return True
    return isinstance(error, OSError) and error.errno in _FORBIDDEN
