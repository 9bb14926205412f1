"""`launch`: run a kernel of cuTile or Triton on arrays of this machine, without a GPU."""

from __future__ import annotations

import io
import sys
import weakref
from collections.abc import Callable, Hashable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from tileir.bridge.contexts import ENTERED, active, innermost, watched_launch
from tileir.bridge.frames import is_compile_error
from tileir.bridge.hooks import hook
from tileir.bridge.kernel_kinds import is_triton_kernel
from tileir.bridge.parameters import (
    ArrayParameter,
    ConstantParameter,
    Description,
    Fact,
    ListParameter,
    Parameter,
    ScalarParameter,
    TupleParameter,
    describe,
    words_of,
)
from tileir.bridge.recognition import KnownLaunches, Variant
from tileir.bytecode.primitives import BytecodeError
from tileir.execute.errors import LaunchError, MissingDependencyError
from tileir.execute.launching.entries import check_arguments, check_grid
from tileir.execute.launching.kernel import Kernel, compile
from tileir.execute.launching.options import LAUNCH_OPTIONS, check_options
from tileir.execute.locations.source_locations import location_notes, user_location, with_source
from tileir.interface import to_bytecode
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import UnknownLocation
from tileir.ir.quoting import type_text
from tileir.terminal import Progress, launch_bar

if TYPE_CHECKING:
    from tileir.execute.recording.script_variables import ScriptVariables

# From this version on bytecode need not name a GPU.
BYTECODE_VERSION = "13.4"
_KNOWN: Final[dict[Hashable, KnownLaunches]] = {}
"""What is known of kernels as long as they live, by `id` (a `WeakKeyDictionary` takes thrice the time), and in contexts
by the architecture they are compiled for, which kernels may query, as well."""


def launch(
    kernel: Any,
    grid: int | tuple[int, ...] | Callable[[dict[str, Any]], tuple[int, ...]],
    args: Sequence[object] = (),
    *,
    backend: str = "auto",
    exact: bool = False,
    fast: bool = False,
    **options: Any,
) -> None:
    """Run a kernel once for each tile block of a grid: a `@cuda.tile.kernel` or `@triton.jit` function, or a module.

    `args` are what `cuda.tile.launch` takes, with arrays of NumPy, torch, or anything else with DLPack or the array
    interface, or all arguments of a Triton kernel in order; its constants and Triton's own options may be further
    keywords, and its grid a function of them.  Those on the host have the results when this returns; with arrays on a
    GPU the kernel runs there, and is launched as `cuda.tile.launch` does, in torch's or CuPy's current stream.  The
    kernel is compiled when it is first launched with arguments of its kind, a module with one kernel, which
    `tileir.load` reads from text, bytecode or C++, at each launch.  `backend`, `exact` and `fast` are those of
    `tileir.compile`, further options those of `Kernel.launch` (`sanitize`, `schedule`, `threads`, `unchecked`,
    `output`, ..).  Within `tileir.emulate` the settings of the emulation hold for this launch too, unless `sanitize` is
    given here.

    >>> tileir.launch(vector_add, 8, (a[:128], b[:128], c[:128]), backend="interpreter")
    >>> float(c[0])
    2.0
    """
    context = active() if ENTERED else None
    if context is not None and context.watching is not None and "sanitize" not in options:
        own: dict[str, Any] = {"backend": backend} if backend != "auto" else {}
        if exact or fast:
            own |= {"exact": exact, "fast": fast}
        watched_launch(context, kernel, grid, args, {**context.options, **own, **options})
        return
    known = _KNOWN.get(id(kernel) if context is None else (id(kernel), context.gpu.architecture))
    if known is None or known.kernel() is not kernel:
        if is_triton_kernel(kernel):
            _launch_triton(kernel, grid, check_arguments(args), (backend, exact, fast), options)
            return
        if isinstance(kernel, Operation):
            of_module = compile(kernel, backend=backend, exact=exact, fast=fast)
            of_module.launch(check_grid(grid), check_arguments(args), **options)
            return
        known = known_for(kernel)
    if type(args) is not tuple:
        args = check_arguments(args)
    variant = with_options(backend, exact, fast, options) if options else (backend, exact, fast)
    if variant is not None and recognized(known, kernel, grid, args, variant):
        return
    if options:
        check_options("a launch", options, (*LAUNCH_OPTIONS, "backend", "exact", "fast"))
    description = described(kernel, args)
    compiled, is_new = compiled_for(known, kernel, description.parameters, backend, exact, fast)
    _run(compiled, check_grid(grid), description.values, {**options, "memory": description.memory})
    if variant is not None and not is_new:
        known.learn(args, description.values, compiled, variant)


def _run(compiled: Kernel, grid: Any, values: Sequence[Any], options: dict[str, Any]) -> None:
    """Launch a kernel; where a whole script is emulated at a terminal, a launch that takes long shows its progress."""
    context = innermost() if ENTERED else None
    if context is None or not context.is_process or "progress" in options:
        compiled.launch(grid, values, **options)
        return
    with Progress(after=1.0) as progress:
        compiled.launch(grid, values, **options, progress=launch_bar(progress))


def _launch_triton(
    kernel: Any, grid: Any, args: tuple[object, ...], how: tuple[str, bool, bool], options: dict[str, Any]
) -> None:
    # Imported here, as everything of Triton: few have it.
    from tileir.bridge.triton.resolving import resolved, resolved_launches

    own = {name: value for name, value in options.items() if name in LAUNCH_OPTIONS}
    others = {name: value for name, value in options.items() if name not in LAUNCH_OPTIONS}
    known = None if own else resolved_launches(kernel)
    if known is not None and known.launch(grid, tuple(args), others, how) is not None:
        return
    found, extents, values = resolved(kernel, grid, args, others)
    if known is not None:
        known.learn(found, tuple(args), others, how)
    compiled, description = found.prepared(values, *how, sanitizes=bool(own.get("sanitize")))
    own["memory"] = [*own.get("memory", ()), *description.memory]
    _run(compiled, extents, description.values, own)


def prepared(
    kernel: Any, args: Sequence[object], backend: str, exact: bool, fast: bool, sanitizes: bool = False
) -> tuple[Kernel, Description]:
    """A kernel of cuTile or Triton compiled for arguments of this kind, and what it takes for these."""
    if is_triton_kernel(kernel):
        from tileir.bridge.triton.resolving import resolved

        found, _, values = resolved(kernel, (1,), args, {})
        return found.prepared(values, backend, exact, fast, sanitizes)
    description = described(kernel, args)
    return compiled_for(known_for(kernel), kernel, description.parameters, backend, exact, fast)[0], description


def with_options(backend: str, exact: bool, fast: bool, options: dict[str, Any]) -> Variant | None:
    """The options of a launch as a key; None if they are not among those that are recognized."""
    found: dict[str, Any] = {"threads": None, "unchecked": None}
    for name, value in options.items():
        if value is not None and type(value) is _RECOGNIZED.get(name):
            found[name] = value
        elif not (value is None and name in _NONE) and not (value is False and name == "sanitize"):
            return None
    return backend, exact, fast, *found.values()


_RECOGNIZED: Final = {"threads": int, "unchecked": bool}
_NONE: Final = frozenset(("schedule", "observer", "output", "progress", "threads", "unchecked"))
"""Options that None is the same for as leaving them out."""


def recognized(known: KnownLaunches, kernel: Any, grid: Any, args: Sequence[object], variant: Variant) -> bool:
    """Launch a kernel, if it is recognized; False if it is not."""
    found = known.find(args, variant)
    if found is None:
        return False
    direct, (_, numbers, tables) = found
    memory = [word for _, words in tables for word in words] if tables else ()
    direct.launch(check_grid(grid), numbers, partial(again, kernel, args, tables), memory)
    return True


def export(kernel: Any, args: Sequence[object]) -> bytes:
    """The bytecode of a kernel for arguments of this kind: what cuTile writes, or what Triton's becomes."""
    if is_triton_kernel(kernel):
        module = prepared(kernel, args, "interpreter", False, False)[0].entry.parent_operation
        assert module is not None, "a kernel stands in a module"
        return to_bytecode(module, version=BYTECODE_VERSION)
    parameters = described(kernel, args).parameters
    return _exported(kernel, parameters, _architecture(kernel, parameters))


def constraints(kernel: Any, args: Sequence[object]) -> list[Any]:
    """What cuTile assumes about arguments of this kind, as cuTile's objects."""
    return [_constraint(parameter) for parameter in described(kernel, args).parameters]


def known_for(kernel: Any) -> KnownLaunches:
    """What is known of a kernel."""
    context = active() if ENTERED else None
    key: Hashable = id(kernel) if context is None else (id(kernel), context.gpu.architecture)
    found = _KNOWN.get(key)
    if found is None or found.kernel() is not kernel:
        if not isinstance(kernel, cutile().kernel):
            hint = "decorate it with @cuda.tile.kernel" if callable(kernel) else "pass a @cuda.tile.kernel function"
            raise LaunchError(f"{type_text(kernel)} cannot be launched as a cuTile kernel: {hint}")
        gone = weakref.ref(kernel, lambda _: _KNOWN.pop(key, None))
        found = _KNOWN[key] = KnownLaunches(gone, kernel._annotated_function.parameter_annotations)
    return found


def compiled_for(
    known: KnownLaunches, kernel: Any, parameters: list[Parameter], backend: str, exact: bool, fast: bool
) -> tuple[Kernel, bool]:
    """The kernel, compiled for arguments of a kind, and whether it was not before."""
    key = (tuple(parameters), backend, exact, fast)
    found = known.compiled.get(key)
    if found is not None:
        return found, False
    from tileir.bytecode.layouts import from_bytes

    architecture = _architecture(kernel, parameters)
    try:
        module = from_bytes(_exported(kernel, parameters, architecture))
    except BytecodeError as error:
        raise _placed(error) from None
    found = known.compiled[key] = compile(module, backend=backend, exact=exact, fast=fast)
    found.find_variables = cache(partial(_variables, known, parameters, architecture, found.entry))
    return found, True


def _variables(
    known: KnownLaunches, parameters: list[Parameter], architecture: str | None, entry: Operation
) -> ScriptVariables | None:
    """The variables of a kernel that was compiled for arguments of a kind."""
    from tileir.bridge.script_variables import captured

    kernel = known.kernel()
    return None if kernel is None else captured(lambda: _exported(kernel, parameters, architecture), entry)


def again(kernel: Any, args: Sequence[object], tables: object) -> tuple[tuple[object, ...], Any]:
    """The values and the memory of a launch under way, which uses `tables`, found again."""
    description = described(kernel, args)
    return tuple(description.values), description.memory


def _placed(error: BytecodeError) -> BytecodeError:
    """What the reader refuses, at the line of the kernel it comes from; the reader's own path to it is not shown."""
    if isinstance(error.location, UnknownLocation):
        return error
    found = Diagnostic(
        "error", error.reason, with_source(user_location(error.location)), location_notes(error.location)
    )
    return BytecodeError([found], error.offset, error.location)


def cutile() -> Any:
    """The module `cuda.tile`."""
    try:
        import cuda.tile
        import cuda.tile.compilation
    except ImportError as missing:
        raise MissingDependencyError(f"cuTile kernels need cuda-tile ({missing}): pip install cuda-tile") from None
    return cuda.tile


def described(kernel: Any, args: Sequence[object]) -> Description:
    """The arguments of a launch as the kernel takes them."""
    if is_triton_kernel(kernel):
        from tileir.bridge.triton.resolving import resolved

        found, _, values = resolved(kernel, (1,), args, {})
        return found.describe(values)
    # Refuses what is no kernel.
    known_for(kernel)
    function = kernel._annotated_function
    return describe(
        function.pyfunc.__name__, list(function.pysig.parameters), list(function.parameter_annotations), tuple(args)
    )


def _signature(kernel: Any, parameters: list[Parameter]) -> Any:
    """The kinds of the arguments, as cuTile describes them."""
    name = kernel._annotated_function.pyfunc.__name__
    compilation = cutile().compilation
    try:
        constraints = [_constraint(parameter) for parameter in parameters]
        convention = compilation.CallingConvention.cutile_python_v2()
        return compilation.KernelSignature(constraints, convention, name)
    except (TypeError, ValueError) as error:
        raise LaunchError(f"cuTile does not take these arguments for {name}: {error}") from None


def _exported(kernel: Any, parameters: list[Parameter], architecture: str | None) -> bytes:
    name, signature = kernel._annotated_function.pyfunc.__name__, _signature(kernel, parameters)
    file = io.BytesIO()
    # cuTile's own errors pass: they point into the kernel's source.
    try:
        options = {"output_format": "tileir_bytecode", "bytecode_version": BYTECODE_VERSION}
        cutile().compilation.export_kernel(kernel, [signature], file, gpu_code=architecture, **options)
    except Exception as error:
        # From Python 3.11 on a traceback shows notes.
        if hasattr(error, "add_note"):
            names = kernel._annotated_function.pysig.parameters
            types = [f"{each} is {words_of(parameter)}" for each, parameter in zip(names, parameters, strict=True)]
            error.add_note(f"{name} is compiled for what it is launched with: {', '.join(types)}")
            arrays = [each for each, words in zip(names, types, strict=True) if " of rank " in words]
            if note := _help_for(error, arrays):
                error.add_note(note)
                # cuTile calls shapes that do not fit an internal error.
                raise error.with_traceback(None) from None
        if is_compile_error(error):
            # The frames of cuTile do not help the user.
            raise error.with_traceback(None) from None
        raise
    return file.getvalue()


def _help_for(error: Any, arrays: list[str]) -> str:
    """What to change, where cuTile's error is a frequent one."""
    # Imported here: few kernels are wrong.
    from tileir.bridge.help.cutile import CUTILE
    from tileir.bridge.help.table import help_for

    place, message = getattr(error, "loc", None), str(getattr(error, "message", error))
    file, line = getattr(place, "filename", None), getattr(place, "line", 0)
    return help_for(message, file, line, CUTILE, cutile(), arrays, getattr(place, "col", 0))


class _ArchitectureFound(Exception):
    """Carries the architecture that cuTile compiles for; the class itself is passed as cuTile's context."""


def _compile_tile(original: Any, *arguments: Any, **keywords: Any) -> Any:
    """cuTile's compiler; `_architecture` only needs the architecture that it compiles for."""
    if _ArchitectureFound in arguments:
        raise _ArchitectureFound(arguments[2])
    return original(*arguments, **keywords)


def _architecture(kernel: Any, parameters: list[Parameter]) -> str | None:
    """The architecture that cuTile compiles a kernel for in a context, so that it refuses what that one cannot do.

    It is that of the GPU unless somebody has replaced the kernel's private method `_compile`, as cuTile's own tests do.
    """
    context = innermost()
    if context is None:
        return None
    found: str = context.gpu.architecture
    if context.is_real:
        # Imported here: nothing of the GPU backends is imported without a GPU.
        from tileir.execute.gpu.driver.devices import target_here

        found = target_here()
    compiler: Any = sys.modules.get("cuda.tile._compile")
    if hasattr(kernel, "_compile") and hasattr(compiler, "compile_tile"):
        digits = found.removeprefix("sm_")
        hook(compiler, "compile_tile", _compile_tile)
        try:
            kernel._compile(_signature(kernel, parameters), _ArchitectureFound, (int(digits[:-1]), int(digits[-1])))
        except _ArchitectureFound as error:
            found = str(error.args[0])
        except (TypeError, AttributeError, IndexError):
            # Another version of cuTile: the method is private.
            pass
    return found


def _constraint(parameter: Parameter) -> Any:
    """A parameter as an object of cuTile."""
    tile = cutile()
    compilation = tile.compilation
    if isinstance(parameter, ArrayParameter):
        rank, facts = parameter.rank, {fact[:2]: fact for fact in parameter.facts}
        extents, strides = [
            [facts.get((what, axis), Fact(what)) for axis in range(rank)] for what in ("extent", "stride")
        ]
        return compilation.ArrayConstraint(
            getattr(tile, parameter.dtype),
            rank,
            index_dtype=getattr(tile, f"int{parameter.index_width}"),
            stride_lower_bound_incl=0,
            alias_groups=(),
            may_alias_internally=Fact("distinct") not in parameter.facts,
            shape_constant=[fact.number for fact in extents],
            shape_divisible_by=[fact.divisor for fact in extents],
            stride_constant=[fact.number for fact in strides],
            stride_divisible_by=[fact.divisor for fact in strides],
            base_addr_divisible_by=facts.get(("address", 0), Fact("address")).divisor,
        )
    if isinstance(parameter, ScalarParameter):
        return compilation.ScalarConstraint(getattr(tile, parameter.dtype))
    if isinstance(parameter, ListParameter):
        # Nothing keeps the caller from passing an array twice.
        return compilation.ListConstraint(_constraint(parameter.element), alias_groups=(), elements_may_alias=True)
    if isinstance(parameter, ConstantParameter):
        return compilation.ConstantConstraint(parameter.value)
    assert isinstance(parameter, TupleParameter)
    return compilation.TupleConstraint([_constraint(item) for item in parameter.items])
