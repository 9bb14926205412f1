"""Which engine was chosen for a kernel, on disk beside compiled code.

A choice holds for a program, a kind of launches, a number of tile blocks up to a factor of two, a GPU, and the
compilers of both engines: where one of these is another, it is made anew.
"""

from __future__ import annotations

from _blake2 import blake2b
from collections import Counter
from typing import Final, NamedTuple

from tileir.execute.cache.code_cache import default_cache

PREFIX: Final = "choice-"


class Choice(NamedTuple):
    """An engine, and why it is the one."""

    engine: str
    seconds: dict[str, float]
    """By engine, what a launch took; empty if there was nothing to measure."""
    failures: dict[str, str]
    """By engine, why it makes no code of the kernel."""


def choice_key(parts: tuple[object, ...]) -> str:
    """The name of a choice that is made for such circumstances."""
    digest = blake2b(repr(parts).encode("utf-8", "surrogateescape"), digest_size=20, person=b"tileir choices")
    return f"{PREFIX}{digest.hexdigest()}"


def kept_choice(key: str) -> Choice | None:
    """What was chosen before."""
    found = default_cache().get(key)
    if found is None:
        return None
    known = found[1]
    return Choice(str(known.get("engine")), dict(known.get("seconds", {})), dict(known.get("failures", {})))


def keep_choice(key: str, choice: Choice) -> None:
    default_cache().put(key, b"", choice._asdict())


def choices_words() -> str:
    """How many choices are kept, and what can be done about them."""
    cache = default_cache()
    if cache.directory is None:
        return "none is kept, as the cache is off"
    found = [kept_choice(key) for key in cache.keys(PREFIX)]
    counted = Counter([choice.engine for choice in found if choice is not None])
    listed = ", ".join([f"{name} {count}" for name, count in sorted(counted.items())])
    kept = f"{sum(counted.values())} are kept ({listed})" if counted else "none is kept yet"
    return f"{kept}; to forget them, remove {cache.directory}/{PREFIX}*"
