"""Code that can run on the GPU it is for: by addresses where Triton makes none with descriptors.

Where tile blocks would need more shared memory than there is, the schedule is made smaller while compiling
(`making.py`); what is still too large then is refused.
"""

from __future__ import annotations

from tileir.execute.errors import CompilationError
from tileir.execute.gpu.triton.code import Code
from tileir.execute.gpu.triton.compiling import compile_kernel
from tileir.execute.gpu.triton.errors import TritonError
from tileir.execute.gpu.triton.options import CodeOptions
from tileir.execute.gpu.triton.targets import TritonTarget
from tileir.ir.core import Operation


def compile_fitting(entry: Operation, target: TritonTarget, options: CodeOptions) -> Code:
    """The code of a kernel for a GPU, with a note where descriptors were given up."""
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
        options, words = plain, f"as Triton makes no code with them: {error.message}"
        code = code._replace(notes=(*code.notes, f"compiled without descriptors, {words}"))
    if code.shared > target.shared and plain != options:
        needed = code.shared
        code = compile_kernel(entry, target.name, plain)
        words = f"with which a tile block needs {needed} bytes of shared memory"
        code = code._replace(notes=(*code.notes, f"compiled without descriptors, {words}"))
    if code.shared > target.shared:
        raise CompilationError(
            f"a tile block of @{entry.symbol_name} needs {code.shared} bytes of shared memory, and {target.name} has "
            f"{target.shared}: make its tiles smaller, or choose backend='tileiras'"
        )
    return code
