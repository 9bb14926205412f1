"""What scripts call things: the arguments of their kernels, and dtypes."""

from __future__ import annotations

import re

# Integers of tiles have no sign of their own.
DTYPES = {
    **{f"i{width}": f"int{width}" for width in (8, 16, 32, 64)},
    "i1": "bool",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "tf32": "tfloat32",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
    "f8E8M0FNU": "float8_e8m0fnu",
    "f4E2M1FN": "float4_e2m1fn",
}

_ARGUMENT = re.compile(r"((?:item \d+ of )*)argument '([^']*)' of \S+")


def script_name(what: str) -> str:
    """What a script calls an argument: `x`, or `xs[1]` for an item of a tuple or list."""
    found = _ARGUMENT.search(what)
    if found is None:
        return what
    items = [f"[{number}]" for number in reversed(re.findall(r"item (\d+) of ", found[1]))]
    return f"{found[2]}{''.join(items)}"


def in_script_names(text: str) -> str:
    """A text with the arguments of a cuTile kernel by the names they have in it."""
    return _ARGUMENT.sub(lambda found: script_name(found[0]), text)
