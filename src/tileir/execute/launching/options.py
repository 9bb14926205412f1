"""The options of a launch: their names, and what they may be."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Final, SupportsIndex

from tileir.execute.arguments.binding import MOST_THREADS, checked_arrays
from tileir.execute.engine.interface import LaunchOptions
from tileir.execute.errors import LaunchError
from tileir.execute.observing.observer import Observer
from tileir.ir.quoting import close_names, type_text

# The options of `Kernel.launch`.
LAUNCH_OPTIONS: Final = frozenset(LaunchOptions._fields) - {"copies"}


def check_options(what: str, options: Iterable[str], known: Iterable[str]) -> None:
    unknown = set(options).difference(known)
    if unknown:
        close = close_names(min(unknown), known)
        hint = f": did you mean '{close[0]}'?" if close else f": it has {', '.join(sorted(known))}"
        raise TypeError(f"{what} has no option '{min(unknown)}'{hint}")


def checked_threads(number: object) -> int:
    if type(number) is int and 1 <= number <= MOST_THREADS:
        return number
    if isinstance(number, bool) or not isinstance(number, SupportsIndex):
        raise LaunchError(f"threads is {number!r}: pass a whole number of threads, or None for all processors")
    count = operator.index(number)
    if not 1 <= count <= MOST_THREADS:
        raise LaunchError(f"threads is {count}: pass 1 to {MOST_THREADS} threads, or None for all processors")
    return count


def checked_options(options: LaunchOptions) -> LaunchOptions:
    if options.observer is not None and not isinstance(options.observer, Observer):
        raise LaunchError(
            f"{type_text(options.observer)} cannot observe a launch: pass an Observer, as "
            "tileir.observers.ObserverCallback(function)"
        )
    if options.progress is not None and not callable(options.progress):
        raise LaunchError(
            f"progress is {options.progress!r}: pass a function of two numbers: finished and total tile blocks"
        )
    if options.output is not None and not callable(options.output):
        raise LaunchError(f"output is {options.output!r}: pass a function that takes a string")
    threads = None if options.threads is None else checked_threads(options.threads)
    if threads is not options.threads:
        options = options._replace(threads=threads)
    if type(options.memory) is not tuple or options.memory:
        options = options._replace(memory=checked_arrays(options.memory, "memory"))
    if not isinstance(options.schedule, str):
        raise LaunchError(f"schedule is {options.schedule!r}: pass a string such as 'reverse' or 'random:7'")
    if not isinstance(options.sanitize, bool) and options.sanitize != "all":
        raise LaunchError(f"sanitize is {options.sanitize!r}: pass True, or 'all' to report unwritten elements too")
    return options
