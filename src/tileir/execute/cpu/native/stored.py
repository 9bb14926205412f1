"""Functions of the engine itself in LLVM IR, which are compiled once and kept on disk as kernels are."""

from __future__ import annotations

from tileir.execute.cache import code_cache
from tileir.execute.cpu.native.keys import key_of
from tileir.execute.cpu.native.runtime import Loaded, load
from tileir.execute.cpu.native.target import Target


def stored_function(text: str, target: Target) -> Loaded:
    """A function, from the cache or compiled."""
    store = code_cache.default_cache()
    key = key_of(target, [text])
    found = store.get(key)
    if found is not None:
        return load(found[0])
    from tileir.execute.cpu.native.compilation import assemble

    data = assemble(text, target)
    store.put(key, data, {})
    return load(data)
