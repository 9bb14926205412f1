"""What engines for GPUs keep in the cache of compiled kernels: keys, whether code is current, and choices of an engine.

Nothing here needs NumPy: `tileir info` counts choices.
"""

from __future__ import annotations

from _blake2 import blake2b
from collections import Counter
from threading import Lock
from typing import Any, Final, NamedTuple
from weakref import WeakValueDictionary

from tileir.execute.cache.code_cache import default_cache
from tileir.execute.cache.structural_digest import structural_digest
from tileir.ir.core import Operation

PREFIX: Final = "choice-"


def is_made_by(description: dict[str, Any], compiler: Any) -> bool:
    """Whether a compiler would make what is cached, by its `stamp`, else its `version`; true if there is none."""
    if compiler is None or description.get("stamp") == compiler.stamp:
        return True
    return bool(description.get("version") == compiler.version)


def program_digest(entry: Operation, settings: tuple[object, ...], sources: bytes, person: bytes) -> str:
    """A key of the structure of a kernel's module, of settings, and of the sources that make code of it."""
    module = entry.parent_operation
    digest = blake2b(sources, digest_size=20, person=person)
    digest.update(repr(settings).encode() + b"\0" + structural_digest(entry if module is None else module))
    return digest.hexdigest()


class KeyLocks:
    """A lock for each key, for as long as a thread holds it or waits for it."""

    def __init__(self) -> None:
        self._locks: Final[WeakValueDictionary[str, Lock]] = WeakValueDictionary()
        self._finding: Final = Lock()

    def of(self, key: str) -> Lock:
        with self._finding:
            return self._locks.setdefault(key, Lock())


class Choice(NamedTuple):
    """An engine, and why it is the one."""

    engine: str
    seconds: dict[str, float]  # By engine, what a launch took; empty if there was nothing to measure.
    failures: dict[str, str]  # By engine, why it makes no code of the kernel.


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
