"""Triton's frontend: from a kernel and the types of its arguments to TTIR.

The text of a kernel, in MLIR's generic form, is kept on disk: making it takes 20 to 100 ms.
"""

from __future__ import annotations

import functools
import os
import re
from _blake2 import blake2b
from typing import Any, Final, NamedTuple

from tileir.bridge.triton.compilation_errors import show_user_lines
from tileir.execute.cache.code_cache import default_cache
from tileir.execute.errors import LaunchError, MissingDependencyError
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.quoting import type_text
from tileir.ttir.generic_form import caught_errors, generic_text

_OLDEST: Final = (3, 5)
_PASSES: Final = (
    "common.add_inliner",
    "ttir.add_rewrite_tensor_pointer",  # Block pointers, which later versions lower in the frontend.
    "common.add_canonicalizer",
    "ttir.add_combine",
    "ttir.add_reorder_broadcast",
    "common.add_cse",
    "common.add_symbol_dce",
)
"""Passes of Triton's own pipeline, as far as a version has them, without the one that unrolls loops."""
_FUSION: Final = "TRITON_DEFAULT_FP_FUSION"


class Ttir(NamedTuple):
    """A kernel in TTIR: its name, and the module in the generic and in the usual form."""

    name: str
    generic: str
    text: str


def triton() -> Any:
    """The module `triton`."""
    try:
        import triton
    except ImportError as missing:
        raise MissingDependencyError(f"Triton kernels need triton ({missing}): pip install triton") from None
    # 3.9 warns if it is not set.
    os.environ.setdefault(_FUSION, "1")
    if version() < _OLDEST:
        raise MissingDependencyError(f"Triton {triton.__version__} is too old: pip install 'triton>=3.5'")
    return triton


@functools.cache
def version() -> tuple[int, int]:
    import triton

    numbers = re.match(r"(\d+)\.(\d+)", triton.__version__)
    return (int(numbers[1]), int(numbers[2])) if numbers is not None else _OLDEST


def gpu_target(major: int, minor: int) -> Any:
    """A GPU as Triton names it."""
    from triton.backends.compiler import GPUTarget

    return GPUTarget("cuda", 10 * major + minor, 32)


def compile_options(target: Any, options: dict[str, Any]) -> Any:
    """Triton's options of a compilation, with its defaults."""
    from triton.compiler.compiler import make_backend

    return make_backend(target).parse_options(dict(options))


def source_of(source: Any, target: Any) -> Any:
    """What `triton.compile` is given: a kernel with a signature, or the path of a file of TTIR."""
    from triton._C.libtriton import ir
    from triton.compiler import compiler

    if isinstance(source, str):
        if not source.endswith(".ttir"):
            raise LaunchError(f"{source} is no TTIR: only kernels and files of TTIR run without a GPU")
        return compiler.IRSource(source, ir.context(), compiler.make_backend(target))
    if type(source) is not compiler.ASTSource:
        raise LaunchError(
            f"{type_text(source)} is about the layouts and threads of a GPU (Gluon), which tile programs do not have: "
            "write the kernel with triton.language"
        )
    return source


def ttir_of(source: Any, target: Any, options: Any) -> Ttir:
    """The TTIR of a kernel for arguments of given types: from the disk, if it was made before."""
    store = default_cache()
    key = _key(source, target, options)
    found = store.get(key)
    if found is None:
        made = _lower(source, target, options)
        store.put(key, made.generic.encode(), {"name": made.name, "text": made.text})
        return made
    data, described = found
    return Ttir(described["name"], data.decode(), described["text"])


def _key(source: Any, target: Any, options: Any) -> str:
    """A name for all that the TTIR depends on: Triton's own takes a second, as it reads all of Triton."""
    import triton

    library = os.stat(triton._C.libtriton.__file__)
    settings = {name: value for name, value in vars(options).items() if name != "extern_libs"}
    # The hash of a source does not cover the file of the kernel, but locations do.
    file = getattr(getattr(source, "fn", None), "fn", None)
    place = file.__code__.co_filename if file is not None else str(getattr(source, "path", ""))
    parts = (
        triton.__version__,
        library.st_size,
        library.st_mtime_ns,
        _PASSES,
        source.hash(),
        str(target),
        settings,
        place,
    )
    return "ttir-" + blake2b(repr(parts).encode(), digest_size=20).hexdigest()


def _lower(source: Any, target: Any, options: Any) -> Ttir:
    from triton._C.libtriton import ir, passes
    from triton.compiler.compiler import filter_traceback, make_backend

    backend = make_backend(target)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    codegen = backend.get_codegen_implementation(options)
    errors: list[Diagnostic] = []
    try:
        with caught_errors(errors, {}):
            module = source.make_ir(target, options, codegen, backend.get_module_map(), context)
    except Exception as error:
        show_user_lines(error)
        # As Triton does: the frames of its own compiler do not help the user.
        filter_traceback(error)
        if type(error) is RuntimeError:
            raise _invalid(source, errors) from None
        raise
    manager = ir.pass_manager(module.context)
    manager.enable_debug()
    for name in _PASSES:
        package, _, function = name.partition(".")
        add = getattr(getattr(passes, package), function, None)
        if add is not None:
            add(manager)
    try:
        with caught_errors(errors, {}):
            manager.run(module, *(() if version() < (3, 6) else ("make_ttir",)))
    except RuntimeError:
        raise _invalid(source, errors) from None
    text = str(module)
    # The function may have a name of its own: `triton.jit(repr=..)`.
    return Ttir(module.get_entry_func_name(), generic_text(module, context), text)


def _invalid(source: Any, errors: list[Diagnostic]) -> LaunchError:
    """The error for IR that Triton's frontend makes and its verifier refuses."""
    error = LaunchError(f"Triton's frontend makes invalid IR of {source.name}")
    error.diagnostics[0].notes.extend([Diagnostic("note", each.message, each.location) for each in errors])
    return error
