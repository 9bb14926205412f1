"""A kernel to code that is launched, out of the cache or made."""

from __future__ import annotations

from typing import Final

from tileir.execute.errors import CompilationError
from tileir.execute.gpu.key_locks import KeyLocks
from tileir.execute.gpu.triton.cached import program_key, stored_code
from tileir.execute.gpu.triton.code import Code
from tileir.execute.gpu.triton.options import CodeOptions, Limits
from tileir.execute.gpu.triton.targets import NOT_RUN, triton_target
from tileir.execute.gpu.triton.versions import installed_triton
from tileir.ir.core import Operation

_USUAL: Final = CodeOptions()
_USUAL_LIMITS: Final = Limits()
_locks: Final = KeyLocks()


def compile_kernel(
    entry: Operation, target: str, options: CodeOptions = _USUAL, limits: Limits = _USUAL_LIMITS
) -> Code:
    """The code of a kernel for a GPU."""
    gpu = triton_target(target)
    if gpu.is_amd:
        raise CompilationError(
            f"kernels for {gpu.name} cannot be launched: {NOT_RUN}; 'tileir compile' makes their code"
        )
    # Its structure does not say where a program stands, which line information does.
    key = "" if options.lineinfo else program_key(entry, gpu, options)
    with _locks.of(key or "lines"):
        found = stored_code(key, installed_triton()) if key else None
        if found is None:
            # Imported here: a kernel from the cache runs without what compiles it.
            from tileir.execute.gpu.triton.worker.pool import start_worker

            if installed_triton() is not None:
                # It imports Triton while this imports what lowers kernels.
                start_worker()
            from tileir.execute.gpu.triton.making import make

            found = make(entry, gpu, options, limits).code
    assert found is not None, "it is code for NVIDIA"
    return found
