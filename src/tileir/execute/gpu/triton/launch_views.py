"""The views of a kernel as its launches know them, found without what prepares kernels where they were found before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tileir.execute.cache.code_cache import default_cache
from tileir.execute.gpu.triton.cached import structure_key
from tileir.execute.gpu.triton.variants import LaunchView
from tileir.ir.core import Operation

if TYPE_CHECKING:
    from tileir.execute.gpu.triton.program import Program


def launch_views(entry: Operation) -> list[LaunchView]:
    """The views of a kernel, in the order of `Program.views`."""
    key = structure_key(entry)
    cache = default_cache()
    known = cache.get(key)
    if known is not None:
        return [LaunchView(*[_tuples(part) for part in view]) for view in known[1]["views"]]
    # Imported here: a kernel from the cache runs without what compiles it.
    from tileir.execute.gpu.triton.program import Program

    views = views_of(Program(entry))
    cache.put(key, b"", {"views": views})
    return views


def views_of(program: Program) -> list[LaunchView]:
    """The views of a kernel that is made ready."""
    return [LaunchView(each.base, each.shape, each.strides, each.element_bytes) for each in program.views]


def _tuples(value: Any) -> Any:
    return tuple([_tuples(each) for each in value]) if isinstance(value, list) else value
