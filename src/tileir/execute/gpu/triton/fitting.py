"""Code that fits the GPU: where it does not as the schedule has it, with less of what makes it fast.

Descriptors are given up where Triton makes no code with them, and stages of loops where tile blocks would need more
shared memory than there is.  What was given up is said in a note of the code.
"""

from __future__ import annotations

from tileir.execute.errors import CompilationError
from tileir.execute.gpu.triton.code import Code
from tileir.execute.gpu.triton.compiling import compile_kernel
from tileir.execute.gpu.triton.errors import TritonError
from tileir.execute.gpu.triton.options import CodeOptions, Schedule
from tileir.execute.gpu.triton.targets import TritonTarget
from tileir.ir.core import Operation


def compile_fitting(entry: Operation, target: TritonTarget, options: CodeOptions) -> Code:
    """The code of a kernel for a GPU that can run there."""
    special = options.specialization
    plain = options if special is None else options._replace(specialization=special._replace(described=frozenset()))
    try:
        code = compile_kernel(entry, target.name, options)
    except TritonError as error:
        if plain == options:
            raise
        try:
            code = compile_kernel(entry, target.name, plain)
        except TritonError:
            # What is wrong is not about descriptors.
            raise error from None
        options, plain = plain, plain
        code = _noted(code, f"without descriptors, as Triton makes no code with them: {error.message}")
    if code.shared <= target.shared:
        return code
    for tried in (options, plain):
        found = _with_fewer_stages(entry, target, tried, code)
        if found is not None:
            return found
    raise CompilationError(
        f"a tile block of @{entry.symbol_name} needs {code.shared} bytes of shared memory, and {target.name} has "
        f"{target.shared}: make its tiles smaller, or choose backend='tileiras'"
    )


def _with_fewer_stages(entry: Operation, target: TritonTarget, options: CodeOptions, large: Code) -> Code | None:
    schedule: Schedule = large.schedule
    for stages in range(schedule.num_stages - 1, 0, -1):
        smaller = options._replace(schedule=schedule._replace(num_stages=stages))
        try:
            code = compile_kernel(entry, target.name, smaller)
        except TritonError:
            continue
        if code.shared <= target.shared:
            words = f"with {stages} stages instead of {schedule.num_stages}, which need {large.shared} bytes of shared"
            return _noted(code, f"{words} memory, and {target.name} has {target.shared}")
    return None


def _noted(code: Code, words: str) -> Code:
    return code._replace(notes=(*code.notes, f"compiled {words}"))
