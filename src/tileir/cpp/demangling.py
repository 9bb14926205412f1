"""Names of C++ kernels as people write them."""

from __future__ import annotations

import sys
from functools import cache

_LIBRARY = "libc++abi.dylib" if sys.platform == "darwin" else "libstdc++.so.6"
_UNNAMED = "(anonymous namespace)"


@cache
def source_name(symbol: str) -> str:
    """The name of a kernel in its source: `scale<256>` for `_Z5scaleILi256EEvPffi`; other symbols are their own."""
    if not symbol.startswith("_Z"):
        return symbol
    text = _demangled(symbol).removeprefix("void ").replace(_UNNAMED, "\0")
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "(" and not depth:
            text = text[:place]
            break
    return text.replace("\0", _UNNAMED)


def _demangled(symbol: str) -> str:
    """What the C++ runtime makes of a symbol; the symbol itself where there is none."""
    import ctypes

    try:
        demangle = ctypes.CDLL(_LIBRARY).__cxa_demangle
    except (OSError, AttributeError):
        return symbol
    demangle.restype = ctypes.c_void_p
    status = ctypes.c_int()
    found = demangle(symbol.encode(), None, None, ctypes.byref(status))
    if not found:
        return symbol
    text = ctypes.string_at(found).decode(errors="replace")
    free = ctypes.CDLL(None).free
    free.argtypes = (ctypes.c_void_p,)
    free(found)
    return text
