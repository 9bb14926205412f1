"""`TritonKernel`: a Triton kernel compiled for types of arguments, instead of Triton's `CompiledKernel`."""

from __future__ import annotations

import pickle
from _blake2 import blake2b
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cache, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from tileir.bridge.contexts import innermost
from tileir.bridge.parameters import ConstantParameter, Description, Parameter
from tileir.bridge.triton.arguments import describe, parameters_of
from tileir.bridge.triton.frontend import Ttir
from tileir.execute.arguments.binding import is_on_gpu
from tileir.execute.cache.code_cache import default_cache, hash_of_installed, hash_of_sources
from tileir.execute.errors import LaunchError
from tileir.execute.launching.kernel import Kernel, compile
from tileir.ir.core import Module, Operation
from tileir.ir.location import Location

if TYPE_CHECKING:
    from tileir.bridge.contexts import Emulation
    from tileir.execute.recording.script_variables import ScriptVariables
    from tileir.ttir.tokens import MemoryOrder

Translated = tuple[Module, dict[str, list[Location]]]
Launched = tuple["TritonKernel", tuple[int, ...], tuple[object, ...]]

PERFORM: Final[list[Callable[[Emulation, tuple[int, ...], TritonKernel, tuple[object, ...]], None]]] = []
"""What carries out a launch in a context; the module that does it stands above this one."""
REQUESTED: ContextVar[list[Launched] | None] = ContextVar("tileir.triton.requested", default=None)
"""Where launches are only requested, the list that they are added to."""

_PARTS: Final = ("dialect", "ir", "ttir")
"""The folders of the package that decide what tile program TTIR becomes."""
# What scripts compute occupancy from: there must be some of each.
_REGISTERS: Final = 32
_SHARED_MEMORY: Final = 1024


class TritonKernel:
    """A kernel of Triton's, compiled for the types and constants of its arguments.

    It has the interface that Triton, torch and scripts expect of a compiled kernel.  The registers and shared memory on
    a GPU are not known: the numbers are only plausible.
    """

    n_regs: int = _REGISTERS
    n_spills: int = 0
    n_max_threads: int = 1024
    module: object = None

    def __init__(self, source: Any, target: Any, options: Any, ttir: Ttir) -> None:
        self.src: Any = source
        self.ttir: Ttir = ttir
        self.name: str = ttir.name
        self.hash: str = blake2b(ttir.generic.encode(), digest_size=20).hexdigest()
        self.function: int = id(self)
        described = {**vars(options), "target": target, "name": self.name, "hash": self.hash, "tmem_size": None}
        described |= {"shared": _SHARED_MEMORY, "global_scratch_size": 0, "profile_scratch_size": 0}
        self.metadata: SimpleNamespace = SimpleNamespace(**described)
        self.packed_metadata: tuple[int, ...] = (options.num_warps, options.num_ctas, _SHARED_MEMORY)
        self.asm: dict[str, str] = _Texts(ttir=ttir.text)
        self.parameters: dict[str, Parameter] = parameters_of(source)
        """What it was compiled for: constants, types and alignment of the arguments."""
        self.follows_addresses: bool = "tt.int_to_ptr" in ttir.generic
        """Whether it follows addresses that it reads from memory."""
        self._modules: dict[MemoryOrder, Translated] = {}
        self._kernels: dict[tuple[object, ...], Kernel] = {}

    def __repr__(self) -> str:
        return f"<TritonKernel {self.name}>"

    # --- as tileir uses it ---

    def prepared(
        self, arguments: Sequence[object], backend: str, exact: bool, fast: bool, sanitizes: bool
    ) -> tuple[Kernel, Description]:
        """The kernel for launches with these options, and what it takes for arguments of a launch.

        The sanitizer looks at accesses that only barriers order: on a GPU the threads of a program run at once.
        """
        order: MemoryOrder = "barriers" if sanitizes else "program"
        if not sanitizes and any(map(is_on_gpu, arguments)):
            order = "arguments"
        key = (order, backend, exact, fast)
        kernel = self._kernels.get(key)
        if kernel is None:
            module, locations = self._module(order)
            kernel = self._kernels[key] = compile(module, entry=self.name, backend=backend, exact=exact, fast=fast)
            kernel.find_variables = cache(partial(self._variables, kernel.entry, locations[self.name]))
        return kernel, self.describe(arguments)

    def describe(self, arguments: Sequence[object]) -> Description:
        """The arguments of a launch as the kernel takes them."""
        found = describe(self.name, self.src.signature, arguments, self.follows_addresses)
        found.names, found.parameters = list(self.parameters), list(self.parameters.values())
        return found

    def _variables(self, entry: Operation, locations: list[Location]) -> ScriptVariables:
        from tileir.bridge.triton.script_variables import script_variables

        named = self.parameters.items()
        constants = {name: each.value for name, each in named if isinstance(each, ConstantParameter)}
        return script_variables(entry, locations, constants)

    def _module(self, order: MemoryOrder) -> Translated:
        found = self._modules.get(order)
        if found is None:
            found = self._modules[order] = translated(self.ttir.generic, order)
        return found

    # --- as Triton launches it ---

    def run(
        self, x: int, y: int, z: int, stream: object, function: object, packed: object,
        metadata: object, enter: Any, leave: Any, *arguments: object,
    ) -> None:  # fmt: skip
        requested, grid = REQUESTED.get(), (x, y, z)
        if requested is not None:
            requested.append((self, grid, arguments))
            return
        context = innermost()
        if context is None:
            raise LaunchError(f"{self.name} was compiled within tileir.emulate(), and is launched outside of it")
        if enter is not None:
            enter(metadata)
        # As Triton: a grid without programs is no error.
        if 0 not in grid:
            PERFORM[0](context, grid, self, arguments)
        if leave is not None:
            leave(metadata)

    def launch_metadata(self, grid: Any, stream: object, *arguments: object) -> object:
        """What hooks of launches are given, such as a profiler's."""
        from triton import knobs
        from triton.compiler.compiler import LazyDict

        hook = knobs.runtime.launch_enter_hook
        if hook is None or not getattr(hook, "calls", True):
            return None
        found: Any = LazyDict({"name": self.name, "function": self.function, "stream": stream})
        own = getattr(getattr(self.src, "fn", None), "launch_metadata", None)
        if own is not None:
            found.add(own, (grid, self.metadata, dict(zip(self.src.fn.arg_names, arguments, strict=False))))
        return found

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        def launch(*arguments: object, stream: object = None) -> None:
            from triton import knobs

            enter, leave = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
            x, y, z = (*grid, 1, 1)[:3]
            metadata = self.launch_metadata(grid, stream, *arguments)
            self.run(x, y, z, stream, self.function, self.packed_metadata, metadata, enter, leave, *arguments)

        return launch

    def _init_handles(self) -> None:
        """Loads code onto a GPU: there is none."""


class _Texts(dict[str, str]):
    """The texts of the stages of a compilation: of those after TTIR there are none."""

    def __missing__(self, stage: str) -> str:
        raise KeyError(f"{stage}: tileir runs the TTIR of a kernel, and makes no later stage of Triton's")


def translated(text: str, order: MemoryOrder) -> Translated:
    """The tile program for TTIR and its locations with names: from the disk, if it was translated before."""
    store = default_cache()
    sources = hash_of_installed() or hash_of_sources((), _PARTS)
    key = "tile-" + blake2b(b"\n".join([sources, order.encode(), text.encode()]), digest_size=20).hexdigest()
    found = store.get(key)
    if found is not None:
        # Nobody else can have written it (`code_cache`).
        kept: Translated = pickle.loads(found[0])
        return kept
    from tileir.ttir import translate
    from tileir.ttir.locations import give_scopes

    module = translate(text, memory_order=order)
    made = module, give_scopes(module)
    store.put(key, pickle.dumps(made, pickle.HIGHEST_PROTOCOL), {})
    return made
